// (value + first) * 2^-53 of the upper 53 bits.
fn oc_unit_f64(high: u32, low: u32, first: u64) -> f64 {
    return f64((((u64(high) << 32u) | u64(low)) >> 11u) + first) * 1.1102230246251565e-16lf;
}
// Uniform over [0, 1).
fn oc_uniform_f64(position: vec2u, seed: vec2u) -> f64 {
    let words = oc_philox(position, seed);
    return oc_unit_f64(words.x, words.y, 0lu);
}

// By Box and Muller; the first uniform number is moved to (0, 1] for the logarithm.
fn oc_normal_f64(position: vec2u, seed: vec2u) -> f64 {
    let words = oc_philox(position, seed);
    let radius = oc_unit_f64(words.x, words.y, 1lu);
    let turn = oc_unit_f64(words.z, words.w, 0lu);
    return sqrt(-2.0lf * oc_log_f64(radius)) * oc_cos_f64(6.283185307179586lf * turn);
}
