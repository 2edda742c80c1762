package devicelib

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
)

// Exact is a function whose result is the same to the last bit: whole numbers,
// roundings, parts of floats, and what passes between the lanes of a wave.
type Exact struct {
	Name string
	// Covers are the functions of the library that are called; Name alone when empty.
	Covers []string
	// Decl declares them; empty where HIP's headers do.
	Decl string
	// Code is C++ that sets r, and s where there is a second result, from a, b and c: all
	// are u64, and f32(a), f64(a), f16(a) and bits(x) turn them into floats and back.
	Code string
	Args [3]Kind
	R, S Kind // of the results; NaN of a float is the same as NaN
	// Want is the reference of one work-item; Wave that of a wave, for what its 64 lanes
	// give each other.
	Want func(a [3]uint64) (r, s uint64)
	Wave func(a [][3]uint64) (r, s []uint64)
}

// items of each kernel.
const items = 4096

// Verdict is what came of an Exact.
type Verdict struct {
	Name  string
	Wrong int    // of items
	First string // where something is wrong, or why it did not run
}

const head = `#define GLOBAL extern "C" __attribute__((global))
#define DEVICE __attribute__((device))
typedef unsigned long long u64; typedef long long s64; typedef unsigned u32; typedef int s32; typedef unsigned short u16; typedef unsigned char u8;
typedef _Float16 half2v __attribute__((ext_vector_type(2))); typedef float float2v __attribute__((ext_vector_type(2))); typedef double double2v __attribute__((ext_vector_type(2)));
typedef float float4v __attribute__((ext_vector_type(4)));
typedef short short2v __attribute__((ext_vector_type(2))); typedef int int2v __attribute__((ext_vector_type(2))); typedef unsigned short ushort2v __attribute__((ext_vector_type(2)));
typedef signed char char4v __attribute__((ext_vector_type(4))); typedef unsigned char uchar4v __attribute__((ext_vector_type(4)));
#define PRIVATE __attribute__((address_space(5)))
DEVICE inline float f32(u64 v) { return __builtin_bit_cast(float, (u32)v); }
DEVICE inline double f64(u64 v) { return __builtin_bit_cast(double, v); }
DEVICE inline _Float16 f16(u64 v) { return __builtin_bit_cast(_Float16, (u16)v); }
template <typename T> DEVICE inline T cast(u64 v) { u32 w = (u32)v; return __builtin_bit_cast(T, w); }
DEVICE inline u64 bits(float v) { return __builtin_bit_cast(u32, v); }
DEVICE inline u64 bits(double v) { return __builtin_bit_cast(u64, v); }
DEVICE inline u64 bits(_Float16 v) { return __builtin_bit_cast(u16, v); }
DEVICE inline u64 bits(half2v v) { return __builtin_bit_cast(u32, v); }
DEVICE inline u64 bits(short2v v) { return __builtin_bit_cast(u32, v); }
DEVICE inline u64 bits(float2v v) { return __builtin_bit_cast(u64, v); }
DEVICE inline u64 bits(u32 v) { return v; }
DEVICE inline u64 bits(s32 v) { return (u32)v; }
DEVICE inline u64 bits(bool v) { return v; }
DEVICE inline u64 bits(u8 v) { return v; }
DEVICE inline u64 bits(u16 v) { return v; }
DEVICE inline u64 bits(u64 v) { return v; }
DEVICE inline u64 bits(s64 v) { return v; }
DEVICE inline u64 bits(unsigned long v) { return v; }
DEVICE inline u64 bits(long v) { return v; }
`

func (e Exact) symbol() string { return "exact_" + strings.TrimLeft(e.Name, "_") }

// ExactSource returns the HIP source of a list: it needs HIP's headers where their
// functions are called, and none otherwise.
func ExactSource(list []Exact) string {
	var b strings.Builder
	b.WriteString(head)
	seen := map[string]bool{}
	for _, e := range list {
		if e.Decl != "" && !seen[e.Decl] {
			seen[e.Decl] = true
			fmt.Fprintf(&b, "extern \"C\" DEVICE %s\n", e.Decl)
		}
		fmt.Fprintf(&b, "GLOBAL void %s(const u64 *in, u64 *out) {\n", e.symbol())
		b.WriteString("  u32 i = __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x();\n")
		fmt.Fprintf(&b, "  u64 a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2], r = 0, s = 0; (void)a; (void)b; (void)c;\n  %s\n  out[2 * i] = r; out[2 * i + 1] = s;\n}\n", e.Code)
	}
	return b.String()
}

// Check runs a list out of a code object that ExactSource was compiled to.
func Check(ctx context.Context, dev *emulator.Device, mod *emulator.Module, list []Exact) ([]Verdict, error) {
	in, err := dev.Alloc(items * 3 * 8)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dev.Free(in) }() // it was allocated here
	out, err := dev.Alloc(items * 2 * 8)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dev.Free(out) }()
	args, err := dev.Bytes(in, items*3*8)
	if err != nil {
		return nil, err
	}
	results, err := dev.Bytes(out, items*2*8)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	var verdicts []Verdict
	for _, e := range list {
		v := Verdict{Name: e.Name}
		points := e.points()
		for i, p := range points {
			for k, bits := range p {
				le.PutUint64(args[8*(3*i+k):], bits)
			}
		}
		clear(results)
		_, err := mod.Launch(ctx, e.symbol(), emulator.Dim3{X: items / block, Y: 1, Z: 1}, emulator.Dim3{X: block, Y: 1, Z: 1},
			[][]byte{le.AppendUint64(nil, uint64(in)), le.AppendUint64(nil, uint64(out))}, emulator.Options{Budget: 1e8})
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			v.Wrong, v.First = items, err.Error()
		} else {
			v.Wrong, v.First = e.judge(points, results)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

func (e Exact) judge(points [][3]uint64, results []byte) (wrong int, first string) {
	var rs, ss []uint64
	if e.Wave == nil {
		for _, p := range points {
			r, s := e.Want(p)
			rs, ss = append(rs, r), append(ss, s)
		}
	}
	for at := 0; e.Wave != nil && at < len(points); at += 64 {
		r, s := e.Wave(points[at : at+64])
		if s == nil {
			s = make([]uint64, 64)
		}
		rs, ss = append(rs, r...), append(ss, s...)
	}
	le := binary.LittleEndian
	for i, p := range points {
		r, s := le.Uint64(results[16*i:]), le.Uint64(results[16*i+8:])
		if e.R.same(r, rs[i]) && e.S.same(s, ss[i]) {
			continue
		}
		if wrong++; wrong == 1 {
			first = fmt.Sprintf("of %#x, %#x, %#x (item %d): %#x and %#x, expected %#x and %#x", p[0], p[1], p[2], i, r, s, rs[i], ss[i])
		}
	}
	return wrong, first
}

// same compares results.
func (k Kind) same(got, want uint64) bool {
	if k == Pair {
		return F16.same(got&0xffff, want&0xffff) && F16.same(got>>16, want>>16)
	}
	if k.float() && got>>(k.width()-1)>>1 == 0 && math.IsNaN(k.value(got)) && math.IsNaN(k.value(want)) {
		return true
	}
	return got == want
}

// points are arguments: special ones beside each other first, then by chance, half of
// the floats near 1.
func (e Exact) points() [][3]uint64 {
	rng := rand.New(rand.NewPCG(7, uint64(len(e.Name))))
	list := make([][3]uint64, items)
	for i := range list {
		at := i
		for k, kind := range e.Args {
			special := kind.specials()
			if kind == 0 {
				continue
			}
			if i < items/2 {
				list[i][k] = special[at%len(special)]
				at /= len(special)
				if k > 0 && len(e.Args) > 2 && e.Args[2] != 0 { // three lists are too many pairs: by chance
					list[i][k] = special[rng.IntN(len(special))]
				}
				continue
			}
			list[i][k] = kind.random(rng)
		}
	}
	return list
}

func (k Kind) random(rng *rand.Rand) uint64 {
	switch {
	case k == Pair:
		return F16.random(rng) | F16.random(rng)<<16
	case k.float() && rng.IntN(2) == 0:
		return k.bits((rng.Float64()*2 - 1) * math.Ldexp(1, rng.IntN(24)-12))
	case k == Small:
		return rng.Uint64N(41)
	case k == Exp:
		return uint64(uint32(rng.IntN(161) - 80))
	}
	return k.mask(rng.Uint64() >> rng.IntN(k.width()))
}

// specials are the ends of a kind, and what lies around them.
func (k Kind) specials() []uint64 {
	switch {
	case k.float():
		precision, low, high := k.format()
		top := math.Ldexp(2-math.Ldexp(1, 1-precision), high)
		var list []uint64
		for _, v := range []float64{0, 1, 0.5, 1.5, 2, 2.5, 3, 0.1, 100.25, 1 - math.Ldexp(1, -precision), 1 + math.Ldexp(1, 1-precision), math.Ldexp(1, low), math.Ldexp(1, low-precision+1),
			math.Ldexp(1, low) - math.Ldexp(1, low-precision+1), math.Ldexp(3, low-precision+1), top, top / 2, math.Ldexp(1, precision-1), math.Ldexp(1, precision-1) - 0.5, math.Inf(1)} {
			list = append(list, k.bits(v), k.bits(-v))
		}
		return append(list, k.bits(math.NaN()))
	case k == Pair:
		list := F16.specials()
		for i, v := range list {
			list[i] = v | list[(i*7+3)%len(list)]<<16
		}
		return list
	case k == Small:
		return []uint64{0, 1, 2, 3, 7, 8, 15, 16, 24, 31, 32, 33}
	case k == Exp:
		return []uint64{0, 1, 0xffff_ffff, 2, 0xffff_fffe, 10, 0xffff_fff6, 24, 200, 0xffff_ff38, 2100, 0xffff_f7cc, 0x7fff_ffff, 0x8000_0000}
	}
	var list []uint64
	for _, v := range []uint64{0, 1, 2, 3, 0xff, 0x80, 0x7f, 0x8000, 0x7fff, 0xffff, 0x80_0000, 0x7f_ffff, 0xff_ffff, 0x100_0000, 0x8000_0000, 0x7fff_ffff, 0xffff_ffff, 0x1_0000_0000, 1 << 63, 1<<63 - 1, 0xaaaa_aaaa_aaaa_aaaa, 0x0123_4567_89ab_cdef} {
		list = append(list, k.mask(v), k.mask(^v))
	}
	return list
}
