package emulator

import (
	"math"
	"math/big"
	"sync"
)

// piBits is how many bits of 2/π V_TRIG_PREOP_F64 knows ("Vega" ISA).
const piBits = 1201

// twoOverPi is 2/π times 2^piBits, by Machin's formula.
var twoOverPi = sync.OnceValue(func() *big.Int {
	const digits = piBits + 64
	arctan := func(inverse int64) *big.Int { // of 1/inverse, times 2^digits
		term := new(big.Int).Lsh(big.NewInt(1), digits)
		term.Quo(term, big.NewInt(inverse))
		sum, square := new(big.Int).Set(term), big.NewInt(inverse*inverse)
		for n := int64(3); term.Sign() != 0; n += 2 {
			term.Quo(term, square)
			part := new(big.Int).Quo(term, big.NewInt(n))
			if n%4 == 3 {
				sum.Sub(sum, part)
			} else {
				sum.Add(sum, part)
			}
		}
		return sum
	}
	pi := arctan(5)
	pi.Mul(pi, big.NewInt(16)).Sub(pi, new(big.Int).Mul(arctan(239), big.NewInt(4)))
	two := new(big.Int).Lsh(big.NewInt(2), digits+piBits)
	return two.Quo(two, pi)
})

// trigPreop is V_TRIG_PREOP_F64: 53 bits of 2/π, from where the exponent of a and
// the segment say.
func trigPreop(a, segment uint64) uint64 {
	exp := int(a >> 52 & 0x7ff)
	shift := int(segment&31) * 53
	if exp > 1077 {
		shift += exp - 1077
	}
	if shift >= piBits {
		return 0
	}
	bits := new(big.Int).Lsh(twoOverPi(), uint(shift))
	bits.Rsh(bits, piBits-53)
	v := bits.And(bits, big.NewInt(1<<53-1)).Uint64()
	scale := -53 - shift
	if exp >= 1968 {
		scale += 128
	}
	return u64(math.Ldexp(float64(v), scale))
}
