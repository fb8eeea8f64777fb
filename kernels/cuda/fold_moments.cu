// Welford's update.
static __device__ __forceinline__ void oc_take(State &state, V value, bool counts) {
    if (!counts) {
        return;
    }
    const double x = (double)value;
    const double count = state.count + 1.0;
    const double distance = x - state.mean;
    const double moved = state.mean + distance / count;
    state = State{count, moved, state.m2 + distance * (x - moved)};
}
// Two passes about the group's own mean, with the correction of the second one's rounding.
static __device__ __forceinline__ State oc_group(const Words &p, I first, int n, int lane, unsigned mask) {
    const double count = oc_counted(p, first, n, lane, mask);
    if (count == 0.0) {
        return oc_identity();
    }
    const double mean = oc_lane_sum(p, first, n, lane, mask, [](double x) { return x; }) / count;
    const double squares = oc_lane_sum(p, first, n, lane, mask, [=](double x) { return (x - mean) * (x - mean); });
    const double rest = oc_lane_sum(p, first, n, lane, mask, [=](double x) { return x - mean; });
    return State{count, mean + rest / count, squares - rest * (rest / count)};
}
