package devicelib

import (
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// A right function, a wrong one, one that does not run, and one of a wave.
func TestCheck(t *testing.T) {
	double := func(a [3]uint64) (uint64, uint64) { return uint64(uint32(a[0] * 2)), a[1] }
	add, _ := combine("add", "u32", Word)
	list := []Exact{
		{Name: "right", Code: "r = (u32)a * 2u; s = b;", Args: [3]Kind{Word, Long}, R: Long, S: Long, Want: double},
		{Name: "wrong", Code: "r = (u32)a * 2u; s = i == 700 ? 0 : b | 1;", Args: [3]Kind{Word, Long}, R: Long, S: Long, Want: func(a [3]uint64) (uint64, uint64) { return uint64(uint32(a[0] * 2)), a[1] | 1 }},
		{Name: "fault", Code: "r = *(volatile u64 *)16;", R: Long, S: Long, Want: double},
		{Name: "nan", Code: "r = bits(f32(a) * 0 / 0); s = bits(f16(b));", Args: [3]Kind{F32, F16}, R: F32, S: F16, Want: func(a [3]uint64) (uint64, uint64) { return F32.bits(math.NaN()), a[1] }},
		{Name: "wave", Code: "r = (u32)__builtin_amdgcn_readfirstlane((u32)a);", Args: [3]Kind{Word}, R: Long, S: Long, Wave: func(a [][3]uint64) (r, s []uint64) {
			return slices.Repeat([]uint64{add(a[0][0], 0)}, 64), nil
		}},
	}
	data, err := os.ReadFile(llvmtest.HIP(t, ExactSource(list), "gfx90a", "-Wno-everything"))
	if err != nil {
		t.Fatal(err)
	}
	dev, err := emulator.NewDevice("gfx90a")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Check(t.Context(), dev, mod, list)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{0, 1, items, 0, 0} {
		if got[i].Wrong != want || (want == 0) != (got[i].First == "") {
			t.Errorf("%+v, want %d wrong", got[i], want)
		}
	}
	if !strings.Contains(got[1].First, "item 700") || !strings.Contains(got[2].First, "fault") {
		t.Errorf("%q, %q", got[1].First, got[2].First)
	}
}

// What rounds here is what Go's own arithmetic does to nearest, and lies around that in
// the other directions.
func TestRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, k := range []Kind{F16, F32, F64} {
		special := k.specials()
		for n := range 20000 {
			x, y, z := k.value(k.random(rng)), k.value(k.random(rng)), k.value(k.random(rng))
			if n < len(special)*len(special) {
				x, y = k.value(special[n%len(special)]), k.value(special[n/len(special)])
			}
			near := k.exactly(big.ToNearestEven, x, y, z)
			var want uint64
			switch k {
			case F64:
				want = math.Float64bits(math.FMA(x, y, z))
			case F32: // the product is exact in f64; the sum's error may tip it
				if p := x * y; math.Abs(p) < 1e30 && math.Abs(z) < 1e30 && (z == 0 || math.Abs(p) > 1e-30) && p+z-p == z {
					want = uint64(math.Float32bits(float32(p + z)))
				} else {
					continue
				}
			default: // a product has 22 bits: with a summand of near size it fits f64
				want = k.bits(x*y + z)
			}
			if !k.same(near, want) {
				t.Fatalf("%c: %g*%g+%g is %#x, want %#x", k, x, y, z, near, want)
			}
			v := k.value(near)
			if math.IsNaN(v) || math.IsInf(x*y, 0) || math.IsInf(z, 0) {
				continue
			}
			down, up, zero := k.value(k.exactly(big.ToNegativeInf, x, y, z)), k.value(k.exactly(big.ToPositiveInf, x, y, z)), k.value(k.exactly(big.ToZero, x, y, z))
			if !(down <= v && v <= up) || down != up && k.value(k.next(down, math.Inf(1))) != up || v > 0 && zero != down || v < 0 && zero != up {
				t.Fatalf("%c: %g*%g+%g: %g, down %g, up %g, to zero %g", k, x, y, z, v, down, up, zero)
			}
		}
	}
	for _, c := range []struct {
		x, y, z float64
		down    bool // -0 where it is rounded down
	}{{1, 1, -1, true}, {-2, 3, 6, true}, {1, math.Copysign(0, -1), 0, true}, {0, 1, 0, false}, {-1, 0, math.Copysign(0, -1), true}} {
		for _, k := range []Kind{F16, F32, F64} {
			if got := k.exactly(big.ToNegativeInf, c.x, c.y, c.z); got != uint64(b2i(c.down))<<(k.width()-1) {
				t.Errorf("%c: %g*%g+%g, rounded down, is %#x", k, c.x, c.y, c.z, got)
			}
		}
	}
	if (Error{Bound: -1, Packed: 1}).OK() || !(Error{Bound: -1, Worst: 9}).OK() || (Error{Bound: -1, Worst: 9, Limit: 2}).OK() || (Error{Bound: 1, AtMost: 2}).OK() {
		t.Error("an error beyond its bound is none")
	}
	for h := range uint64(1 << 16) {
		if v := F16.value(h); F16.bits(v) != h && !math.IsNaN(v) {
			t.Fatalf("%#x is %g, and that is %#x", h, v, F16.bits(v))
		}
	}
	for _, c := range []struct {
		k    Kind
		mode big.RoundingMode
		x    float64
		want uint64
	}{
		{F16, big.ToNearestEven, 65520, 0x7c00}, {F16, big.ToZero, 1e9, 0x7bff}, {F16, big.ToNegativeInf, -1e9, 0xfc00}, {F16, big.ToPositiveInf, -1e9, 0xfbff},
		{F16, big.ToNearestEven, 0x1p-25, 0}, {F16, big.ToPositiveInf, 0x1p-60, 1}, {F32, big.ToNearestEven, 0x1.000001p0, 0x3f800000}, {F32, big.ToNearestEven, 0x1.000003p0, 0x3f800002}, {F64, big.ToZero, -0x1p-1074, 1<<63 | 1},
	} {
		if got := c.k.round(c.mode, new(big.Float).SetFloat64(c.x)); got != c.want {
			t.Errorf("%c of %g, %v: %#x, want %#x", c.k, c.x, c.mode, got, c.want)
		}
	}
}

// Known numbers (Abramowitz and Stegun, tables 9.1, 9.8, 7.1 and 6.1) of the series.
func TestBessel(t *testing.T) {
	for _, c := range []struct {
		name string
		x    float64
		want float64
	}{
		{"j0", 1, 0.7651976865579665514}, {"j1", 1, 0.4400505857449335160}, {"jn", 5, 0.3648312306136669}, {"j0", 10, -0.2459357644513483352}, {"y0", 1, 0.08825696421567695798}, {"y1", 1, -0.7812128213002887165},
		{"y0", 10, 0.05567116728359939}, {"yn", 2, -1.127783776840428}, {"cyl_bessel_i0", 1, 1.266065877752008336}, {"cyl_bessel_i1", 1, 0.5651591039924850272}, {"cyl_bessel_i1", -1, -0.5651591039924850272},
		{"erfinv", 0.5, 0.4769362762044698734}, {"erfcinv", 1.5, -0.4769362762044698734}, {"normcdfinv", 0.975, 1.9599639845400538}, {"acospi", 0.5, 1.0 / 3}, {"tanpi", 0.25, 1},
	} {
		f := Function{Name: c.name}
		if got := f.reference(F64)([4]float64{c.x}); math.Abs(got-c.want) > 2e-16*math.Abs(c.want)+1e-17 && math.Abs(got-c.want) > 3e-16 {
			t.Errorf("%s(%v) is %.20g, want %.20g", c.name, c.x, got, c.want)
		}
	}
	if got := near(gamma()); got != 0.57721566490153286061 {
		t.Errorf("gamma is %.20g", got)
	}
}

// The lists have every function once, with a reference.
func TestLists(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range slices.Concat(OCML(), OCKL(), HIP()) {
		if seen[e.Name] || e.Want == nil == (e.Wave == nil) || e.Code == "" {
			t.Errorf("%s is there twice, or has no reference", e.Name)
		}
		seen[e.Name] = true
	}
	if got := Missing([]string{"__ocml_sin_f32", "__ocml_sin_2f16", "__ocml_new_f64", "__ockl_image_load_1D", "__ockl_wfred_add_u64", "__ocml_isnan_2f16"}); !slices.Equal(got, []string{"__ocml_new_f64"}) {
		t.Errorf("missing: %q", got)
	}
}
