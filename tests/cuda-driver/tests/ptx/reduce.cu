// Reductions: by a tree in shared memory, by shuffles in a warp, in dynamic shared memory, by votes and atomics.
extern "C" __global__ void sum_f64(const double *x, double *out, unsigned n) {
    __shared__ double part[256];
    double sum = 0.0;
    for (unsigned i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = 128; half > 0; half >>= 1) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
extern "C" __global__ void max_dynamic(const int *x, int *out, unsigned n) {
    extern __shared__ int part[];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = i < n ? x[i] : -2147483647 - 1;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] = max(part[threadIdx.x], part[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicMax(out, part[0]);
}
extern "C" __global__ void sum_warp(const float *x, float *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffffu, v, d);
    float first = __shfl_sync(0xffffffffu, v, 0);
    float scan = __shfl_up_sync(0xffffffffu, first + threadIdx.x, 1);
    float pair = __shfl_xor_sync(0xffffffffu, scan, 1);
    if (i < n) out[i] = pair;
}
extern "C" __global__ void votes(const int *x, int *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? x[i] : 0;
    unsigned ballot = __ballot_sync(0xffffffffu, v > 0);
    int all = __all_sync(0xffffffffu, v > -100), any = __any_sync(0xffffffffu, v > 95);
    int count = __syncthreads_count(v > 0);
    if (i < n) out[i] = (int)(ballot & 0xffff) + 65536 * all + 131072 * any + 262144 * count;
}
extern "C" __global__ void histogram(const unsigned char *x, unsigned *bins, unsigned n) {
    __shared__ unsigned own[256];
    for (unsigned b = threadIdx.x; b < 256; b += blockDim.x) own[b] = 0;
    __syncthreads();
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[x[i]], 1u);
    __syncthreads();
    for (unsigned b = threadIdx.x; b < 256; b += blockDim.x)
        if (own[b]) atomicAdd(&bins[b], own[b]);
}
extern "C" __global__ void atomics(int *cells, float *sum, double *dsum, unsigned long long *wide) {
    int t = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    atomicMin(&cells[0], -t);
    atomicXor(&cells[1], 1 << (t & 31));
    atomicOr(&cells[2], t);
    atomicAnd(&cells[3], ~t);
    atomicSub(&cells[4], t);
    cells[6 + t] = atomicAdd(&cells[5], 1);
    atomicAdd(sum, 0.5f);
    atomicAdd(dsum, 0.25);
    atomicAdd(&wide[0], (unsigned long long)t << 33);
    unsigned long long seen = wide[1];
    while (true) {
        unsigned long long old = atomicCAS(&wide[1], seen, seen + 3);
        if (old == seen) break;
        seen = old;
    }
    if (t == 0) wide[2] = atomicExch(&wide[3], 77ull);
}
