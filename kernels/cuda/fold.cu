// The state of each group: 16 threads take the elements in turns. A group whose cell has no other goes to the output.
extern "C" __global__ void __launch_bounds__(256) oc_groups(const __grid_constant__ Words p) {
    const unsigned long long groups = p.w[{{own}}], run = p.w[{{own}} + 1], each = p.w[{{own}} + 2];
    const unsigned long long group = blockIdx.x * 16ull + threadIdx.x / 16;
    if (group >= groups) {
        return;
    }
    const unsigned long long before = group % each * {{group}}ull, left = run - before;
    const I first = (I)(group / each * run + before);
    const int n = left < {{group}}ull ? (int)left : {{group}};
    const unsigned mask = 0xffffu << (threadIdx.x & 16);
    const State state = oc_group(p, first, n, threadIdx.x % 16, mask);
    if (threadIdx.x % 16 == 0) {
        oc_store((E *)p.w[{{output}}] + group, groups, oc_join(oc_identity(), state));
    }
}

// The groups of each cell, in their order.
extern "C" __global__ void __launch_bounds__(256) oc_join_groups(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[{{own}}], runs = p.w[{{own}} + 1], each = p.w[{{own}} + 2];
    const unsigned long long cell = blockIdx.x * 256ull + threadIdx.x;
    if (cell >= cells) {
        return;
    }
    const E *const states = (const E *)p.w[{{own}} + 3];
    const unsigned long long groups = p.w[{{own}} + 4];
    const unsigned long long base = oc_apart(p, {{own}} + 5, cell);
    State state = oc_identity();
    for (unsigned long long r = 0; r < runs; ++r) {
        const unsigned long long start = (base + oc_apart(p, {{own}} + 5 + {{apart}}, r)) * each;
#pragma unroll 4
        for (unsigned long long k = 0; k < each; ++k) {
            state = oc_join(state, oc_load(states + start + k, groups));
        }
    }
    oc_store((E *)p.w[{{output}}] + cell, cells, state);
}

// Every cell takes its elements one by one; neighbouring threads have neighbouring cells.
extern "C" __global__ void __launch_bounds__(256) oc_columns(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[{{own}}], folded = p.w[{{own}} + 1];
    const unsigned long long cell = blockIdx.x * 256ull + threadIdx.x;
    if (cell >= cells) {
        return;
    }
    const unsigned long long base = oc_apart(p, {{own}} + 5, cell);
    State state = oc_identity();
#pragma unroll 4
    for (unsigned long long r = 0; r < folded; ++r) {
        bool counts = true;
        const V value = oc_at(p, (I)(base + oc_apart(p, {{own}} + 5 + {{apart}}, r)), counts);
        oc_take(state, value, counts);
    }
    oc_store((E *)p.w[{{output}}] + cell, cells, state);
}
