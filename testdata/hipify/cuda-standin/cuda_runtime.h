// A stand-in for tests, written for this project: not NVIDIA's header, and not
// derived from it. It declares what ../vector_add.cu calls, so that hipify-clang
// can build a syntax tree where no CUDA toolkit is installed. Nothing that
// includes it can be linked or run.
#pragma once

#include <cstddef>

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned vx = 1, unsigned vy = 1, unsigned vz = 1)
      : x(vx), y(vy), z(vz) {}
};

struct standin_index {
  unsigned x, y, z;
};
extern const __device__ standin_index threadIdx, blockIdx, blockDim;

enum cudaError_t { cudaSuccess = 0 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
typedef struct standin_stream *cudaStream_t;

cudaError_t cudaMalloc(void **address, std::size_t bytes);
template <class T> cudaError_t cudaMalloc(T **address, std::size_t bytes);
cudaError_t cudaMemcpy(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaFree(void *address);
cudaError_t cudaStreamCreate(cudaStream_t *stream);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t code);

__device__ void __syncthreads();

// What clang turns a launch with <<<...>>> into.
extern "C" int cudaConfigureCall(dim3 grid, dim3 block, std::size_t shared = 0,
                                 cudaStream_t stream = 0);
extern "C" unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared = 0,
                                                cudaStream_t stream = 0);
extern "C" cudaError_t cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments,
                                        std::size_t shared, cudaStream_t stream);
