// Copies of any strides, a stencil with a halo in shared memory, and a register-blocked matrix product.
struct Strides { long long offset; int extent[4]; long long from[4]; };
extern "C" __global__ void copy_strided(const unsigned short *x, unsigned short *out, Strides s) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int total = s.extent[0] * s.extent[1] * s.extent[2] * s.extent[3];
    if (i >= total) return;
    long long at = s.offset;
    int rest = i;
#pragma unroll
    for (int d = 3; d >= 0; d--) {
        at += (rest % s.extent[d]) * s.from[d];
        rest /= s.extent[d];
    }
    out[i] = x[at];
}
extern "C" __global__ void copy_vector(const float4 *x, float4 *out, int2 *pairs, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float4 v = __ldg(&x[i]);
    out[i] = make_float4(v.w, v.z, v.y, v.x);
    pairs[i] = make_int2(__float_as_int(v.x), (int)i);
}
extern "C" __global__ void stencil(const float *x, float *out, int rows, int columns) {
    __shared__ float tile[10][34];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    for (int y = threadIdx.y; y < 10; y += 8)
        for (int z = threadIdx.x; z < 34; z += 32) {
            int row = min(max((int)blockIdx.y * 8 + y - 1, 0), rows - 1);
            int column = min(max((int)blockIdx.x * 32 + z - 1, 0), columns - 1);
            tile[y][z] = x[row * columns + column];
        }
    __syncthreads();
    if (r < rows && c < columns) {
        int y = threadIdx.y + 1, z = threadIdx.x + 1;
        out[r * columns + c] =
            (tile[y - 1][z] + tile[y + 1][z] + tile[y][z - 1] + tile[y][z + 1]) * 0.125f + tile[y][z] * 0.5f;
    }
}
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k) {
    __shared__ float as[16][65], bs[16][64];
    int tx = threadIdx.x, ty = threadIdx.y, t = ty * 16 + tx;
    float sum[4][4] = {};
    for (int k0 = 0; k0 < k; k0 += 16) {
        for (int i = t; i < 1024; i += 256) {
            int ar = blockIdx.y * 64 + i / 16, ac = k0 + i % 16;
            as[i % 16][i / 16] = ar < m && ac < k ? a[ar * k + ac] : 0.0f;
            int br = k0 + i / 64, bc = blockIdx.x * 64 + i % 64;
            bs[i / 64][i % 64] = br < k && bc < n ? b[br * n + bc] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int q = 0; q < 16; q++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(as[q][ty * 4 + i], bs[q][tx * 4 + j], sum[i][j]);
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            int r = blockIdx.y * 64 + ty * 4 + i, s = blockIdx.x * 64 + tx * 4 + j;
            if (r < m && s < n) c[r * n + s] = sum[i][j];
        }
}
extern "C" __global__ void local_sort(const int *x, int *out, int length) {
    int own[16];
    int base = (blockIdx.x * blockDim.x + threadIdx.x) * length;
    for (int i = 0; i < length; i++) {
        int v = x[base + i], j = i;
        for (; j > 0 && own[j - 1] > v; j--) own[j] = own[j - 1];
        own[j] = v;
    }
    for (int i = 0; i < length; i++) out[base + i] = own[i];
}
__constant__ float weights[4] = {0.5f, -1.25f, 2.0f, 1e-3f};
__device__ int counters[3] = {7, 8, 9};
extern "C" __global__ void constants(float *out, int *seen) {
    out[threadIdx.x] = weights[threadIdx.x & 3];
    if (threadIdx.x < 3) seen[threadIdx.x] = atomicAdd(&counters[threadIdx.x], 1);
}
extern "C" __global__ void choose(const int *x, int *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i], r;
    switch (v) {
        case 0: r = out[i] + 1; break;
        case 1: r = v * 77 ^ out[i]; break;
        case 2: r = __clz(out[i]); break;
        case 3: r = out[i] / 3; break;
        case 4: r = out[i] << 2; break;
        case 5: r = out[i] % 13; break;
        case 6: r = -out[i]; break;
        default: r = 99;
    }
    out[i] = r;
}
