package emulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// moving is a comparison whose first source comes from other lanes. It leaves 3 in %0
// where it holds, and 1 elsewhere; want says where, in a wave of so many lanes.
type moving struct {
	text string
	want func(r *run, wave, i int) bool
}

// Comparisons with DPP and DPP8, in four bytes and in eight: what lane reads which, what
// a lane without a source or of a masked row has in the result (nothing), and that
// V_CMPX leaves the result in EXEC.
func TestRDNAComparesOtherLanes(t *testing.T) {
	sel := []int{7, 0, 2, 1, 5, 5, 3, 6}
	const eight = " dpp8:[7,0,2,1,5,5,3,6]"
	// The lane beside that each reads, and where it is.
	of8 := func(i int) int { return i&^7 | sel[i&7] }
	of4 := func(i int) int { return i&^3 | []int{3, 0, 2, 1}[i&3] }
	picked := func(text string) string { // from vcc
		return text + "; v_mov_b32 v10, 3; v_cndmask_b32 %0, 1, v10, VCC"
	}
	left := func(text string) string { // in exec
		return "v_mov_b32 %0, 1; s_mov_b64 s[20:21], exec; " + text + "; v_mov_b32 %0, 3; s_mov_b64 exec, s[20:21]"
	}
	odd := func(text string) string { // lanes that are odd are off
		return "s_mov_b64 s[20:21], exec; s_mov_b32 EXECLO, 0x55555555; " + text + "; s_mov_b64 exec, s[20:21]; v_mov_b32 v10, 3; v_cndmask_b32 %0, 1, v10, VCC"
	}
	low := func(v uint32) uint32 { return v & 0xffff }
	cases := []moving{
		{picked("v_cmp_lt_u32_dpp VCC, %1, %2" + eight), func(r *run, _, i int) bool { return r.inA(of8(i)) < r.inB(i) }},
		{picked("v_cmp_gt_i32_dpp VCC, %1, %2" + eight), func(r *run, _, i int) bool { return int32(r.inA(of8(i))) > int32(r.inB(i)) }},
		{picked("v_cmp_nge_f32_dpp VCC, %1, %2" + eight), func(r *run, _, i int) bool { return !(f32(r.inA(of8(i))) >= f32(r.inB(i))) }},
		{picked("v_cmp_lt_u32_e64_dpp VCC, %1, %2" + eight), func(r *run, _, i int) bool { return r.inA(of8(i)) < r.inB(i) }},
		{left("v_cmpx_nge_f32_dpp %1, %2" + eight), func(r *run, _, i int) bool { return !(f32(r.inA(of8(i))) >= f32(r.inB(i))) }},
		{left("v_cmpx_le_u32_dpp %1, %2 quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf"), func(r *run, _, i int) bool { return r.inA(of4(i)) <= r.inB(i) }},
		{picked("v_cmp_lt_u32_dpp VCC, %1, %2 quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf"), func(r *run, _, i int) bool { return r.inA(of4(i)) < r.inB(i) }},
		{picked("v_cmp_lt_f32_dpp VCC, -|%1|, |%2| row_xmask:6 row_mask:0xf bank_mask:0xf"), func(r *run, _, i int) bool {
			return f32(r.inA(i^6)|1<<31) < f32(r.inB(i)&^(1<<31))
		}},
		// The first lane of a row has no source, unless it reads zero.
		{picked("v_cmp_le_u32_dpp VCC, %1, %2 row_shr:1 row_mask:0xf bank_mask:0xf"), func(r *run, _, i int) bool { return i&15 != 0 && r.inA(i-1) <= r.inB(i) }},
		{picked("v_cmp_le_u32_dpp VCC, %1, %2 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1"), func(r *run, _, i int) bool { return i&15 == 0 || r.inA(i-1) <= r.inB(i) }},
		{picked("v_cmp_le_u32_dpp VCC, %1, %2 row_share:4 row_mask:0x2 bank_mask:0x7"), func(r *run, wave, i int) bool {
			return i%wave/16 == 1 && i%16/4 != 3 && r.inA(i&^15|4) <= r.inB(i)
		}},
		{left("v_cmpx_le_u32_dpp %1, %2 row_share:4 row_mask:0x2 bank_mask:0x7"), func(r *run, wave, i int) bool {
			return i%wave/16 == 1 && i%16/4 != 3 && r.inA(i&^15|4) <= r.inB(i)
		}},
		// A lane that is off reads as zero, or as what it has.
		{odd("v_cmp_lt_u32_dpp VCC, %1, %2" + eight), func(r *run, wave, i int) bool {
			x := r.inA(of8(i))
			if of8(i)&1 != 0 && i%wave < 32 {
				x = 0
			}
			return (i&1 == 0 || i%wave >= 32) && x < r.inB(i)
		}},
		{odd("v_cmp_lt_u32_dpp VCC, %1, %2" + eight + " fi:1"), func(r *run, wave, i int) bool {
			return (i&1 == 0 || i%wave >= 32) && r.inA(of8(i)) < r.inB(i)
		}},
		{odd("v_cmp_lt_u32_dpp VCC, %1, %2 quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf fi:1"), func(r *run, wave, i int) bool {
			return (i&1 == 0 || i%wave >= 32) && r.inA(of4(i)) < r.inB(i)
		}},
		// Of what class the other lane's number is: negative, of any kind.
		{picked("v_mov_b32 v11, 0x3c; v_cmp_class_f32_dpp VCC, %1, v11" + eight), func(r *run, _, i int) bool {
			v := r.inA(of8(i))
			return v>>31 != 0 && v&0x7fffffff <= 0x7f800000
		}},
	}
	halves := []moving{
		{picked("v_mov_b32 v11, %1; v_mov_b32 v12, %2; v_cmp_lt_u16_dpp VCC, v11.h, v12.l" + eight), func(r *run, _, i int) bool { return r.inA(of8(i))>>16 < low(r.inB(i)) }},
		{picked("v_mov_b32 v11, %1; v_mov_b32 v12, %2; v_cmp_lt_u16_dpp VCC, v11.l, v12.h quad_perm:[3,0,2,1] row_mask:0xf bank_mask:0xf"), func(r *run, _, i int) bool { return low(r.inA(of4(i))) < r.inB(i)>>16 }},
	}
	for _, arch := range []string{"gfx1100", "gfx1201"} {
		list := cases
		if arch == "gfx1100" {
			list = slices.Concat(cases, halves)
		}
		for _, wave := range []int{32, 64} {
			compareMoved(t, arch, wave, list)
		}
	}
}

func compareMoved(t *testing.T, arch string, wave int, list []moving) {
	t.Helper()
	flags, words := []string{"-mno-wavefrontsize64"}, strings.NewReplacer("VCC", "vcc_lo", "b64 s[20:21], exec", "b32 s20, exec_lo", "b64 exec, s[20:21]", "b32 exec_lo, s20", "EXECLO", "exec_lo")
	if wave == 64 {
		flags, words = []string{"-mwavefrontsize64"}, strings.NewReplacer("VCC", "vcc", "EXECLO", "exec_lo")
	}
	sources := make([]asmCase, len(list))
	for n, c := range list {
		sources[n].text = words.Replace(c.text)
	}
	m := loadHIP(t, arch, "-O2", rdnaSource(sources), flags...)
	for n, c := range list {
		r := launchTest(t, m, fmt.Sprint("asm", n), random)
		held, bad := 0, false
		for i := range 1024 {
			want := uint32(1)
			if c.want(r, wave, i) {
				want = 3
				held++
			}
			if r.got(i) != want && !bad {
				bad = true
				t.Errorf("%s, %d lanes: %s: %d in item %d, want %d", arch, wave, sources[n].text, r.got(i), i, want)
			}
		}
		if held == 0 || held == 1024 {
			t.Errorf("%s: it holds in %d lanes of 1024: nothing was told apart", sources[n].text, held)
		}
	}
}
