package devicelib

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
)

// typed is a type of OCML: what its functions have behind their names, and in C++.
type typed struct {
	kind      Kind
	name, cpp string
}

func floats() []typed {
	return []typed{{F16, "f16", "_Float16"}, {F32, "f32", "float"}, {F64, "f64", "double"}}
}

// modes are the directions of OCML's names.
func modes() map[string]big.RoundingMode {
	return map[string]big.RoundingMode{"rte": big.ToNearestEven, "rtn": big.ToNegativeInf, "rtp": big.ToPositiveInf, "rtz": big.ToZero}
}

// OCML lists the functions of the mathematical library (ocml.bc) that have one right
// result: those that round, convert, compare, and take floats to pieces.
func OCML() []Exact {
	var list []Exact
	for _, t := range floats() {
		list = append(list, arithmetic(t)...)
		list = append(list, pieces(t)...)
		list = append(list, classes(t)...)
		list = append(list, choices(t)...)
	}
	return append(append(list, pairs(list)...), narrowing()...)
}

// pairs are the packed forms in f16 of functions of floats alone.
func pairs(list []Exact) []Exact {
	var out []Exact
	for _, e := range list {
		name, ok := strings.CutSuffix(strings.TrimPrefix(e.Name, "__ocml_"), "_f16")
		n := strings.Count(e.Decl, "_Float16") - 1
		if !ok || e.R != F16 || strings.Contains(e.Decl, "PRIVATE") || strings.Contains(e.Decl, "int") || strings.Contains(name, "_rt") || slices.Contains([]string{"pred", "succ", "nan"}, name) || n < 1 || n > 3 {
			continue
		}
		p := Exact{Name: "__ocml_" + name + "_2f16", R: Pair, S: Long}
		p.Decl = "half2v " + p.Name + "(" + strings.Join([]string{"half2v", "half2v", "half2v"}[:n], ", ") + ");"
		p.Code = "r = bits(" + p.Name + "(" + strings.Join([]string{"cast<half2v>(a)", "cast<half2v>(b)", "cast<half2v>(c)"}[:n], ", ") + "));"
		for i := range n {
			p.Args[i] = Pair
		}
		p.Want = func(a [3]uint64) (uint64, uint64) {
			low, _ := e.Want([3]uint64{a[0] & 0xffff, a[1] & 0xffff, a[2] & 0xffff})
			high, _ := e.Want([3]uint64{a[0] >> 16, a[1] >> 16, a[2] >> 16})
			return low | high<<16, 0
		}
		out = append(out, p)
	}
	return out
}

// float returns a function of floats of one type: f is computed in f64, which holds
// the result exactly, or whose rounding to the type is the right one.
func (t typed) float(name string, n int, f func(x, y, z float64) float64) Exact {
	k := t.kind
	return Exact{
		Name: "__ocml_" + name + "_" + t.name, Decl: t.decl(name, t.cpp, n), Code: t.call(name, n), Args: t.args(n), R: k, S: Long,
		Want: func(a [3]uint64) (uint64, uint64) {
			return k.bits(f(k.value(a[0]), k.value(a[1]), k.value(a[2]))), 0
		},
	}
}

func (t typed) decl(name, result string, n int) string {
	return fmt.Sprintf("%s __ocml_%s_%s(%s);", result, name, t.name, strings.Join(strings.Fields(strings.Repeat(t.cpp+" ", n)), ", "))
}

func (t typed) call(name string, n int) string {
	return fmt.Sprintf("r = bits(__ocml_%s_%s(%s));", name, t.name, strings.Join([]string{t.name + "(a)", t.name + "(b)", t.name + "(c)"}[:n], ", "))
}

func (t typed) args(n int) (kinds [3]Kind) {
	for i := range n {
		kinds[i] = t.kind
	}
	return kinds
}

// arithmetic is that of IEEE 754 in its four directions, once with the direction of the
// name and once as the compiler rounds.
func arithmetic(t typed) []Exact {
	var list []Exact
	k := t.kind
	for name, mode := range modes() {
		for _, op := range []struct {
			name string
			n    int
			want func(x, y, z float64) uint64
		}{
			{"add", 2, func(x, y, _ float64) uint64 { return k.exactly(mode, x, 1, y) }},
			{"sub", 2, func(x, y, _ float64) uint64 { return k.exactly(mode, x, 1, -y) }},
			{"mul", 2, func(x, y, _ float64) uint64 {
				sign := -1.0
				if math.Signbit(x) == math.Signbit(y) {
					sign = 1
				}
				return k.exactly(mode, x, y, math.Copysign(0, sign))
			}},
			{"fma", 3, func(x, y, z float64) uint64 { return k.exactly(mode, x, y, z) }},
		} {
			list = append(list, t.words(op.name+"_"+name, op.n, op.want))
		}
	}
	fused := func(x, y, z float64) uint64 { return k.exactly(big.ToNearestEven, x, y, z) }
	for _, name := range []string{"fma", "fmuladd", "mad"} {
		list = append(list, t.words(name, 3, fused))
		if t.kind == F32 {
			pair := t.words(name, 3, fused)
			pair.Name, pair.Covers = pair.Name+"x2", []string{"__ocml_" + name + "_2f32"}
			pair.Decl = fmt.Sprintf("float2v __ocml_%s_2f32(float2v, float2v, float2v);", name)
			pair.Code = fmt.Sprintf("float2v v = __ocml_%s_2f32(float2v{f32(a), f32(b)}, float2v{f32(b), f32(c)}, float2v{f32(c), f32(a)}); r = bits(v.x); s = bits(v.y);", name)
			pair.S = F32
			pair.Want = func(a [3]uint64) (uint64, uint64) {
				x, y, z := k.value(a[0]), k.value(a[1]), k.value(a[2])
				return fused(x, y, z), fused(y, z, x)
			}
			list = append(list, pair)
		}
	}
	return list
}

func (t typed) words(name string, n int, f func(x, y, z float64) uint64) Exact {
	e := t.float(name, n, nil)
	k := t.kind
	e.Want = func(a [3]uint64) (uint64, uint64) { return f(k.value(a[0]), k.value(a[1]), k.value(a[2])), 0 }
	return e
}

// pieces take floats to pieces and put them together.
func pieces(t typed) []Exact {
	k := t.kind
	precision, _, _ := k.format()
	// A second result goes to private memory.
	second := func(name, pointee string, n int, read string, want func(x, y float64) (uint64, uint64), s Kind) Exact {
		e := t.float(name, n, nil)
		params := strings.Repeat(t.cpp+", ", n)
		e.Decl = fmt.Sprintf("%s __ocml_%s_%s(%sPRIVATE %s *);", t.cpp, name, t.name, params, pointee)
		args := strings.Join([]string{t.name + "(a)", t.name + "(b)"}[:n], ", ")
		e.Code = fmt.Sprintf("%s p; r = bits(__ocml_%s_%s(%s, (PRIVATE %s *)&p)); s = %s;", pointee, name, t.name, args, pointee, read)
		e.S = s
		e.Want = func(a [3]uint64) (uint64, uint64) { return want(k.value(a[0]), k.value(a[1])) }
		return e
	}
	scale := func(name, cpp string, kind Kind, amount func(uint64) float64) Exact {
		e := t.float(name, 2, nil)
		e.Decl = fmt.Sprintf("%s __ocml_%s_%s(%s, %s);", t.cpp, name, t.name, t.cpp, cpp)
		arg := "(int)b"
		if kind != Exp {
			arg = t.name + "(b)"
		}
		e.Code = fmt.Sprintf("r = bits(__ocml_%s_%s(%s(a), %s));", name, t.name, t.name, arg)
		e.Args[1] = kind
		e.Want = func(a [3]uint64) (uint64, uint64) { return k.scaled(k.value(a[0]), amount(a[1])), 0 }
		return e
	}
	whole := func(b uint64) float64 { return float64(int32(b)) }
	list := []Exact{
		second("fract", t.cpp, 1, "bits(p)", func(x, _ float64) (uint64, uint64) {
			f := math.Floor(x)
			most := 1 - math.Ldexp(1, -precision)
			switch {
			case math.IsInf(x, 0), x == 0:
				return 0, k.bits(x)
			}
			return k.bits(math.Min(k.value(k.exactly(big.ToNearestEven, x, 1, -f)), most)), k.bits(f)
		}, k),
		second("frexp", "int", 1, "bits(p)", func(x, _ float64) (uint64, uint64) {
			m, e := math.Frexp(x)
			if math.IsInf(x, 0) || math.IsNaN(x) {
				e = 0
			}
			return k.bits(m), uint64(uint32(e))
		}, Word),
		second("modf", t.cpp, 1, "bits(p)", func(x, _ float64) (uint64, uint64) {
			if math.IsInf(x, 0) {
				return k.bits(math.Copysign(0, x)), k.bits(x)
			}
			n := math.Trunc(x)
			return k.bits(math.Copysign(x-n, x)), k.bits(n)
		}, k),
		second("remquo", "int", 2, "p & 7", func(x, y float64) (uint64, uint64) { return k.remainder(x, y) }, Word),
		scale("ldexp", "int", Exp, whole), scale("scalbn", "int", Exp, whole),
		t.words("nextafter", 2, func(x, y, _ float64) uint64 { return k.next(x, y) }),
		t.words("pred", 1, func(x, _, _ float64) uint64 { return k.next(x, math.Inf(-1)) }),
		t.words("succ", 1, func(x, _, _ float64) uint64 { return k.next(x, math.Inf(1)) }),
		t.words("remainder", 2, func(x, y, _ float64) uint64 { r, _ := k.remainder(x, y); return r }),
		t.float("fmod", 2, func(x, y, _ float64) float64 { return math.Mod(x, y) }),
		t.words("logb", 1, func(x, _, _ float64) uint64 { return k.bits(math.Logb(x)) }),
	}
	scalb := scale("scalb", t.cpp, k, func(b uint64) float64 { return k.value(b) })
	if k == F32 { // of infinite exponents it knows less than the others
		want := scalb.Want
		scalb.Want = func(a [3]uint64) (uint64, uint64) {
			if x, n := k.value(a[0]), k.value(a[1]); math.IsInf(n, 1) && (x == 0 || math.IsInf(x, 0)) {
				if x == 0 {
					return k.bits(x), 0
				}
				return k.bits(math.NaN()), 0
			}
			return want(a)
		}
	}
	list = append(list, scalb)
	pair := t.words("remquo2", 2, nil)
	pair.Decl = fmt.Sprintf("struct remquo2_%s { %s rem; int quo; }; extern \"C\" DEVICE remquo2_%s __ocml_remquo2_%s(%s, %s);", t.name, t.cpp, t.name, t.name, t.cpp, t.cpp)
	pair.Code = fmt.Sprintf("auto v = __ocml_remquo2_%s(%s(a), %s(b)); r = bits(v.rem); s = v.quo & 7;", t.name, t.name, t.name)
	pair.S = Word
	pair.Want = func(a [3]uint64) (uint64, uint64) { return k.remainder(k.value(a[0]), k.value(a[1])) }
	list = append(list, pair)
	// C leaves two values open: the library has the least int for 0, the greatest for NaN.
	ilogb := t.float("ilogb", 1, nil)
	ilogb.Decl, ilogb.R = t.decl("ilogb", "int", 1), Word
	ilogb.Want = func(a [3]uint64) (uint64, uint64) {
		switch x := k.value(a[0]); {
		case x == 0:
			return 0x8000_0000, 0
		case math.IsNaN(x), math.IsInf(x, 0):
			return 0x7fff_ffff, 0
		default:
			return uint64(uint32(int32(math.Ilogb(x)))), 0
		}
	}
	return append(list, ilogb)
}

// remainder returns IEEE 754's, and the low three bits of the quotient with its sign.
func (k Kind) remainder(x, y float64) (uint64, uint64) {
	r := math.Remainder(x, y)
	if math.IsNaN(r) || math.IsInf(y, 0) || x == 0 {
		return k.bits(r), 0
	}
	wide := func(v float64) *big.Float { return new(big.Float).SetPrec(4400).SetFloat64(v) }
	q := wide(0).Quo(wide(0).Sub(wide(x), wide(r)), wide(y)) // whole
	n, _ := q.Int(nil)
	low := new(big.Int).And(new(big.Int).Abs(n), big.NewInt(7)).Int64()
	if n.Sign() < 0 {
		low = -low
	}
	return k.bits(r), uint64(low) & 7
}

// scaled is x times 2^n, rounded once.
func (k Kind) scaled(x, n float64) uint64 {
	switch {
	case math.IsNaN(x) || math.IsNaN(n), math.IsInf(n, 1) && x == 0, math.IsInf(n, -1) && math.IsInf(x, 0):
		return k.bits(math.NaN())
	case x == 0 || math.IsInf(x, 0):
		return k.bits(x)
	case math.IsInf(n, 1):
		return k.bits(math.Copysign(n, x))
	case math.IsInf(n, -1):
		return k.bits(math.Copysign(0, x))
	}
	n = math.RoundToEven(n) // scalb's exponent is a float
	f := new(big.Float).SetFloat64(x)
	return k.round(big.ToNearestEven, f.SetMantExp(f, int(max(-8000, min(8000, n)))))
}

// next is the float beside x on the way to y.
func (k Kind) next(x, y float64) uint64 {
	bits := k.bits(x)
	sign := uint64(1) << (k.width() - 1)
	switch {
	case math.IsNaN(x) || math.IsNaN(y):
		return k.bits(math.NaN())
	case x == y:
		return k.bits(y)
	case x == 0:
		return uint64(b2i(y < 0))*sign | 1
	case (x < y) == (x > 0):
		return bits + 1
	}
	return bits - 1
}

// classes say what a float is.
func classes(t typed) []Exact {
	k := t.kind
	_, low, _ := k.format()
	smallest := math.Ldexp(1, low)
	is := func(name string, f func(x float64) int) Exact {
		e := t.float(name, 1, nil)
		e.Decl, e.R = t.decl(name, "int", 1), Word
		e.Want = func(a [3]uint64) (uint64, uint64) { return uint64(f(k.value(a[0]))), 0 }
		return e
	}
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	list := []Exact{
		is("isfinite", func(x float64) int { return b2i(finite(x)) }),
		is("isinf", func(x float64) int { return b2i(math.IsInf(x, 0)) }),
		is("isnan", func(x float64) int { return b2i(math.IsNaN(x)) }),
		is("isnormal", func(x float64) int { return b2i(finite(x) && math.Abs(x) >= smallest) }),
		is("signbit", func(x float64) int { return b2i(math.Signbit(x)) }),
		// glibc's numbers: nan, infinite, zero, subnormal, normal.
		is("fpclassify", func(x float64) int {
			switch {
			case math.IsNaN(x):
				return 0
			case math.IsInf(x, 0):
				return 1
			case x == 0:
				return 2
			case math.Abs(x) < smallest:
				return 3
			}
			return 4
		}),
	}
	nan := t.float("nan", 1, nil)
	word := map[Kind]string{F16: "u16", F32: "u32", F64: "u64"}[k]
	nan.Decl = fmt.Sprintf("%s __ocml_nan_%s(%s);", t.cpp, t.name, word)
	nan.Code = fmt.Sprintf("r = bits(__ocml_nan_%s((%s)a));", t.name, word)
	nan.Args[0], nan.R = Long, Long
	precision, _, high := k.format()
	quiet := uint64(2*(high+1)-1)<<(precision-1) | 1<<(precision-2)
	payload := uint64(1)<<(precision-2) - 1
	if k == F32 {
		payload = 0xfffff // its own mask
	}
	nan.Want = func(a [3]uint64) (uint64, uint64) { return quiet | a[0]&payload, 0 }
	return append(list, nan)
}

// lesser is the one of two: a number comes before NaN, and -0 before +0.
func lesser(x, y float64) float64 {
	switch {
	case math.IsNaN(x):
		return y
	case math.IsNaN(y):
		return x
	}
	return math.Min(x, y)
}

func greater(x, y float64) float64 { return -lesser(-x, -y) }

// choices are one of their arguments, and the roundings to whole numbers.
func choices(t typed) []Exact {
	k := t.kind
	two := func(f func(x, y float64) float64) func(x, y, z float64) float64 {
		return func(x, y, _ float64) float64 { return f(x, y) }
	}
	one := func(f func(float64) float64) func(x, y, z float64) float64 {
		return func(x, _, _ float64) float64 { return f(x) }
	}
	magnitude := func(x, y float64, first bool, otherwise func(x, y float64) float64) float64 {
		a, b := math.Abs(x), math.Abs(y)
		switch {
		case (a > b) == first && a != b && !math.IsNaN(a) && !math.IsNaN(b):
			return x
		case a != b && !math.IsNaN(a) && !math.IsNaN(b):
			return y
		}
		return otherwise(x, y)
	}
	list := []Exact{
		t.float("fmax", 2, two(greater)), t.float("fmin", 2, two(lesser)), t.float("max", 2, two(greater)), t.float("min", 2, two(lesser)),
		t.float("maxmag", 2, func(x, y, _ float64) float64 { return magnitude(x, y, true, greater) }),
		t.float("minmag", 2, func(x, y, _ float64) float64 { return magnitude(x, y, false, lesser) }),
		t.float("copysign", 2, two(math.Copysign)), t.float("fabs", 1, one(math.Abs)),
		t.words("fdim", 2, func(x, y, _ float64) uint64 {
			switch {
			case math.IsNaN(x) || math.IsNaN(y):
				return k.bits(math.NaN())
			case x > y:
				return k.exactly(big.ToNearestEven, x, 1, -y)
			}
			return 0
		}),
		t.float("ceil", 1, one(math.Ceil)), t.float("floor", 1, one(math.Floor)), t.float("trunc", 1, one(math.Trunc)),
		t.float("rint", 1, one(math.RoundToEven)), t.float("nearbyint", 1, one(math.RoundToEven)), t.float("round", 1, one(math.Round)),
	}
	return list
}

// narrowing are conversions that round, in a direction.
func narrowing() []Exact {
	var list []Exact
	convert := func(dir string, to, from typed, number func(uint64) *big.Float, special func(uint64) (uint64, bool)) {
		name := fmt.Sprintf("__ocml_cvt%s_%s_%s", dir, to.name, from.name)
		read := from.name + "(a)"
		if !from.kind.float() {
			read = "(" + from.cpp + ")a"
		}
		mode := modes()[dir]
		list = append(list, Exact{Name: name, Decl: fmt.Sprintf("%s %s(%s);", to.cpp, name, from.cpp), Code: fmt.Sprintf("r = bits(%s(%s));", name, read),
			Args: [3]Kind{from.kind}, R: to.kind, S: Long,
			Want: func(a [3]uint64) (uint64, uint64) {
				if v, ok := special(a[0]); ok {
					return v, 0
				}
				return to.kind.round(mode, number(a[0])), 0
			}})
	}
	all := floats()
	for _, pair := range [][2]typed{{all[0], all[1]}, {all[0], all[2]}, {all[1], all[2]}} {
		to, from := pair[0], pair[1]
		for dir := range modes() {
			if dir == "rte" && (to.kind != F16 || from.kind != F64) {
				continue // the others are the compiler's own
			}
			convert(dir, to, from, func(v uint64) *big.Float { return new(big.Float).SetFloat64(from.kind.value(v)) }, func(v uint64) (uint64, bool) {
				x := from.kind.value(v)
				return to.kind.bits(x), math.IsNaN(x) || math.IsInf(x, 0)
			})
		}
	}
	for _, from := range []typed{{Word, "s32", "int"}, {Word, "u32", "u32"}, {Long, "s64", "s64"}, {Long, "u64", "u64"}} {
		number := func(v uint64) *big.Float {
			switch from.name {
			case "s32":
				return new(big.Float).SetInt64(int64(int32(v)))
			case "s64":
				return new(big.Float).SetInt64(int64(v))
			}
			return new(big.Float).SetUint64(v)
		}
		for _, to := range all[1:] {
			if to.kind == F64 && from.kind == Word {
				continue // exact
			}
			for dir := range modes() {
				if dir != "rte" {
					convert(dir, to, from, number, func(uint64) (uint64, bool) { return 0, false })
				}
			}
		}
	}
	return list
}
