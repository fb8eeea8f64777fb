// Division by zero gives 0 in both. Overflow wraps.
fn oc_floor_divide_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    if (b == 0) { return 0; }
    return a / b;
}
fn oc_remainder_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    if (b == 0) { return 0; }
    return a % b;
}
fn oc_power_{{T}}(base: {{T}}, exponent: {{T}}) -> {{T}} {
    var square = base;
    var left = exponent;
    var result = {{T}}(1);
    while (left != 0) {
        if ((left & 1) != 0) { result *= square; }
        square *= square;
        left = left / 2;
    }
    return result;
}
