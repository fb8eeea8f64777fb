extern "C" __global__ void __launch_bounds__(256) oc_count(const __grid_constant__ Words p) {
    const I n = (I)p.w[{{items}}];
    unsigned long long *const counts_of = (unsigned long long *)p.w[{{output}}];
{{begin}}    for (I e = (I)blockIdx.x * 256 + threadIdx.x; e < n; e += (I)gridDim.x * 256) {
        bool counts = true;
        const int bin = oc_at(p, e, counts);
        if (counts && bin >= 0 && bin < {{bins}}) {
            {{add}}
        }
    }
{{end}}}
