package emulator

import "fmt"

// Findings are what CheckRace and CheckInit have found in a launch that went on behind
// the first (Options.Findings). Two that are of the same instructions are one.
type Findings struct {
	List  []*Fault // in the order in which they were found, no more than the launch asked for
	Kinds int      // of instructions, those that List leaves out included
	Total int64    // words of all lanes
}

// Error is the first, and how many there are.
func (f *Findings) Error() string { return f.List[0].Error() + "; " + f.Sum() }

// Sum says how many there are, and how many are not listed.
func (f *Findings) Sum() string {
	text := fmt.Sprintf("%d findings, %d accesses in all", f.Kinds, f.Total)
	if more := f.Kinds - len(f.List); more > 0 {
		text += fmt.Sprintf(", %d findings not listed", more)
	}
	return text
}

// Unwrap returns the first.
func (f *Findings) Unwrap() error { return f.List[0] }

// found notes what is wrong with an access, and with which other one. It ends the wave,
// unless the launch is to go on.
func (k *watcher) found(w *wave, i *instr, t *touch, o *mark, format string, args ...any) {
	l := w.group.launch
	here := [2]int32{-1, w.pc - int32(i.size)}
	if o != nil {
		here = [2]int32{min(o.pc, here[1]), max(o.pc, here[1])}
	}
	k.findings.Total++
	if k.known[here] {
		return
	}
	w.failLane(i, t.lane, format, args...)
	if o != nil {
		w.fault.Other = l.program.base + uint64(o.pc)*4
	}
	if l.opts.Findings <= 0 {
		return
	}
	if k.known == nil {
		k.known = map[[2]int32]bool{}
	}
	k.known[here] = true
	if k.findings.Kinds++; len(k.findings.List) < l.opts.Findings {
		k.findings.List = append(k.findings.List, w.fault)
	}
	w.state, w.fault = running, nil
}

// within names the allocation that an access is in, and where in it; empty for local
// and private memory.
func (t *touch) within() string {
	if t.space != inGlobal {
		return ""
	}
	return fmt.Sprintf(" (%s + %d)", t.region.name, t.addr-t.region.base)
}
