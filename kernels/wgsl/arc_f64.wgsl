// The inverse trigonometric functions of f64, as the host's.

// The angle in [0, pi] of lesser / greater, or where `is_steep` of its inverse; `is_left` is 1 for the half plane
// x < 0. The quotient is reduced once more, after fdlibm: for the c of 0, 1/2 and 1 that is nearest,
// atan t = atan c + atan((t - c) / (1 + c t)), with one division for both.
fn oc_from_octant_f64(lesser: f64, greater: f64, is_steep: bool, is_left: u32) -> f64 {
    let is_past_low = lesser > 0.4375lf * greater;
    let is_past_high = lesser > 0.6875lf * greater;
    let c = select(select(0.0lf, 0.5lf, is_past_low), 1.0lf, is_past_high);
    let atan_c = select(select(0.0lf, 0.4636476090008061lf, is_past_low), 0.7853981633974483lf, is_past_high);
    let below = select(select(0.0lf, 2.2698777452961687e-17lf, is_past_low), 3.061616997868383e-17lf, is_past_high);
    let t = fma(-c, greater, lesser) / fma(c, lesser, greater);
    let z = t * t;
    var p = fma(z, 0.016285820115365782lf, -0.036531572744216916lf);
    p = fma(z, p, 0.049768779946159324lf);
    p = fma(z, p, -0.058335701337905735lf);
    p = fma(z, p, 0.06661073137387531lf);
    p = fma(z, p, -0.0769187620504483lf);
    p = fma(z, p, 0.09090887133436507lf);
    p = fma(z, p, -0.11111110405462356lf);
    p = fma(z, p, 0.14285714272503466lf);
    p = fma(z, p, -0.19999999999876483lf);
    p = fma(z, p, 0.3333333333333293lf);
    let octant = atan_c + (t + fma(z * t, -p, below));
    let quarters = select(f64(is_left * 2u), 1.0lf, is_steep);
    let turned = select(octant, -octant, is_steep != (is_left == 1u));
    return fma(quarters, 1.5707963267948966lf, fma(quarters, 6.123233995736766e-17lf, turned));
}

// 1.5 ulp.
fn oc_atan_f64(x: f64) -> f64 {
    let b = bitcast<u64>(x);
    let m = b & OC_MAGNITUDE_F64;
    let is_steep = m > 0x3ff0000000000000lu;
    // 2^600 is as far as any.
    let a = bitcast<f64>(min(m, 0x6570000000000000lu));
    let angle = oc_from_octant_f64(select(a, 1.0lf, is_steep), select(1.0lf, a, is_steep), is_steep, 0u);
    return select(oc_signed_f64(angle, x), bitcast<f64>(b | OC_QUIET_F64), m > OC_INF_F64);
}

// The angle of the point (x, y); 1.5 ulp. Signed zeros choose the quadrant, two infinities lie on the diagonal.
fn oc_atan2_f64(y: f64, x: f64) -> f64 {
    let ay = oc_bits_f64(y);
    let ax = oc_bits_f64(x);
    let is_steep = ay > ax;
    let short = min(ax, ay);
    let long = max(ax, ay);
    // Sums of both must not overflow, nor fractions lose bits among the subnormal numbers.
    let is_small = long < 0x03c0000000000000lu;
    let is_large = long > 0x7e40000000000000lu;
    let scale = select(select(1.0lf, 4.149515568880993e180lf, is_small), 0.25lf, is_large);
    // 0/0 becomes 0/1, inf/inf 1/1, finite/inf 0/1.
    let is_infinite = long == OC_INF_F64;
    let both = select(0.0lf, 1.0lf, short == OC_INF_F64);
    let lesser = select(bitcast<f64>(min(short, OC_INF_F64 - 1lu)) * scale, both, is_infinite);
    let greater = select(bitcast<f64>(min(long, OC_INF_F64 - 1lu)) * scale, 1.0lf, is_infinite || long == 0lu);
    let is_left = u32(bitcast<u64>(x) >> 63u);
    let value = oc_signed_f64(oc_from_octant_f64(lesser, greater, is_steep, is_left), y);
    return select(value, bitcast<f64>(long | OC_QUIET_F64), long > OC_INF_F64);
}

// (s, q): asin a = s + q up to 1/2, pi/2 - 2 (s + q) beyond.
fn oc_asin_parts_f64(a: f64) -> vec2<f64> {
    let is_big = a > 0.5lf;
    let z = select(a * a, 0.5lf - 0.5lf * a, is_big);
    let root = sqrt(z);
    let square = oc_pair_exact_f64(root, root);
    let residue = select(0.0lf, ((z - square.x) - square.y) / (2.0lf * root), is_big && root > 0.0lf);
    let s = select(a, root, is_big);
    var p = fma(z, 3.479331075960212e-5lf, 7.915349942898145e-4lf);
    p = fma(z, p, -0.04005553450067941lf);
    p = fma(z, p, 0.20121253213486293lf);
    p = fma(z, p, -0.3255658186224009lf);
    p = fma(z, p, 0.16666666666666666lf);
    var q = fma(z, 0.07703815055590194lf, -0.6882839716054533lf);
    q = fma(z, q, 2.0209457602335057lf);
    q = fma(z, q, -2.403394911734414lf);
    q = fma(z, q, 1.0lf);
    return vec2<f64>(s, fma(s, z * p / q, residue));
}

// 1 ulp; NaN beyond 1.
fn oc_asin_f64(x: f64) -> f64 {
    let b = bitcast<u64>(x);
    let m = b & OC_MAGNITUDE_F64;
    let a = bitcast<f64>(min(m, 0x3ff0000000000000lu));
    let p = oc_asin_parts_f64(a);
    let head = oc_pair_quick_f64(1.5707963267948966lf, -2.0lf * p.x);
    let far = head.x + (head.y + (6.123233995736766e-17lf - 2.0lf * p.y));
    let y = oc_signed_f64(select(p.x + p.y, far, a > 0.5lf), x);
    return select(y, bitcast<f64>(b | OC_QUIET_F64), m > 0x3ff0000000000000lu);
}

// 1 ulp; NaN beyond 1.
fn oc_acos_f64(x: f64) -> f64 {
    let b = bitcast<u64>(x);
    let m = b & OC_MAGNITUDE_F64;
    let a = bitcast<f64>(min(m, 0x3ff0000000000000lu));
    let p = oc_asin_parts_f64(a);
    let is_left = x < 0.0lf;
    let head = oc_pair_quick_f64(1.5707963267948966lf, select(-p.x, p.x, is_left));
    let middle = head.x + (head.y + (6.123233995736766e-17lf + select(-p.y, p.y, is_left)));
    let right = 2.0lf * (p.x + p.y);
    let left = 2.0lf * (1.5707963267948966lf - (p.x + (p.y - 6.123233995736766e-17lf)));
    let y = select(middle, select(right, left, is_left), a > 0.5lf);
    return select(y, bitcast<f64>(b | OC_QUIET_F64), m > 0x3ff0000000000000lu);
}
