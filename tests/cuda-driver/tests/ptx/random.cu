// Philox 4x32-10 (Salmon et al., SC'11): what its words are on the host and on every device.
extern "C" __global__ void philox(uint4 *out, float *uniform, unsigned long long key, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned c0 = i, c1 = 0, c2 = 5, c3 = 0, k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    for (int round = 0; round < 10; round++) {
        unsigned long long p = 0xD2511F53ull * c0, q = 0xCD9E8D57ull * c2;
        c0 = (unsigned)(q >> 32) ^ c1 ^ k0;
        c2 = (unsigned)(p >> 32) ^ c3 ^ k1;
        c1 = (unsigned)q;
        c3 = (unsigned)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[i] = make_uint4(c0, c1, c2, c3);
    uniform[i] = (float)(c0 >> 8) * 5.9604644775390625e-8f;
}
