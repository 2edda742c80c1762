package emulator

import (
	"math"
	"testing"
)

// Two numbers in a register or a pair of them, halves chosen by the compiler, and
// arrays in registers.
func TestPacked(t *testing.T) {
	const source = `
typedef _Float16 h2 __attribute__((ext_vector_type(2))); typedef short s2 __attribute__((ext_vector_type(2))); typedef unsigned short w2 __attribute__((ext_vector_type(2)));
typedef float f2 __attribute__((ext_vector_type(2)));
KERNEL half2(const h2 *a, const h2 *b, h2 *o, u32 n) { u32 i = GID; if (i >= n) return; h2 x = a[i], y = b[i]; o[i] = x * y.yx + (h2){-x.y, x.x} - y; }
KERNEL short2(const s2 *a, const s2 *b, s2 *o, u32 n) { u32 i = GID; if (i >= n) return; s2 x = a[i], y = b[i]; w2 u = __builtin_bit_cast(w2, x) >> (unsigned short)3; o[i] = x * y + (x > y ? x.yx : y) + __builtin_bit_cast(s2, u); }
KERNEL float2(const f2 *a, const f2 *b, f2 *o, u32 n) { u32 i = GID; if (i >= n / 2) return; f2 x = a[i], y = b[i]; o[i] = __builtin_elementwise_fma(x, y.yx, -x) * 3.0f + y; }
KERNEL mixed(const float *a, const float *b, float *o, u32 n) { u32 i = GID; if (i >= n) return; _Float16 h = (_Float16)a[i]; o[i] = __builtin_fmaf((float)h, -b[i], (float)(_Float16)b[i]); }
KERNEL array(const u32 *a, const u32 *b, u32 *o, u32 n) {
  u32 i = GID; if (i >= n) return;
  u32 v[16]; for (u32 k = 0; k < 16; k++) v[k] = a[i] * k + b[k];
  u32 s = 0; for (u32 k = 0; k < n % 29; k++) { s += v[(s + k) & 15]; v[(k * 5 + BID) & 15] ^= s; }
  o[i] = s;
}
`
	half := func(v uint32, part int) float64 { return halfValue(uint16(v >> (16 * part))) }
	modes(t, func(t *testing.T, arch, opt string) {
		m := loadHIP(t, arch, opt, source)
		small := func(a, b []byte) { // pairs of f16 between -8 and 8
			random(a, b)
			for _, s := range [][]byte{a, b} {
				for i := 0; i+2 <= len(s); i += 2 {
					h := wantHalf(float64(int8(s[i])) / 16)
					s[i], s[i+1] = byte(h), byte(h>>8)
				}
			}
		}
		r := launchTest(t, m, "half2", small)
		for i := range r.n {
			x, y := r.inA(i), r.inB(i)
			for part := range 2 {
				turned := half(x, 0)
				if part == 0 {
					turned = -half(x, 1)
				}
				fused := wantHalf(math.FMA(half(x, part), half(y, 1-part), turned))
				want := wantHalf(halfValue(fused) - half(y, part))
				if got := uint16(r.got(i) >> (16 * part)); got != want {
					t.Fatalf("half2 %d.%d: %g, want %g", i, part, halfValue(got), halfValue(want))
				}
			}
		}
		r = launchTest(t, m, "short2", random)
		for i := range r.n {
			for part := range 2 {
				at := func(v uint32, part int) int16 { return int16(v >> (16 * part)) }
				x, y := at(r.inA(i), part), at(r.inB(i), part)
				want := x*y + y + int16(uint16(x)>>3)
				if x > y {
					want = x*y + at(r.inA(i), 1-part) + int16(uint16(x)>>3)
				}
				if got := at(r.got(i), part); got != want {
					t.Fatalf("short2 %d.%d: %d, want %d", i, part, got, want)
				}
			}
		}
		r = launchTest(t, m, "float2", floats)
		for i := range r.n / 2 * 2 {
			x, y, z := f32(r.inA(i)), f32(r.inB(i^1)), f32(r.inB(i))
			if want := wantFMA(wantFMA(x, y, -x), 3, z); f32(r.got(i)) != want {
				t.Fatalf("float2 %d: %g, want %g", i, f32(r.got(i)), want)
			}
		}
		r = launchTest(t, m, "mixed", floats)
		for i := range r.n {
			h := func(v uint32) float32 { return float32(halfValue(wantHalf(float64(f32(v))))) }
			if want := wantFMA(h(r.inA(i)), -f32(r.inB(i)), h(r.inB(i))); f32(r.got(i)) != want {
				t.Fatalf("mixed %d: %g, want %g", i, f32(r.got(i)), want)
			}
		}
		r = launchTest(t, m, "array", random)
		for i := range r.n {
			var v [16]uint32
			for k := range uint32(16) {
				v[k] = r.inA(i)*k + r.inB(int(k))
			}
			s := uint32(0)
			for k := range uint32(items % 29) {
				s += v[(s+k)&15]
				v[(k*5+uint32(i/256))&15] ^= s
			}
			if r.got(i) != s {
				t.Fatalf("array %d: 0x%x, want 0x%x", i, r.got(i), s)
			}
		}
	})
}
