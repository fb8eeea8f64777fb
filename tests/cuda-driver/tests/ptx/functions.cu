// NVIDIA's own functions, as a user's kernel may call them: long code, calls, tables in constant memory.
extern "C" __global__ void functions_f32(const float *x, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    out[8 * i] = expf(v);
    out[8 * i + 1] = logf(fabsf(v));
    out[8 * i + 2] = sinf(v);
    out[8 * i + 3] = cosf(v);
    out[8 * i + 4] = tanhf(v);
    out[8 * i + 5] = powf(fabsf(v), 1.5f);
    out[8 * i + 6] = rsqrtf(fabsf(v));
    out[8 * i + 7] = atan2f(v, 2.0f);
}
extern "C" __global__ void functions_f64(const double *x, double *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    out[8 * i] = exp(v);
    out[8 * i + 1] = log(fabs(v));
    out[8 * i + 2] = sin(v);
    out[8 * i + 3] = cos(v);
    out[8 * i + 4] = tanh(v);
    out[8 * i + 5] = pow(fabs(v), 1.5);
    out[8 * i + 6] = rsqrt(fabs(v));
    out[8 * i + 7] = cbrt(v);
}
extern "C" __global__ void fast_f32(const float *x, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[4 * i] = __expf(x[i]);
    out[4 * i + 1] = __logf(fabsf(x[i]));
    out[4 * i + 2] = __sinf(x[i]) + __cosf(x[i]);
    out[4 * i + 3] = __fdividef(1.0f, x[i]);
}
__device__ __noinline__ double twice(double v, int depth) { return depth == 0 ? v : 2.0 * twice(v, depth - 1); }
extern "C" __global__ void calls(const double *x, double *out, int depth) { out[threadIdx.x] = twice(x[threadIdx.x], depth); }
