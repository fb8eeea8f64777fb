struct Words {
    unsigned long long w[3];
};
{{library}}
extern "C" __global__ void __launch_bounds__(256) oc_finish(const __grid_constant__ Words p) {
    const unsigned long long cells = p.w[1];
    const unsigned long long cell = blockIdx.x * 256ull + threadIdx.x;
    if (cell >= cells) {
        return;
    }
    const {{state}} *const at = (const {{state}} *)p.w[2] + cell;
    (({{stored}} *)p.w[0])[cell] = oc_cast<{{result}}>({{value}});
}
