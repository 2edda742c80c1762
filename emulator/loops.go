package emulator

import "github.com/stonemason-hip/stonemason/emulator/isa"

// loop is an operation on the first n lanes, 32 or 64, of vector registers. One
// that works on 64 bits is given the first register of each pair. What it does not
// need is nil; c may be d.
type loop func(d, a, b, c *vec, n uint64)

// loops are quicker ways of operations: on the CPU's vector unit, where it has one
// that is known here. What is nil has none; the loops in Go of the operation run.
type loops struct {
	narrow map[string]loop // operations on 32 bits, by mnemonic
	wide   map[string]wideLoop
	half   map[string]wideLoop // operations that read or write f16

	// Comparisons for less, less or equal, and equal, by type.
	compare map[string][3]func(a, b *vec) uint64

	// On every CPU.
	spread func(d *vec, v uint32)
	sign   func(d, a *vec, keep, flip uint32) // d = a&keep ^ flip
	choose func(d, a, b *vec, mask uint64)    // b where the mask has the lane, else a
	move   movers

	add    func(d, a, b *vec, in uint64) uint64 // with carries in and out
	sub    func(d, a, b *vec, in uint64) uint64
	mulAdd func(d, a, b, c *vec) uint64 // a*b+c in 64 bits, with the carry out
}

// wideLoop is a loop in which some operands are pairs of registers.
type wideLoop struct {
	loop   loop
	shape  string // of the result and the sources: 'd' a pair, 's' one register
	result uint8  // words
}

// quicken gives operations their quicker ways.
func quicken(all map[string]*operation, l *loops) {
	set := func(name string, quick func(i *instr) func(*wave, *instr)) {
		if op := all[name]; op != nil {
			op.quick = quick
		}
	}
	for name, a := range localAccesses() {
		set(name, func(i *instr) func(*wave, *instr) { return l.move.quickLocal(i, a) })
	}
	for name, a := range pairAccesses() {
		set(name, func(i *instr) func(*wave, *instr) { return l.move.quickLocal2(i, a) })
	}
	for _, prefix := range []string{"flat_", "global_"} {
		for name, a := range accesses(prefix+"load_", prefix+"store_") {
			set(name, func(i *instr) func(*wave, *instr) { return l.move.quickAccess(i, a) })
		}
	}
	for name, f := range l.narrow {
		set(name, func(i *instr) func(*wave, *instr) { return l.quickNarrow(i, f) })
		if op := all[name]; op != nil {
			op.moved = func(i *instr) func(*wave, *instr) { return l.quickDPP(i, f) }
		}
	}
	for name, f := range l.wide {
		set(name, func(i *instr) func(*wave, *instr) { return l.quickWide(i, f) })
	}
	for name, f := range l.half {
		set(name, func(i *instr) func(*wave, *instr) { return l.quickHalf(i, f) })
	}
	for name, of := range map[string]string{"v_pk_add_f16": "v_add_f16", "v_pk_mul_f16": "v_mul_f16", "v_pk_fma_f16": "v_fma_f16", "v_pk_min_f16": "v_min_f16", "v_pk_max_f16": "v_max_f16"} {
		if f := l.half[of]; f.loop != nil {
			set(name, func(i *instr) func(*wave, *instr) { return l.quickHalves(i, f.loop) })
		}
	}
	for typ, f := range l.compare {
		for _, r := range relations(typ[0] == 'f', f) {
			for _, prefix := range []string{"v_cmp_", "v_cmpx_"} {
				set(prefix+r.name+"_"+typ, func(i *instr) func(*wave, *instr) { return l.quickCompare(i, r, typ) })
			}
		}
	}
	for name, f := range map[string]func(d, a, b *vec, in uint64) uint64{
		"v_add_co_u32": l.add, "v_addc_co_u32": l.add, "v_sub_co_u32": l.sub, "v_subb_co_u32": l.sub, "v_subrev_co_u32": l.sub, "v_subbrev_co_u32": l.sub,
	} {
		swap := name == "v_subrev_co_u32" || name == "v_subbrev_co_u32"
		if f != nil {
			set(name, func(i *instr) func(*wave, *instr) { return l.quickCarry(i, f, swap) })
		}
	}
	if l.mulAdd != nil {
		set("v_mad_u64_u32", l.quickMulAdd)
	}
	set("v_cndmask_b32", l.quickChoice)
	for name, f := range map[string]wideLoop{"v_div_fmas_f32": {l.narrow["v_fma_f32"], "sss", 1}, "v_div_fmas_f64": l.wide["v_fma_f64"]} {
		if f.loop != nil {
			set(name, func(i *instr) func(*wave, *instr) { return l.quickScaled(i, f) })
		}
	}
	for name, of := range map[string]string{"v_pk_fma_f32": "v_fma_f32", "v_pk_mul_f32": "v_mul_f32", "v_pk_add_f32": "v_add_f32"} {
		if f := l.narrow[of]; f != nil {
			set(name, func(i *instr) func(*wave, *instr) { return l.quickPacked(i, f) })
		}
	}
}

// bare reports that nothing but signs is done to the sources, and nothing to the
// result.
func bare(i *instr) bool {
	ok := !i.cross && !i.clamp && i.omod == 0 && i.inst.OpSel() == 0 && i.upper == 0 && !i.keeps
	for n := range i.src {
		ok = ok && !i.src[n].sext
	}
	return ok
}

// signs says which bits of a float source are kept and turned. In Go's words: v&keep ^ flip.
func signs(s *source) (keep, flip uint32) {
	keep = ^uint32(0)
	if s.abs {
		keep = 1<<31 - 1
	}
	if s.neg {
		flip = 1 << 31
	}
	return keep, flip
}

// operand returns a source of 32 bits in all lanes, with its sign.
func (l *loops) operand(w *wave, s *source, t *vec) *vec {
	var v *vec
	switch s.kind {
	case srcVector:
		v = &w.v[s.reg%vregs]
	case srcConst:
		v = s.vec
	default:
		l.spread(t, w.scalar32(s))
		v = t
	}
	if s.abs || s.neg {
		keep, flip := signs(s)
		l.sign(t, v, keep, flip)
		return t
	}
	return v
}

// operandPair is operand for 64 bits. t has room for two registers.
func (l *loops) operandPair(w *wave, s *source, t *[2]vec) *vec {
	if s.kind == srcVector {
		if !s.abs && !s.neg {
			return &w.v[s.reg%vregs]
		}
		keep, flip := signs(s)
		t[0] = w.v[s.reg%vregs]
		l.sign(&t[1], &w.v[(s.reg+1)%vregs], keep, flip)
		return &t[0]
	}
	var v uint64
	if s.width < 2 {
		v = uint64(w.scalar32(s))
	} else {
		v = w.scalar64(s)
	}
	keep, flip := signs(s)
	l.spread(&t[0], uint32(v))
	l.spread(&t[1], uint32(v>>32)&keep^flip)
	return &t[0]
}

const lowLanes = 1<<32 - 1

// apply runs a loop for the lanes that are on. The lower 32 cost half: those of a
// wave of RDNA, and of a work-group that is no larger.
func (l *loops) apply(w *wave, f loop, d, a, b, c *vec) { l.applyTo(w, w.exec(), f, d, a, b, c) }

func (l *loops) applyTo(w *wave, e uint64, f loop, d, a, b, c *vec) {
	switch {
	case e == allLanes:
		f(d, a, b, c, 64)
	case e == lowLanes:
		f(d, a, b, c, 32)
	case e == 0:
	default:
		n := uint64(64)
		if e <= lowLanes {
			n = 32
		}
		f(&w.tmp[6], a, b, c, n)
		l.choose(d, d, &w.tmp[6], e)
	}
}

// applyPair is apply for a result of 64 bits.
func (l *loops) applyPair(w *wave, f loop, d *[2]vec, a, b, c *vec) {
	switch e := w.exec(); {
	case e == allLanes:
		f(&d[0], a, b, c, 64)
	case e == lowLanes:
		f(&d[0], a, b, c, 32)
	case e != 0:
		n := uint64(64)
		if e <= lowLanes {
			n = 32
		}
		f(&w.spare[0], a, b, c, n)
		l.choose(&d[0], &d[0], &w.spare[0], e)
		l.choose(&d[1], &d[1], &w.spare[1], e)
	}
}

// sources counts the operands that are read.
func sources(i *instr) (n int) {
	for n < len(i.src) && i.src[n].kind != srcNone {
		n++
	}
	return n
}

func signed(i *instr) bool {
	for n := range i.src {
		if i.src[n].neg || i.src[n].abs {
			return true
		}
	}
	return false
}

func (l *loops) quickNarrow(i *instr, f loop) func(*wave, *instr) {
	op := i.op
	if i.inst.IsDPP() && i.inst.Generation() == 9 {
		return l.quickDPP(i, f)
	}
	if !bare(i) || signed(i) && op.float != 32 {
		return nil
	}
	// Registers are those of the instruction that is run: indexing changes them.
	switch s := &i.src; {
	case op.v1 != nil:
		return func(w *wave, i *instr) {
			l.apply(w, f, &w.v[i.dst%vregs], l.operand(w, &i.src[0], &w.tmp[0]), nil, nil)
		}
	case op.v2 != nil && !signed(i) && s[0].kind == srcVector && s[1].kind == srcVector:
		return func(w *wave, i *instr) {
			l.apply(w, f, &w.v[i.dst%vregs], &w.v[i.src[0].reg%vregs], &w.v[i.src[1].reg%vregs], nil)
		}
	case op.v2 != nil:
		return func(w *wave, i *instr) {
			l.apply(w, f, &w.v[i.dst%vregs], l.operand(w, &i.src[0], &w.tmp[0]), l.operand(w, &i.src[1], &w.tmp[1]), nil)
		}
	case op.v3 != nil:
		return func(w *wave, i *instr) {
			l.apply(w, f, &w.v[i.dst%vregs], l.operand(w, &i.src[0], &w.tmp[0]), l.operand(w, &i.src[1], &w.tmp[1]), l.operand(w, &i.src[2], &w.tmp[2]))
		}
	case op.vt != nil:
		return func(w *wave, i *instr) {
			l.apply(w, f, &w.v[i.dst%vregs], l.operand(w, &i.src[0], &w.tmp[0]), l.operand(w, &i.src[1], &w.tmp[1]), &w.v[i.dst%vregs])
		}
	}
	return nil
}

// joined reports that a register and the next follow each other.
func joined(reg uint16) bool { return reg%vregs < vregs-1 }

func (l *loops) quickWide(i *instr, f wideLoop) func(*wave, *instr) {
	if !bare(i) || signed(i) && i.op.float == 0 || f.result == 2 && (i.width != 2 || !joined(i.dst)) || f.result == 1 && i.width == 2 {
		return nil
	}
	n := sources(i)
	if n != len(f.shape) || n > 3 {
		return nil
	}
	for k := range n {
		s := &i.src[k]
		switch {
		case f.shape[k] == 's' && (s.width == 2 || (s.abs || s.neg) && i.op.float != 32),
			f.shape[k] == 'd' && (s.abs || s.neg) && i.op.float != 64,
			f.shape[k] == 'd' && s.kind == srcVector && (s.width != 2 || !joined(s.reg)):
			return nil
		}
	}
	tied := i.op.tied
	return func(w *wave, i *instr) {
		var in [3]*vec
		for k := range n {
			if f.shape[k] == 's' {
				in[k] = l.operand(w, &i.src[k], &w.tmp[2*k])
			} else {
				in[k] = l.operandPair(w, &i.src[k], w.tmpPair(k))
			}
		}
		if tied {
			in[2] = &w.v[i.dst%vregs]
		}
		if f.result == 1 {
			l.apply(w, f.loop, &w.v[i.dst%vregs], in[0], in[1], in[2])
			return
		}
		l.applyPair(w, f.loop, w.pairAt(i.dst), in[0], in[1], in[2])
	}
}

// quickScaled is a fused multiply-add whose result is scaled in the lanes of VCC:
// mostly there are none.
func (l *loops) quickScaled(i *instr, f wideLoop) func(*wave, *instr) {
	run := l.quickWide(i, f)
	for n := range i.src {
		if i.src[n].abs {
			return nil
		}
	}
	if run == nil {
		return nil
	}
	return func(w *wave, i *instr) {
		if w.mask(isa.VCC)&w.exec() != 0 {
			i.op.run(w, i)
			return
		}
		run(w, i)
	}
}

// relation is a comparison by name as one of three.
type relation struct {
	name      string
	f         func(a, b *vec) uint64
	swap, not bool
}

// relations are those that less, less or equal, and equal give. Those of floats
// whose name begins with n are also true for a NaN.
func relations(float bool, f [3]func(a, b *vec) uint64) []relation {
	lt, le, eq := f[0], f[1], f[2]
	list := []relation{{"lt", lt, false, false}, {"gt", lt, true, false}, {"eq", eq, false, false}}
	if float {
		return append(list, relation{"le", le, false, false}, relation{"ge", le, true, false}, relation{"neq", eq, false, true},
			relation{"nlt", lt, false, true}, relation{"ngt", lt, true, true}, relation{"nle", le, false, true}, relation{"nge", le, true, true})
	}
	return append(list, relation{"le", lt, true, true}, relation{"ge", lt, false, true}, relation{"ne", eq, false, true})
}

func (l *loops) quickCompare(i *instr, r relation, typ string) func(*wave, *instr) {
	if !bare(i) || signed(i) && i.op.float == 0 || sources(i) != 2 {
		return nil
	}
	a, b := 0, 1
	if r.swap {
		a, b = b, a
	}
	flip := uint64(0)
	if r.not {
		flip = ^uint64(0)
	}
	if typ[1:] == "32" {
		if i.src[0].width == 2 || i.src[1].width == 2 {
			return nil
		}
		return func(w *wave, i *instr) {
			w.compared(i, w.exec(), r.f(l.operand(w, &i.src[a], &w.tmp[a]), l.operand(w, &i.src[b], &w.tmp[b]))^flip)
		}
	}
	for k := range 2 {
		if s := &i.src[k]; s.kind == srcVector && (s.width != 2 || !joined(s.reg)) {
			return nil
		}
	}
	return func(w *wave, i *instr) {
		w.compared(i, w.exec(), r.f(l.operandPair(w, &i.src[a], w.tmpPair(a)), l.operandPair(w, &i.src[b], w.tmpPair(b)))^flip)
	}
}

func (l *loops) quickCarry(i *instr, f func(d, a, b *vec, in uint64) uint64, swap bool) func(*wave, *instr) {
	if !bare(i) {
		return nil
	}
	a, b := 0, 1
	if swap {
		a, b = b, a
	}
	in := i.src[2].kind != srcNone
	return func(w *wave, i *instr) {
		e, before := w.exec(), uint64(0)
		if in {
			before = w.scalar64(&i.src[2])
		}
		d := &w.v[i.dst%vregs]
		x, y := l.operand(w, &i.src[a], &w.tmp[a]), l.operand(w, &i.src[b], &w.tmp[b])
		if e == allLanes {
			w.setMask(i.dst2, f(d, x, y, before))
			return
		}
		w.setMask(i.dst2, f(&w.tmp[6], x, y, before)&e)
		l.choose(d, d, &w.tmp[6], e)
	}
}

func (l *loops) quickMulAdd(i *instr) func(*wave, *instr) {
	third := &i.src[2]
	if !bare(i) || i.width != 2 || !joined(i.dst) || third.kind == srcVector && (third.width != 2 || !joined(third.reg)) {
		return nil
	}
	return func(w *wave, i *instr) {
		d, e := w.pairAt(i.dst), w.exec()
		out := l.mulAdd(&w.spare[0], l.operand(w, &i.src[0], &w.tmp[0]), l.operand(w, &i.src[1], &w.tmp[2]), l.operandPair(w, &i.src[2], w.tmpPair(2)))
		l.choose(&d[0], &d[0], &w.spare[0], e)
		l.choose(&d[1], &d[1], &w.spare[1], e)
		w.setMask(i.dst2, out&e)
	}
}

func (l *loops) quickChoice(i *instr) func(*wave, *instr) {
	if !bare(i) || signed(i) {
		return nil
	}
	return func(w *wave, i *instr) {
		e, mask := w.exec(), w.scalar64(&i.src[2])
		d := &w.v[i.dst%vregs]
		a, b := l.operand(w, &i.src[0], &w.tmp[0]), l.operand(w, &i.src[1], &w.tmp[1])
		if e == allLanes {
			l.choose(d, a, b, mask)
			return
		}
		l.choose(&w.tmp[6], a, b, mask)
		l.choose(d, d, &w.tmp[6], e)
	}
}
