// dynamic_lds: shared memory whose size is chosen at the launch. One kernel
// reverses each block, another sums over a window with a halo, cutting the one
// array in two parts of different types.

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

__global__ void reverseBlocks(const int* in, int* out) {
  extern __shared__ int tile[];
  const unsigned base = blockIdx.x * blockDim.x;
  tile[threadIdx.x] = in[base + threadIdx.x];
  __syncthreads();
  out[base + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

// The sum of the 2*radius+1 elements around each one, those outside counting
// as zero; a flag beside each element tells whether it is inside.
__global__ void windowSum(const double* in, double* out, int n, int radius) {
  extern __shared__ unsigned char raw[];
  const int width = static_cast<int>(blockDim.x) + 2 * radius;
  double* value = reinterpret_cast<double*>(raw);
  unsigned char* inside = raw + width * sizeof(double);
  const int first = static_cast<int>(blockIdx.x * blockDim.x) - radius;
  for (int k = threadIdx.x; k < width; k += blockDim.x) {
    const int i = first + k;
    inside[k] = i >= 0 && i < n;
    value[k] = inside[k] ? in[i] : 0.0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int k = 0; k <= 2 * radius; k++) {
    if (inside[threadIdx.x + k]) sum += value[threadIdx.x + k];
  }
  out[i] = sum;
}

int main() {
  const int block = 128, blocks = 9, n = block * blocks, windows = n - 50, radius = 5;
  std::vector<int> in(n), out(n);
  std::vector<double> data(windows), sums(windows);
  for (int i = 0; i < n; i++) in[i] = 3 * i + 1;
  for (int i = 0; i < windows; i++) data[i] = i % 17;

  int *dIn = nullptr, *dOut = nullptr;
  double *dData = nullptr, *dSums = nullptr;
  CHECK(hipMalloc(&dIn, n * sizeof(int)));
  CHECK(hipMalloc(&dOut, n * sizeof(int)));
  CHECK(hipMalloc(&dData, windows * sizeof(double)));
  CHECK(hipMalloc(&dSums, windows * sizeof(double)));
  CHECK(hipMemcpy(dIn, in.data(), n * sizeof(int), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dData, data.data(), windows * sizeof(double), hipMemcpyHostToDevice));
  reverseBlocks<<<blocks, block, block * sizeof(int)>>>(dIn, dOut);
  CHECK(hipGetLastError());
  const size_t lds = (block + 2 * radius) * (sizeof(double) + 1);
  windowSum<<<blocks, block, lds>>>(dData, dSums, windows, radius);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(out.data(), dOut, n * sizeof(int), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(sums.data(), dSums, windows * sizeof(double), hipMemcpyDeviceToHost));
  CHECK(hipFree(dIn));
  CHECK(hipFree(dOut));
  CHECK(hipFree(dData));
  CHECK(hipFree(dSums));

  for (int i = 0; i < n; i++) {
    const int from = i / block * block + block - 1 - i % block;
    if (out[i] != in[from]) {
      std::fprintf(stderr, "dynamic_lds: element %d is %d, want %d\n", i, out[i], in[from]);
      return EXIT_FAILURE;
    }
  }
  for (int i = 0; i < windows; i++) {
    double want = 0;
    for (int k = i - radius; k <= i + radius; k++) {
      if (k >= 0 && k < windows) want += data[k];
    }
    if (sums[i] != want) {
      std::fprintf(stderr, "dynamic_lds: window %d is %g, want %g\n", i, sums[i], want);
      return EXIT_FAILURE;
    }
  }
  std::printf("dynamic_lds: %d elements and %d windows are right\n", n, windows);
  return EXIT_SUCCESS;
}
