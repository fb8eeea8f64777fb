// Logarithms of f64, in fdlibm's form. x = m * 2^k with m in [sqrt 1/2, sqrt 2). With f = m - 1 and s = f / (2 + f),
// log m = f - (f^2 / 2 - s * (f^2 / 2 + R(s^2))).

// (m, k) of the bits of a positive finite x; of subnormal ones as integers, so that none is flushed.
fn oc_split_f64(b: u64) -> vec2<f64> {
    let is_small = b < 0x0010000000000000lu;
    let normal = select(b, bitcast<u64>(f64(b & 0x000ffffffffffffflu)), is_small);
    let biased = normal + 0x00095f619980c433lu;
    let mantissa = bitcast<f64>((biased & 0x000ffffffffffffflu) + 0x3fe6a09e667f3bcdlu);
    return vec2<f64>(mantissa, f64(i32(u32(biased >> 52u)) - select(1023, 1023 + 1074, is_small)));
}

// s * (f^2 / 2 + R(s^2)); fdlibm's R, whose error is below 2^-58.
fn oc_log_series_f64(f: f64) -> f64 {
    let s = f / (2.0lf + f);
    let z = s * s;
    var p = fma(z, 0.14798198605116586lf, 0.15313837699209373lf);
    p = fma(z, p, 0.1818357216161805lf);
    p = fma(z, p, 0.22222198432149784lf);
    p = fma(z, p, 0.2857142874366239lf);
    p = fma(z, p, 0.3999999999940942lf);
    p = fma(z, p, 0.6666666666666735lf);
    return s * (0.5lf * f * f + z * p);
}

// k * log 2 + log(1 + f) + c, a small c.
fn oc_log_sum_f64(f: f64, k: f64, c: f64) -> f64 {
    let low = fma(k, 1.9082149292705877e-10lf, c);
    return fma(k, 0.6931471803691238lf, ((oc_log_series_f64(f) + low) - 0.5lf * f * f) + f);
}

// `value`, or what logarithms make of zeros and of what is negative, infinite or NaN.
fn oc_log_edge_f64(x: f64, value: f64) -> f64 {
    let b = bitcast<u64>(x);
    let is_zero = (b & OC_MAGNITUDE_F64) == 0lu;
    let low = select(b | OC_QUIET_F64, OC_INF_F64 | OC_SIGN_F64, is_zero);
    // inf and NaN as they are; every other pattern from the sign bit on is negative.
    let high = select(bitcast<u64>(value), b, b >= OC_INF_F64);
    return bitcast<f64>(select(high, low, is_zero || b > OC_SIGN_F64));
}

// 1 ulp; -inf at zeros, NaN below.
fn oc_log_f64(x: f64) -> f64 {
    let p = oc_split_f64(bitcast<u64>(x));
    return oc_log_edge_f64(x, oc_log_sum_f64(p.x - 1.0lf, p.y, 0.0lf));
}

// log(1 + x); 1 ulp. What 1 + x loses by rounding is the derivative's share.
fn oc_log1p_f64(x: f64) -> f64 {
    let sum = oc_hidden_f64(1.0lf + x);
    let larger = select(1.0lf, x, x > 1.0lf);
    let smaller = select(x, 1.0lf, x > 1.0lf);
    let lost = smaller - oc_hidden_f64(sum - larger);
    let p = oc_split_f64(bitcast<u64>(sum));
    let far = oc_log_edge_f64(sum, oc_log_sum_f64(p.x - 1.0lf, p.y, lost / sum));
    let near = select(oc_log_sum_f64(x, 0.0lf, 0.0lf), x, abs(x) < 1e-20lf);
    let value = select(far, near, x > -0.2928lf && x < 0.4142lf);
    return select(oc_log_edge_f64(x, x), value, oc_isfinite_f64(x));
}

// k * (k_high + k_low) + log m * (scale_high + scale_low): the upper words multiply without rounding.
fn oc_log_scaled_f64(x: f64, k_high: f64, k_low: f64, scale_high: f64, scale_low: f64) -> f64 {
    let p = oc_split_f64(bitcast<u64>(x));
    let f = p.x - 1.0lf;
    let half_square = 0.5lf * f * f;
    let high = bitcast<f64>(bitcast<u64>(f - half_square) & 0xffffffff00000000lu);
    let low = ((f - high) - half_square) + oc_log_series_f64(f);
    let sum = oc_pair_sum_f64(p.y * k_high, high * scale_high);
    let rest = fma(p.y, k_low, fma(low + high, scale_low, low * scale_high));
    return oc_log_edge_f64(x, sum.x + (sum.y + rest));
}

// 1 ulp; powers of two are exact.
fn oc_log2_f64(x: f64) -> f64 {
    return oc_log_scaled_f64(x, 1.0lf, 0.0lf, 1.4426950407214463lf, 1.6751713164886512e-10lf);
}

// 1 ulp.
fn oc_log10_f64(x: f64) -> f64 {
    return oc_log_scaled_f64(x, 0.30102999566361177lf, 3.694239077158931e-13lf, 0.4342944818781689lf,
        2.5082946711645275e-11lf);
}
