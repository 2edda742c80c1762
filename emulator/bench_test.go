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
KERNEL saxpy(float s, const float *x, float *y, u32 n) { u32 i = GID; if (i < n) y[i] += s * x[i]; }
`

func benchmarkLoop(b *testing.B, arch, kernel string) {
	m := loadHIP(b, arch, "-O3", benchSource)
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

// Waves of 32 lanes.
func BenchmarkIntegerNarrow(b *testing.B) { benchmarkLoop(b, "gfx1100", "mixint") }

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
