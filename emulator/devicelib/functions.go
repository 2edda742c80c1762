package devicelib

import "math"

// Function is one of the mathematical functions that HIP has on the device, in f32
// and f64.
type Function struct {
	Name string // in f64; in f32 it has an f behind
	// Call is how the kernel calls it with x, y, z and w; @ stands for the name. The
	// plain call with as many arguments as there are ranges when empty.
	Call string
	// From and To are the ranges of the arguments.
	From, To []float64
	// Want is the reference, in f64.
	Want func(a [4]float64) float64
	// Bound32 and Bound64 are what AMD publishes (HIP's "Math API", version 7: the
	// error, in units in the last place, where the absolute error is the largest, over
	// the same ranges); -1 where nothing is published.
	Bound32, Bound64 float64
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

func inverse(f func([4]float64) float64) func([4]float64) float64 {
	return func(a [4]float64) float64 { return 1 / f(a) }
}

// Functions lists them, by name.
func Functions() []Function {
	const pi = math.Pi
	unary := func(name string, from, to float64, f func(float64) float64, b32, b64 float64) Function {
		return Function{Name: name, From: []float64{from}, To: []float64{to}, Want: one(f), Bound32: b32, Bound64: b64}
	}
	binary := func(name string, x0, x1, y0, y1 float64, f func(a, b float64) float64, b float64) Function {
		return Function{Name: name, From: []float64{x0, y0}, To: []float64{x1, y1}, Want: two(f), Bound32: b, Bound64: b}
	}
	several := func(name string, n int, f func([4]float64) float64, b32, b64 float64) Function {
		fn := Function{Name: name, Want: f, Bound32: b32, Bound64: b64}
		for range n {
			fn.From, fn.To = append(fn.From, -10), append(fn.To, 10)
		}
		return fn
	}
	lgamma := func(x float64) float64 { v, _ := math.Lgamma(x); return v }
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
		unary("erfcx", -2, 2, func(x float64) float64 { return math.Exp(x*x) * math.Erfc(x) }, 5, 5),
		unary("erfinv", -0.95, 0.95, math.Erfinv, -1, -1),
		unary("exp", -10, 10, math.Exp, 1, 1),
		unary("exp10", -4, 4, func(x float64) float64 { return math.Pow(10, x) }, 1, 1),
		unary("exp2", -10, 10, math.Exp2, 1, 1),
		unary("expm1", -10, 10, math.Expm1, 1, 1),
		unary("fabs", -20, 20, math.Abs, 0, 0),
		binary("fdim", -10, 10, -3, 3, math.Dim, 0),
		unary("floor", -4, 4, math.Floor, 0, 0),
		several("fma", 3, func(a [4]float64) float64 { return math.FMA(a[0], a[1], a[2]) }, 0, 0),
		binary("fmax", -10, 10, -3, 3, math.Max, 0),
		binary("fmin", -10, 10, -3, 3, math.Min, 0),
		binary("fmod", -10, 10, -3, 3, math.Mod, 0),
		binary("hypot", -10, 10, 0, 10, math.Hypot, 1),
		unary("ilogb", 0.01, 100, func(x float64) float64 { return float64(math.Ilogb(x)) }, 0, 0),
		unary("j0", 0, 10, math.J0, -1, -1),
		unary("j1", 0, 10, math.J1, -1, -1),
		{Name: "jn", Call: "@(3, x)", From: []float64{1}, To: []float64{10}, Want: one(func(x float64) float64 { return math.Jn(3, x) }), Bound32: -1, Bound64: -1},
		{Name: "ldexp", Call: "@(x, (int)y)", From: []float64{-10, -4}, To: []float64{10, 4}, Want: two(func(x, y float64) float64 { return math.Ldexp(x, int(y)) })},
		unary("lgamma", 0.5, 20, lgamma, 4, 2),
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
		{Name: "powi", Call: "@(x, (int)y)", From: []float64{-10, -4}, To: []float64{10, 4}, Want: two(func(x, y float64) float64 { return math.Pow(x, math.Trunc(y)) }), Bound32: 1, Bound64: 1},
		unary("rcbrt", 0.01, 100, func(x float64) float64 { return 1 / math.Cbrt(x) }, 1, 1),
		binary("remainder", -10, 10, -3, 3, math.Remainder, 0),
		binary("rhypot", -100, 100, -10, 100, func(a, b float64) float64 { return 1 / math.Hypot(a, b) }, 1),
		unary("rint", -4, 4, math.RoundToEven, 0, 0),
		several("rnorm3d", 3, inverse(norm(3)), 1, 1),
		several("rnorm4d", 4, inverse(norm(4)), 2, 1),
		unary("round", -4, 4, math.Round, 0, 0),
		unary("rsqrt", 0.01, 100, func(x float64) float64 { return 1 / math.Sqrt(x) }, 1, 1),
		{Name: "scalbn", Call: "@(x, (int)y)", From: []float64{-10, -4}, To: []float64{10, 4}, Want: two(func(x, y float64) float64 { return math.Ldexp(x, int(y)) })},
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
	return list
}
