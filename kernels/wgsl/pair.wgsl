// Unevaluated sums of two f32, about 48 bits: Knuth's two-sum and Dekker's product, with every rounded sum
// hidden from the compiler, which may otherwise assume that additions cancel.

fn oc_pair_sum(a: f32, b: f32) -> vec2f {
    let sum = oc_hidden(a + b);
    let part = oc_hidden(sum - a);
    return vec2f(sum, (a - (sum - part)) + (b - part));
}

// The same where a is the larger, or b is 0.
fn oc_pair_quick(a: f32, b: f32) -> vec2f {
    let sum = oc_hidden(a + b);
    return vec2f(sum, b - (sum - a));
}

// The exact product: halves of 12 bits multiply without rounding, fused or not.
fn oc_pair_exact(a: f32, b: f32) -> vec2f {
    let product = oc_hidden(a * b);
    let ah = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    let bh = bitcast<f32>(bitcast<u32>(b) & 0xfffff000u);
    let al = a - ah;
    let bl = b - bh;
    return vec2f(product, (((ah * bh - product) + ah * bl) + al * bh) + al * bl);
}

// Infinities and NaNs have no low part.
fn oc_pair_add(x: vec2f, y: vec2f) -> vec2f {
    let high = oc_pair_sum(x.x, y.x);
    if (!oc_isfinite_f32(high.x)) { return vec2f(high.x, 0.0f); }
    let low = oc_pair_sum(x.y, y.y);
    let sum = oc_pair_quick(high.x, high.y + low.x);
    return oc_pair_quick(sum.x, sum.y + low.y);
}

fn oc_pair_multiply(x: vec2f, y: vec2f) -> vec2f {
    let product = oc_pair_exact(x.x, y.x);
    if (!oc_isfinite_f32(product.x)) { return vec2f(product.x, 0.0f); }
    return oc_pair_quick(product.x, product.y + (x.x * y.y + x.y * y.x));
}

// Long division with three digits of 24 bits.
fn oc_pair_divide(x: vec2f, y: vec2f) -> vec2f {
    let first = x.x / y.x;
    if (!oc_isfinite_f32(first)) { return vec2f(first, 0.0f); }
    var rest = oc_pair_add(x, oc_pair_multiply(y, vec2f(-first, 0.0f)));
    let second = rest.x / y.x;
    rest = oc_pair_add(rest, oc_pair_multiply(y, vec2f(-second, 0.0f)));
    return oc_pair_add(oc_pair_quick(first, second), vec2f(rest.x / y.x, 0.0f));
}
