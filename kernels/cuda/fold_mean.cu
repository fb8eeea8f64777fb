static __device__ __forceinline__ void oc_take(State &state, V value, bool counts) {
    state.sum += counts ? (double)value : 0.0;
    state.count += counts ? 1.0 : 0.0;
}
static __device__ __forceinline__ State oc_group(const Words &p, I first, int n, int lane, unsigned mask) {
    const double sum = oc_lane_sum(p, first, n, lane, mask, [](double x) { return x; });
    return State{sum, oc_counted(p, first, n, lane, mask)};
}
