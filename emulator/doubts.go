package emulator

import (
	"maps"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// doubt is a race that may be none: a plain load of what others change by atomic
// operations. Compilers make a loop of an atomic operation that the hardware does not have,
// such as the addition of floats, and LLVM (AtomicExpandPass, insertRMWCmpXchgLoop) begins it
// with a plain load, since the comparison finds out what has changed. Whoever goes on to
// compare and swap the same word is therefore cleared; what is left is reported when
// the launch has ended.
type doubt struct {
	number int // in order of time
	finding
}

// doubted is a word and the wave that has loaded it.
type doubted struct {
	cell *cell
	wave int32
}

// maxDoubts bounds what is kept back; more are reported at once.
const maxDoubts = 1 << 16

// keep keeps a race back, and reports whether there was room for it.
func (k *watcher) keep(f finding, of doubted) bool {
	if len(k.doubts) >= maxDoubts {
		return false
	}
	if k.doubts == nil {
		k.doubts = map[doubted]doubt{}
	}
	k.number++
	k.doubts[of] = doubt{k.number, f}
	return true
}

// clear says that a wave has an instruction of its own for the word that it had loaded.
func (k *watcher) clear(n *notes, i *instr, of doubted) {
	if len(k.doubts) == 0 || n.kind != updates {
		return
	}
	if name := i.inst.Name(); strings.Contains(name, "cmpswap") || strings.Contains(name, "cmpst") {
		delete(k.doubts, of)
	}
}

// doubtful lists the races that are left, no more than that many, or returns the first
// where none are listed.
func (k *watcher) doubtful(most int) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	left := slices.SortedFunc(maps.Values(k.doubts), func(a, b doubt) int { return a.number - b.number })
	for _, d := range left {
		if most <= 0 {
			return d.fault
		}
		k.list(d.finding, most)
	}
	return nil
}

// frameSlot reports an access to a place of the stack that the compiler has chosen, by
// the pointers of the stack and a number alone. Compilers reload registers there that
// only some lanes, or none, have saved: what the others read is never used, and says
// nothing of the program.
func frameSlot(inst *isa.Inst) bool {
	const stackPointer, framePointer = 32, 33 // AMDGPUUsage, "Call Convention"
	for _, o := range inst.Args() {
		switch {
		case o.Role == isa.RoleAddr && o.Kind == isa.VGPR:
			return false
		case o.Kind == isa.SGPR && (o.Role == isa.RoleOffset || o.Role == isa.RoleBase && inst.Enc == isa.FLAT):
			if o.Value != stackPointer && o.Value != framePointer {
				return false
			}
		}
	}
	return true
}
