fn oc_bits_f64(x: f64) -> u64 { return bitcast<u64>(x) & 0x7ffffffffffffffflu; }
fn oc_isnan_f64(x: f64) -> bool { return oc_bits_f64(x) > 0x7ff0000000000000lu; }
fn oc_isinf_f64(x: f64) -> bool { return oc_bits_f64(x) == 0x7ff0000000000000lu; }
fn oc_isfinite_f64(x: f64) -> bool { return oc_bits_f64(x) < 0x7ff0000000000000lu; }
