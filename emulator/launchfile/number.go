package launchfile

import "math"

// number is a value of an expression: a signed or unsigned whole number of 64 bits
// or a floating-point one.
type number struct {
	kind kind
	bits uint64
}

type kind uint8

const (
	signed kind = iota
	unsigned
	float
)

func integer(i int64) number    { return number{signed, uint64(i)} }
func floating(f float64) number { return number{float, math.Float64bits(f)} }

func truth(b bool) number {
	if b {
		return integer(1)
	}
	return integer(0)
}

// float returns the value as a floating-point number.
func (n number) float() float64 {
	switch n.kind {
	case signed:
		return float64(int64(n.bits))
	case unsigned:
		return float64(n.bits)
	}
	return math.Float64frombits(n.bits)
}

// whole returns the value as the low 64 bits of a whole number, without the
// fraction. What has no such value is cut to the range of 64 bits.
func (n number) whole() uint64 {
	if n.kind != float {
		return n.bits
	}
	f := math.Trunc(n.float())
	switch {
	case math.IsNaN(f):
		return 0
	case f >= 1<<64:
		return math.MaxUint64
	case f >= 1<<63:
		return uint64(f-1<<63) + 1<<63
	case f < -1<<63:
		return 1 << 63
	}
	return uint64(int64(f))
}

func (n number) zero() bool {
	if n.kind == float {
		return n.float() == 0
	}
	return n.bits == 0
}

// alike returns the kind in which two numbers meet, as in C: floating point before
// unsigned before signed.
func alike(a, b number) kind { return max(a.kind, b.kind) }
