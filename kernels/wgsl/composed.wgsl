// f32 functions that are made of the polynomials in math.wgsl.

fn oc_log2(x: f32) -> f32 {
    // The exponent is split off, so that powers of two are exact.
    let bits = bitcast<u32>(x);
    if (bits < 0x00800000u || bits >= 0x7f800000u) { return oc_log(x) * 1.442695041f; }
    let upper = select(0u, 1u, (bits & 0x7fffffu) > 0x3504f3u);
    let exponent = i32(bits >> 23u) - 127 + i32(upper);
    let mantissa = bitcast<f32>((bits & 0x7fffffu) | ((127u - upper) << 23u));
    return f32(exponent) + oc_log(mantissa) * 1.442695041f;
}

fn oc_log10(x: f32) -> f32 { return oc_log(x) * 0.4342944819f; }

fn oc_exp2(x: f32) -> f32 {
    let bounded = clamp(x, -160.0f, 130.0f);
    let k = floor(bounded + 0.5f);
    let y = oc_scale(oc_exp_m1_near((bounded - k) * 0.6931472f) + 1.0f, i32(k));
    return oc_exp_edge(x, y, 0u);
}

fn oc_expm1(x: f32) -> f32 {
    let p = oc_exp_m1_reduced(clamp(x, -25.0f, 89.0f));
    let k = i32(p.y);
    let scale = oc_power_of_two(min(k, 127));
    let y = select(fma(p.x, scale, scale - 1.0f), oc_scale(p.x + 1.0f, k), k > 30);
    // The sums lose the sign of -0.
    return oc_exp_edge(x, select(y, x, x == 0.0f), 0xbf800000u);
}

// Kahan's: the rounding of 1 + x cancels in the quotient.
fn oc_log1p(x: f32) -> f32 {
    let u = oc_hidden_f32(1.0f + x);
    if (u == 1.0f || bitcast<u32>(x) == 0x7f800000u) { return x; }
    return oc_log(u) * (x / (u - 1.0f));
}

// Half of e to the a, 0 <= a.
fn oc_half_exp(a: f32) -> f32 {
    let p = oc_exp_m1_reduced(min(a, 91.0f));
    return oc_scale(p.x + 1.0f, i32(p.y) - 1);
}

fn oc_sinh(x: f32) -> f32 {
    let a = abs(x);
    let e = oc_expm1(min(a, 10.0f));
    let size = select(0.5f * (e + e / (e + 1.0f)), oc_half_exp(a), a > 10.0f);
    let signed = (bitcast<u32>(size) & 0x7fffffffu) | (bitcast<u32>(x) & 0x80000000u);
    return select(x, bitcast<f32>(signed), oc_isfinite_f32(x));
}

fn oc_cosh(x: f32) -> f32 {
    let half = oc_half_exp(abs(x));
    let size = half + 0.25f / half;
    return select(bitcast<f32>(bitcast<u32>(x) & 0x7fffffffu), size, oc_isfinite_f32(x));
}
