// What the runtime beside this file hands on: memory of both kinds, variables, events,
// launches of several arguments, and what kernels print.
#include <hip/hip_runtime.h>
#include <cstdio>

__device__ int counter;
__constant__ int factor;

struct pair { char a; double b; };

__global__ void sum(const int *in, int *out, pair p, unsigned n) {
  extern __shared__ int part[];
  unsigned t = threadIdx.x;
  part[t] = t < n ? in[t] : 0;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0] * factor + (int)p.b - p.a;
  if (t == 3) printf("lane %u\n", t), atomicAdd(&counter, 7);
}

int main() {
  int *in, *out, *both, two = 2, host[64], result, n = 0;
  hipMalloc(&in, sizeof host);
  hipMalloc(&out, 2 * sizeof(int));
  hipHostMalloc(&both, 2 * sizeof(int), hipHostMallocDefault);
  for (int i = 0; i < 64; i++) host[i] = i;
  hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice);
  hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof two);
  both[0] = both[1] = -1;
  sum<<<1, 64, 64 * sizeof(int)>>>(in, both, pair{5, 5.75}, 64);
  two = 1;
  hipMemcpyToSymbol(HIP_SYMBOL(factor), &two, sizeof two);
  sum<<<1, 64, 64 * sizeof(int)>>>(in, out, pair{0, 0}, 64);
  hipMemcpy(&result, out, sizeof result, hipMemcpyDeviceToHost);
  hipMemcpyFromSymbol(&n, HIP_SYMBOL(counter), sizeof n);
  bool right = hipDeviceSynchronize() == hipSuccess && result == 2016 && both[0] == 4032 && both[1] == -1 && n == 14;
  hipFree(in), hipFree(out), hipHostFree(both);
  puts(right ? "right" : "wrong");
  return right ? 0 : 1;
}
