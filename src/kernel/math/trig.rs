//! sin, cos and tan of moderate arguments.
//!
//! Reduction, after Cody and Waite: x = k · π/2 + r with integral k, |r| ≤ π/4 and a little. π/2 is the sum of three
//! numbers of full precision, c₁ + c₂ + c₃. The fused x − k · c₁ is exact: both are multiples of ulp(1)
//! (smaller arguments have k = 0 or 1) and the difference is below 1. The rounding errors of k · c₂ and of the
//! next difference are exact too (Dekker: the first operand is a multiple of the second's last place) and go
//! into `low`, so that r + low is accurate even where x is close to a multiple of π/2.

use super::poly::{MAGIC_F32, MAGIC_F64, poly_f32, poly_f64};

/// The largest |x| that the f32 functions take: k · (π/2 − c₁) stays below 0.01, and k · 2/π's rounding too.
pub(super) const LIMIT_F32: f32 = 262_144.0;
/// The largest |x| that the f64 functions take.
pub(super) const LIMIT_F64: f64 = 1_073_741_824.0;

/// π/2 in three parts, each the nearest to what the parts before it leave.
const HALF_PI_F32: [f32; 3] = [std::f32::consts::FRAC_PI_2, -4.371_139e-8, -1.715_124_5e-15];
const HALF_PI_F64: [f64; 3] =
    [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// (sin r − r) / r³ in r²: a minimax fit on |r| ≤ 0.81, relative error of sin below 2⁻²⁷·⁶.
const SIN_F32: [f32; 3] = [-0.000_194_950_48, 0.008_332_011, -0.166_666_52];
/// (cos r − 1 + r²/2) / r⁴ in r²: a minimax fit on |r| ≤ 0.81, relative error of cos below 2⁻³²·⁵.
const COS_F32: [f32; 3] = [2.441_122_2e-5, -0.001_388_712_6, 0.041_666_64];
/// (sin r − r) / r³ in r², from fdlibm's k_sin; error below 2⁻⁵⁸.
const SIN_F64: [f64; 6] = [
    1.589_690_995_211_55e-10,
    -2.505_076_025_340_686_3e-8,
    2.755_731_370_707_006_8e-6,
    -0.000_198_412_698_298_579_5,
    0.008_333_333_333_322_49,
    -0.166_666_666_666_666_32,
];
/// (cos r − 1 + r²/2) / r⁴ in r², from fdlibm's k_cos; error below 2⁻⁵⁸.
const COS_F64: [f64; 6] = [
    -1.135_964_755_778_819_5e-11,
    2.087_572_321_298_175e-9,
    -2.755_731_435_139_066_3e-7,
    2.480_158_728_947_673e-5,
    -0.001_388_888_888_887_411,
    0.041_666_666_666_666_6,
];

/// sin x for |x| ≤ [`LIMIT_F32`], at most 0.8 ulp.
#[inline(always)]
pub(super) fn sin_f32(x: f32) -> f32 {
    let (sin, cos, quadrant) = sin_cos_f32(x);
    let y = turn_f32(sin, cos, quadrant);
    // The sums above lose the sign of −0.
    if x == 0.0 { x } else { y }
}

/// cos x for |x| ≤ [`LIMIT_F32`], at most 0.8 ulp.
#[inline(always)]
pub(super) fn cos_f32(x: f32) -> f32 {
    let (sin, cos, quadrant) = sin_cos_f32(x);
    turn_f32(sin, cos, quadrant.wrapping_add(1))
}

/// tan x for |x| ≤ [`LIMIT_F32`], at most 2.1 ulp.
#[inline(always)]
pub(super) fn tan_f32(x: f32) -> f32 {
    let (sin, cos, quadrant) = sin_cos_f32(x);
    let is_odd = quadrant & 1 != 0;
    let numerator = if is_odd { -cos } else { sin };
    let y = numerator / if is_odd { sin } else { cos };
    if x == 0.0 { x } else { y }
}

/// sin x for |x| ≤ [`LIMIT_F64`], at most 0.8 ulp.
#[inline(always)]
pub(super) fn sin_f64(x: f64) -> f64 {
    let (sin, cos, quadrant) = sin_cos_f64(x);
    let y = turn_f64(sin, cos, quadrant);
    if x == 0.0 { x } else { y }
}

/// cos x for |x| ≤ [`LIMIT_F64`], at most 0.8 ulp.
#[inline(always)]
pub(super) fn cos_f64(x: f64) -> f64 {
    let (sin, cos, quadrant) = sin_cos_f64(x);
    turn_f64(sin, cos, quadrant.wrapping_add(1))
}

/// tan x for |x| ≤ [`LIMIT_F64`], at most 2.1 ulp.
#[inline(always)]
pub(super) fn tan_f64(x: f64) -> f64 {
    let (sin, cos, quadrant) = sin_cos_f64(x);
    let is_odd = quadrant & 1 != 0;
    let numerator = if is_odd { -cos } else { sin };
    let y = numerator / if is_odd { sin } else { cos };
    if x == 0.0 { x } else { y }
}

/// sin and cos of r, and k: the quadrant in its two low bits.
#[inline(always)]
fn sin_cos_f32(x: f32) -> (f32, f32, u32) {
    let k_magic = x.mul_add(std::f32::consts::FRAC_2_PI, MAGIC_F32);
    let minus_k = MAGIC_F32 - k_magic;
    let exact = minus_k.mul_add(HALF_PI_F32[0], x);
    let second = minus_k * HALF_PI_F32[1];
    let second_error = minus_k.mul_add(HALF_PI_F32[1], -second);
    let r = exact + second;
    let low = minus_k.mul_add(HALF_PI_F32[2], ((exact - r) + second) + second_error);
    let z = r * r;
    // 1 − z/2 rounded, and its error, which is exact; so fdlibm's k_cos.
    let near_one = z.mul_add(-0.5, 1.0);
    let error = z.mul_add(-0.5, 1.0 - near_one);
    let cos = near_one + (error + (z * z).mul_add(poly_f32(z, COS_F32), -(r * low)));
    let sin = r + (z * r).mul_add(poly_f32(z, SIN_F32), low * near_one);
    (sin, cos, k_magic.to_bits())
}

/// As [`sin_cos_f32`].
#[inline(always)]
fn sin_cos_f64(x: f64) -> (f64, f64, u64) {
    let k_magic = x.mul_add(std::f64::consts::FRAC_2_PI, MAGIC_F64);
    let minus_k = MAGIC_F64 - k_magic;
    let exact = minus_k.mul_add(HALF_PI_F64[0], x);
    let second = minus_k * HALF_PI_F64[1];
    let second_error = minus_k.mul_add(HALF_PI_F64[1], -second);
    let r = exact + second;
    let low = minus_k.mul_add(HALF_PI_F64[2], ((exact - r) + second) + second_error);
    let z = r * r;
    let near_one = z.mul_add(-0.5, 1.0);
    let error = z.mul_add(-0.5, 1.0 - near_one);
    let cos = near_one + (error + (z * z).mul_add(poly_f64(z, COS_F64), -(r * low)));
    let sin = r + (z * r).mul_add(poly_f64(z, SIN_F64), low * near_one);
    (sin, cos, k_magic.to_bits())
}

/// The sine of r + quadrant · π/2.
#[inline(always)]
fn turn_f32(sin: f32, cos: f32, quadrant: u32) -> f32 {
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f32::from_bits(value.to_bits() ^ ((quadrant & 2) << 30))
}

/// As [`turn_f32`].
#[inline(always)]
fn turn_f64(sin: f64, cos: f64, quadrant: u64) -> f64 {
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
}
