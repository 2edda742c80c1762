package emulator

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
)

// tiny fills with f32 near the smallest normal number, above and below it.
func tiny(a, b []byte) {
	random(a, b)
	for _, s := range [][]byte{a, b} {
		for i := 0; i+4 <= len(s); i += 4 {
			s[i+3], s[i+2] = s[i+3]&0x80, s[i+2]&0x7f|s[i+1]&0x80 // exponents 0 and 1
		}
	}
}

func flushF(v float32) float32 {
	if math.Abs(float64(v)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(v)))
	}
	return v
}

// Denormal numbers become zero where a kernel was compiled so: those that are
// read, and those that result.
func TestFlushedDenormals(t *testing.T) {
	cases := []struct {
		expr string
		want func(x, y float32) float32
	}{
		{"x + y", func(x, y float32) float32 { return x + y }},
		{"x * 0.5f - y", func(x, y float32) float32 { return flushF(x*0.5) - y }},
		{"x * y", func(x, y float32) float32 { return x * y }},
		{"__builtin_fmaf(x, 0.75f, y)", func(x, y float32) float32 { return wantFMA(x, 0.75, y) }},
		{"__builtin_fmaxf(x, y)", func(x, y float32) float32 { return max(x, y) }},
		{"x < y ? 1.0f : x == 0.0f ? 2.0f : 3.0f", func(x, y float32) float32 {
			switch {
			case x < y:
				return 1
			case x == 0:
				return 2
			}
			return 3
		}},
	}
	var src strings.Builder
	for n, c := range cases {
		fmt.Fprintf(&src, "KERNEL f%d(const float *a, const float *b, float *out, u32 n) { u32 i = GID; if (i < n) { float x = a[i], y = b[i]; out[i] = %s; } }\n", n, c.expr)
	}
	src.WriteString("KERNEL d0(const double *a, const double *b, double *out, u32 n) { u32 i = GID; if (i < n) out[i] = a[i] * 0x1p-1020 * b[i]; }\n")
	for _, arch := range []string{"gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		for _, opt := range []string{"-O0", "-O3"} {
			m := loadHIP(t, arch, opt, src.String(), "-fgpu-flush-denormals-to-zero", "-ffp-contract=off")
			for n, c := range cases {
				r := launchTest(t, m, fmt.Sprint("f", n), tiny)
				for i := range r.n {
					x, y := f32(r.inA(i)), f32(r.inB(i))
					if got, want := f32(r.got(i)), flushF(c.want(flushF(x), flushF(y))); got != want {
						t.Fatalf("%s %s, %s of %g and %g: %g, want %g", arch, opt, c.expr, x, y, got, want)
					}
				}
			}
			// f64 keeps its own.
			r := launchTest(t, m, "d0", doubles)
			for i := range r.n {
				if got, want := f64(r.got64(i)), f64(r.inA64(i))*0x1p-1020*f64(r.inB64(i)); got != want {
					t.Fatalf("%s %s: %g, want %g", arch, opt, got, want)
				}
			}
		}
	}
}

// Rounding up, down and to zero, against arithmetic of many bits.
func TestRoundingModes(t *testing.T) {
	set := func(mode int) string {
		return fmt.Sprintf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), %d\\n", mode|mode<<2)
	}
	var src strings.Builder
	ops := []string{"v_add_f32 %0, %1, %2", "v_mul_f32 %0, %1, %2", "v_fma_f32 %0, %1, %2, %1", "v_sub_f32 %0, %1, -%2", "v_cvt_f32_i32 %0, %1", "v_pk_mul_f32 %0, %1, %2"}
	wide := []string{"v_add_f64 %0, %1, %2", "v_mul_f64 %0, %1, %2", "v_fma_f64 %0, %1, %2, %1"}
	for mode := range 4 {
		for n, op := range ops {
			typ := "float"
			if strings.Contains(op, "pk") {
				typ = "double"
			}
			fmt.Fprintf(&src, `KERNEL r%d_%d(const %s *a, const %s *b, %s *out, u32 n) { u32 i = GID; if (i >= n) return; %s d, x = a[i], y = b[i]; asm volatile("s_nop 0\n%s%s\n%s" : "=v"(d) : "v"(x), "v"(y)); out[i] = d; }`+"\n", mode, n, typ, typ, typ, typ, set(mode), op, set(0))
		}
		for n, op := range wide {
			fmt.Fprintf(&src, `KERNEL w%d_%d(const double *a, const double *b, double *out, u32 n) { u32 i = GID; if (i >= n) return; double d, x = a[i], y = b[i]; asm volatile("s_nop 0\n%s%s\n%s" : "=v"(d) : "v"(x), "v"(y)); out[i] = d; }`+"\n", mode, n, set(mode), op, set(0))
		}
	}
	m := loadHIP(t, "gfx942", "-O2", strings.ReplaceAll(src.String(), `\n"`, `"`))
	modes := []big.RoundingMode{big.ToNearestEven, big.ToPositiveInf, big.ToNegativeInf, big.ToZero}
	exact := func(kind int, x, y float64) *big.Float {
		a, b := new(big.Float).SetPrec(4000).SetFloat64(x), new(big.Float).SetPrec(4000).SetFloat64(y)
		switch kind {
		case 0, 3:
			return a.Add(a, b)
		case 1, 5:
			return a.Mul(a, b)
		}
		c := new(big.Float).SetPrec(4000).SetFloat64(x)
		return a.Add(a.Mul(a, b), c)
	}
	for mode := range 4 {
		round := func(v *big.Float, prec uint) float64 {
			f, _ := new(big.Float).SetMode(modes[mode]).SetPrec(prec).Set(v).Float64()
			return f
		}
		for n, op := range ops {
			r := launchTest(t, m, fmt.Sprintf("r%d_%d", mode, n), floats)
			for i := range r.n {
				x, y := float64(f32(r.inA(i))), float64(f32(r.inB(i)))
				v := exact(n, x, y)
				if n == 4 {
					v = new(big.Float).SetInt64(int64(int32(r.inA(i))))
				}
				if got, want := float64(f32(r.got(i))), round(v, 24); got != want {
					t.Fatalf("mode %d, %s of %g and %g: %g, want %g", mode, op, x, y, got, want)
				}
			}
		}
		for n, op := range wide {
			r := launchTest(t, m, fmt.Sprintf("w%d_%d", mode, n), doubles)
			for i := range r.n {
				x, y := f64(r.inA64(i)), f64(r.inB64(i))
				if got, want := f64(r.got64(i)), round(exact(n, x, y), 53); got != want {
					t.Fatalf("mode %d, %s of %g and %g: %g, want %g", mode, op, x, y, got, want)
				}
			}
		}
	}
	// At the ends: what nearest makes infinite or zero, the others may not.
	for _, c := range []struct {
		mode uint32
		v    uint64
		in   [3]uint64
		want uint64
	}{
		{3, uint64(u32(float32(math.Inf(1)))), [3]uint64{0x7f7fffff, 0x7f7fffff}, 0x7f7fffff}, {1, 0, [3]uint64{1, 0x3e800000}, 1}, {2, 0, [3]uint64{1, 0x3e800000}, 0},
		{2, 0x80000000, [3]uint64{0x80000001, 0x3e800000}, 0x80000001}, {1, 0x80000000, [3]uint64{0x80000001, 0x3e800000}, 0x80000000},
	} {
		exactly := directed("v_mul_f32")
		if c.mode == 3 {
			exactly = directed("v_add_f32")
		}
		if got := direct(single(), c.v, c.mode, exactly, c.in); got != c.want {
			t.Errorf("mode %d: 0x%x, want 0x%x", c.mode, got, c.want)
		}
	}
}

// Zeros of sums: -0 where it is rounded down and the signs differ, as IEEE 754 says.
func TestZerosRoundedDown(t *testing.T) {
	const minus = 0x80000000
	for _, c := range []struct {
		op   string
		in   [3]uint64
		want uint64
	}{
		{"v_add_f32", [3]uint64{0, 0}, 0}, {"v_add_f32", [3]uint64{minus, 0}, minus}, {"v_add_f32", [3]uint64{0x3f800000, 0xbf800000}, minus}, {"v_sub_f32", [3]uint64{0, 0}, minus}, {"v_sub_f32", [3]uint64{0, minus}, 0},
		{"v_subrev_f32", [3]uint64{minus, 0}, 0}, {"v_subrev_f32", [3]uint64{0x40000000, 0x40000000}, minus}, {"v_mul_f32", [3]uint64{0, 0x40000000}, 0},
		{"v_fma_f32", [3]uint64{0, 0, minus}, minus}, {"v_fma_f32", [3]uint64{0, 0, 0}, 0}, {"v_fma_f32", [3]uint64{0x40000000, 0x40000000, 0xc0800000}, minus},
	} {
		if got := direct(single(), 0, 2, directed(c.op), c.in); got != c.want {
			t.Errorf("%s of %x: %x, want %x", c.op, c.in, got, c.want)
		}
	}
}
