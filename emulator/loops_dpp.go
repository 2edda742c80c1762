package emulator

import "github.com/stonemason-hip/stonemason/emulator/isa"

// exchange is what DPP does to the lanes of a source, worked out once.
type exchange struct {
	from    [lanes]uint8
	have    uint64    // lanes whose source is there
	reads   [2]uint64 // lanes that are read: by the lower 32, and by all
	written uint64    // lanes of rows and banks that are not masked
	zero    bool      // a lane without a source reads zero: BOUND_CTRL, and DPP8
	off     bool      // lanes that are off are read too (FI of RDNA)
}

func exchangeOf(inst *isa.Inst) (x exchange) {
	var source func(l int) int
	switch {
	case inst.IsDPP8():
		sel := inst.DPP8()
		source = func(l int) int { return l&^7 | int(sel>>(3*(l&7)))&7 }
		x.zero, x.written = true, allLanes
	default:
		ctrl, rows, banks, zero := inst.DPP()
		source = func(l int) int { return dppSource(ctrl, l) }
		if inst.Generation() > 9 && ctrl >= isa.DPPRowXMask && ctrl < isa.DPPRowXMask+16 {
			source = func(l int) int { return l ^ int(ctrl&15) }
		}
		x.zero = zero
		for l := range lanes {
			if rows>>(l/16)&1 != 0 && banks>>(l%16/4)&1 != 0 {
				x.written |= 1 << l
			}
		}
	}
	x.off = inst.Generation() > 9 && inst.FetchInactive()
	for l := range lanes {
		from := source(l)
		if from < 0 {
			continue
		}
		x.from[l] = uint8(from & 63)
		x.have |= 1 << l
		x.reads[1] |= 1 << (from & 63)
		if l < lanes/2 {
			x.reads[0] |= 1 << (from & 63)
		}
	}
	return x
}

// move is permute for the first n lanes, 32 or 64: it fills t and returns the lanes
// that are written.
func (x *exchange) move(t, in *vec, exec uint64, n uint32) uint64 {
	n = min(n, lanes)
	for l := range t[:n] {
		t[l] = in[x.from[l]&63]
	}
	valid, reads := x.have, x.reads[n/lanes]
	if !x.off && exec&reads != reads {
		var on uint64
		for l := range n {
			on |= exec >> (x.from[l] & 63) & 1 << l
		}
		valid &= on
	}
	if !x.zero {
		return exec & x.written & valid
	}
	if valid != allLanes {
		for l := range t[:n] {
			t[l] &= -uint32(valid >> l & 1)
		}
	}
	return exec & x.written
}

// quickMoved is a quicker way of an operation of RDNA whose first source comes from
// other lanes, or nil.
func (i *instr) quickMoved() func(*wave, *instr) {
	if i.op.moved == nil || i.careful {
		return nil
	}
	return i.op.moved(i)
}

// quickDPP is quickNarrow for sources that DPP moves.
func (l *loops) quickDPP(i *instr, f loop) func(*wave, *instr) {
	op := i.op
	if i.clamp || i.omod != 0 || signed(i) && op.float != 32 || i.src[0].kind != srcVector || op.v3 != nil {
		return nil
	}
	x := exchangeOf(i.inst)
	two, tied := op.v1 == nil, op.vt != nil
	return func(w *wave, i *instr) {
		s, t := &i.src[0], &w.tmp[0]
		mask := x.move(t, &w.v[s.reg%vregs], w.exec(), w.size)
		if s.abs || s.neg {
			keep, flip := signs(s)
			l.sign(t, t, keep, flip)
		}
		d := &w.v[i.dst%vregs]
		var b, c *vec
		if two {
			b = l.operand(w, &i.src[1], &w.tmp[1])
		}
		if tied {
			c = d
		}
		l.applyTo(w, mask, f, d, t, b, c)
	}
}
