package devicelib

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// HIP lists the functions of whole numbers, and the conversions with a direction, that
// HIP's headers have for the device.
func HIP() []Exact {
	i := func(v uint64) int64 { return int64(int32(v)) }
	w := func(v int64) uint64 { return uint64(uint32(v)) }
	fn := func(name, code string, args string, f func(a, b, c uint64) uint64) Exact {
		e := Exact{Name: name, Covers: []string{}, Code: "r = bits(" + code + ");", R: Long, S: Long, Want: func(a [3]uint64) (uint64, uint64) { return f(a[0], a[1], a[2]), 0 }}
		for n := range args {
			e.Args[n] = Kind(args[n])
		}
		return e
	}
	perm := func(a, b, c uint64) (r uint64) {
		for n := range 4 {
			r |= (b<<32 | a) >> (8 * (c >> (4 * n) & 7)) & 255 << (8 * n)
		}
		return r
	}
	list := []Exact{
		fn("__brev", "__brev((u32)a)", "i", func(a, _, _ uint64) uint64 { return uint64(bits.Reverse32(uint32(a))) }),
		fn("__brevll", "__brevll(a)", "l", func(a, _, _ uint64) uint64 { return bits.Reverse64(a) }),
		fn("__byte_perm", "__byte_perm((u32)a, (u32)b, (u32)c)", "iii", perm),
		fn("__clz", "__clz((int)a)", "i", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }),
		fn("__clzll", "__clzll((s64)a)", "l", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a)) }),
		fn("__ffs", "__ffs((int)a)", "i", func(a, _, _ uint64) uint64 { return uint64(bits.TrailingZeros32(uint32(a))+1) % 33 }),
		fn("__ffsll", "__ffsll((s64)a)", "l", func(a, _, _ uint64) uint64 { return uint64(bits.TrailingZeros64(a)+1) % 65 }),
		fn("__popc", "__popc((u32)a)", "i", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }),
		fn("__popcll", "__popcll(a)", "l", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }),
		fn("__fns32", "__fns32(a, 0, 1 + (int)b % 8)", "i5", func(a, b, _ uint64) uint64 {
			for n := b % 8; n > 0; n-- {
				a &= a - 1
			}
			if a == 0 {
				return math.MaxUint32
			}
			return uint64(bits.TrailingZeros64(a))
		}),
		fn("__funnelshift_l", "__funnelshift_l((u32)a, (u32)b, (u32)c)", "ii5", func(a, b, c uint64) uint64 { return (b<<32 | a) << (c & 31) >> 32 }),
		fn("__funnelshift_lc", "__funnelshift_lc((u32)a, (u32)b, (u32)c)", "ii5", func(a, b, c uint64) uint64 { return (b<<32 | a) << min(c, 32) >> 32 }),
		fn("__funnelshift_r", "__funnelshift_r((u32)a, (u32)b, (u32)c)", "ii5", func(a, b, c uint64) uint64 { return (b<<32 | a) >> (c & 31) & math.MaxUint32 }),
		fn("__funnelshift_rc", "__funnelshift_rc((u32)a, (u32)b, (u32)c)", "ii5", func(a, b, c uint64) uint64 { return (b<<32 | a) >> min(c, 32) & math.MaxUint32 }),
		fn("__hadd", "__hadd((int)a, (int)b)", "ii", func(a, b, _ uint64) uint64 { return w((i(a) + i(b)) >> 1) }),
		fn("__rhadd", "__rhadd((int)a, (int)b)", "ii", func(a, b, _ uint64) uint64 { return w((i(a) + i(b) + 1) >> 1) }),
		fn("__uhadd", "__uhadd((u32)a, (u32)b)", "ii", func(a, b, _ uint64) uint64 { return (a + b) >> 1 }),
		fn("__urhadd", "__urhadd((u32)a, (u32)b)", "ii", func(a, b, _ uint64) uint64 { return (a + b + 1) >> 1 }),
		// The header's difference is of ints: it must not overflow.
		fn("__sad", "__sad((int)a >> 1, (int)b >> 1, (u32)c)", "iii", func(a, b, c uint64) uint64 {
			x, y := i(a)>>1, i(b)>>1
			return w(max(x-y, y-x) + int64(c))
		}),
		fn("__usad", "__usad((u32)a, (u32)b, (u32)c)", "iii", func(a, b, c uint64) uint64 { return w(int64(max(a, b) - min(a, b) + c)) }),
		fn("__mul24", "__mul24((int)a, (int)b)", "ii", func(a, b, _ uint64) uint64 { return w((i(a<<8) >> 8) * (i(b<<8) >> 8)) }),
		fn("__umul24", "__umul24((u32)a, (u32)b)", "ii", func(a, b, _ uint64) uint64 { return w(int64(a & 0xffffff * (b & 0xffffff))) }),
		fn("__mulhi", "__mulhi((int)a, (int)b)", "ii", func(a, b, _ uint64) uint64 { return w(i(a) * i(b) >> 32) }),
		fn("__umulhi", "__umulhi((u32)a, (u32)b)", "ii", func(a, b, _ uint64) uint64 { return a * b >> 32 }),
		fn("__umul64hi", "__umul64hi(a, b)", "ll", func(a, b, _ uint64) uint64 { h, _ := bits.Mul64(a, b); return h }),
		fn("__mul64hi", "__mul64hi((s64)a, (s64)b)", "ll", func(a, b, _ uint64) uint64 {
			h, _ := bits.Mul64(a, b)
			return h - a>>63*b - b>>63*a
		}),
		fn("__hiloint2double", "__hiloint2double((int)a, (int)b)", "ii", func(a, b, _ uint64) uint64 { return a<<32 | b }),
		fn("__double2hiint", "__double2hiint(f64(a))", "l", func(a, _, _ uint64) uint64 { return a >> 32 }),
		fn("__double2loint", "__double2loint(f64(a))", "l", func(a, _, _ uint64) uint64 { return a & math.MaxUint32 }),
		fn("__float_as_int", "__float_as_int(f32(a))", "i", func(a, _, _ uint64) uint64 { return a }),
		fn("__int_as_float", "__int_as_float((int)a)", "i", func(a, _, _ uint64) uint64 { return a }),
	}
	for dir, round := range map[string]func(float64) float64{"rd": math.Floor, "rn": math.RoundToEven, "ru": math.Ceil, "rz": math.Trunc} {
		mode := map[string]big.RoundingMode{"rd": big.ToNegativeInf, "rn": big.ToNearestEven, "ru": big.ToPositiveInf, "rz": big.ToZero}[dir]
		for _, from := range floats()[1:] {
			for to, c := range map[string]struct{ low, high float64 }{"int": {math.MinInt32, math.MaxInt32}, "uint": {0, math.MaxUint32}, "ll": {math.MinInt64, math.MaxInt64}, "ull": {0, math.MaxUint64}} {
				name := "__" + from.cpp + "2" + to + "_" + dir
				wide := len(to) == 2 || to == "ull"
				// Numbers that do not fit are left to the compiler: not compared.
				e := fn(name, fmt.Sprintf("%s(%s(a))", name, from.name), string(rune(from.kind)), nil)
				e.Code = fmt.Sprintf("auto x = %s(a); if (x >= %s && x <= %s) r = bits(%s(x));", from.name, literal(c.low), literal(c.high/1.0001), name)
				e.Want = func(a [3]uint64) (uint64, uint64) {
					x := from.kind.value(a[0])
					low, high := from.kind.value(from.kind.bits(c.low)), c.high/1.0001
					if math.IsNaN(x) || x < low || x > high {
						return 0, 0
					}
					v := round(x)
					if v < 0 {
						if wide {
							return uint64(int64(v)), 0
						}
						return uint64(uint32(int64(v))), 0
					}
					return uint64(v), 0
				}
				list = append(list, e)
			}
		}
		k := floats()[1].kind
		narrow := fn("__double2float_"+dir, "__double2float_"+dir+"(f64(a))", "d", func(a, _, _ uint64) uint64 {
			if x := F64.value(a); math.IsNaN(x) || math.IsInf(x, 0) {
				return k.bits(x)
			}
			return k.round(mode, new(big.Float).SetFloat64(F64.value(a)))
		})
		narrow.R = F32
		list = append(list, narrow)
	}
	return list
}

func literal(v float64) string { return fmt.Sprintf("%.1f", v) }
