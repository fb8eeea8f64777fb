typedef {{stored}} E;
struct State {
    E best;
};
static __device__ __forceinline__ State oc_identity() { return State{{{identity}}}; }
// Of equal values the one that came first; NaN if either is.
static __device__ __forceinline__ State oc_join(State to, State from) {
    return from.best {{better}} to.best || from.best != from.best ? from : to;
}
static __device__ __forceinline__ State oc_load(const E *at, unsigned long long) { return State{at[0]}; }
static __device__ __forceinline__ void oc_store(E *at, unsigned long long, State state) { at[0] = state.best; }
