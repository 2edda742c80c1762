package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// How the numbers of scalar instructions are written: LLVM, AMDGPUAsmUtils.cpp,
// and the chapters "Program Control" of AMD's documents.

func (i *Inst) wait(v uint32) string {
	counts := i.WaitCounts(v)
	var parts, all []string
	for _, c := range counts {
		text := fmt.Sprintf("%s(%d)", c.Name, c.Count)
		all = append(all, text)
		if c.Count != c.Most {
			parts = append(parts, text)
		}
	}
	if parts == nil {
		parts = all
	}
	return strings.Join(parts, " ")
}

// WaitCount is a counter that s_waitcnt waits for: how many may be under way.
// Where Count is Most, it does not wait.
type WaitCount struct {
	Name        string // vmcnt, expcnt, lgkmcnt
	Count, Most uint32
}

// WaitCounts takes the number of s_waitcnt apart: vector memory operations,
// exports, and LDS or scalar memory operations.
func (i *Inst) WaitCounts(v uint32) [3]WaitCount {
	vm, exp, lgkm, most := v&15|v>>14&3<<4, v>>4&7, v>>8&15, uint32(15)
	switch i.Generation() {
	case 10:
		lgkm, most = v>>8&63, 63
	case 11, 12:
		vm, exp, lgkm, most = v>>10&63, v&7, v>>4&63, 63
	}
	return [3]WaitCount{{"vmcnt", vm, 63}, {"expcnt", exp, 7}, {"lgkmcnt", lgkm, most}}
}

// dependencies writes the counters of s_waitcnt_depctr and s_wait_alu.
func (i *Inst) dependencies(v uint32) string {
	var parts, all []string
	unused := uint32(0x60)
	for _, c := range []struct {
		name      string
		lo, width uint32
	}{{"hold_cnt", 7, 1}, {"sa_sdst", 0, 1}, {"va_vdst", 12, 4}, {"va_sdst", 9, 3}, {"va_ssrc", 8, 1}, {"va_vcc", 1, 1}, {"vm_vsrc", 2, 3}} {
		if c.name == "hold_cnt" && i.gfx1010() {
			unused |= 1 << c.lo
			continue
		}
		most := uint32(1)<<c.width - 1
		text := fmt.Sprintf("depctr_%s(%d)", c.name, v>>c.lo&most)
		all = append(all, text)
		if v>>c.lo&most != most {
			parts = append(parts, text)
		}
	}
	switch {
	case v&unused != 0:
		return fmt.Sprintf("0x%x", v)
	case parts == nil:
		parts = all
	}
	return strings.Join(parts, " ")
}

// delay writes what s_delay_alu says of the next instructions' dependencies.
func delay(v uint32) string {
	ids := [16]string{"", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1", "TRANS32_DEP_2", "TRANS32_DEP_3",
		"FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1", "SALU_CYCLE_2", "SALU_CYCLE_3", "?", "?", "?", "?"}
	skips := [8]string{"", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4", "?", "?"}
	var parts []string
	for _, p := range [][2]string{{"instid0", ids[v&15]}, {"instskip", skips[v>>4&7]}, {"instid1", ids[v>>7&15]}} {
		if p[1] != "" {
			parts = append(parts, p[0]+"("+p[1]+")")
		}
	}
	if parts == nil {
		return "0"
	}
	return strings.Join(parts, " | ")
}

func (i *Inst) hwreg(v uint32) string {
	id, offset, width := HWReg(v)
	text := strconv.Itoa(int(id))
	if name := i.hwregNames()[id]; name != "" {
		text = "HW_REG_" + name
	}
	if offset != 0 || width != 32 {
		text += fmt.Sprintf(", %d, %d", offset, width)
	}
	return "hwreg(" + text + ")"
}

func (i *Inst) hwregNames() map[uint32]string {
	if i.Generation() == 12 {
		names := map[uint32]string{
			1: "WAVE_MODE", 2: "WAVE_STATUS", 4: "WAVE_STATE_PRIV", 5: "WAVE_GPR_ALLOC", 6: "WAVE_LDS_ALLOC", 7: "IB_STS",
			10: "PERF_SNAPSHOT_DATA", 11: "PERF_SNAPSHOT_PC_LO", 12: "PERF_SNAPSHOT_PC_HI", 15: "PERF_SNAPSHOT_DATA1",
			16: "PERF_SNAPSHOT_DATA2", 17: "WAVE_EXCP_FLAG_PRIV", 18: "WAVE_EXCP_FLAG_USER", 19: "WAVE_TRAP_CTRL",
			20: "WAVE_SCRATCH_BASE_LO", 21: "WAVE_SCRATCH_BASE_HI", 23: "WAVE_HW_ID1", 24: "WAVE_HW_ID2", 26: "WAVE_SCHED_MODE",
			29: "SHADER_CYCLES_LO", 30: "SHADER_CYCLES_HI", 31: "WAVE_DVGPR_ALLOC_LO", 32: "WAVE_DVGPR_ALLOC_HI",
		}
		if i.gfx1250() {
			names[28], names[33], names[34] = "IB_STS2", "XNACK_STATE_PRIV", "XNACK_MASK"
		}
		return names
	}
	names := map[uint32]string{1: "MODE", 2: "STATUS", 3: "TRAPSTS", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS", 15: "SH_MEM_BASES"}
	add := func(more map[uint32]string) {
		for id, name := range more {
			names[id] = name
		}
	}
	switch i.Generation() {
	case 9:
		add(map[uint32]string{4: "HW_ID", 16: "TBA_LO", 17: "TBA_HI", 18: "TMA_LO", 19: "TMA_HI"})
		if i.gfx940() {
			add(map[uint32]string{20: "XCC_ID", 21: "SQ_PERF_SNAPSHOT_DATA", 22: "SQ_PERF_SNAPSHOT_DATA1",
				23: "SQ_PERF_SNAPSHOT_PC_LO", 24: "SQ_PERF_SNAPSHOT_PC_HI"})
		}
	case 10:
		add(map[uint32]string{16: "TBA_LO", 17: "TBA_HI", 18: "TMA_LO", 19: "TMA_HI", 20: "FLAT_SCR_LO", 21: "FLAT_SCR_HI",
			23: "HW_ID1", 24: "HW_ID2", 25: "POPS_PACKER", 29: "SHADER_CYCLES"})
		if i.gfx1010() {
			delete(names, 29)
			names[22] = "XNACK_MASK"
		}
	case 11:
		add(map[uint32]string{18: "PERF_SNAPSHOT_PC_LO", 19: "PERF_SNAPSHOT_PC_HI", 20: "FLAT_SCR_LO", 21: "FLAT_SCR_HI",
			23: "HW_ID1", 24: "HW_ID2", 27: "PERF_SNAPSHOT_DATA", 29: "SHADER_CYCLES"})
	}
	return names
}

// HWReg takes the number of s_getreg and s_setreg apart: which register, from
// which bit on, how many bits.
func HWReg(v uint32) (id, offset, width uint32) { return v & 63, v >> 6 & 31, v>>11&31 + 1 }

func (i *Inst) message(v uint32) string {
	if i.Generation() > 10 {
		return i.newMessage(v)
	}
	id, op, stream := v&15, v>>4&7, v>>8&3
	names := map[uint32]string{1: "INTERRUPT", 2: "GS", 3: "GS_DONE", 4: "SAVEWAVE", 5: "STALL_WAVE_GEN", 6: "HALT_WAVES",
		7: "ORDERED_PS_DONE", 8: "EARLY_PRIM_DEALLOC", 9: "GS_ALLOC_REQ", 10: "GET_DOORBELL", 15: "SYSMSG"}
	if i.Generation() == 10 {
		names[11] = "GET_DDID"
	}
	name := names[id]
	named := name != ""
	text := "MSG_" + name
	switch ops := []string{"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"}; {
	case id == 2 || id == 3:
		named = named && op < 4 && (op != 0 || id == 3 && stream == 0)
		if named {
			text += ", " + ops[op]
			if op != 0 {
				text += fmt.Sprintf(", %d", stream)
			}
		}
	case id == 15:
		ops := map[uint32]string{1: "ECC_ERR_INTERRUPT", 2: "REG_RD", 4: "TTRACE_PC"}
		named = named && ops[op] != "" && stream == 0
		text += ", SYSMSG_OP_" + ops[op]
	default:
		named = named && op == 0 && stream == 0
	}
	switch {
	case named:
		return "sendmsg(" + text + ")"
	case v == id|op<<4|stream<<8:
		return fmt.Sprintf("sendmsg(%d, %d, %d)", id, op, stream)
	}
	return strconv.Itoa(int(v))
}

// newMessage writes messages as they are from gfx11 on: a number of 8 bits.
func (i *Inst) newMessage(v uint32) string {
	names := map[uint32]string{1: "INTERRUPT", 2: "HS_TESSFACTOR", 3: "DEALLOC_VGPRS", 9: "GS_ALLOC_REQ",
		128: "RTN_GET_DOORBELL", 129: "RTN_GET_DDID", 130: "RTN_GET_TMA", 131: "RTN_GET_REALTIME", 132: "RTN_SAVE_WAVE",
		133: "RTN_GET_TBA", 134: "RTN_GET_TBA_TO_PC"}
	if i.Generation() == 11 {
		names[5], names[6] = "STALL_WAVE_GEN", "HALT_WAVES"
	} else {
		names[135] = "RTN_GET_SE_AID_ID"
	}
	if i.gfx1250() {
		names[10], names[136] = "SAVEWAVE_HAS_TDM", "RTN_GET_CLUSTER_BARRIER_STATE"
	}
	switch name := names[v&255]; {
	case name != "":
		return "sendmsg(MSG_" + name + ")"
	case v < 256:
		return fmt.Sprintf("sendmsg(%d, 0, 0)", v)
	}
	return strconv.Itoa(int(v))
}

func indexMode(v uint32) string {
	if v&^15 != 0 {
		return fmt.Sprintf("0x%x", v)
	}
	var parts []string
	for n, name := range []string{"SRC0", "SRC1", "SRC2", "DST"} {
		if v>>n&1 != 0 {
			parts = append(parts, name)
		}
	}
	return "gpr_idx(" + strings.Join(parts, ",") + ")"
}
