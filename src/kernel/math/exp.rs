//! exp and tanh.
//!
//! Reduction: x = k · ln 2 + r with integral k and |r| ≤ ½ ln 2, so eˣ = 2ᵏ · eʳ. ln 2 is taken in two parts,
//! the first with trailing zeros, so that k · high is exact.

use super::poly::{
    MAGIC_F32, MAGIC_F64, exp2_of_magic_f32, exp2_of_magic_f64, poly_f32, poly_f64, scale_f32, scale_f64,
};

/// ln 2 in two parts, from Cephes' expf.
const LN2_HIGH_F32: f32 = 0.693_359_4;
const LN2_LOW_F32: f32 = -0.000_212_194_44;
/// ln 2 in two parts, from fdlibm's exp.
pub(super) const LN2_HIGH_F64: f64 = 0.693_147_180_369_123_8;
pub(super) const LN2_LOW_F64: f64 = 1.908_214_929_270_587_7e-10;

/// (eʳ − 1 − r) / r² on |r| ≤ ½ ln 2, from Cephes' expf.
const EXP_F32: [f32; 6] =
    [0.000_198_756_91, 0.001_398_199_9, 0.008_333_452, 0.041_665_796, 0.166_666_66, 0.5];
/// (eʳ − 1 − r) / r² as its Taylor series; the first term left out is below 4e-18 of eʳ on |r| ≤ ½ ln 2.
const EXP_F64: [f64; 12] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
];

/// `(eʳ − 1, k + magic)`: what exp and tanh share. |x| must keep k within the exponent's range.
#[inline(always)]
fn exp_m1_reduced_f32(x: f32) -> (f32, f32) {
    let k_magic = x.mul_add(std::f32::consts::LOG2_E, MAGIC_F32);
    let k = k_magic - MAGIC_F32;
    let r = (-k).mul_add(LN2_LOW_F32, (-k).mul_add(LN2_HIGH_F32, x));
    ((poly_f32(r, EXP_F32) * r).mul_add(r, r), k_magic)
}

/// As [`exp_m1_reduced_f32`], of `x + low`.
#[inline(always)]
fn exp_m1_reduced_f64(x: f64, low: f64) -> (f64, f64) {
    let k_magic = x.mul_add(std::f64::consts::LOG2_E, MAGIC_F64);
    let k = k_magic - MAGIC_F64;
    let r = (-k).mul_add(LN2_LOW_F64, (-k).mul_add(LN2_HIGH_F64, x)) + low;
    ((poly_f64(r, EXP_F64) * r).mul_add(r, r), k_magic)
}

/// eˣ, at most 1.01 ulp.
#[inline(always)]
pub(super) fn exp_f32(x: f32) -> f32 {
    // Beyond these the result is infinity or zero anyway; the selects let NaN through.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let (m1, k_magic) = exp_m1_reduced_f32(x);
    scale_f32(m1 + 1.0, k_magic - MAGIC_F32)
}

/// eˣ, at most 1.01 ulp.
#[inline(always)]
pub(super) fn exp_f64(x: f64) -> f64 {
    exp_sum_f64(x, 0.0)
}

/// e to the `x + low`, |low| at most half an ulp of x: pow's argument is a double-double.
#[inline(always)]
pub(super) fn exp_sum_f64(x: f64, low: f64) -> f64 {
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let (m1, k_magic) = exp_m1_reduced_f64(x, low);
    scale_f64(m1 + 1.0, k_magic - MAGIC_F64)
}

/// tanh x = (e²ᵃ − 1) / (e²ᵃ + 1) with x's sign, a = |x|; at most 2.5 ulp.
#[inline(always)]
pub(super) fn tanh_f32(x: f32) -> f32 {
    let a = x.abs();
    // tanh rounds to 1 from 9.01 on.
    let a = if a > 10.0 { 10.0 } else { a };
    let (m1, k_magic) = exp_m1_reduced_f32(2.0 * a);
    let scale = exp2_of_magic_f32(k_magic);
    let e = m1.mul_add(scale, scale - 1.0);
    (e / (e + 2.0)).copysign(x)
}

/// As [`tanh_f32`]; at most 2.5 ulp.
#[inline(always)]
pub(super) fn tanh_f64(x: f64) -> f64 {
    let a = x.abs();
    // tanh rounds to 1 from 19.1 on.
    let a = if a > 20.0 { 20.0 } else { a };
    let (m1, k_magic) = exp_m1_reduced_f64(2.0 * a, 0.0);
    let scale = exp2_of_magic_f64(k_magic);
    let e = m1.mul_add(scale, scale - 1.0);
    (e / (e + 2.0)).copysign(x)
}
