package isa_test

import (
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// codeSource makes the compiler select a wide variety of instructions: half
// precision, packed, sub-dword, double, 64-bit, matrices where there are any.
const codeSource = `
typedef _Float16 half; typedef half half2 __attribute__((ext_vector_type(2))); typedef float float4v __attribute__((ext_vector_type(4)));
typedef double double2v __attribute__((ext_vector_type(2))); typedef short short2v __attribute__((ext_vector_type(2)));
typedef unsigned u32; typedef unsigned long long u64;
#define I (__builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x())
template <class T> __device__ T mix(T a, T b, int n) { for (int i = 0; i < n; i++) { a = a * b + a / (b + (T)3); b = a < b ? b - a : a + (T)i; } return a; }
template <class T> __global__ void scalar(const T *a, const T *b, T *o, int n) { o[I] = mix(a[I], b[I], n) + mix(a[n], b[n], n); }
template __global__ void scalar<float>(const float *, const float *, float *, int);
template __global__ void scalar<double>(const double *, const double *, double *, int);
template __global__ void scalar<half>(const half *, const half *, half *, int);
template __global__ void scalar<int>(const int *, const int *, int *, int);
template __global__ void scalar<u32>(const u32 *, const u32 *, u32 *, int);
template __global__ void scalar<short>(const short *, const short *, short *, int);
template __global__ void scalar<unsigned char>(const unsigned char *, const unsigned char *, unsigned char *, int);
template __global__ void scalar<long long>(const long long *, const long long *, long long *, int);
template __global__ void scalar<u64>(const u64 *, const u64 *, u64 *, int);
template <class T> __global__ void vec(const T *a, const T *b, T *o, int n) { T x = a[I], y = b[I]; for (int i = 0; i < n; i++) { x = x * y + x; y = y - x; } o[I] = x + y; }
template __global__ void vec<half2>(const half2 *, const half2 *, half2 *, int);
template __global__ void vec<float4v>(const float4v *, const float4v *, float4v *, int);
template __global__ void vec<double2v>(const double2v *, const double2v *, double2v *, int);
template __global__ void vec<short2v>(const short2v *, const short2v *, short2v *, int);
__global__ void shared(u32 *o, u64 *p, float *f, int n) {
  __shared__ u32 t[512]; __shared__ u64 w[64];
  u32 i = __builtin_amdgcn_workitem_id_x();
  t[i] = o[i]; w[i & 63] = p[i]; __builtin_amdgcn_s_barrier();
  o[i] = t[(i * 7) & 511] + t[(i + 64) & 511] + (u32)w[i & 31]; p[i] = w[63 - (i & 63)] * n;
  __hip_atomic_fetch_add(t + (i & 3), i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  __hip_atomic_fetch_add(f, 1.5f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_max(p, (u64)i, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_SYSTEM);
  o[n] = __builtin_amdgcn_ds_bpermute(i, n) + __builtin_amdgcn_mov_dpp(i, 0x111, 0xf, 0xf, true) + __builtin_amdgcn_ds_swizzle(i, 0x1f);
}
__device__ __attribute__((noinline)) int deep(int n, int *p) { int a[20]; for (int i = 0; i < 20; i++) a[i] = p[i] * n; return n < 2 ? a[p[n] % 20] : deep(n - 1, a) + deep(n - 2, p); }
__global__ void calls(int *p, int n) { *p = deep(n, p); }
__device__ int deepArray(int n) { int a[16]; for (int i = 0; i < 16; i++) a[i] = i * n; int s = 0; for (int i = 0; i < n; i++) { s += a[s & 15]; a[i & 15] ^= s; } return s; }
__global__ void indexed(int *p, int n) { p[I] = deepArray(n + p[I]); }
`

const matrixSource = `
typedef float v4 __attribute__((ext_vector_type(4))); typedef float v16 __attribute__((ext_vector_type(16)));
__global__ void matrix(const float *a, const float *b, v4 *c, v16 *d) {
  int i = __builtin_amdgcn_workitem_id_x();
  c[i] = __builtin_amdgcn_mfma_f32_16x16x4f32(a[i], b[i], c[i], 0, 0, 0);
  d[i] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[i], b[i], d[i], 0, 0, 0);
}
`

const tileSource = `
typedef int i16v __attribute__((ext_vector_type(16))); typedef float f8v __attribute__((ext_vector_type(8)));
__global__ void tiles(const i16v *a, const i16v *b, f8v *c, int s, int t) {
  int i = __builtin_amdgcn_workitem_id_x();
  c[i] = __builtin_amdgcn_wmma_scale_f32_16x16x128_f8f6f4(0, a[i], 1, b[i], 0, c[i], 1, 0, s, 0, 1, t, true, false);
}
__global__ void wide(double *d, u64 *p) { d[I] = d[I] * 1.2345678901234 + 3.3; p[I] += 0x123456789abcdefull; }
`

// What clang compiles decodes to the text that llvm-objdump shows, instruction
// by instruction.
func TestCompiledCodeAgreesWithLLVM(t *testing.T) {
	processors, err := isa.Processors()
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, processor := range processors {
		if same, err := isa.Alike(processor); err != nil {
			t.Fatal(err)
		} else if same[0] != processor {
			continue // LLVM makes the same code for it
		}
		waves := []string{""}
		if strings.HasPrefix(processor, "gfx1") && !strings.HasPrefix(processor, "gfx125") {
			waves = append(waves, "/64")
		}
		for _, wave := range waves {
			target := processor + wave
			for _, opt := range []string{"-O0", "-O3"} {
				t.Run(target+opt, func(t *testing.T) {
					source, flags := codeSource, []string{opt}
					switch processor {
					case "gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-generic":
						source += matrixSource
					case "gfx1250", "gfx1251":
						source += tileSource
					}
					if wave != "" {
						flags = append(flags, "-mwavefrontsize64")
					}
					n := isatest.Agrees(t, llvmtest.HIP(t, source, processor, flags...), target)
					if n < 1000 {
						t.Errorf("only %d instructions were compared", n)
					}
					total += n
				})
			}
		}
	}
	t.Logf("%d instructions agree", total)
}
