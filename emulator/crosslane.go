package emulator

import (
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// permute moves src0 between lanes as DPP says, and takes the lanes out of the
// mask that are not written: those of rows and banks that are masked, and those
// whose source is not there, unless BOUND_CTRL makes it zero ("Vega" ISA, "Data
// Parallel Processing").
func (w *wave) permute(i *instr, t *vec, mask *uint64) {
	ctrl, rows, banks, zero := i.inst.DPP()
	in, exec := *t, w.exec()
	for l := range lanes {
		from := dppSource(ctrl, l)
		valid := from >= 0 && exec>>(from&63)&1 != 0
		switch {
		case rows>>(l/16)&1 == 0 || banks>>(l%16/4)&1 == 0:
			*mask &^= 1 << l
		case valid:
			t[l] = in[from]
		case zero:
			t[l] = 0
		default:
			*mask &^= 1 << l
		}
	}
}

// dppSource returns the lane that lane l reads, or -1.
func dppSource(ctrl uint32, l int) int {
	row, at := l&^15, l&15
	n := int(ctrl & 15)
	within := func(at int) int {
		if at < 0 || at > 15 {
			return -1
		}
		return row + at
	}
	switch {
	case ctrl < 0x100:
		return l&^3 | int(ctrl>>(2*(l&3)))&3
	case ctrl < isa.DPPRowShr:
		return within(at + n)
	case ctrl < isa.DPPRowRor:
		return within(at - n)
	case ctrl < isa.DPPWaveShl:
		return row + (at-n)&15
	case ctrl == isa.DPPWaveShl:
		if l == 63 {
			return -1
		}
		return l + 1
	case ctrl == isa.DPPWaveRol:
		return (l + 1) & 63
	case ctrl == isa.DPPWaveShr:
		return l - 1
	case ctrl == isa.DPPWaveRor:
		return (l - 1) & 63
	case ctrl == isa.DPPMirror:
		return row + 15 - at
	case ctrl == isa.DPPHalfMirror:
		return l&^7 | 7 - l&7
	case ctrl == isa.DPPBcast15:
		if l < 16 {
			return -1
		}
		return row - 1
	case ctrl == isa.DPPBcast31:
		if l < 32 {
			return -1
		}
		return 31
	case ctrl >= isa.DPPNewBcast && ctrl < 0x160:
		return row + n
	}
	return -1
}

// crossLane are the operations that read or write single lanes.
func crossLane() map[string]*operation {
	ops := map[string]*operation{}
	ops["v_readlane_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		w.s[i.dst&127] = w.vector(&i.src[0], &w.tmp[0])[w.scalar32(&i.src[1])&(w.size-1)&63]
	}}
	ops["v_readfirstlane_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		w.s[i.dst&127] = w.vector(&i.src[0], &w.tmp[0])[bits.TrailingZeros64(w.exec()|1<<63)&63&-int(bit(w.exec() != 0))]
	}}
	ops["v_writelane_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		w.v[i.dst%vregs][w.scalar32(&i.src[1])&(w.size-1)&63] = w.scalar32(&i.src[0])
	}}
	count := func(upper bool) *operation {
		return &operation{results: 1, run: func(w *wave, i *instr) {
			a, b := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1])
			d := &w.tmp[3]
			for l := range d {
				below := uint64(1)<<l - 1
				if upper {
					below >>= 32
				}
				d[l] = uint32(bits.OnesCount32(a[l]&uint32(below))) + b[l]
			}
			merge(&w.v[i.dst%vregs], d, w.exec())
		}}
	}
	ops["v_mbcnt_lo_u32_b32"], ops["v_mbcnt_hi_u32_b32"] = count(false), count(true)
	ops["v_accvgpr_read_b32"] = &operation{results: 1, v1: func(d, a *vec) { *d = *a }}
	ops["v_accvgpr_write_b32"] = &operation{results: 1, v1: func(d, a *vec) { *d = *a }}
	ops["v_accvgpr_mov_b32"] = &operation{results: 1, v1: func(d, a *vec) { *d = *a }}
	ops["v_nop"] = &operation{run: func(*wave, *instr) {}}
	ops["v_swap_b32"] = &operation{results: 1, run: func(w *wave, i *instr) {
		a, b := &w.v[i.dst%vregs], &w.v[i.src[0].reg%vregs]
		old := *a
		merge(a, b, w.exec())
		merge(b, &old, w.exec())
	}}
	return ops
}
