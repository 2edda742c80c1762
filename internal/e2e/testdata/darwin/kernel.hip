// A HIP program without a header of HIP, C++ or macOS: what a kernel's launch
// needs is declared here, so that no SDK is wanted to compile it.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __managed__ __attribute__((managed))

typedef unsigned long size_t;
typedef struct stream *hipStream_t;
typedef int hipError_t;
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" hipError_t hipLaunchKernel(const void *, dim3, dim3, void **, size_t, hipStream_t);
extern "C" hipError_t __hipPushCallConfiguration(dim3, dim3, size_t = 0, hipStream_t = 0);

#ifndef KERNEL
#define KERNEL scale
#define ENTRY main
#endif

// The words that are replaced in LLVM assembly, as data: they must stay.
extern "C" const char *words() { return "section \".hip_fatbin\" section \".hipFatBinSegment\""; }

#ifdef NOTE
extern "C" const char *note() { return NOTE; }
#endif

static __device__ int offset = 3;
static __managed__ int counter = 4;

extern "C" __global__ void KERNEL(float *x, float a) { x[0] = x[0] * a + offset + counter; }

int ENTRY() {
  KERNEL<<<1, 1>>>(nullptr, 2.0f);
  return counter;
}
