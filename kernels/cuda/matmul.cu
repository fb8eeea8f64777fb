struct Words {
    unsigned long long w[9];
};
typedef {{element}} E;
// Integers wrap.
typedef {{wide}} W;

// A block of 256 threads makes a tile of the product, {{each}} by {{each}} elements a thread, from {{depth}} columns of the
// left and rows of the right matrix at a time. Panels of {{panel}} products are summed from 0 and then added.
extern "C" __global__ void __launch_bounds__(256) oc_matmul(const __grid_constant__ Words p) {
    constexpr int EACH = {{each}}, TILE = 16 * EACH, DEPTH = {{depth}};
    __shared__ W left[DEPTH][TILE + 1];
    __shared__ W right[DEPTH][TILE];
    const E *const __restrict__ a = (const E *)p.w[0];
    const E *const __restrict__ b = (const E *)p.w[1];
    const E *const __restrict__ c = (const E *)p.w[2];
    E *const __restrict__ to = (E *)p.w[3];
    const long long m = p.w[4], k = p.w[5], n = p.w[6], tiles = p.w[7];
    const long long row = blockIdx.x / tiles * TILE, column = blockIdx.x % tiles * TILE;
    const int down = threadIdx.x / 16, across = threadIdx.x % 16;
    W sums[EACH][EACH];
    bool is_first = true;
    for (long long begin = 0; begin < k || is_first; begin += {{panel}}) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
#pragma unroll
            for (int j = 0; j < EACH; ++j) {
                sums[i][j] = 0;
            }
        }
        const long long end = begin + {{panel}} < k ? begin + {{panel}} : k;
        for (long long at = begin; at < end; at += DEPTH) {
            for (int load = threadIdx.x; load < TILE * DEPTH; load += 256) {
                const long long r = row + load / DEPTH, d = at + load % DEPTH;
                left[load % DEPTH][load / DEPTH] = r < m && d < end ? (W)a[r * k + d] : 0;
                const long long e = at + load / TILE, q = column + load % TILE;
                right[load / TILE][load % TILE] = e < end && q < n ? (W)b[e * n + q] : 0;
            }
            __syncthreads();
            const int depth = end - at < DEPTH ? (int)(end - at) : DEPTH;
            for (int d = 0; d < depth; ++d) {
                W x[EACH], y[EACH];
#pragma unroll
                for (int i = 0; i < EACH; ++i) {
                    x[i] = left[d][down + 16 * i];
                    y[i] = right[d][across + 16 * i];
                }
#pragma unroll
                for (int i = 0; i < EACH; ++i) {
#pragma unroll
                    for (int j = 0; j < EACH; ++j) {
                        sums[i][j] = {{fused}};
                    }
                }
            }
            __syncthreads();
        }
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
#pragma unroll
            for (int j = 0; j < EACH; ++j) {
                const long long r = row + down + 16 * i, q = column + across + 16 * j;
                if (r < m && q < n) {
                    const long long place = r * n + q;
                    const W before = !is_first ? (W)to[place] : c ? (W)c[place] : 0;
                    to[place] = (E)(k > 0 ? before + sums[i][j] : before);
                }
            }
        }
        is_first = false;
    }
}
