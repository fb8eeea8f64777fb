typedef double E;
struct State {
    double count, mean, m2;
};
static __device__ __forceinline__ State oc_identity() { return State{0.0, 0.0, 0.0}; }
// Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances" (1979).
static __device__ __forceinline__ State oc_join(State to, State from) {
    if (from.count == 0.0) {
        return to;
    }
    if (to.count == 0.0) {
        return from;
    }
    const double count = to.count + from.count;
    const double distance = from.mean - to.mean;
    const double share = from.count / count;
    return State{count, to.mean + distance * share, to.m2 + from.m2 + distance * distance * (to.count * share)};
}
static __device__ __forceinline__ State oc_load(const E *at, unsigned long long step) {
    return State{at[0], at[step], at[2 * step]};
}
static __device__ __forceinline__ void oc_store(E *at, unsigned long long step, State state) {
    at[0] = state.count;
    at[step] = state.mean;
    at[2 * step] = state.m2;
}
