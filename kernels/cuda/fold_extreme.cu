static __device__ __forceinline__ void oc_take(State &state, V value, bool counts) {
    if (counts) {
        state = oc_join(state, State{(E)value});
    }
}
// Lanes of 32 elements, joined in their order: each thread has two, and neighbours join first.
static __device__ __forceinline__ State oc_group(const Words &p, I first, int n, int lane, unsigned mask) {
    State half[2] = {oc_identity(), oc_identity()};
    for (int i = lane, odd = 0; i < n; i += 16, odd ^= 1) {
        bool counts = true;
        const V value = oc_at(p, first + i, counts);
        oc_take(half[odd], value, counts);
    }
    for (int apart = 1; apart < 16; apart *= 2) {
        for (int k = 0; k < 2; ++k) {
            half[k] = oc_join(half[k], State{(E)__shfl_down_sync(mask, {{wide}}half[k].best, apart, 16)});
        }
    }
    return oc_join(half[0], half[1]);
}
