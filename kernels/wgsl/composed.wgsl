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
    if (oc_isnan_f32(x)) { return x; }
    let bounded = clamp(x, -160.0f, 130.0f);
    let whole = round(bounded);
    let half = i32(whole) / 2;
    let rest = i32(whole) - half;
    let scale = bitcast<f32>(u32(half + 127) << 23u) * oc_exp((bounded - whole) * 0.6931471806f);
    return scale * bitcast<f32>(u32(rest + 127) << 23u);
}

// Kahan's: the rounding of 1 + x cancels in the quotient.
fn oc_log1p(x: f32) -> f32 {
    let u = oc_hidden(1.0f + x);
    if (u == 1.0f || bitcast<u32>(x) == 0x7f800000u) { return x; }
    return oc_log(u) * (x / (u - 1.0f));
}

// By its series near 0, where exp(x) - 1 loses digits.
fn oc_expm1(x: f32) -> f32 {
    if (abs(x) < 0.35f) {
        var s = 1.984126984e-4f;
        s = fma(s, x, 1.388888889e-3f);
        s = fma(s, x, 8.333333333e-3f);
        s = fma(s, x, 4.166666667e-2f);
        s = fma(s, x, 1.666666667e-1f);
        s = fma(s, x, 0.5f);
        return fma(s * x, x, x);
    }
    return oc_exp(x) - 1.0f;
}

fn oc_sinh(x: f32) -> f32 {
    let a = abs(x);
    var size: f32;
    if (a < 10.0f) {
        let e = oc_expm1(a);
        size = 0.5f * (e + e / (e + 1.0f));
    } else {
        let root = oc_exp(0.5f * a);
        size = (0.5f * root) * root;
    }
    return select(size, -size, x < 0.0f);
}

fn oc_cosh(x: f32) -> f32 {
    let a = abs(x);
    if (a < 10.0f) {
        let e = oc_exp(a);
        return 0.5f * (e + 1.0f / e);
    }
    let root = oc_exp(0.5f * a);
    return (0.5f * root) * root;
}
