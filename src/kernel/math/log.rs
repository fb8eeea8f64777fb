//! The natural logarithm.
//!
//! Reduction: x = m · 2ᵏ with m in [√½, √2), so log x = k · ln 2 + log m. With f = m − 1 and s = f / (2 + f),
//! log m = log(1 + s) − log(1 − s) = f − (f²/2 − s · (f²/2 + R(s²))), fdlibm's form.

use super::exp::{LN2_HIGH_F64, LN2_LOW_F64};
use super::poly::{poly_f32, poly_f64, split_f32, split_f64};

/// ln 2 in two parts, from fdlibm's logf.
const LN2_HIGH_F32: f32 = 0.693_138_1;
const LN2_LOW_F32: f32 = 9.058_001e-6;
/// R(z) / z, from FreeBSD's logf; error below 2⁻³⁴.
const LOG_F32: [f32; 4] = [0.242_790_79, 0.284_987_87, 0.400_009_72, 0.666_666_6];
/// R(z) / z, from fdlibm's log; error below 2⁻⁵⁸.
const LOG_F64: [f64; 7] = [
    0.147_981_986_051_165_86,
    0.153_138_376_992_093_73,
    0.181_835_721_616_180_5,
    0.222_221_984_321_497_84,
    0.285_714_287_436_623_9,
    0.399_999_999_994_094_2,
    0.666_666_666_666_673_5,
];

/// log x, at most 0.9 ulp; −inf at ±0, NaN below.
#[inline(always)]
pub(super) fn log_f32(x: f32) -> f32 {
    let (m, k) = split_f32(x);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    let r = z * poly_f32(z, LOG_F32);
    let y = k.mul_add(LN2_HIGH_F32, (s.mul_add(half_square + r, k * LN2_LOW_F32) - half_square) + f);
    // Against MAX, not infinity: LLVM would gather such tests into a costly classification of x.
    let edge = if x == 0.0 { f32::NEG_INFINITY } else { f32::NAN };
    let y = if x > 0.0 { y } else { edge };
    if x > f32::MAX { x } else { y }
}

/// log x, at most 0.9 ulp; −inf at ±0, NaN below.
#[inline(always)]
pub(super) fn log_f64(x: f64) -> f64 {
    let (m, k) = split_f64(x);
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    let r = z * poly_f64(z, LOG_F64);
    let y = k.mul_add(LN2_HIGH_F64, (s.mul_add(half_square + r, k * LN2_LOW_F64) - half_square) + f);
    // Against MAX, not infinity: LLVM would gather such tests into a costly classification of x.
    let edge = if x == 0.0 { f64::NEG_INFINITY } else { f64::NAN };
    let y = if x > 0.0 { y } else { edge };
    if x > f64::MAX { x } else { y }
}
