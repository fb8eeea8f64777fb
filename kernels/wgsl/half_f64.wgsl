// Rounded once: the f32 in between is cut off, and its last bit says whether anything was lost.
fn oc_half_of_f64(x: f64) -> u32 {
    let b = bitcast<u64>(x);
    let sign = u32(b >> 63u) << 31u;
    let magnitude = b & 0x7ffffffffffffffflu;
    // From 2^-30 to 2^17, where halves are; the bias of the exponents differs by 896.
    let bounded = clamp(magnitude, 0x3e10000000000000lu, 0x4100000000000000lu);
    let lost = select(0u, 1u, (bounded & 0x1ffffffflu) != 0lu);
    let single = u32((bounded - 0x3800000000000000lu) >> 29u) | lost;
    let value = select(single, 0x7fc00000u, magnitude > 0x7ff0000000000000lu);
    return oc_half_of_f32(bitcast<f32>(sign | value));
}
