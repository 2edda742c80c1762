package devicelib

import (
	"math/cmplx"
)

// complexes are the library's functions of complex numbers, each part for itself. HIP
// has no names for them. The reference of f64 is Go's, whose own errors count as the
// device's.
func complexes() []Function {
	var list []Function
	part := func(name, half string, args int, f func(x, y complex128) complex128) Function {
		fn := Function{Name: name + ": " + half, Bound32: -1, Bound64: -1, Limit: complexLimit}
		numbers := "(V){x, y}"
		if args == 2 {
			numbers += ", (V){z, w}"
		}
		field := ".x"
		fn.Want = func(a [4]float64) float64 { return real(f(complex(a[0], a[1]), complex(a[2], a[3]))) }
		if half == "imaginary" {
			field = ".y"
			fn.Want = func(a [4]float64) float64 { return imag(f(complex(a[0], a[1]), complex(a[2], a[3]))) }
		}
		fn.Call = "({ typedef % V __attribute__((ext_vector_type(2))); __ocml_" + name + "_$(" + numbers + ")" + field + "; })"
		for range 2 * args {
			fn.From, fn.To = append(fn.From, 0.25), append(fn.To, 3)
		}
		return fn
	}
	for _, c := range []struct {
		name string
		f    func(complex128) complex128
	}{{"cacos", cmplx.Acos}, {"cacosh", cmplx.Acosh}, {"casin", cmplx.Asin}, {"casinh", cmplx.Asinh}, {"catan", cmplx.Atan}, {"catanh", cmplx.Atanh},
		{"ccos", cmplx.Cos}, {"ccosh", cmplx.Cosh}, {"csin", cmplx.Sin}, {"csinh", cmplx.Sinh}, {"ctan", cmplx.Tan}, {"ctanh", cmplx.Tanh},
		{"cexp", cmplx.Exp}, {"clog", cmplx.Log}, {"csqrt", cmplx.Sqrt}} {
		for _, half := range []string{"real", "imaginary"} {
			list = append(list, part(c.name, half, 1, func(x, _ complex128) complex128 { return c.f(x) }))
		}
	}
	for _, half := range []string{"real", "imaginary"} {
		list = append(list, part("cdiv", half, 2, func(x, y complex128) complex128 { return x / y }))
	}
	abs := part("cabs", "real", 1, func(x, _ complex128) complex128 { return complex(cmplx.Abs(x), 0) })
	abs.Name, abs.Call = "cabs", "({ typedef % V __attribute__((ext_vector_type(2))); __ocml_cabs_$((V){x, y}); })"
	return append(list, abs)
}

// complexLimit is for parts that nearly cancel.
const complexLimit = 64
