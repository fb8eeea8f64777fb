// The sum of steps at a C-order position of some axes: their number, then from the innermost extents and steps.
static __device__ __forceinline__ unsigned long long oc_apart(const Words &p, const int at, unsigned long long position) {
    const int axes = (int)p.w[at];
    if (axes == 1) {
        return position * p.w[at + 2];
    }
    unsigned long long sum = 0;
    for (int k = 0; k < axes; ++k) {
        const unsigned long long extent = p.w[at + 1 + 2 * k];
        sum += position % extent * p.w[at + 2 + 2 * k];
        position /= extent;
    }
    return sum;
}
