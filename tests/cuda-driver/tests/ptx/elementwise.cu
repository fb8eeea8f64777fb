// Elementwise maps, and the polynomial of a function as the host computes it (compiled with --fmad=false).
extern "C" __global__ void axpy_f32(const float *x, const float *y, float *out, float a, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a * x[i] + y[i];
}
extern "C" __global__ void axpy_f64(const double *x, const double *y, double *out, double a, unsigned long long n) {
    for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < n;
         i += (unsigned long long)gridDim.x * blockDim.x)
        out[i] = a * x[i] - y[i] / (a + 3.0);
}
extern "C" __global__ void roots_f32(const float *x, float *root, float *quotient, float *bounded, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    root[i] = sqrtf(x[i]);
    quotient[i] = 1.0f / (x[i] - 0.5f);
    bounded[i] = fminf(fmaxf(x[i], -1.0f), fabsf(x[i]) * 0.25f);
}
extern "C" __global__ void polynomial_f64(const double *x, double *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double k = floor(x[i] * 1.4426950408889634 + 0.5);
    double r = fma(-k, 0.6931471805599453, x[i]);
    double p = 1.0 / 5040;
    p = fma(p, r, 1.0 / 720);
    p = fma(p, r, 1.0 / 120);
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    out[i] = p * __longlong_as_double(((long long)k + 1023) << 52);
}
extern "C" __global__ void integers(const int *a, const int *b, int *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int x = a[i], y = b[i];
    out[8 * i] = y ? x / y : 0;
    out[8 * i + 1] = y ? x % y : 0;
    out[8 * i + 2] = (x << (y & 31)) ^ (x >> (y & 7)) ^ (int)((unsigned)x >> (y & 15));
    out[8 * i + 3] = min(x, y) - max(x, y) + abs(x);
    out[8 * i + 4] = __popc(x) + __clz(y) * 64 + __ffs(x);
    out[8 * i + 5] = __brev(x) + __byte_perm(x, y, 0x2415);
    out[8 * i + 6] = __mulhi(x, y) + __umulhi(x, y) + __sad(x, y, 7);
    out[8 * i + 7] = __funnelshift_l(x, y, 5) + __funnelshift_r(x, y, y & 31);
}
extern "C" __global__ void wide(const long long *a, const long long *b, long long *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long x = a[i], y = b[i];
    out[4 * i] = y ? x / y : -1;
    out[4 * i + 1] = __mul64hi(x, y) + (long long)__umul64hi(x, y);
    out[4 * i + 2] = (x > y ? x : y) ^ (long long)((unsigned long long)x % ((unsigned long long)y | 1));
    out[4 * i + 3] = __popcll(x) + __clzll(y) + (x >> (y & 63)) + __brevll(x);
}
extern "C" __global__ void conversions(const double *x, float *narrow, int *whole, long long *large,
                                       unsigned char *byte, double *rounded, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    narrow[i] = (float)v;
    whole[3 * i] = (int)v;
    whole[3 * i + 1] = __float2int_rn((float)v);
    whole[3 * i + 2] = (int)__float2uint_rd((float)v);
    large[2 * i] = (long long)v;
    large[2 * i + 1] = __double2ll_ru(v);
    byte[i] = (unsigned char)(unsigned)(int)v;
    rounded[6 * i] = rint(v);
    rounded[6 * i + 1] = trunc(v);
    rounded[6 * i + 2] = floor(v);
    rounded[6 * i + 3] = ceil(v);
    rounded[6 * i + 4] = (double)__ll2float_rz((long long)v);
    rounded[6 * i + 5] = (double)__double2float_ru(v) + (double)__double2float_rd(v);
}
extern "C" __global__ void mask(const float *x, const unsigned char *keep, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool b = (x[i] > 0.25f) != (keep[i] != 0);
    out[i] = b ? x[i] : (isnan(x[i]) ? -1.0f : 0.0f);
}
extern "C" __global__ void directed(const float *x, const float *y, float *out, const double *u, const double *v,
                                    double *wide, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[8 * i] = __fadd_rd(x[i], y[i]);
    out[8 * i + 1] = __fadd_rz(x[i], y[i]);
    out[8 * i + 2] = __fmul_ru(x[i], y[i]);
    out[8 * i + 3] = __fmaf_rd(x[i], y[i], x[i]);
    out[8 * i + 4] = __fdiv_rz(x[i], y[i]);
    out[8 * i + 5] = __fsqrt_ru(fabsf(x[i]));
    out[8 * i + 6] = __frcp_rd(y[i]);
    out[8 * i + 7] = __fmaf_rz(x[i], y[i], -y[i]);
    wide[4 * i] = __dadd_rd(u[i], v[i]);
    wide[4 * i + 1] = __dmul_ru(u[i], v[i]);
    wide[4 * i + 2] = __fma_rz(u[i], v[i], u[i]);
    wide[4 * i + 3] = __ddiv_rd(u[i], v[i]);
}
