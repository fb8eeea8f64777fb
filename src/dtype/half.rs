//! Conversions to and from IEEE 754 binary16, by its bits, without branches: loops over them become vector code.
//!
//! After Giesen, "Half to float done quick" and "Float to half done quick" (2012).

const SIGN: u32 = 0x8000_0000;
const INFINITY: u32 = 0x7f80_0000;

/// The value of these bits; exact.
#[inline(always)]
pub(crate) fn to_single(bits: u16) -> f32 {
    const TWO_POW_112: f32 = f32::from_bits((127 + 112) << 23);
    let sign = (u32::from(bits) & 0x8000) << 16;
    // The exponents' biases differ by 112. A multiplication gives subnormal numbers their exponent, too.
    let shifted = (u32::from(bits) & 0x7fff) << 13;
    let finite = (f32::from_bits(shifted) * TWO_POW_112).to_bits();
    let is_special = shifted >= 0x0f80_0000;
    f32::from_bits(sign | if is_special { shifted | INFINITY } else { finite })
}

/// The nearest number's bits, ties to even; beyond 65,520 infinity.
#[inline(always)]
pub(crate) fn from_single(x: f32) -> u16 {
    let bits = x.to_bits();
    let sign = bits & SIGN;
    let magnitude = bits ^ sign;
    // A half of the last place that stays, less one where that is even; what carries over is right, up to infinity.
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_add(0xfff + odd).wrapping_sub(112 << 23) >> 13;
    // The unit in the last place of 1/2 is the least subnormal number.
    let subnormal = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let special = if magnitude > INFINITY { 0x7e00 } else { 0x7c00 };
    let finite = if magnitude < 0x3880_0000 { subnormal } else { normal };
    (sign >> 16 | if magnitude >= 0x4780_0000 { special } else { finite }) as u16
}

/// As [`from_single`], rounded once: the step in between is to the neighbour whose last bit is set where it isn't exact,
/// which no tie looks like (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
#[inline(always)]
pub(crate) fn from_double(x: f64) -> u16 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    let is_past = back.abs() > x.abs();
    let bits = nearest.to_bits() - u32::from(is_past);
    let is_exact = back == x || x.is_nan();
    from_single(f32::from_bits(bits | u32::from(!is_exact)))
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    fn same(a: u16, b: f16) -> bool {
        a == b.to_bits() || (f16::from_bits(a).is_nan() && b.is_nan())
    }

    #[test]
    fn every_half_is_its_single() {
        for bits in 0..=u16::MAX {
            let (ours, theirs) = (to_single(bits), f16::from_bits(bits).to_f32_const());
            assert!(ours.to_bits() == theirs.to_bits() || (ours.is_nan() && theirs.is_nan()), "{bits:#x}");
            assert!(same(from_single(ours), f16::from_bits(bits)), "{bits:#x}");
        }
    }

    /// Every number, every tie between two, and what is next to both. `half`'s own conversion of doubles looks at their
    /// upper 32 bits alone, and is wrong next to ties.
    #[test]
    fn singles_and_doubles_round_to_the_nearest() {
        for bits in 0..0x7c00u16 {
            let here = f64::from(to_single(bits));
            let next = if bits == 0x7bff { 65_536.0 } else { f64::from(to_single(bits + 1)) };
            let tie = (here + next) / 2.0;
            let even = bits + (bits & 1);
            let single = tie as f32;
            for (x, wanted) in [
                (here, bits),
                (here.next_up(), bits),
                (tie.next_down(), bits),
                (tie, even),
                (tie.next_up(), bits + 1),
                (next.next_down(), bits + 1),
                (single.next_down().into(), bits),
                (single.next_up().into(), bits + 1),
            ] {
                assert_eq!((from_double(x), from_double(-x)), (wanted, wanted | 0x8000), "{x:e}");
                if f64::from(x as f32) == x {
                    let x = x as f32;
                    assert_eq!((from_single(x), from_single(-x)), (wanted, wanted | 0x8000), "{x:e}");
                    assert!(same(from_single(x), f16::from_f32_const(x)), "{x:e}");
                }
            }
        }
        for (x, wanted) in [(1e300, 0x7c00), (f64::INFINITY, 0x7c00), (f64::MIN_POSITIVE, 0), (5e-324, 0)] {
            assert_eq!((from_double(x), from_double(-x)), (wanted, wanted | 0x8000), "{x:e}");
        }
        assert!(f16::from_bits(from_double(f64::NAN)).is_nan());
    }
}
