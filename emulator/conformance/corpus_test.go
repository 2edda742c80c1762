package conformance

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// items is neither a multiple of a wave nor of a work-group; room is what the
// buffers have, for kernels that do not look where they end.
const (
	items = 1000
	block = 256
	room  = 1024
)

// kernel is one of the corpus. Its buffers a and b have room elements of 8 bytes, of
// which an element of fewer bytes takes its size.
type kernel struct {
	name string // of the class, with a number behind
	code string // the definition in C++
	fill func(a, b []byte, rng *rand.Rand)
	// check compares element by element; it returns what is wrong, or nothing.
	check func(a, b, out []byte) string
	only  []string // patterns of targets; nil: all
	never []string // patterns of targets, with a level or at all of them, that cannot run it
}

// prelude gives the kernels what HIP's headers would.
const prelude = `
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16; typedef int i32; typedef unsigned int u32;
typedef long long i64; typedef unsigned long long u64; typedef float f32; typedef double f64; typedef _Float16 f16;
typedef _Float16 f16x2 __attribute__((ext_vector_type(2))); typedef short i16x2 __attribute__((ext_vector_type(2))); typedef unsigned short u16x2 __attribute__((ext_vector_type(2)));
#define TID __builtin_amdgcn_workitem_id_x()
#define BID __builtin_amdgcn_workgroup_id_x()
#define BDIM __builtin_amdgcn_workgroup_size_x()
#define GID (BID * BDIM + TID)
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#if LANES == 32
#define BALLOT __builtin_amdgcn_ballot_w32
#else
#define BALLOT __builtin_amdgcn_ballot_w64
#endif
#define KERNEL extern "C" __global__ void
#define NOINLINE static __device__ __attribute__((noinline))
#define AGENT __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT
#define GROUP __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP
template <typename T, typename F> static __device__ inline T as(F v) { T r; static_assert(sizeof(T) == sizeof(F)); __builtin_memcpy(&r, &v, sizeof r); return r; }
`

type element interface {
	int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64
}

// cname is how the prelude calls a type.
func cname[T element]() string {
	t := reflect.TypeFor[T]()
	return map[reflect.Kind]string{reflect.Int8: "i8", reflect.Uint8: "u8", reflect.Int16: "i16", reflect.Uint16: "u16", reflect.Int32: "i32", reflect.Uint32: "u32",
		reflect.Int64: "i64", reflect.Uint64: "u64", reflect.Float32: "f32", reflect.Float64: "f64"}[t.Kind()]
}

// view is memory as elements of a type. The memory is aligned to 8 bytes.
func view[T element](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(&b[0])), len(b)/int(unsafe.Sizeof(zero)))
}

// corpus collects kernels.
type corpus struct{ list []*kernel }

func (c *corpus) add(k *kernel) *kernel {
	n := 0
	for _, other := range c.list {
		if class(other.name) == k.name {
			n++
		}
	}
	k.name = fmt.Sprintf("%s_%d", k.name, n)
	c.list = append(c.list, k)
	return k
}

func class(name string) string {
	i := strings.LastIndexByte(name, '_')
	return name[:max(i, 0)]
}

// expr adds out[i] = (Out)(expression of x = a[i] and y = b[i]).
func expr[In, Out element](c *corpus, class, expression string, want func(x, y In) Out) *kernel {
	return within(c, class, expression, 0, want)
}

// within is expr whose results may be off by some units in the last place.
func within[In, Out element](c *corpus, class, expression string, ulp float64, want func(x, y In) Out) *kernel {
	k := c.add(&kernel{name: class})
	in, out := cname[In](), cname[Out]()
	k.code = fmt.Sprintf("KERNEL %s(const %s *a, const %s *b, %s *out, u32 n) { u32 i = GID; if (i >= n) return; %s x = a[i], y = b[i]; (void)y; out[i] = (%s)(%s); }\n",
		k.name, in, in, out, in, out, expression)
	k.fill = fillAs[In]
	k.check = func(a, b, o []byte) string {
		x, y, got := view[In](a), view[In](b), view[Out](o)
		for i := range items {
			if w := want(x[i], y[i]); !near(got[i], w, ulp) {
				return fmt.Sprintf("%s of x = %v, y = %v (%d): %v, want %v", expression, x[i], y[i], i, got[i], w)
			}
		}
		return ""
	}
	return k
}

// body adds a kernel with a body of its own, over words of 32 bits.
func (c *corpus) body(class, code string, want func(a, b, out []uint32)) *kernel {
	k := c.add(&kernel{name: class})
	k.code = fmt.Sprintf("KERNEL %s(const u32 *a, const u32 *b, u32 *out, u32 n) {\n%s\n}\n", k.name, code)
	k.fill = fillAs[uint32]
	k.check = func(a, b, out []byte) string {
		w := make([]uint32, 2*room)
		want(view[uint32](a), view[uint32](b), w)
		got := view[uint32](out)
		for i := range w {
			if got[i] != w[i] {
				return fmt.Sprintf("element %d is 0x%x, want 0x%x", i, got[i], w[i])
			}
		}
		return ""
	}
	return k
}

// from leaves targets out that do not have the instructions. In a pattern * is
// anything but /, so that gfx11* is gfx11 in waves of 32 lanes and gfx11*/64 in waves of 64.
func (k *kernel) from(targets ...string) { k.only = targets }

// not leaves targets out.
func (k *kernel) not(targets ...string) { k.never = targets }

func (k *kernel) runsOn(target, level string) bool {
	among := func(patterns []string, name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return ok && err == nil })
	}
	return (k.only == nil || among(k.only, target)) && !among(k.never, target) && !among(k.never, target+level)
}

// near compares two values: NaN is as NaN, and zeros are alike only with their sign.
func near[T element](got, want T, ulp float64) bool {
	g, w := float64(got), float64(want)
	switch any(want).(type) {
	case float32, float64:
	default:
		return got == want
	}
	switch {
	case math.IsNaN(g) || math.IsNaN(w):
		return math.IsNaN(g) && math.IsNaN(w)
	case g == w:
		return math.Signbit(g) == math.Signbit(w) || ulp > 0
	case math.IsInf(g, 0), math.IsInf(w, 0), ulp == 0:
		return false
	}
	var unit float64
	if _, f32 := any(want).(float32); f32 {
		unit = max(float64(math.Nextafter32(float32(math.Abs(w)), math.MaxFloat32))-math.Abs(w), math.SmallestNonzeroFloat32)
	} else {
		unit = max(math.Nextafter(math.Abs(w), math.MaxFloat64)-math.Abs(w), math.SmallestNonzeroFloat64)
	}
	return math.Abs(g-w) <= ulp*unit
}

// fillAs fills two buffers with elements of a type: each special value beside each,
// then values of all sizes.
func fillAs[T element](a, b []byte, rng *rand.Rand) {
	special := specials[T]()
	x, y := view[T](a), view[T](b)
	for i := range x {
		if i < len(special)*len(special) && i < 400 {
			x[i], y[i] = special[i/len(special)], special[i%len(special)]
			continue
		}
		x[i], y[i] = chance[T](rng), chance[T](rng)
	}
}

func specials[T element]() []T {
	var zero T
	bits := 8 * int(unsafe.Sizeof(zero))
	switch any(zero).(type) {
	case float32:
		return cast[T]([]float32{0, float32(math.Copysign(0, -1)), 1, -1, 0.5, 2.5, -3.5, 1e-45, -1e-40, math.MaxFloat32, -math.MaxFloat32, 0x1p-126, 16777217, 0x1p31, -0x1p31, 4e9, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())})
	case float64:
		return cast[T]([]float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2.5, -3.5, 5e-324, -1e-310, math.MaxFloat64, -math.MaxFloat64, 0x1p-1022, 0x1p53 + 2, 0x1p31, -0x1p63, 0x1p-30, math.Inf(1), math.Inf(-1), math.NaN()})
	}
	var list []T
	for _, v := range []uint64{0, 1, 2, 3, 31, 32, 1<<(bits-1) - 1, 1 << (bits - 1), 1<<bits - 1, 1<<bits - 2, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x0123456789abcdef} {
		list = append(list, raw[T](v))
	}
	return list
}

func cast[T, F any](v []F) []T { return any(v).([]T) }

// raw is the value whose low bits these are.
func raw[T element](v uint64) T { return *(*T)(unsafe.Pointer(&v)) }

func chance[T element](rng *rand.Rand) T {
	var zero T
	v := rng.Uint64()
	switch any(zero).(type) {
	case float32:
		return any(float32((rng.Float64()*2 - 1) * math.Pow(2, float64(v%40)-20))).(T)
	case float64:
		return any((rng.Float64()*2 - 1) * math.Pow(2, float64(v%80)-40)).(T)
	}
	return raw[T](rng.Uint64() >> (v & 63))
}

// source is all of the kernels that run on a target.
func (c *corpus) source(target, level string) string {
	var b strings.Builder
	lanes := 64
	if _, narrow := wave(target); narrow {
		lanes = 32
	}
	fmt.Fprintf(&b, "#define LANES %d\n%s", lanes, prelude)
	for _, k := range c.list {
		if k.runsOn(target, level) {
			b.WriteString(k.code)
		}
	}
	return b.String()
}

func word(b []byte, i int) uint32 { return binary.LittleEndian.Uint32(b[4*i:]) }

// The corpus is as large as it is said to be, and nothing is in it twice.
func TestCorpus(t *testing.T) {
	c := all(64)
	seen := map[string]bool{}
	classes := map[string]int{}
	for _, k := range c.list {
		_, definition, _ := strings.Cut(k.code, "(")
		if seen[definition] {
			t.Errorf("%s is there twice", k.name)
		}
		seen[definition] = true
		classes[class(k.name)]++
	}
	if len(c.list) < 150 {
		t.Errorf("%d kernels, want at least 150", len(c.list))
	}
	t.Logf("%d kernels: %v", len(c.list), classes)
}
