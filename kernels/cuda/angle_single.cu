OC float oc_sin_quarter(double x) {
    const double z = x * x, w = z * z;
    const double r = -0.000198393348360966317347 + z * 0.0000027183114939898219064, s = z * x;
    return (float)((x + s * (-0.166666666416265235595 + z * 0.0083333293858894631756)) + s * w * r);
}
OC float oc_cos_quarter(double x) {
    const double z = x * x, w = z * z;
    const double r = -0.00138867637746099294692 + z * 0.0000243904487962774090654;
    return (float)(((1.0 + z * -0.499999997251031003120) + w * 0.0416666233237390631894) + (w * z) * r);
}
OC float oc_tan_quarter(double x, bool is_odd) {
    const double z = x * x;
    const double low = 0.00297435743359967304927 + z * 0.00946564784943673166728;
    const double t = 0.0533812378445670393523 + z * 0.0245283181166547278873;
    const double w = z * z, s = z * x;
    const double u = 0.333331395030791399758 + z * 0.133392002712976742718;
    const double r = (x + s * u) + (s * w) * (t + w * low);
    return (float)(is_odd ? -1.0 / r : r);
}
// The remainder of x by pi/2, and the quadrant, beyond the limit of oc_angle.
OC int oc_far_angle(float x, double &y) {
    const unsigned int ix = oc_bits(x) & 0x7fffffffu;
    if (ix < 0x4dc90fdbu) {
        const double to_integer = 0x1.8p52;
        const double k = ((double)x * 6.36619772367581382433e-01 + to_integer) - to_integer;
        y = (double)x - k * 1.57079631090164184570e+00 - k * 1.58932547735281966916e-08;
        return (int)k;
    }
    const int e0 = (int)(ix >> 23) - (0x7f + 23);
    const double pieces[1] = {(double)oc_single(ix - ((unsigned int)e0 << 23))};
    double rest[2];
    const int n = oc_rem_pio2_large(pieces, rest, e0, 1, 3);
    y = x < 0.0f ? -rest[0] : rest[0];
    return x < 0.0f ? -n : n;
}
OC float oc_sin(float x) {
    if (!(oc_abs(x) > OcConstants<float>::angle_most)) {
        return oc_sin_near(x);
    }
    if (oc_abs(x) == oc_infinity(x)) {
        return x - x;
    }
    double y;
    const int n = oc_far_angle(x, y) & 3;
    return n == 0 ? oc_sin_quarter(y) : n == 1 ? oc_cos_quarter(y) : n == 2 ? oc_sin_quarter(-y) : -oc_cos_quarter(y);
}
OC float oc_cos(float x) {
    if (!(oc_abs(x) > OcConstants<float>::angle_most)) {
        return oc_cos_near(x);
    }
    if (oc_abs(x) == oc_infinity(x)) {
        return x - x;
    }
    double y;
    const int n = oc_far_angle(x, y) & 3;
    return n == 0 ? oc_cos_quarter(y) : n == 1 ? oc_sin_quarter(-y) : n == 2 ? -oc_cos_quarter(y) : oc_sin_quarter(y);
}
OC float oc_tan(float x) {
    if (!(oc_abs(x) > OcConstants<float>::angle_most)) {
        return oc_tan_near(x);
    }
    if (oc_abs(x) == oc_infinity(x)) {
        return x - x;
    }
    double y;
    const int n = oc_far_angle(x, y);
    return oc_tan_quarter(y, n & 1);
}
