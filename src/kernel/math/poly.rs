//! Polynomials and exponent bits, the parts that every function here is made of.

/// 1.5 · 2²³: adding it rounds an f32 below 2²² to an integer (ties to even) and leaves that integer, in
/// two's complement, in the low bits of the sum. A saturating `as i32` costs twice as much.
pub(super) const MAGIC_F32: f32 = 12_582_912.0;
/// 1.5 · 2⁵²: as [`MAGIC_F32`], for f64 below 2⁵¹.
pub(super) const MAGIC_F64: f64 = 6_755_399_441_055_744.0;

/// Horner's rule with fused steps; the highest coefficient first.
#[inline(always)]
pub(super) fn poly_f32<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    let mut i = 1;
    while i < N {
        sum = sum.mul_add(x, coefficients[i]);
        i += 1;
    }
    sum
}

/// Horner's rule with fused steps; the highest coefficient first.
#[inline(always)]
pub(super) fn poly_f64<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[0];
    let mut i = 1;
    while i < N {
        sum = sum.mul_add(x, coefficients[i]);
        i += 1;
    }
    sum
}

/// 2ⁿ for n + [`MAGIC_F32`], −126 ≤ n ≤ 127.
#[inline(always)]
pub(super) fn exp2_of_magic_f32(n_magic: f32) -> f32 {
    f32::from_bits(n_magic.to_bits().wrapping_add(127) << 23)
}

/// 2ⁿ for n + [`MAGIC_F64`], −1022 ≤ n ≤ 1023.
#[inline(always)]
pub(super) fn exp2_of_magic_f64(n_magic: f64) -> f64 {
    f64::from_bits(n_magic.to_bits().wrapping_add(1023) << 52)
}

/// `y` · 2ᵏ for an integral `k`, |k| ≤ 254: in two steps, because 2ᵏ alone overflows where the product
/// needn't. Overflow gives infinity, underflow a subnormal number or zero.
#[inline(always)]
pub(super) fn scale_f32(y: f32, k: f32) -> f32 {
    let half_magic = k.mul_add(0.5, MAGIC_F32);
    let rest_magic = (k - (half_magic - MAGIC_F32)) + MAGIC_F32;
    y * exp2_of_magic_f32(half_magic) * exp2_of_magic_f32(rest_magic)
}

/// `y` · 2ᵏ for an integral `k`, |k| ≤ 2044, as [`scale_f32`]. The exponent is halved in floating point:
/// AVX2 has no arithmetic shift of 64-bit lanes.
#[inline(always)]
pub(super) fn scale_f64(y: f64, k: f64) -> f64 {
    let half_magic = k.mul_add(0.5, MAGIC_F64);
    let rest_magic = (k - (half_magic - MAGIC_F64)) + MAGIC_F64;
    y * exp2_of_magic_f64(half_magic) * exp2_of_magic_f64(rest_magic)
}

/// `(m, k)` with x = m · 2ᵏ and m in [√½, √2), for positive finite x, subnormal ones included. Other
/// arguments give some finite pair.
#[inline(always)]
pub(super) fn split_f32(x: f32) -> (f32, f32) {
    const SQRT_HALF: u32 = 0x3f35_04f3;
    const TWO_POW_25: f32 = 33_554_432.0;
    let is_small = x < f32::MIN_POSITIVE;
    let normal = if is_small { x * TWO_POW_25 } else { x };
    let bias = if is_small { 127 + 25 } else { 127 };
    let bits = normal.to_bits().wrapping_add(0x3f80_0000 - SQRT_HALF);
    let mantissa = f32::from_bits((bits & 0x007f_ffff) + SQRT_HALF);
    (mantissa, ((bits >> 23) as i32 - bias) as f32)
}

/// As [`split_f32`].
#[inline(always)]
pub(super) fn split_f64(x: f64) -> (f64, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const TWO_POW_54: f64 = 18_014_398_509_481_984.0;
    // An integer below 2⁵² in the mantissa of 2⁵², less 2⁵²: a conversion from u64 that AVX2 has.
    const TWO_POW_52: f64 = 4_503_599_627_370_496.0;
    let is_small = x < f64::MIN_POSITIVE;
    let normal = if is_small { x * TWO_POW_54 } else { x };
    let offset = if is_small { TWO_POW_52 + 1023.0 + 54.0 } else { TWO_POW_52 + 1023.0 };
    let bits = normal.to_bits().wrapping_add(0x3ff0_0000_0000_0000 - SQRT_HALF);
    let mantissa = f64::from_bits((bits & 0x000f_ffff_ffff_ffff) + SQRT_HALF);
    (mantissa, f64::from_bits((bits >> 52) | TWO_POW_52.to_bits()) - offset)
}
