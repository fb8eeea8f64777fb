// f16 by its bits, as in src/dtype/half.rs, save that no subnormal f32 is met: a device may flush it.

fn oc_half_value(bits: u32) -> f32 {
    let sign = (bits & 0x8000u) << 16u;
    let magnitude = (bits & 0x7fffu) << 13u;
    let tiny = bitcast<u32>(f32(bits & 0x3ffu) * 5.9604645e-8f);
    let normal = select(magnitude + 0x38000000u, tiny, magnitude < 0x800000u);
    return bitcast<f32>(sign | select(normal, magnitude | 0x7f800000u, magnitude >= 0x0f800000u));
}

// The nearest, ties to even; beyond 65520 infinity.
fn oc_half_of_f32(x: f32) -> u32 {
    let b = bitcast<u32>(x);
    let sign = (b >> 16u) & 0x8000u;
    let magnitude = b & 0x7fffffffu;
    let normal = (magnitude + 0xfffu + ((magnitude >> 13u) & 1u) - 0x38000000u) >> 13u;
    // The unit in the last place of 1/2 is the least subnormal number.
    let subnormal = bitcast<u32>(bitcast<f32>(magnitude) + 0.5f) - 0x3f000000u;
    let special = select(0x7c00u, 0x7e00u, magnitude > 0x7f800000u);
    let finite = select(normal, subnormal, magnitude < 0x38800000u);
    return sign | select(finite, special, magnitude >= 0x47800000u);
}
