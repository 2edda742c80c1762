package conformance

import (
	"math"
	"math/bits"
	"unsafe"
)

// all is the corpus for waves of that many lanes.
func all(size int) *corpus {
	c := &corpus{}
	arithmetic[int8](c, "i8")
	arithmetic[uint8](c, "u8")
	arithmetic[int16](c, "i16")
	arithmetic[uint16](c, "u16")
	arithmetic[int32](c, "i32")
	arithmetic[uint32](c, "u32")
	arithmetic[int64](c, "i64")
	arithmetic[uint64](c, "u64")
	manipulation(c)
	floating[float32](c, "f32", "f")
	floating[float64](c, "f64", "")
	conversions(c)
	approximations(c)
	halves(c)
	packed(c)
	memory(c)
	atomics(c)
	flow(c)
	lanes(c, size)
	groups(c)
	return c
}

type integer interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64
}

func pick[T any](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

// arithmetic is what every whole type can do. It is compiled with -fwrapv.
func arithmetic[T integer](c *corpus, class string) {
	var zero T
	mask := T(unsafe.Sizeof(zero)*8 - 1)
	above := func(y T) T { return pick(y > 1, y, 3) }
	expr(c, class, "x + y", func(x, y T) T { return x + y })
	expr(c, class, "x - y", func(x, y T) T { return x - y })
	expr(c, class, "x * y", func(x, y T) T { return x * y })
	expr(c, class, "(x & y) | (x ^ ~y)", func(x, y T) T { return x&y | (x ^ ^y) })
	expr(c, class, "x << (y & (sizeof(x) * 8 - 1))", func(x, y T) T { return x << (y & mask) })
	expr(c, class, "x >> (y & (sizeof(x) * 8 - 1))", func(x, y T) T { return x >> (y & mask) })
	expr(c, class, "x / (y > 1 ? y : 3)", func(x, y T) T { return x / above(y) })
	expr(c, class, "x % (y > 1 ? y : 3)", func(x, y T) T { return x % above(y) })
	expr(c, class, "(x < y ? x : y) ^ (x >= y ? 3 : 0)", func(x, y T) T { return min(x, y) ^ pick[T](x >= y, 3, 0) })
	expr(c, class, "x == y ? 1 : x > y ? 2 : x != 0 ? 3 : 4", func(x, y T) T { return pick[T](x == y, 1, pick[T](x > y, 2, pick[T](x != 0, 3, 4))) })
}

// manipulation is of bits, and products of more bits.
func manipulation(c *corpus) {
	type u = uint32
	type l = uint64
	expr(c, "bits", "__builtin_popcount(x) + __builtin_popcountll(((u64)x << 32 | y) * 3)", func(x, y u) u { return u(bits.OnesCount32(x) + bits.OnesCount64((l(x)<<32|l(y))*3)) })
	expr(c, "bits", "__builtin_clz(x | 1) * 64 + __builtin_ctz(y | 0x80000000)", func(x, y u) u { return u(bits.LeadingZeros32(x|1)*64 + bits.TrailingZeros32(y|1<<31)) })
	expr(c, "bits", "__builtin_clzll(x | 1) * 64 + __builtin_ctzll(y | 1ull << 63)", func(x, y l) l { return l(bits.LeadingZeros64(x|1)*64 + bits.TrailingZeros64(y|1<<63)) })
	expr(c, "bits", "__builtin_bitreverse32(x) ^ __builtin_bswap32(y)", func(x, y u) u { return bits.Reverse32(x) ^ bits.ReverseBytes32(y) })
	// clang 22 at -O0 copies half of a register for gfx11 (v_mov_b16) and swaps all
	// of it (v_perm_b32).
	expr(c, "bits", "__builtin_bitreverse64(x) ^ __builtin_bswap64(y)", func(x, y l) l { return bits.Reverse64(x) ^ bits.ReverseBytes64(y) }).not("gfx11*-O0", "gfx11*/64-O0")
	expr(c, "bits", "__builtin_rotateleft32(x, y)", func(x, y u) u { return bits.RotateLeft32(x, int(y&31)) })
	expr(c, "bits", "__builtin_rotateright64(x, y)", func(x, y l) l { return bits.RotateLeft64(x, -int(y&63)) })
	expr(c, "bits", "__builtin_amdgcn_ubfe(x, y & 31, 7) + __builtin_amdgcn_sbfe(x, 3, y & 15)", func(x, y u) u {
		low := x >> (y & 31) & 127
		n := y & 15
		return low + u(int32(x>>3<<(32-n))>>(32-n))*bit(n > 0)
	})
	expr(c, "bits", "__builtin_amdgcn_alignbit(x, y, y & 31) ^ __builtin_amdgcn_alignbyte(y, x, x & 3)", func(x, y u) u {
		return u((l(x)<<32|l(y))>>(y&31)) ^ u((l(y)<<32|l(x))>>(8*(x&3)))
	})
	expr(c, "bits", "__builtin_amdgcn_perm(x, y, 0x0c010603)", func(x, y u) u {
		return y>>24 | (x>>16&255)<<8 | (y>>8&255)<<16
	})
	expr(c, "bits", "(x & 0xff) * (y >> 24) + ((x >> 8 & 0xffffff) * (y & 0xffffff))", func(x, y u) u { return x&255*(y>>24) + (x>>8)*(y&0xffffff) })
	expr(c, "bits", "(u32)((u64)x * y >> 32) ^ (u32)((i64)(i32)x * (i32)y >> 32)", func(x, y u) u {
		return u(l(x)*l(y)>>32) ^ u(int64(int32(x))*int64(int32(y))>>32)
	})
	expr(c, "bits", "(u64)((unsigned __int128)x * y >> 64) + (u64)((unsigned __int128)x * 3 + y >> 64)", func(x, y l) l {
		h, _ := bits.Mul64(x, y)
		h3, l3 := bits.Mul64(x, 3)
		_, carry := bits.Add64(l3, y, 0)
		return h + h3 + carry
	})
	expr(c, "bits", "x * y + 0x100000001b3ull * (x ^ y)", func(x, y l) l { return x*y + 0x100000001b3*(x^y) })
	expr(c, "bits", "(u64)(i32)x + (i64)(i16)y * (u8)x", func(x, y l) l { return l(int32(x)) + l(int16(y))*l(uint8(x)) })
	expr(c, "bits", "(x + y) & ~(x << 3 | y >> 5) ^ (x - y) | 5", func(x, y u) u { return (x+y)&^(x<<3|y>>5) ^ (x - y) | 5 })
	// Distances of bytes and halves; where a byte of msad's second number is zero it does not count.
	expr(c, "bits", "__builtin_amdgcn_sad_u8(x, y, 100) ^ __builtin_amdgcn_sad_hi_u8(y, x, x)", func(x, y u) u { d := apart(x, y, 8, false); return d + 100 ^ (d<<16 + x) })
	expr(c, "bits", "__builtin_amdgcn_sad_u16(x, y, y) ^ __builtin_amdgcn_msad_u8(x, y, 7)", func(x, y u) u {
		return (apart(x, y, 16, false) + y) ^ (apart(x, y, 8, true) + 7)
	})
	expr(c, "bits", "x > y ? x - y : y - x", func(x, y int64) int64 { return pick(x > y, x-y, y-x) })
	expr(c, "bits", "(i32)__builtin_amdgcn_sdot4(x, y, 100, false)", func(x, y int32) int32 {
		s := int32(100)
		for n := range 4 {
			s += int32(int8(x>>(8*n))) * int32(int8(y>>(8*n)))
		}
		return s
	}).from("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-*", "gfx101[12]", "gfx101[12]/64", "gfx103*", "gfx103*/64", "gfx10-3-*", "gfx10-3-*/64")
	expr(c, "bits", "(u32)__builtin_amdgcn_sudot4(true, x, false, y, 100, false) ^ (u32)__builtin_amdgcn_sudot8(false, x, true, y, 7, false)", func(x, y u) u {
		four, eight := int32(100), int32(7)
		for n := range 4 {
			four += int32(int8(x>>(8*n))) * int32(uint8(y>>(8*n)))
		}
		for n := range 8 {
			eight += int32(x>>(4*n)&15) * (int32(y>>(4*n)<<28) >> 28)
		}
		return u(four) ^ u(eight)
	}).from("gfx11*", "gfx11*/64", "gfx12*", "gfx12*/64")
	expr(c, "bits", "__builtin_amdgcn_udot4(x, y, 100, false) + __builtin_amdgcn_udot8(x, y, 1, false)", func(x, y u) u {
		s := u(101)
		for n := range 4 {
			s += x >> (8 * n) & 255 * (y >> (8 * n) & 255)
		}
		for n := range 8 {
			s += x >> (4 * n) & 15 * (y >> (4 * n) & 15)
		}
		return s
	}).from("gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx9-4-*", "gfx101[12]", "gfx101[12]/64", "gfx103*", "gfx103*/64", "gfx10-3-*", "gfx10-3-*/64", "gfx11*", "gfx11*/64", "gfx12*", "gfx12*/64")
}

// apart sums up how far the parts of two numbers are from each other.
func apart(x, y uint32, size uint, masked bool) (sum uint32) {
	for n := uint(0); n < 32; n += size {
		a, b := int64(x>>n)&(1<<size-1), int64(y>>n)&(1<<size-1)
		if !masked || b != 0 {
			sum += uint32(max(a-b, b-a))
		}
	}
	return sum
}

func bit(b bool) uint32 { return pick[uint32](b, 1, 0) }

type float interface{ float32 | float64 }

// floating is what both types can do. The suffix is that of C's functions.
func floating[T float](c *corpus, class, suffix string) {
	f := func(name, args string) string { return "__builtin_" + name + suffix + "(" + args + ")" }
	wide := func(g func(float64) float64) func(x, y T) T { return func(x, _ T) T { return T(g(float64(x))) } }
	expr(c, class, "x + y", func(x, y T) T { return x + y })
	expr(c, class, "x - y * y", func(x, y T) T { p := T(y * y); return x - p })
	expr(c, class, "x * y", func(x, y T) T { return x * y })
	expr(c, class, "x / y", func(x, y T) T { return x / y })
	expr(c, class, "1 / x", func(x, _ T) T { return 1 / x })
	expr(c, class, f("fma", "x, y, x"), func(x, y T) T { return fma(x, y, x) })
	expr(c, class, f("sqrt", f("fabs", "x")), wide(func(x float64) float64 { return math.Sqrt(math.Abs(x)) }))
	expr(c, class, f("floor", "x"), wide(math.Floor))
	expr(c, class, f("ceil", "x"), wide(math.Ceil))
	expr(c, class, f("trunc", "x"), wide(math.Trunc))
	expr(c, class, f("rint", "x"), wide(math.RoundToEven))
	// Which of two zeros is the smaller is left open.
	within(c, class, f("fmin", "x, y"), 0.1, func(x, y T) T { return pick(x != x, y, pick(y != y, x, min(x, y))) })
	within(c, class, f("fmax", "x, y"), 0.1, func(x, y T) T { return pick(x != x, y, pick(y != y, x, max(x, y))) })
	expr(c, class, "y == y ? "+f("copysign", "x, -y")+" : 0", func(x, y T) T { return pick(y == y, T(math.Copysign(float64(x), float64(-y))), 0) })
	expr(c, class, f("fabs", "x")+" - -y", func(x, y T) T { return T(math.Abs(float64(x))) + y })
	expr(c, class, f("ldexp", "x, 5"), wide(func(x float64) float64 { return math.Ldexp(x, 5) }))
	expr(c, class, f("ldexp", "x, -140"), func(x, _ T) T { return T(math.Ldexp(float64(x), -140)) })
	expr(c, class, "x < y ? 1 : x == y ? 2 : x > y ? 3 : 4", func(x, y T) T { return pick[T](x < y, 1, pick[T](x == y, 2, pick[T](x > y, 3, 4))) })
	expr(c, class, "(!(x < y) ? 1 : 0) + (!(x >= y) ? 2 : 0) + (x != y ? 4 : 0) + (__builtin_isunordered(x, y) ? 8 : 0)", func(x, y T) T {
		return pick[T](!(x < y), 1, 0) + pick[T](!(x >= y), 2, 0) + pick[T](x != y, 4, 0) + pick[T](x != x || y != y, 8, 0)
	})
	expr(c, class, "(x * x + y * y) * 0.5 + 1", func(x, y T) T { a, b := T(x*x), T(y*y); s := T(a + b); return T(s*0.5) + 1 })
}

// fma rounds once. The product of two f32 is exact in f64; the sum is rounded to odd
// there, so that rounding it again changes nothing.
func fma[T float](x, y, z T) T {
	if _, f64 := any(x).(float64); f64 {
		return T(math.FMA(float64(x), float64(y), float64(z)))
	}
	p, q := float64(x)*float64(y), float64(z)
	s := p + q
	if math.IsInf(s, 0) || math.IsNaN(s) {
		return T(s)
	}
	v := s - p
	e := (p - (s - v)) + (q - v)
	if e != 0 && math.Float64bits(s)&1 == 0 {
		s = math.Nextafter(s, math.Copysign(math.Inf(1), e))
	}
	return T(s)
}

func conversions(c *corpus) {
	expr(c, "convert", "(f64)x * 3", func(x, _ float32) float64 { return float64(x) * 3 })
	expr(c, "convert", "(f32)x", func(x, _ float64) float32 { return float32(x) })
	expr(c, "convert", "x", func(x, _ int32) float32 { return float32(x) })
	expr(c, "convert", "x", func(x, _ uint32) float32 { return float32(x) })
	expr(c, "convert", "x", func(x, _ int64) float32 { return float32(x) })
	expr(c, "convert", "x", func(x, _ uint64) float32 { return float32(x) })
	expr(c, "convert", "x", func(x, _ int32) float64 { return float64(x) })
	expr(c, "convert", "x", func(x, _ uint64) float64 { return float64(x) })
	expr(c, "convert", "x", func(x, _ int64) float64 { return float64(x) })
	expr(c, "convert", "(f32)(i8)x + (f32)(u8)(x >> 8) * (f32)(u16)(x >> 16)", func(x, _ uint32) float32 {
		return float32(int8(x)) + float32(float32(uint8(x>>8))*float32(uint16(x>>16)))
	})
	expr(c, "convert", "x > -2147483648.f && x < 2147483648.f ? (i32)x : 7", func(x, _ float32) int32 {
		if x > -2147483648 && x < 2147483648 {
			return int32(x)
		}
		return 7
	})
	expr(c, "convert", "x >= 0 && x < 4294967296.0 ? (u32)x : 7", func(x, _ float64) uint32 {
		if x >= 0 && x < 4294967296 {
			return uint32(x)
		}
		return 7
	})
	expr(c, "convert", "x > -9e18f && x < 9e18f ? (i64)x : 7", func(x, _ float32) int64 {
		if x > -9e18 && x < 9e18 {
			return int64(x)
		}
		return 7
	})
	expr(c, "convert", "x >= 0 && x < 1.8e19 ? (u64)x : 7", func(x, _ float64) uint64 {
		if x >= 0 && x < 1.8e19 {
			return uint64(x)
		}
		return 7
	})
	expr(c, "convert", "as<u32>(x) ^ as<u32>(-y)", func(x, y float32) uint32 {
		if x != x || y != y {
			return math.Float32bits(x) ^ math.Float32bits(y) ^ 1<<31
		}
		return math.Float32bits(x) ^ math.Float32bits(-y)
	})
}

// approximations are what the hardware offers as such: one unit in the last place,
// which AMD's documents give for them.
func approximations(c *corpus) {
	wide := func(g func(float64) float64) func(x, _ float32) float32 {
		return func(x, _ float32) float32 { return float32(g(float64(x))) }
	}
	normal := func(x float64) float64 {
		if a := math.Abs(x); a > 1e-20 && a < 1e20 {
			return a
		}
		return 3
	}
	guard := func(name string) string {
		return "__builtin_amdgcn_" + name + "(__builtin_fabsf(x) > 1e-20f && __builtin_fabsf(x) < 1e20f ? __builtin_fabsf(x) : 3.f)"
	}
	within(c, "approximate", guard("rcpf"), 1, wide(func(x float64) float64 { return 1 / normal(x) }))
	within(c, "approximate", guard("rsqf"), 1, wide(func(x float64) float64 { return 1 / math.Sqrt(normal(x)) }))
	within(c, "approximate", guard("sqrtf"), 1, wide(func(x float64) float64 { return math.Sqrt(normal(x)) }))
	within(c, "approximate", guard("logf"), 1, wide(func(x float64) float64 { return math.Log2(normal(x)) }))
	within(c, "approximate", "__builtin_amdgcn_exp2f(x > -100 && x < 100 ? x : 1)", 1, wide(func(x float64) float64 { return math.Exp2(pick(x > -100 && x < 100, x, 1)) }))
	within(c, "approximate", "__builtin_amdgcn_sinf(x > 0.01f && x < 0.24f ? x : 0.125f)", 1, wide(func(x float64) float64 {
		return math.Sin(2 * math.Pi * pick(x > float64(float32(0.01)) && x < float64(float32(0.24)), x, 0.125))
	}))
	within(c, "approximate", "__builtin_amdgcn_cosf(x > 0.01f && x < 0.24f ? x : 0.125f)", 1, wide(func(x float64) float64 {
		return math.Cos(2 * math.Pi * pick(x > float64(float32(0.01)) && x < float64(float32(0.24)), x, 0.125))
	}))
	within(c, "approximate", "x == x && y == y ? __builtin_amdgcn_fmed3f(x, y, 1.5f) : 0", 0.1, func(x, y float32) float32 {
		if x != x || y != y {
			return 0
		}
		return max(min(x, y), min(max(x, y), 1.5))
	})
}
