// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). The counter is the
// element's C-order position in the whole array, so that numbers don't depend on chunks.

// The 64-bit product, low word first, from 16-bit halves: WGSL has no high multiplication.
fn oc_product(a: u32, b: u32) -> vec2u {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let low = al * bl;
    let middle = ah * bl + (low >> 16u);
    let cross = al * bh + (middle & 0xffffu);
    return vec2u(a * b, ah * bh + (middle >> 16u) + (cross >> 16u));
}

// position * extent + at, in 64 bits.
fn oc_position(position: vec2u, extent: u32, at: u32) -> vec2u {
    let low = oc_product(position.x, extent);
    let sum = low.x + at;
    let carry = select(0u, 1u, sum < at);
    return vec2u(sum, low.y + position.y * extent + carry);
}

fn oc_philox(position: vec2u, seed: vec2u) -> vec4u {
    var counter = vec4u(position, 0u, 0u);
    var key = seed;
    for (var round = 0u; round < 10u; round++) {
        let first = oc_product(0xD2511F53u, counter.x);
        let second = oc_product(0xCD9E8D57u, counter.z);
        counter = vec4u(second.y ^ counter.y ^ key.x, second.x, first.y ^ counter.w ^ key.y, first.x);
        key += vec2u(0x9E3779B9u, 0xBB67AE85u);
    }
    return counter;
}

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
