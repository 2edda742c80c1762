package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// prelude gives the kernels of the tests the names that HIP's headers have.
const prelude = `
typedef unsigned int u32; typedef unsigned long long u64;
#define TID __builtin_amdgcn_workitem_id_x()
#define BID __builtin_amdgcn_workgroup_id_x()
#define BDIM __builtin_amdgcn_workgroup_size_x()
#define GID (BID * BDIM + TID)
#define SYNC __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#define KERNEL extern "C" __global__ void
`

// run is one finished launch.
type run struct {
	a, b, out []byte
	n         int
}

func (r *run) inA(i int) uint32   { return binary.LittleEndian.Uint32(r.a[4*i:]) }
func (r *run) inB(i int) uint32   { return binary.LittleEndian.Uint32(r.b[4*i:]) }
func (r *run) got(i int) uint32   { return binary.LittleEndian.Uint32(r.out[4*i:]) }
func (r *run) inA64(i int) uint64 { return binary.LittleEndian.Uint64(r.a[8*i:]) }
func (r *run) inB64(i int) uint64 { return binary.LittleEndian.Uint64(r.b[8*i:]) }
func (r *run) got64(i int) uint64 { return binary.LittleEndian.Uint64(r.out[8*i:]) }

const items = 1000 // neither a multiple of a wave nor of a work-group

func modes(t *testing.T, f func(t *testing.T, arch, opt string)) {
	for _, arch := range []string{"gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		for _, opt := range []string{"-O0", "-O3"} {
			t.Run(arch+opt, func(t *testing.T) { f(t, arch, opt) })
		}
	}
}

func loadHIP(t testing.TB, arch, opt, source string, flags ...string) *Module {
	t.Helper()
	return loadFor(t, arch, arch, source, append([]string{opt}, flags...)...)
}

// loadFor loads what is compiled for a target on a device that it covers.
func loadFor(t testing.TB, device, target, source string, flags ...string) *Module {
	t.Helper()
	d, err := NewDevice(device)
	if err != nil {
		t.Fatal(err)
	}
	path := llvmtest.HIP(t, prelude+source, target, flags...)
	processor, _, _ := strings.Cut(device, ":") // the code runs there: a generic target has no table
	if slices.Contains(flags, "-mwavefrontsize64") {
		processor += "/64"
	}
	isatest.Agrees(t, path, processor)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func alloc(t testing.TB, m *Module, size uint64) (Pointer, []byte) {
	t.Helper()
	p, err := m.dev.Alloc(size)
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.dev.Bytes(p, size)
	if err != nil {
		t.Fatal(err)
	}
	return p, b
}

func u64arg(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
func u32arg(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// launchTest runs a kernel of the common signature.
func launchTest(t *testing.T, m *Module, kernel string, fill func(a, b []byte)) *run {
	t.Helper()
	pa, a := alloc(t, m, 8*items)
	pb, b := alloc(t, m, 8*items)
	po, out := alloc(t, m, 8*items)
	fill(a, b)
	_, err := m.Launch(t.Context(), kernel, Dim3{4, 1, 1}, Dim3{256, 1, 1},
		[][]byte{u64arg(uint64(pa)), u64arg(uint64(pb)), u64arg(uint64(po)), u32arg(items)}, Options{Budget: 50e6})
	if err != nil {
		t.Fatalf("%s: %v", kernel, err)
	}
	return &run{a: a, b: b, out: out, n: items}
}

// random fills with numbers that are all over the place, some of them small.
func random(a, b []byte) {
	x := uint64(88172645463325252)
	for _, s := range [][]byte{a, b} {
		for i := 0; i+4 <= len(s); i += 4 {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			v := uint32(x >> 16)
			if x>>60 == 0 {
				v &= 63
			}
			binary.LittleEndian.PutUint32(s[i:], v)
		}
	}
}

// floats fills with f32 between -1000 and 1000.
func floats(a, b []byte) {
	random(a, b)
	for _, s := range [][]byte{a, b} {
		for i := 0; i+4 <= len(s); i += 4 {
			v := float32(int32(binary.LittleEndian.Uint32(s[i:]))) / (1 << 31) * 1000
			binary.LittleEndian.PutUint32(s[i:], math.Float32bits(v))
		}
	}
}

// doubles fills with f64 between -1000 and 1000.
func doubles(a, b []byte) {
	random(a, b)
	for _, s := range [][]byte{a, b} {
		for i := 0; i+8 <= len(s); i += 8 {
			v := float64(int64(binary.LittleEndian.Uint64(s[i:]))) / (1 << 63) * 1000
			binary.LittleEndian.PutUint64(s[i:], math.Float64bits(v))
		}
	}
}

// Each expression is a kernel of its own: out[i] = EXPR(x, y) with x = a[i],
// y = b[i].
func TestExpressions(t *testing.T) {
	type i32 = int32
	ints := []struct {
		expr string
		want func(x, y uint32) uint32
	}{
		{"x + y", func(x, y uint32) uint32 { return x + y }},
		{"x - y * 7u", func(x, y uint32) uint32 { return x - y*7 }},
		{"x * y", func(x, y uint32) uint32 { return x * y }},
		{"(x << (y & 31)) ^ (x >> (y & 31))", func(x, y uint32) uint32 { return x<<(y&31) ^ x>>(y&31) }},
		{"(u32)((int)x >> (y & 31))", func(x, y uint32) uint32 { return uint32(i32(x) >> (y & 31)) }},
		{"x / (y | 1u)", func(x, y uint32) uint32 { return x / (y | 1) }},
		{"x % (y | 1u)", func(x, y uint32) uint32 { return x % (y | 1) }},
		{"(u32)((int)x / (int)((y & 0xffff) | 1))", func(x, y uint32) uint32 { return uint32(i32(x) / i32(y&0xffff|1)) }},
		{"(u32)((int)x % (int)((y & 0xffff) | 1))", func(x, y uint32) uint32 { return uint32(i32(x) % i32(y&0xffff|1)) }},
		{"x < y ? x : y", func(x, y uint32) uint32 { return min(x, y) }},
		{"(int)x < (int)y ? 1u : 2u", func(x, y uint32) uint32 { return 2 - bit32(i32(x) < i32(y)) }},
		{"(int)x >= (int)y ? x + 1 : y - 1", func(x, y uint32) uint32 {
			if i32(x) >= i32(y) {
				return x + 1
			}
			return y - 1
		}},
		{"(u32)(((u64)x * y) >> 32)", func(x, y uint32) uint32 { return uint32(uint64(x) * uint64(y) >> 32) }},
		{"(u32)(((long long)(int)x * (int)y) >> 32)", func(x, y uint32) uint32 { return uint32(int64(i32(x)) * int64(i32(y)) >> 32) }},
		{"__builtin_popcount(x) + __builtin_clz(y | 1) * 64 + __builtin_ctz(y | 0x80000000u) * 4096", func(x, y uint32) uint32 {
			n := uint32(0)
			for v := x; v != 0; v &= v - 1 {
				n++
			}
			clz, ctz := uint32(0), uint32(0)
			for v := y | 1; v>>31 == 0; v <<= 1 {
				clz++
			}
			for v := y | 1<<31; v&1 == 0; v >>= 1 {
				ctz++
			}
			return n + clz*64 + ctz*4096
		}},
		{"(u32)(unsigned char)x + (u32)(signed char)(y >> 8) * 3 + (u32)(short)(x >> 16)", func(x, y uint32) uint32 {
			return uint32(uint8(x)) + uint32(i32(int8(y>>8)))*3 + uint32(i32(int16(x>>16)))
		}},
		{"(u32)(unsigned short)((unsigned short)x * (unsigned short)y + (unsigned short)7)", func(x, y uint32) uint32 { return uint32(uint16(x)*uint16(y) + 7) }},
		{"(x & 0xff00ff00u) | (y & 0x00ff00ffu)", func(x, y uint32) uint32 { return x&0xff00ff00 | y&0x00ff00ff }},
		{"__builtin_bitreverse32(x) + __builtin_bswap32(y)", func(x, y uint32) uint32 {
			r := uint32(0)
			for n := range 32 {
				r |= x >> n & 1 << (31 - n)
			}
			return r + (y>>24 | y>>8&0xff00 | y<<8&0xff0000 | y<<24)
		}},
		{"(u32)((((u64)x << 32) | y) / (x | 3ull))", func(x, y uint32) uint32 { return uint32((uint64(x)<<32 | uint64(y)) / (uint64(x) | 3)) }},
		{"(u32)((((u64)x << 32 | y) << (y & 63)) >> 20)", func(x, y uint32) uint32 { return uint32((uint64(x)<<32 | uint64(y)) << (y & 63) >> 20) }},
		{"(u32)((((unsigned __int128)x << 64 | (u64)y << 32 | 0xffffffffu) * 3 + (((unsigned __int128)y << 64) | ~0ull)) >> 64)", func(x, y uint32) uint32 {
			hi, lo := bits.Mul64(uint64(y)<<32|0xffffffff, 3)
			_, carry := bits.Add64(lo, ^uint64(0), 0)
			return uint32(uint64(x)*3 + hi + uint64(y) + carry)
		}},
		// A borrow that goes through a word because of the one before.
		{"(u32)((((unsigned __int128)x << 64 | (u64)y << 32) - ((u64)(y - (~x & 1)) << 32 | 1u)) >> 64)", func(x, y uint32) uint32 {
			_, borrow := bits.Sub64(uint64(y)<<32, uint64(y-(^x&1))<<32|1, 0)
			return x - uint32(borrow)
		}},
		{"(u32)((long long)((u64)x << 32 | y) >> (x & 63))", func(x, y uint32) uint32 { return uint32(int64(uint64(x)<<32|uint64(y)) >> (x & 63)) }},
		{"((u64)x << 32 | y) < ((u64)y << 32 | x) ? 5u : 9u", func(x, y uint32) uint32 {
			if uint64(x)<<32|uint64(y) < uint64(y)<<32|uint64(x) {
				return 5
			}
			return 9
		}},
	}
	fl := []struct {
		expr string
		want func(x, y float32) float32
		ulp  uint32
	}{
		{"x + y", func(x, y float32) float32 { return x + y }, 0},
		{"x * y - 3.5f", func(x, y float32) float32 { return wantFMA(x, y, -3.5) }, 0},
		{"__builtin_fmaf(x, y, x)", func(x, y float32) float32 { return wantFMA(x, y, x) }, 0},
		{"x / y", func(x, y float32) float32 { return x / y }, 0},
		{"x / 1e-39f", func(x, _ float32) float32 { return x / 1e-39 }, 0},
		{"1e-38f / (y * 100.0f)", func(_, y float32) float32 { return 1e-38 / float32(y*100) }, 0},
		{"x > y ? x : y", func(x, y float32) float32 { return max(x, y) }, 0},
		{"-__builtin_fabsf(x) + y", func(x, y float32) float32 { return -float32(math.Abs(float64(x))) + y }, 0},
		{"__builtin_floorf(x) + __builtin_ceilf(y) * 2.0f", func(x, y float32) float32 {
			return wantFMA(float32(math.Ceil(float64(y))), 2, float32(math.Floor(float64(x))))
		}, 0},
		{"__builtin_truncf(x) + __builtin_rintf(y)", func(x, y float32) float32 {
			return float32(math.Trunc(float64(x))) + float32(math.RoundToEven(float64(y)))
		}, 0},
		{"(float)(int)x + (float)(u32)(y < 0 ? -y : y)", func(x, y float32) float32 {
			return float32(int32(x)) + float32(uint32(math.Abs(float64(y))))
		}, 0},
		{"__builtin_fminf(x, y) + __builtin_fmaxf(x, 1.0f)", func(x, y float32) float32 { return min(x, y) + max(x, 1) }, 0},
		{"(float)((double)x * (double)y)", func(x, y float32) float32 { return float32(float64(x) * float64(y)) }, 0},
		{"(float)(_Float16)x", func(x, _ float32) float32 { return float32(halfValue(wantHalf(float64(x)))) }, 0},
		{"(float)((_Float16)x + (_Float16)y)", func(x, y float32) float32 {
			return float32(halfValue(wantHalf(halfValue(wantHalf(float64(x))) + halfValue(wantHalf(float64(y))))))
		}, 0},
		{"__builtin_ldexpf(x, (int)y & 15)", func(x, y float32) float32 { return float32(math.Ldexp(float64(x), int(int32(y)&15))) }, 0},
		{"__builtin_amdgcn_sqrtf(__builtin_fabsf(x))", func(x, _ float32) float32 { return float32(math.Sqrt(math.Abs(float64(x)))) }, 1},
	}
	db := []struct {
		expr string
		want func(x, y float64) float64
	}{
		{"x + y * 2.0", func(x, y float64) float64 { return math.FMA(y, 2, x) }},
		{"x / y", func(x, y float64) float64 { return x / y }},
		{"__builtin_fma(x, y, 1.5)", func(x, y float64) float64 { return math.FMA(x, y, 1.5) }},
		{"__builtin_floor(x) - __builtin_fabs(y)", func(x, y float64) float64 { return math.Floor(x) - math.Abs(y) }},
		{"x < y ? -x : y", func(x, y float64) float64 {
			if x < y {
				return -x
			}
			return y
		}},
		{"(double)(int)x + (double)(u32)(y * y)", func(x, y float64) float64 { return float64(int32(x)) + float64(uint32(y*y)) }},
		{"(double)(long long)(x * 1e12)", func(x, _ float64) float64 { return float64(int64(x * 1e12)) }},
		{"__builtin_fmin(x, y)", math.Min},
	}
	var src strings.Builder
	kernel := func(name, typ, expr string) {
		fmt.Fprintf(&src, "KERNEL %s(const %s *a, const %s *b, %s *out, u32 n) { u32 i = GID; if (i < n) { %s x = a[i], y = b[i]; out[i] = %s; } }\n", name, typ, typ, typ, typ, expr)
	}
	for n, c := range ints {
		kernel(fmt.Sprint("i", n), "u32", c.expr)
		// The same for one x and y a wave: on scalar registers, where the compiler can.
		fmt.Fprintf(&src, "KERNEL s%d(const u32 *__restrict a, const u32 *__restrict b, u32 *__restrict out, u32 n) { for (u32 i = 0; i < 20; i++) { u32 k = BID * 20 + i, x = a[k], y = b[k]; out[k] = %s; } }\n", n, c.expr)
	}
	for n, c := range fl {
		kernel(fmt.Sprint("f", n), "float", c.expr)
	}
	for n, c := range db {
		kernel(fmt.Sprint("d", n), "double", c.expr)
	}
	modes(t, func(t *testing.T, arch, opt string) {
		m := loadHIP(t, arch, opt, src.String())
		for n, c := range ints {
			t.Run(c.expr, func(t *testing.T) {
				r := launchTest(t, m, fmt.Sprint("i", n), random)
				u := launchTest(t, m, fmt.Sprint("s", n), random)
				for i := range r.n {
					want := c.want(r.inA(i), r.inB(i))
					if r.got(i) != want || i < 80 && u.got(i) != want {
						t.Fatalf("x = 0x%x, y = 0x%x: 0x%x, on scalar registers 0x%x, want 0x%x", r.inA(i), r.inB(i), r.got(i), u.got(i), want)
					}
				}
			})
		}
		for n, c := range fl {
			t.Run(c.expr, func(t *testing.T) {
				r := launchTest(t, m, fmt.Sprint("f", n), floats)
				for i := range r.n {
					x, y := f32(r.inA(i)), f32(r.inB(i))
					want := c.want(x, y)
					if d := int64(r.got(i)) - int64(u32(want)); d > int64(c.ulp) || d < -int64(c.ulp) {
						t.Fatalf("x = %g, y = %g: %g (0x%x), want %g (0x%x)", x, y, f32(r.got(i)), r.got(i), want, u32(want))
					}
				}
			})
		}
		for n, c := range db {
			t.Run(c.expr+" in double", func(t *testing.T) {
				r := launchTest(t, m, fmt.Sprint("d", n), doubles)
				for i := range r.n {
					x, y := f64(r.inA64(i)), f64(r.inB64(i))
					if want := c.want(x, y); f64(r.got64(i)) != want {
						t.Fatalf("x = %g, y = %g: %g, want %g", x, y, f64(r.got64(i)), want)
					}
				}
			})
		}
	})
}
