// reduction: the sum and the maximum of an array. Each wavefront reduces its
// values by shuffles, then the first wavefront reduces what the others left in
// shared memory. It works with wavefronts of 32 and of 64.

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

constexpr unsigned kBlock = 256;
constexpr unsigned kMaxWaves = kBlock / 32;

__device__ unsigned long long waveSum(unsigned long long v) {
  for (int step = warpSize / 2; step > 0; step /= 2) v += __shfl_down(v, step);
  return v;
}

__device__ int waveMax(int v) {
  for (int step = warpSize / 2; step > 0; step /= 2) {
    const int other = __shfl_down(v, step);
    v = other > v ? other : v;
  }
  return v;
}

// One partial sum a block.
__global__ void sumBlocks(const unsigned* in, unsigned long long* out, unsigned n) {
  __shared__ unsigned long long partial[kMaxWaves];
  unsigned long long v = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];

  const unsigned wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
  v = waveSum(v);
  if (lane == 0) partial[wave] = v;
  __syncthreads();
  if (wave == 0) {
    const unsigned waves = blockDim.x / warpSize;
    v = waveSum(lane < waves ? partial[lane] : 0);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

// One partial maximum a block.
__global__ void maxBlocks(const int* in, int* out, unsigned n, int lowest) {
  __shared__ int partial[kMaxWaves];
  int v = lowest;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    v = in[i] > v ? in[i] : v;
  }

  const unsigned wave = threadIdx.x / warpSize, lane = threadIdx.x % warpSize;
  v = waveMax(v);
  if (lane == 0) partial[wave] = v;
  __syncthreads();
  if (wave == 0) {
    const unsigned waves = blockDim.x / warpSize;
    v = waveMax(lane < waves ? partial[lane] : lowest);
    if (lane == 0) out[blockIdx.x] = v;
  }
}

int main() {
  const unsigned n = 1000001, blocks = 40;
  std::vector<unsigned> numbers(n);
  std::vector<int> heights(n);
  unsigned long long wantSum = 0;
  int wantMax = -1000000;
  unsigned state = 12345;
  for (unsigned i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = state >> 8;
    heights[i] = static_cast<int>(state >> 12) - 600000;
    wantSum += numbers[i];
    wantMax = heights[i] > wantMax ? heights[i] : wantMax;
  }

  unsigned* dNumbers = nullptr;
  int *dHeights = nullptr, *dMax = nullptr;
  unsigned long long* dSum = nullptr;
  CHECK(hipMalloc(&dNumbers, n * sizeof(unsigned)));
  CHECK(hipMalloc(&dHeights, n * sizeof(int)));
  CHECK(hipMalloc(&dSum, blocks * sizeof(unsigned long long)));
  CHECK(hipMalloc(&dMax, blocks * sizeof(int)));
  CHECK(hipMemcpy(dNumbers, numbers.data(), n * sizeof(unsigned), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dHeights, heights.data(), n * sizeof(int), hipMemcpyHostToDevice));
  sumBlocks<<<blocks, kBlock>>>(dNumbers, dSum, n);
  CHECK(hipGetLastError());
  maxBlocks<<<blocks, kBlock>>>(dHeights, dMax, n, -1000000);
  CHECK(hipGetLastError());
  std::vector<unsigned long long> sums(blocks);
  std::vector<int> maxima(blocks);
  CHECK(hipMemcpy(sums.data(), dSum, blocks * sizeof(unsigned long long), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(maxima.data(), dMax, blocks * sizeof(int), hipMemcpyDeviceToHost));
  CHECK(hipFree(dNumbers));
  CHECK(hipFree(dHeights));
  CHECK(hipFree(dSum));
  CHECK(hipFree(dMax));

  unsigned long long sum = 0;
  int max = -1000000;
  for (unsigned b = 0; b < blocks; b++) {
    sum += sums[b];
    max = maxima[b] > max ? maxima[b] : max;
  }
  if (sum != wantSum || max != wantMax) {
    std::fprintf(stderr, "reduction: sum %llu, want %llu; maximum %d, want %d\n", sum, wantSum, max, wantMax);
    return EXIT_FAILURE;
  }
  std::printf("reduction: sum %llu and maximum %d are right\n", sum, max);
  return EXIT_SUCCESS;
}
