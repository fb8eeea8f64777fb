struct Words {
    unsigned long long w[{{words}}];
};
typedef {{index_type}} I;
typedef {{value}} V;
// The expression at element `e` of the region, in C order; `counts` is what a mask says of it.
static __device__ __forceinline__ V oc_at(const Words &p, const I e, bool &counts) {
{{pointers}}{{index}}{{body}}    return {{result}};
}
