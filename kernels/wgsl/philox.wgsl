// Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). The counter is the
// element's C-order position in the whole array, so that numbers don't depend on chunks.

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
