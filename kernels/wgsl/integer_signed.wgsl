// Python's rule: the quotient rounds down, the remainder has the divisor's sign; division by zero gives 0 in
// both. Overflow wraps: the divisor -1 is a case of its own since MIN / -1 has no value.
fn oc_floor_divide_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    if (b == 0) { return 0; }
    if (b == -1) { return {{T}}(0) - a; }
    let quotient = a / b;
    let rest = a - quotient * b;
    return select(quotient, quotient - 1, rest != 0 && ((rest < 0) != (b < 0)));
}
fn oc_remainder_{{T}}(a: {{T}}, b: {{T}}) -> {{T}} {
    if (b == 0 || b == -1) { return 0; }
    let rest = a - (a / b) * b;
    return select(rest, rest + b, rest != 0 && ((rest < 0) != (b < 0)));
}
// A negative exponent gives 0.
fn oc_power_{{T}}(base: {{T}}, exponent: {{T}}) -> {{T}} {
    if (exponent < 0) { return 0; }
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
