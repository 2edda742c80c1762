package devicelib

import (
	"math"
	"math/big"
)

// Kind is what 64 bits hold: a float of 16, 32 or 64 bits, or a whole number, in the
// low bits.
type Kind byte

// The kinds.
const (
	F16   Kind = 'h'
	F32   Kind = 'f'
	F64   Kind = 'd'
	Word8 Kind = 'b'
	Half  Kind = 's' // 16 bits
	Word  Kind = 'i' // 32 bits
	Long  Kind = 'l' // 64 bits
	Small Kind = '5' // 0 to 40: an amount to shift by, or a place
	Pair  Kind = 'p' // two floats of 16 bits
	Exp   Kind = 'e' // an exponent, 32 bits: -80 to 80, and now and then one that is far off
)

// format is what IEEE 754 says of a float: bits of the significand, the smallest and
// the largest exponent.
func (k Kind) format() (precision, low, high int) {
	switch k {
	case F16:
		return 11, -14, 15
	case F32:
		return 24, -126, 127
	}
	return 53, -1022, 1023
}

// width is the bits that are used.
func (k Kind) width() int {
	switch k {
	case Word8:
		return 8
	case F16, Half:
		return 16
	case F64, Long:
		return 64
	}
	return 32
}

func (k Kind) float() bool { return k == F16 || k == F32 || k == F64 }

// mask cuts to the bits that are used.
func (k Kind) mask(v uint64) uint64 { return v << (64 - k.width()) >> (64 - k.width()) }

// value reads a float. All values of the three formats fit f64.
func (k Kind) value(bits uint64) float64 {
	switch k {
	case F32:
		return float64(math.Float32frombits(uint32(bits)))
	case F64:
		return math.Float64frombits(bits)
	}
	precision, low, _ := k.format()
	fraction := bits & (1<<(precision-1) - 1)
	field := int(bits>>(precision-1)) & 31
	v := math.Ldexp(float64(fraction), low-precision+1)
	switch {
	case field == 31 && fraction != 0:
		v = math.NaN()
	case field == 31:
		v = math.Inf(1)
	case field > 0:
		v = math.Ldexp(float64(fraction|1<<(precision-1)), low+field-1-precision+1)
	}
	if bits>>15&1 != 0 {
		return math.Copysign(v, -1)
	}
	return v
}

// bits writes a float, rounded to nearest.
func (k Kind) bits(v float64) uint64 {
	switch k {
	case F64:
		return math.Float64bits(v)
	case F32:
		return uint64(math.Float32bits(float32(v)))
	}
	switch {
	case math.IsNaN(v):
		return uint64(b2i(math.Signbit(v)))<<15 | 0x7e00
	case math.IsInf(v, 0), v == 0:
		return uint64(b2i(math.Signbit(v)))<<15 | uint64(b2i(v != 0))*0x7c00
	}
	return k.round(big.ToNearestEven, new(big.Float).SetFloat64(v))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// round writes a number, which is not zero unless it is +0 or -0 itself, in one of the
// four directions of IEEE 754, subnormal numbers and overflow included.
func (k Kind) round(mode big.RoundingMode, x *big.Float) uint64 {
	precision, low, high := k.format()
	sign := uint64(0)
	if x.Signbit() {
		sign = 1 << (k.width() - 1)
	}
	if x.Sign() == 0 {
		return sign
	}
	away := mode == big.ToPositiveInf && !x.Signbit() || mode == big.ToNegativeInf && x.Signbit()
	infinity := uint64(high-low+2) << (precision - 1)
	e := max(x.MantExp(nil)-1, low)
	if e > high {
		return sign | infinity - uint64(b2i(!away && mode != big.ToNearestEven))
	}
	scaled := new(big.Float).SetMantExp(new(big.Float).Abs(x), precision-1-e)
	units, _ := scaled.Int64() // below 2^precision
	rest := new(big.Float).SetPrec(0).Sub(scaled, new(big.Float).SetInt64(units))
	if rest.Sign() != 0 {
		half := rest.Cmp(big.NewFloat(0.5))
		if away || mode == big.ToNearestEven && (half > 0 || half == 0 && units&1 == 1) {
			units++
		}
	}
	field := uint64(e-low)<<(precision-1) + uint64(units) // a carry goes into the exponent by itself
	return sign | field
}

// exactly computes x+y, x*y or x*y+z without an error and rounds it once. Zeros,
// infinities and NaN are as IEEE 754 says.
func (k Kind) exactly(mode big.RoundingMode, x, y, z float64) uint64 {
	special := x*y + z
	p := x * y
	if math.IsNaN(special) || math.IsInf(x, 0) || math.IsInf(y, 0) || math.IsInf(z, 0) {
		if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) && !math.IsNaN(p) {
			special = z // a product that only f64 cannot hold is no infinity
		}
		return k.bits(special)
	}
	wide := func(v float64) *big.Float { return new(big.Float).SetPrec(4400).SetFloat64(v) } // holds any sum
	sum := wide(0)
	product := wide(0).Mul(wide(x), wide(y))
	sum.Add(product, wide(z))
	if sum.Sign() == 0 {
		negative := math.Signbit(x) != math.Signbit(y)
		if product.Sign() != 0 || negative != math.Signbit(z) { // it cancels
			negative = mode == big.ToNegativeInf
		}
		return uint64(b2i(negative)) << (k.width() - 1)
	}
	return k.round(mode, sum)
}
