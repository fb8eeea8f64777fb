// What is float's own of its functions: coefficients and the exponent's bits.
template <> struct OcConstants<float> {
    static constexpr float half_pi[3] = {1.57079632679489661923f, -4.371139e-8f, -1.7151245e-15f};
    static constexpr float log_ln2_high = 0.6931381f, log_ln2_low = 9.058001e-6f;
    static constexpr float exp_ln2_high = 0.6933594f, exp_ln2_low = -0.00021219444f;
    static constexpr float tanh_is_one = 10.0f, angle_most = 262144.0f;
    // 1.5 * 2^23: adding it rounds to an integer and leaves that in the low bits.
    static constexpr float magic = 12582912.0f;
};
OC float oc_exp2_of_magic(float n_magic) { return oc_single((oc_bits(n_magic) + 127u) << 23); }
OC float oc_sin_poly(float z) { return oc_poly(z, -0.00019495048f, 0.008332011f, -0.16666652f); }
OC float oc_cos_poly(float z) { return oc_poly(z, 2.4411222e-5f, -0.0013887126f, 0.04166664f); }
OC float oc_log_poly(float z) { return oc_poly(z, 0.24279079f, 0.28498787f, 0.40000972f, 0.6666666f); }
OC float oc_exp_poly(float r) { return oc_poly(r, 0.00019875691f, 0.0013981999f, 0.008333452f, 0.041665796f,
        0.16666666f, 0.5f); }
OC float oc_asin_tail(float z, float s, float residue) {
    return oc_fma(z * s, oc_poly(z, 0.042158388f, 0.024184743f, 0.045469154f, 0.074953094f, 0.16666752f), residue);
}
// x = m * 2^k with m in [sqrt(1/2), sqrt(2)).
OC OcPair<float> oc_split(float x) {
    const bool is_small = x < 0x1p-126f;
    const float normal = is_small ? x * 0x1p25f : x;
    const int bias = is_small ? 127 + 25 : 127;
    const unsigned int bits = oc_bits(normal) + (0x3f800000u - 0x3f3504f3u);
    return OcPair<float>{oc_single((bits & 0x007fffffu) + 0x3f3504f3u), (float)((int)(bits >> 23) - bias)};
}
// The angle whose tangent, or where `is_steep` its cotangent, is `t` in [0, 1]; `is_left` is 1 for the half plane x < 0.
OC float oc_from_octant(float t, bool is_steep, unsigned int is_left) {
    const float z = t * t;
    const float octant = oc_fma(z * t, oc_poly(z, -0.0018063466f, 0.010952418f, -0.031214267f, 0.057963166f,
            -0.08402256f, 0.109513916f, -0.14264047f, 0.1999853f, -0.333333f), t);
    const float quarters = is_steep ? 1.0f : (float)((int)is_left * 2);
    const float turned = (unsigned int)is_steep ^ is_left ? -octant : octant;
    return oc_fma(quarters, 1.57079632679489661923f, oc_fma(quarters, -4.371139e-8f, turned));
}
OC float oc_atan(float x) {
    const float a = oc_abs(x);
    const bool is_steep = a > 1.0f;
    const float t = (is_steep ? 1.0f : a) / (is_steep ? a : 1.0f);
    return oc_signed(oc_from_octant(t, is_steep, 0), x);
}
OC float oc_atan2(float y, float x) {
    const float ay = oc_abs(y), ax = oc_abs(x);
    const bool is_steep = ay > ax;
    const float lesser = is_steep ? ax : ay, greater = is_steep ? ay : ax;
    // 0/0 and inf/inf are told by equality; NaN is equal to nothing and stays.
    const float diagonal = greater == 0.0f ? 0.0f : 1.0f;
    const float t = lesser == greater ? diagonal : lesser / greater;
    return oc_signed(oc_from_octant(t, is_steep, oc_bits(x) >> 31), y);
}
