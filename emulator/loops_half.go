package emulator

import "strings"

// quickHalf is quickWide for RDNA, where a result of 16 bits leaves the other half of
// its register alone, and either half can be a source.
func (l *loops) quickHalf(i *instr, f wideLoop) func(*wave, *instr) {
	if !i.keeps && i.upper == 0 {
		return l.quickWide(i, f)
	}
	down, up, join := l.narrow["v_lshrrev_b32"], l.narrow["v_lshlrev_b32"], l.narrow["v_bfi_b32"]
	n := sources(i)
	if i.cross || i.clamp || i.omod != 0 || n != len(f.shape) || f.result != 1 || down == nil || up == nil || join == nil {
		return nil
	}
	if converts := strings.HasPrefix(i.inst.Name(), "v_cvt_"); signed(i) && (converts || i.op.float != 16) {
		return nil
	}
	for k := range n {
		if i.src[k].width == 2 || i.src[k].sext {
			return nil
		}
	}
	sixteen, low, high := new(vec), new(vec), new(vec)
	l.spread(sixteen, 16)
	l.spread(low, 0xffff)
	l.spread(high, 0xffff0000)
	upper, keeps, tied := i.upper, i.keeps, i.op.tied
	half := func(w *wave, s *source, k int) *vec {
		bits := *s
		bits.abs, bits.neg = false, false
		t := &w.tmp[k]
		v := l.operand(w, &bits, t)
		if upper>>k&1 != 0 {
			down(t, sixteen, v, nil, uint64(w.size))
			v = t
		}
		if s.abs || s.neg {
			keep, flip := signs(s)
			l.sign(t, v, keep>>16|high[0], flip>>16)
			v = t
		}
		return v
	}
	return func(w *wave, i *instr) {
		var in [3]*vec
		for k := range n {
			in[k] = half(w, &i.src[k], k)
		}
		d, out := &w.v[i.dst%vregs], &w.tmp[5]
		if tied {
			in[2] = d
			if upper&8 != 0 {
				down(&w.tmp[2], sixteen, d, nil, uint64(w.size))
				in[2] = &w.tmp[2]
			}
		}
		f.loop(out, in[0], in[1], in[2], uint64(w.size))
		switch {
		case upper&8 != 0:
			up(out, sixteen, out, nil, uint64(w.size))
			l.apply(w, join, d, high, out, d)
		case keeps:
			l.apply(w, join, d, low, out, d)
		default:
			l.applyTo(w, w.exec(), l.narrow["v_mov_b32"], d, out, nil, nil)
		}
	}
}
