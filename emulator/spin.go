package emulator

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// A wave that waits in a loop for what another one will write comes back to the same
// instruction with the same registers, and has changed no memory on its way. What it
// does next depends on memory alone: until that changes it goes round for ever. Such a
// wave stands still. It need not be run in full, which lets grids make progress whose
// work-groups all wait for the last one; and when all waves stand still, nothing will
// ever change, and the launch is over.

// maxLoop is how many instructions a look may take. What a loop loads may have changed
// since it was gone round before, and then is not what it waits for: the next rounds tell.
const (
	maxLoop   = 512
	maxRounds = 3
)

// still is a wave's state at the instruction that it comes back to.
type still struct {
	s     [128]uint32
	scc   uint32
	mode  uint32
	pc    int32
	v     []vec  // the registers that may be used, accumulation registers behind them
	polls int32  // where the loop loads what it waits for; -1: not known
	addr  uint64 // and from where
	space space
}

// look is what standsStill wants to know of an instruction.
type look struct {
	notes  notes
	opaque bool // it depends on more than registers and memory, or changes more
}

// lookAt returns what is known of an instruction.
func (wk *worker) lookAt(pc int32, i *instr) *look {
	if wk.looks == nil {
		wk.looks = make([]*look, len(wk.launch.program.code))
	}
	if k := wk.looks[pc]; k != nil {
		return k
	}
	k := &look{opaque: true}
	if i.op != nil {
		k.notes = noteOf(i)
		if i.inst.Name() == "ds_gws_barrier" { // it changes no memory; the launch is told of what it does
			k.notes.kind = noAccess
		}
		k.opaque = opaque(i, &k.notes)
	}
	wk.looks[pc] = k
	return k
}

// opaque reports the instructions that look at the clock or speak to others than by
// memory, and those whose accesses touches does not list in full.
func opaque(i *instr, n *notes) bool {
	name := i.inst.Name()
	for _, start := range []string{"s_memtime", "s_memrealtime", "s_getreg", "s_sendmsg", "s_barrier", "s_get_barrier", "s_endpgm", "s_trap", "s_alloc",
		"ds_gws_init", "ds_gws_sema", "ds_append", "ds_consume", "ds_ordered", "ds_bvh"} {
		if strings.HasPrefix(name, start) {
			return true
		}
	}
	switch i.inst.Enc {
	case isa.FLAT, isa.MUBUF, isa.DS, isa.SMEM:
	default:
		return false
	}
	switch {
	case strings.Contains(name, "_lds_"), strings.Contains(name, "_block"), i.inst.Enc == isa.MUBUF && i.inst.LDS():
		return true
	case n.kind == noAccess:
		return strings.Contains(name, "store") || strings.Contains(name, "write") || strings.Contains(name, "atomic")
	}
	return false
}

// files returns how many registers of each kind a wave of the launch may use, and whether
// there are accumulation registers among them.
func (l *launch) files() (n int, both bool) { return l.registers, l.kernel.AGPRCount > 0 }

// keep copies the registers that may be used, giveBack restores them, and kept compares
// them.
func (w *wave) keep() {
	n, both := w.group.launch.files()
	w.still.v = append(w.still.v[:0], w.v[:n]...)
	if both {
		w.still.v = append(w.still.v, w.v[firstAGPR:firstAGPR+n]...)
	}
}

func (w *wave) giveBack() {
	n, both := w.group.launch.files()
	copy(w.v[:n], w.still.v)
	if both {
		copy(w.v[firstAGPR:firstAGPR+n], w.still.v[n:])
	}
}

func (w *wave) kept() bool {
	n, _ := w.group.launch.files()
	for k := range w.still.v {
		reg := k
		if k >= n {
			reg = k - n + firstAGPR
		}
		if w.still.v[k] != w.v[reg] {
			return false
		}
	}
	return true
}

// ownWord is a word of local or private memory, and what was in it before an instruction
// wrote there and in the end.
type ownWord struct {
	word        *uint32
	before, now uint32
}

// standsStill runs the wave, a few times round its loop at most, and reports whether it
// stands still. The registers are those of w.still where the wave stood still before.
func (wk *worker) standsStill(w *wave) (yes bool, ran int64) {
	k := &w.still
	k.polls = -1
	begin := func() {
		k.s, k.scc, k.mode, k.pc = w.s, w.scc, w.mode, w.pc
		wk.own = wk.own[:0]
	}
	if !w.spins {
		w.keep()
	}
	begin()
	for rounds := 1; ran < maxLoop; {
		if uint(w.pc) >= uint(len(w.code)) {
			return false, ran
		}
		i := &w.code[w.pc]
		look := wk.lookAt(w.pc, i)
		if look.opaque {
			return false, ran
		}
		pc, exec := w.pc, w.exec()
		var list []touch
		if look.notes.kind != noAccess {
			list = w.touches(i, &look.notes)
			if whole := i.inst.Enc != isa.SMEM; len(list) < bits.OnesCount64(exec) && whole && look.notes.kind != loads {
				return false, ran // some access lies nowhere, or beyond a buffer
			}
			if len(list) > 0 && (look.notes.kind == loads || look.notes.kind == updates) && list[0].space != inPrivate {
				k.polls, k.addr, k.space = pc, list[0].addr, list[0].space
			}
		}
		writes := look.notes.kind == stores || look.notes.kind == updates
		wk.before = wk.before[:0]
		if writes {
			list = append(wk.list[:0], list...) // the wave's own is used again
			wk.list = list
			wk.before = w.contents(wk.before, list)
			wk.own = w.ownContents(wk.own, list)
		}
		wk.run(w, 1)
		ran++
		switch w.state {
		case asleep:
			w.state = running
		case running:
		default:
			return false, ran
		}
		if writes {
			if wk.after = w.contents(wk.after[:0], list); !slices.Equal(wk.before, wk.after) {
				return false, ran
			}
		}
		if w.pc != k.pc {
			continue
		}
		if w.s == k.s && w.scc == k.scc && w.mode == k.mode && w.kept() && w.unchanged(wk.own) {
			return true, ran
		}
		if rounds++; rounds > maxRounds {
			return false, ran
		}
		w.keep()
		begin()
	}
	return false, ran
}

// contents appends the words of global memory that are accessed.
func (w *wave) contents(words []uint32, list []touch) []uint32 {
	for n := range list {
		t := &list[n]
		for at := t.addr &^ 3; t.space == inGlobal && at < t.addr+t.bytes; at += 4 {
			var v [4]uint32
			loadShared(t.region.data, at-t.region.base, 4, &v)
			words = append(words, v[0])
		}
	}
	return words
}

// ownContents appends those of local and private memory. No other work-group sees these:
// they may change, as long as they are in the end what they were.
func (w *wave) ownContents(words []ownWord, list []touch) []ownWord {
	for n := range list {
		t := &list[n]
		for at := t.addr &^ 3; t.space != inGlobal && at < t.addr+t.bytes; at += 4 {
			mem, off := w.group.lds, at
			if t.space == inPrivate {
				mem, off = w.scratch, privateAt(at, t.lane)
			}
			word := word32(mem, off)
			words = append(words, ownWord{word: word, before: *word})
		}
	}
	return words
}

// unchanged reports whether words are what they were before the first of them was
// written: it takes all back, the last first, compares, and does it again.
func (w *wave) unchanged(words []ownWord) bool {
	for n := range words {
		words[n].now = *words[n].word
	}
	for n := len(words) - 1; n >= 0; n-- {
		*words[n].word = words[n].before
	}
	same := true
	for n := range words {
		same = same && *words[n].word == words[n].now
	}
	for n := range words {
		*words[n].word = words[n].now
	}
	return same
}
