package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"sort"
	"strings"
	"sync"
	"testing"
)

// reference is a format as the OCP's specifications write it: what its codes mean
// is listed, and rounding goes by that list alone.
type reference struct {
	exponent, mantissa uint
	bias               int
	top                string // what the largest exponent means: numbers, nan (one code), ieee
	values             []float64
}

func (r *reference) size() uint { return 1 + r.exponent + r.mantissa }

func references() map[string]*reference {
	list := map[string]*reference{
		"f32": {exponent: 8, mantissa: 23, bias: 127, top: "ieee"}, "f16": {exponent: 5, mantissa: 10, bias: 15, top: "ieee"}, "bf16": {exponent: 8, mantissa: 7, bias: 127, top: "ieee"},
		"fp8": {exponent: 4, mantissa: 3, bias: 7, top: "nan"}, "bf8": {exponent: 5, mantissa: 2, bias: 15, top: "ieee"},
		"fp6": {exponent: 2, mantissa: 3, bias: 1}, "bf6": {exponent: 3, mantissa: 2, bias: 3}, "fp4": {exponent: 2, mantissa: 1, bias: 1},
	}
	for _, r := range list {
		if r.size() == 32 {
			continue
		}
		for code := range uint32(1) << (r.size() - 1) {
			if v := r.value(code); v == v && !math.IsInf(v, 0) {
				r.values = append(r.values, v)
			}
		}
	}
	return list
}

func (r *reference) value(code uint32) float64 {
	e, m := int(code>>r.mantissa)&(1<<r.exponent-1), int(code)&(1<<r.mantissa-1)
	sign := 1.0
	if code>>(r.size()-1)&1 != 0 {
		sign = -1
	}
	last := 1<<r.exponent - 1
	switch {
	case r.top == "ieee" && e == last && m != 0, r.top == "nan" && e == last && m == 1<<r.mantissa-1:
		return math.NaN()
	case r.top == "ieee" && e == last:
		return sign * math.Inf(1)
	case e == 0:
		return sign * float64(m) * math.Pow(2, float64(1-r.bias)) / float64(int(1)<<r.mantissa)
	}
	return sign * (1 + float64(m)/float64(int(1)<<r.mantissa)) * math.Pow(2, float64(e-r.bias))
}

// code is the reverse: of the two neighbours the nearer, of two as near the even one;
// with noise the greater where what is lost and the noise, both cut to some bits, make
// a whole. The flag says that any NaN will do.
func (r *reference) code(v float64, seed uint32, bits uint) (code uint32, nan bool) {
	if r.size() == 32 {
		if v != v {
			return 0, true
		}
		if math.IsInf(v, 0) {
			return u32(float32(v)), false
		}
		f, _ := new(big.Float).SetFloat64(v).Float32()
		return u32(f), false
	}
	most := uint32(len(r.values) - 1)
	over, anyNaN := most, false
	switch r.top {
	case "ieee":
		over = most + 1
	case "nan":
		anyNaN = true
	}
	sign := uint32(0)
	if math.Signbit(v) {
		sign = 1 << (r.size() - 1)
	}
	a := math.Abs(v)
	switch {
	case v != v && r.top == "":
		return sign | most, false
	case v != v:
		return 0, true
	case math.IsInf(v, 0):
		return sign | over, anyNaN
	}
	k := sort.Search(len(r.values), func(n int) bool { return r.values[n] > a }) - 1
	low, high := r.values[k], 0.0
	if k < int(most) {
		high = r.values[k+1]
	} else {
		high = 2*low - r.values[k-1]
	}
	up := a-low > high-a || a-low == high-a && k&1 != 0
	if bits > 0 {
		lost := math.Floor((a - low) / (high - low) * float64(uint64(1)<<bits))
		up = lost+float64(seed>>(32-bits)) >= float64(uint64(1)<<bits)
	}
	if a >= high { // far beyond the last
		up = true
	}
	if up {
		k++
	}
	if k > int(most) {
		return sign | over, anyNaN
	}
	return sign | uint32(k), false
}

// wantFMA, wantHalf and halfValue are what the tests of others compare with: with as
// many bits as it takes, and by the list of all f16.
func wantFMA(x, y, z float32) float32 {
	if s := float64(x)*float64(y) + float64(z); s != s || math.IsInf(s, 0) {
		return float32(s)
	}
	p := new(big.Float).SetPrec(1000).SetFloat64(float64(x))
	p.Mul(p, new(big.Float).SetFloat64(float64(y)))
	if z != 0 {
		p.Add(p, new(big.Float).SetFloat64(float64(z)))
	}
	r, _ := p.Float32()
	return r
}

var half16 = sync.OnceValue(func() *reference { return references()["f16"] })

func wantHalf(v float64) uint16 {
	code, nan := half16().code(v, 0, 0)
	if nan {
		return 0x7e00
	}
	return uint16(code)
}

func halfValue(h uint16) float64 { return half16().value(uint32(h)) }

// scaledCase is one conversion: its builtin, and where it reads and writes.
type scaledCase struct {
	body     string
	to, from string
	count    int
	random   bool
	twice    bool // two sources, interleaved
	first    uint // bits before what is read
	at       uint // and before what is written; elsewhere the result keeps what was there
	untied   bool // clang 22 does not tell the register what was there
}

func scaledCases() []scaledCase {
	var list []scaledCase
	add := func(c scaledCase, body string, args ...any) {
		c.body = fmt.Sprintf(body, args...)
		list = append(list, c)
	}
	types := map[string]string{"f32": "float", "f16": "_Float16", "bf16": "__bf16"}
	for n, narrow := range []string{"fp8", "bf8"} {
		for _, word := range []int{n, 1 - n} {
			add(scaledCase{to: "f32", from: narrow, count: 2, first: 16 * uint(word)}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_f32_%s(a[0], s, %d));", narrow, word)
			add(scaledCase{to: narrow, from: "f32", count: 2, at: 16 * uint(word)}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_%s_f32(old<s2>(), get<float>(a), get<float>(a + 1), s, %d));", narrow, word)
			for _, wide := range []string{"f16", "bf16"} {
				add(scaledCase{to: wide, from: narrow, count: 2, first: 16 * uint(word)}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_%s_%s(a[0], s, %d));", wide, narrow, word)
				add(scaledCase{to: narrow, from: wide, count: 2, at: 16 * uint(word)}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_%s_%s(old<s2>(), get<vec<%s, 2>>(a), s, %d));", narrow, wide, types[wide], word)
			}
		}
		for b := range uint(4) {
			add(scaledCase{to: "f32", from: narrow, count: 1, first: 8 * b}, "put(o, __builtin_amdgcn_cvt_scalef32_f32_%s(a[0], s, %d));", narrow, b)
			add(scaledCase{to: "f16", from: narrow, count: 1, first: 8 * b, at: 16 * (b & 1)}, "put(o, __builtin_amdgcn_cvt_scalef32_f16_%s(old<vec<_Float16, 2>>(), a[0], s, %d, %d));", narrow, b, b&1)
			for wide, t := range types {
				add(scaledCase{to: narrow, from: wide, count: 1, at: 8 * b, random: true}, "put(o, __builtin_amdgcn_cvt_scalef32_sr_%s_%s(old<int>(), get<%s>(a), seed, s, %d));", narrow, wide, t, b)
			}
		}
	}
	for b := range uint(4) {
		add(scaledCase{to: "f32", from: "fp4", count: 2, first: 8 * b}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_f32_fp4(a[0], s, %d));", b)
		add(scaledCase{to: "fp4", from: "f32", count: 2, at: 8 * b}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_fp4_f32(old<u32>(), get<float>(a), get<float>(a + 1), s, %d));", b)
		for _, wide := range []string{"f16", "bf16"} {
			add(scaledCase{to: wide, from: "fp4", count: 2, first: 8 * b}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_%s_fp4(a[0], s, %d));", wide, b)
			add(scaledCase{to: "fp4", from: wide, count: 2, at: 8 * b}, "put(o, __builtin_amdgcn_cvt_scalef32_pk_fp4_%s(old<u32>(), get<vec<%s, 2>>(a), s, %d));", wide, types[wide], b)
		}
		for wide, t := range types {
			add(scaledCase{to: "fp4", from: wide, count: 2, at: 8 * b, random: true, untied: true}, "put(o, __builtin_amdgcn_cvt_scalef32_sr_pk_fp4_%s(old<u32>(), get<vec<%s, 2>>(a), seed, s, %d));", wide, t, b)
		}
	}
	for _, narrow := range []string{"fp6", "bf6"} {
		add(scaledCase{to: narrow, from: "f32", count: 32, twice: true}, "put(o, __builtin_amdgcn_cvt_scalef32_2xpk16_%s_f32(get<vec<float, 16>>(a), get<vec<float, 16>>(a + 16), s));", narrow)
		for wide, t := range types {
			add(scaledCase{to: wide, from: narrow, count: 32}, "put(o, __builtin_amdgcn_cvt_scalef32_pk32_%s_%s(get<vec<u32, 6>>(a), s));", wide, narrow)
			add(scaledCase{to: narrow, from: wide, count: 32, random: true}, "put(o, __builtin_amdgcn_cvt_scalef32_sr_pk32_%s_%s(get<vec<%s, 32>>(a), seed, s));", narrow, wide, t)
			if wide != "f32" {
				add(scaledCase{to: narrow, from: wide, count: 32}, "put(o, __builtin_amdgcn_cvt_scalef32_pk32_%s_%s(get<vec<%s, 32>>(a), s));", narrow, wide, t)
			}
		}
	}
	return list
}

// bitsAt takes bits out of words; they do not lie in more than two.
func bitsAt(words []uint32, at, size uint) uint32 {
	v := uint64(words[at/32])
	if at%32+size > 32 {
		v |= uint64(words[at/32+1]) << 32
	}
	return uint32(v >> (at % 32) & (1<<size - 1))
}

// All conversions with a scale, of numbers around those that the narrow formats have,
// with every scale, against the formats' lists of values.
func TestScaledConversions(t *testing.T) {
	const inWords, outWords, old = 34, 32, 0x5aa55aa5
	cases := scaledCases()
	var src strings.Builder
	src.WriteString(`
template <class T, int N> using vec = T __attribute__((ext_vector_type(N))); typedef short s2 __attribute__((ext_vector_type(2)));
template <class T> static __device__ T get(const u32 *p) { T v; __builtin_memcpy(&v, p, sizeof v); return v; }
template <class T> static __device__ T old() { u32 v = 0x5aa55aa5; T r; __builtin_memcpy(&r, &v, sizeof r); return r; }
template <class T> static __device__ void put(u32 *p, T v) { __builtin_memcpy(p, &v, sizeof v); }
template <int N> static __device__ void put(u32 *p, vec<u32, N> v) { for (int i = 0; i < N; i++) p[i] = v[i]; }
`)
	for n, c := range cases {
		fmt.Fprintf(&src, "KERNEL c%d(const u32 *a, u32 *o) { a += TID * %d; o += TID * %d; u32 seed = a[32]; float s = get<float>(a + 33); (void)seed; %s }\n", n, inWords, outWords, c.body)
	}
	formats := references()
	rng := rand.New(rand.NewPCG(9, 50))
	for _, opt := range []string{"-O0", "-O2"} {
		m := loadHIP(t, "gfx950", opt, src.String())
		names := map[string]bool{}
		for k := range m.programs[0].code {
			if i := &m.programs[0].code[k]; i.inst != nil && strings.HasPrefix(i.inst.Name(), "v_cvt_scalef32_") {
				names[i.inst.Name()] = true
			}
		}
		if len(names) != 49 {
			t.Errorf("%s: %d of the 49 conversions were compiled", opt, len(names))
		}
		for n, c := range cases {
			from, to := formats[c.from], formats[c.to]
			pa, mem := alloc(t, m, 64*inWords*4)
			po, out := alloc(t, m, 64*outWords*4)
			var in [64][]uint32
			for l := range in {
				scale := uint32([]int{255, 0, 254, 1}[l%4])
				if l > 7 {
					scale = 127 + uint32(l%13) - 6
				}
				in[l] = make([]uint32, inWords)
				for k := range in[l] {
					in[l][k] = rng.Uint32()
					if from.mantissa > 3 && l > 3 { // around what the other format has, at its halves
						for at := uint(0); at < 32; at += from.size() {
							e := int(scale) - 127 + from.bias + rng.IntN(14) - 7
							mant := rng.Uint32() << rng.IntN(int(from.mantissa)+1) & (1<<from.mantissa - 1)
							e = min(max(e, 0), 1<<from.exponent-1)
							code := uint32(e)<<from.mantissa | mant | rng.Uint32()&1<<(from.size()-1)
							in[l][k] = in[l][k]&^uint32((uint64(1)<<from.size()-1)<<at) | code<<at
						}
					}
				}
				in[l][32] = rng.Uint32()
				in[l][33] = scale<<23 | rng.Uint32()&(1<<23-1)
				if scale == 255 {
					in[l][33] |= 1
				}
				for k, v := range in[l] {
					binary.LittleEndian.PutUint32(mem[4*(l*inWords+k):], v)
				}
			}
			if _, err := m.Launch(t.Context(), fmt.Sprint("c", n), Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(po))}, Options{}); err != nil {
				t.Fatalf("%s: %v", c.body, err)
			}
			for l := range in {
				got := make([]uint32, outWords)
				for k := range got {
					got[k] = binary.LittleEndian.Uint32(out[4*(l*outWords+k):])
				}
				scale, seed := formats["f32"].value(in[l][33]&0x7f800000), in[l][32]
				if in[l][33]>>23&255 == 0 {
					scale = math.Pow(2, -127)
				} else if in[l][33]>>23&255 == 255 {
					scale = math.NaN()
				}
				bits := uint(0)
				if c.random {
					bits = from.mantissa - to.mantissa
				}
				for e := range c.count {
					source := e
					if c.twice {
						source = e/2 + e%2*16
					}
					x := from.value(bitsAt(in[l], c.first+uint(source)*from.size(), from.size()))
					y := x * scale
					if from.size() > to.size() {
						y = x / scale
					}
					if y != y { // of the sign that is there
						y = math.Copysign(math.NaN(), 0.5-float64(bitsAt(in[l], c.first+uint(source)*from.size(), from.size())>>(from.size()-1)))
					}
					want, nan := to.code(y, seed, bits)
					have := bitsAt(got, c.at+uint(e)*to.size(), to.size())
					if v := to.value(have); nan && v != v {
						want = have
					}
					if have != want {
						t.Errorf("%s: %s\nlane %d, %d: %g with scale %g, seed 0x%x: 0x%x of 0x%08x, want 0x%x", opt, c.body, l, e, x, scale, seed, have, got[0], want)
						return
					}
					if seed>>31 != 0 {
						seed = seed<<1 ^ 197
					} else {
						seed <<= 1
					}
				}
				if room := uint(c.count) * to.size(); room < 32 && !c.untied {
					if rest := ^(uint32(1<<room-1) << c.at); got[0]&rest != old&rest {
						t.Fatalf("%s: %s: the rest of the register became 0x%x", opt, c.body, got[0])
					}
				}
			}
		}
	}
}

// What is too large is infinity or NaN, or the largest number where FP16_OVFL says so.
func TestScaledConversionsSaturate(t *testing.T) {
	m := loadHIP(t, "gfx950", "-O2", `
typedef short s2 __attribute__((ext_vector_type(2)));
static __device__ u32 both(float x) { s2 old = {}; return (u32)__builtin_bit_cast(u32, __builtin_amdgcn_cvt_scalef32_pk_fp8_f32(old, x, -x, 2.0f, 0)) | __builtin_bit_cast(u32, __builtin_amdgcn_cvt_scalef32_pk_bf8_f32(old, x, -x, 2.0f, 1)); }
KERNEL large(float x, u32 *o) { u32 v = both(x); asm volatile("" : "+v"(v)); asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 23, 1), 1"); asm volatile("" : "+s"(x)); o[0] = v; o[1] = both(x); }
`)
	po, out := alloc(t, m, 8)
	if _, err := m.Launch(t.Context(), "large", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u32arg(u32(1e6)), u64arg(uint64(po))}, Options{}); err != nil {
		t.Fatal(err)
	}
	if a, b := binary.LittleEndian.Uint32(out), binary.LittleEndian.Uint32(out[4:]); a != 0xfc7cff7f || b != 0xfb7bfe7e {
		t.Errorf("0x%08x, with FP16_OVFL 0x%08x", a, b)
	}
}
