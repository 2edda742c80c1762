package emulator

// exchange is what DPP does to the lanes of a source, worked out once.
type exchange struct {
	from    [lanes]uint8
	have    uint64 // lanes whose source is there
	written uint64 // lanes of rows and banks that are not masked
	zero    bool   // BOUND_CTRL: a lane without a source reads zero
}

func exchangeOf(i *instr) (x exchange) {
	ctrl, rows, banks, zero := i.inst.DPP()
	x.zero = zero
	for l := range lanes {
		if from := dppSource(ctrl, l); from >= 0 {
			x.from[l] = uint8(from & 63)
			x.have |= 1 << l
		}
		if rows>>(l/16)&1 != 0 && banks>>(l%16/4)&1 != 0 {
			x.written |= 1 << l
		}
	}
	return x
}

// move is permute: it fills t and returns the lanes that are written.
func (x *exchange) move(t, in *vec, exec uint64) uint64 {
	for l := range t {
		t[l] = in[x.from[l]&63]
	}
	valid := x.have
	if exec != allLanes {
		var on uint64
		for l := range lanes {
			on |= exec >> (x.from[l] & 63) & 1 << l
		}
		valid &= on
	}
	if !x.zero {
		return exec & x.written & valid
	}
	if valid != allLanes {
		for l := range t {
			t[l] &= -uint32(valid >> l & 1)
		}
	}
	return exec & x.written
}

// quickDPP is quickNarrow for sources that DPP moves.
func (l *loops) quickDPP(i *instr, f loop) func(*wave, *instr) {
	op := i.op
	if i.clamp || i.omod != 0 || signed(i) && op.float != 32 || i.src[0].kind != srcVector || op.v3 != nil {
		return nil
	}
	x := exchangeOf(i)
	two, tied := op.v1 == nil, op.vt != nil
	return func(w *wave, i *instr) {
		s, t := &i.src[0], &w.tmp[0]
		mask := x.move(t, &w.v[s.reg%vregs], w.exec())
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
