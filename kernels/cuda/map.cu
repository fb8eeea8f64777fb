extern "C" __global__ void __launch_bounds__(256) oc_map(const __grid_constant__ Words p) {
    const I n = (I)p.w[{{items}}];
    {{stored}} *const output = ({{stored}} *)p.w[{{output}}];
    const I first = (I)blockIdx.x * {{tile}} + threadIdx.x;
#pragma unroll
    for (int k = 0; k < {{each}}; ++k) {
        const I e = first + k * 256;
        if (e < n) {
            bool counts = true;
            output[e] = oc_at(p, e, counts);
        }
    }
}
