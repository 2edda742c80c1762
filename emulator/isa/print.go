package isa

import (
	"fmt"
	"strconv"
	"strings"
)

// String writes the instruction as llvm-objdump does, without the address of a
// branch's target.
func (i *Inst) String() string {
	if i.row == nil {
		return "<none>"
	}
	var b strings.Builder
	b.WriteString(i.row.mnemonic)
	sep := " "
	for n, o := range i.Args() {
		if o.Form == FormEnd && o.Value == 0 {
			continue
		}
		b.WriteString(sep)
		sep = ", "
		i.operand(&b, n, o)
	}
	i.modifiers(&b)
	return b.String()
}

// Name returns the mnemonic without what it says of the encoding.
func (i *Inst) Name() string {
	if i.row == nil {
		return ""
	}
	return base(i.row.mnemonic)
}

func (i *Inst) operand(b *strings.Builder, n int, o Operand) {
	if o.Role < RoleSrc0 || o.Role > RoleSrc2 || i.Enc == VOP3P && !i.mix() || i.Enc == MAI || i.Enc == MAIX {
		b.WriteString(i.text(o))
		return
	}
	bit := uint32(1) << (o.Role - RoleSrc0)
	text := i.text(o)
	if i.Sext()&bit != 0 {
		text = "sext(" + text + ")"
	}
	abs, neg := i.Abs()&bit != 0, i.Neg()&bit != 0
	if abs {
		text = "|" + text + "|"
	}
	switch constant := o.Kind == Const && (o.Value < ConstSharedBase || o.Value >= ConstHalf && o.Value <= ConstInv2Pi); {
	case neg && constant && !abs:
		text = "neg(" + text + ")"
	case neg:
		text = "-" + text
	}
	b.WriteString(text)
}

func (i *Inst) text(o Operand) string {
	switch o.Kind {
	case VGPR:
		return registers("v", o.Value, o.Width)
	case AGPR:
		return registers("a", o.Value, o.Width)
	case SGPR:
		return scalar(o.Value, o.Width)
	case Const:
		return constant(o)
	case Literal:
		return literal(o)
	case Off:
		return "off"
	}
	return i.number(o)
}

func registers(prefix string, first uint32, width uint8) string {
	if width == 1 {
		return prefix + strconv.Itoa(int(first))
	}
	return fmt.Sprintf("%s[%d:%d]", prefix, first, first+uint32(width)-1)
}

func scalar(v uint32, width uint8) string {
	special := func(name string, first uint32) string {
		if width == 2 {
			return name
		}
		return name + [2]string{"_lo", "_hi"}[(v-first)&1]
	}
	switch {
	case v < FlatScratch:
		return registers("s", v, width)
	case v < XnackMask:
		return special("flat_scratch", FlatScratch)
	case v < VCC:
		return special("xnack_mask", XnackMask)
	case v < TTMP0:
		return special("vcc", VCC)
	case v < M0:
		return registers("ttmp", v-TTMP0, width)
	case v == M0:
		return "m0"
	}
	return special("exec", Exec)
}

func constant(o Operand) string {
	switch v := o.Value; {
	case v < ConstMinusOne:
		return strconv.Itoa(int(v) - ConstZero)
	case v <= 208:
		return strconv.Itoa(ConstMinusOne - 1 - int(v))
	case v < ConstHalf:
		return [...]string{"src_shared_base", "src_shared_limit", "src_private_base", "src_private_limit", "src_pops_exiting_wave_id"}[v-ConstSharedBase]
	case v <= ConstInv2Pi && o.Form == FormB16:
		return [...]string{"0x3800", "0xb800", "0x3c00", "0xbc00", "0x4000", "0xc000", "0x4400", "0xc400", "0x3118"}[v-ConstHalf]
	case v < ConstInv2Pi:
		return [...]string{"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"}[v-ConstHalf]
	case v == ConstInv2Pi && (o.Form == FormF64 || o.Form == FormB64):
		return "0.15915494309189532"
	case v == ConstInv2Pi:
		return "0.15915494"
	case v >= ConstVCCZ && v <= ConstLDSDirect:
		return [...]string{"src_vccz", "src_execz", "src_scc", "src_lds_direct"}[v-ConstVCCZ]
	}
	return "?"
}

// literal writes the 32 bits behind an instruction. A value that could have
// been an inline constant stands in lit(), so that it is assembled as it was.
func literal(o Operand) string {
	v := o.Value
	inline, shown := false, v
	switch o.Form {
	case FormF16:
		inline, shown = small(int32(int16(v))) || half(uint16(v)), v&0xffff
	case FormBF16:
		inline = small(int32(int16(v))) || brain(uint16(v))
	case FormB16:
		inline, shown = small(int32(v)) || single(v), v&0xffff
	case FormPairF16:
		inline = small(int32(v)) || v>>16 == 0 && half(uint16(v))
	case FormPairBF16:
		inline = small(int32(v)) || v>>16 == 0 && brain(uint16(v))
	case FormF64:
		if text, ok := map[uint32]string{0: "0", 0x3fe00000: "0.5", 0xbfe00000: "-0.5", 0x3ff00000: "1.0", 0xbff00000: "-1.0",
			0x40000000: "2.0", 0xc0000000: "-2.0", 0x40100000: "4.0", 0xc0100000: "-4.0"}[v]; ok {
			return text
		}
	case FormB64:
		inline = v <= 64
	case FormB32:
		inline = small(int32(v)) || single(v)
	}
	if inline {
		return fmt.Sprintf("lit(0x%x)", v)
	}
	return fmt.Sprintf("0x%x", shown)
}

// These report whether a value has an inline constant.
func small(v int32) bool { return v >= -16 && v <= 64 }

func single(v uint32) bool {
	switch v &^ (1 << 31) {
	case 0x3f000000, 0x3f800000, 0x40000000, 0x40800000:
		return true
	}
	return v == 0x3e22f983
}

func half(v uint16) bool {
	switch v &^ (1 << 15) {
	case 0x3800, 0x3c00, 0x4000, 0x4400:
		return true
	}
	return v == 0x3118
}

func brain(v uint16) bool {
	switch v &^ (1 << 15) {
	case 0x3f00, 0x3f80, 0x4000, 0x4080:
		return true
	}
	return v == 0x3e22
}

func (i *Inst) number(o Operand) string {
	v := o.Value
	switch o.Form {
	case FormHex:
		if o.Role == RoleOffset {
			return hexSigned(i.Offset())
		}
		return fmt.Sprintf("0x%x", v)
	case FormImm:
		return immediate(v)
	case FormHWReg:
		return i.hwreg(v)
	case FormMessage:
		return message(v)
	case FormWait:
		return wait(v)
	case FormIndex:
		return indexMode(v)
	}
	return strconv.Itoa(int(v))
}

// immediate writes a number of 32 bits, by its name as an inline constant where
// it has one.
func immediate(v uint32) string {
	if small(int32(v)) {
		return strconv.Itoa(int(int32(v)))
	}
	name, ok := map[uint32]string{0x3f000000: "0.5", 0x3f800000: "1.0", 0x40000000: "2.0", 0x40800000: "4.0"}[v&^(1<<31)]
	switch {
	case ok && v>>31 != 0:
		return "-" + name
	case ok:
		return name
	case v == 0x3e22f983:
		return "0.15915494"
	}
	return fmt.Sprintf("0x%x", v)
}

func hexSigned(v int32) string {
	if v < 0 {
		return fmt.Sprintf("-0x%x", -int64(v))
	}
	return fmt.Sprintf("0x%x", v)
}

func wait(v uint32) string {
	vm, exp, lgkm := WaitCounts(v)
	all := vm == 63 && exp == 7 && lgkm == 15
	var parts []string
	if vm != 63 || all {
		parts = append(parts, fmt.Sprintf("vmcnt(%d)", vm))
	}
	if exp != 7 || all {
		parts = append(parts, fmt.Sprintf("expcnt(%d)", exp))
	}
	if lgkm != 15 || all {
		parts = append(parts, fmt.Sprintf("lgkmcnt(%d)", lgkm))
	}
	return strings.Join(parts, " ")
}

// WaitCounts takes the number of s_waitcnt apart: how many vector memory
// operations, exports, and LDS or scalar memory operations may be under way.
func WaitCounts(v uint32) (vm, exp, lgkm uint32) {
	return v&15 | v>>14&3<<4, v >> 4 & 7, v >> 8 & 15
}

func (i *Inst) hwreg(v uint32) string {
	id, offset, width := HWReg(v)
	names := map[uint32]string{
		1: "MODE", 2: "STATUS", 3: "TRAPSTS", 4: "HW_ID", 5: "GPR_ALLOC", 6: "LDS_ALLOC", 7: "IB_STS",
		15: "SH_MEM_BASES", 16: "TBA_LO", 17: "TBA_HI", 18: "TMA_LO", 19: "TMA_HI",
	}
	if i.gfx940() {
		for id, name := range map[uint32]string{20: "XCC_ID", 21: "SQ_PERF_SNAPSHOT_DATA", 22: "SQ_PERF_SNAPSHOT_DATA1",
			23: "SQ_PERF_SNAPSHOT_PC_LO", 24: "SQ_PERF_SNAPSHOT_PC_HI"} {
			names[id] = name
		}
	}
	text := strconv.Itoa(int(id))
	if name := names[id]; name != "" {
		text = "HW_REG_" + name
	}
	if offset != 0 || width != 32 {
		text += fmt.Sprintf(", %d, %d", offset, width)
	}
	return "hwreg(" + text + ")"
}

// HWReg takes the number of s_getreg and s_setreg apart: which register, from
// which bit on, how many bits.
func HWReg(v uint32) (id, offset, width uint32) { return v & 63, v >> 6 & 31, v>>11&31 + 1 }

func message(v uint32) string {
	id, op, stream := v&15, v>>4&7, v>>8&3
	name := map[uint32]string{1: "INTERRUPT", 2: "GS", 3: "GS_DONE", 4: "SAVEWAVE", 5: "STALL_WAVE_GEN", 6: "HALT_WAVES",
		7: "ORDERED_PS_DONE", 8: "EARLY_PRIM_DEALLOC", 9: "GS_ALLOC_REQ", 10: "GET_DOORBELL", 15: "SYSMSG"}[id]
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
