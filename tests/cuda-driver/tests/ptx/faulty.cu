// Kernels that do what a kernel mustn't.
extern "C" __global__ void past_the_end(float *x, int n) { x[n + threadIdx.x] = 1.0f; }
extern "C" __global__ void misaligned(char *x) { *(float *)(x + 2) = 1.0f; }
extern "C" __global__ void past_shared(int *x, int at) {
    extern __shared__ int part[];
    part[at] = x[0];
    __syncthreads();
    x[0] = part[at];
}
extern "C" __global__ void lonely_barrier(int *x) {
    if (threadIdx.x == 0) return;
    __syncthreads();
    x[0] = 1;
}
extern "C" __global__ void forever(volatile int *x) { while (x[0] == 0) {} }
