fn oc_isnan_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn oc_isinf_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn oc_isfinite_f32(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) < 0x7f800000u; }
// Keeps the compiler from cancelling a sum against its parts: params[0] is always 0.
fn oc_hidden_f32(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) ^ params[0]); }
// How far a mantissa's leading one is below its place.
fn oc_shift_f32(mantissa: u32) -> u32 { return countLeadingZeros(mantissa) - 8u; }
