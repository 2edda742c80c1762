package devicelib

import (
	"math"
	"os"
	"slices"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// With functions of our own in place of the library's the errors are known.
func TestMeasure(t *testing.T) {
	const head = `
__device__ float floorf(float x) { return __builtin_floorf(x); }
__device__ double floor(double x) { return __builtin_floor(x); }
__device__ float sqrtf(float x) { float r = __builtin_sqrtf(x); return x > 50 ? __builtin_bit_cast(float, __builtin_bit_cast(int, r) + 3) : r; }
__device__ double sqrt(double x) { return __builtin_sqrt(x); }
__device__ float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__device__ double fma(double x, double y, double z) { volatile double *p = 0; return p[1000]; }
__device__ float ldexpf(float x, int y) { return __builtin_ldexpf(x, y); }
__device__ double ldexp(double x, int y) { return y == 2 ? __builtin_nan("") : __builtin_ldexp(x, y); }
`
	list := slices.DeleteFunc(Functions(), func(f Function) bool { return !slices.Contains([]string{"floor", "sqrt", "fma", "ldexp"}, f.Name) })
	for i := range list {
		list[i].OCML = "" // there is no library here
	}
	path := llvmtest.HIP(t, Source(head, list), "gfx942", "-Wno-everything", "-ffp-contract=off", "-fno-builtin")
	isatest.Agrees(t, path, "gfx942")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := emulator.NewDevice("gfx942")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := Measure(t.Context(), dev, mod, list)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, r := range rows {
		switch r.Name {
		case "floor":
			if r.F32.Worst != 0 || r.F64.Worst != 0 || !r.F32.OK() || !r.F64.OK() {
				t.Errorf("%+v", r)
			}
		case "sqrt":
			if r.F32.Worst != 3 || r.F32.AtMost != 3 || r.F32.At[0] < 50 || r.F32.OK() || r.F64.Worst != 0 {
				t.Errorf("%+v", r)
			}
		case "fma":
			if r.F64.Failed == "" || r.F64.OK() || r.F32.Worst > 0.5 && r.F32.Worst != 1 {
				t.Errorf("%+v", r)
			}
		case "ldexp":
			if !r.F32.OK() || !math.IsInf(r.F64.Worst, 1) || r.F64.OK() {
				t.Errorf("%+v", r)
			}
		}
	}
	// No function is there twice, and each has a place to be asked at.
	all := Functions()
	if !slices.IsSortedFunc(all, func(a, b Function) int { return map[bool]int{true: 1, false: -1}[a.Name >= b.Name] }) {
		t.Error("the functions are not sorted, or one is there twice")
	}
	for _, fn := range all {
		for _, f := range fn.forms() {
			for _, p := range f.points() {
				if v := f.Want(p); f.kind != F16 && math.IsInf(v, 0) {
					t.Errorf("%s of %v is infinite", f.Name, p)
					break
				}
			}
		}
	}
}

// The references of 256 bits are Go's functions, but for the last digits; and known
// numbers to all of f64's.
func TestExact(t *testing.T) {
	for _, f := range Functions() {
		wide, forms := f.reference(F64), f.forms()
		for i, p := range forms[len(forms)-1].points() {
			if forms[len(forms)-1].kind != F64 || i%61 != 7 {
				continue
			}
			if got, want := wide(p), f.Want(p); math.Abs(got-want) > 1e-13*max(1, math.Abs(want)) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s of %v: %v, Go has %v", f.Name, p, got, want)
			}
		}
	}
	for _, c := range []struct {
		name string
		x    float64
		want float64
	}{
		{"exp", 1, math.E}, {"log", 10, math.Ln10}, {"asin", 1, math.Pi / 2}, {"acos", -1, math.Pi}, {"atan", 1, math.Pi / 4}, {"tgamma", 6, 120}, {"tgamma", 0.5, 1.7724538509055160273},
		{"erf", 1, 0.84270079294971486934}, {"erfc", 4, 1.5417257900280018852e-8}, {"exp10", 3, 1000}, {"cbrt", 27, 3}, {"log2", 8, 3}, {"lgamma", 20, 39.339884187199494036}, {"sin", math.Pi, 1.2246467991473531772e-16}, {"tanh", 0.5, 0.46211715726000975850},
	} {
		f := Function{Name: c.name}
		if got := f.reference(F64)([4]float64{c.x}); got != c.want {
			t.Errorf("%s(%v) is %.20g, want %.20g", c.name, c.x, got, c.want)
		}
	}
}
