// Sine, cosine and tangent of f64, of every argument to the last digits.

// 2/pi: after 64 zeros the bits behind the point, the highest first.
const OC_TWO_OVER_PI = array<u32, 40>(
    0x00000000u, 0x00000000u, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u,
    0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu,
    0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu,
    0x1ff897ffu, 0xde05980fu, 0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du,
    0x7527bac7u, 0xebe5f17bu, 0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
);

// 32 of its bits, from this one on.
fn oc_two_over_pi_f64(start: u32) -> u32 {
    // One copy of the table, which every index of a constant may make.
    var table = OC_TWO_OVER_PI;
    let word = start >> 5u;
    let shift = start & 31u;
    let next = table[word + 1u] >> (32u - max(shift, 1u));
    return (table[word] << shift) | select(next, 0u, shift == 0u);
}

// x = k * pi/2 + r.x + r.y with |r.x| <= pi/4 and a little, and k modulo 4.
struct OcAngleF64 { r: vec2<f64>, k: u32 }

// Up to 1024 pi/2 is taken in three parts, of which the first two have 33 bits: their products with k are exact.
fn oc_near_angle_f64(x: f64) -> OcAngleF64 {
    let k = floor(fma(x, 0.6366197723675814lf, 0.5lf));
    let head = oc_pair_sum_f64(fma(-k, 1.5707963267341256lf, x), -k * 6.077100506303966e-11lf);
    let r = oc_pair_quick_f64(head.x, head.y - k * 2.0222662487959506e-21lf);
    return OcAngleF64(r, u32(i32(k)) & 3u);
}

// Beyond, after Payne and Hanek ("Radian reduction for trigonometric functions", 1983), in integers: of x = M * 2^e only
// 192 bits of 2/pi matter, from the one that makes 2 of M's lowest bit; what is above makes multiples of 4, and what is
// below less than 2^-137. For finite |x| >= 1.
fn oc_far_angle_f64(x: f64) -> OcAngleF64 {
    let b = oc_bits_f64(x);
    let exponent = u32(b >> 52u);
    // M * 2^(exponent - 1075).
    let low = b & 0xfffffffflu;
    let high = ((b >> 32u) & 0xffffflu) | 0x100000lu;
    let start = exponent - 1013u;
    var digits: array<u32, 6>;
    for (var i = 0u; i < 6u; i++) { digits[i] = oc_two_over_pi_f64(start + 32u * i); }
    // The product modulo 2^192, from the lowest digit on.
    var product: array<u32, 6>;
    var carry_low = 0lu;
    var carry_high = 0lu;
    for (var i = 6u; i > 0u; i--) {
        carry_low += u64(digits[i - 1u]) * low;
        if (i < 6u) { carry_high += u64(digits[i]) * high; }
        carry_high += carry_low & 0xfffffffflu;
        product[i - 1u] = u32(carry_high & 0xfffffffflu);
        carry_low >>= 32u;
        carry_high >>= 32u;
    }
    // Two bits of quadrant, then 46, 48 and 48 of the fraction; past a half it counts from the next quadrant.
    var first = i32(product[0] & 0x3fffffffu);
    var quadrant = product[0] >> 30u;
    if (first >= 0x20000000) {
        first -= 0x40000000;
        quadrant += 1u;
    }
    let a = f64(first) * 9.313225746154785e-10lf + f64(product[1] >> 16u) * 1.4210854715202004e-14lf;
    let c = f64(((u64(product[1]) & 0xfffflu) << 32u) | u64(product[2])) * 5.048709793414476e-29lf;
    let d = f64((u64(product[3]) << 16u) | (u64(product[4]) >> 16u)) * 1.793662034335766e-43lf;
    let upper = oc_pair_sum_f64(a, c);
    let turn = oc_pair_quick_f64(upper.x, upper.y + d);
    let r = oc_pair_multiply_f64(turn, vec2<f64>(1.5707963267948966lf, 6.123233995736766e-17lf));
    if (x < 0.0lf) { return OcAngleF64(-r, (4u - quadrant) & 3u); }
    return OcAngleF64(r, quadrant & 3u);
}

fn oc_angle_f64(x: f64) -> OcAngleF64 {
    let b = oc_bits_f64(x);
    var angle = oc_near_angle_f64(clamp(x, -1024.0lf, 1024.0lf));
    if (b > 0x4090000000000000lu && b < OC_INF_F64) { angle = oc_far_angle_f64(x); }
    return angle;
}

// (sin r, cos r) by fdlibm's polynomials, whose errors are below 2^-58.
fn oc_sin_cos_f64(r: vec2<f64>) -> vec2<f64> {
    let z = r.x * r.x;
    var s = fma(z, 1.58969099521155e-10lf, -2.5050760253406863e-8lf);
    s = fma(z, s, 2.7557313707070068e-6lf);
    s = fma(z, s, -1.984126982985795e-4lf);
    s = fma(z, s, 8.33333333332249e-3lf);
    s = fma(z, s, -1.6666666666666632e-1lf);
    var c = fma(z, -1.1359647557788195e-11lf, 2.087572321298175e-9lf);
    c = fma(z, c, -2.7557314351390663e-7lf);
    c = fma(z, c, 2.480158728947673e-5lf);
    c = fma(z, c, -1.388888888887411e-3lf);
    c = fma(z, c, 4.16666666666666e-2lf);
    // 1 - z/2 rounded, and its error, which is exact.
    let half = 0.5lf * z;
    let near_one = oc_hidden_f64(1.0lf - half);
    let error = (1.0lf - near_one) - half;
    let cosine = near_one + (error + (z * z * c - r.x * r.y));
    let sine = r.x + fma(z * r.x, s, r.y * near_one);
    return vec2<f64>(sine, cosine);
}

// The sine of r + quadrant * pi/2, of (sin r, cos r).
fn oc_turn_f64(sin_cos: vec2<f64>, quadrant: u32) -> f64 {
    let value = select(sin_cos.x, sin_cos.y, (quadrant & 1u) != 0u);
    return bitcast<f64>(bitcast<u64>(value) ^ (u64(quadrant & 2u) << 62u));
}

// `value`, or NaN where x is infinite or NaN.
fn oc_finite_or_nan_f64(x: f64, value: f64) -> f64 {
    let b = bitcast<u64>(x);
    return bitcast<f64>(select(bitcast<u64>(value), b | OC_QUIET_F64, (b & OC_MAGNITUDE_F64) >= OC_INF_F64));
}

// 1 ulp.
fn oc_sin_f64(x: f64) -> f64 {
    let angle = oc_angle_f64(x);
    let y = oc_turn_f64(oc_sin_cos_f64(angle.r), angle.k);
    return oc_finite_or_nan_f64(x, select(y, x, x == 0.0lf));
}

// 1 ulp.
fn oc_cos_f64(x: f64) -> f64 {
    let angle = oc_angle_f64(x);
    return oc_finite_or_nan_f64(x, oc_turn_f64(oc_sin_cos_f64(angle.r), angle.k + 1u));
}

// 2.5 ulp.
fn oc_tan_f64(x: f64) -> f64 {
    let angle = oc_angle_f64(x);
    let p = oc_sin_cos_f64(angle.r);
    let is_odd = (angle.k & 1u) != 0u;
    let y = select(p.x, -p.y, is_odd) / select(p.y, p.x, is_odd);
    return oc_finite_or_nan_f64(x, select(y, x, x == 0.0lf));
}
