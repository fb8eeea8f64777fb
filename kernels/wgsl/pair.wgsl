// Unevaluated sums of two {{T}}, about twice the bits: Knuth's two-sum and Dekker's product, with every rounded sum
// hidden from the compiler, which may otherwise assume that additions cancel.

fn oc_pair_sum_{{T}}(a: {{T}}, b: {{T}}) -> vec2<{{T}}> {
    let sum = oc_hidden_{{T}}(a + b);
    let part = oc_hidden_{{T}}(sum - a);
    return vec2<{{T}}>(sum, (a - (sum - part)) + (b - part));
}

// The same where a is the larger, or b is 0.
fn oc_pair_quick_{{T}}(a: {{T}}, b: {{T}}) -> vec2<{{T}}> {
    let sum = oc_hidden_{{T}}(a + b);
    return vec2<{{T}}>(sum, b - (sum - a));
}

// The exact product: halves of the mantissa multiply without rounding, fused or not.
fn oc_pair_exact_{{T}}(a: {{T}}, b: {{T}}) -> vec2<{{T}}> {
    let product = oc_hidden_{{T}}(a * b);
    let ah = bitcast<{{T}}>(bitcast<{{U}}>(a) & {{upper}});
    let bh = bitcast<{{T}}>(bitcast<{{U}}>(b) & {{upper}});
    let al = a - ah;
    let bl = b - bh;
    return vec2<{{T}}>(product, (((ah * bh - product) + ah * bl) + al * bh) + al * bl);
}

// Infinities and NaNs have no low part.
fn oc_pair_add_{{T}}(x: vec2<{{T}}>, y: vec2<{{T}}>) -> vec2<{{T}}> {
    let high = oc_pair_sum_{{T}}(x.x, y.x);
    if (!oc_isfinite_{{T}}(high.x)) { return vec2<{{T}}>(high.x, {{T}}(0)); }
    let low = oc_pair_sum_{{T}}(x.y, y.y);
    let sum = oc_pair_quick_{{T}}(high.x, high.y + low.x);
    return oc_pair_quick_{{T}}(sum.x, sum.y + low.y);
}

fn oc_pair_multiply_{{T}}(x: vec2<{{T}}>, y: vec2<{{T}}>) -> vec2<{{T}}> {
    let product = oc_pair_exact_{{T}}(x.x, y.x);
    if (!oc_isfinite_{{T}}(product.x)) { return vec2<{{T}}>(product.x, {{T}}(0)); }
    return oc_pair_quick_{{T}}(product.x, product.y + (x.x * y.y + x.y * y.x));
}

// Long division with three digits of one {{T}} each.
fn oc_pair_divide_{{T}}(x: vec2<{{T}}>, y: vec2<{{T}}>) -> vec2<{{T}}> {
    let first = x.x / y.x;
    if (!oc_isfinite_{{T}}(first)) { return vec2<{{T}}>(first, {{T}}(0)); }
    var rest = oc_pair_add_{{T}}(x, oc_pair_multiply_{{T}}(y, vec2<{{T}}>(-first, {{T}}(0))));
    let second = rest.x / y.x;
    rest = oc_pair_add_{{T}}(rest, oc_pair_multiply_{{T}}(y, vec2<{{T}}>(-second, {{T}}(0))));
    return oc_pair_add_{{T}}(oc_pair_quick_{{T}}(first, second), vec2<{{T}}>(rest.x / y.x, {{T}}(0)));
}
