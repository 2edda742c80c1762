package devicelib

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Function is a mathematical function of the device, in f16, f32 and f64.
type Function struct {
	Name string // in f64; in f32 it has an f behind
	// Call is how the kernel calls it with x, y, z and w: @ at the beginning stands for the
	// name, elsewhere for the f that it has in f32, $ for f32
	// or f64, % for the type in C++. The plain call with as many arguments as there are
	// ranges when empty.
	Call string
	// OCML is the name in the library, without __ocml_ and the type: under it the function
	// is called in f16. Empty where there is none.
	OCML string
	// Types are those that it has, f32 and f64 when empty: f16 comes with OCML.
	Types string
	// From and To are the ranges of the arguments in f32 and f64. In f16 all numbers are
	// tried, of two arguments and more some of them.
	From, To []float64
	// Want is the reference, in f64; Wide marks functions that it is not exact enough for
	// even in f32.
	Want func(a [4]float64) float64
	Wide bool
	// Bound32 and Bound64 are what AMD publishes (docs/reference/math_api.rst of
	// github.com/ROCm/HIP at 1aee1f0, docs/device-library.md: the error, in units in the last place, where the absolute error is the largest, over
	// the same ranges); -1 where nothing is published.
	Bound32, Bound64 float64
	// Limit is our own, for the worst error in f16, and in f32 and f64 where nothing is
	// published; 0 is 2 units.
	Limit float64
	// Known says why the library is beyond its bound or limit in the types of KnownIn.
	Known, KnownIn string
}

func one(f func(float64) float64) func([4]float64) float64 {
	return func(a [4]float64) float64 { return f(a[0]) }
}

func two(f func(a, b float64) float64) func([4]float64) float64 {
	return func(a [4]float64) float64 { return f(a[0], a[1]) }
}

func norm(n int) func([4]float64) float64 {
	return func(a [4]float64) float64 {
		s := 0.0
		for _, v := range a[:n] {
			s = math.FMA(v, v, s)
		}
		return math.Sqrt(s)
	}
}

func lgammaOf(x float64) float64 {
	v, _ := math.Lgamma(x)
	if math.IsInf(x, -1) {
		return -v // C has the same at both ends
	}
	return v
}

func inverse(f func([4]float64) float64) func([4]float64) float64 {
	return func(a [4]float64) float64 { return 1 / f(a) }
}

// Functions lists them, by name.
func Functions() []Function {
	const pi = math.Pi
	unary := func(name string, from, to float64, f func(float64) float64, b32, b64 float64) Function {
		return Function{Name: name, OCML: name, From: []float64{from}, To: []float64{to}, Want: one(f), Bound32: b32, Bound64: b64}
	}
	binary := func(name string, x0, x1, y0, y1 float64, f func(a, b float64) float64, b float64) Function {
		return Function{Name: name, OCML: name, From: []float64{x0, y0}, To: []float64{x1, y1}, Want: two(f), Bound32: b, Bound64: b}
	}
	several := func(name string, n int, f func([4]float64) float64, b32, b64 float64) Function {
		fn := Function{Name: name, OCML: strings.ReplaceAll(strings.TrimSuffix(name, "d"), "norm", "len"), Want: f, Bound32: b32, Bound64: b64}
		for range n {
			fn.From, fn.To = append(fn.From, -10), append(fn.To, 10)
		}
		return fn
	}
	erfcx := func(x float64) float64 {
		if x > 20 { // exp and erfc would leave f64: four terms of the asymptotic series
			t := 1 / (2 * x * x)
			return (1 - t*(1-3*t*(1-5*t))) / (x * math.Sqrt(pi))
		}
		return math.Exp(x*x) * math.Erfc(x)
	}
	list := []Function{
		unary("acos", -1, 1, math.Acos, 1, 1),
		unary("acosh", 1, 100, math.Acosh, 1, 1),
		unary("asin", -1, 1, math.Asin, 2, 1),
		unary("asinh", -10, 10, math.Asinh, 1, 1),
		unary("atan", -10, 10, math.Atan, 2, 1),
		binary("atan2", -4, 4, -2, 2, math.Atan2, 1),
		unary("atanh", -0.9, 0.9, math.Atanh, 1, 1),
		unary("cbrt", -100, 100, math.Cbrt, 2, 1),
		unary("ceil", -4, 4, math.Ceil, 0, 0),
		binary("copysign", -10, 10, -3, 3, math.Copysign, 0),
		unary("cos", -pi, pi, math.Cos, 1, 1),
		unary("cosh", -5, 5, math.Cosh, 1, 1),
		unary("cospi", -0.3, 0.3, func(x float64) float64 { return math.Cos(pi * x) }, 1, 2),
		unary("erf", -4, 4, math.Erf, 4, 4),
		unary("erfc", -4, 4, math.Erfc, 2, 2),
		unary("erfcinv", 0.05, 1.95, math.Erfcinv, -1, -1),
		unary("erfcx", -2, 2, erfcx, 5, 5),
		unary("erfinv", -0.95, 0.95, math.Erfinv, -1, -1),
		unary("exp", -10, 10, math.Exp, 1, 1),
		unary("exp10", -4, 4, func(x float64) float64 { return math.Pow(10, x) }, 1, 1),
		unary("exp2", -10, 10, math.Exp2, 1, 1),
		unary("expm1", -10, 10, math.Expm1, 1, 1),
		unary("fabs", -20, 20, math.Abs, 0, 0),
		binary("fdim", -10, 10, -3, 3, math.Dim, 0),
		unary("floor", -4, 4, math.Floor, 0, 0),
		several("fma", 3, func(a [4]float64) float64 { return math.FMA(a[0], a[1], a[2]) }, 0, 0),
		binary("fmax", -10, 10, -3, 3, greater, 0),
		binary("fmin", -10, 10, -3, 3, lesser, 0),
		binary("fmod", -10, 10, -3, 3, math.Mod, 0),
		binary("hypot", -10, 10, 0, 10, math.Hypot, 1),
		unary("ilogb", 0.01, 100, func(x float64) float64 { return float64(math.Ilogb(x)) }, 0, 0),
		unary("j0", 0, 10, math.J0, -1, -1),
		unary("j1", 0, 10, math.J1, -1, -1),
		{Name: "jn", Call: "@(3, x)", From: []float64{1}, To: []float64{10}, Want: one(func(x float64) float64 { return math.Jn(3, x) }), Bound32: -1, Bound64: -1},
		{Name: "ldexp", OCML: "ldexp", Call: "@(x, (int)y)", From: []float64{-10, -4}, To: []float64{10, 4}, Want: two(func(x, y float64) float64 { return math.Ldexp(x, int(y)) })},
		unary("lgamma", 0.5, 20, lgammaOf, 4, 2),
		unary("log", 1e-6, 1e6, math.Log, 2, 1),
		unary("log10", 1e-6, 1e6, math.Log10, 2, 1),
		unary("log1p", -0.9, 10, math.Log1p, 1, 1),
		unary("log2", 1e-6, 1e6, math.Log2, 1, 1),
		unary("logb", 1e-6, 1e6, math.Logb, 0, 0),
		unary("nearbyint", -4, 4, math.RoundToEven, 0, 0),
		several("norm3d", 3, norm(3), 1, 1),
		several("norm4d", 4, norm(4), 2, 2),
		unary("normcdf", -5, 5, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }, -1, -1),
		binary("pow", -4, 4, -2, 2, math.Pow, 1),
		{Name: "powi", OCML: "pown", Call: "@(x, (int)y)", From: []float64{-10, -4}, To: []float64{10, 4}, Want: two(func(x, y float64) float64 { return math.Pow(x, math.Trunc(y)) }), Bound32: 1, Bound64: 1},
		unary("rcbrt", 0.01, 100, func(x float64) float64 { return 1 / math.Cbrt(x) }, 1, 1),
		binary("remainder", -10, 10, -3, 3, math.Remainder, 0),
		binary("rhypot", -100, 100, -10, 100, func(a, b float64) float64 { return 1 / math.Hypot(a, b) }, 1),
		unary("rint", -4, 4, math.RoundToEven, 0, 0),
		several("rnorm3d", 3, inverse(norm(3)), 1, 1),
		several("rnorm4d", 4, inverse(norm(4)), 2, 1),
		unary("round", -4, 4, math.Round, 0, 0),
		unary("rsqrt", 0.01, 100, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1, 1),
		{Name: "scalbn", OCML: "scalbn", Call: "@(x, (int)y)", From: []float64{-10, -4}, To: []float64{10, 4}, Want: two(func(x, y float64) float64 { return math.Ldexp(x, int(y)) })},
		unary("sin", -pi, pi, math.Sin, 1, 1),
		unary("sinh", -5, 5, math.Sinh, 1, 1),
		unary("sinpi", -0.625, 0.625, func(x float64) float64 { return math.Sin(pi * x) }, 2, 2),
		unary("sqrt", 0, 100, math.Sqrt, 1, 1),
		unary("tan", -1.47*pi, 1.47*pi, math.Tan, 1, 1),
		unary("tanh", -5, 5, math.Tanh, 2, 1),
		unary("tgamma", 0.5, 15, math.Gamma, 6, 6),
		unary("trunc", -4, 4, math.Trunc, 0, 0),
		unary("y0", 0.5, 10, math.Y0, -1, -1),
		unary("y1", 0.5, 10, math.Y1, -1, -1),
		{Name: "yn", Call: "@(3, x)", From: []float64{0.5}, To: []float64{10}, Want: one(func(x float64) float64 { return math.Yn(3, x) }), Bound32: -1, Bound64: -1},
	}
	list = slices.Concat(list, more(), complexes())
	slices.SortFunc(list, func(a, b Function) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list {
		f := &list[i]
		switch f.Name {
		case "ilogb":
			f.OCML = "" // no float: it is among the exact ones
		case "normcdf":
			f.OCML = "ncdf"
		case "j0", "j1", "y0", "y1":
			f.Wide = true
		case "jn", "yn":
			f.Wide, f.OCML = true, ""
			f.Limit = 700 // clang's header goes upward from order 0 and 1: for small arguments little is left
		case "__sinf":
			f.Known, f.KnownIn = "the angle is rounded to a part of a turn, and a test sees more or less of that by its samples", "f32"
		case "__tanf":
			f.Known, f.KnownIn = "a quotient of the fast sine and cosine in clang's header: AMD's figure is that of tanf", "f32"
		case "cyl_bessel_i1":
			f.Limit, f.Known, f.KnownIn = 4, "below -8 the library's f64 takes the square root of x where it should of -x: NaN", "f64"
		case "norm3d", "norm4d":
			f.Known, f.KnownIn = "the library squares in f16, beyond 255 that is infinite", "f16"
		case "__ocml_sincospi: sinpi", "__ocml_sincospi: cospi", "__ocml_sincos: sin", "__ocml_sincos: cos":
			f.Wide = true
		case "native_sin", "native_cos":
			f.Known, f.KnownIn = "the angle is rounded to a part of a turn", "f16 f32"
		case "native_exp", "native_exp10":
			f.Limit = 10
		case "erfinv", "erfcinv", "normcdfinv", "cyl_bessel_i0", "lgamma_r":
			f.Limit = 4
		}
	}
	for i := range list {
		if strings.HasPrefix(list[i].Name, "cdiv") || strings.HasPrefix(list[i].Name, "clog") {
			list[i].Known, list[i].KnownIn = "near a zero of one part little of it is left, in Go's f64 too", "f64"
		}
	}
	return list
}

// more are those that HIP's page has no test of, or in another form, the fast ones, and
// those that the library has beyond HIP.
func more() []Function {
	const pi = math.Pi
	range1 := func(f Function, from, to float64) Function {
		f.From, f.To = []float64{from}, []float64{to}
		return f
	}
	plain := func(name string, f func(float64) float64) Function {
		return Function{Name: name, Want: one(f), Bound32: -1, Bound64: -1}
	}
	// library has no name in HIP.
	library := func(name string, from, to float64, f func(float64) float64) Function {
		fn := range1(plain(name, f), from, to)
		fn.OCML, fn.Call = name, "__ocml_"+name+"_$(x)"
		return fn
	}
	// called gives the call, and AMD's bounds.
	called := func(name, call string, from, to float64, f func(float64) float64, b32, b64 float64) Function {
		return Function{Name: name, Call: call, From: []float64{from}, To: []float64{to}, Want: one(f), Bound32: b32, Bound64: b64}
	}
	called2 := func(name, call string, x, y float64, f func(x, y float64) float64, b32, b64 float64) Function {
		return Function{Name: name, Call: call, From: []float64{-x, -y}, To: []float64{x, y}, Want: two(f), Bound32: b32, Bound64: b64}
	}
	fast := func(name string, from, to float64, f func(float64) float64, b float64) Function {
		fn := called(name, name+"(x)", from, to, f, b, -1)
		fn.Types = "f32"
		return fn
	}
	native := func(name, types string, from, to float64, f func(float64) float64, limit float64) Function {
		fn := range1(plain("native_"+name, f), from, to)
		fn.Call, fn.OCML, fn.Types, fn.Limit = "__ocml_native_"+name+"_$(x)", "native_"+name, types, limit
		if !strings.Contains(types, "f16") {
			fn.OCML = ""
		}
		return fn
	}
	half := func(name string, f func(float64) float64) Function {
		fn := plain(name, f)
		fn.Call, fn.Types, fn.From, fn.To = "(_Float16)(float)"+name+"(__half((float)x))", "f16", []float64{0}, []float64{1}
		return fn
	}
	dim := func(n string, f func([4]float64) float64) []Function {
		k := int(n[0] - '0')
		var list []Function
		for _, name := range []string{"norm", "rnorm"} {
			fn := Function{Name: name + " of " + n, Call: "({ % v[4] = {x, y, z, w}; " + name + "@(" + n + ", v); })", Want: f, Bound32: 1, Bound64: 1}
			if name == "rnorm" {
				fn.Want = inverse(f)
			}
			for range k {
				fn.From, fn.To = append(fn.From, -10), append(fn.To, 10)
			}
			list = append(list, fn)
		}
		return list
	}
	const out = "({ % s, c; sincos@(x, &s, &c); "
	const outpi = "({ % s, c; sincospi@(x, &s, &c); "
	sinpi, cospi := func(x float64) float64 { return math.Sin(pi * x) }, func(x float64) float64 { return math.Cos(pi * x) }
	exp10 := func(x float64) float64 { return math.Pow(10, x) }
	recip, rsqrt := func(x float64) float64 { return 1 / x }, func(x float64) float64 { return 1 / math.Sqrt(x) }
	i0, i1 := library("i0", -10, 10, func(x float64) float64 { return besselI(0, x) }), library("i1", -10, 10, func(x float64) float64 { return besselI(1, x) })
	i0.Name, i1.Name, i0.Call, i1.Call = "cyl_bessel_i0", "cyl_bessel_i1", "", ""
	ncdfinv := library("ncdfinv", 0.001, 0.999, func(x float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*x) })
	ncdfinv.Name, ncdfinv.Call = "normcdfinv", ""
	lgamma := library("lgamma_r", 0.5, 20, lgammaOf)
	lgamma.Call, lgamma.OCML, lgamma.Types = "({ int s; __ocml_lgamma_r_$(x, (PRIVATE int *)&s); })", "", "f16 f32 f64"
	two2 := func(name, call string, x0, x1, y0, y1 float64, f func(x, y float64) float64) Function {
		return Function{Name: name, OCML: name, Call: call, From: []float64{x0, y0}, To: []float64{x1, y1}, Want: two(f), Bound32: -1, Bound64: -1}
	}
	rooted := two2("rootn", "__ocml_rootn_$(x, (int)y)", 0.01, 100, 1, 9, func(x, n float64) float64 {
		n = math.Trunc(n)
		switch {
		case n == 0:
			return math.NaN()
		case x < 0 && math.Mod(n, 2) != 0:
			return -math.Pow(-x, 1/n)
		}
		return math.Pow(x, 1/n)
	})
	rooted.Wide = true
	list := []Function{
		called("abs", "abs(x)", -20, 20, math.Abs, 0, 0),
		called2("fdivide", "x / y", 100, 100, func(x, y float64) float64 { return x / y }, 0, 0),
		called("frexp: mantissa", "({ int n; frexp@(x, &n); })", -10, 10, func(x float64) float64 { m, _ := math.Frexp(x); return m }, 0, 0),
		called("frexp: exponent", "({ int n; frexp@(x, &n); n; })", -10, 10, func(x float64) float64 { _, n := math.Frexp(x); return float64(n) }, 0, 0),
		called("modf: fraction", "({ % n; modf@(x, &n); })", -10, 10, func(x float64) float64 { _, f := math.Modf(x); return f }, 0, 0),
		called("modf: whole", "({ % n; modf@(x, &n); n; })", -10, 10, func(x float64) float64 { n, _ := math.Modf(x); return n }, 0, 0),
		called("isfinite", "isfinite(x)", -1e30, 1e30, func(float64) float64 { return 1 }, 0, 0),
		called("isinf", "isinf(x)", -1e30, 1e30, func(float64) float64 { return 0 }, 0, 0),
		called("isnan", "isnan(x)", -1e30, 1e30, func(float64) float64 { return 0 }, 0, 0),
		called("signbit", "signbit(x)", -1e30, 1e30, func(x float64) float64 { return float64(b2i(math.Signbit(x))) }, 0, 0),
		called("nan", "isnan(nan@(\"1\")) + 0 * x", -1, 1, func(float64) float64 { return 1 }, 0, 0),
		called("lround", "lround@(x)", -4, 4, math.Round, 0, 0), called("llround", "llround@(x)", -4, 4, math.Round, 0, 0),
		called("lrint", "lrint@(x)", -4, 4, math.RoundToEven, 0, 0), called("llrint", "llrint@(x)", -4, 4, math.RoundToEven, 0, 0),
		called2("remquo: remainder", "({ int n; remquo@(x, y, &n); })", 10, 3, math.Remainder, 0, 0),
		called2("remquo: quotient", "({ int n; remquo@(x, y, &n); n & 7; })", 10, 3, func(x, y float64) float64 { _, q := F64.remainder(x, y); return float64(q) }, 0, 0),
		called2("scalbln", "scalbln@(x, (long)y)", 10, 4, func(x, n float64) float64 { return math.Ldexp(x, int(n)) }, 0, 0),
		called("sincos: sin", out+"s; })", -3, 3, math.Sin, 1, 1), called("sincos: cos", out+"c; })", -3, 3, math.Cos, 1, 1),
		called("sincospi: sinpi", outpi+"s; })", -0.3, 0.3, sinpi, 2, 2), called("sincospi: cospi", outpi+"c; })", -0.3, 0.3, cospi, 1, 2),
		i0, i1, ncdfinv, lgamma, rooted,
		two2("powr", "__ocml_powr_$(x, y)", 0.01, 4, -2, 2, func(x, y float64) float64 {
			if x < 0 || math.IsNaN(x) || math.IsNaN(y) || x == 0 && y == 0 || math.IsInf(x, 1) && y == 0 || x == 1 && math.IsInf(y, 0) {
				return math.NaN()
			}
			return math.Pow(math.Abs(x), y)
		}),
		two2("atan2pi", "__ocml_atan2pi_$(x, y)", -4, 4, -2, 2, func(y, x float64) float64 { return math.Atan2(y, x) / pi }),
		library("acospi", -1, 1, func(x float64) float64 { return math.Acos(x) / pi }), library("asinpi", -1, 1, func(x float64) float64 { return math.Asin(x) / pi }),
		library("atanpi", -10, 10, func(x float64) float64 { return math.Atan(x) / pi }),
		library("tanpi", -0.3, 0.3, func(x float64) float64 {
			if r := math.Mod(x, 2); math.Abs(r) == 0.5 || math.Abs(r) == 1.5 { // the poles change sides
				return math.Inf(int(math.Copysign(1, r*(1-math.Abs(r)))))
			}
			return math.Tan(pi * math.Remainder(x, 1))
		}),
		fast("__cosf", -pi, pi, math.Cos, 4), fast("__sinf", -pi, pi, math.Sin, 18), fast("__tanf", -1.47*pi, 1.47*pi, math.Tan, 1),
		fast("__expf", -10, 10, math.Exp, 6), fast("__exp10f", -4, 4, exp10, 18), fast("__logf", 1e-6, 1e6, math.Log, 2),
		fast("__log2f", 1e-6, 1e6, math.Log2, 1), fast("__log10f", 1e-6, 1e6, math.Log10, 2), fast("__frsqrt_rn", 0.01, 100, rsqrt, 1), fast("__fsqrt_rn", 0, 100, math.Sqrt, 1),
		fast("__saturatef", -2, 3, func(x float64) float64 { return max(0, min(1, x)) }, 0), fast("__frcp_rn", -100, 100, recip, 0),
		native("cos", "f16 f32", -pi, pi, math.Cos, 0), native("sin", "f16 f32", -pi, pi, math.Sin, 0), native("exp", "f16 f32", -10, 10, math.Exp, 0),
		native("exp2", "f16 f32", -10, 10, math.Exp2, 0), native("exp10", "f32", -4, 4, exp10, 0), native("log", "f16 f32", 1e-6, 1e6, math.Log, 0),
		native("log2", "f16 f32", 1e-6, 1e6, math.Log2, 0), native("log10", "f16 f32", 1e-6, 1e6, math.Log10, 0), native("recip", "f32 f64", 0.01, 100, recip, 0),
		native("rsqrt", "f16 f32 f64", 0.01, 100, rsqrt, 0), native("sqrt", "f16 f32 f64", 0, 100, math.Sqrt, 0), native("rcp", "f16", 0, 1, recip, 0),
		half("hceil", math.Ceil), half("hfloor", math.Floor), half("htrunc", math.Trunc), half("hrint", math.RoundToEven), half("hcos", math.Cos), half("hsin", math.Sin),
		half("hexp", math.Exp), half("hexp2", math.Exp2), half("hexp10", exp10), half("hlog", math.Log), half("hlog2", math.Log2), half("hlog10", math.Log10),
		half("hsqrt", math.Sqrt), half("hrsqrt", rsqrt), half("hrcp", recip),
	}
	for _, c := range []struct {
		name  string
		x, y  float64
		types string
		f     func(x, y float64) float64
	}{
		{"__fadd_rn", 1000, 1000, "f32", func(x, y float64) float64 { return x + y }}, {"__fsub_rn", 1000, 1000, "f32", func(x, y float64) float64 { return x - y }},
		{"__fmul_rn", 100, 100, "f32", func(x, y float64) float64 { return x * y }}, {"__fdiv_rn", 100, 100, "f32", func(x, y float64) float64 { return x / y }},
		{"__fdividef", 100, 100, "f32", func(x, y float64) float64 { return x / y }},
		{"__dadd_rn", 1000, 1000, "f64", func(x, y float64) float64 { return x + y }}, {"__dsub_rn", 1000, 1000, "f64", func(x, y float64) float64 { return x - y }},
		{"__dmul_rn", 100, 100, "f64", func(x, y float64) float64 { return x * y }}, {"__ddiv_rn", 100, 100, "f64", func(x, y float64) float64 { return x / y }},
	} {
		fn := called2(c.name, c.name+"(x, y)", c.x, c.y, c.f, 0, 0)
		fn.Types = c.types
		list = append(list, fn)
	}
	power := called2("__powf", "__powf(x, y)", 4, 2, math.Pow, 1, -1)
	power.Types = "f32"
	drcp := called("__drcp_rn", "__drcp_rn(x)", -100, 100, recip, -1, 0)
	dsqrt := called("__dsqrt_rn", "__dsqrt_rn(x)", 0, 100, math.Sqrt, -1, 0)
	drcp.Types, dsqrt.Types = "f64", "f64"
	list = append(list, power, drcp, dsqrt)
	for _, c := range []struct {
		name, part, result string
		f                  func(float64) float64
	}{{"sincos", "sin", "", math.Sin}, {"sincos", "cos", " c;", math.Cos}, {"sincospi", "sinpi", "", sinpi}, {"sincospi", "cospi", " c;", cospi}} {
		fn := range1(plain("__ocml_"+c.name+": "+c.part, c.f), -0.9, 0.9)
		fn.Call, fn.Types = "({ % c; __ocml_"+c.name+"_$(x, (PRIVATE % *)&c);"+c.result+" })", "f16 f32 f64"
		list = append(list, fn)
	}
	list = slices.Concat(list, dim("2", norm(2)), dim("3", norm(3)), dim("4", norm(4)))
	return list
}
