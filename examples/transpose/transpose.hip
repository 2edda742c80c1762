// transpose: a matrix through shared memory, in two dimensions. One kernel reads its
// tile by columns of 32 words, which all lie in the same bank of the local memory; the
// other has a column more, and none of the conflicts.

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

constexpr unsigned kTile = 32, kRows = 8;

template <unsigned kPad>
__device__ void transposeTile(const float* in, float* out, unsigned width, unsigned height) {
  __shared__ float tile[kTile][kTile + kPad];
  unsigned x = blockIdx.x * kTile + threadIdx.x;
  unsigned y = blockIdx.y * kTile + threadIdx.y;
  for (unsigned k = 0; k < kTile; k += kRows) {
    if (x < width && y + k < height) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * width + x];
  }
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (unsigned k = 0; k < kTile; k += kRows) {
    if (x < height && y + k < width) out[(y + k) * height + x] = tile[threadIdx.x][threadIdx.y + k];
  }
}

__global__ void transposeConflicts(const float* in, float* out, unsigned width, unsigned height) {
  transposeTile<0>(in, out, width, height);
}

__global__ void transpose(const float* in, float* out, unsigned width, unsigned height) {
  transposeTile<1>(in, out, width, height);
}

int main() {
  const unsigned width = 100, height = 70;  // not multiples of the tile
  std::vector<float> in(width * height), out(width * height);
  for (unsigned i = 0; i < in.size(); i++) in[i] = static_cast<float>(i);

  float *dIn = nullptr, *dOut = nullptr;
  CHECK(hipMalloc(&dIn, in.size() * sizeof(float)));
  CHECK(hipMalloc(&dOut, out.size() * sizeof(float)));
  CHECK(hipMemcpy(dIn, in.data(), in.size() * sizeof(float), hipMemcpyHostToDevice));
  const dim3 grid((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), block(kTile, kRows);
  for (int padded = 0; padded < 2; padded++) {
    CHECK(hipMemset(dOut, 0, out.size() * sizeof(float)));
    if (padded) {
      transpose<<<grid, block>>>(dIn, dOut, width, height);
    } else {
      transposeConflicts<<<grid, block>>>(dIn, dOut, width, height);
    }
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(out.data(), dOut, out.size() * sizeof(float), hipMemcpyDeviceToHost));
    for (unsigned i = 0; i < out.size(); i++) {
      const float want = in[i % height * width + i / height];
      if (out[i] != want) {
        std::fprintf(stderr, "transpose: element %u is %g, want %g\n", i, out[i], want);
        return EXIT_FAILURE;
      }
    }
  }
  CHECK(hipFree(dIn));
  CHECK(hipFree(dOut));
  std::printf("transpose: %u elements are right, twice\n", width * height);
  return EXIT_SUCCESS;
}
