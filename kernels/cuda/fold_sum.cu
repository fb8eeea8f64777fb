static __device__ __forceinline__ void oc_take(State &state, V value, bool counts) {
    state.sum += counts ? (double)value : 0.0;
}
static __device__ __forceinline__ State oc_group(const Words &p, I first, int n, int lane, unsigned mask) {
    return State{oc_lane_sum(p, first, n, lane, mask, [](double x) { return x; })};
}
