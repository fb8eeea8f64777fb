struct Words {
    unsigned long long w[{{words}}];
};
struct __align__(16) Sixteen {
    unsigned long long low, high;
};

template <class I, class T>
static __device__ __forceinline__ void oc_piece(const Words &p, const int at) {
    const I n = (I)p.w[at];
    const int axes = (int)p.w[at + 1];
    T *const to = (T *)p.w[at + 2];
    const T *const from = (const T *)p.w[at + 3];
    for (I e = (I)blockIdx.x * 256 + threadIdx.x; e < n; e += (I)gridDim.x * 256) {
        I position = e;
        long long there = 0, here = 0;
        for (int k = 0; k < axes; ++k) {
            const I extent = (I)p.w[at + 5 + 3 * k];
            const I rest = k + 1 == axes ? 0 : position / extent;
            const I inside = position - rest * extent;
            there += (long long)inside * (long long)p.w[at + 6 + 3 * k];
            here += (long long)inside * (long long)p.w[at + 7 + 3 * k];
            position = rest;
        }
        if (from) {
            to[there] = from[here];
        } else {
            to[there] = *(const T *)&p.w[at + 4];
        }
    }
}

template <class T>
static __device__ __forceinline__ void oc_pieces(const Words &p) {
    const int at = blockIdx.y * {{record}};
    if (p.w[at] < 0x7fffffffull) {
        oc_piece<unsigned int, T>(p, at);
    } else {
        oc_piece<unsigned long long, T>(p, at);
    }
}

extern "C" __global__ void __launch_bounds__(256) oc_copy(const __grid_constant__ Words p) { oc_pieces<{{element}}>(p); }
extern "C" __global__ void __launch_bounds__(256) oc_copy_wide(const __grid_constant__ Words p) { oc_pieces<Sixteen>(p); }
