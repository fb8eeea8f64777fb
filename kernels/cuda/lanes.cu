// The sum of `term` of the elements of a group that count: 16 threads, element i with thread i mod 16, then a balanced
// tree. All threads of the mask get it.
template <class F>
static __device__ __forceinline__ double oc_lane_sum(const Words &p, I first, int n, int lane, unsigned mask, F term) {
    double sum = 0.0;
#pragma unroll 4
    for (int i = lane; i < n; i += 16) {
        bool counts = true;
        const V value = oc_at(p, first + i, counts);
        sum += counts ? term((double)value) : 0.0;
    }
    for (int half = 8; half > 0; half /= 2) {
        sum += __shfl_down_sync(mask, sum, half, 16);
    }
    return __shfl_sync(mask, sum, 0, 16);
}

// How many elements of a group count.
static __device__ __forceinline__ double oc_counted(const Words &p, I first, int n, int lane, unsigned mask) {
    int count = 0;
    for (int i = lane; i < n; i += 16) {
        bool counts = true;
        oc_at(p, first + i, counts);
        count += counts;
    }
    for (int half = 8; half > 0; half /= 2) {
        count += __shfl_down_sync(mask, count, half, 16);
    }
    return (double)__shfl_sync(mask, count, 0, 16);
}
