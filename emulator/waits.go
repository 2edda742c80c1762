package emulator

import (
	"fmt"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// pending is a memory operation whose counter has not been waited for.
type pending struct {
	result   span
	vm, lgkm bool
	km       bool
	scalar   bool // comes back in any order
	block    bool // of the registers of result those of mask
	mask     uint32
}

// checkWaits keeps the counters of s_waitcnt ("Vega" ISA, "S_WAITCNT") and fails
// when an instruction names a register that a load may still write.
func (w *wave) checkWaits(i *instr, n *notes) {
	if i.op == nil {
		return
	}
	if vm, lgkm, km, ok := waitOf(i); ok {
		w.wait(vm, lgkm, km)
		return
	}
	uses := n.uses
	if n.block {
		uses = w.blockUses(i)
	}
	for _, p := range w.pending {
		for _, use := range uses {
			if !p.meets(use) {
				continue
			}
			if use == n.result[0] && n.vm && p.vm && !n.lgkm && !p.lgkm {
				continue // both come back in order
			}
			w.fail(i, "missing s_waitcnt: %s is still being loaded", p.result)
			return
		}
	}
	if n.vm || n.lgkm || n.km {
		w.pending = append(w.pending, pending{result: n.result[0], vm: n.vm, lgkm: n.lgkm, km: n.km, scalar: n.result[0].from < 0, block: n.block, mask: w.s[isa.M0]})
	}
}

// wait drops the oldest operations until no more than vm, lgkm and km are left.
// Scalar loads come back in any order, so only zero helps.
func (w *wave) wait(vm, lgkm, km int) {
	outVM, outLGKM, scalar := 0, 0, false
	for _, p := range w.pending {
		if p.vm {
			outVM++
		}
		if p.lgkm {
			outLGKM++
			scalar = scalar || p.scalar
		}
	}
	if scalar && lgkm > 0 {
		lgkm = outLGKM
	}
	kept := w.pending[:0]
	for _, p := range w.pending {
		if p.vm {
			outVM--
			p.vm = outVM < vm
		}
		if p.lgkm {
			outLGKM--
			p.lgkm = outLGKM < lgkm
		}
		p.km = p.km && km > 0
		if p.vm || p.lgkm || p.km {
			kept = append(kept, p)
		}
	}
	w.pending = kept
}

// String names the registers as the instructions do.
func (s span) String() string {
	letter, from, to := "v", s.from, s.to
	switch {
	case from < 0:
		letter, from, to = "s", from+1<<10, to+1<<10
	case from >= firstAGPR:
		letter, from, to = "a", from-firstAGPR, to-firstAGPR
	}
	if to-from == 1 {
		return fmt.Sprintf("%s%d", letter, from)
	}
	return fmt.Sprintf("%s[%d:%d]", letter, from, to-1)
}
