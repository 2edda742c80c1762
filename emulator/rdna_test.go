package emulator

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"testing"
)

// rdnaSource is asmSource for instructions that name registers: v10 to v15 and s20
// to s27 are theirs. %0 is the result and begins as ~x, %1 to %3 are x, y and z, in
// the first lanes' scalar registers %4 and %5.
func rdnaSource(cases []asmCase) string {
	var src strings.Builder
	for n, c := range cases {
		fmt.Fprintf(&src, `KERNEL asm%d(const u32 *a, const u32 *b, u32 *out, u32 n) { u32 i = GID; u32 x = a[i], y = b[i], z = x ^ 3 * y, d = ~x; u32 s = __builtin_amdgcn_readfirstlane(a[i & ~255]), t = __builtin_amdgcn_readfirstlane(b[i & ~255]);
asm volatile("%s" : "+v"(d) : "v"(x), "v"(y), "v"(z), "s"(s), "s"(t) : "v10", "v11", "v12", "v13", "v14", "v15", "s20", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "vcc", "scc"); out[i] = d; }
`, n, strings.ReplaceAll(c.text, "; ", `\n`))
	}
	return src.String()
}

// testRDNA runs instructions in waves of 32 lanes, all of which have an element; x
// and y of want are those of the lane, the last two those of the work-group's first.
func testRDNA(t *testing.T, arch string, fill func(a, b []byte), cases []rdnaCase, flags ...string) {
	t.Helper()
	list := make([]asmCase, len(cases))
	for n, c := range cases {
		list[n].text = c.text
	}
	m := loadHIP(t, arch, "-O2", rdnaSource(list), flags...)
	for n, c := range cases {
		r := launchTest(t, m, fmt.Sprint("asm", n), fill)
		for i := range 1024 {
			x, y := r.inA(i), r.inB(i)
			if want := c.want(x, y, x^3*y, r.inA(i&^255), r.inB(i&^255)); r.got(i) != want {
				t.Errorf("%s %v: %s of 0x%x, 0x%x, 0x%x (0x%x, 0x%x): 0x%x, want 0x%x", arch, flags, c.text, x, y, x^3*y, r.inA(i&^255), r.inB(i&^255), r.got(i), want)
				break
			}
		}
	}
}

type rdnaCase struct {
	text string
	want func(x, y, z, s, t uint32) uint32
}

func signedMin(a, b uint32) uint32 { return uint32(min(int32(a), int32(b))) }
func signedMax(a, b uint32) uint32 { return uint32(max(int32(a), int32(b))) }

// Integers and moves, as the documents say. What is the same from one RDNA to the
// next runs on all three.
func TestRDNAIntegers(t *testing.T) {
	off := func(text string) string {
		return "v_mov_b32 v10, %4; v_mov_b32 v11, 77; s_mov_b32 s21, 0; s_mov_b32 s22, 0; s_mov_b32 s20, exec_lo; s_mov_b32 exec_lo, 1; " + text + "; s_mov_b32 exec_lo, s20; v_readlane_b32 s23, v11, 0; v_mov_b32 %0, s23"
	}
	all := []rdnaCase{
		{"v_xor3_b32 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return x ^ y ^ z }},
		{"v_add_nc_u32 %0, %1, %2", func(x, y, _, _, _ uint32) uint32 { return x + y }},
		{"v_lshlrev_b32 %0, 0x12345, %1", func(x, _, _, _, _ uint32) uint32 { return x << 5 }},
		{"v_add3_u32 %0, %1, 0x12345678, %2", func(x, y, _, _, _ uint32) uint32 { return x + y + 0x12345678 }},
		{"v_perm_b32 %0, %1, %2, 0x0c050301", func(x, y, _, _, _ uint32) uint32 {
			return y>>8&255 | y>>24<<8 | x>>8&255<<16
		}},
		// null gives zero, and takes what nobody wants.
		{"s_mov_b32 null, -1; s_mov_b64 null, -1; v_mov_b32 %0, null", func(_, _, _, _, _ uint32) uint32 { return 0 }},
		{"s_mov_b32 m0, 77; s_mov_b64 null, -1; v_mov_b32 %0, m0", func(_, _, _, _, _ uint32) uint32 { return 77 }},
		{"s_mov_b32 vcc_hi, 5; v_cmp_gt_u32 vcc_lo, %1, %2; v_mov_b32 %0, vcc_hi", func(_, _, _, _, _ uint32) uint32 { return 5 }},
		{"s_mov_b32 vcc_lo, 0; s_mov_b32 vcc_hi, 5; v_mov_b32 %0, 1; s_cbranch_vccz 1; v_mov_b32 %0, 2", func(_, _, _, _, _ uint32) uint32 { return 1 }},
		{"s_mov_b32 s21, 5; s_mov_b32 s23, 6; v_cmp_ne_u32 s22, 0, 0; v_add_nc_u32 %0, s21, s23", func(_, _, _, _, _ uint32) uint32 { return 11 }},
		{"v_cmp_lt_u32 s23, %1, %2; v_cndmask_b32 %0, %1, %2, s23", func(x, y, _, _, _ uint32) uint32 { return max(x, y) }},
		{"v_add_co_u32 %0, s23, %1, %2; v_add_co_ci_u32 %0, s25, 0, %0, s23", func(x, y, _, _, _ uint32) uint32 {
			s, c := bits.Add32(x, y, 0)
			return s + c
		}},
		{"v_mov_b32 %0, 9; s_mov_b32 s20, exec_lo; v_cmpx_lt_u32 %1, %2; v_mov_b32 %0, 8; s_mov_b32 exec_lo, s20", func(x, y, _, _, _ uint32) uint32 {
			if x < y {
				return 8
			}
			return 9
		}},
		{"v_cmp_lt_u32 s21, %1, %2; v_mov_b32 %0, 9; s_and_saveexec_b32 s23, s21; v_mov_b32 %0, 8; s_or_b32 exec_lo, exec_lo, s23", func(x, y, _, _, _ uint32) uint32 {
			if x < y {
				return 8
			}
			return 9
		}},
		{"v_readlane_b32 s20, %1, 33; v_readlane_b32 s21, %1, 1; s_sub_u32 s20, s20, s21; v_mov_b32 %0, s20", func(_, _, _, _, _ uint32) uint32 { return 0 }},
		{"s_mov_b32 exec_hi, -1; v_mov_b32 %0, exec_hi", func(_, _, _, _, _ uint32) uint32 { return 0 }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_mov_b32 v12, 7; s_mov_b32 m0, 2; v_movrels_b32 %0, v10", func(_, _, _, _, _ uint32) uint32 { return 7 }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; s_mov_b32 m0, 1; v_movreld_b32 v10, 5; v_sub_nc_u32 %0, v10, v11", func(x, _, _, _, _ uint32) uint32 { return x - 5 }},
		{"v_mov_b32 %0, 5; v_mov_b32_dpp %0, %1 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0x0; v_add_nc_u32 %0, 1, %0", func(_, _, _, _, _ uint32) uint32 { return 6 }},
		// Lane 0 alone is on, and reads from one that is off.
		{off("v_permlanex16_b32 v11, v10, s21, s22 op_sel:[1,0]"), func(_, _, _, s, _ uint32) uint32 { return s }},
		{off("v_permlanex16_b32 v11, v10, s21, s22 op_sel:[0,0]"), func(_, _, _, s, _ uint32) uint32 { return 77 }},
		{off("v_permlanex16_b32 v11, v10, s21, s22 op_sel:[0,1]"), func(_, _, _, s, _ uint32) uint32 { return 0 }},
		{off("v_mov_b32_dpp v11, v10 row_share:5 row_mask:0xf bank_mask:0xf fi:1"), func(_, _, _, s, _ uint32) uint32 { return s }},
		{off("v_mov_b32_dpp v11, v10 row_share:5 row_mask:0xf bank_mask:0xf"), func(_, _, _, s, _ uint32) uint32 { return 77 }},
		{off("v_mov_b32_dpp v11, v10 row_share:5 row_mask:0xf bank_mask:0xf bound_ctrl:1"), func(_, _, _, s, _ uint32) uint32 { return 0 }},
		{off("v_mov_b32_dpp v11, v10 dpp8:[7,7,7,7,7,7,7,7] fi:1"), func(_, _, _, s, _ uint32) uint32 { return s }},
		{off("v_mov_b32_dpp v11, v10 dpp8:[7,7,7,7,7,7,7,7]"), func(_, _, _, s, _ uint32) uint32 { return 0 }},
		// A name that ends in u16 is not always a result of 16 bits.
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_mov_b32 v12, 0; v_mov_b32 v13, 0; v_qsad_pk_u16_u8 v[14:15], v[10:11], 0, v[12:13]; v_mov_b32 %0, v15", func(x, y, _, _, _ uint32) uint32 {
			b := func(n int) uint32 { return uint32((uint64(x)|uint64(y)<<32)>>(8*n)) & 255 }
			return b(2) + b(3) + b(4) + b(5) | (b(3)+b(4)+b(5)+b(6))<<16
		}},
		{"v_mad_u32_u16 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return (x&0xffff)*(y&0xffff) + z }},
		{"v_add_nc_i32 %0, %1, %2 clamp", func(x, y, _, _, _ uint32) uint32 {
			return limit(int64(int32(x))+int64(int32(y)), math.MinInt32, math.MaxInt32)
		}},
		{"v_mov_b32 v10, 0x2f800000; s_round_mode 1; v_add_f32 v10, 1.0, v10; s_round_mode 0; v_mov_b32 %0, v10", func(_, _, _, _, _ uint32) uint32 { return 0x3f800001 }},
		{"v_mov_b32 v10, 0x00400000; s_denorm_mode 0; v_mul_f32 v10, 1.0, v10; s_denorm_mode 15; v_mov_b32 %0, v10", func(_, _, _, _, _ uint32) uint32 { return 0 }},
	}
	for _, arch := range []string{"gfx1030", "gfx1100", "gfx1201"} {
		testRDNA(t, arch, random, all)
	}
	half := func(v uint32, n uint) uint32 { return v >> (16 * n) & 0xffff }
	later := []rdnaCase{
		{"v_maxmin_i32 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return signedMin(signedMax(x, y), z) }},
		{"v_minmax_i32 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return signedMax(signedMin(x, y), z) }},
		{"v_maxmin_u32 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return min(max(x, y), z) }},
		{"v_minmax_u32 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return max(min(x, y), z) }},
		{"s_pack_hl_b32_b16 s20, %4, %5; v_mov_b32 %0, s20", func(_, _, _, s, t uint32) uint32 { return s>>16 | t<<16 }},
		{"v_dot4_i32_iu8 %0, %1, %2, %3 neg_lo:[1,0,0]", func(x, y, z, _, _ uint32) uint32 {
			for n := 0; n < 32; n += 8 {
				z += uint32(int32(int8(x>>n)) * int32(uint8(y>>n)))
			}
			return z
		}},
		{"v_dot8_i32_iu4 %0, %1, %2, %3 neg_lo:[0,1,0] clamp", func(x, y, z, _, _ uint32) uint32 {
			sum := int64(int32(z))
			for n := 0; n < 32; n += 4 {
				sum += int64(x>>n&15) * int64(int32(y>>n<<28)>>28)
			}
			return limit(sum, math.MinInt32, math.MaxInt32)
		}},
		// Both halves read before one writes, whichever names the other's result.
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_dual_mov_b32 v10, v11 :: v_dual_mov_b32 v11, v10; v_sub_nc_u32 %0, v10, v11", func(x, y, _, _, _ uint32) uint32 { return y - x }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_dual_mov_b32 v12, v11 :: v_dual_add_nc_u32 v11, v10, v11; v_sub_nc_u32 %0, v12, v11", func(x, _, _, _, _ uint32) uint32 { return -x }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_cmp_lt_u32 vcc_lo, v10, v11; v_dual_cndmask_b32 v12, v10, v11 :: v_dual_lshlrev_b32 v13, 3, v10; v_xor_b32 %0, v12, v13", func(x, y, _, _, _ uint32) uint32 { return max(x, y) ^ x<<3 }},
		// Lanes from beside, for wide formats and comparisons.
		{"v_add3_u32_e64_dpp %0, %1, %2, %3 row_xmask:0 row_mask:0xf bank_mask:0xf", func(x, y, z, _, _ uint32) uint32 { return x + y + z }},
		{"v_mov_b32_dpp %0, %1 dpp8:[0,1,2,3,4,5,6,7]", func(x, _, _, _, _ uint32) uint32 { return x }},
		{"v_mov_b32 v10, 3; v_cmp_lt_u32_e64_dpp s21, %1, %2 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf; v_cndmask_b32 %0, 1, v10, s21", func(x, y, _, _, _ uint32) uint32 {
			if x < y {
				return 3
			}
			return 1
		}},
	}
	for _, arch := range []string{"gfx1100", "gfx1201"} {
		testRDNA(t, arch, random, later)
	}
	testRDNA(t, "gfx1100", random, []rdnaCase{
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_add_nc_u16 v10.h, v10.l, v11.h; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 { return half(x, 0) | (x+y>>16)<<16 }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_add_nc_u16 v10.l, v10.h, v11.l; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 { return x&^0xffff | (x>>16+y)&0xffff }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_mov_b16 v10.h, v11.l; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 { return half(x, 0) | y<<16 }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_swap_b16 v10.l, v11.h; v_xor_b32 %0, v10, v11", func(x, y, _, _, _ uint32) uint32 { return x&^0xffff | y>>16 ^ (y&0xffff | x<<16) }},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_and_b16 v10.l, v10.h, v11.l; v_or_b16 v10.h, v10.h, v11.l; v_xor_b16 v11.l, v10.l, v11.h; v_not_b16 v11.h, v11.h; v_xor_b32 %0, v10, v11", func(x, y, _, _, _ uint32) uint32 {
			low := x >> 16 & y & 0xffff
			high := (x>>16 | y) << 16
			return (low | high) ^ (low ^ y>>16 | ^y&^0xffff)
		}},
		{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_cmp_lt_u16 vcc_lo, v10.h, v11.l; v_cndmask_b16 v10.l, v10.h, v11.l, vcc_lo; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 {
			return x&^0xffff | max(half(x, 1), half(y, 0))
		}},
		{"v_mov_b32 v10, %1; v_cvt_i32_i16 %0, v10.h", func(x, _, _, _, _ uint32) uint32 { return uint32(int32(x) >> 16) }},
		{"v_mov_b32 v10, %1; v_cvt_u32_u16 %0, v10.l", func(x, _, _, _, _ uint32) uint32 { return half(x, 0) }},
	})
	testRDNA(t, "gfx1030", random, []rdnaCase{
		{"v_mov_b32 v10, %1; v_add_nc_u16 v10, %1, %2; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 { return x&^0xffff | (x+y)&0xffff }},
		{"v_mov_b32 v10, %1; v_add_nc_u16 v10, %1, %2 op_sel:[1,0,1]; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 { return half(x, 0) | (x>>16+y)<<16 }},
		{"v_add_nc_u32_sdwa %0, %1, %2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_1", func(x, y, _, _, _ uint32) uint32 { return x>>8&255 + y>>16 }},
		{"v_cmp_lt_u32_sdwa s21, %1, %2 src0_sel:WORD_0 src1_sel:WORD_1; v_cndmask_b32 %0, %1, %2, s21", func(x, y, _, _, _ uint32) uint32 {
			if half(x, 0) < half(y, 1) {
				return y
			}
			return x
		}},
		{"v_dot4_i32_i8 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 {
			for n := 0; n < 32; n += 8 {
				z += uint32(int32(int8(x>>n)) * int32(int8(y>>n)))
			}
			return z
		}},
	})
	testRDNA(t, "gfx1201", random, []rdnaCase{
		{"s_mov_b32 s20, %4; s_mov_b32 s21, %5; s_mul_u64 s[22:23], s[20:21], s[20:21]; s_add_nc_u64 s[22:23], s[22:23], s[20:21]; s_sub_nc_u64 s[22:23], s[22:23], 3; v_mov_b32 v10, s23; v_xor_b32 %0, s22, v10", func(_, _, _, s, t uint32) uint32 {
			v := uint64(s) | uint64(t)<<32
			v = v*v + v - 3
			return uint32(v) ^ uint32(v>>32)
		}},
	})
}

func putWord(b []byte, i int, v uint32) { binary.LittleEndian.PutUint32(b[4*i:], v) }

// Floats of the scalar unit, and the minima and maxima of IEEE 754-2019.
func TestRDNAFloats(t *testing.T) {
	nan := func(v float32) bool { return v != v }
	quiet := func(v uint32) uint32 {
		if nan(f32(v)) {
			return 0x7fc00000
		}
		return v
	}
	canon := "; v_mov_b32 v15, 0x7fc00000; v_cmp_u_f32 vcc_lo, %0, %0; v_cndmask_b32 %0, %0, v15, vcc_lo"
	special := func(a, b []byte) {
		random(a, b)
		list := []uint32{0, 1 << 31, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000001, 0x7f7fffff}
		for i := range 256 {
			if i%5 == 0 {
				putWord(a, i, list[i%len(list)])
			}
			if i%7 == 0 || i%5 == 0 {
				putWord(b, i, list[i/5%len(list)])
			}
		}
		for i := range 4 { // of the scalar ones
			putWord(a, 256*i, u32(float32(i)*1.25-2))
			putWord(b, 256*i, u32(float32(i*i)+0.5))
		}
	}
	num := func(f func(a, b float32) float32) func(x, y, z, s, t uint32) uint32 {
		return func(x, y, _, _, _ uint32) uint32 {
			a, b := f32(x), f32(y)
			switch {
			case nan(a):
				return quiet(y)
			case nan(b):
				return quiet(x)
			}
			return u32(f(a, b))
		}
	}
	least := func(a, b float32) float32 { return min(a, b) }
	most := func(a, b float32) float32 { return max(a, b) }
	testRDNA(t, "gfx1201", special, []rdnaCase{
		{"v_fma_mix_f32_e64_dpp %0, %1, %2, -%3 quad_perm:[0,1,2,3] row_mask:0xf bank_mask:0xf" + canon, func(x, y, z, _, _ uint32) uint32 {
			return quiet(u32(fma32(f32(x), f32(y), -f32(z))))
		}},
		{"v_min_num_f32 %0, %1, %2" + canon, num(least)},
		{"v_max_num_f32 %0, %1, %2" + canon, num(most)},
		{"v_minimum_f32 %0, %1, %2" + canon, func(x, y, _, _, _ uint32) uint32 { return quiet(u32(min(f32(x), f32(y)))) }},
		{"v_maximum_f32 %0, %1, %2" + canon, func(x, y, _, _, _ uint32) uint32 { return quiet(u32(max(f32(x), f32(y)))) }},
		{"v_minimummaximum_f32 %0, %1, %2, %3" + canon, func(x, y, z, _, _ uint32) uint32 { return quiet(u32(max(min(f32(x), f32(y)), f32(z)))) }},
		{"v_maximumminimum_f32 %0, -%1, |%2|, %3" + canon, func(x, y, z, _, _ uint32) uint32 {
			return quiet(u32(min(max(-f32(x), float32(math.Abs(float64(f32(y))))), f32(z))))
		}},
		{"v_minimum3_f32 %0, %1, %2, %3" + canon, func(x, y, z, _, _ uint32) uint32 { return quiet(u32(min(f32(x), f32(y), f32(z)))) }},
		{"s_add_f32 s20, %4, %5; v_mov_b32 %0, s20", func(_, _, _, s, t uint32) uint32 { return u32(f32(s) + f32(t)) }},
		{"s_sub_f32 s20, %4, %5; s_mul_f32 s20, s20, %5; v_mov_b32 %0, s20", func(_, _, _, s, t uint32) uint32 { return u32((f32(s) - f32(t)) * f32(t)) }},
		{"s_mov_b32 s20, 2.0; s_fmac_f32 s20, %4, %5; s_fmaak_f32 s20, s20, %4, 0x40400000; s_fmamk_f32 s20, s20, 0x40400000, %5; v_mov_b32 %0, s20", func(_, _, _, s, t uint32) uint32 {
			v := fma32(f32(s), f32(t), 2)
			return u32(fma32(fma32(v, f32(s), 3), 3, f32(t)))
		}},
		{"s_cvt_i32_f32 s20, %5; s_cvt_f32_i32 s21, s20; s_floor_f32 s22, %4; s_ceil_f32 s23, %4; s_trunc_f32 s24, %5; s_rndne_f32 s25, %5; s_add_f32 s21, s21, s22; s_add_f32 s23, s23, s24; s_mul_f32 s21, s21, s23; s_sub_f32 s21, s21, s25; v_mov_b32 %0, s21", func(_, _, _, s, t uint32) uint32 {
			f := func(g func(float64) float64, v uint32) float32 { return float32(g(float64(f32(v)))) }
			return u32((f(math.Trunc, t)+f(math.Floor, s))*(f(math.Ceil, s)+f(math.Trunc, t)) - f(math.RoundToEven, t))
		}},
		{"s_cmp_lt_f32 %4, %5; s_cselect_b32 s20, 1, 2; s_cmp_nge_f32 %4, %5; s_cselect_b32 s21, 4, 8; s_cmp_u_f32 %4, %4; s_cselect_b32 s22, 16, 32; s_or_b32 s20, s20, s21; s_or_b32 s20, s20, s22; v_mov_b32 %0, s20", func(_, _, _, s, t uint32) uint32 {
			if f32(s) < f32(t) {
				return 1 | 4 | 32
			}
			return 2 | 8 | 32
		}},
		{"s_cvt_f16_f32 s20, %5; s_cvt_f32_f16 s20, s20; v_mov_b32 %0, s20", func(_, _, _, _, t uint32) uint32 { return t }},
		{"v_s_rcp_f32 s20, %5; v_mov_b32 %0, s20", func(_, _, _, _, t uint32) uint32 { return u32(float32(1 / float64(f32(t)))) }},
		{"s_round_mode 2; s_add_f32 s20, 1.0, 0xaf800000; s_round_mode 0; v_mov_b32 %0, s20", func(_, _, _, _, _ uint32) uint32 { return 0x3f7fffff }},
		{"v_cvt_pk_fp8_f32 v10, %4, %5; v_cvt_f32_fp8 v11, v10 byte_sel:1; v_mov_b32 %0, v11", func(_, _, _, _, t uint32) uint32 {
			if f32(t) == 9.5 { // halfway between two that there are
				return u32(10)
			}
			return t
		}},
		{"v_cvt_pk_i16_f32 %0, %4, %5", func(_, _, _, s, t uint32) uint32 { return uint32(int32(f32(s)))&0xffff | uint32(int32(f32(t)))<<16 }},
	})
	for _, arch := range []string{"gfx1030", "gfx1100"} {
		testRDNA(t, arch, special, []rdnaCase{
			{"v_min_f32 %0, %1, %2" + canon, num(least)},
			{"v_max_f32 %0, %1, %2" + canon, num(most)},
			{"v_fmac_f32 %0, %4, %5" + canon, func(x, _, _, s, t uint32) uint32 { return quiet(u32(fma32(f32(s), f32(t), f32(^x)))) }},
		})
	}
}
