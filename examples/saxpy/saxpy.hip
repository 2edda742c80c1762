// saxpy: y = a*x + y, one work-item an element. The first HIP program to compile.

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

// Stops the program when a HIP call fails, and says which one.
#define CHECK(call)                                                                   \
  do {                                                                                \
    hipError_t status_ = (call);                                                      \
    if (status_ != hipSuccess) {                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
                   hipGetErrorString(status_));                                       \
      return EXIT_FAILURE;                                                            \
    }                                                                                 \
  } while (0)

__global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  // Not a multiple of the block: the last block is only partly full.
  const unsigned n = 100003;
  const unsigned block = 256;
  const float a = 2.5f;
  std::vector<float> x(n), y(n), out(n);
  for (unsigned i = 0; i < n; i++) {
    x[i] = static_cast<float>(i % 1000);
    y[i] = static_cast<float>(i % 7);
  }

  float *dx = nullptr, *dy = nullptr;
  CHECK(hipMalloc(&dx, n * sizeof(float)));
  CHECK(hipMalloc(&dy, n * sizeof(float)));
  CHECK(hipMemcpy(dx, x.data(), n * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dy, y.data(), n * sizeof(float), hipMemcpyHostToDevice));
  saxpy<<<(n + block - 1) / block, block>>>(a, dx, dy, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(out.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipFree(dx));
  CHECK(hipFree(dy));

  // All values are multiples of a half and small: the result is exact.
  for (unsigned i = 0; i < n; i++) {
    const float want = a * x[i] + y[i];
    if (out[i] != want) {
      std::fprintf(stderr, "saxpy: element %u is %g, want %g\n", i, out[i], want);
      return EXIT_FAILURE;
    }
  }
  std::printf("saxpy: %u elements are right\n", n);
  return EXIT_SUCCESS;
}
