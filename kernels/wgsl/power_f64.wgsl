// pow and hypot of f64.

// log x of the positive finite x of bits b as a sum of two, to about 2^-65 of it: 2 artanh s = 2 s + s^3 (2/3 + s^2
// (2/5 + ...)) with s = (m - 1) / (m + 1), where s, s^2 and the term in s^3 are sums of two and the rest is one.
fn oc_log_pair_f64(b: u64) -> vec2<f64> {
    let p = oc_split_f64(b);
    let f = p.x - 1.0lf;
    let sum = oc_pair_sum_f64(1.0lf, p.x);
    let first = f / sum.x;
    let whole = oc_pair_exact_f64(first, sum.x);
    let s = oc_pair_quick_f64(first, (((f - whole.x) - whole.y) - first * sum.y) / sum.x);
    let z = oc_pair_multiply_f64(s, s);
    var t = fma(z.x, 0.08lf, 0.08695652173913043lf);
    t = fma(z.x, t, 0.09523809523809523lf);
    t = fma(z.x, t, 0.10526315789473684lf);
    t = fma(z.x, t, 0.11764705882352941lf);
    t = fma(z.x, t, 0.13333333333333333lf);
    t = fma(z.x, t, 0.15384615384615385lf);
    t = fma(z.x, t, 0.18181818181818182lf);
    t = fma(z.x, t, 0.2222222222222222lf);
    t = fma(z.x, t, 0.2857142857142857lf);
    t = fma(z.x, t, 0.4lf);
    let tail = oc_pair_exact_f64(z.x, t);
    let c = oc_pair_quick_f64(0.6666666666666666lf, tail.x);
    let factor = vec2<f64>(c.x, c.y + tail.y + 3.700743415417188e-17lf);
    let term = oc_pair_multiply_f64(oc_pair_multiply_f64(s, z), factor);
    // k times the high part of log 2 is exact.
    let scaled = oc_pair_exact_f64(p.y, 1.9082149292705877e-10lf);
    let one = oc_pair_sum_f64(p.y * 0.6931471803691238lf, 2.0lf * s.x);
    let two = oc_pair_sum_f64(one.x, term.x);
    let three = oc_pair_sum_f64(two.x, scaled.x);
    return oc_pair_quick_f64(three.x, one.y + two.y + three.y + fma(2.0lf, s.y, term.y) + scaled.y);
}

// x to the y; 1.5 ulp; C99's special values. e to the y * log|x|, the logarithm and the product as sums of two.
fn oc_pow_f64(x: f64, y: f64) -> f64 {
    let bx = bitcast<u64>(x);
    let by = bitcast<u64>(y);
    let ax = bx & OC_MAGNITUDE_F64;
    let ay = by & OC_MAGNITUDE_F64;
    let log = oc_log_pair_f64(ax);
    // An exponent past 2^65 is as good as infinite for every x but 1.
    let y_finite = bitcast<f64>(min(ay, 0x4400000000000000lu) | (by & OC_SIGN_F64));
    let t = oc_pair_exact_f64(log.x, y_finite);
    // Out of range the low part means nothing.
    let low = select(0.0lf, fma(log.y, y_finite, t.y), abs(t.x) < 800.0lf);
    let p = oc_exp_m1_reduced_f64(clamp(t.x, -746.0lf, 710.0lf), low);
    var value = bitcast<u64>(oc_scale_f64(p.x + 1.0lf, i32(p.y)));
    // 0 and inf as bases: the sign of y decides. |x| > 1 grows with y = inf, |x| < 1 shrinks.
    let is_y_negative = by > OC_SIGN_F64;
    value = select(value, select(0lu, OC_INF_F64, is_y_negative), ax == 0lu);
    value = select(value, select(OC_INF_F64, 0lu, is_y_negative), ax == OC_INF_F64);
    value = select(value, select(0lu, OC_INF_F64, (ax > 0x3ff0000000000000lu) != is_y_negative), ay == OC_INF_F64);
    // From 2^53 on every f64 is an even integer; 2^52 .. 2^53 has odd ones, all integers.
    let y_small = bitcast<f64>(min(ay, 0x4340000000000000lu));
    let is_integer = floor(y_small) == y_small;
    let half = 0.5lf * y_small;
    let is_odd = is_integer && floor(half) != half;
    value = select(value, value | OC_SIGN_F64, (bx & OC_SIGN_F64) != 0lu && is_odd);
    let is_undefined = bx > OC_SIGN_F64 && ax < OC_INF_F64 && !is_integer;
    let is_nan = is_undefined || ax > OC_INF_F64 || ay > OC_INF_F64;
    value = select(value, ax | OC_QUIET_F64, is_nan);
    let is_one = ay == 0lu || bx == 0x3ff0000000000000lu || (ax == 0x3ff0000000000000lu && ay == OC_INF_F64);
    return bitcast<f64>(select(value, 0x3ff0000000000000lu, is_one));
}

// sqrt(x^2 + y^2), scaled by a power of two so that no square overflows or vanishes; 1.5 ulp; inf when either is,
// even beside NaN.
fn oc_hypot_f64(x: f64, y: f64) -> f64 {
    let ax = oc_bits_f64(x);
    let ay = oc_bits_f64(y);
    let long = max(ax, ay);
    let exponent = clamp(long >> 52u, 1lu, 2045lu);
    let scale = bitcast<f64>((2046lu - exponent) << 52u);
    let p = bitcast<f64>(min(long, OC_INF_F64 - 1lu)) * scale;
    let q = bitcast<f64>(min(min(ax, ay), OC_INF_F64 - 1lu)) * scale;
    let value = bitcast<u64>(sqrt(fma(p, p, q * q)) * bitcast<f64>(exponent << 52u));
    let edge = select(long | OC_QUIET_F64, OC_INF_F64, ax == OC_INF_F64 || ay == OC_INF_F64);
    return bitcast<f64>(select(value, edge, long >= OC_INF_F64));
}
