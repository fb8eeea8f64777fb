// Uniform over [0, 1).
fn oc_uniform(position: vec2u, seed: vec2u) -> f32 {
    return f32(oc_philox(position, seed).x >> 8u) * 5.9604645e-8f;
}

// By Box and Muller; the first uniform number is moved to (0, 1] for the logarithm.
fn oc_normal(position: vec2u, seed: vec2u) -> f32 {
    let words = oc_philox(position, seed);
    let radius = f32((words.x >> 8u) + 1u) * 5.9604645e-8f;
    let turn = f32(words.y >> 8u) * 5.9604645e-8f;
    return sqrt(-2.0f * oc_log(radius)) * oc_cos(6.2831855f * turn);
}
