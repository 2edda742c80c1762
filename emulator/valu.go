package emulator

import (
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// The plain forms: no modifiers, so a loop over the registers themselves.

func run1(w *wave, i *instr) {
	a := w.vector(&i.src[0], &w.tmp[0])
	if e := w.exec(); e == allLanes {
		i.op.v1(&w.v[i.dst%vregs], a)
	} else if e != 0 {
		i.op.v1(&w.tmp[3], a)
		merge(&w.v[i.dst%vregs], &w.tmp[3], e)
	}
}

func run2(w *wave, i *instr) {
	a, b := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1])
	if e := w.exec(); e == allLanes {
		i.op.v2(&w.v[i.dst%vregs], a, b)
	} else if e != 0 {
		i.op.v2(&w.tmp[3], a, b)
		merge(&w.v[i.dst%vregs], &w.tmp[3], e)
	}
}

func run3(w *wave, i *instr) {
	a, b, c := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1]), w.vector(&i.src[2], &w.tmp[2])
	if e := w.exec(); e == allLanes {
		i.op.v3(&w.v[i.dst%vregs], a, b, c)
	} else if e != 0 {
		i.op.v3(&w.tmp[3], a, b, c)
		merge(&w.v[i.dst%vregs], &w.tmp[3], e)
	}
}

func runTied(w *wave, i *instr) {
	a, b := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1])
	if e := w.exec(); e == allLanes {
		i.op.vt(&w.v[i.dst%vregs], a, b)
	} else if e != 0 {
		w.tmp[3] = w.v[i.dst%vregs]
		i.op.vt(&w.tmp[3], a, b)
		merge(&w.v[i.dst%vregs], &w.tmp[3], e)
	}
}

// runModified is run1, run2, run3 and runTied with modifiers.
func runModified(w *wave, i *instr) {
	mask := w.exec()
	var in [3]*vec
	for n := range in {
		if i.src[n].kind != srcNone {
			in[n] = w.modified(i, n, &mask)
		}
	}
	d := &w.tmp[3]
	switch op := i.op; {
	case op.v1 != nil:
		op.v1(d, in[0])
	case op.v2 != nil:
		op.v2(d, in[0], in[1])
	case op.v3 != nil:
		op.v3(d, in[0], in[1], in[2])
	default:
		*d = w.v[i.dst%vregs]
		if i.careful {
			w.flushInput(d, op.float)
			w.tmp[2] = *d
			in[2] = &w.tmp[2]
		}
		op.vt(d, in[0], in[1])
	}
	if i.careful {
		w.settleAll(i, d, in, mask)
	}
	w.output(i, d)
	w.store(i, d, mask)
}

// settleAll settles the lanes of a result of 32 bits.
func (w *wave) settleAll(i *instr, d *vec, in [3]*vec, mask uint64) {
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		var v [3]uint64
		for n := range v {
			if in[n] != nil {
				v[n] = uint64(in[n][l])
			}
		}
		d[l] = uint32(w.settle(i, uint64(d[l]), v))
	}
}

// modified returns source n in all lanes as DPP, SDWA and the signs make it. DPP
// takes lanes out of the mask that it does not write.
func (w *wave) modified(i *instr, n int, mask *uint64) *vec {
	s, t := &i.src[n], &w.tmp[n]
	if v := w.vector(s, t); v != t {
		*t = *v
	}
	if i.cross {
		if n == 0 && i.inst.IsDPP() {
			w.permute(i, t, mask)
		}
		if i.inst.IsSDWA() {
			selectPart(t, s.sel, s.sext)
		}
	} else if i.upper>>n&1 != 0 {
		for l := range t {
			t[l] >>= 16
		}
	}
	sign(t, s, i.op.float)
	if i.careful {
		w.flushInput(t, i.op.float)
	}
	return t
}

func sign(t *vec, s *source, float int) {
	if !s.abs && !s.neg {
		return
	}
	bit := uint32(1) << 31
	if float == 16 {
		bit = 1 << 15
	}
	for l := range t {
		if s.abs {
			t[l] &^= bit
		}
		if s.neg {
			t[l] ^= bit
		}
	}
}

// selectPart is SDWA's choice of a byte or a half ("Vega" ISA, "Sub-Dword
// Addressing").
func selectPart(t *vec, sel uint8, sext bool) {
	var shift, width uint
	switch sel {
	case isa.SelByte0, isa.SelByte1, isa.SelByte2, isa.SelByte3:
		shift, width = uint(sel)*8, 8
	case isa.SelWord0, isa.SelWord1:
		shift, width = uint(sel-isa.SelWord0)*16, 16
	default:
		return
	}
	for l := range t {
		v := t[l] >> shift << (32 - width)
		if sext {
			t[l] = uint32(int32(v) >> (32 - width))
		} else {
			t[l] = v >> (32 - width)
		}
	}
}

// output applies the output modifier and clamps.
func (w *wave) output(i *instr, d *vec) {
	if i.omod == 0 && !i.clamp {
		return
	}
	for l := range d {
		d[l] = uint32(outputLane(i, uint64(d[l])))
	}
}

func outputLane(i *instr, v uint64) uint64 { return outputAs(i, i.result, v) }

func outputAs(i *instr, float int, v uint64) uint64 {
	factor := [...]float64{1, 2, 4, 0.5}[i.omod&3]
	clamp := func(f float64) float64 {
		f *= factor
		if i.clamp {
			f = min(max(f, 0), 1)
			if f != f {
				return 0
			}
		}
		return f
	}
	switch float {
	case 16:
		return uint64(toHalf(clamp(fromHalf(uint16(v)))))
	case 32:
		return uint64(u32(float32(clamp(float64(f32(uint32(v)))))))
	case 64:
		return u64(clamp(f64(v)))
	}
	return v // integers that saturate do so themselves
}

// store writes the lanes of the mask, into the part of the register that SDWA
// or OP_SEL names.
func (w *wave) store(i *instr, d *vec, mask uint64) {
	old := &w.v[i.dst%vregs]
	switch {
	case i.inst.IsSDWA():
		sel, unused, _, _ := i.inst.SDWA()
		var shift, width uint
		switch {
		case sel <= isa.SelByte3:
			shift, width = uint(sel)*8, 8
		case sel <= isa.SelWord1:
			shift, width = uint(sel-isa.SelWord0)*16, 16
		default:
			merge(old, d, mask)
			return
		}
		part := (uint32(1)<<width - 1) << shift
		for l := range d {
			v := d[l] << shift & part
			switch {
			case unused == 2:
				v |= old[l] &^ part
			case unused == 1 && int32(d[l]<<(32-width)) < 0:
				v |= ^uint32(0) << (shift + width)
			}
			d[l] = v
		}
	case i.upper&8 != 0:
		for l := range d {
			d[l] = d[l]<<16 | old[l]&0xffff
		}
	case i.keeps:
		for l := range d {
			d[l] = d[l]&0xffff | old[l]&^0xffff
		}
	}
	merge(old, d, mask)
}

// runLanes runs an operation that knows one lane.
func runLanes(w *wave, i *instr) {
	mask := w.exec()
	op := i.op
	var lo, hi [3]*vec
	for n := range lo {
		s := &i.src[n]
		if s.kind == srcNone {
			lo[n], hi[n] = &w.tmp[7], &w.tmp[7]
			continue
		}
		if s.width == 2 {
			lo[n], hi[n] = w.wide(s, &w.tmp[n], &w.tmp[3+n])
			continue
		}
		hi[n] = &w.tmp[7]
		if i.careful || i.cross || s.neg || s.abs || i.upper != 0 {
			lo[n] = w.modified(i, n, &mask)
		} else {
			lo[n] = w.vector(s, &w.tmp[n])
		}
	}
	d := &w.v[i.dst%vregs]
	sdwa := i.inst.IsSDWA() || i.upper&8 != 0 || i.keeps
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		var in [3]uint64
		for n := range in {
			in[n] = uint64(lo[n][l])
			if s := &i.src[n]; s.width == 2 {
				in[n] |= uint64(hi[n][l]) << 32
				if s.abs {
					in[n] &^= 1 << 63
				}
				if s.neg {
					in[n] ^= 1 << 63
				}
			}
		}
		if op.tied {
			in[2] = uint64(d[l] >> (i.upper & 8 * 2))
			if i.width == 2 {
				in[2] |= uint64(w.v[(i.dst+1)%vregs][l]) << 32
			}
		}
		if i.careful {
			w.flushDouble(i, &in)
		}
		v := op.lane(in[0], in[1], in[2])
		if i.careful {
			v = w.settle(i, v, in)
		}
		if i.clamp || i.omod != 0 {
			v = outputLane(i, v)
		}
		if sdwa {
			w.tmp[6][l] = uint32(v)
			continue
		}
		d[l] = uint32(v)
		if i.width == 2 {
			w.v[(i.dst+1)%vregs][l] = uint32(v >> 32)
		}
	}
	if sdwa {
		w.store(i, &w.tmp[6], mask)
	}
}

// flushDouble makes zeros of the denormal numbers among sources of 64 bits.
func (w *wave) flushDouble(i *instr, in *[3]uint64) {
	if flush, _ := w.flushes(64); !flush || i.op.float != 64 {
		return
	}
	for n := range in {
		if i.src[n].width == 2 || n == 2 && i.op.tied {
			in[n] = flushed(double(), in[n])
		}
	}
}

func (w *wave) compared(i *instr, mask, result uint64) {
	result &= mask
	w.setMask(i.dst, result)
	if i.op.exec {
		w.setMask(isa.Exec, result)
	}
}

func runCompare(w *wave, i *instr) {
	a, b := w.vector(&i.src[0], &w.tmp[0]), w.vector(&i.src[1], &w.tmp[1])
	w.compared(i, w.exec(), i.op.compare(a, b))
}

func runRelate(w *wave, i *instr) {
	mask := w.exec()
	var lo, hi [2]*vec
	for n := range lo {
		s := &i.src[n]
		if s.width == 2 {
			lo[n], hi[n] = w.wide(s, &w.tmp[n], &w.tmp[3+n])
		} else {
			lo[n], hi[n] = w.modified(i, n, &mask), &w.tmp[7]
		}
	}
	if i.op.compare != nil {
		w.compared(i, mask, i.op.compare(lo[0], lo[1]))
		return
	}
	var result uint64
	for m := mask; m != 0; m &= m - 1 {
		l := bits.TrailingZeros64(m) & 63
		var in [2]uint64
		for n := range in {
			in[n] = uint64(lo[n][l])
			if s := &i.src[n]; s.width == 2 {
				in[n] |= uint64(hi[n][l]) << 32
				if s.abs {
					in[n] &^= 1 << 63
				}
				if s.neg {
					in[n] ^= 1 << 63
				}
			}
		}
		if i.careful {
			three := [3]uint64{in[0], in[1]}
			w.flushDouble(i, &three)
			in[0], in[1] = three[0], three[1]
		}
		result |= bit(i.op.relate(in[0], in[1])) << l
	}
	w.compared(i, mask, result)
}
