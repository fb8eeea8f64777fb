// a - b * trunc(a / b) without rounding, by long division in binary; WGSL's own % rounds the quotient and is
// wrong where it is large. For |a| < inf and b neither 0 nor NaN.
fn oc_modulo(a: f32, b: f32) -> f32 {
    let sign = bitcast<u32>(a) & 0x80000000u;
    var x = bitcast<u32>(a) & 0x7fffffffu;
    var y = bitcast<u32>(b) & 0x7fffffffu;
    if (x < y) { return a; }
    if (x == y) { return bitcast<f32>(sign); }
    var ex = i32(x >> 23u);
    var ey = i32(y >> 23u);
    // Mantissas with their leading one; subnormal numbers are shifted up to have one.
    if (ex == 0) {
        let shift = countLeadingZeros(x) - 8u;
        x <<= shift;
        ex = 1 - i32(shift);
    } else { x = (x & 0x7fffffu) | 0x800000u; }
    if (ey == 0) {
        let shift = countLeadingZeros(y) - 8u;
        y <<= shift;
        ey = 1 - i32(shift);
    } else { y = (y & 0x7fffffu) | 0x800000u; }
    while (ex > ey) {
        if (x >= y) { x -= y; }
        x <<= 1u;
        ex -= 1;
    }
    if (x >= y) { x -= y; }
    if (x == 0u) { return bitcast<f32>(sign); }
    let shift = countLeadingZeros(x) - 8u;
    x <<= shift;
    ex -= i32(shift);
    if (ex > 0) { x = (x - 0x800000u) | (u32(ex) << 23u); } else { x >>= u32(1 - ex); }
    return bitcast<f32>(x | sign);
}

fn oc_special(a: f32, b: f32) -> bool {
    let x = bitcast<u32>(a) & 0x7fffffffu;
    let y = bitcast<u32>(b) & 0x7fffffffu;
    return x >= 0x7f800000u || y > 0x7f800000u || y == 0u;
}

// Python's rule: the remainder has the divisor's sign. NaN where a is infinite or b is 0.
fn oc_remainder(a: f32, b: f32) -> f32 {
    if (oc_special(a, b)) { return bitcast<f32>(0x7fc00000u ^ params[0]); }
    let rest = oc_modulo(a, b);
    if (rest == 0.0f) { return bitcast<f32>(bitcast<u32>(b) & 0x80000000u); }
    return select(rest, rest + b, (rest < 0.0f) != (b < 0.0f));
}

// NumPy's: the quotient that belongs to the remainder.
fn oc_floor_divide(a: f32, b: f32) -> f32 {
    if (b == 0.0f) { return a / b; }
    if (oc_special(a, b)) { return bitcast<f32>(0x7fc00000u ^ params[0]); }
    let rest = oc_modulo(a, b);
    var quotient = (a - rest) / b;
    if (rest != 0.0f && (rest < 0.0f) != (b < 0.0f)) { quotient -= 1.0f; }
    if (quotient == 0.0f) { return bitcast<f32>((bitcast<u32>(a) ^ bitcast<u32>(b)) & 0x80000000u); }
    let below = floor(quotient);
    return select(below, below + 1.0f, quotient - below > 0.5f);
}
