//! pow and hypot.

use super::exp::{LN2_HIGH_F64, LN2_LOW_F64, exp_sum_f64};
use super::poly::{MAGIC_F64, exp2_of_magic_f64, poly_f64, split_f32, split_f64};

/// log₂ m = s · P(s²) · log₂ e with s = (m − 1) / (m + 1): the series of 2 artanh s. |s| ≤ 0.172, so the
/// first term left out is 2⁻⁴⁴ of the sum.
const LOG_SERIES: [f64; 8] =
    [2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0, 2.0];
/// eʳ's Taylor series on |r| ≤ ½ ln 2; the first term left out is 2⁻³⁷.
const EXP_SERIES: [f64; 10] = [
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];
/// The series of 2 artanh s after its terms in s and s³, divided by s⁵.
const LOG_TAIL_SERIES: [f64; 11] = [
    2.0 / 25.0,
    2.0 / 23.0,
    2.0 / 21.0,
    2.0 / 19.0,
    2.0 / 17.0,
    2.0 / 15.0,
    2.0 / 13.0,
    2.0 / 11.0,
    2.0 / 9.0,
    2.0 / 7.0,
    2.0 / 5.0,
];

/// x to the y, at most 0.51 ulp: 2 to the y · log₂|x| in f64, with C99's special values.
#[inline(always)]
pub(super) fn pow_f32(x: f32, y: f32) -> f32 {
    let a = x.abs();
    let (m, k) = split_f32(a);
    let m = f64::from(m);
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let log2 = (s * poly_f64(z, LOG_SERIES)).mul_add(std::f64::consts::LOG2_E, f64::from(k));
    let log2 = if a == 0.0 { f64::NEG_INFINITY } else { log2 };
    let log2 = if a < f32::INFINITY { log2 } else { f64::from(a) };
    let t = f64::from(y) * log2;
    let t = if t > 200.0 { 200.0 } else { t };
    let t = if t < -200.0 { -200.0 } else { t };
    let k_magic = t + MAGIC_F64;
    let r = (t - (k_magic - MAGIC_F64)) * std::f64::consts::LN_2;
    let value = (poly_f64(r, EXP_SERIES) * exp2_of_magic_f64(k_magic)) as f32;

    let half = 0.5 * y;
    let is_integer = y.round_ties_even() == y;
    let is_odd = is_integer & (half.round_ties_even() != half);
    let is_negative = x.is_sign_negative();
    let value = if is_negative & is_odd { -value } else { value };
    let is_undefined = (x < 0.0) & (a < f32::INFINITY) & !is_integer;
    let value = if is_undefined { f32::NAN } else { value };
    let is_one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (y.abs() == f32::INFINITY));
    if is_one { 1.0 } else { value }
}

/// x to the y, at most 1.1 ulp: e to the y · log|x|, the logarithm and the product as sums of two f64, with
/// C99's special values.
#[inline(always)]
pub(super) fn pow_f64(x: f64, y: f64) -> f64 {
    let a = x.abs();
    let (log, log_low) = log_double(a);
    let log = if a == 0.0 { f64::NEG_INFINITY } else { log };
    let log = if a < f64::INFINITY { log } else { a };
    let (t, t_error) = product(log, y);
    let t_low = log_low.mul_add(y, t_error);
    // Out of exp's range the low part is meaningless, or inf − inf.
    let t_low = if t.abs() < 800.0 { t_low } else { 0.0 };
    let value = exp_sum_f64(t, t_low);

    let half = 0.5 * y;
    let is_integer = y.round_ties_even() == y;
    let is_odd = is_integer & (half.round_ties_even() != half);
    let is_negative = x.is_sign_negative();
    let value = if is_negative & is_odd { -value } else { value };
    let is_undefined = (x < 0.0) & (a < f64::INFINITY) & !is_integer;
    let value = if is_undefined { f64::NAN } else { value };
    let is_one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (y.abs() == f64::INFINITY));
    if is_one { 1.0 } else { value }
}

/// log x of a positive finite x as an unevaluated sum, to about 2⁻⁶⁵ of it.
///
/// x = m · 2ᵏ; log m = 2 artanh s = 2 s + s³ (2/3 + s² (2/5 + …)) with s = (m − 1) / (m + 1), where s, s² and
/// the term in s³ are sums of two f64 and the rest is one.
#[inline(always)]
fn log_double(x: f64) -> (f64, f64) {
    const TWO_THIRDS: [f64; 2] = [0.666_666_666_666_666_6, 3.700_743_415_417_188e-17];
    let (m, k) = split_f64(x);
    let f = m - 1.0;
    let (sum, sum_low) = two_sum(1.0, m);
    let s = f / sum;
    let s_low = ((-s).mul_add(sum, f) - s * sum_low) / sum;
    let (z, z_error) = product(s, s);
    let z_low = (2.0 * s).mul_add(s_low, z_error);
    let (tail, tail_error) = product(z, poly_f64(z, LOG_TAIL_SERIES));
    let (c, c_error) = fast_two_sum(TWO_THIRDS[0], tail);
    let c_low = c_error + tail_error + TWO_THIRDS[1];
    let (cube, cube_error) = product(s, z);
    let cube_low = s.mul_add(z_low, s_low.mul_add(z, cube_error));
    let (term, term_error) = product(cube, c);
    let term_low = cube.mul_add(c_low, cube_low.mul_add(c, term_error));
    // k · the high part of ln 2 is exact.
    let (k_low, k_error) = product(k, LN2_LOW_F64);
    let (first, first_error) = two_sum(k * LN2_HIGH_F64, 2.0 * s);
    let (second, second_error) = two_sum(first, term);
    let (third, third_error) = two_sum(second, k_low);
    let low = first_error + second_error + third_error + (2.0f64.mul_add(s_low, term_low)) + k_error;
    fast_two_sum(third, low)
}

/// a · b as a sum of two.
#[inline(always)]
fn product(a: f64, b: f64) -> (f64, f64) {
    let high = a * b;
    (high, a.mul_add(b, -high))
}

/// a + b as a sum of two (Knuth).
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    let b_part = high - a;
    (high, (a - (high - b_part)) + (b - b_part))
}

/// As [`two_sum`] where |a| ≥ |b| (Dekker).
#[inline(always)]
fn fast_two_sum(a: f64, b: f64) -> (f64, f64) {
    let high = a + b;
    (high, b - (high - a))
}

/// √(x² + y²), at most 0.51 ulp: in f64, where nothing overflows; inf when either is, even beside NaN.
#[inline(always)]
pub(super) fn hypot_f32(x: f32, y: f32) -> f32 {
    let (wide_x, wide_y) = (f64::from(x), f64::from(y));
    let value = wide_x.mul_add(wide_x, wide_y * wide_y).sqrt() as f32;
    let is_infinite = (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY);
    if is_infinite { f32::INFINITY } else { value }
}

/// √(x² + y²), at most 1.1 ulp, scaled by a power of two so that no square overflows or vanishes; inf when
/// either is, even beside NaN.
#[inline(always)]
pub(super) fn hypot_f64(x: f64, y: f64) -> f64 {
    const TWO_POW_600: f64 = 4.149_515_568_880_993e180;
    let (ax, ay) = (x.abs(), y.abs());
    let is_y_larger = ay > ax;
    let long = if is_y_larger { ay } else { ax };
    let short = if is_y_larger { ax } else { ay };
    let up = if long < 1e-140 { TWO_POW_600 } else { 1.0 };
    let scale = if long > 1e150 { 1.0 / TWO_POW_600 } else { up };
    let unscale = if long > 1e150 { TWO_POW_600 } else { 1.0 / up };
    let (p, q) = (long * scale, short * scale);
    let value = p.mul_add(p, q * q).sqrt() * unscale;
    let is_infinite = (ax == f64::INFINITY) | (ay == f64::INFINITY);
    if is_infinite { f64::INFINITY } else { value }
}
