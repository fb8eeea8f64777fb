// Sine, cosine and tangent of f64, of every argument to the last digits.

// x = k * pi/2 + r.x + r.y with |r.x| <= pi/4 and a little, and k modulo 4.
struct OcAngleF64 { r: vec2<f64>, k: u32 }

// After Payne and Hanek ("Radian reduction for trigonometric functions", 1983), in integers, which most devices are
// faster with than with f64: of x = M * 2^e only 192 bits of 2/pi matter, from the one that makes 2 of M's lowest
// bit; what is above makes multiples of 4, and what is below less than 2^-137.
fn oc_angle_f64(x: f64) -> OcAngleF64 {
    let b = oc_bits_f64(x);
    let exponent = u32(b >> 52u);
    // Up to pi/4 there is nothing to reduce, and inf and NaN have no angle.
    if (b <= 0x3fe921fb54442d18lu || exponent == 2047u) { return OcAngleF64(vec2<f64>(x, 0.0lf), 0u); }
    // M * 2^(exponent - 1075); the exponent is 1022 or more.
    let low = b & 0xfffffffflu;
    let high = ((b >> 32u) & 0xffffflu) | 0x100000lu;
    let start = exponent - 1013u;
    var digits: array<u32, 6>;
    for (var i = 0u; i < 6u; i++) { digits[i] = oc_two_over_pi(start + 32u * i); }
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
