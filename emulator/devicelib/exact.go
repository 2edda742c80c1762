package devicelib

import (
	"math"
	"math/big"
)

// References for f64, in binary floating point of 256 bits: series whose arguments
// are halved until they converge soon, and Newton's method for inverse functions.
const precision = 256

func float(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }
func fresh() *big.Float          { return new(big.Float).SetPrec(precision) }

func add(a, b *big.Float) *big.Float { return fresh().Add(a, b) }
func sub(a, b *big.Float) *big.Float { return fresh().Sub(a, b) }
func mul(a, b *big.Float) *big.Float { return fresh().Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return fresh().Quo(a, b) }
func neg(a *big.Float) *big.Float    { return fresh().Neg(a) }
func sqrt(a *big.Float) *big.Float   { return fresh().Sqrt(a) }

func half(a *big.Float, times int) *big.Float { return fresh().SetMantExp(a, -times) }

func near(a *big.Float) float64 { f, _ := a.Float64(); return f }

// tiny reports a summand that no longer changes a sum.
func tiny(term, sum *big.Float) bool {
	return term.Sign() == 0 || sum.Sign() != 0 && term.MantExp(nil) < sum.MantExp(nil)-precision
}

func pi() *big.Float {
	v, _, _ := big.ParseFloat("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651", 10, precision, big.ToNearestEven)
	return v
}

func exp(x *big.Float) *big.Float {
	const halvings = 24
	r := half(x, halvings)
	sum, term := float(1), float(1)
	for n := 1.0; n < 200; n++ {
		term = quo(mul(term, r), float(n))
		sum = add(sum, term)
		if tiny(term, sum) {
			break
		}
	}
	for range halvings {
		sum = mul(sum, sum)
	}
	return sum
}

func log(x *big.Float) *big.Float {
	if x.Cmp(float(1)) == 0 {
		return float(0) // the series comes only near
	}
	mant := fresh()
	e := x.MantExp(mant)
	y := float(math.Log(near(mant)))
	for range 4 {
		y = add(y, sub(mul(mant, exp(neg(y))), float(1)))
	}
	if e == 0 {
		return y
	}
	ln2 := float(math.Ln2)
	for range 4 {
		ln2 = add(ln2, sub(mul(float(2), exp(neg(ln2))), float(1)))
	}
	return add(y, mul(float(float64(e)), ln2))
}

func sin(x *big.Float) *big.Float {
	sum, term := fresh().Set(x), fresh().Set(x)
	x2 := neg(mul(x, x))
	for n := 2.0; n < 400; n += 2 {
		term = quo(mul(term, x2), float(n*(n+1)))
		sum = add(sum, term)
		if tiny(term, sum) {
			break
		}
	}
	return sum
}

func cos(x *big.Float) *big.Float {
	s := sin(half(x, 1))
	return sub(float(1), mul(float(2), mul(s, s)))
}

// atan2 improves on f64: the angle that is left between (x, y) and the first answer.
func atan2(y, x *big.Float) *big.Float {
	a := float(math.Atan2(near(y), near(x)))
	r := sqrt(add(mul(x, x), mul(y, y)))
	for range 3 {
		s, c := sin(a), cos(a)
		a = add(a, quo(sub(mul(y, c), mul(x, s)), r)) // the sine of what is left
	}
	return a
}

func atan(x *big.Float) *big.Float { return atan2(x, float(1)) }

func side(x *big.Float) *big.Float { return sqrt(mul(sub(float(1), x), add(float(1), x))) }

func sinh(x *big.Float) *big.Float { return half(sub(exp(x), exp(neg(x))), 1) }
func cosh(x *big.Float) *big.Float { return half(add(exp(x), exp(neg(x))), 1) }

func cbrt(x *big.Float) *big.Float {
	y := float(math.Cbrt(near(x)))
	if y.Sign() == 0 {
		return y
	}
	for range 3 {
		y = sub(y, quo(sub(mul(mul(y, y), y), x), mul(float(3), mul(y, y))))
	}
	return y
}

func erf(x *big.Float) *big.Float {
	sum, power := fresh().Set(x), fresh().Set(x)
	x2 := neg(mul(x, x))
	for n := 1.0; n < 1000; n++ {
		power = quo(mul(power, x2), float(n))
		term := quo(power, float(2*n+1))
		sum = add(sum, term)
		if tiny(term, sum) {
			break
		}
	}
	return quo(mul(sum, float(2)), sqrt(pi()))
}

func erfc(x *big.Float) *big.Float { return sub(float(1), erf(x)) }

// lgamma is Stirling's series of x + 40, which 40 factors bring back. The Bernoulli
// numbers are those of the even indices from 2 on.
func lgamma(x *big.Float) *big.Float {
	const shift = 40
	product, z := float(1), fresh().Set(x)
	for range shift {
		product = mul(product, z)
		z = add(z, float(1))
	}
	sum := sub(mul(sub(z, float(0.5)), log(z)), z)
	sum = add(sum, half(log(mul(float(2), pi())), 1))
	power, z2 := fresh().Set(z), mul(z, z)
	for i, b := range [][2]float64{{1, 6}, {-1, 30}, {1, 42}, {-1, 30}, {5, 66}, {-691, 2730}, {7, 6}, {-3617, 510}, {43867, 798}, {-174611, 330}, {854513, 138}, {-236364091, 2730}, {8553103, 6}} {
		n := float64(2 * (i + 1))
		sum = add(sum, quo(quo(float(b[0]), float(b[1])), mul(float(n*(n-1)), power)))
		power = mul(power, z2)
	}
	return sub(sum, log(product))
}

// exact returns the reference of f64 for a function; nil where Go's serves.
func exact(name string) func(a [4]*big.Float) *big.Float {
	one := func(f func(*big.Float) *big.Float) func([4]*big.Float) *big.Float {
		return func(a [4]*big.Float) *big.Float { return f(a[0]) }
	}
	inverse := func(x *big.Float) *big.Float { return quo(float(1), x) }
	squares := func(n int) func([4]*big.Float) *big.Float {
		return func(a [4]*big.Float) *big.Float {
			s := fresh()
			for _, x := range a[:n] {
				s = add(s, mul(x, x))
			}
			return sqrt(s)
		}
	}
	hyperbolic := func(x, plus *big.Float) *big.Float { return log(add(x, sqrt(add(mul(x, x), plus)))) }
	ratio := func(base float64) func([4]*big.Float) *big.Float {
		return one(func(x *big.Float) *big.Float { return quo(log(x), log(float(base))) })
	}
	table := map[string]func([4]*big.Float) *big.Float{
		"cyl_bessel_i0": one(func(x *big.Float) *big.Float { return bessel(0, 1, x) }),
		"cyl_bessel_i1": one(func(x *big.Float) *big.Float { return bessel(1, 1, x) }),
		"j0":            one(func(x *big.Float) *big.Float { return bessel(0, -1, x) }),
		"j1":            one(func(x *big.Float) *big.Float { return bessel(1, -1, x) }),
		"jn":            one(func(x *big.Float) *big.Float { return bessel(3, -1, x) }),
		"y0":            one(func(x *big.Float) *big.Float { return besselY(0, x) }),
		"y1":            one(func(x *big.Float) *big.Float { return besselY(1, x) }),
		"yn":            one(func(x *big.Float) *big.Float { return besselY(3, x) }),
		"acospi":        one(func(x *big.Float) *big.Float { return quo(atan2(side(x), x), pi()) }),
		"asinpi":        one(func(x *big.Float) *big.Float { return quo(atan2(x, side(x)), pi()) }),
		"atanpi":        one(func(x *big.Float) *big.Float { return quo(atan(x), pi()) }),
		"atan2pi":       func(a [4]*big.Float) *big.Float { return quo(atan2(a[0], a[1]), pi()) },
		"tanpi":         one(func(x *big.Float) *big.Float { return quo(sin(mul(pi(), x)), cos(mul(pi(), x))) }),
		"normcdfinv":    one(func(x *big.Float) *big.Float { return neg(mul(sqrt(float(2)), erfcinv(mul(float(2), x)))) }),
		"rootn":         func(a [4]*big.Float) *big.Float { return exp(quo(log(a[0]), float(math.Trunc(near(a[1]))))) },
		"acos":          one(func(x *big.Float) *big.Float { return atan2(side(x), x) }),
		"acosh":         one(func(x *big.Float) *big.Float { return hyperbolic(x, float(-1)) }),
		"asin":          one(func(x *big.Float) *big.Float { return atan2(x, side(x)) }),
		"asinh":         one(func(x *big.Float) *big.Float { return hyperbolic(x, float(1)) }),
		"atan":          one(atan),
		"atan2":         func(a [4]*big.Float) *big.Float { return atan2(a[0], a[1]) },
		"atanh":         one(func(x *big.Float) *big.Float { return half(log(quo(add(float(1), x), sub(float(1), x))), 1) }),
		"cbrt":          one(cbrt),
		"cos":           one(cos),
		"cosh":          one(cosh),
		"cospi":         one(func(x *big.Float) *big.Float { return cos(mul(pi(), x)) }),
		"erf":           one(erf),
		"erfc":          one(erfc),
		"erfcinv":       one(erfcinv),
		"erfinv":        one(erfinv),
		"erfcx":         one(func(x *big.Float) *big.Float { return mul(exp(mul(x, x)), erfc(x)) }),
		"exp":           one(exp),
		"exp10":         one(func(x *big.Float) *big.Float { return exp(mul(x, log(float(10)))) }),
		"exp2":          one(func(x *big.Float) *big.Float { return exp(mul(x, log(float(2)))) }),
		"expm1":         one(func(x *big.Float) *big.Float { return sub(exp(x), float(1)) }),
		"hypot":         squares(2),
		"lgamma":        one(lgamma),
		"log":           one(log),
		"log10":         ratio(10),
		"log1p":         one(func(x *big.Float) *big.Float { return log(add(float(1), x)) }),
		"log2":          ratio(2),
		"norm3d":        squares(3),
		"norm4d":        squares(4),
		"normcdf":       one(func(x *big.Float) *big.Float { return half(erfc(neg(quo(x, sqrt(float(2))))), 1) }),
		"rcbrt":         one(func(x *big.Float) *big.Float { return inverse(cbrt(x)) }),
		"rhypot":        func(a [4]*big.Float) *big.Float { return inverse(squares(2)(a)) },
		"rnorm3d":       func(a [4]*big.Float) *big.Float { return inverse(squares(3)(a)) },
		"rnorm4d":       func(a [4]*big.Float) *big.Float { return inverse(squares(4)(a)) },
		"rsqrt":         one(func(x *big.Float) *big.Float { return inverse(sqrt(x)) }),
		"sin":           one(sin),
		"sinh":          one(sinh),
		"sinpi":         one(func(x *big.Float) *big.Float { return sin(mul(pi(), x)) }),
		"tan":           one(func(x *big.Float) *big.Float { return quo(sin(x), cos(x)) }),
		"tanh":          one(func(x *big.Float) *big.Float { return quo(sinh(x), cosh(x)) }),
		"tgamma":        one(func(x *big.Float) *big.Float { return exp(lgamma(x)) }),
	}
	for alias, of := range map[string]string{"sincos: sin": "sin", "sincos: cos": "cos", "sincospi: sinpi": "sinpi", "sincospi: cospi": "cospi", "lgamma_r": "lgamma",
		"__ocml_sincos: sin": "sin", "__ocml_sincos: cos": "cos", "__ocml_sincospi: sinpi": "sinpi", "__ocml_sincospi: cospi": "cospi"} {
		table[alias] = table[of]
	}
	return table[name]
}

// reference returns what an ideal function would: in f32 by Go's package math in f64,
// in f64, and of functions that Go is not exact enough for, by 256 bits where there is a
// way. pow of a negative number, which has none, is Go's.
func (f Function) reference(k Kind) func(p [4]float64) float64 {
	wide := exact(f.Name)
	switch {
	case k == F16, k == F32 && !f.Wide:
		return f.Want
	case f.Name == "pow" || f.Name == "powr":
		return func(p [4]float64) float64 {
			if p[0] <= 0 {
				return f.Want(p)
			}
			return near(exp(mul(float(p[1]), log(float(p[0])))))
		}
	case wide == nil:
		return f.Want
	}
	return func(p [4]float64) float64 {
		var a [4]*big.Float
		for i, v := range p {
			a[i] = float(v)
		}
		return near(wide(a))
	}
}
