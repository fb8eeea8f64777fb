// 2 to the y * log2|x| in double.
OC float oc_power(float x, float y) {
    const float a = oc_abs(x);
    const OcPair<float> parts = oc_split(a);
    const double m = (double)parts.high;
    const double s = (m - 1.0) / (m + 1.0);
    const double z = s * s;
    const double series = oc_poly(z, 2.0 / 15.0, 2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0, 2.0 / 3.0,
            2.0);
    double log2 = oc_fma(s * series, 1.44269504088896340736, (double)parts.low);
    log2 = a == 0.0f ? -oc_infinity(0.0) : log2;
    log2 = a < oc_infinity(a) ? log2 : (double)a;
    double t = (double)y * log2;
    t = t > 200.0 ? 200.0 : t;
    t = t < -200.0 ? -200.0 : t;
    const double magic = 6755399441055744.0;
    const double k_magic = t + magic;
    const double r = (t - (k_magic - magic)) * 0.693147180559945309417;
    const double power = oc_poly(r, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0,
            1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0);
    const double scale = oc_double((oc_bits(k_magic) + 1023ull) << 52);
    return oc_power_sign(x, y, (float)(power * scale));
}
OC float oc_hypot(float x, float y) {
    const double a = (double)x, b = (double)y;
    const float value = (float)oc_sqrt(oc_fma(a, a, b * b));
    const bool is_infinite = oc_abs(x) == oc_infinity(x) || oc_abs(y) == oc_infinity(x);
    return is_infinite ? oc_infinity(x) : value;
}
