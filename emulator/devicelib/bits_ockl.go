package devicelib

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
)

// OCKL lists the functions of the kernel library (ockl.bc) that have one right result:
// whole numbers, and what goes on between the lanes of a wave and of a work-group.
func OCKL() []Exact {
	return append(append(append(wholes(), packs()), waves()...), places()...)
}

// packs is the function that makes four bytes of four floats: each is the nearest number, even
// between two, and stopped at the ends, as the instruction that it is made of does it
// (OpenCL's amd_pack, cl_amd_media_ops, is written with a cast there).
func packs() Exact {
	e := ockl("pack_u32", "u32 float float float", func(a, b, c uint64) (r uint64) {
		for n, v := range []uint64{a, b, c, a} {
			x := float64(math.Float32frombits(uint32(v)))
			switch {
			case !(x > 0): // NaN too
			case x > 255:
				r |= 255 << (8 * n)
			default:
				r |= uint64(math.RoundToEven(x)) << (8 * n)
			}
		}
		return r
	})
	e.Decl = "u32 __ockl_pack_u32(float4v);"
	e.Code = "float4v v = {f32(a), f32(b), f32(c), f32(a)}; r = __ockl_pack_u32(v);"
	return e
}

// ockl is a function of 32-bit numbers unless the rest says otherwise: its C++ types,
// result first.
func ockl(name string, types string, want func(a, b, c uint64) uint64) Exact {
	t := strings.Fields(types)
	e := Exact{Name: "__ockl_" + name, R: Long, S: Long, Want: func(a [3]uint64) (uint64, uint64) { return want(a[0], a[1], a[2]), 0 }}
	e.Decl = fmt.Sprintf("%s __ockl_%s(%s);", t[0], name, strings.Join(t[1:], ", "))
	var args []string
	for i, cpp := range t[1:] {
		letter := string(rune('a' + i))
		switch cpp {
		case "float":
			args, e.Args[i] = append(args, "f32("+letter+")"), F32
		case "_Float16":
			args, e.Args[i] = append(args, "f16("+letter+")"), F16
		case "u64", "s64":
			args, e.Args[i] = append(args, "("+cpp+")"+letter), Long
		case "bool":
			args = append(args, "true") // saturate
		case "short2v", "ushort2v", "char4v", "uchar4v", "half2v":
			args, e.Args[i] = append(args, "cast<"+cpp+">("+letter+")"), Word
		default:
			args, e.Args[i] = append(args, "("+cpp+")"+letter), map[string]Kind{"u8": Word8, "u16": Half}[cpp]
			if e.Args[i] == 0 {
				e.Args[i] = Word
			}
		}
	}
	e.Code = fmt.Sprintf("r = bits(__ockl_%s(%s));", name, strings.Join(args, ", "))
	switch t[0] {
	case "float":
		e.R = F32
	case "_Float16":
		e.R = F16
	}
	return e
}

func clampTo(v, low, high int64) uint64 { return uint64(uint32(max(low, min(high, v)))) }

// wholes are functions of whole numbers, and of bits.
func wholes() []Exact {
	i := func(v uint64) int64 { return int64(int32(v)) }
	w := func(v int64) uint64 { return uint64(uint32(v)) }
	const u32, i32, i64, u64 = "u32 u32 u32", "int int int", "s64 s64 s64", "u64 u64 u64"
	const least, most = math.MinInt32, math.MaxInt32
	sat64 := func(a, b uint64, sum uint64, differ bool) uint64 {
		if int64(a) < 0 == (int64(b) < 0) != differ && int64(sum) < 0 != (int64(a) < 0) {
			return uint64(math.MaxInt64) + a>>63
		}
		return sum
	}
	bytes := func(a, b uint64, f func(x, y int64)) {
		for n := 0; n < 32; n += 8 {
			f(int64(a>>n&255), int64(b>>n&255))
		}
	}
	sad := func(a, b uint64) (s uint64) {
		bytes(a, b, func(x, y int64) { s += uint64(max(x-y, y-x)) })
		return s
	}
	msad := func(a, b uint64) (s uint64) {
		bytes(a, b, func(x, y int64) {
			if y != 0 {
				s += uint64(max(x-y, y-x))
			}
		})
		return s
	}
	quad := func(f func(a, b uint64) uint64) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) (r uint64) {
			for n := range 4 {
				r |= (f(a>>(8*n), b) + c>>(16*n)) & 0xffff << (16 * n)
			}
			return r
		}
	}
	// dot is the sum of products of parts, and c, all of them signed or none.
	dot := func(width int, signed bool) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 {
			s := int64(uint32(c))
			if signed {
				s = i(c)
			}
			for n := 0; n < 32; n += width {
				x, y := a<<(64-width-n), b<<(64-width-n)
				if signed {
					s += (int64(x) >> (64 - width)) * (int64(y) >> (64 - width))
				} else {
					s += int64(x >> (64 - width) * (y >> (64 - width)))
				}
			}
			if signed {
				return clampTo(s, least, most)
			}
			return clampTo(s, 0, math.MaxUint32)
		}
	}
	three := func(f func(x, y int64) int64, signed bool) func(a, b, c uint64) uint64 {
		return func(a, b, c uint64) uint64 {
			if signed {
				return w(f(f(i(a), i(b)), i(c)))
			}
			return w(f(f(int64(a), int64(b)), int64(c)))
		}
	}
	least2, most2 := func(x, y int64) int64 { return min(x, y) }, func(x, y int64) int64 { return max(x, y) }
	median := func(a, b, c int64) int64 { return max(min(a, b), min(max(a, b), c)) }
	list := []Exact{
		ockl("add_sat_i32", i32, func(a, b, _ uint64) uint64 { return clampTo(i(a)+i(b), least, most) }),
		ockl("sub_sat_i32", i32, func(a, b, _ uint64) uint64 { return clampTo(i(a)-i(b), least, most) }),
		ockl("add_sat_u32", u32, func(a, b, _ uint64) uint64 { return min(a+b, math.MaxUint32) }),
		ockl("sub_sat_u32", u32, func(a, b, _ uint64) uint64 { return a - min(a, b) }),
		ockl("add_sat_i64", i64, func(a, b, _ uint64) uint64 { return sat64(a, b, a+b, false) }),
		ockl("sub_sat_i64", i64, func(a, b, _ uint64) uint64 { return sat64(a, b, a-b, true) }),
		ockl("add_sat_u64", u64, func(a, b, _ uint64) uint64 {
			if s, carry := bits.Add64(a, b, 0); carry == 0 {
				return s
			}
			return math.MaxUint64
		}),
		ockl("sub_sat_u64", u64, func(a, b, _ uint64) uint64 { return a - min(a, b) }),
		ockl("mul24_i32", i32, func(a, b, _ uint64) uint64 { return w((i(a<<8) >> 8) * (i(b<<8) >> 8)) }),
		ockl("mul24_u32", u32, func(a, b, _ uint64) uint64 { return uint64(uint32(a & 0xffffff * (b & 0xffffff))) }),
		ockl("mul_hi_i32", i32, func(a, b, _ uint64) uint64 { return w(i(a) * i(b) >> 32) }),
		ockl("mul_hi_u32", u32, func(a, b, _ uint64) uint64 { return a * b >> 32 }),
		ockl("mul_hi_u64", u64, func(a, b, _ uint64) uint64 { h, _ := bits.Mul64(a, b); return h }),
		ockl("mul_hi_i64", i64, func(a, b, _ uint64) uint64 {
			h, _ := bits.Mul64(a, b)
			return h - a>>63*b - b>>63*a
		}),
		ockl("clz_u8", "u8 u8", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros8(uint8(a))) }),
		ockl("clz_u16", "u16 u16", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros16(uint16(a))) }),
		ockl("clz_u32", "u32 u32", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros32(uint32(a))) }),
		ockl("clz_u64", "u64 u64", func(a, _, _ uint64) uint64 { return uint64(bits.LeadingZeros64(a)) }),
		ockl("ctz_u8", "u8 u8", func(a, _, _ uint64) uint64 { return uint64(bits.TrailingZeros8(uint8(a))) }),
		ockl("ctz_u16", "u16 u16", func(a, _, _ uint64) uint64 { return uint64(bits.TrailingZeros16(uint16(a))) }),
		ockl("ctz_u32", "u32 u32", func(a, _, _ uint64) uint64 { return uint64(bits.TrailingZeros32(uint32(a))) }),
		ockl("ctz_u64", "u64 u64", func(a, _, _ uint64) uint64 { return uint64(bits.TrailingZeros64(a)) }),
		ockl("popcount_u32", "u32 u32", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }),
		ockl("popcount_u64", "u64 u64", func(a, _, _ uint64) uint64 { return uint64(bits.OnesCount64(a)) }),
		ockl("bfm_u32", u32, func(a, b, _ uint64) uint64 { return uint64(uint32(1<<(a&31)-1) << (b & 31)) }),
		ockl("bfe_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return a >> (b & 31) & (1<<(c&31) - 1) }),
		ockl("bfe_i32", "int int u32 u32", func(a, b, c uint64) uint64 {
			if c &= 31; c == 0 {
				return 0
			}
			return w(int64(i(a)>>(b&31)) << (64 - c) >> (64 - c))
		}),
		ockl("bitalign_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return uint64(uint32((a<<32 | b) >> (c & 31))) }),
		ockl("bytealign_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return uint64(uint32((a<<32 | b) >> (8 * (c & 3)))) }),
		ockl("lerp_u32", "u32 u32 u32 u32", func(a, b, c uint64) (r uint64) {
			for n := 0; n < 32; n += 8 {
				r |= (a>>n&255 + b>>n&255 + c>>n&1) >> 1 << n
			}
			return r
		}),
		ockl("sad_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return uint64(uint32(sad(a, b) + c)) }),
		ockl("msad_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return uint64(uint32(msad(a, b) + c)) }),
		ockl("sadhi_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return uint64(uint32(sad(a, b)<<16 + c)) }),
		ockl("sadd_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return uint64(uint32(max(a, b) - min(a, b) + c)) }),
		ockl("sadw_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 {
			for n := 0; n < 32; n += 16 {
				x, y := a>>n&0xffff, b>>n&0xffff
				c += max(x, y) - min(x, y)
			}
			return uint64(uint32(c))
		}),
		ockl("qsad_u64", "u64 u64 u32 u64", quad(sad)), ockl("mqsad_u64", "u64 u64 u32 u64", quad(msad)),
		ockl("sdot2", "int short2v short2v int bool", dot(16, true)), ockl("udot2", "u32 ushort2v ushort2v u32 bool", dot(16, false)),
		ockl("sdot4", "int char4v char4v int bool", dot(8, true)), ockl("udot4", "u32 uchar4v uchar4v u32 bool", dot(8, false)),
		ockl("sdot8", "int int int int bool", dot(4, true)), ockl("udot8", "u32 u32 u32 u32 bool", dot(4, false)),
		ockl("min3_i32", "int int int int", three(least2, true)), ockl("max3_i32", "int int int int", three(most2, true)),
		ockl("min3_u32", "u32 u32 u32 u32", three(least2, false)), ockl("max3_u32", "u32 u32 u32 u32", three(most2, false)),
		ockl("median3_i32", "int int int int", func(a, b, c uint64) uint64 { return w(median(i(a), i(b), i(c))) }),
		ockl("median3_u32", "u32 u32 u32 u32", func(a, b, c uint64) uint64 { return w(median(int64(a), int64(b), int64(c))) }),
	}
	for _, t := range floats()[:2] {
		k := t.kind
		values := func(f func(x, y, z float64) float64) func(a, b, c uint64) uint64 {
			return func(a, b, c uint64) uint64 { return k.bits(f(k.value(a), k.value(b), k.value(c))) }
		}
		types := strings.TrimSpace(strings.Repeat(t.cpp+" ", 4))
		list = append(list,
			ockl("min3_"+t.name, types, values(func(x, y, z float64) float64 { return lesser(lesser(x, y), z) })),
			ockl("max3_"+t.name, types, values(func(x, y, z float64) float64 { return greater(greater(x, y), z) })),
			ockl("median3_"+t.name, types, values(func(x, y, z float64) float64 {
				if math.IsNaN(x) || math.IsNaN(y) || math.IsNaN(z) { // the least then
					return lesser(lesser(x, y), z)
				}
				return math.Max(math.Min(x, y), math.Min(math.Max(x, y), z))
			})))
	}
	for n := range 4 {
		list = append(list, ockl(fmt.Sprintf("unpack%d_f32", n), "float u32", func(a, _, _ uint64) uint64 { return F32.bits(float64(a >> (8 * n) & 255)) }))
	}
	// Of small numbers, so that it does not matter in which order they are added. The
	// library clamps from gfx906 on, whether that is asked for or not.
	fdot := ockl("fdot2", "float half2v half2v float bool", func(a, b, c uint64) uint64 {
		return F32.bits(min(1, (float64(a&15)*float64(b&15)+float64(a>>4&15)*float64(b>>4&15)+float64(c&255))/1024))
	})
	fdot.Code = "r = bits(__ockl_fdot2(half2v{(_Float16)(int)(a & 15), (_Float16)(int)(a >> 4 & 15)}, half2v{(_Float16)(int)(b & 15), (_Float16)(int)(b >> 4 & 15)} * (_Float16)0x1p-10, (float)(int)(c & 255) * 0x1p-10f, true));"
	fdot.Args = [3]Kind{Word, Word, Word}
	return append(list, fdot)
}

// waves is what the lanes of a wave do together.
func waves() []Exact {
	var list []Exact
	for _, t := range []struct {
		name, cpp string
		kind      Kind
	}{{"i32", "int", Word}, {"u32", "u32", Word}, {"i64", "s64", Long}, {"u64", "u64", Long}, {"f16", "_Float16", F16}, {"f32", "float", F32}, {"f64", "double", F64}} {
		for _, op := range []string{"add", "min", "max", "and", "or", "xor"} {
			if t.kind.float() && len(op) == 3 && strings.Contains("and xor", op) || t.kind.float() && op == "or" {
				continue
			}
			f, identity := combine(op, t.name, t.kind)
			arg, args := "("+t.cpp+")a", t.kind
			read := func(a uint64) uint64 { return t.kind.mask(a) }
			if t.kind.float() { // small whole numbers: any order gives the same sum
				arg, args = "("+t.cpp+")((int)(a & 31) - 16)", Word
				read = func(a uint64) uint64 { return t.kind.bits(float64(a&31) - 16) }
			}
			red := Exact{Name: fmt.Sprintf("__ockl_wfred_%s_%s", op, t.name), Args: [3]Kind{args}, R: t.kind, S: Long}
			red.Decl = fmt.Sprintf("%s %s(%s);", t.cpp, red.Name, t.cpp)
			red.Code = fmt.Sprintf("r = bits(%s(%s));", red.Name, arg)
			red.Wave = func(a [][3]uint64) (r, s []uint64) {
				v := identity
				for _, x := range a {
					v = f(v, read(x[0]))
				}
				for range a {
					r = append(r, v)
				}
				return r, nil
			}
			scan := Exact{Name: fmt.Sprintf("__ockl_wfscan_%s_%s", op, t.name), Args: [3]Kind{args}, R: t.kind, S: t.kind}
			scan.Decl = fmt.Sprintf("%s %s(%s, bool);", t.cpp, scan.Name, t.cpp)
			scan.Code = fmt.Sprintf("r = bits(%s(%s, true)); s = bits(%s(%s, false));", scan.Name, arg, scan.Name, arg)
			scan.Wave = func(a [][3]uint64) (r, s []uint64) {
				v := identity
				for _, x := range a {
					s = append(s, v)
					v = f(v, read(x[0]))
					r = append(r, v)
				}
				return r, s
			}
			list = append(list, red, scan)
		}
	}
	wave := func(name, decl, code string, kinds [3]Kind, f func(a [][3]uint64, lane int) uint64) Exact {
		return Exact{Name: "__ockl_" + name, Decl: decl, Code: code, Args: kinds, R: Long, S: Long, Wave: func(a [][3]uint64) (r, s []uint64) {
			for lane := range a {
				r = append(r, f(a, lane))
			}
			return r, nil
		}}
	}
	active := func(a [][3]uint64, f func(lane int, x uint64)) {
		for lane, x := range a {
			if x[1]&1 == 1 {
				f(lane, x[0])
			}
		}
	}
	one := [3]Kind{Word, Word}
	vote := func(f func(set, all int) bool) func(a [][3]uint64, lane int) uint64 {
		return func(a [][3]uint64, lane int) uint64 {
			set, all := 0, 0
			active(a, func(_ int, x uint64) { set, all = set+b2i(x&2 == 0), all+1 })
			return uint64(b2i(a[lane][1]&1 == 1 && f(set, all)))
		}
	}
	last := func(a [][3]uint64) (lane int) {
		active(a, func(n int, _ uint64) { lane = n })
		return lane
	}
	up := func(mask func(uint64) uint64) func(a [][3]uint64, lane int) uint64 {
		return func(a [][3]uint64, lane int) uint64 {
			if to := lane + 5; to < len(a) {
				lane = to
			}
			return mask(a[lane][0])
		}
	}
	return append(list,
		wave("lane_u32", "u32 __ockl_lane_u32();", "r = __ockl_lane_u32();", [3]Kind{}, func(_ [][3]uint64, lane int) uint64 { return uint64(lane) }),
		wave("activelane_u32", "u32 __ockl_activelane_u32();", "if (b & 1) r = __ockl_activelane_u32();", one, func(a [][3]uint64, lane int) (n uint64) {
			active(a, func(k int, _ uint64) { n += uint64(b2i(k < lane && a[lane][1]&1 == 1)) })
			return n
		}),
		wave("alisa_u32", "u32 __ockl_alisa_u32(u32);", "if (b & 1) r = __ockl_alisa_u32((u32)a);", one, func(a [][3]uint64, lane int) (n uint64) {
			active(a, func(k int, x uint64) {
				if k >= lane && a[lane][1]&1 == 1 { // of this lane and those above it
					n += x
				}
			})
			return uint64(uint32(n))
		}),
		wave("wfany_i32", "bool __ockl_wfany_i32(int);", "if (b & 1) r = __ockl_wfany_i32((a & 2) == 0);", one, vote(func(set, _ int) bool { return set > 0 })),
		wave("wfall_i32", "bool __ockl_wfall_i32(int);", "if (b & 1) r = __ockl_wfall_i32((a & 2) == 0);", one, vote(func(set, all int) bool { return set == all })),
		wave("wfsame_i32", "bool __ockl_wfsame_i32(int);", "if (b & 1) r = __ockl_wfsame_i32((a & 2) == 0);", one, vote(func(set, all int) bool { return set == 0 || set == all })),
		wave("wfbcast_u32", "u32 __ockl_wfbcast_u32(u32, u32);", "r = __ockl_wfbcast_u32((u32)a, 37);", one, func(a [][3]uint64, _ int) uint64 { return a[37][0] }),
		wave("wfbcast_u64", "u64 __ockl_wfbcast_u64(u64, u32);", "r = __ockl_wfbcast_u64(a, 63 - (u32)__builtin_clzll(__builtin_amdgcn_ballot_w64(b & 1)) & 63);", [3]Kind{Long, Word}, func(a [][3]uint64, _ int) uint64 {
			return a[last(a)][0]
		}),
		wave("readuplane_i32", "int __ockl_readuplane_i32(int, int);", "r = bits(__ockl_readuplane_i32((int)a, 5));", one, up(Word.mask)),
		wave("readuplane_i64", "s64 __ockl_readuplane_i64(s64, int);", "r = bits(__ockl_readuplane_i64((s64)a, 5));", [3]Kind{Long}, up(Long.mask)),
	)
}

// combine returns what an operation of lanes makes of two, and what it begins with.
func combine(op, typ string, k Kind) (func(a, b uint64) uint64, uint64) {
	signed := typ[0] == 'i'
	extend := func(v uint64) int64 {
		if k == Word {
			return int64(int32(v))
		}
		return int64(v)
	}
	less := func(a, b uint64) bool {
		switch {
		case k.float():
			return k.value(a) < k.value(b)
		case signed:
			return extend(a) < extend(b)
		}
		return a < b
	}
	pick := func(want bool) func(a, b uint64) uint64 {
		return func(a, b uint64) uint64 {
			if less(a, b) == want {
				return a
			}
			return b
		}
	}
	top := k.mask(math.MaxUint64)
	switch op {
	case "and":
		return func(a, b uint64) uint64 { return a & b }, top
	case "or":
		return func(a, b uint64) uint64 { return a | b }, 0
	case "xor":
		return func(a, b uint64) uint64 { return a ^ b }, 0
	case "min":
		switch {
		case k.float():
			return pick(true), k.bits(math.Inf(1))
		case signed:
			return pick(true), top >> 1
		}
		return pick(true), top
	case "max":
		switch {
		case k.float():
			return pick(false), k.bits(math.Inf(-1))
		case signed:
			return pick(false), k.mask(top>>1 + 1)
		}
		return pick(false), 0
	}
	if k.float() {
		return func(a, b uint64) uint64 { return k.bits(k.value(a) + k.value(b)) }, 0
	}
	return func(a, b uint64) uint64 { return k.mask(a + b) }, 0
}

// places says where a work-item is, and what is behind an address. The grid is that of
// Check.
func places() []Exact {
	at := func(name, code string, want func(item uint64) uint64) Exact {
		e := Exact{Name: "__ockl_" + name, R: Long, S: Long, Code: code}
		e.Decl = "unsigned long " + e.Name + "(u32);"
		if !strings.Contains(code, "(0)") {
			e.Decl = "unsigned long " + e.Name + "();"
		}
		first := uint64(0) // waves come in their order
		e.Wave = func(a [][3]uint64) (r, s []uint64) {
			for range a {
				r = append(r, want(first%items))
				first++
			}
			return r, nil
		}
		return e
	}
	dims := func(name string, want func(item uint64) uint64) Exact {
		return at(name, fmt.Sprintf("r = __ockl_%s(0);", name), want)
	}
	constant := func(v uint64) func(uint64) uint64 { return func(uint64) uint64 { return v } }
	list := []Exact{
		dims("get_global_id", func(i uint64) uint64 { return i }), dims("get_local_id", func(i uint64) uint64 { return i % block }), dims("get_group_id", func(i uint64) uint64 { return i / block }),
		dims("get_global_offset", constant(0)), dims("get_global_size", constant(items)), dims("get_local_size", constant(block)), dims("get_num_groups", constant(items/block)), dims("get_enqueued_local_size", constant(block)),
		at("get_local_linear_id", "r = __ockl_get_local_linear_id();", func(i uint64) uint64 { return i % block }),
		at("get_global_linear_id", "r = __ockl_get_global_linear_id();", func(i uint64) uint64 { return i }),
	}
	dim := at("get_work_dim", "r = __ockl_get_work_dim();", constant(1))
	dim.Decl = "u32 __ockl_get_work_dim();"
	steady := at("steadyctr_u64", "u64 t = __ockl_steadyctr_u64(); __builtin_amdgcn_s_sleep(8); r = __ockl_steadyctr_u64() >= t && t != 0;", constant(1))
	steady.Decl = "u64 __ockl_steadyctr_u64();"
	cycle := at("cyclectr_u64", "u64 t = __ockl_cyclectr_u64(); __builtin_amdgcn_s_sleep(8); r = __ockl_cyclectr_u64() >= t && t != 0;", constant(1))
	cycle.Decl = "u64 __ockl_cyclectr_u64();"
	wait := at("rtcwait_u32", "u64 t = __builtin_readsteadycounter(); __ockl_rtcwait_u32(50); r = __builtin_readsteadycounter() - t >= 50;", constant(1))
	wait.Decl = "void __ockl_rtcwait_u32(u32);"
	spaces := at("is_local_addr", "__attribute__((shared)) static int l; int p = 0; asm volatile(\"\" : : \"v\"(&p)); r = __ockl_is_local_addr(&l) | __ockl_is_local_addr(&p) << 1 | __ockl_is_local_addr(out) << 2 | __ockl_is_private_addr(&l) << 3 | __ockl_is_private_addr(&p) << 4 | __ockl_is_private_addr(out) << 5;", constant(1|1<<4))
	spaces.Covers = []string{"__ockl_is_local_addr", "__ockl_is_private_addr"}
	spaces.Decl = "bool __ockl_is_local_addr(const void *); extern \"C\" DEVICE bool __ockl_is_private_addr(const void *);"
	convert := at("to_global", "__attribute__((shared)) static u32 l[256]; u32 p[2]; p[a & 1] = 7; asm volatile(\"\" : : \"v\"(&p) : \"memory\"); u32 t = __builtin_amdgcn_workitem_id_x(); l[t] = t; *__ockl_to_local(&l[t]) += 1; *__ockl_to_private(&p[a & 1]) += 2; __ockl_to_global(out)[2 * i + 1] = 9; asm volatile(\"\" : : \"v\"(&p) : \"memory\"); r = l[t] - t == 1 && p[a & 1] == 9; s = *(volatile u64 *)&out[2 * i + 1];", constant(1))
	convert.Covers = []string{"__ockl_to_global", "__ockl_to_local", "__ockl_to_private"}
	convert.Decl = "__attribute__((address_space(1))) u64 *__ockl_to_global(void *); extern \"C\" DEVICE __attribute__((address_space(3))) u32 *__ockl_to_local(void *); extern \"C\" DEVICE PRIVATE u32 *__ockl_to_private(void *);"
	convert.Wave = func(a [][3]uint64) (r, s []uint64) {
		for range a {
			r, s = append(r, 1), append(s, 9)
		}
		return r, s
	}
	heap := at("dm_alloc", "auto *p = (u64 *)__ockl_dm_alloc(24 + i % 7 * 100); if (p) { p[0] = i; p[2] = i * 3; r = p[0] + p[2]; __ockl_dm_dealloc((unsigned long)p); }", func(i uint64) uint64 { return 4 * i })
	heap.Covers = []string{"__ockl_dm_alloc", "__ockl_dm_dealloc"}
	heap.Decl = "__attribute__((address_space(1))) void *__ockl_dm_alloc(unsigned long); extern \"C\" DEVICE void __ockl_dm_dealloc(unsigned long);"
	atomic := at("atomic_add_noret_f32", "*(volatile u64 *)&out[2 * i] = 0; __ockl_atomic_add_noret_f32((float *)&out[2 * i], 2.5f); __ockl_atomic_add_noret_f32((float *)&out[2 * i], 1.5f); r = *(volatile u32 *)&out[2 * i];", constant(F32.bits(4)))
	atomic.Decl = "void __ockl_atomic_add_noret_f32(float *, float);"
	group := func(op string, f func(sum uint64, x uint64) uint64, start uint64) Exact {
		e := Exact{Name: "__ockl_wgred_" + op + "_i32", R: Long, S: Long}
		e.Decl = "int " + e.Name + "(int);"
		e.Code = fmt.Sprintf("r = bits(%s((int)(i %% 256 * 0x01010101u ^ i / 256)));", e.Name)
		first := uint64(0)
		e.Wave = func(a [][3]uint64) (r, s []uint64) {
			n := first / block % (items / block)
			v := start
			for t := range uint64(block) {
				v = f(v, uint64(uint32(t*0x01010101)^uint32(n)))
			}
			for range a {
				r = append(r, v&math.MaxUint32)
				first++
			}
			return r, nil
		}
		return e
	}
	return append(list, dim, steady, cycle, wait, spaces, convert, heap, atomic,
		group("add", func(s, x uint64) uint64 { return s + x }, 0), group("and", func(s, x uint64) uint64 { return s & x }, math.MaxUint32), group("or", func(s, x uint64) uint64 { return s | x }, 0))
}
