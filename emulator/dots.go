package emulator

import (
	"math"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// floatDots are the sums of products of small floats, the lower first, each added
// by a fused multiply-add: the hardware's rounding between is not published
// ("Vega 7nm" ISA, V_DOT2_F32_F16). With them are the operations of gfx950 that
// swap rows of lanes, and those that round with noise.
func floatDots() map[string]*operation {
	ops := map[string]*operation{}
	for name, value := range map[string]func(v uint32) float32{
		"f16":  func(v uint32) float32 { return float32(fromHalf(uint16(v))) },
		"bf16": func(v uint32) float32 { return fromBrain(v & 0xffff) },
	} {
		dot := func(c, a0, b0, a1, b1 uint32) uint32 {
			return u32(fma32(value(a1), value(b1), fma32(value(a0), value(b0), f32(c))))
		}
		ops["v_dot2c_f32_"+name] = &operation{results: 1, tied: true, lane: func(a, b, c uint64) uint64 {
			return uint64(dot(uint32(c), uint32(a), uint32(b), uint32(a>>16), uint32(b>>16)))
		}}
		ops["v_dot2_f32_"+name] = &operation{results: 1, float: 32, run: func(w *wave, i *instr) {
			inst := i.inst
			sel, selHi, neg, negHi := inst.OpSel(), inst.OpSelHi(), inst.Neg(), inst.NegHi()
			a, b, c := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1]), w.vector(&i.src[2], &w.tmp[2])
			half := func(v uint32, n uint, sel, neg uint32) uint32 {
				return v>>(16*(sel>>n&1))&0xffff ^ neg>>n&1<<15
			}
			d := &w.tmp[3]
			for l := range d {
				third := c[l] ^ neg>>2&1<<31
				d[l] = dot(third, half(a[l], 0, sel, neg), half(b[l], 1, sel, neg), half(a[l], 0, selHi, negHi), half(b[l], 1, selHi, negHi))
			}
			w.output(i, d)
			merge(&w.v[i.dst%vregs], d, w.exec())
		}}
	}
	ops["v_pk_fmac_f16"] = &operation{results: 1, tied: true, lane: func(a, b, c uint64) uint64 {
		part := func(n uint) uint64 {
			h := func(v uint64) float64 { return fromHalf(uint16(v >> n)) }
			return uint64(toHalf(math.FMA(h(a), h(b), h(c)))) << n
		}
		return part(0) | part(16)
	}}
	swap := func(lane func(l int) (a, b int, ok bool)) *operation {
		return &operation{results: 1, run: func(w *wave, i *instr) {
			a, b := &w.v[i.dst%vregs], &w.v[i.src[0].reg%vregs]
			for l := range lanes {
				if x, y, ok := lane(l); ok {
					a[x], b[y] = b[y], a[x]
				}
			}
		}}
	}
	ops["v_permlane16_swap_b32"] = swap(func(l int) (int, int, bool) { return l + 16, l, l&16 == 0 })
	ops["v_permlane32_swap_b32"] = swap(func(l int) (int, int, bool) { return (l + 32) & 63, l, l < 32 })
	for name, f := range map[string]minifloat{"bf16": brainFloat(), "f16": {5, 10, 15, ieee, 65504}} {
		ops["v_cvt_sr_"+name+"_f32"] = &operation{results: 1, float: 32, run: func(w *wave, i *instr) {
			a, noise := w.signed32(i, 0), w.vector(&i.src[1], &w.tmp[1])
			shift := 16 * (i.inst.OpSel() >> 3)
			d := &w.tmp[3]
			for l := range d {
				n := noise[l] &^ (1<<(32-(23-f.mantissa)) - 1)
				d[l] = w.v[i.dst%vregs][l]&^(0xffff<<shift) | f.convert(float64(f32(a[l])), n, true, false)<<shift
			}
			merge(&w.v[i.dst%vregs], d, w.exec())
		}}
	}
	ops["s_set_gpr_idx_idx"] = &operation{run: func(w *wave, i *instr) {
		w.s[isa.M0] = w.s[isa.M0]&^255 | w.scalar32(&i.src[0])&255
	}}
	ops["s_set_gpr_idx_mode"] = &operation{run: func(w *wave, i *instr) {
		w.s[isa.M0] = w.s[isa.M0]&^0xf000 | uint32(i.imm)&15<<12
	}}
	return ops
}
