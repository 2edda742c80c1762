package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
)

// asmCase is one instruction of 32-bit sources x, y and z = x ^ 3*y, and a result
// that begins as ~x; what it should give is said anew.
type asmCase struct {
	text string // %0 the result, %1 to %3 the sources
	want func(x, y, z uint32) uint32
}

func asmSource(cases []asmCase) string {
	var src strings.Builder
	for n, c := range cases {
		fmt.Fprintf(&src, `KERNEL asm%d(const u32 *a, const u32 *b, u32 *out, u32 n) { u32 i = GID; if (i >= n) return; u32 x = a[i], y = b[i], z = x ^ 3 * y, d = ~x; asm volatile("%s" : "+v"(d) : "v"(x), "v"(y), "v"(z)); out[i] = d; }
`, n, c.text)
	}
	return src.String()
}

func testAsm(t *testing.T, arch string, fill func(a, b []byte), cases []asmCase) {
	t.Helper()
	m := loadHIP(t, arch, "-O2", asmSource(cases))
	for n, c := range cases {
		r := launchTest(t, m, fmt.Sprint("asm", n), fill)
		for i := range r.n {
			x, y := r.inA(i), r.inB(i)
			if want := c.want(x, y, x^3*y); r.got(i) != want {
				t.Errorf("%s: %s of 0x%x, 0x%x, 0x%x: 0x%x, want 0x%x", arch, c.text, x, y, x^3*y, r.got(i), want)
				break
			}
		}
	}
}

func limit(v, low, high int64) uint32 {
	if v < low {
		v = low
	}
	if v > high {
		v = high
	}
	return uint32(v)
}

// Integers that saturate.
func TestSaturation(t *testing.T) {
	const i32max, i32min, u32max = 1<<31 - 1, -1 << 31, 1<<32 - 1
	s := func(v uint32) int64 { return int64(int32(v)) }
	pair := func(f func(n uint) uint32) uint32 { return f(0)&0xffff | f(16)&0xffff<<16 }
	cases := []asmCase{
		{"v_add_u32_e64 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 { return limit(int64(x)+int64(y), 0, u32max) }},
		{"v_sub_u32_e64 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 { return limit(int64(x)-int64(y), 0, u32max) }},
		{"v_subrev_u32_e64 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 { return limit(int64(y)-int64(x), 0, u32max) }},
		{"v_add_i32 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 { return limit(s(x)+s(y), i32min, i32max) }},
		{"v_sub_i32 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 { return limit(s(x)-s(y), i32min, i32max) }},
		{"v_add_u16_e64 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 { return limit(int64(x&0xffff)+int64(y&0xffff), 0, 65535) }},
		{"v_sub_i16 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 {
			return limit(int64(int16(x))-int64(int16(y)), -32768, 32767) & 0xffff
		}},
		{"v_pk_add_u16 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 {
			return pair(func(n uint) uint32 { return limit(int64(x>>n&0xffff)+int64(y>>n&0xffff), 0, 65535) })
		}},
		{"v_pk_sub_i16 %0, %1, %2 clamp", func(x, y, _ uint32) uint32 {
			return pair(func(n uint) uint32 { return limit(int64(int16(x>>n))-int64(int16(y>>n)), -32768, 32767) })
		}},
		{"v_pk_mad_i16 %0, %1, %2, %3 clamp", func(x, y, z uint32) uint32 {
			return pair(func(n uint) uint32 {
				return limit(int64(int16(x>>n))*int64(int16(y>>n))+int64(int16(z>>n)), -32768, 32767)
			})
		}},
		{"v_mad_u32_u24 %0, %1, %2, %3 clamp", func(x, y, z uint32) uint32 {
			return limit(int64(x&0xffffff)*int64(y&0xffffff)+int64(z), 0, u32max)
		}},
		{"v_mad_i32_i24 %0, %1, %2, %3 clamp", func(x, y, z uint32) uint32 {
			return limit((s(x<<8)>>8)*(s(y<<8)>>8)+s(z), i32min, i32max)
		}},
		{"v_sad_u32 %0, %1, %2, %3 clamp", func(x, y, z uint32) uint32 {
			return limit(int64(max(x, y))-int64(min(x, y))+int64(z), 0, u32max)
		}},
	}
	for _, arch := range []string{"gfx900", "gfx90a", "gfx942"} {
		testAsm(t, arch, random, cases)
	}
	testAsm(t, "gfx942", random, []asmCase{
		{"v_dot4_i32_i8 %0, %1, %2, %3 clamp", func(x, y, z uint32) uint32 {
			sum := s(z)
			for n := 0; n < 32; n += 8 {
				sum += int64(int8(x>>n)) * int64(int8(y>>n))
			}
			return limit(sum, i32min, i32max)
		}},
	})
}

// Operations on bytes and the like, as of the documents' pseudocode.
func TestMedia(t *testing.T) {
	each := func(f func(n uint) uint32) (sum uint32) { return f(0) + f(8) + f(16) + f(24) }
	diff := func(a, b uint32) uint32 {
		if a > b {
			return a - b
		}
		return b - a
	}
	cases := []asmCase{
		{"v_lerp_u8 %0, %1, %2, %3", func(x, y, z uint32) (d uint32) {
			for n := 0; n < 32; n += 8 {
				d |= (x>>n&255 + y>>n&255 + z>>n&1) / 2 << n
			}
			return d
		}},
		{"v_sad_u8 %0, %1, %2, %3", func(x, y, z uint32) uint32 { return each(func(n uint) uint32 { return diff(x>>n&255, y>>n&255) }) + z }},
		{"v_sad_hi_u8 %0, %1, %2, %3", func(x, y, z uint32) uint32 {
			return each(func(n uint) uint32 { return diff(x>>n&255, y>>n&255) })<<16 + z
		}},
		{"v_sad_u16 %0, %1, %2, %3", func(x, y, z uint32) uint32 { return diff(x&0xffff, y&0xffff) + diff(x>>16, y>>16) + z }},
		{"v_msad_u8 %0, %1, %2, %3", func(x, y, z uint32) uint32 {
			return each(func(n uint) uint32 {
				if y>>n&255 == 0 {
					return 0
				}
				return diff(x>>n&255, y>>n&255)
			}) + z
		}},
		{"v_cvt_pk_i16_i32 %0, %1, %2", func(x, y, _ uint32) uint32 {
			return limit(int64(int32(x)), -32768, 32767)&0xffff | limit(int64(int32(y)), -32768, 32767)<<16
		}},
		{"v_cvt_off_f32_i4_e32 %0, %1", func(x, _, _ uint32) uint32 {
			return u32([]float32{0, 0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375, -0.5, -0.4375, -0.375, -0.3125, -0.25, -0.1875, -0.125, -0.0625}[x&15])
		}},
		{"v_sat_pk_u8_i16_e32 %0, %1", func(x, _, _ uint32) uint32 {
			return limit(int64(int16(x)), 0, 255) | limit(int64(int16(x>>16)), 0, 255)<<8
		}},
	}
	testAsm(t, "gfx900", random, cases)
	testAsm(t, "gfx950", random, append(cases,
		asmCase{"v_prng_b32_e32 %0, %1", func(x, _, _ uint32) uint32 {
			if x>>31 != 0 {
				return x<<1 ^ 197
			}
			return x << 1
		}},
		asmCase{"v_ashr_pk_u8_i32 %0, %1, %2, %3", func(x, y, z uint32) uint32 {
			return limit(int64(int32(x)>>(z&31)), 0, 255) | limit(int64(int32(y)>>(z&31)), 0, 255)<<8
		}},
		asmCase{"v_bitop3_b32 %0, %1, %2, %3 bitop3:0x2d", func(x, y, z uint32) (d uint32) {
			for n := range 32 {
				d |= 0x2d >> (x>>n&1<<2 | y>>n&1<<1 | z>>n&1) & 1 << n
			}
			return d
		}},
	))
}

// Numbers of 8 bits, all of them, and what is rounded to them, on both kinds of
// formats.
func TestNarrowFloats(t *testing.T) {
	const source = `
typedef float f2 __attribute__((ext_vector_type(2)));
KERNEL wide(const u32 *a, float *o) { u32 v = a[TID]; o += TID * 12;
  o[0] = __builtin_amdgcn_cvt_f32_fp8(v, 0); o[1] = __builtin_amdgcn_cvt_f32_fp8(v, 1); o[2] = __builtin_amdgcn_cvt_f32_fp8(v, 2); o[3] = __builtin_amdgcn_cvt_f32_fp8(v, 3);
  o[4] = __builtin_amdgcn_cvt_f32_bf8(v, 0); o[5] = __builtin_amdgcn_cvt_f32_bf8(v, 3);
  f2 p = __builtin_amdgcn_cvt_pk_f32_fp8(v, 0), q = __builtin_amdgcn_cvt_pk_f32_fp8(v, 1), r = __builtin_amdgcn_cvt_pk_f32_bf8(v, 1);
  o[6] = p.x; o[7] = p.y; o[8] = q.x; o[9] = q.y; o[10] = r.x; o[11] = r.y; }
KERNEL narrow(const float *a, u32 *o) { float x = a[2 * GID], y = a[2 * GID + 1]; o += GID * 3;
  o[0] = __builtin_amdgcn_cvt_pk_fp8_f32(x, y, 0x12345678, 0); o[1] = __builtin_amdgcn_cvt_pk_bf8_f32(x, y, 0x12345678, 1);
  o[2] = __builtin_amdgcn_cvt_sr_fp8_f32(x, 0x80000000u, 0x12345678, 2); }
`
	for _, arch := range []string{"gfx942", "gfx950"} {
		for _, opt := range []string{"-O0", "-O3"} {
			m := loadHIP(t, arch, opt, source)
			ocp := arch == "gfx950"
			p, in := alloc(t, m, 256)
			po, out := alloc(t, m, 64*12*4)
			for i := range 256 {
				in[i] = byte(i)
			}
			if _, err := m.Launch(t.Context(), "wide", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{}); err != nil {
				t.Fatal(err)
			}
			for i := range 64 {
				for n, at := range []int{0, 1, 2, 3, 0, 3, 0, 1, 2, 3, 2, 3} {
					wide := n == 4 || n == 5 || n > 9
					got, want := f32(binary.LittleEndian.Uint32(out[4*(12*i+n):])), wantEight(byte(4*i+at), ocp, wide)
					if float64(got) != want && !(got != got && want != want) {
						t.Fatalf("%s %s: 0x%x, bf8 %v: %g, want %g", arch, opt, 4*i+at, wide, got, want)
					}
				}
			}

			p, in = alloc(t, m, 8*1024)
			po, out = alloc(t, m, 12*1024)
			values := make([]float64, 2048)
			for i := range values {
				// Numbers between all neighbours, at halves, beyond the ends.
				v := wantEight(byte(i), ocp, i>>8&1 != 0)
				v *= []float64{1, 1.0625, 1.03125, 1.5, 0.96875, 1.001, 4, 1.125}[i>>8]
				values[i] = float64(float32(v))
				binary.LittleEndian.PutUint32(in[4*i:], u32(float32(v)))
			}
			if _, err := m.Launch(t.Context(), "narrow", Dim3{4, 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{}); err != nil {
				t.Fatal(err)
			}
			for i := range 1024 {
				w := func(n int) uint32 { return binary.LittleEndian.Uint32(out[4*(3*i+n):]) }
				x, y := values[2*i], values[2*i+1]
				if w(0)>>16 != 0x1234 || w(1)&0xffff != 0x5678 || w(2)&0xff00ffff != 0x12005678 {
					t.Fatalf("%s %s: the rest of the register is not kept: %x %x %x", arch, opt, w(0), w(1), w(2))
				}
				for n, c := range []struct {
					got   byte
					v     float64
					wide  bool
					noise bool
				}{{byte(w(0)), x, false, false}, {byte(w(0) >> 8), y, false, false}, {byte(w(1) >> 16), x, true, false}, {byte(w(1) >> 24), y, true, false}, {byte(w(2) >> 16), x, false, true}} {
					if !nearestEight(c.got, c.v, ocp, c.wide, c.noise) {
						t.Fatalf("%s %s, %d: %g becomes 0x%x = %g", arch, opt, n, c.v, c.got, wantEight(c.got, ocp, c.wide))
					}
				}
			}
		}
	}
}

// wantEight says what 8 bits mean, from the layout of the formats.
func wantEight(b byte, ocp, wide bool) float64 {
	mant, bias := 3, 7
	if wide {
		mant, bias = 2, 15
	}
	if !ocp {
		bias++
	}
	sign := 1.0
	if b&0x80 != 0 {
		sign = -1
	}
	e, m := int(b&0x7f)>>mant, float64(int(b)&(1<<mant-1))
	switch {
	case !ocp && b == 0x80, ocp && !wide && b&0x7f == 0x7f, ocp && wide && e == 31 && m != 0:
		return math.NaN()
	case ocp && wide && e == 31:
		return math.Inf(int(sign))
	case e == 0:
		return sign * m * math.Pow(2, float64(1-bias-mant))
	}
	return sign * (1 + m/float64(int(1)<<mant)) * math.Pow(2, float64(e-bias))
}

// nearestEight tells whether b is the number of the format next to v; of two the
// even one, or with noise of one half the one further from zero.
func nearestEight(b byte, v float64, ocp, wide, noise bool) bool {
	got := wantEight(b, ocp, wide)
	if v != v {
		return got != got
	}
	best, even := math.Inf(1), byte(0)
	most := 0.0
	for n := range 256 {
		w := wantEight(byte(n), ocp, wide)
		if w != w || math.IsInf(w, 0) || math.Signbit(w) != math.Signbit(v) && w != 0 {
			continue
		}
		most = max(most, math.Abs(w))
		d := math.Abs(w - v)
		switch {
		case d < best, d == best && !noise && n&1 == 0, d == best && noise && math.Abs(w) > math.Abs(wantEight(even, ocp, wide)):
			best, even = d, byte(n)
		}
	}
	step := most - wantEight(byte(topOf(ocp, wide)-1), ocp, wide)
	if math.Abs(v) > most+step/2 || math.Abs(v) == most+step/2 && (noise || topOf(ocp, wide)&1 != 0) {
		return got != got || math.IsInf(got, 0)
	}
	return got == wantEight(even, ocp, wide) && (got != 0 || ocp || b == 0)
}

// topOf is the encoding of the largest number.
func topOf(ocp, wide bool) int {
	switch {
	case !ocp:
		return 0x7f
	case wide:
		return 0x7b
	}
	return 0x7e
}

// One byte of a register is made of a float: the nearest number, stopped at the ends.
func TestFloatToByte(t *testing.T) {
	nearest := func(x uint32) uint32 {
		v := float64(f32(x))
		switch {
		case v != v, v < 0:
			return 0
		case v > 255:
			return 255
		}
		return uint32(math.RoundToEven(v))
	}
	byteOf := func(x, at, into uint32) uint32 {
		at = at % 4 * 8
		return into&^(255<<at) | nearest(x)<<at
	}
	cases := []asmCase{
		{"v_cvt_pk_u8_f32 %0, %1, %2, %3", byteOf},
		{"v_cvt_pk_u8_f32 %0, -%1, 2, %3", func(x, _, z uint32) uint32 { return byteOf(x^1<<31, 2, z) }},
		{"v_cvt_pk_u8_f32 %0, |%1|, 3, 0", func(x, _, _ uint32) uint32 { return byteOf(x&^(1<<31), 3, 0) }},
	}
	tied := asmCase{"v_cvt_pkaccum_u8_f32 %0, %1, %2", func(x, y, _ uint32) uint32 { return byteOf(x, y, ^x) }}
	fill := func(a, b []byte) {
		floats(a, nil)
		random(b, nil)
		for i, v := range []uint32{0x7fc00000, 0xff800000, 0x7f800000, 0x437f0000, 0x437f8000, 0x43800000, 0xbf000000, 0x3f7fffff, 1, 0x42c7fae1, 0x42c70000, 0x42c90000} {
			binary.LittleEndian.PutUint32(a[4*i:], v)
		}
	}
	for _, arch := range []string{"gfx900", "gfx942", "gfx1030", "gfx1201"} {
		list := cases
		if strings.HasPrefix(arch, "gfx9") {
			list = append(list[:len(list):len(list)], tied)
		}
		testAsm(t, arch, fill, list)
	}
	m := loadHIP(t, "gfx1100", "-O2", `KERNEL built(float *p, u32 *out) { out[0] = __builtin_amdgcn_cvt_pk_u8_f32(p[0], 1, 0xaabbccdd); }`)
	p, in := alloc(t, m, 4)
	po, out := alloc(t, m, 4)
	binary.LittleEndian.PutUint32(in, u32(99.99))
	if _, err := m.Launch(t.Context(), "built", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{}); err != nil || load32(out, 0) != 0xaabb64dd {
		t.Errorf("the builtin gives 0x%x: %v", load32(out, 0), err)
	}
}
