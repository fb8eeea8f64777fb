static __device__ __forceinline__ void oc_take(State &state, V value, bool counts) {
    state.sum += counts ? (unsigned long long)(long long)value : 0;
}
static __device__ __forceinline__ State oc_group(const Words &p, I first, int n, int lane, unsigned mask) {
    State state = oc_identity();
#pragma unroll 4
    for (int i = lane; i < n; i += 16) {
        bool counts = true;
        const V value = oc_at(p, first + i, counts);
        oc_take(state, value, counts);
    }
    for (int half = 8; half > 0; half /= 2) {
        state.sum += __shfl_down_sync(mask, state.sum, half, 16);
    }
    return state;
}
