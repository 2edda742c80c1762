package emulator

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// Division of numbers from all over the format is rounded right where the quotient
// is a normal number, and no step takes a pair for an ordinary one that needs scaling.
func TestDivision(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O3", `
KERNEL single(const float *a, const float *b, float *out, u32 n) { u32 i = GID; if (i < n) out[i] = a[i] / b[i]; }
KERNEL twice(const double *a, const double *b, double *out, u32 n) { u32 i = GID; if (i < n) out[i] = a[i] / b[i]; }
`)
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		// Waves of ordinary pairs, and of any.
		near := rng.IntN(2) == 0
		exponent := func(bias int) uint64 {
			if near {
				return uint64(bias - 30 + rng.IntN(60))
			}
			return uint64(rng.IntN(2*bias + 1))
		}
		r := launchTest(t, m, "single", func(a, b []byte) {
			for i := 0; i < len(a); i += 4 {
				for _, s := range [][]byte{a, b} {
					binary.LittleEndian.PutUint32(s[i:], rng.Uint32()&0x807fffff|uint32(exponent(127))<<23)
				}
			}
		})
		for i := range r.n {
			x, y := f32(r.inA(i)), f32(r.inB(i))
			if got, want := f32(r.got(i)), x/y; u32(got) != u32(want) && !single().denormal(float64(want)) {
				t.Fatalf("%g / %g is %g, want %g", x, y, got, want)
			}
		}
		r = launchTest(t, m, "twice", func(a, b []byte) {
			for i := 0; i < len(a); i += 8 {
				for _, s := range [][]byte{a, b} {
					binary.LittleEndian.PutUint64(s[i:], rng.Uint64()&0x800fffffffffffff|exponent(1023)<<52)
				}
			}
		})
		for i := range r.n {
			x, y := f64(r.inA64(i)), f64(r.inB64(i))
			if got, want := f64(r.got64(i)), x/y; u64(got) != u64(want) && !double().denormal(want) {
				t.Fatalf("%g / %g is %g, want %g", x, y, got, want)
			}
		}
	}
}

func TestLdexp(t *testing.T) {
	for _, a := range []float64{0, math.Copysign(0, -1), 1, -1.5, 0x1p-1022, 0x1p-1074, -0x1.8p-1060, math.MaxFloat64, math.Inf(1), 0x1.fffffffffffffp-1000} {
		for e := -2200; e <= 2200; e++ {
			if got, want := ldexp(a, int32(e), 64), math.Ldexp(a, e); u64(got) != u64(want) {
				t.Fatalf("%g * 2**%d is %g, want %g", a, e, got, want)
			}
		}
	}
	if !math.IsInf(ldexp(1, math.MaxInt32, 64), 1) || ldexp(1, math.MinInt32, 64) != 0 {
		t.Error("exponents at the ends")
	}
}
