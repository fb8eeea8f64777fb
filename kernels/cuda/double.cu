// What is double's own of its functions: coefficients and the exponent's bits.
template <> struct OcConstants<double> {
    static constexpr double half_pi[3] = {1.57079632679489661923, 6.123233995736766e-17, -1.4973849048591698e-33};
    static constexpr double log_ln2_high = 0.6931471803691238, log_ln2_low = 1.9082149292705877e-10;
    static constexpr double exp_ln2_high = 0.6931471803691238, exp_ln2_low = 1.9082149292705877e-10;
    static constexpr double tanh_is_one = 20.0, angle_most = 1073741824.0;
    // 1.5 * 2^52: adding it rounds to an integer and leaves that in the low bits.
    static constexpr double magic = 6755399441055744.0;
};
OC double oc_exp2_of_magic(double n_magic) { return oc_double((oc_bits(n_magic) + 1023ull) << 52); }
OC double oc_sin_poly(double z) {
    return oc_poly(z, 1.58969099521155e-10, -2.5050760253406863e-8, 2.7557313707070068e-6, -0.0001984126982985795,
            0.00833333333332249, -0.16666666666666632);
}
OC double oc_cos_poly(double z) {
    return oc_poly(z, -1.1359647557788195e-11, 2.087572321298175e-9, -2.7557314351390663e-7, 2.480158728947673e-5,
            -0.001388888888887411, 0.0416666666666666);
}
OC double oc_log_poly(double z) {
    return oc_poly(z, 0.14798198605116586, 0.15313837699209373, 0.1818357216161805, 0.22222198432149784,
            0.2857142874366239, 0.3999999999940942, 0.6666666666666735);
}
OC double oc_exp_poly(double r) {
    return oc_poly(r, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0, 1.0 / 362880.0,
            1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5);
}
OC double oc_asin_tail(double z, double s, double residue) {
    const double ratio = z * oc_poly(z, 3.479331075960212e-5, 0.0007915349942898145, -0.04005553450067941,
            0.20121253213486293, -0.3255658186224009, 0.16666666666666666) / oc_poly(z, 0.07703815055590194,
            -0.6882839716054533, 2.0209457602335057, -2.403394911734414, 1.0);
    return oc_fma(s, ratio, residue);
}
// x = m * 2^k with m in [sqrt(1/2), sqrt(2)).
OC OcPair<double> oc_split(double x) {
    const bool is_small = x < 0x1p-1022;
    const double normal = is_small ? x * 0x1p54 : x;
    const double offset = is_small ? 0x1p52 + 1023.0 + 54.0 : 0x1p52 + 1023.0;
    const unsigned long long bits = oc_bits(normal) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
    const double mantissa = oc_double((bits & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    return OcPair<double>{mantissa, oc_double((bits >> 52) | oc_bits(0x1p52)) - offset};
}
// As for float with t = lesser / greater. It is reduced once more, after fdlibm: for the c of 0, 1/2 and 1 that is nearest,
// atan t = atan c + atan((t - c) / (1 + c t)), with one division for both.
OC double oc_from_octant(double lesser, double greater, bool is_steep, unsigned int is_left) {
    const bool is_past_low = lesser > 0.4375 * greater, is_past_high = lesser > 0.6875 * greater;
    const double c = is_past_high ? 1.0 : is_past_low ? 0.5 : 0.0;
    const double atan_c = is_past_high ? 0.785398163397448309616 : is_past_low ? 0.4636476090008061 : 0.0;
    const double atan_c_low = is_past_high ? 3.061616997868383e-17 : is_past_low ? 2.2698777452961687e-17 : 0.0;
    const double t = oc_fma(-c, greater, lesser) / oc_fma(c, lesser, greater);
    const double z = t * t;
    const double series = oc_poly(z, 0.016285820115365782, -0.036531572744216916, 0.049768779946159324,
            -0.058335701337905735, 0.06661073137387531, -0.0769187620504483, 0.09090887133436507,
            -0.11111110405462356, 0.14285714272503466, -0.19999999999876483, 0.3333333333333293);
    const double correction = oc_fma(z * t, -series, atan_c_low);
    const double octant = atan_c + (t + correction);
    const double quarters = is_steep ? 1.0 : is_left ? 2.0 : 0.0;
    const double turned = (unsigned int)is_steep ^ is_left ? -octant : octant;
    return oc_fma(quarters, 1.57079632679489661923, oc_fma(quarters, 6.123233995736766e-17, turned));
}
OC double oc_atan(double x) {
    const double a = oc_abs(x);
    const bool is_steep = a > 1.0;
    // An infinite divisor would give 0 * inf; 2^600 is as far as any.
    const double far = a == oc_infinity(x) ? 0x1p600 : a;
    return oc_signed(oc_from_octant(is_steep ? 1.0 : a, is_steep ? far : 1.0, is_steep, 0), x);
}
OC double oc_atan2(double y, double x) {
    const double ay = oc_abs(y), ax = oc_abs(x);
    const bool is_steep = ay > ax;
    const double lesser = is_steep ? ax : ay, greater = is_steep ? ay : ax;
    // Sums of both must not overflow, nor fractions lose bits among the subnormal numbers.
    const double scale = greater > 1e300 ? 0.25 : greater < 1e-290 ? 0x1p600 : 1.0;
    // 0/0 becomes 0/1, inf/inf 1/1, finite/inf 0/1; NaN is equal to nothing and stays.
    const bool lesser_is_infinite = lesser == oc_infinity(x), greater_is_infinite = greater == oc_infinity(x);
    double finite = greater_is_infinite && !lesser_is_infinite && lesser == lesser ? 0.0 : lesser * scale;
    finite = lesser_is_infinite && greater_is_infinite ? 1.0 : finite;
    const double divisor = greater_is_infinite || greater == 0.0 ? 1.0 : greater * scale;
    return oc_signed(oc_from_octant(finite, divisor, is_steep, (unsigned int)(oc_bits(x) >> 63)), y);
}
