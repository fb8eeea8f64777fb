// Half precision by PTX instructions, since NVRTC's wheel has no cuda_fp16.h.
__device__ float widen(unsigned short h) { float f; asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h)); return f; }
__device__ unsigned short narrow(float f) { unsigned short h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f)); return h; }
extern "C" __global__ void half_scale(const unsigned short *x, unsigned short *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = narrow(widen(x[i]) * 1.5f + 0.25f);
}
extern "C" __global__ void half_fma(const unsigned short *x, const unsigned short *y, unsigned short *out, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned short r;
    asm("{ .reg .b16 t;\n  mul.rn.f16 t, %1, %2;\n  add.rn.f16 t, t, %1;\n  fma.rn.f16 %0, t, %1, %2; }"
        : "=h"(r) : "h"(x[i]), "h"(y[i]));
    out[i] = r;
}
