struct Words {
    unsigned long long w[{{words}}];
};
{{state}}
extern "C" __global__ void __launch_bounds__(256) oc_combine(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[1], states = p.w[2];
    const unsigned long long cell = blockIdx.x * 256ull + threadIdx.x;
    if (cell >= cells) {
        return;
    }
    State state = oc_load((const E *)p.w[3] + cell, cells);
    for (unsigned long long k = 1; k < states; ++k) {
        state = oc_join(state, oc_load((const E *)p.w[3 + k] + cell, cells));
    }
    oc_store((E *)p.w[0] + cell, cells, state);
}
