package emulator

import (
	"math"
	"testing"
)

// What the first RDNA has beside the second runs, the dot products of gfx1011 and
// gfx1012 too.
func TestFirstRDNA(t *testing.T) {
	floats := func(a, b []byte) {
		random(a, b)
		for i := range 1024 {
			putWord(a, i, u32(float32(i%37)-18))
			putWord(b, i, u32(float32(i%11)*0.75-3))
			switch i % 13 {
			case 0:
				putWord(a, i, 0)
				putWord(b, i, 0x7f800000) // nothing times infinity
			case 1:
				putWord(b, i, 0)
			}
		}
	}
	nothing := func(a, b float32) float32 {
		if a == 0 || b == 0 {
			return 0
		}
		return a * b
	}
	testRDNA(t, "gfx1010", floats, []rdnaCase{
		{"v_mov_b32 v10, 2.0; v_mac_legacy_f32 v10, %1, %2; v_mov_b32 %0, v10", func(x, y, _, _, _ uint32) uint32 { return u32(nothing(f32(x), f32(y)) + 2) }},
		{"v_mad_legacy_f32 %0, %1, %2, 1.0", func(x, y, _, _, _ uint32) uint32 { return u32(nothing(f32(x), f32(y)) + 1) }},
		{"v_mov_b32 v10, 1.0; v_mac_f32 v10, %1, 2.0; v_mov_b32 %0, v10", func(x, _, _, _, _ uint32) uint32 { return u32(f32(x)*2 + 1) }},
		{"v_madmk_f32 %0, %1, 0x40400000, %1", func(x, _, _, _, _ uint32) uint32 { return u32(f32(x)*3 + f32(x)) }},
		{"v_mad_f32 %0, %1, 2.0, -%1", func(x, _, _, _, _ uint32) uint32 { return u32(f32(x)*2 - f32(x)) }},
	})
	whole := []rdnaCase{
		{"v_mul_lo_i32 %0, %1, %2", func(x, y, _, _, _ uint32) uint32 { return x * y }},
		{"v_xor3_b32 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 { return x ^ y ^ z }},
		{"v_add_nc_u16 %0, %1, %2 op_sel:[1,0,1]", func(x, y, _, _, _ uint32) uint32 { return ^x&0xffff | (x>>16+y)<<16 }},
		{"v_mov_b32_sdwa %0, %1 dst_sel:WORD_0 dst_unused:UNUSED_PAD src0_sel:BYTE_2", func(x, _, _, _, _ uint32) uint32 { return x >> 16 & 255 }},
		{"v_mov_b32_dpp %0, %1 dpp8:[0,1,2,3,4,5,6,7]", func(x, _, _, _, _ uint32) uint32 { return x }},
		{"s_mov_b32 null, -1; v_mov_b32 %0, null", func(_, _, _, _, _ uint32) uint32 { return 0 }},
	}
	testRDNA(t, "gfx1010", random, whole)
	testRDNA(t, "gfx1013", random, whole)
	testRDNA(t, "gfx1012", random, append(whole, rdnaCase{"v_dot4_i32_i8 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 {
		for n := 0; n < 32; n += 8 {
			z += uint32(int32(int8(x>>n)) * int32(int8(y>>n)))
		}
		return z
	}}, rdnaCase{"v_dot8_u32_u4 %0, %1, %2, %3", func(x, y, z, _, _ uint32) uint32 {
		for n := 0; n < 32; n += 4 {
			z += x >> n & 15 * (y >> n & 15)
		}
		return z
	}}))
}

// A wave of the first RDNA can ask for its number in the work-group.
func TestNumberOfWave(t *testing.T) {
	m := loadHIP(t, "gfx1010", "-O2", `KERNEL k(const u32 *a, const u32 *b, u32 *out, u32 n) { u32 w; asm volatile("s_get_waveid_in_workgroup %0\ns_waitcnt lgkmcnt(0)" : "=s"(w)); out[GID] = w; }`)
	r := launchTest(t, m, "k", random)
	for i := range 1024 {
		if want := uint32(i % 256 / 32); r.got(i) != want {
			t.Fatalf("work-item %d is of wave %d, want %d", i, r.got(i), want)
		}
	}
}

// Floats of the scalar unit began with gfx1150. Its minima and maxima have the names
// of the vector unit's.
func TestScalarFloatsOfRDNA3(t *testing.T) {
	fill := func(a, b []byte) {
		random(a, b)
		for i := range 4 {
			putWord(a, 256*i, u32(float32(i)*1.25-2))
			putWord(b, 256*i, u32(float32(i*i)+0.5))
		}
		putWord(b, 512, 0x7fc00000)
	}
	number := func(f func(a, b float32) float32) func(_, _, _, s, t uint32) uint32 {
		return func(_, _, _, s, t uint32) uint32 {
			if v := f32(t); v != v {
				return s
			}
			return u32(f(f32(s), f32(t)))
		}
	}
	testRDNA(t, "gfx1200", fill, []rdnaCase{
		{"s_min_num_f32 s20, %4, %5; v_mov_b32 %0, s20", number(func(a, b float32) float32 { return min(a, b) })},
		{"s_max_num_f32 s20, %4, %5; v_mov_b32 %0, s20", number(func(a, b float32) float32 { return max(a, b) })},
	})
	for _, arch := range []string{"gfx1150", "gfx1153"} {
		testRDNA(t, arch, fill, []rdnaCase{
			{"s_min_f32 s20, %4, %5; v_mov_b32 %0, s20", number(func(a, b float32) float32 { return min(a, b) })},
			{"s_max_f32 s20, %4, %5; v_mov_b32 %0, s20", number(func(a, b float32) float32 { return max(a, b) })},
			{"s_add_f32 s20, %4, 1.0; s_mul_f32 s20, s20, s20; s_fmac_f32 s20, 0x40400000, %4; v_mov_b32 %0, s20", func(_, _, _, s, _ uint32) uint32 {
				v := f32(s) + 1
				return u32(float32(v*v) + 3*f32(s))
			}},
			{"s_cvt_f16_f32 s20, %4; s_add_f16 s20, s20, 1.0; s_min_f16 s20, s20, 0; s_max_f16 s20, s20, -0.5; s_cvt_f32_f16 s20, s20; v_mov_b32 %0, s20", func(_, _, _, s, _ uint32) uint32 {
				return u32(float32(math.Max(math.Min(float64(f32(s)+1), 0), -0.5)))
			}},
			{"s_cmp_lt_f32 %4, 0; s_cselect_b32 s20, 1, 2; v_mov_b32 %0, s20", func(_, _, _, s, _ uint32) uint32 {
				if f32(s) < 0 {
					return 1
				}
				return 2
			}},
			{"v_mov_b32 v10, %1; v_mov_b32 v11, %2; v_dual_mov_b32 v10, v11 :: v_dual_mov_b32 v11, v10; v_sub_nc_u32 %0, v10, v11", func(x, y, _, _, _ uint32) uint32 { return y - x }},
		})
	}
}
