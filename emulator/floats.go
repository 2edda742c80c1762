package emulator

import (
	"math"
	"math/big"
)

// fma32 is a*b+c rounded once. The product of two f32 is exact in float64; the
// sum is rounded to odd there, so that rounding it again to f32 is right
// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums").
//
// Rounding twice differs only where the sum in float64 lies halfway between two
// f32, or where the result is denormal: the rest is done at once.
func fma32(a, b, c float32) float32 {
	p, d := float64(float64(a)*float64(b)), float64(c)
	s := p + d
	if u := math.Float64bits(s); u&0x1fffffff != 0x10000000 && u>>52&0x7ff > 1023-127 || s == 0 {
		return float32(s)
	}
	return fmaSlow(p, d, s)
}

func fmaSlow(p, d, s float64) float32 {
	back := s - p
	e := (p - (s - back)) + (d - back)
	if e != 0 && e == e && !math.IsInf(s, 0) {
		if u := math.Float64bits(s); u&1 == 0 {
			if (e > 0) == (s > 0) {
				u++
			} else {
				u--
			}
			s = math.Float64frombits(u)
		}
	}
	return float32(s)
}

// minNum and maxNum prefer a number to a NaN, and know the sign of zero.
func minNum(a, b float32) float32 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b)
}

func maxNum(a, b float32) float32 {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

func middle32(a, b, c float32) float32 {
	if a != a || b != b || c != c {
		return minNum(minNum(a, b), c)
	}
	return middle(a, b, c)
}

// legacy is a product in which zero wins against infinity and NaN.
func legacy(a, b float32) float32 {
	if a == 0 || b == 0 {
		return 0
	}
	return a * b
}

// turns gives a function of an angle in turns.
func turns(f func(float64) float64, x float64) float64 {
	return f(2 * math.Pi * (x - math.Trunc(x)))
}

func fraction(a float32) float32 {
	f := a - float32(math.Floor(float64(a)))
	return min(f, math.Float32frombits(0x3f7fffff))
}

// mantissa is in [0.5, 1), exponent makes it whole again; both leave infinity
// and NaN alone.
func mantissa(a float64) float64 {
	m, _ := math.Frexp(a)
	return m
}

func exponent(a float64) int32 {
	if a != a || math.IsInf(a, 0) {
		return 0
	}
	_, e := math.Frexp(a)
	return int32(e)
}

// ldexp scales by a power of two. For f32 the result must be rounded once: the
// float64 in between holds it exactly unless it is far below the smallest.
func ldexp(a float64, e int32, _ int) float64 {
	u := math.Float64bits(a)
	if was := int64(u << 1 >> 53); was != 0 && was != 2047 && was+int64(e) > 0 && was+int64(e) < 2047 { // as many, by far
		return math.Float64frombits(u + uint64(int64(e))<<52)
	}
	return math.Ldexp(a, int(min(max(e, -5000), 5000)))
}

// saturate converts to an integer of a range; NaN is zero.
func saturate(a, low, high float64) int64 {
	switch {
	case a != a:
		return 0
	case a <= low:
		return int64(low)
	case a >= high:
		return int64(high)
	}
	return int64(a)
}

// format is what division needs to know of f32 and f64.
type format struct {
	bits, mantissa uint // all, and of the mantissa
	scale          int  // by which numbers near the ends are scaled
	near           int  // exponents that far apart need it
}

func single() format { return format{32, 23, 64, 96} }
func double() format { return format{64, 52, 128, 768} }

func halfFormat() format { return format{16, 10, 0, 0} }

func (f format) value(v uint64) float64 {
	switch f.bits {
	case 16:
		return fromHalf(uint16(v))
	case 32:
		return float64(f32(uint32(v)))
	}
	return f64(v)
}

func (f format) bitsOf(v float64) uint64 {
	switch f.bits {
	case 16:
		return uint64(toHalf(v))
	case 32:
		return uint64(u32(float32(v)))
	}
	return u64(v)
}

func (f format) sign(v uint64) uint64  { return v >> (f.bits - 1) & 1 }
func (f format) exponent(v uint64) int { return int(v >> f.mantissa & (1<<(f.bits-1-f.mantissa) - 1)) }
func (f format) infinite(v uint64) bool {
	return v<<(65-f.bits)>>(65-f.bits) == uint64(1<<(f.bits-1-f.mantissa)-1)<<f.mantissa
}
func (f format) denormal(v float64) bool {
	return v != 0 && f.exponent(f.bitsOf(v)) == 0
}

// divScale is V_DIV_SCALE: which of denominator and numerator is scaled, and
// whether V_DIV_FMAS must undo it ("Vega" ISA, V_DIV_SCALE_F32 and _F64).
func divScale(f format, s0, den, num uint64) (uint64, bool) {
	if f.ordinary(den, num) {
		return s0, false
	}
	d, n := f.value(den), f.value(num)
	up := func() uint64 { return f.bitsOf(math.Ldexp(f.value(s0), f.scale)) }
	switch {
	case n == 0 || d == 0:
		return f.bitsOf(math.NaN()), false
	case f.exponent(num)-f.exponent(den) >= f.near:
		if s0 == den {
			return up(), true
		}
		return s0, true
	case f.denormal(d):
		return up(), false
	case f.denormal(1/d) && f.denormal(n/d):
		if s0 == den { // the documents say up, but V_DIV_FMAS takes the scale out of a larger quotient
			return f.bitsOf(math.Ldexp(f.value(s0), -f.scale)), true
		}
		return s0, true
	case f.denormal(1 / d):
		return f.bitsOf(math.Ldexp(f.value(s0), -f.scale)), false
	case f.denormal(n/d) || f.bitsOf(n/d)<<1 == 0:
		if s0 == num {
			return up(), true
		}
		return s0, true
	case f.exponent(num) <= int(f.mantissa):
		return up(), false
	}
	return s0, false
}

// divFmas is V_DIV_FMAS: a fused multiply-add whose result is scaled where
// V_DIV_SCALE has said so. It is rounded once, also where scaling makes it denormal.
func divFmas(f format, in [3]uint64, scaled bool) uint64 {
	v := math.FMA(f.value(in[0]), f.value(in[1]), f.value(in[2]))
	if f.bits == 32 {
		v = float64(fma32(f32(uint32(in[0])), f32(uint32(in[1])), f32(uint32(in[2]))))
	}
	if !scaled {
		return f.bitsOf(v)
	}
	by := -f.scale
	if f.exponent(in[2]) > 1<<(f.bits-2-f.mantissa)-1 {
		by = f.scale
	}
	u := f.bitsOf(math.Ldexp(v, by))
	if f.exponent(u) > 0 || v == 0 {
		return u
	}
	var x [3]*big.Float
	for n := range x {
		x[n] = number(f, in[n]) // finite, as the result is
	}
	exact := x[0].Add(x[0].Mul(x[0], x[1]), x[2])
	exact.SetMantExp(exact, by)
	if f.bits == 32 {
		r, _ := exact.Float32()
		return uint64(u32(r))
	}
	r, _ := exact.Float64()
	return u64(r)
}

// ordinary reports a division that needs no scale because both numbers, and their
// quotient, are far from the ends of the format.
func (f format) ordinary(den, num uint64) bool {
	top := uint64(1)<<(f.bits-1-f.mantissa) - 1
	d, n := den>>f.mantissa&top, num>>f.mantissa&top
	low := uint64(f.mantissa) + 1
	return d-low < top-2*low && n-low < top-2*low && n-d+top/4 < top/2
}

// ordinaryLanes reports that all lanes of the mask are ordinary. Of f64 it is given
// the upper words.
func (f format) ordinaryLanes(den, num *vec, mask uint64) bool {
	shift := f.mantissa & 31
	if f.bits == 64 {
		shift = f.mantissa - 32
	}
	top := uint32(1)<<(f.bits-1-f.mantissa) - 1
	low := uint32(f.mantissa) + 1
	var odd uint64
	for l := range den {
		d, n := den[l]>>shift&top, num[l]>>shift&top
		odd |= bit(d-low >= top-2*low || n-low >= top-2*low || n-d+top/4 >= top/2) << l
	}
	return odd&mask == 0
}

// divFixup is V_DIV_FIXUP: the quotient with the special cases put right.
func divFixup(f format, q, den, num uint64) uint64 {
	d, n := f.value(den), f.value(num)
	sign := (f.sign(den) ^ f.sign(num)) << (f.bits - 1)
	inf := uint64(1<<(f.bits-1-f.mantissa)-1) << f.mantissa
	quiet := uint64(1) << (f.mantissa - 1)
	if magnitude := uint64(1)<<(f.bits-1) - 1; q&magnitude <= inf && f.ordinary(den, num) {
		return q&magnitude | sign
	}
	switch {
	case n != n:
		return num | quiet
	case d != d:
		return den | quiet
	case n == 0 && d == 0, f.infinite(num) && f.infinite(den):
		return 1<<(f.bits-1) | inf | quiet
	case d == 0 || f.infinite(num):
		return sign | inf
	case f.infinite(den) || n == 0:
		return sign
	}
	if v := f.value(q); v != v { // of finite numbers: the steps before have run over
		return sign | inf
	}
	return q&^(1<<(f.bits-1)) | sign
}

// fromHalf and toHalf convert f16; toHalf rounds to nearest even.
func fromHalf(h uint16) float64 {
	if n := uint64(h >> 10 & 31); n-1 < 30 { // the usual ones
		return math.Float64frombits(uint64(h>>15)<<63 | (n+1023-15)<<52 | uint64(h&1023)<<42)
	}
	sign, e, m := float64(1), int(h>>10&31), float64(h&1023)
	if h>>15 != 0 {
		sign = -1
	}
	switch e {
	case 0:
		return math.Copysign(math.Ldexp(m, -24), sign)
	case 31:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+m, e-25)
}

func toHalf(v float64) uint16 {
	if u := math.Float64bits(v); u<<1>>53-(1023-14) < 29 { // the usual ones, from 1<<-14 to 1<<15
		u += 1<<41 - 1 + u>>42&1
		return uint16(u>>63<<15) | uint16(u<<1>>43-(1023-15)<<10)
	}
	sign := uint16(0)
	if math.Signbit(v) {
		sign, v = 1<<15, -v
	}
	switch {
	case v != v:
		return sign | 0x7e00
	case v >= 65520:
		return sign | 0x7c00
	case v < math.Ldexp(1, -14):
		return sign | uint16(math.RoundToEven(math.Ldexp(v, 24)))
	}
	m, e := math.Frexp(v) // in [0.5, 1)
	n := uint16(math.RoundToEven(math.Ldexp(m, 11)))
	return sign | uint16((e+14)<<10) + n - 1024
}

// toHalfZero rounds towards zero.
func toHalfZero(v float64) uint16 {
	h := toHalf(v)
	if back := fromHalf(h); math.Abs(back) > math.Abs(v) && !math.IsInf(v, 0) {
		return h - 1
	}
	return h
}

// product is that of V_MAD_F32 and its like, which has no denormal numbers: the
// compiler uses them only where it need not have any.
func product(a, b float32) float32 {
	p := a * b
	if p < 0x1p-126 && p > -0x1p-126 {
		return p * 0
	}
	return p
}
