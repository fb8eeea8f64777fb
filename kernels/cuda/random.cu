// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): the key is the
// seed, the counter the position in the whole array.
struct OcWords {
    unsigned int w[4];
};
OC OcWords oc_philox(unsigned long long seed, unsigned long long position) {
    unsigned int c0 = (unsigned int)position, c1 = (unsigned int)(position >> 32), c2 = 0, c3 = 0;
    unsigned int k0 = (unsigned int)seed, k1 = (unsigned int)(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        const unsigned long long a = (unsigned long long)c0 * 0xD2511F53u, b = (unsigned long long)c2 * 0xCD9E8D57u;
        c0 = (unsigned int)(b >> 32) ^ c1 ^ k0;
        c1 = (unsigned int)b;
        c2 = (unsigned int)(a >> 32) ^ c3 ^ k1;
        c3 = (unsigned int)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return OcWords{{c0, c1, c2, c3}};
}
OC unsigned long long oc_bits_53(unsigned int high, unsigned int low) {
    return ((unsigned long long)high << 32 | low) >> 11;
}
// Box and Muller.
template <class T> OC T oc_box_muller(T u, T v, T tau) { return oc_sqrt((T)-2 * oc_log(u)) * oc_cos_near(tau * v); }

template <class T> OC T oc_uniform(unsigned long long seed, unsigned long long position);
template <> OC float oc_uniform<float>(unsigned long long seed, unsigned long long position) {
    return (float)(int)(oc_philox(seed, position).w[0] >> 8) * 0x1p-24f;
}
template <> OC double oc_uniform<double>(unsigned long long seed, unsigned long long position) {
    const OcWords words = oc_philox(seed, position);
    return (double)(long long)oc_bits_53(words.w[0], words.w[1]) * 0x1p-53;
}
template <class T> OC T oc_normal(unsigned long long seed, unsigned long long position);
template <> OC float oc_normal<float>(unsigned long long seed, unsigned long long position) {
    const OcWords words = oc_philox(seed, position);
    const float u = (float)(int)((words.w[0] >> 8) + 1) * 0x1p-24f, v = (float)(int)(words.w[1] >> 8) * 0x1p-24f;
    return oc_box_muller(u, v, 6.28318530717958647692f);
}
template <> OC double oc_normal<double>(unsigned long long seed, unsigned long long position) {
    const OcWords words = oc_philox(seed, position);
    const double u = (double)(long long)(oc_bits_53(words.w[0], words.w[1]) + 1) * 0x1p-53;
    const double v = (double)(long long)oc_bits_53(words.w[2], words.w[3]) * 0x1p-53;
    return oc_box_muller(u, v, 6.28318530717958647692);
}
