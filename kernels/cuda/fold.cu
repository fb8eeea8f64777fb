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

// {{fan}} groups of a cell, in their order; the result's states are as many for each cell, those of one place side by side.
extern "C" __global__ void __launch_bounds__(256) oc_join_groups(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[{{own}}], of_cell = p.w[{{own}} + 1], each = p.w[{{own}} + 2];
    const unsigned long long total = (of_cell + {{fan}} - 1) / {{fan}} * cells;
    const unsigned long long at = blockIdx.x * 256ull + threadIdx.x;
    if (at >= total) {
        return;
    }
    const E *const states = (const E *)p.w[{{own}} + 3];
    const unsigned long long groups = p.w[{{own}} + 4];
    const unsigned long long base = oc_apart(p, {{own}} + 5, at % cells), first = at / cells * {{fan}};
    const int n = of_cell - first < {{fan}} ? (int)(of_cell - first) : {{fan}};
    unsigned long long run = first / each, k = first % each;
    unsigned long long start = (base + oc_apart(p, {{own}} + 5 + {{apart}}, run)) * each;
    State state = oc_identity();
    for (int i = 0; i < n; ++i) {
        state = oc_join(state, oc_load(states + start + k, groups));
        if (++k == each) {
            k = 0;
            ++run;
            start = (base + oc_apart(p, {{own}} + 5 + {{apart}}, run)) * each;
        }
    }
    oc_store((E *)p.w[{{output}}] + at, total, state);
}

// {{fan}} states of a cell, in their order.
extern "C" __global__ void __launch_bounds__(256) oc_join_states(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[{{own}}], of_cell = p.w[{{own}} + 1], total = p.w[{{own}} + 2] * cells;
    const unsigned long long at = blockIdx.x * 256ull + threadIdx.x;
    if (at >= total) {
        return;
    }
    const unsigned long long first = at / cells * {{fan}};
    const E *const states = (const E *)p.w[{{own}} + 3] + first * cells + at % cells;
    const int n = of_cell - first < {{fan}} ? (int)(of_cell - first) : {{fan}};
    State state = oc_identity();
#pragma unroll 4
    for (int i = 0; i < n; ++i) {
        state = oc_join(state, oc_load(states + i * cells, of_cell * cells));
    }
    oc_store((E *)p.w[{{output}}] + at, total, state);
}

// {{column}} elements of a cell, one by one; neighbouring threads have neighbouring cells.
extern "C" __global__ void __launch_bounds__(256) oc_columns(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[{{own}}], folded = p.w[{{own}} + 1], total = p.w[{{own}} + 2] * cells;
    const unsigned long long at = blockIdx.x * 256ull + threadIdx.x;
    if (at >= total) {
        return;
    }
    const unsigned long long base = oc_apart(p, {{own}} + 5, at % cells), first = at / cells * {{column}};
    const int n = folded - first < {{column}} ? (int)(folded - first) : {{column}};
    State state = oc_identity();
#pragma unroll 4
    for (int i = 0; i < n; ++i) {
        bool counts = true;
        const V value = oc_at(p, (I)(base + oc_apart(p, {{own}} + 5 + {{apart}}, first + i)), counts);
        oc_take(state, value, counts);
    }
    oc_store((E *)p.w[{{output}}] + at, total, state);
}
