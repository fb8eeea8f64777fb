// a - b * trunc(a / b) without rounding, by long division in binary; WGSL's own % rounds the quotient and is
// wrong where it is large. For |a| < inf and b neither 0 nor NaN.
fn oc_modulo_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    let sign = bitcast<{{U}}>(a) & {{sign}};
    var x = bitcast<{{U}}>(a) & {{magnitude}};
    var y = bitcast<{{U}}>(b) & {{magnitude}};
    if (x < y) { return a; }
    if (x == y) { return bitcast<{{T}}>(sign); }
    var ex = i32(x >> {{digits}}u);
    var ey = i32(y >> {{digits}}u);
    // Mantissas with their leading one; subnormal numbers are shifted up to have one.
    if (ex == 0) {
        let shift = oc_shift_{{T}}(x);
        x <<= shift;
        ex = 1 - i32(shift);
    } else { x = (x & ({{one}} - 1)) | {{one}}; }
    if (ey == 0) {
        let shift = oc_shift_{{T}}(y);
        y <<= shift;
        ey = 1 - i32(shift);
    } else { y = (y & ({{one}} - 1)) | {{one}}; }
    while (ex > ey) {
        if (x >= y) { x -= y; }
        x <<= 1u;
        ex -= 1;
    }
    if (x >= y) { x -= y; }
    if (x == 0) { return bitcast<{{T}}>(sign); }
    let shift = oc_shift_{{T}}(x);
    x <<= shift;
    ex -= i32(shift);
    if (ex > 0) { x = (x - {{one}}) | ({{U}}(u32(ex)) << {{digits}}u); } else { x >>= u32(1 - ex); }
    return bitcast<{{T}}>(x | sign);
}

fn oc_special_{{T}}(a: {{T}}, b: {{T}}) -> bool {
    let x = bitcast<{{U}}>(a) & {{magnitude}};
    let y = bitcast<{{U}}>(b) & {{magnitude}};
    return x >= {{infinity}} || y > {{infinity}} || y == 0;
}

// Python's rule: the remainder has the divisor's sign. NaN where a is infinite or b is 0.
fn oc_remainder_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    if (oc_special_{{T}}(a, b)) { return bitcast<{{T}}>({{nan}} ^ {{U}}(params[0])); }
    let rest = oc_modulo_{{T}}(a, b);
    if (rest == 0) { return bitcast<{{T}}>(bitcast<{{U}}>(b) & {{sign}}); }
    return select(rest, rest + b, (rest < 0) != (b < 0));
}

// NumPy's: the quotient that belongs to the remainder.
fn oc_floor_divide_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    if (b == 0) { return a / b; }
    if (oc_special_{{T}}(a, b)) { return bitcast<{{T}}>({{nan}} ^ {{U}}(params[0])); }
    let rest = oc_modulo_{{T}}(a, b);
    var quotient = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) { quotient -= {{T}}(1); }
    if (quotient == 0) { return bitcast<{{T}}>((bitcast<{{U}}>(a) ^ bitcast<{{U}}>(b)) & {{sign}}); }
    let below = floor(quotient);
    return select(below, below + {{T}}(1), quotient - below > {{T}}(0.5));
}
