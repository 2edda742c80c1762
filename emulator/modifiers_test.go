package emulator

import (
	"encoding/binary"
	"math"
	"math/big"
	"testing"
)

// Halves that VOP3 selects, of sources and of the result.
func TestSelectedHalves(t *testing.T) {
	testAsm(t, "gfx900", random, []asmCase{
		{"v_mad_u16 %0, %1, %2, %3 op_sel:[1,0,1,0]", func(x, y, z uint32) uint32 { return (x>>16*y + z>>16) & 0xffff }},
		{"v_mad_u16 %0, %1, %2, %3 op_sel:[0,1,0,1]", func(x, y, z uint32) uint32 { return (x*(y>>16)+z)<<16 | ^x&0xffff }},
		{"v_max3_i16 %0, %1, %2, %3 op_sel:[0,1,1,0]", func(x, y, z uint32) uint32 {
			return uint32(uint16(max(int16(x), int16(y>>16), int16(z>>16))))
		}},
		{"v_add_u32_sdwa %0, %1, %2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:WORD_1", func(x, y, _ uint32) uint32 {
			return (x>>24+y>>16)<<16 | ^x&0xffff
		}},
		{"v_sub_u32_sdwa %0, sext(%1), %2 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 src1_sel:BYTE_2", func(x, y, _ uint32) uint32 {
			return uint32(int32(int8(uint32(int32(int8(x)))-y>>16&255)) << 8)
		}},
	})
}

// Lanes that DPP moves: where there is no source, and where rows and banks are
// left out. The scalar operations that extend a sign, and sums of 64 bits.
func TestMovedLanes(t *testing.T) {
	m := loadHIP(t, "gfx900", "-O2", movedSource)
	pa, a := alloc(t, m, 1024)
	po, out := alloc(t, m, 64*8*4)
	random(a, nil)
	launch := func(kernel string, grid uint32) {
		t.Helper()
		if _, err := m.Launch(t.Context(), kernel, Dim3{grid, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(po))}, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	in := func(i int) uint32 { return binary.LittleEndian.Uint32(a[4*i:]) }
	got := func(i int) uint32 { return binary.LittleEndian.Uint32(out[4*i:]) }
	launch("dpp", 1)
	for l := range 64 {
		old, row, at := ^in(l), l&^15, l&15
		within := func(n int, missing uint32) uint32 {
			if at+n < 0 || at+n > 15 {
				return missing
			}
			return in(l + n)
		}
		want := [8]uint32{within(-1, old), within(-1, 0), old, old, in(l&^3 | []int{2, 2, 0, 1}[l&3]), in(l&^7 | 7 - l&7), old, old}
		if l/16%2 == 0 {
			want[2] = within(3, 0)
		} else {
			want[6] = in(row - 1)
		}
		if at/4 == 1 || at/4 == 2 {
			want[3] = in(row | (at-5)&15)
		}
		if l > 0 {
			want[7] = in(l - 1)
		}
		for n, w := range want {
			if got(l*8+n) != w {
				t.Errorf("lane %d, %d: 0x%x, want 0x%x", l, n, got(l*8+n), w)
			}
		}
	}
	launch("sext", 64)
	for i := range 64 {
		if v, w := uint32(int32(int16(in(i)))), uint32(int32(int8(in(i)))); got(2*i) != v || got(2*i+1) != w {
			t.Fatalf("0x%x: 0x%x and 0x%x, want 0x%x and 0x%x", in(i), got(2*i), got(2*i+1), v, w)
		}
	}
	launch("mad", 1)
	for i := range 64 {
		x, y := uint64(in(2*i)), uint64(in(2*i+1))
		c := uint64(in(2*i+2)) | uint64(in(2*i+3))<<32
		sum := x*y + c
		carry := uint32(0)
		if sum < c {
			carry = 1
		}
		if v := uint64(got(3*i)) | uint64(got(3*i+1))<<32; v != sum || got(3*i+2) != carry {
			t.Fatalf("0x%x * 0x%x + 0x%x: 0x%x and carry %d, want 0x%x and %d", x, y, c, v, got(3*i+2), sum, carry)
		}
	}
}

const movedSource = `
#define DPP(n, text) { u32 d = ~x; asm volatile("s_nop 1\nv_mov_b32_dpp %0, %1 " text : "+v"(d) : "v"(x)); out[TID * 8 + n] = d; }
KERNEL dpp(const u32 *a, u32 *out) { u32 x = a[TID];
  DPP(0, "row_shr:1 row_mask:0xf bank_mask:0xf") DPP(1, "row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0") DPP(2, "row_shl:3 row_mask:0x5 bank_mask:0xf bound_ctrl:0")
  DPP(3, "row_ror:5 row_mask:0xf bank_mask:0x6") DPP(4, "quad_perm:[2,2,0,1] row_mask:0xf bank_mask:0xf") DPP(5, "row_half_mirror row_mask:0xf bank_mask:0xf")
  DPP(6, "row_bcast:15 row_mask:0xa bank_mask:0xf") DPP(7, "wave_shr:1 row_mask:0xf bank_mask:0xf") }
KERNEL sext(const u32 *a, u32 *out) { u32 v, w; asm volatile("s_sext_i32_i16 %0, %2\ns_sext_i32_i8 %1, %2" : "=&s"(v), "=&s"(w) : "s"(a[BID])); out[2 * BID] = v; out[2 * BID + 1] = w; }
KERNEL mad(const u64 *a, u32 *out) { u64 v; u32 c;
  asm volatile("v_mad_u64_u32 %0, vcc, %2, %3, %4\nv_mov_b32 %1, 0\nv_addc_co_u32 %1, vcc, 0, %1, vcc" : "=&v"(v), "=&v"(c) : "v"((u32)a[TID]), "v"((u32)(a[TID] >> 32)), "v"(a[TID + 1]) : "vcc");
  out[TID * 3] = (u32)v; out[TID * 3 + 1] = (u32)(v >> 32); out[TID * 3 + 2] = c; }
`

// A fused multiply-add is rounded once, also where float64 lies halfway between
// two f32 and what it lost decides.
func TestFusedIsRoundedOnce(t *testing.T) {
	for _, c := range [][3]float32{
		{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-60}, {1 + 0x1p-12, 1 + 0x1p-12, -0x1p-60}, {1 + 0x1p-12, 1 + 0x1p-12, 0}, {-1 - 0x1p-12, 1 + 0x1p-12, 0x1p-70},
		{0x1p-80, 0x1p-69, 0x1p-149}, {0x1p-80, 0x1.8p-70, 0x1p-149}, {0x1p-75, 0x1p-75, 0x1p-127}, {0x1p-75, -0x1p-75, 0x1p-127}, {3, 5, -15},
	} {
		x := new(big.Float).SetPrec(1000).SetFloat64(float64(c[0]))
		x.Mul(x, new(big.Float).SetFloat64(float64(c[1]))).Add(x, new(big.Float).SetFloat64(float64(c[2])))
		want, _ := x.Float32()
		if got := fma32(c[0], c[1], c[2]); got != want {
			t.Errorf("%b * %b + %b: %b, want %b", c[0], c[1], c[2], got, want)
		}
	}
}

// Numbers between two f16 go to the nearer, or to the even one.
func TestHalvesAreRoundedToEven(t *testing.T) {
	for h := range uint16(0x7bff) {
		low, high := fromHalf(h), fromHalf(h+1)
		middle := (low + high) / 2
		for v, want := range map[float64]uint16{low: h, middle: h + h&1, middle + (high-low)/1024: h + 1, middle - (high-low)/1024: h} {
			if got := toHalf(v); got != want {
				t.Fatalf("%g between 0x%x and 0x%x: 0x%x, want 0x%x", v, h, h+1, got, want)
			}
			if got := toHalf(-v); got != want|0x8000 {
				t.Fatalf("%g: 0x%x, want 0x%x", -v, got, want|0x8000)
			}
		}
	}
	if fromHalf(0x3c00) != 1 || fromHalf(0x3c01) != 1+1.0/1024 || fromHalf(1) != 0x1p-24 || fromHalf(0x7bff) != 65504 || toHalf(65520) != 0x7c00 {
		t.Error("f16 is not what it is")
	}
}

// All of f16, and what lies between two of them.
func TestHalf(t *testing.T) {
	for h := range uint16(0x7c00) {
		want := math.Ldexp(float64(h&1023), -24)
		if e := int(h >> 10); e > 0 {
			want = math.Ldexp(float64(h&1023)+1024, e-25)
		}
		next := math.Ldexp(1, max(int(h>>10), 1)-25)
		for _, sign := range []uint16{0, 1 << 15} {
			x := math.Copysign(want, 1-2*float64(sign>>15))
			if fromHalf(h|sign) != x || toHalf(x) != h|sign {
				t.Fatalf("0x%x is %g, and back 0x%x; want %g", h|sign, fromHalf(h|sign), toHalf(x), x)
			}
			side := math.Copysign(next, x)
			for by, up := range map[float64]uint16{0.49: 0, 0.5: h & 1, 0.51: 1} {
				if got := toHalf(x + by*side); got != h+up|sign {
					t.Fatalf("%g is 0x%x, want 0x%x", x+by*side, got, h+up|sign)
				}
			}
		}
	}
}
