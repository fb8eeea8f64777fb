OC OcPair<double> oc_product(double a, double b) {
    const double high = a * b;
    return OcPair<double>{high, oc_fma(a, b, -high)};
}
// Knuth's sum of two.
OC OcPair<double> oc_two_sum(double a, double b) {
    const double high = a + b, b_part = high - a;
    return OcPair<double>{high, (a - (high - b_part)) + (b - b_part)};
}
// Dekker's, where |a| >= |b|.
OC OcPair<double> oc_fast_two_sum(double a, double b) {
    const double high = a + b;
    return OcPair<double>{high, b - (high - a)};
}
// log x of a positive finite x as a sum of two, to about 2^-65 of it.
OC OcPair<double> oc_log_double(double x) {
    const OcPair<double> parts = oc_split(x);
    const double m = parts.high, k = parts.low;
    const double f = m - 1.0;
    const OcPair<double> sum = oc_two_sum(1.0, m);
    const double s = f / sum.high;
    const double s_low = (oc_fma(-s, sum.high, f) - s * sum.low) / sum.high;
    const OcPair<double> z = oc_product(s, s);
    const double z_low = oc_fma(2.0 * s, s_low, z.low);
    const double series = oc_poly(z.high, 2.0 / 25.0, 2.0 / 23.0, 2.0 / 21.0, 2.0 / 19.0, 2.0 / 17.0, 2.0 / 15.0,
            2.0 / 13.0, 2.0 / 11.0, 2.0 / 9.0, 2.0 / 7.0, 2.0 / 5.0);
    const OcPair<double> tail = oc_product(z.high, series);
    const OcPair<double> c = oc_fast_two_sum(0.6666666666666666, tail.high);
    const double c_low = c.low + tail.low + 3.700743415417188e-17;
    const OcPair<double> cube = oc_product(s, z.high);
    const double cube_low = oc_fma(s, z_low, oc_fma(s_low, z.high, cube.low));
    const OcPair<double> term = oc_product(cube.high, c.high);
    const double term_low = oc_fma(cube.high, c_low, oc_fma(cube_low, c.high, term.low));
    const OcPair<double> k_low = oc_product(k, OcConstants<double>::log_ln2_low);
    const OcPair<double> first = oc_two_sum(k * OcConstants<double>::log_ln2_high, 2.0 * s);
    const OcPair<double> second = oc_two_sum(first.high, term.high);
    const OcPair<double> third = oc_two_sum(second.high, k_low.high);
    const double low = first.low + second.low + third.low + oc_fma(2.0, s_low, term_low) + k_low.low;
    return oc_fast_two_sum(third.high, low);
}
// e to the y * log|x|, the logarithm and the product as sums of two.
OC double oc_power(double x, double y) {
    const double a = oc_abs(x);
    const OcPair<double> both = oc_log_double(a);
    double log = a == 0.0 ? -oc_infinity(a) : both.high;
    log = a < oc_infinity(a) ? log : a;
    const OcPair<double> t = oc_product(log, y);
    // Out of exp's range the low part is meaningless, or inf - inf.
    const double low = oc_abs(t.high) < 800.0 ? oc_fma(both.low, y, t.low) : 0.0;
    return oc_power_sign(x, y, oc_exp_sum(t.high, low));
}
// Scaled by a power of two so that no square overflows or vanishes.
OC double oc_hypot(double x, double y) {
    const double ax = oc_abs(x), ay = oc_abs(y);
    const double greater = ay > ax ? ay : ax, lesser = ay > ax ? ax : ay;
    const double up = greater < 1e-140 ? 0x1p600 : 1.0;
    const double scale = greater > 1e150 ? 0x1p-600 : up, unscale = greater > 1e150 ? 0x1p600 : 1.0 / up;
    const double p = greater * scale, q = lesser * scale;
    const double value = oc_sqrt(oc_fma(p, p, q * q)) * unscale;
    return ax == oc_infinity(x) || ay == oc_infinity(x) ? oc_infinity(x) : value;
}
