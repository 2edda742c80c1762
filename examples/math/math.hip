// math: functions of the device math library (ocml) in float and in double,
// compared with the host's own.

#include <hip/hip_runtime.h>

#include <cmath>
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

// Results of one input lie one after the other: out[input * functions + f].
constexpr int kFloat = 9;
constexpr int kDouble = 8;

__global__ void mathFloat(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  float* o = out + i * kFloat;
  o[0] = sinf(x);
  o[1] = cosf(x);
  o[2] = expf(x);
  o[3] = logf(x);
  o[4] = powf(x, 1.7f);
  o[5] = tgammaf(x);
  o[6] = erff(x);
  o[7] = atan2f(x, 2.0f);
  o[8] = cbrtf(x);
}

__global__ void mathDouble(const double* in, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = in[i];
  double* o = out + i * kDouble;
  o[0] = sin(x);
  o[1] = tanh(x);
  o[2] = exp(x);
  o[3] = log1p(x);
  o[4] = pow(x, 1.7);
  o[5] = tgamma(x);
  o[6] = erfc(x);
  o[7] = fma(x, x, -1.0);
}

// The error counts against the size of the result, or against one where the
// result is smaller: near a zero of sin a relative error means nothing.
template <typename T>
bool close(T got, T want, T tolerance) {
  const T scale = std::fabs(want) > T(1) ? std::fabs(want) : T(1);
  return std::fabs(got - want) <= tolerance * scale;
}

int main() {
  const int n = 512;
  std::vector<float> f(n), fOut(n * kFloat);
  std::vector<double> d(n), dOut(n * kDouble);
  for (int i = 0; i < n; i++) {
    d[i] = 0.05 + 8.0 * i / n;
    f[i] = static_cast<float>(d[i]);
  }

  float *df = nullptr, *dfOut = nullptr;
  double *dd = nullptr, *ddOut = nullptr;
  CHECK(hipMalloc(&df, f.size() * sizeof(float)));
  CHECK(hipMalloc(&dfOut, fOut.size() * sizeof(float)));
  CHECK(hipMalloc(&dd, d.size() * sizeof(double)));
  CHECK(hipMalloc(&ddOut, dOut.size() * sizeof(double)));
  CHECK(hipMemcpy(df, f.data(), f.size() * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(dd, d.data(), d.size() * sizeof(double), hipMemcpyHostToDevice));
  mathFloat<<<n / 128, 128>>>(df, dfOut, n);
  CHECK(hipGetLastError());
  mathDouble<<<n / 128, 128>>>(dd, ddOut, n);
  CHECK(hipGetLastError());
  CHECK(hipMemcpy(fOut.data(), dfOut, fOut.size() * sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(dOut.data(), ddOut, dOut.size() * sizeof(double), hipMemcpyDeviceToHost));
  CHECK(hipFree(df));
  CHECK(hipFree(dfOut));
  CHECK(hipFree(dd));
  CHECK(hipFree(ddOut));

  int wrong = 0;
  for (int i = 0; i < n; i++) {
    // In double, so that the host's own rounding of a float does not count.
    const double x = f[i];
    const double wantF[kFloat] = {std::sin(x),  std::cos(x), std::exp(x), std::log(x),       std::pow(x, double(1.7f)),
                                  std::tgamma(x), std::erf(x), std::atan2(x, 2.0), std::cbrt(x)};
    for (int k = 0; k < kFloat; k++) {
      if (!close<double>(fOut[i * kFloat + k], wantF[k], 4e-6) && wrong++ < 10) {
        std::fprintf(stderr, "math: float function %d of %g is %.9g, want %.9g\n", k, x, fOut[i * kFloat + k], wantF[k]);
      }
    }
    const double y = d[i];
    const double wantD[kDouble] = {std::sin(y),    std::tanh(y),   std::exp(y),  std::log1p(y),
                                   std::pow(y, 1.7), std::tgamma(y), std::erfc(y), std::fma(y, y, -1.0)};
    for (int k = 0; k < kDouble; k++) {
      if (!close<double>(dOut[i * kDouble + k], wantD[k], 1e-13) && wrong++ < 10) {
        std::fprintf(stderr, "math: double function %d of %g is %.17g, want %.17g\n", k, y, dOut[i * kDouble + k], wantD[k]);
      }
    }
  }
  if (wrong != 0) {
    std::fprintf(stderr, "math: %d results are wrong\n", wrong);
    return EXIT_FAILURE;
  }
  std::printf("math: %d results are right\n", n * (kFloat + kDouble));
  return EXIT_SUCCESS;
}
