//! Arithmetic in the four rounding modes of IEEE 754.
//!
//! The nearest value comes from the processor. A directed one is its neighbour or itself, by the sign of the
//! exact error, which error-free transformations give (Dekker 1971, Knuth 1969; for `fma` Boldo and Muller 2011).
//! Where an `f64` result or its error is subnormal, the directed modes may be off by one unit in the last place.

/// How a result that isn't representable is rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Mode {
    /// The mode of `rn`, `rz`, `rm` or `rp`, with an `i` behind it or not.
    pub fn named(name: &str) -> Option<Mode> {
        Some(match name.trim_end_matches('i') {
            "rn" => Mode::Nearest,
            "rz" => Mode::Zero,
            "rm" => Mode::Down,
            "rp" => Mode::Up,
            _ => return None,
        })
    }
}

pub fn add64(a: f64, b: f64, mode: Mode) -> f64 {
    let sum = a + b;
    if mode == Mode::Nearest {
        return sum;
    }
    if sum == 0.0 && a.is_sign_negative() != b.is_sign_negative() {
        return if mode == Mode::Down { -0.0 } else { 0.0 };
    }
    directed64(sum, two_sum_error(a, b, sum), a.is_finite() && b.is_finite(), mode)
}

pub fn mul64(a: f64, b: f64, mode: Mode) -> f64 {
    let product = a * b;
    directed64(product, a.mul_add(b, -product), a.is_finite() && b.is_finite(), mode)
}

pub fn fma64(a: f64, b: f64, c: f64, mode: Mode) -> f64 {
    let value = a.mul_add(b, c);
    if mode == Mode::Nearest {
        return value;
    }
    let high = a * b;
    let low = a.mul_add(b, -high);
    if value == 0.0 && high == -c && low == 0.0 && high.is_sign_negative() != c.is_sign_negative() {
        return if mode == Mode::Down { -0.0 } else { 0.0 };
    }
    let (first, first_error) = two_sum(c, low);
    let (second, second_error) = two_sum(high, first);
    let finite = a.is_finite() && b.is_finite() && c.is_finite();
    directed64(value, (second - value) + second_error + first_error, finite, mode)
}

pub fn div64(a: f64, b: f64, mode: Mode) -> f64 {
    let quotient = a / b;
    // The remainder's sign over the divisor's is the error's.
    let error = (-quotient).mul_add(b, a);
    directed64(quotient, if b < 0.0 { -error } else { error }, a.is_finite() && b != 0.0, mode)
}

pub fn sqrt64(a: f64, mode: Mode) -> f64 {
    let root = a.sqrt();
    directed64(root, (-root).mul_add(root, a), a.is_finite(), mode)
}

pub fn add32(a: f32, b: f32, mode: Mode) -> f32 {
    match mode {
        Mode::Nearest => a + b,
        _ => fma32(a, 1.0, b, mode),
    }
}

pub fn mul32(a: f32, b: f32, mode: Mode) -> f32 {
    // Exact in `f64`, so rounded once.
    to_f32(f64::from(a) * f64::from(b), mode)
}

pub fn fma32(a: f32, b: f32, c: f32, mode: Mode) -> f32 {
    if mode == Mode::Nearest {
        return a.mul_add(b, c);
    }
    // The product of two `f32` is exact in `f64`.
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    match two_sum(product, c) {
        (0.0, _) => add64(product, c, mode) as f32,
        (sum, error) => narrow(sum, error, mode),
    }
}

pub fn div32(a: f32, b: f32, mode: Mode) -> f32 {
    if mode == Mode::Nearest {
        return a / b;
    }
    let (a, b) = (f64::from(a), f64::from(b));
    let quotient = a / b;
    let error = (-quotient).mul_add(b, a);
    narrow(quotient, if b < 0.0 { -error } else { error }, mode)
}

pub fn sqrt32(a: f32, mode: Mode) -> f32 {
    if mode == Mode::Nearest {
        return a.sqrt();
    }
    let a = f64::from(a);
    let root = a.sqrt();
    narrow(root, (-root).mul_add(root, a), mode)
}

/// An `f64` to the `f32` that the mode asks for.
pub fn to_f32(value: f64, mode: Mode) -> f32 {
    narrow(value, 0.0, mode)
}

/// A float to an integer in the float's own type.
pub fn to_integer(value: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => value.round_ties_even(),
        Mode::Zero => value.trunc(),
        Mode::Down => value.floor(),
        Mode::Up => value.ceil(),
    }
}

fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    (sum, two_sum_error(a, b, sum))
}

/// What `sum`, the nearest to `a + b`, lacks of it.
fn two_sum_error(a: f64, b: f64, sum: f64) -> f64 {
    let bulk = sum - a;
    (a - (sum - bulk)) + (b - bulk)
}

/// The neighbour of the nearest value `near` in the mode's direction, if the exact one, `near + error`, lies there.
/// The exact value is `finite`, or `near` is exact.
fn directed64(near: f64, error: f64, finite: bool, mode: Mode) -> f64 {
    if near.is_nan() || mode == Mode::Nearest {
        return near;
    }
    if near.is_infinite() {
        return match (mode, near > 0.0) {
            (Mode::Zero | Mode::Down, true) if finite => f64::MAX,
            (Mode::Zero | Mode::Up, false) if finite => f64::MIN,
            _ => near,
        };
    }
    match mode {
        Mode::Down if error < 0.0 => near.next_down(),
        Mode::Up if error > 0.0 => near.next_up(),
        Mode::Zero if near > 0.0 && error < 0.0 => near.next_down(),
        Mode::Zero if near < 0.0 && error > 0.0 => near.next_up(),
        _ => near,
    }
}

/// `wide + error`, of which the error is beyond the last place, as the `f32` that the mode asks for.
fn narrow(wide: f64, error: f64, mode: Mode) -> f32 {
    let near = wide as f32;
    if mode == Mode::Nearest || wide.is_nan() || wide.is_infinite() {
        return near;
    }
    let difference = wide - f64::from(near);
    let below = difference < 0.0 || difference == 0.0 && error < 0.0;
    let above = difference > 0.0 || difference == 0.0 && error > 0.0;
    match mode {
        Mode::Down if below => near.next_down(),
        Mode::Up if above => near.next_up(),
        Mode::Zero if wide > 0.0 && below => near.next_down(),
        Mode::Zero if wide < 0.0 && above => near.next_up(),
        _ => near,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [Mode; 4] = [Mode::Nearest, Mode::Zero, Mode::Down, Mode::Up];

    /// Small integers scaled by powers of two have sums, products and quotients that `i128` checks exactly.
    #[test]
    fn directed_sums_and_products_bracket_the_exact_ones() {
        let mut state = 7u64;
        let mut random = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 40) as i128 - (1 << 23)
        };
        for round in 0..20_000 {
            let (a, b, c) = (random(), random(), random());
            // c stands 2^shift above the product's lowest bit.
            let shift = round % 40;
            let scale = 2f32.powi(shift);
            let exact = a * b + (c << shift);
            let got = MODES.map(|mode| fma32(a as f32, b as f32, c as f32 * scale, mode) as i128);
            check(exact, got, |value| value as f32 as i128);
            let got = MODES.map(|mode| fma64(a as f64, b as f64, c as f64 * f64::from(scale), mode) as i128);
            check(exact, got, |value| value as f64 as i128);
            let exact = a + (b << shift);
            check(exact, MODES.map(|m| add32(a as f32, b as f32 * scale, m) as i128), |v| v as f32 as i128);
            let (x, y) = ((a << 29) + c, (b << 30) + a);
            check(x * y, MODES.map(|m| mul64(x as f64, y as f64, m) as i128), |v| v as f64 as i128);
        }
    }

    fn check(exact: i128, [near, zero, down, up]: [i128; 4], nearest: impl Fn(i128) -> i128) {
        assert_eq!(near, nearest(exact), "{exact}");
        assert!(down <= exact && exact <= up, "{down} <= {exact} <= {up}");
        assert!(near == down || near == up, "{near} is neither {down} nor {up}");
        assert_eq!(zero, if exact > 0 { down } else { up }, "{exact}");
        assert_eq!(down == up, near == exact, "{exact} is exact or between");
    }

    #[test]
    fn quotients_and_roots_bracket_the_exact_ones() {
        for (a, b) in [(1.0f32, 3.0f32), (-1.0, 3.0), (2.0, -7.0), (10.0, 5.0), (1e-30, 7e9), (5.0, 0.3)] {
            let [_, zero, down, up] = MODES.map(|mode| f64::from(div32(a, b, mode)));
            let exact = f64::from(a) / f64::from(b);
            assert!(down <= exact && exact <= up && (up == down || exact != up), "{a} / {b}");
            assert_eq!(zero, if exact > 0.0 { down } else { up });
            let [_, _, down, up] = MODES.map(|mode| f64::from(sqrt32(a.abs(), mode)));
            assert!(down * down <= f64::from(a.abs()) && f64::from(a.abs()) <= up * up, "sqrt {a}");
            let (a, b) = (f64::from(a), f64::from(b));
            let [near, _, down, up] = MODES.map(|mode| div64(a, b, mode));
            assert!(near == down || near == up);
            assert!(down == up || down.next_up() == up);
        }
    }

    #[test]
    fn zeros_and_overflows_by_mode() {
        assert!(add32(1.0, -1.0, Mode::Down).is_sign_negative());
        assert!(add64(1.0, -1.0, Mode::Down).is_sign_negative());
        assert!(fma32(1.0, 1.0, -1.0, Mode::Down).is_sign_negative());
        assert!(add64(1.0, -1.0, Mode::Up).is_sign_positive());
        assert_eq!(mul32(f32::MAX, 2.0, Mode::Zero), f32::MAX);
        assert_eq!(mul32(f32::MAX, -2.0, Mode::Up), f32::MIN);
        assert_eq!(add64(f64::MAX, f64::MAX, Mode::Down), f64::MAX);
        assert_eq!(mul64(f64::INFINITY, 2.0, Mode::Down), f64::INFINITY);
        assert_eq!(to_f32(1e-60, Mode::Up), f32::from_bits(1));
        assert_eq!(to_f32(1e-60, Mode::Zero), 0.0);
    }
}
