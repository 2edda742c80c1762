package emulator

import "github.com/stonemason-hip/stonemason/emulator/isa"

// quickPacked does f to two f32 of each lane, as packed32.
func (l *loops) quickPacked(i *instr, f loop) func(*wave, *instr) {
	inst := i.inst
	if i.cross || i.clamp || i.omod != 0 || inst.Enc != isa.VOP3P || !joined(i.dst) {
		return nil
	}
	n := sources(i)
	sel := [2]uint32{inst.OpSel(), inst.OpSelHi()}
	neg := [2]uint32{inst.Neg(), inst.NegHi()}
	var in [2][3]source
	for h := range in {
		for k := range n {
			s := i.src[k]
			word := uint16(sel[h] >> k & 1)
			switch s.kind {
			case srcVector:
				s.reg = (s.reg + word) % vregs
			case srcScalar:
				s.reg = (s.reg + word) & 127
			case srcConst:
			default:
				return nil
			}
			s.abs, s.neg, s.width = false, neg[h]>>k&1 != 0, 1
			in[h][k] = s
		}
	}
	// The lower result is held back where the upper half still reads what it replaces.
	held := false
	for k := range n {
		held = held || in[1][k].kind == srcVector && in[1][k].reg == i.dst%vregs
	}
	bound := i
	return func(w *wave, i *instr) {
		if i != bound { // a copy, with registers that are indexed
			i.op.run(w, i)
			return
		}
		d, e := w.pairAt(i.dst), w.exec()
		var lo, hi [3]*vec
		for k := range n {
			lo[k] = l.operand(w, &in[0][k], &w.tmp[k])
		}
		if e == allLanes && !held {
			f(&d[0], lo[0], lo[1], lo[2], 64)
		} else {
			f(&w.spare[0], lo[0], lo[1], lo[2], 64)
		}
		for k := range n {
			hi[k] = l.operand(w, &in[1][k], &w.tmp[k])
		}
		if e == allLanes {
			f(&d[1], hi[0], hi[1], hi[2], 64)
			if held {
				d[0] = w.spare[0]
			}
			return
		}
		f(&w.spare[1], hi[0], hi[1], hi[2], 64)
		l.choose(&d[0], &d[0], &w.spare[0], e)
		l.choose(&d[1], &d[1], &w.spare[1], e)
	}
}

// quickHalves does f to two f16 of each lane, as packed16.
func (l *loops) quickHalves(i *instr, f loop) func(*wave, *instr) {
	inst := i.inst
	if i.cross || i.clamp || i.omod != 0 || inst.Enc != isa.VOP3P {
		return nil
	}
	n := sources(i)
	sel := [2]uint32{inst.OpSel(), inst.OpSelHi()}
	neg := [2]uint32{inst.Neg(), inst.NegHi()}
	sixteen := new(vec)
	l.spread(sixteen, 16)
	down, join := l.narrow["v_lshrrev_b32"], l.narrow["v_lshl_or_b32"]
	return func(w *wave, i *instr) {
		var out [2]*vec
		for h := range out {
			var in [3]*vec
			for k := range n {
				t := &w.tmp[k]
				in[k] = l.operand(w, &i.src[k], t)
				if sel[h]>>k&1 != 0 {
					down(t, sixteen, in[k], nil, uint64(w.size))
					in[k] = t
				}
				if neg[h]>>k&1 != 0 {
					l.sign(t, in[k], ^uint32(0), 1<<15)
					in[k] = t
				}
			}
			out[h] = &w.spare[h]
			f(out[h], in[0], in[1], in[2], uint64(w.size))
		}
		l.apply(w, join, &w.v[i.dst%vregs], out[1], sixteen, out[0])
	}
}
