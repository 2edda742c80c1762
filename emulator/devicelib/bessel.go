package devicelib

import (
	"math"
	"math/big"
)

// gamma returns Euler's constant, by the way of Brent and McMillan: the quotient of two
// Bessel functions of 2n, less the logarithm of n. The error is about exp(-4n).
func gamma() *big.Float {
	const n = 60
	a, b, h, term := fresh(), float(1), fresh(), float(1)
	for k := 1.0; k < 600; k++ {
		term = quo(mul(term, float(n*n)), float(k*k))
		h = add(h, quo(float(1), float(k)))
		a, b = add(a, mul(term, h)), add(b, term)
		if tiny(term, b) {
			break
		}
	}
	return sub(quo(a, b), log(float(n)))
}

// bessel is the series of J (sign -1) and I (sign 1) of a whole order.
func bessel(order int, sign float64, x *big.Float) *big.Float {
	h := half(x, 1)
	term := float(1)
	for k := 1; k <= order; k++ {
		term = quo(mul(term, h), float(float64(k)))
	}
	sum, h2 := fresh().Set(term), mul(mul(h, h), float(sign))
	for k := 1.0; k < 1000; k++ {
		term = quo(mul(term, h2), float(k*(k+float64(order))))
		sum = add(sum, term)
		if tiny(term, sum) {
			break
		}
	}
	return sum
}

// besselI is the modified function of order 0 or 1 in f64. Beyond 30 it is larger than
// f16 knows.
func besselI(order int, x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case math.Abs(x) > 30:
		return math.Copysign(math.Inf(1), math.Pow(x, float64(2-order)))
	}
	return near(bessel(order, 1, float(x)))
}

// besselY is the series of Y of a whole order, for x above 0 (Abramowitz and Stegun,
// 9.1.11).
func besselY(order int, x *big.Float) *big.Float {
	n := float64(order)
	h := half(x, 1)
	h2 := mul(h, h)
	power := float(1) // (x/2)^n
	factorial := float(1)
	for k := 1.0; k <= n; k++ {
		power, factorial = mul(power, h), mul(factorial, float(k))
	}
	sum := mul(float(2), mul(log(h), bessel(order, -1, x)))
	// The finite part: (n-k-1)!/k! (x/2)^(2k-n).
	if order > 0 {
		term := quo(quo(factorial, float(n)), power)
		for k := 0.0; k < n; k++ {
			sum = sub(sum, term)
			if k+1 < n {
				term = quo(mul(term, h2), float((k+1)*(n-k-1)))
			}
		}
	}
	// The series: psi(k+1) + psi(n+k+1), where psi(m+1) is the sum of 1/1 to 1/m, less gamma.
	first, second := neg(gamma()), neg(gamma())
	for k := 1.0; k <= n; k++ {
		second = add(second, quo(float(1), float(k)))
	}
	term := quo(power, factorial)
	for k := 0.0; k < 1000; k++ {
		part := mul(term, add(first, second))
		sum = sub(sum, part)
		if k > 1 && tiny(part, sum) {
			break
		}
		first, second = add(first, quo(float(1), float(k+1))), add(second, quo(float(1), float(n+k+1)))
		term = neg(quo(mul(term, h2), float((k+1)*(n+k+1))))
	}
	return quo(sum, pi())
}

// invert improves on an answer by Newton's method: f is increasing where slope is
// positive.
func invert(y, start *big.Float, f, slope func(*big.Float) *big.Float) *big.Float {
	x := start
	for range 6 {
		x = sub(x, quo(sub(f(x), y), slope(x)))
	}
	return x
}

func erfSlope(x *big.Float) *big.Float {
	return quo(mul(float(2), exp(neg(mul(x, x)))), sqrt(pi()))
}

func erfinv(y *big.Float) *big.Float {
	return invert(y, float(math.Erfinv(near(y))), erf, erfSlope)
}

func erfcinv(y *big.Float) *big.Float {
	return invert(y, float(math.Erfcinv(near(y))), erfc, func(x *big.Float) *big.Float { return neg(erfSlope(x)) })
}
