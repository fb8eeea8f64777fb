fn oc_bits_f64(x: f64) -> u64 { return bitcast<u64>(x) & 0x7ffffffffffffffflu; }
fn oc_isnan_f64(x: f64) -> bool { return oc_bits_f64(x) > 0x7ff0000000000000lu; }
fn oc_isinf_f64(x: f64) -> bool { return oc_bits_f64(x) == 0x7ff0000000000000lu; }
fn oc_isfinite_f64(x: f64) -> bool { return oc_bits_f64(x) < 0x7ff0000000000000lu; }
// Half to even; the built-in function isn't, on Mesa's llvmpipe.
fn oc_round_f64(x: f64) -> f64 {
    let below = floor(x);
    let rest = x - below;
    let half = below * 0.5lf;
    let is_odd = half != floor(half);
    return select(below, below + 1.0lf, rest > 0.5lf || (rest == 0.5lf && is_odd));
}
