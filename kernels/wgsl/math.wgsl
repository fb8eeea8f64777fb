// The real functions of src/kernel/math for f32, put in front of kernels that call one.
//
// WGSL promises less than IEEE 754, so the algorithms are the host's with these differences:
// - a division may be 2.5 ulp off and sqrt worse: oc_quotient and oc_root correct both to about half an ulp;
// - fma() may round twice, and a * b + c may be fused: nothing below depends on either. Where a product must
//   be exact, its factors are short (12 bits or fewer);
// - NaN and infinity may be assumed absent: they are told and made by their bits, never compared;
// - subnormal numbers may be flushed to zero, as arguments and as results.
// - sums may be reassociated: where an error term is wanted, its sum goes through oc_sum.
// The ulp figures are those measured on an implementation that rounds every fma() twice (Mesa's llvmpipe).

const OC_INF: u32 = 0x7f800000u;
const OC_MAGNITUDE: u32 = 0x7fffffffu;
const OC_SIGN: u32 = 0x80000000u;
const OC_NAN: u32 = 0x7fc00000u;
const OC_ONE: u32 = 0x3f800000u;
const OC_HALF_PI: f32 = 1.5707964;
const OC_HALF_PI_LOW: f32 = -4.371139e-08;
const OC_LOG2_E: f32 = 1.442695;

// e to the x; 2 ulp.
fn oc_exp(x: f32) -> f32 {
    let p = oc_exp_m1_reduced(clamp(x, -104.0, 89.0));
    return oc_exp_edge(x, oc_scale(p.x + 1.0, i32(p.y)), 0u);
}

// `value`, or what exponentials make of NaN, inf and -inf: NaN, inf, and `below`.
fn oc_exp_edge(x: f32, value: f32, below: u32) -> f32 {
    let b = bitcast<u32>(x);
    let m = b & OC_MAGNITUDE;
    let edge = select(select(OC_INF, below, b > OC_SIGN), b | OC_NAN, m > OC_INF);
    return bitcast<f32>(select(bitcast<u32>(value), edge, m >= OC_INF));
}

// log x; 1 ulp; -inf at zeros, NaN below.
fn oc_log(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let p = oc_split(b);
    let f = p.x - 1.0;
    let s = oc_quotient(f, 2.0 + f);
    let z = s * s;
    let h = 0.5 * f * f;
    let r = z * fma(z, fma(z, fma(z, 0.24279079, 0.28498787), 0.40000972), 0.6666666);
    let y = fma(p.y, 0.6931381, (fma(s, h + r, p.y * 9.058001e-06) - h) + f);
    let is_zero = (b & OC_MAGNITUDE) == 0u;
    let low = select(b | OC_NAN, OC_INF | OC_SIGN, is_zero);
    // +inf and NaN as they are; every other pattern from the sign bit on is negative.
    let high = select(bitcast<u32>(y), b, b >= OC_INF);
    return bitcast<f32>(select(high, low, is_zero || b > OC_SIGN));
}

// sin x; 2 ulp.
fn oc_sin(x: f32) -> f32 {
    let p = oc_sin_cos(x);
    let y = oc_turn(p, 0u);
    return oc_finite_or_nan(x, select(bitcast<u32>(y), bitcast<u32>(x), x == 0.0));
}

// cos x; 2 ulp.
fn oc_cos(x: f32) -> f32 {
    return oc_finite_or_nan(x, bitcast<u32>(oc_turn(oc_sin_cos(x), 1u)));
}

// tan x; 3.5 ulp.
fn oc_tan(x: f32) -> f32 {
    let p = oc_sin_cos(x);
    let is_odd = (p.quadrant & 1u) != 0u;
    let y = oc_quotient(select(p.sin, -p.cos, is_odd), select(p.cos, p.sin, is_odd));
    return oc_finite_or_nan(x, select(bitcast<u32>(y), bitcast<u32>(x), x == 0.0));
}

// tanh x; 2.5 ulp.
fn oc_tanh(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let m = b & OC_MAGNITUDE;
    // By bits: min() of a NaN may be either. 10 is past where tanh rounds to 1.
    let a = bitcast<f32>(min(m, 0x41200000u));
    let p = oc_exp_m1_reduced(2.0 * a);
    let scale = oc_power_of_two(i32(p.y));
    let e = fma(p.x, scale, scale - 1.0);
    let y = bitcast<u32>(oc_quotient(e, e + 2.0)) | (b & OC_SIGN);
    return bitcast<f32>(select(y, b | OC_NAN, m > OC_INF));
}

// atan x; 2 ulp.
fn oc_atan(x: f32) -> f32 {
    return oc_atan2(x, 1.0);
}

// The angle of the point (x, y); 2 ulp. Signed zeros choose the quadrant, two infinities lie on the diagonal.
fn oc_atan2(y: f32, x: f32) -> f32 {
    let by = bitcast<u32>(y);
    let bx = bitcast<u32>(x);
    let ay = by & OC_MAGNITUDE;
    let ax = bx & OC_MAGNITUDE;
    let is_steep = ay > ax;
    let short = min(ax, ay);
    let long = max(ax, ay);
    // Both scaled by one power of two that brings the longer to [1, 4), where no product vanishes.
    let scale = bitcast<f32>((254u - clamp(long >> 23u, 1u, 253u)) << 23u);
    var t = oc_quotient(bitcast<f32>(short) * scale, bitcast<f32>(min(long, OC_INF - 1u)) * scale);
    t = select(t, 1.0, short == long);
    t = select(t, 0.0, short == 0u || (long == OC_INF && short != OC_INF));
    let z = t * t;
    var p = fma(z, -0.0018063466, 0.010952418);
    p = fma(z, p, -0.031214267);
    p = fma(z, p, 0.057963166);
    p = fma(z, p, -0.08402256);
    p = fma(z, p, 0.109513916);
    p = fma(z, p, -0.14264047);
    p = fma(z, p, 0.1999853);
    p = fma(z, p, -0.333333);
    let octant = fma(z * t, p, t);
    let is_left = bx >> 31u;
    let quarters = select(f32(is_left * 2u), 1.0, is_steep);
    let flip = (select(0u, 1u, is_steep) ^ is_left) << 31u;
    let signed = bitcast<f32>(bitcast<u32>(octant) ^ flip);
    let angle = fma(quarters, OC_HALF_PI, fma(quarters, OC_HALF_PI_LOW, signed));
    let value = (bitcast<u32>(angle) & OC_MAGNITUDE) | (by & OC_SIGN);
    return bitcast<f32>(select(value, long | OC_NAN, long > OC_INF));
}

// asin x; 1 ulp; NaN beyond 1.
fn oc_asin(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let m = b & OC_MAGNITUDE;
    let a = bitcast<f32>(min(m, OC_ONE));
    let p = oc_asin_parts(a);
    let head = oc_sum(OC_HALF_PI, -2.0 * p.x);
    let tail = (OC_HALF_PI - head) - 2.0 * p.x;
    let far = head + (tail + (OC_HALF_PI_LOW - 2.0 * p.y));
    let y = bitcast<u32>(select(p.x + p.y, far, a > 0.5)) | (b & OC_SIGN);
    return bitcast<f32>(select(y, b | OC_NAN, m > OC_ONE));
}

// acos x; 1 ulp; NaN beyond 1.
fn oc_acos(x: f32) -> f32 {
    let b = bitcast<u32>(x);
    let m = b & OC_MAGNITUDE;
    let a = bitcast<f32>(min(m, OC_ONE));
    let p = oc_asin_parts(a);
    let sign = select(1.0, -1.0, (b & OC_SIGN) != 0u);
    let s = sign * p.x;
    let head = oc_sum(OC_HALF_PI, -s);
    let tail = (OC_HALF_PI - head) - s;
    let middle = head + (tail + (OC_HALF_PI_LOW - sign * p.y));
    let right = 2.0 * (p.x + p.y);
    let left = 2.0 * (OC_HALF_PI - (p.x + (p.y - OC_HALF_PI_LOW)));
    let y = select(middle, select(right, left, sign < 0.0), a > 0.5);
    return bitcast<f32>(select(bitcast<u32>(y), b | OC_NAN, m > OC_ONE));
}

// sqrt(x^2 + y^2) without overflow; 1.5 ulp; inf when either is, even beside NaN.
fn oc_hypot(x: f32, y: f32) -> f32 {
    let ax = bitcast<u32>(x) & OC_MAGNITUDE;
    let ay = bitcast<u32>(y) & OC_MAGNITUDE;
    let long = max(ax, ay);
    let exponent = clamp(long >> 23u, 1u, 253u);
    let scale = bitcast<f32>((254u - exponent) << 23u);
    let p = bitcast<f32>(min(long, OC_INF - 1u)) * scale;
    let q = bitcast<f32>(min(min(ax, ay), OC_INF - 1u)) * scale;
    let value = bitcast<u32>(oc_root(fma(p, p, q * q)) * bitcast<f32>(exponent << 23u));
    let edge = select(long | OC_NAN, OC_INF, ax == OC_INF || ay == OC_INF);
    return bitcast<f32>(select(value, edge, long >= OC_INF));
}

// x to the y; 2 ulp; C99's special values. 2 to the y * log2|x|, the logarithm and the product as sums of two.
fn oc_pow(x: f32, y: f32) -> f32 {
    let bx = bitcast<u32>(x);
    let by = bitcast<u32>(y);
    let ax = bx & OC_MAGNITUDE;
    let ay = by & OC_MAGNITUDE;
    let log2 = oc_log2_pair(ax);
    // An exponent past 2^33 is as good as infinite for every x but 1.
    let y_finite = bitcast<f32>(min(ay, 0x50000000u) | (by & OC_SIGN));
    let t = oc_two_product(log2.x, y_finite);
    let is_over = t.x > 200.0;
    let is_under = t.x < -200.0;
    let t_high = clamp(t.x, -200.0, 200.0);
    let t_low = select(fma(log2.y, y_finite, t.y), 0.0, is_over || is_under);
    let k = floor(t_high + 0.5);
    let r = (t_high - k) + t_low;
    var p = fma(r, 0.00015353362, 0.0013398874);
    p = fma(r, p, 0.009618437);
    p = fma(r, p, 0.055503324);
    p = fma(r, p, 0.24022648);
    p = fma(r, p, 0.6931472);
    let power = select(bitcast<u32>(oc_scale(fma(r, p, 1.0), i32(k))), OC_INF, is_over);
    var value = select(power, 0u, is_under);
    // 0 and inf as bases: the sign of y decides. |x| > 1 grows with y = inf, |x| < 1 shrinks.
    let is_y_negative = by > OC_SIGN;
    value = select(value, select(0u, OC_INF, is_y_negative), ax == 0u);
    value = select(value, select(OC_INF, 0u, is_y_negative), ax == OC_INF);
    value = select(value, select(0u, OC_INF, (ax > OC_ONE) != is_y_negative), ay == OC_INF);
    // From 2^24 on every f32 is an even integer; 2^23 .. 2^24 has odd ones, all integers.
    let y_small = bitcast<f32>(min(ay, 0x4b800000u));
    let is_integer = floor(y_small) == y_small;
    let half = 0.5 * y_small;
    let is_odd = is_integer && floor(half) != half;
    value = select(value, value | OC_SIGN, (bx & OC_SIGN) != 0u && is_odd);
    let is_undefined = bx > OC_SIGN && ax < OC_INF && !is_integer;
    let is_nan = is_undefined || ax > OC_INF || ay > OC_INF;
    value = select(value, ax | OC_NAN, is_nan);
    let is_one = ay == 0u || bx == OC_ONE || (ax == OC_ONE && ay == OC_INF);
    return bitcast<f32>(select(value, OC_ONE, is_one));
}

// (e^r - 1, k) with x = k * log 2 + r. The first part of log 2 has 10 bits: its product with k is exact.
fn oc_exp_m1_reduced(x: f32) -> vec2<f32> {
    let k = floor(fma(x, OC_LOG2_E, 0.5));
    return vec2<f32>(oc_exp_m1_near(fma(-k, -0.00021219444, fma(-k, 0.6933594, x))), k);
}

// e^r - 1 for |r| <= log 2 / 2.
fn oc_exp_m1_near(r: f32) -> f32 {
    var p = fma(r, 0.00019875691, 0.0013981999);
    p = fma(r, p, 0.008333452);
    p = fma(r, p, 0.041665796);
    p = fma(r, p, 0.16666666);
    p = fma(r, p, 0.5);
    return fma(p * r, r, r);
}

// 2 to the k, -126 <= k <= 127.
fn oc_power_of_two(k: i32) -> f32 {
    return bitcast<f32>(u32(k + 127) << 23u);
}

// y * 2^k in two steps, |k| <= 252.
fn oc_scale(y: f32, k: i32) -> f32 {
    let half = k >> 1u;
    return y * oc_power_of_two(half) * oc_power_of_two(k - half);
}

// (m, k) with x = m * 2^k, m in [sqrt 1/2, sqrt 2), of the bits of a positive x; subnormal ones as integers,
// so that none is flushed.
fn oc_split(b: u32) -> vec2<f32> {
    let is_small = b < 0x00800000u;
    let normal = select(b, bitcast<u32>(f32(b & 0x007fffffu)), is_small);
    let biased = normal + (OC_ONE - 0x3f3504f3u);
    let mantissa = bitcast<f32>((biased & 0x007fffffu) + 0x3f3504f3u);
    return vec2<f32>(mantissa, f32(i32(biased >> 23u) - select(127, 127 + 149, is_small)));
}

// x = k * pi/2 + high + low, k modulo 4.
struct OcAngle { high: f32, low: f32, quadrant: u32 }

// Up to 1e4 pi/2 is taken in four parts, of which the first three have at most 11 bits: their products with k are
// exact for |k| < 2^13.
fn oc_near_angle(x: f32) -> OcAngle {
    let k = floor(fma(x, 0.63661975, 0.5));
    var r = fma(-k, 1.5703125, x);
    r = fma(-k, 0.0004837513, r);
    r = fma(-k, 7.5495336e-08, r);
    return OcAngle(fma(-k, 2.563344e-12, r), 0.0, u32(i32(k)) & 3u);
}

// 2/pi, whose bits behind the point begin with word 2; four words from this one on, which is 1 at least. No array: a constant one that is indexed
// may be copied, each time, to where it can be.
fn oc_two_over_pi(word: u32) -> vec4u {
    switch (word) {
        case 1u: { return vec4u(0u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u); }
        case 2u: { return vec4u(0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u); }
        case 3u: { return vec4u(0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u); }
        case 4u: { return vec4u(0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u); }
        default: { return vec4u(0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu); }
    }
}

// Beyond, after Payne and Hanek ("Radian reduction for trigonometric functions", 1983): of x = M * 2^e only 96 bits of
// 2/pi matter, from the one that makes 2 of M's lowest bit; what is above makes multiples of 4, and what is below less
// than 2^-70. For finite |x| >= 1e4.
fn oc_far_angle(x: f32) -> OcAngle {
    let b = bitcast<u32>(x);
    let mantissa = (b & 0x7fffffu) | 0x800000u;
    let start = ((b >> 23u) & 0xffu) - 88u;
    let words = oc_two_over_pi(start >> 5u);
    let shift = start & 31u;
    let next = select(words.yzw >> vec3u(32u - max(shift, 1u)), vec3u(), shift == 0u);
    let window = (words.xyz << vec3u(shift)) | next;
    let c = oc_product(mantissa, window.z);
    let d = oc_product(mantissa, window.y);
    let middle = d.x + c.y;
    let upper = mantissa * window.x + d.y + select(0u, 1u, middle < c.y);
    // Two bits of quadrant and 64 of the fraction; past a half it counts from the next quadrant.
    var first = (upper << 2u) | (middle >> 30u);
    var second = (middle << 2u) | (c.x >> 30u);
    let is_past = first >= 0x80000000u;
    let quadrant = (upper >> 30u) + select(0u, 1u, is_past);
    if (is_past) {
        second = 0u - second;
        first = ~first + select(0u, 1u, second == 0u);
    }
    let is_tiny = first == 0u;
    first = select(first, second, is_tiny);
    second = select(second, 0u, is_tiny);
    let zeros = countLeadingZeros(first);
    let digits = select((first << zeros) | (second >> (32u - zeros)), first, zeros == 0u);
    let scale = oc_power_of_two(-i32(zeros) - select(32, 64, is_tiny));
    let head = f32(digits >> 8u) * 256.0;
    let r = oc_two_product(head * scale, OC_HALF_PI);
    let low = fma(f32(digits & 0xffu) * scale, OC_HALF_PI, fma(head * scale, OC_HALF_PI_LOW, r.y));
    let is_negative = is_past != (b > OC_SIGN);
    let sign = select(1.0, -1.0, is_negative);
    return OcAngle(sign * r.x, sign * low, select(quadrant, 4u - quadrant, b > OC_SIGN) & 3u);
}

// sin r, cos r and k with x = k * pi/2 + r.
struct OcSinCos { sin: f32, cos: f32, quadrant: u32 }
fn oc_sin_cos(x: f32) -> OcSinCos {
    let m = bitcast<u32>(x) & OC_MAGNITUDE;
    var angle = oc_near_angle(clamp(x, -1e4, 1e4));
    if (m > 0x461c4000u && m < OC_INF) { angle = oc_far_angle(x); }
    let r = angle.high;
    let z = r * r;
    let s = fma(z * r, fma(z, fma(z, -0.00019495048, 0.008332011), -0.16666652), r);
    let c = fma(z, fma(z, fma(z, fma(z, 2.4411222e-05, -0.0013887126), 0.04166664), -0.5), 1.0);
    return OcSinCos(fma(angle.low, c, s), fma(-angle.low, s, c), angle.quadrant);
}

// The sine of r + (quadrant + turn) * pi/2.
fn oc_turn(p: OcSinCos, turn: u32) -> f32 {
    let quadrant = p.quadrant + turn;
    let value = select(p.sin, p.cos, (quadrant & 1u) != 0u);
    return bitcast<f32>(bitcast<u32>(value) ^ ((quadrant & 2u) << 30u));
}

// `value`, or NaN where x is infinite or NaN.
fn oc_finite_or_nan(x: f32, value: u32) -> f32 {
    let b = bitcast<u32>(x);
    return bitcast<f32>(select(value, b | OC_NAN, (b & OC_MAGNITUDE) >= OC_INF));
}

// (s, q): asin a = s + q up to 1/2, pi/2 - 2 (s + q) beyond.
fn oc_asin_parts(a: f32) -> vec2<f32> {
    let is_big = a > 0.5;
    let z = select(a * a, 0.5 - 0.5 * a, is_big);
    let root = oc_root(z);
    let residue = select(0.0, oc_square_residue(root, z) / (2.0 * root), root > 1e-12);
    let s = select(a, root, is_big);
    let p = fma(z, fma(z, fma(z, fma(z, 0.042158388, 0.024184743), 0.045469154), 0.074953094), 0.16666752);
    return vec2<f32>(s, fma(z * s, p, select(0.0, residue, is_big)));
}

// The upper 12 bits of x's mantissa; the rest has 12 too.
fn oc_upper(x: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(x) & 0xfffff000u);
}

// a / b for b in [2^-60, 2^60]: the device's quotient, corrected by the exact residue where that can't vanish.
fn oc_quotient(a: f32, b: f32) -> f32 {
    let t = a / b;
    let th = oc_upper(t);
    let tl = t - th;
    let bh = oc_upper(b);
    let bl = b - bh;
    let residue = (((a - th * bh) - th * bl) - tl * bh) - tl * bl;
    return select(t, t + residue / b, abs(t) > 1e-18 && abs(t) < 1e18);
}

// z - root^2 to full precision.
fn oc_square_residue(root: f32, z: f32) -> f32 {
    let h = oc_upper(root);
    let l = root - h;
    return ((z - h * h) - 2.0 * h * l) - l * l;
}

// The square root of a z in [2^-60, 2^60], or of zero: the device's, corrected.
fn oc_root(z: f32) -> f32 {
    let root = sqrt(z);
    return select(root, root + oc_square_residue(root, z) / (2.0 * root), root > 1e-12);
}

// a * b as a sum of two, where neither overflows nor vanishes.
fn oc_two_product(a: f32, b: f32) -> vec2<f32> {
    let high = a * b;
    let ah = oc_upper(a);
    let al = a - ah;
    let bh = oc_upper(b);
    let bl = b - bh;
    return vec2<f32>(high, (((ah * bh - high) + ah * bl) + al * bh) + al * bl);
}

// A sum less its last bit. Compilers may turn (a + b) - a into b, which would take the point out of it; they
// can't through the mask.
fn oc_sum(a: f32, b: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(a + b) & 0xfffffffeu);
}

// a + b as a sum of two where |a| >= |b| or a is 0 (Dekker).
fn oc_fast_two_sum(a: f32, b: f32) -> vec2<f32> {
    let high = oc_sum(a, b);
    return vec2<f32>(high, b - (high - a));
}

// The product of two sums of two.
fn oc_pair_product(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    let p = oc_two_product(a.x, b.x);
    return oc_fast_two_sum(p.x, p.y + (a.x * b.y + a.y * b.x));
}

// log2 of the positive x of bits b as a sum of two, to about 2^-40 of it: with s = (m - 1) / (m + 1),
// log2 m = 2 / log 2 * (s + s^3 (1/3 + z (1/5 + z/7 + ...))), z = s^2.
fn oc_log2_pair(b: u32) -> vec2<f32> {
    let p = oc_split(b);
    let f = p.x - 1.0;
    let d = oc_fast_two_sum(max(p.x, 1.0), min(p.x, 1.0));
    let q = oc_quotient(f, d.x);
    let qd = oc_two_product(q, d.x);
    let s = oc_fast_two_sum(q, (((f - qd.x) - qd.y) - q * d.y) / d.x);
    let z = oc_pair_product(s, s);
    let tail = z.x * fma(z.x, fma(z.x, fma(z.x, fma(z.x, 0.07692308, 0.09090909), 0.11111111), 0.14285715), 0.2);
    let c = oc_fast_two_sum(0.33333334, tail);
    let cube = oc_pair_product(oc_pair_product(s, z), vec2<f32>(c.x, c.y - 9.934108e-09));
    let sum = oc_fast_two_sum(s.x, cube.x);
    let log = oc_fast_two_sum(sum.x, sum.y + (s.y + cube.y));
    let scaled = oc_pair_product(log, vec2<f32>(2.88539, 3.851926e-08));
    let whole = oc_fast_two_sum(p.y, scaled.x);
    return oc_fast_two_sum(whole.x, whole.y + scaled.y);
}
