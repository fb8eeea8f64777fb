const OC_INF_F64: u64 = 0x7ff0000000000000lu;
const OC_MAGNITUDE_F64: u64 = 0x7ffffffffffffffflu;
const OC_SIGN_F64: u64 = 0x8000000000000000lu;
const OC_QUIET_F64: u64 = 0x7ff8000000000000lu;
fn oc_bits_f64(x: f64) -> u64 { return bitcast<u64>(x) & OC_MAGNITUDE_F64; }
fn oc_isnan_f64(x: f64) -> bool { return oc_bits_f64(x) > OC_INF_F64; }
fn oc_isinf_f64(x: f64) -> bool { return oc_bits_f64(x) == OC_INF_F64; }
fn oc_isfinite_f64(x: f64) -> bool { return oc_bits_f64(x) < OC_INF_F64; }
// Keeps the compiler from cancelling a sum against its parts: params[0] is always 0.
fn oc_hidden_f64(x: f64) -> f64 { return bitcast<f64>(bitcast<u64>(x) ^ u64(params[0])); }
// |x| with the sign of another.
fn oc_signed_f64(x: f64, sign: f64) -> f64 {
    return bitcast<f64>(oc_bits_f64(x) | (bitcast<u64>(sign) & OC_SIGN_F64));
}
// Half to even; the built-in function isn't, on Mesa's llvmpipe.
fn oc_round_f64(x: f64) -> f64 {
    let below = floor(x);
    let rest = x - below;
    let half = below * 0.5lf;
    let is_odd = half != floor(half);
    return select(below, below + 1.0lf, rest > 0.5lf || (rest == 0.5lf && is_odd));
}
// How far a mantissa's leading one is below its place.
fn oc_shift_f64(mantissa: u64) -> u32 {
    let high = countLeadingZeros(u32(mantissa >> 32u));
    let low = countLeadingZeros(u32(mantissa & 0xfffffffflu));
    return select(high, 32u + low, high == 32u) - 11u;
}
