package emulator

import (
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// Trace follows one wave of a launch, instruction by instruction. Other waves do not
// pay for it.
type Trace struct {
	Group Dim3
	Wave  int // within the work-group
	Lane  int // of whose vector registers and accesses is told

	// Step is called after each instruction of the wave, by whoever runs it, and never
	// twice at a time. What it is given stays its own.
	Step func(TraceStep)
}

// TraceStep is what one instruction did. The first step of a wave has none: it tells
// of the registers that are not zero when the wave begins.
type TraceStep struct {
	Kernel      string           `json:"kernel,omitempty"` // of the first step: mangled
	Number      int64            `json:"number"`           // of the instruction in this wave, from 1; 0 for the first step
	PC          uint64           `json:"pc"`               // relative to the code object
	Instruction string           `json:"instruction,omitempty"`
	Exec        uint64           `json:"exec"`            // the lanes that took part, a bit each
	Wrote       []TracedRegister `json:"wrote,omitempty"` // what changed, and what the instruction names as its result
	Memory      []TracedAccess   `json:"memory,omitempty"`
	Next        uint64           `json:"next,omitempty"` // after a jump: where it goes on
	Fault       string           `json:"fault,omitempty"`
}

// TracedRegister is what a register, or a run of them, holds after an instruction: a
// scalar one, or a vector one in the lane of the trace.
type TracedRegister struct {
	Name  string   `json:"name"`            // as llvm-objdump writes it, or scc
	Words []uint32 `json:"words"`           // of 32 bits, the lowest first
	Float int      `json:"float,omitempty"` // 16, 32 or 64 where the instruction computes a fraction
}

// scc is what the bit is called that scalar comparisons leave behind.
const scc = "scc"

// String is NAME=VALUE: hexadecimal, behind a fraction where it is one.
func (r TracedRegister) String() string {
	if len(r.Words) > 2 {
		var words []string
		for _, w := range r.Words {
			words = append(words, fmt.Sprintf("0x%x", w))
		}
		return r.Name + "={" + strings.Join(words, " ") + "}"
	}
	v := uint64(r.Words[0])
	if len(r.Words) == 2 {
		v |= uint64(r.Words[1]) << 32
	}
	switch {
	case r.Float == 64 && len(r.Words) == 2:
		return fmt.Sprintf("%s=%g (0x%x)", r.Name, f64(v), v)
	case r.Float == 32 && len(r.Words) == 1:
		return fmt.Sprintf("%s=%g (0x%x)", r.Name, f32(uint32(v)), v)
	case r.Float == 16 && len(r.Words) == 1:
		return fmt.Sprintf("%s=%g (0x%x)", r.Name, fromHalf(uint16(v)), v)
	}
	switch exponent := v >> 23 & 0xff; {
	case r.Name == scc:
		return fmt.Sprintf("%s=%d", r.Name, v)
	case len(r.Words) == 1 && strings.ContainsAny(r.Name[:1], "sva") && exponent > 127-24 && exponent < 127+24: // moved or loaded: a fraction, by the look of it
		return fmt.Sprintf("%s=0x%x (f32 %g)", r.Name, v, f32(uint32(v)))
	}
	return fmt.Sprintf("%s=0x%x", r.Name, v)
}

// TracedAccess is an access to memory: of the lane, or of a scalar instruction.
type TracedAccess struct {
	Kind   string `json:"kind"`             // load, store, atomic operation
	Memory string `json:"memory"`           // what is accessed: the name of an allocation, local memory, private memory
	Offset uint64 `json:"offset"`           // in bytes from its beginning
	Bytes  uint64 `json:"bytes"`            // 0 where all of it is out of bounds
	Scalar bool   `json:"scalar,omitempty"` // of the whole wave
}

// String is the kind, the memory and the offset.
func (a TracedAccess) String() string { return fmt.Sprintf("%s %s+0x%x", a.Kind, a.Memory, a.Offset) }

// tracer follows a wave: it remembers what the registers held before an instruction.
type tracer struct {
	*Trace
	number int64
	s      [128]uint32
	scc    uint32
	v      [vregs]uint32
}

// traced returns the tracer of a wave that has just been started; nil where nobody
// asked for it.
func (l *launch) traced(w *wave) *tracer {
	t := l.opts.Trace
	if t == nil || t.Step == nil || w.group.id != t.Group || w.number != t.Wave || t.Lane < 0 || t.Lane >= int(w.size) {
		return nil
	}
	r := &tracer{Trace: t}
	step := TraceStep{Kernel: l.kernel.Name, PC: l.program.base + uint64(w.pc)*4, Exec: w.exec()}
	step.Wrote = r.changes(w, nil, 0)
	t.Step(step)
	return r
}

// stepTraced is step, or stepWatched, for the wave that is followed.
func (w *wave) stepTraced(turn int64, watched bool) {
	t, l := w.trace, w.group.launch
	left := turn
	for left > 0 && w.state == running {
		step := TraceStep{PC: l.program.base + uint64(w.pc)*4, Exec: w.exec()}
		var i *instr
		if uint(w.pc) < uint(len(w.code)) {
			i = &w.code[w.pc]
			step.Instruction = i.inst.String()
			step.Memory = w.accesses(i, &l.program.watched()[w.pc])
		}
		follows := w.pc
		if i != nil {
			follows += int32(i.size)
		}
		if watched {
			w.stepWatched(1)
		} else {
			w.step(1)
		}
		left -= 1 - w.left
		t.number++
		step.Number = t.number
		step.Wrote = t.changes(w, i, step.Exec)
		if w.pc != follows && w.state != faulted {
			step.Next = l.program.base + uint64(w.pc)*4
		}
		if w.state == faulted {
			step.Fault = w.fault.Reason
		}
		t.Step(step)
	}
	w.left = left
}

// accesses tells what the traced lane, or the whole wave, is about to access.
func (w *wave) accesses(i *instr, n *notes) (list []TracedAccess) {
	if n.kind == noAccess {
		return nil
	}
	for _, t := range w.touches(i, n) {
		if t.lane >= 0 && t.lane != w.trace.Lane {
			continue
		}
		a := TracedAccess{Kind: n.kind.String(), Offset: t.addr, Bytes: t.bytes, Scalar: t.lane < 0}
		switch t.space {
		case inGlobal:
			a.Memory, a.Offset = t.region.name, t.addr-t.region.base
		default:
			a.Memory = t.space.String() + "memory"
		}
		list = append(list, a)
	}
	return list
}

// changes tells which registers hold something else than before, in runs as the
// instruction names them, and which ones it names as its results; of the beginning
// (without an instruction) which are not zero. Exec is what it was before.
func (t *tracer) changes(w *wave, i *instr, exec uint64) (list []TracedRegister) {
	dec := w.group.launch.program.decoder
	var done [128 + vregs]bool
	float := 0
	if i != nil && i.op != nil {
		float = resultFloat(i.inst.Name(), i.op.float)
	}
	// put appends a run of registers: scalar ones, and behind 128 vector ones.
	put := func(kind isa.Kind, first uint32, from, n int) {
		r := TracedRegister{Name: dec.Register(kind, first, uint8(n))}
		for k := from; k < from+n && k < len(done); k++ {
			done[k] = true
			if k < 128 {
				r.Words = append(r.Words, w.s[k])
			} else {
				r.Words, r.Float = append(r.Words, w.v[k-128][t.Lane]), float
			}
		}
		if len(r.Words) > 0 {
			list = append(list, r)
		}
	}
	changed := func(k int) bool {
		if k < 128 {
			return w.s[k] != t.s[k]
		}
		return w.v[k-128][t.Lane] != t.v[k-128]
	}
	if i != nil {
		for k, o := range i.inst.Args() {
			from, n := int(register(o)), max(int(o.Width), 1)
			switch {
			case o.Kind == isa.VGPR, o.Kind == isa.AGPR:
				from += 128
			case o.Kind != isa.SGPR, o.Value == isa.Null:
				continue
			}
			named := i.op != nil && k < i.op.results && (from < 128 || exec>>t.Lane&1 != 0)
			for at := from; at < from+n && at < len(done); at++ {
				named = named || changed(at)
			}
			if named && from < len(done) && !done[from] {
				put(o.Kind, o.Value, from, n)
			}
		}
	}
	for k := range done {
		if done[k] || !changed(k) {
			continue
		}
		kind, n, at := isa.SGPR, 1, k
		switch {
		case k == isa.VCC+1 && !done[isa.VCC], k == isa.Exec+1 && !done[isa.Exec]: // pairs are written as one
			k, at, n = k-1, k-1, 2
		case k >= 128+firstAGPR:
			kind, at = isa.AGPR, k-128-firstAGPR
		case k >= 128:
			kind, at = isa.VGPR, k-128
		case k == isa.VCC || k == isa.Exec:
			n = 2
		}
		put(kind, uint32(at), k, n)
	}
	if w.scc != t.scc {
		list = append(list, TracedRegister{Name: scc, Words: []uint32{w.scc}})
	}
	t.s, t.scc = w.s, w.scc
	for k := range t.v {
		t.v[k] = w.v[k][t.Lane]
	}
	return list
}

// Name says what an allocation is called in faults and traces. It may be called
// between launches; the error says that no allocation begins there.
func (d *Device) Name(p Pointer, name string) error {
	r := d.mem.find(uint64(p))
	if r == nil || r.base != uint64(p) {
		return fmt.Errorf("no allocation begins at 0x%x", uint64(p))
	}
	r.name = name
	return nil
}
