// Exponentials of f64. x = k * log 2 + r with integral k and |r| <= log 2 / 2, so e^x = 2^k * e^r. As in math.wgsl
// nothing depends on whether fma() is fused, and NaN and infinity are told and made by their bits.

// e^r - 1 for |r| <= log 2 / 2, by its Taylor series; the first term left out is below 4e-18.
fn oc_exp_m1_near_f64(r: f64) -> f64 {
    var p = fma(r, 1.6059043836821613e-10lf, 2.08767569878681e-9lf);
    p = fma(r, p, 2.505210838544172e-8lf);
    p = fma(r, p, 2.755731922398589e-7lf);
    p = fma(r, p, 2.7557319223985893e-6lf);
    p = fma(r, p, 2.48015873015873e-5lf);
    p = fma(r, p, 1.984126984126984e-4lf);
    p = fma(r, p, 1.388888888888889e-3lf);
    p = fma(r, p, 8.333333333333333e-3lf);
    p = fma(r, p, 4.1666666666666664e-2lf);
    p = fma(r, p, 1.6666666666666666e-1lf);
    p = fma(r, p, 0.5lf);
    return fma(p * r, r, r);
}

// (e^r - 1, k) of x + low, |x| <= 1500. log 2 is taken in two parts; the first has 33 bits, and k at most 11.
fn oc_exp_m1_reduced_f64(x: f64, low: f64) -> vec2<f64> {
    let k = floor(fma(x, 1.4426950408889634lf, 0.5lf));
    let r = fma(-k, 1.9082149292705877e-10lf, fma(-k, 0.6931471803691238lf, x)) + low;
    return vec2<f64>(oc_exp_m1_near_f64(r), k);
}

// 2 to the k, -1022 <= k <= 1023.
fn oc_power_of_two_f64(k: i32) -> f64 {
    return bitcast<f64>(u64(u32(k + 1023)) << 52u);
}

// y * 2^k in two steps, |k| <= 2044.
fn oc_scale_f64(y: f64, k: i32) -> f64 {
    let half = k >> 1u;
    return y * oc_power_of_two_f64(half) * oc_power_of_two_f64(k - half);
}

// `value`, or what exponentials make of NaN, inf and -inf: NaN, inf, and `below`.
fn oc_exp_edge_f64(x: f64, value: f64, below: u64) -> f64 {
    let b = bitcast<u64>(x);
    let m = b & OC_MAGNITUDE_F64;
    let edge = select(select(OC_INF_F64, below, b > OC_SIGN_F64), b | OC_QUIET_F64, m > OC_INF_F64);
    return bitcast<f64>(select(bitcast<u64>(value), edge, m >= OC_INF_F64));
}

// 1 ulp.
fn oc_exp_f64(x: f64) -> f64 {
    let p = oc_exp_m1_reduced_f64(clamp(x, -746.0lf, 710.0lf), 0.0lf);
    return oc_exp_edge_f64(x, oc_scale_f64(p.x + 1.0lf, i32(p.y)), 0lu);
}

// 2 to the x; 1 ulp; exact where x is integral.
fn oc_exp2_f64(x: f64) -> f64 {
    let bounded = clamp(x, -1080.0lf, 1025.0lf);
    let k = floor(bounded + 0.5lf);
    let rest = bounded - k;
    let r = oc_pair_exact_f64(rest, 0.6931471805599453lf);
    let e = oc_exp_m1_near_f64(r.x) + fma(rest, 2.3190468138462996e-17lf, r.y);
    return oc_exp_edge_f64(x, oc_scale_f64(e + 1.0lf, i32(k)), 0lu);
}

// e^x - 1; 1.5 ulp.
fn oc_expm1_f64(x: f64) -> f64 {
    let p = oc_exp_m1_reduced_f64(clamp(x, -50.0lf, 710.0lf), 0.0lf);
    let k = i32(p.y);
    let scale = oc_power_of_two_f64(min(k, 1023));
    let value = select(fma(p.x, scale, scale - 1.0lf), oc_scale_f64(p.x + 1.0lf, k), k > 60);
    // The sums lose the sign of -0.
    return oc_exp_edge_f64(x, select(value, x, x == 0.0lf), 0xbff0000000000000lu);
}

// Half of e to the a, 0 <= a; 1 ulp.
fn oc_half_exp_f64(a: f64) -> f64 {
    let p = oc_exp_m1_reduced_f64(min(a, 712.0lf), 0.0lf);
    return oc_scale_f64(p.x + 1.0lf, i32(p.y) - 1);
}

// 2.5 ulp.
fn oc_sinh_f64(x: f64) -> f64 {
    let a = abs(x);
    let e = oc_expm1_f64(min(a, 22.0lf));
    let size = select(0.5lf * (e + e / (e + 1.0lf)), oc_half_exp_f64(a), a > 22.0lf);
    return select(x, oc_signed_f64(size, x), oc_isfinite_f64(x));
}

// 1.5 ulp.
fn oc_cosh_f64(x: f64) -> f64 {
    let half = oc_half_exp_f64(abs(x));
    let size = half + 0.25lf / half;
    return select(bitcast<f64>(oc_bits_f64(x)), size, oc_isfinite_f64(x));
}

// (e^2a - 1) / (e^2a + 1) with x's sign, a = |x|; 2.5 ulp. tanh rounds to 1 from 19.1 on.
fn oc_tanh_f64(x: f64) -> f64 {
    let b = bitcast<u64>(x);
    let m = b & OC_MAGNITUDE_F64;
    let p = oc_exp_m1_reduced_f64(2.0lf * bitcast<f64>(min(m, 0x4034000000000000lu)), 0.0lf);
    let scale = oc_power_of_two_f64(i32(p.y));
    let e = fma(p.x, scale, scale - 1.0lf);
    let y = oc_signed_f64(e / (e + 2.0lf), x);
    return select(y, bitcast<f64>(b | OC_QUIET_F64), m > OC_INF_F64);
}
