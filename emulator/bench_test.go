package emulator

import (
	"encoding/binary"
	"syscall"
	"testing"
	"time"
)

const benchSource = `
KERNEL mixint(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 x = GID, y = TID;
  for (u32 k = 0; k < n; k++) { x = (x ^ (y << 5)) + (x >> 3) * 9; y = (y + x) ^ (x << 11); y = y < x ? y + k : x - y; x += y & 0xff00ff; }
  out[GID] = x + y;
}
KERNEL mixfloat(const u32 *a, const u32 *b, u32 *out, u32 n) {
  float x = GID, y = TID;
  for (u32 k = 0; k < n; k++) { x = x * 0.99f + y; y = y * 0.5f - x * 0.25f; x = x > 1e6f ? x - 1e6f : x + 1.0f; y = y + (float)k; }
  ((float *)out)[GID] = x + y;
}
KERNEL mixdouble(const u32 *a, const u32 *b, u32 *out, u32 n) {
  double x = GID, y = TID;
  for (u32 k = 0; k < n; k++) { x = x * 0.99 + y; y = y * 0.5 - x * 0.25; x = x > 1e6 ? x - 1e6 : x + 1.0; }
  ((float *)out)[GID] = (float)(x + y);
}
KERNEL reduce(const u32 *a, const u32 *b, u32 *out, u32 n) {
  __shared__ float t[256];
  for (u32 k = 0; k < n; k += 50) {
    t[TID] = (float)(TID + k); SYNC;
    for (u32 s = 128; s; s >>= 1) { if (TID < s) t[TID] += t[TID + s]; SYNC; }
    if (TID == 0) ((float *)out)[BID] = t[0];
    SYNC;
  }
}
KERNEL stream(const u32 *a, const u32 *b, u32 *out, u32 n) {
  for (u32 k = 0; k < n; k++) ((volatile float *)out)[GID] += 2.5f * ((const volatile float *)a)[GID];
}
KERNEL saxpy(float s, const float *x, float *y, u32 n) { u32 i = GID; if (i < n) y[i] += s * x[i]; }
`

func benchmarkLoop(b *testing.B, arch, kernel string) { benchmarkSource(b, arch, benchSource, kernel) }

func benchmarkSource(b *testing.B, arch, source, kernel string, flags ...string) {
	m := loadHIP(b, arch, "-O3", source, flags...)
	p, _ := alloc(b, m, 1<<16)
	args := [][]byte{u64arg(uint64(p)), u64arg(uint64(p)), u64arg(uint64(p)), u32arg(2000)}
	var n int64
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		c, err := m.Launch(b.Context(), kernel, Dim3{4, 1, 1}, Dim3{256, 1, 1}, args, Options{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		n += c.Instructions
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Minst/s")
	cpu := time.Duration(after.Utime.Nano() - before.Utime.Nano())
	b.ReportMetric(float64(n)/cpu.Seconds()/1e6, "Minst/cpu-s") // on a machine that others use too
}

// Wave instructions a second on one core.
func BenchmarkInteger(b *testing.B) { benchmarkLoop(b, "gfx942", "mixint") }

// The same of f32.
func BenchmarkFloat(b *testing.B) { benchmarkLoop(b, "gfx942", "mixfloat") }

// processors are one of each generation, with waves of both sizes.
var processors = []struct{ arch, flag string }{
	{"gfx942", "-O3"}, {"gfx1030", "-O3"}, {"gfx1100", "-O3"}, {"gfx1100", "-mwavefrontsize64"}, {"gfx1201", "-O3"}, {"gfx1201", "-mwavefrontsize64"},
}

// The same kernels on processors of each generation, in waves of both sizes.
func BenchmarkProcessors(b *testing.B) {
	for _, kernel := range []string{"mixint", "mixfloat", "mixdouble", "reduce", "stream"} {
		for _, on := range processors {
			b.Run(kernel+"/"+on.arch+on.flag, func(b *testing.B) { benchmarkSource(b, on.arch, benchSource, kernel, on.flag) })
		}
	}
}

// What a wave instruction of each class costs. The loops have little beside it.
func BenchmarkClasses(b *testing.B) {
	const loops = "for (u32 k = 0; k < n; k++) "
	for _, c := range []struct{ name, decl, body, result string }{
		{"int32", "u32 x = GID, y = TID;", "{ x = (x ^ (y << 5)) + (x >> 3) * 9; y = (y + x) ^ (x << 11); }", "x + y"},
		{"multiply", "u32 x = GID, y = TID;", "{ x = x * y + k; y = __builtin_amdgcn_ubfe(x, 3, 20) * x; x ^= (u32)((u64)x * y >> 32); }", "x + y"},
		{"int64", "u64 x = GID, y = TID;", "{ x = x * 3 + (y >> 7); y = (y << (x & 31)) + x; x = x < y ? x + k : y - x; }", "(u32)(x + y)"},
		{"f32", "float x = GID, y = TID;", "{ x = x * 0.99f + y; y = y * 0.5f - x * 0.25f; x = x > 1e6f ? x - 1e6f : x + 1.0f; }", "(u32)x"},
		{"f32-minmax", "float x = GID, y = TID;", "{ x = __builtin_fminf(x, y) + 1.5f; y = __builtin_fmaxf(-x, y) * 0.75f; y = __builtin_floorf(y) + x; }", "(u32)(x + y)"},
		{"f64", "double x = GID, y = TID;", "{ x = x * 0.99 + y; y = y * 0.5 - x * 0.25; x = x > 1e6 ? x - 1e6 : x + 1.0; }", "(u32)x"},
		{"divide", "float x = GID, y = TID + 1.5f;", "{ x = (x + 3.25f) / y; y += 0.5f; }", "(u32)x"},
		{"divide64", "double x = GID, y = TID + 1.5;", "{ x = (x + 3.25) / y; y += 0.5; }", "(u32)x"},
		{"f16", "_Float16 x = TID, y = 1.5f16;", "{ x = x * (_Float16)0.75f + y; y = y * x - (_Float16)0.25f; }", "(u32)(float)x"},
		{"convert", "float x = TID; u32 y = GID;", "{ y += (u32)x; x = (float)y * 0.5f + (float)(int)k; y ^= (u32)(int)x; }", "y"},
		{"exp", "float x = TID;", "{ x = __builtin_amdgcn_exp2f(x * 0.01f); }", "(u32)x"},
		{"dpp", "u32 x = GID;", "{ x += __builtin_amdgcn_update_dpp(0, x, 0x111, 15, 15, true); x ^= __builtin_amdgcn_update_dpp(x, x, 0x1b, 15, 15, false); }", "x"},
		{"permute", "u32 x = GID;", "{ x += __builtin_amdgcn_ds_bpermute(x * 4, x); }", "x"},
		{"lds", "__shared__ u32 t[1024]; u32 x = TID; t[x] = x;", "{ x += t[(x + k) & 255]; t[TID] = x; x ^= t[TID ^ 7]; }", "x"},
		{"global", "u32 x = GID; u32 *p = out + 4096; p[x] = x;", "{ x += ((volatile u32 *)p)[GID]; ((volatile u32 *)p)[GID] = x; }", "x"},
		{"gather", "u32 x = GID;", "{ x += a[(x * 7 + k) & 4095]; }", "x"},
		{"atomic", "u32 x = GID;", "{ x += __hip_atomic_fetch_add(out + 4096 + GID, x, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }", "x"},
		{"branch", "u32 x = TID;", "{ if (x & 1) { x = x * 3 + 1; if (x & 4) x += ((volatile u32 *)a)[0]; } else x >>= 1; }", "x"},
		{"scalar", "u32 x = n, y = BID;", "{ x = (x ^ (y << 5)) + (x >> 3) * 9; y = (y + x) ^ (x << 11); }", "x + y"},
	} {
		for _, on := range processors {
			b.Run(c.name+"/"+on.arch+on.flag, func(b *testing.B) {
				benchmarkSource(b, on.arch, "KERNEL loop(u32 *a, u32 *b, u32 *out, u32 n) { "+c.decl+loops+c.body+" out[GID] = "+c.result+"; }", "loop", on.flag)
			})
		}
	}
}

// A million elements, start to result.
func BenchmarkSaxpy(b *testing.B) {
	m := loadHIP(b, "gfx942", "-O3", benchSource)
	const n = 1 << 20
	px, _ := alloc(b, m, 4*n)
	py, y := alloc(b, m, 4*n)
	args := [][]byte{u32arg(u32(2)), u64arg(uint64(px)), u64arg(uint64(py)), u32arg(n)}
	for b.Loop() {
		binary.LittleEndian.PutUint32(y, 0)
		if _, err := m.Launch(b.Context(), "saxpy", Dim3{n / 256, 1, 1}, Dim3{256, 1, 1}, args, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
