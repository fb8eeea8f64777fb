OC double oc_sin_quarter(double x, double y) {
    const double z = x * x, w = z * z;
    const double r = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * 2.75573137070700676789e-06)
        + z * w * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10);
    const double v = z * x;
    return x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01);
}
OC double oc_cos_quarter(double x, double y) {
    const double z = x * x, w = z * z;
    const double r = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * 2.48015872894767294178e-05))
        + w * w * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11));
    const double half = 0.5 * z;
    const double near_one = 1.0 - half;
    return near_one + (((1.0 - near_one) - half) + (z * r - x * y));
}
OC double oc_without_low_word(double x) { return oc_double(oc_bits(x) & 0xffffffff00000000ull); }
OC double oc_tan_quarter(double x, double y, int odd) {
    const unsigned int hx = (unsigned int)(oc_bits(x) >> 32);
    const bool is_big = (hx & 0x7fffffffu) >= 0x3fe59428u, sign = hx >> 31;
    if (is_big) {
        x = sign ? -x : x;
        y = sign ? -y : y;
        x = (7.85398163397448278999e-01 - x) + (3.06161699786838301793e-17 - y);
        y = 0.0;
    }
    const double z = x * x, w2 = z * z;
    const double r1 = 1.33333333333201242699e-01
        + w2
            * (2.18694882948595424599e-02
               + w2
                   * (3.59207910759131235356e-03
                      + w2
                          * (5.88041240820264096874e-04
                             + w2 * (7.81794442939557092300e-05 + w2 * -1.85586374855275456654e-05))));
    const double v1 = z
        * (5.39682539762260521377e-02
           + w2
               * (8.86323982359930005737e-03
                  + w2
                      * (1.45620945432529025516e-03
                         + w2
                             * (2.46463134818469906812e-04
                                + w2 * (7.14072491382608190305e-05 + w2 * 2.59073051863633712884e-05)))));
    const double s1 = z * x;
    const double r = y + z * (s1 * (r1 + v1) + y) + s1 * 3.33333333333334091986e-01;
    const double w = x + r;
    if (is_big) {
        const double s = 1.0 - 2.0 * (double)odd;
        const double v = s - 2.0 * (x + (r - w * w / (w + s)));
        return sign ? -v : v;
    }
    if (odd == 0) {
        return w;
    }
    // -1 / (x + r) is up to 2 ulp off.
    const double w0 = oc_without_low_word(w);
    const double v = r - (w0 - x);
    const double a = -1.0 / w;
    const double a0 = oc_without_low_word(a);
    return a0 + a * (1.0 + a0 * w0 + a0 * v);
}
// The remainder of x by pi/2 as a sum, and the quadrant, beyond the limit of oc_angle.
OC int oc_far_angle(double x, double *y) {
    const int exponent = (int)(oc_bits(x) >> 52 & 0x7ff);
    double z = oc_double((oc_bits(x) & 0x000fffffffffffffull) | (0x3ffull + 23) << 52);
    double pieces[3];
    for (int i = 0; i < 2; ++i) {
        pieces[i] = (double)(int)z;
        z = (z - pieces[i]) * 0x1p24;
    }
    pieces[2] = z;
    int last = 2;
    while (last != 0 && pieces[last] == 0.0) {
        --last;
    }
    const int n = oc_rem_pio2_large(pieces, y, exponent - (0x3ff + 23), last + 1, 4);
    if (x < 0.0) {
        y[0] = -y[0];
        y[1] = -y[1];
        return -n;
    }
    return n;
}
OC double oc_sin(double x) {
    if (!(oc_abs(x) > OcConstants<double>::angle_most)) {
        return oc_sin_near(x);
    }
    if (oc_abs(x) == oc_infinity(x)) {
        return x - x;
    }
    double y[2];
    const int n = oc_far_angle(x, y) & 3;
    const double value = n & 1 ? oc_cos_quarter(y[0], y[1]) : oc_sin_quarter(y[0], y[1]);
    return n & 2 ? -value : value;
}
OC double oc_cos(double x) {
    if (!(oc_abs(x) > OcConstants<double>::angle_most)) {
        return oc_cos_near(x);
    }
    if (oc_abs(x) == oc_infinity(x)) {
        return x - x;
    }
    double y[2];
    const int n = oc_far_angle(x, y) & 3;
    const double value = n & 1 ? oc_sin_quarter(y[0], y[1]) : oc_cos_quarter(y[0], y[1]);
    return n == 1 || n == 2 ? -value : value;
}
OC double oc_tan(double x) {
    if (!(oc_abs(x) > OcConstants<double>::angle_most)) {
        return oc_tan_near(x);
    }
    if (oc_abs(x) == oc_infinity(x)) {
        return x - x;
    }
    double y[2];
    const int n = oc_far_angle(x, y);
    return oc_tan_quarter(y[0], y[1], n & 1);
}
