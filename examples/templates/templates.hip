// templates: kernels that are templates, with types, numbers, functors and a
// lambda as their arguments.

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

// A functor with state: it travels to the device by value.
template <typename T>
struct Affine {
  T scale;
  T shift;
  __host__ __device__ T operator()(T v) const { return scale * v + shift; }
};

struct Negate {
  template <typename T>
  __host__ __device__ T operator()(T v) const {
    return -v;
  }
};

template <typename T, typename F>
__global__ void transform(const T* in, T* out, unsigned n, F f) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(in[i]);
}

// The sum of each element with the Radius neighbours on both sides.
template <typename T, int Radius>
__global__ void stencil(const T* in, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T sum = T(0);
#pragma unroll
  for (int k = -Radius; k <= Radius; k++) {
    if (i + k >= 0 && i + k < n) sum += in[i + k];
  }
  out[i] = sum;
}

template <typename T>
int expect(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
  for (size_t i = 0; i < got.size(); i++) {
    if (got[i] != want[i]) {
      std::fprintf(stderr, "templates: %s: element %zu is %g, want %g\n", what, i, double(got[i]), double(want[i]));
      return 1;
    }
  }
  return 0;
}

// Runs transform with f on the device and on the host.
template <typename T, typename F>
int tryTransform(const char* what, F f) {
  const unsigned n = 1000;
  std::vector<T> in(n), out(n), want(n);
  for (unsigned i = 0; i < n; i++) {
    in[i] = T(i % 100) - T(50);
    want[i] = f(in[i]);
  }
  T *dIn = nullptr, *dOut = nullptr;
  CHECK(hipMalloc(&dIn, n * sizeof(T)));
  CHECK(hipMalloc(&dOut, n * sizeof(T)));
  CHECK(hipMemcpy(dIn, in.data(), n * sizeof(T), hipMemcpyHostToDevice));
  transform<T, F><<<(n + 127) / 128, 128>>>(dIn, dOut, n, f);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(out.data(), dOut, n * sizeof(T), hipMemcpyDeviceToHost));
  CHECK(hipFree(dIn));
  CHECK(hipFree(dOut));
  return expect(what, out, want);
}

template <typename T, int Radius>
int tryStencil(const char* what) {
  const int n = 777;
  std::vector<T> in(n), out(n), want(n);
  for (int i = 0; i < n; i++) in[i] = T(i % 13);
  for (int i = 0; i < n; i++) {
    for (int k = -Radius; k <= Radius; k++) {
      if (i + k >= 0 && i + k < n) want[i] += in[i + k];
    }
  }
  T *dIn = nullptr, *dOut = nullptr;
  CHECK(hipMalloc(&dIn, n * sizeof(T)));
  CHECK(hipMalloc(&dOut, n * sizeof(T)));
  CHECK(hipMemcpy(dIn, in.data(), n * sizeof(T), hipMemcpyHostToDevice));
  stencil<T, Radius><<<(n + 63) / 64, 64>>>(dIn, dOut, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(out.data(), dOut, n * sizeof(T), hipMemcpyDeviceToHost));
  CHECK(hipFree(dIn));
  CHECK(hipFree(dOut));
  return expect(what, out, want);
}

int main() {
  int failures = 0;
  failures += tryTransform<float>("affine float", Affine<float>{1.5f, 4.0f});
  failures += tryTransform<double>("affine double", Affine<double>{0.25, -8.0});
  failures += tryTransform<int>("negate int", Negate{});
  int bias = 7;
  failures += tryTransform<int>("lambda", [bias] __host__ __device__(int v) { return v * v + bias; });
  failures += tryStencil<float, 1>("stencil of 1");
  failures += tryStencil<int, 4>("stencil of 4");
  if (failures != 0) return EXIT_FAILURE;
  std::printf("templates: 6 kernels are right\n");
  return EXIT_SUCCESS;
}
