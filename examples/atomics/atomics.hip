// atomics: a histogram in shared and global memory, sums in int, float and
// double, and a maximum of floats built from compare-and-swap.

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

constexpr unsigned kBins = 64;

// Counts in shared memory first, so that global memory sees one addition a
// block and bin.
__global__ void histogram(const unsigned char* in, unsigned* bins, unsigned n) {
  __shared__ unsigned local[kBins];
  for (unsigned b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[in[i] % kBins], 1u);
  }
  __syncthreads();
  for (unsigned b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

__global__ void sums(const unsigned char* in, int* asInt, float* asFloat, double* asDouble, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(asInt, static_cast<int>(in[i]));
  atomicAdd(asFloat, static_cast<float>(in[i]));
  atomicAdd(asDouble, static_cast<double>(in[i]));
}

// There is no atomic maximum of floats everywhere: swap until nobody has put
// in a larger one meanwhile.
__global__ void maximum(const unsigned char* in, float* max, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float mine = in[i] * 0.5f;
  unsigned* word = reinterpret_cast<unsigned*>(max);
  unsigned seen = *word;
  while (__uint_as_float(seen) < mine) {
    const unsigned before = atomicCAS(word, seen, __float_as_uint(mine));
    if (before == seen) break;
    seen = before;
  }
}

int main() {
  const unsigned n = 50000, block = 256;
  std::vector<unsigned char> in(n);
  std::vector<unsigned> wantBins(kBins), bins(kBins);
  int wantSum = 0;
  float wantMax = 0;
  unsigned state = 99;
  for (unsigned i = 0; i < n; i++) {
    state = state * 1103515245u + 12345u;
    in[i] = static_cast<unsigned char>(state >> 16);
    wantBins[in[i] % kBins]++;
    wantSum += in[i];
    wantMax = in[i] * 0.5f > wantMax ? in[i] * 0.5f : wantMax;
  }

  unsigned char* dIn = nullptr;
  unsigned* dBins = nullptr;
  int* dInt = nullptr;
  float *dFloat = nullptr, *dMax = nullptr;
  double* dDouble = nullptr;
  CHECK(hipMalloc(&dIn, n));
  CHECK(hipMalloc(&dBins, kBins * sizeof(unsigned)));
  CHECK(hipMalloc(&dInt, sizeof(int)));
  CHECK(hipMalloc(&dFloat, sizeof(float)));
  CHECK(hipMalloc(&dDouble, sizeof(double)));
  CHECK(hipMalloc(&dMax, sizeof(float)));
  CHECK(hipMemcpy(dIn, in.data(), n, hipMemcpyHostToDevice));
  CHECK(hipMemset(dBins, 0, kBins * sizeof(unsigned)));
  CHECK(hipMemset(dInt, 0, sizeof(int)));
  CHECK(hipMemset(dFloat, 0, sizeof(float)));
  CHECK(hipMemset(dDouble, 0, sizeof(double)));
  CHECK(hipMemset(dMax, 0, sizeof(float)));
  const unsigned grid = (n + block - 1) / block;
  histogram<<<16, block>>>(dIn, dBins, n);
  CHECK(hipGetLastError());
  sums<<<grid, block>>>(dIn, dInt, dFloat, dDouble, n);
  CHECK(hipGetLastError());
  maximum<<<grid, block>>>(dIn, dMax, n);
  CHECK(hipGetLastError());

  int sumInt = 0;
  float sumFloat = 0, max = 0;
  double sumDouble = 0;
  CHECK(hipMemcpy(bins.data(), dBins, kBins * sizeof(unsigned), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&sumInt, dInt, sizeof(int), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&sumFloat, dFloat, sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&sumDouble, dDouble, sizeof(double), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(&max, dMax, sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipFree(dIn));
  CHECK(hipFree(dBins));
  CHECK(hipFree(dInt));
  CHECK(hipFree(dFloat));
  CHECK(hipFree(dDouble));
  CHECK(hipFree(dMax));

  int failures = 0;
  for (unsigned b = 0; b < kBins; b++) {
    if (bins[b] != wantBins[b]) {
      std::fprintf(stderr, "atomics: bin %u has %u, want %u\n", b, bins[b], wantBins[b]);
      failures++;
    }
  }
  // Whole numbers below 2^24: floats add them exactly in any order.
  if (sumInt != wantSum || sumFloat != static_cast<float>(wantSum) || sumDouble != static_cast<double>(wantSum)) {
    std::fprintf(stderr, "atomics: sums %d, %g, %g, want %d\n", sumInt, sumFloat, sumDouble, wantSum);
    failures++;
  }
  if (max != wantMax) {
    std::fprintf(stderr, "atomics: maximum %g, want %g\n", max, wantMax);
    failures++;
  }
  if (failures != 0) return EXIT_FAILURE;
  std::printf("atomics: histogram, sums and maximum are right\n");
  return EXIT_SUCCESS;
}
