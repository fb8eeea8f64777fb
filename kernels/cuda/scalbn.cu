// x * 2^n, in steps where 2^n alone isn't a double.
OC double oc_scalbn(double x, int n) {
    if (n > 1023) {
        x *= 0x1p1023;
        n -= 1023;
        if (n > 1023) {
            x *= 0x1p1023;
            n = n - 1023 > 1023 ? 1023 : n - 1023;
        }
    } else if (n < -1022) {
        x *= 0x1p-1022 * 0x1p53;
        n += 1022 - 53;
        if (n < -1022) {
            x *= 0x1p-1022 * 0x1p53;
            n = n + 1022 - 53 < -1022 ? -1022 : n + 1022 - 53;
        }
    }
    return x * oc_double((unsigned long long)(0x3ff + n) << 52);
}
