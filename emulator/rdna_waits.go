package emulator

import (
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// forever is a count that waits for nothing.
const forever = 1 << 16

// waitOf returns how many operations of each counter an instruction lets be under
// way: loads from vector memory, operations on local memory, and scalar loads, which
// have a counter of their own on gfx12. It is false where the instruction is no wait.
func waitOf(i *instr) (vm, lgkm, km int, ok bool) {
	vm, lgkm, km = forever, forever, forever
	n := int(uint16(i.imm))
	switch i.inst.Name() {
	case "s_waitcnt":
		c := i.inst.WaitCounts(uint32(n))
		vm, lgkm = int(c[0].Count), int(c[2].Count)
	case "s_waitcnt_vmcnt", "s_wait_loadcnt":
		vm = n
	case "s_waitcnt_lgkmcnt", "s_wait_dscnt":
		lgkm = n
	case "s_wait_kmcnt":
		km = n
	case "s_wait_loadcnt_dscnt":
		vm, lgkm = n>>8&63, n&63
	case "s_wait_storecnt_dscnt":
		lgkm = n & 63
	case "s_wait_idle":
		vm, lgkm, km = 0, 0, 0
	default:
		return 0, 0, 0, false
	}
	return vm, lgkm, km, true
}

// rdna corrects what RDNA counts in another way ("RDNA 2" ISA and "RDNA 4" ISA,
// "Data dependency resolution"): stores have a counter that no register waits for.
func (n *notes) rdna(inst *isa.Inst, name string) {
	for _, o := range dualArgs(inst) {
		if s := spanOf(o); s.to > s.from {
			n.uses = append(n.uses, s)
		}
	}
	number := inst.Generation()
	switch inst.Enc {
	case isa.FLAT, isa.MUBUF:
		n.block = isBlock(name)
		n.vm = n.result[0] != span{} && !strings.Contains(name, "_inv")
		n.coherent = inst.GLC()
		if number == 12 {
			const scope = 50
			n.coherent = inst.Word>>scope&3 != 0
		}
	case isa.SMEM:
		n.km, n.lgkm = number == 12, number < 12
	case isa.SOP1:
		if name == "s_get_barrier_state" || strings.HasPrefix(name, "s_sendmsg_rtn_") {
			n.km, n.lgkm = number == 12, number < 12
		}
	}
}

func dualArgs(inst *isa.Inst) []isa.Operand {
	if inst.Dual == nil {
		return nil
	}
	return inst.Dual.Args()
}
