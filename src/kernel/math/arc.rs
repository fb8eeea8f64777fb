//! atan, atan2, asin and acos.

use super::poly::{poly_f32, poly_f64};

/// (atan t − t) / t³ in t²: a minimax fit on [0, 1], its coefficients then moved by a few last places, so that
/// this evaluation stays within 0.8 ulp and π/4 comes out exact.
const ATAN_F32: [f32; 9] = [
    -0.001_806_346_6,
    0.010_952_418,
    -0.031_214_267,
    0.057_963_166,
    -0.084_022_56,
    0.109_513_916,
    -0.142_640_47,
    0.199_985_3,
    -0.333_333,
];
/// (t − atan t) / t³ in t² on |t| ≤ 7/16, from fdlibm's atan.
const ATAN_F64: [f64; 11] = [
    0.016_285_820_115_365_782,
    -0.036_531_572_744_216_916,
    0.049_768_779_946_159_324,
    -0.058_335_701_337_905_735,
    0.066_610_731_373_875_31,
    -0.076_918_762_050_448_3,
    0.090_908_871_334_365_07,
    -0.111_111_104_054_623_56,
    0.142_857_142_725_034_66,
    -0.199_999_999_998_764_83,
    0.333_333_333_333_329_3,
];
/// π/2 = FRAC_PI_2 + this, and π = PI + twice this.
const HALF_PI_LOW_F32: f32 = -4.371_139e-8;
const HALF_PI_LOW_F64: f64 = 6.123_233_995_736_766e-17;
const TWO_POW_600: f64 = 4.149_515_568_880_993e180;

/// (asin s − s) / s³ in s²: a minimax fit on |s| ≤ ½, relative error of asin below 2⁻²⁷·⁶.
const ASIN_F32: [f32; 5] = [0.042_158_388, 0.024_184_743, 0.045_469_154, 0.074_953_094, 0.166_667_52];
/// (asin s − s) / s³ in s² on |s| ≤ ½ as a ratio of polynomials, from fdlibm's asin.
const ASIN_NUMERATOR_F64: [f64; 6] = [
    3.479_331_075_960_212e-5,
    0.000_791_534_994_289_814_5,
    -0.040_055_534_500_679_41,
    0.201_212_532_134_862_93,
    -0.325_565_818_622_400_9,
    0.166_666_666_666_666_66,
];
const ASIN_DENOMINATOR_F64: [f64; 5] = [
    0.077_038_150_555_901_94,
    -0.688_283_971_605_453_3,
    2.020_945_760_233_505_7,
    -2.403_394_911_734_414,
    1.0,
];

/// atan x, at most 1.3 ulp.
#[inline(always)]
pub(super) fn atan_f32(x: f32) -> f32 {
    let a = x.abs();
    let is_steep = a > 1.0;
    let t = if is_steep { 1.0 } else { a } / if is_steep { a } else { 1.0 };
    from_octant_f32(t, is_steep, 0).copysign(x)
}

/// The angle of the point (x, y), at most 1.5 ulp. IEEE 754's special values: the signs of zeros choose the
/// quadrant, two infinities lie on the diagonal.
#[inline(always)]
pub(super) fn atan2_f32(y: f32, x: f32) -> f32 {
    let (ay, ax) = (y.abs(), x.abs());
    let is_steep = ay > ax;
    let short = if is_steep { ax } else { ay };
    let long = if is_steep { ay } else { ax };
    // 0/0 and inf/inf are told by equality; NaN is equal to nothing and stays.
    let diagonal = if long == 0.0 { 0.0 } else { 1.0 };
    let t = if short == long { diagonal } else { short / long };
    from_octant_f32(t, is_steep, x.to_bits() >> 31).copysign(y)
}

/// The angle in [0, π] whose tangent, or where `is_steep` its cotangent, is `t` in [0, 1] in magnitude;
/// `is_left` is 1 for the half plane x < 0.
#[inline(always)]
fn from_octant_f32(t: f32, is_steep: bool, is_left: u32) -> f32 {
    let z = t * t;
    let octant = (z * t).mul_add(poly_f32(z, ATAN_F32), t);
    // θ, π/2 − θ, π/2 + θ or π − θ: a multiple of π/2, in two parts, plus or minus θ.
    let quarters = if is_steep { 1.0 } else { (is_left as i32 * 2) as f32 };
    let flip = (u32::from(is_steep) ^ is_left) << 31;
    let signed = f32::from_bits(octant.to_bits() ^ flip);
    let signed = f32::mul_add(quarters, HALF_PI_LOW_F32, signed);
    f32::mul_add(quarters, std::f32::consts::FRAC_PI_2, signed)
}

/// atan x, at most 1.3 ulp.
#[inline(always)]
pub(super) fn atan_f64(x: f64) -> f64 {
    let a = x.abs();
    let is_steep = a > 1.0;
    let short = if is_steep { 1.0 } else { a };
    // An infinite divisor would give 0 · inf below; 2⁶⁰⁰ is as far as any.
    let a = if a == f64::INFINITY { TWO_POW_600 } else { a };
    let long = if is_steep { a } else { 1.0 };
    from_octant_f64(short, long, is_steep, 0).copysign(x)
}

/// As [`atan2_f32`]; at most 1.5 ulp.
#[inline(always)]
pub(super) fn atan2_f64(y: f64, x: f64) -> f64 {
    let (ay, ax) = (y.abs(), x.abs());
    let is_steep = ay > ax;
    let short = if is_steep { ax } else { ay };
    let long = if is_steep { ay } else { ax };
    // Sums of both must not overflow, nor fractions lose bits among the subnormal numbers.
    let scale = if long < 1e-290 { TWO_POW_600 } else { 1.0 };
    let scale = if long > 1e300 { 0.25 } else { scale };
    // 0/0 becomes 0/1, inf/inf 1/1, finite/inf 0/1; NaN is equal to nothing and stays.
    let short_is_infinite = short == f64::INFINITY;
    let long_is_infinite = long == f64::INFINITY;
    let finite_short =
        if long_is_infinite & !short_is_infinite & !short.is_nan() { 0.0 } else { short * scale };
    let finite_short = if short_is_infinite & long_is_infinite { 1.0 } else { finite_short };
    let finite_long = if long_is_infinite | (long == 0.0) { 1.0 } else { long * scale };
    from_octant_f64(finite_short, finite_long, is_steep, x.to_bits() >> 63).copysign(y)
}

/// As [`from_octant_f32`] with t = short / long. t in [0, 1] is reduced once more, after fdlibm: for the
/// c of {0, ½, 1} that is nearest, atan t = atan c + atan((t − c) / (1 + c · t)), with one division for both.
#[inline(always)]
fn from_octant_f64(short: f64, long: f64, is_steep: bool, is_left: u64) -> f64 {
    const ATAN_HALF: [f64; 2] = [0.463_647_609_000_806_1, 2.269_877_745_296_168_7e-17];
    const ATAN_ONE: [f64; 2] = [std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17];
    let is_past_low = short > 0.4375 * long;
    let is_past_high = short > 0.6875 * long;
    let pick = |low: f64, half: f64, one: f64| {
        if is_past_high {
            one
        } else if is_past_low {
            half
        } else {
            low
        }
    };
    let c = pick(0.0, 0.5, 1.0);
    let t = (-c).mul_add(long, short) / c.mul_add(short, long);
    let z = t * t;
    let correction = (z * t).mul_add(-poly_f64(z, ATAN_F64), pick(0.0, ATAN_HALF[1], ATAN_ONE[1]));
    let octant = pick(0.0, ATAN_HALF[0], ATAN_ONE[0]) + (t + correction);
    let quarters = if is_steep {
        1.0
    } else if is_left != 0 {
        2.0
    } else {
        0.0
    };
    let flip = (u64::from(is_steep) ^ is_left) << 63;
    let signed = f64::from_bits(octant.to_bits() ^ flip);
    let signed = f64::mul_add(quarters, HALF_PI_LOW_F64, signed);
    f64::mul_add(quarters, std::f64::consts::FRAC_PI_2, signed)
}

/// `(s, q)` with asin s' = s + q, where s' is |x| up to ½ and √((1 − |x|)/2) beyond; the second makes
/// asin |x| = π/2 − 2 (s + q). The root's rounding error is part of q.
#[inline(always)]
fn asin_parts_f32(a: f32, is_big: bool) -> (f32, f32) {
    let z = if is_big { 0.5 - 0.5 * a } else { a * a };
    let root = z.sqrt();
    let residue = if root > 0.0 { (-root).mul_add(root, z) / (2.0 * root) } else { 0.0 };
    let s = if is_big { root } else { a };
    (s, (z * s).mul_add(poly_f32(z, ASIN_F32), if is_big { residue } else { 0.0 }))
}

/// As [`asin_parts_f32`].
#[inline(always)]
fn asin_parts_f64(a: f64, is_big: bool) -> (f64, f64) {
    let z = if is_big { 0.5 - 0.5 * a } else { a * a };
    let root = z.sqrt();
    let residue = if root > 0.0 { (-root).mul_add(root, z) / (2.0 * root) } else { 0.0 };
    let s = if is_big { root } else { a };
    let ratio = z * poly_f64(z, ASIN_NUMERATOR_F64) / poly_f64(z, ASIN_DENOMINATOR_F64);
    (s, s.mul_add(ratio, if is_big { residue } else { 0.0 }))
}

/// asin x, at most 1 ulp; NaN beyond ±1.
#[inline(always)]
pub(super) fn asin_f32(x: f32) -> f32 {
    let a = x.abs();
    let is_big = a > 0.5;
    let (s, q) = asin_parts_f32(a, is_big);
    let head = std::f32::consts::FRAC_PI_2 - 2.0 * s;
    let tail = (std::f32::consts::FRAC_PI_2 - head) - 2.0 * s;
    let far = head + (tail + (HALF_PI_LOW_F32 - 2.0 * q));
    (if is_big { far } else { s + q }).copysign(x)
}

/// asin x, at most 1 ulp; NaN beyond ±1.
#[inline(always)]
pub(super) fn asin_f64(x: f64) -> f64 {
    let a = x.abs();
    let is_big = a > 0.5;
    let (s, q) = asin_parts_f64(a, is_big);
    let head = std::f64::consts::FRAC_PI_2 - 2.0 * s;
    let tail = (std::f64::consts::FRAC_PI_2 - head) - 2.0 * s;
    let far = head + (tail + (HALF_PI_LOW_F64 - 2.0 * q));
    (if is_big { far } else { s + q }).copysign(x)
}

/// acos x, at most 1 ulp; NaN beyond ±1.
#[inline(always)]
pub(super) fn acos_f32(x: f32) -> f32 {
    let a = x.abs();
    let is_big = a > 0.5;
    let (s, q) = asin_parts_f32(a, is_big);
    // π/2 − asin x for small x; 2 (s + q) near 1; π − 2 (s + q) near −1.
    let signed = s.copysign(x);
    let head = std::f32::consts::FRAC_PI_2 - signed;
    let tail = (std::f32::consts::FRAC_PI_2 - head) - signed;
    let middle = head + (tail + (HALF_PI_LOW_F32 - q.copysign(x)));
    let right = 2.0 * (s + q);
    let left = 2.0 * (std::f32::consts::FRAC_PI_2 - (s + (q - HALF_PI_LOW_F32)));
    let big = if x < 0.0 { left } else { right };
    if is_big { big } else { middle }
}

/// acos x, at most 1 ulp; NaN beyond ±1.
#[inline(always)]
pub(super) fn acos_f64(x: f64) -> f64 {
    let a = x.abs();
    let is_big = a > 0.5;
    let (s, q) = asin_parts_f64(a, is_big);
    let signed = s.copysign(x);
    let head = std::f64::consts::FRAC_PI_2 - signed;
    let tail = (std::f64::consts::FRAC_PI_2 - head) - signed;
    let middle = head + (tail + (HALF_PI_LOW_F64 - q.copysign(x)));
    let right = 2.0 * (s + q);
    let left = 2.0 * (std::f64::consts::FRAC_PI_2 - (s + (q - HALF_PI_LOW_F64)));
    let big = if x < 0.0 { left } else { right };
    if is_big { big } else { middle }
}
