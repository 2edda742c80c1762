package conformance

import (
	"fmt"
	"math"

	"github.com/stonemason-hip/stonemason/emulator/launchfile"
)

func fromHalf(h uint16) float64 { return launchfile.F16.Float64([]byte{byte(h), byte(h >> 8)}) }

func toHalf(f float64) uint16 {
	b := launchfile.F16.Bytes(f)
	return uint16(b[0]) | uint16(b[1])<<8
}

// half adds an operation of f16: the low halves of x and y, and the low half of the
// result. f64 is wide enough that rounding its result once more changes nothing.
func half(c *corpus, expression string, ulp int, want func(x, y float64) float64) {
	k := c.add(&kernel{name: "f16"})
	k.code = fmt.Sprintf("KERNEL %s(const u32 *a, const u32 *b, u32 *out, u32 n) { u32 i = GID; if (i >= n) return; f16 x = as<f16>((u16)a[i]), y = as<f16>((u16)b[i]); (void)y; out[i] = as<u16>((f16)(%s)); }\n", k.name, expression)
	k.fill = fillAs[uint32]
	k.check = func(a, b, out []byte) string {
		for i := range items {
			x, y := fromHalf(uint16(word(a, i))), fromHalf(uint16(word(b, i)))
			g, w := uint16(word(out, i)), toHalf(want(x, y))
			if g == w || math.IsNaN(fromHalf(g)) && math.IsNaN(fromHalf(w)) || ulp > 0 && g&0x7fff == 0 && w&0x7fff == 0 {
				continue
			}
			if d := int(g) - int(w); word(out, i)>>16 != 0 || ulp == 0 || max(d, -d) > ulp {
				return fmt.Sprintf("%s of x = %v, y = %v (%d): 0x%04x, want 0x%04x", expression, x, y, i, g, w)
			}
		}
		return ""
	}
}

func halves(c *corpus) {
	half(c, "x + y", 0, func(x, y float64) float64 { return x + y })
	half(c, "x - y", 0, func(x, y float64) float64 { return x - y })
	half(c, "x * y", 0, func(x, y float64) float64 { return x * y })
	half(c, "x / y", 1, func(x, y float64) float64 { return x / y }) // as far as LLVM goes by default
	half(c, "__builtin_floorf16(x)", 0, func(x, _ float64) float64 { return math.Floor(x) })
	half(c, "__builtin_rintf16(x) + (f16)1", 0, func(x, _ float64) float64 { return fromHalf(toHalf(math.RoundToEven(x))) + 1 })
	// The sign of a zero is not compared: clang 22 at -O0 makes this of gfx950's
	// v_fma_mixlo_f16, which adds 0 to it.
	half(c, "__builtin_fabsf16(x) * -y", 1, func(x, y float64) float64 { return math.Abs(x) * -y })
	half(c, "x < y ? x : y == y ? y : (f16)0", 0, func(x, y float64) float64 { return pick(x < y, x, pick(y == y, y, 0)) })
	half(c, "(f16)((f32)x * 1.25f)", 0, func(x, _ float64) float64 { return x * 1.25 })
	half(c, "(f16)(i16)(x > -1000 && x < 1000 ? x : (f16)3)", 0, func(x, _ float64) float64 { return math.Trunc(pick(x > -1000 && x < 1000, x, 3)) + 0 })
}

// packed adds operations on two values of 16 bits at once.
func packed(c *corpus) {
	pair := func(x, y uint32, f func(a, b uint16) uint16) uint32 {
		return uint32(f(uint16(x), uint16(y))) | uint32(f(uint16(x>>16), uint16(y>>16)))<<16
	}
	type u = uint32
	expr(c, "packed", "as<u32>(as<i16x2>(x) + as<i16x2>(y))", func(x, y u) u { return pair(x, y, func(a, b uint16) uint16 { return a + b }) })
	expr(c, "packed", "as<u32>(as<i16x2>(x) * as<i16x2>(y) - as<i16x2>(y))", func(x, y u) u { return pair(x, y, func(a, b uint16) uint16 { return a*b - b }) })
	expr(c, "packed", "as<u32>(as<u16x2>(x) >> (as<u16x2>(y) & (u16)15))", func(x, y u) u { return pair(x, y, func(a, b uint16) uint16 { return a >> (b & 15) }) })
	expr(c, "packed", "as<u32>(as<i16x2>(x) << (as<i16x2>(y) & (i16)15))", func(x, y u) u { return pair(x, y, func(a, b uint16) uint16 { return a << (b & 15) }) })
	expr(c, "packed", "as<u32>(__builtin_elementwise_max(as<i16x2>(x), as<i16x2>(y)))", func(x, y u) u {
		return pair(x, y, func(a, b uint16) uint16 { return uint16(max(int16(a), int16(b))) })
	})
	expr(c, "packed", "as<u32>(__builtin_elementwise_min(as<u16x2>(x), as<u16x2>(y).yx))", func(x, y u) u {
		return pair(x, y<<16|y>>16, func(a, b uint16) uint16 { return min(a, b) })
	})
	for _, op := range []string{"+", "*"} {
		k := c.add(&kernel{name: "packed"})
		k.code = fmt.Sprintf("KERNEL %s(const u32 *a, const u32 *b, u32 *out, u32 n) { u32 i = GID; if (i >= n) return; out[i] = as<u32>(as<f16x2>(a[i]) %s as<f16x2>(b[i]).yx); }\n", k.name, op)
		k.fill = fillAs[uint32]
		k.check = func(a, b, out []byte) string {
			for i := range items {
				for part := range 2 {
					x, y := fromHalf(uint16(word(a, i)>>(16*part))), fromHalf(uint16(word(b, i)>>(16-16*part)))
					g, w := uint16(word(out, i)>>(16*part)), toHalf(pick(op == "+", x+y, x*y))
					if g != w && !(math.IsNaN(fromHalf(g)) && math.IsNaN(fromHalf(w))) {
						return fmt.Sprintf("%v %s %v: 0x%04x, want 0x%04x", x, op, y, g, w)
					}
				}
			}
			return ""
		}
	}
}
