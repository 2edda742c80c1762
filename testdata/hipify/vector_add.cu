// A small CUDA program, written for this project, to be turned into HIP.
#include <cstdio>
#include <cuda_runtime.h>

template <typename T>
__global__ void scale(T *values, T factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    values[i] *= factor;
}

__global__ void add(const float *a, const float *b, float *sum, int count) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    tile[threadIdx.x] = a[i] + b[i];
  __syncthreads();
  if (i < count)
    sum[i] = tile[threadIdx.x];
}

int main() {
  const int count = 1024;
  float host[count] = {1.0f};
  float *a = nullptr, *b = nullptr, *sum = nullptr;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc((void **)&a, count * sizeof(float));
  cudaMalloc((void **)&b, count * sizeof(float));
  cudaMalloc((void **)&sum, count * sizeof(float));
  cudaMemcpy(a, host, count * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(b, host, count * sizeof(float), cudaMemcpyHostToDevice);
  add<<<dim3(count / 256), dim3(256)>>>(a, b, sum, count);
  scale<float><<<count / 256, 256, 0, stream>>>(sum, 2.0f, count);
  cudaMemcpy(host, sum, count * sizeof(float), cudaMemcpyDeviceToHost);
  cudaError_t code = cudaGetLastError();
  if (code != cudaSuccess)
    std::printf("launch failed: %s\n", cudaGetErrorString(code));
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
  cudaFree(sum);
  cudaStreamDestroy(stream);
  return code == cudaSuccess ? 0 : 1;
}
