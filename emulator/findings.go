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

// finding is what is wrong with an access.
type finding struct {
	at    [2]int32 // the instructions, as in watcher.known
	fault *Fault   // nil where such a one is known
}

// finding describes what is wrong with an access, and with which other one; nil: with
// none.
func (k *watcher) finding(w *wave, i *instr, t *touch, o *mark, format string, args ...any) finding {
	f := finding{at: [2]int32{-1, w.pc - int32(i.size)}}
	if o != nil {
		f.at = [2]int32{min(o.pc, f.at[1]), max(o.pc, f.at[1])}
	}
	if k.known[f.at] {
		return f
	}
	w.failLane(i, t.lane, format, args...)
	f.fault, w.fault, w.state = w.fault, nil, running
	if o != nil {
		f.fault.Other = w.group.launch.program.base + uint64(o.pc)*4
	}
	return f
}

// report notes a finding. It ends the wave, unless the launch is to go on.
func (k *watcher) report(w *wave, f finding) {
	if most := w.group.launch.opts.Findings; most > 0 {
		k.list(f, most)
		return
	}
	w.fault, w.state = f.fault, faulted
}

// list adds a finding to no more than that many.
func (k *watcher) list(f finding, most int) {
	k.findings.Total++
	if k.known[f.at] {
		return
	}
	if k.known == nil {
		k.known = map[[2]int32]bool{}
	}
	k.known[f.at] = true
	if k.findings.Kinds++; len(k.findings.List) < most {
		k.findings.List = append(k.findings.List, f.fault)
	}
}

// within names the allocation that an access is in, and where in it; empty for local
// and private memory.
func (t *touch) within() string {
	if t.space != inGlobal {
		return ""
	}
	return fmt.Sprintf(" (%s + %d)", t.region.name, t.addr-t.region.base)
}
