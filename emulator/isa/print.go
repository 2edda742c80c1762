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
		if o.Form == FormEnd && o.Value == 0 || o.Form == FormUnsaid {
			continue
		}
		b.WriteString(sep)
		sep = ", "
		i.operand(&b, n, o)
	}
	before := b.Len()
	i.modifiers(&b)
	if i.row.mnemonic == "tensor_stop" && b.Len() > before {
		return strings.Replace(b.String(), " ", "  ", 1) // as if there were operands
	}
	if i.Dual != nil {
		b.WriteString(" :: " + i.Dual.String())
	}
	return b.String()
}

// Name returns the mnemonic without what it says of the encoding, and as GFX9 has
// it where RDNA has another name: the name of Op.
func (i *Inst) Name() string {
	if i.row == nil {
		return ""
	}
	return base(i.row.mnemonic)
}

func (i *Inst) operand(b *strings.Builder, n int, o Operand) {
	if o.Role < RoleSrc0 || o.Role > RoleSrc2 || i.packed() && !i.mix() || i.Enc >= MAI && i.Enc <= MAIScale {
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
	switch constant := o.Kind == Literal && !strings.HasPrefix(text, "lit(") || o.Kind == Const && (o.Value < ConstScratchBaseLo || o.Value >= ConstHalf && o.Value <= ConstInv2Pi); {
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
		return registers("v", o.Value, o.Width) + [...]string{"", ".l", ".h"}[o.Half]
	case AGPR:
		return registers("a", o.Value, o.Width)
	case SGPR:
		return i.scalar(o.Value, o.Width)
	case Const:
		return constant(o)
	case Literal:
		return literal(o)
	case Literal64:
		return i.literal64(o.Form, false)
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

func (i *Inst) scalar(v uint32, width uint8) string {
	special := func(name string, first uint32) string {
		if width == 2 {
			return name
		}
		return name + [2]string{"_lo", "_hi"}[(v-first)&1]
	}
	switch {
	case v < FlatScratch, v < VCC && i.Generation() > 9:
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
	case v == Null:
		return "null"
	}
	return special("exec", Exec)
}

func constant(o Operand) string {
	switch v := o.Value; {
	case v < ConstMinusOne:
		return strconv.Itoa(int(v) - ConstZero)
	case v <= 208:
		return strconv.Itoa(ConstMinusOne - 1 - int(v))
	case v < ConstSharedBase:
		return [...]string{"src_flat_scratch_base_lo", "src_flat_scratch_base_hi"}[v-ConstScratchBaseLo]
	case v < ConstHalf:
		return [...]string{"src_shared_base", "src_shared_limit", "src_private_base", "src_private_limit", "src_pops_exiting_wave_id"}[v-ConstSharedBase]
	case v <= ConstInv2Pi && o.Form == FormBits:
		return [...]string{"0x3f000000", "0xbf000000", "0x3f800000", "0xbf800000", "0x40000000", "0xc0000000", "0x40800000", "0xc0800000", "0x3e22f983"}[v-ConstHalf]
	case v <= ConstInv2Pi && o.Form == FormB16:
		return [...]string{"0x3800", "0xb800", "0x3c00", "0xbc00", "0x4000", "0xc000", "0x4400", "0xc400", "0x3118"}[v-ConstHalf]
	case v < ConstInv2Pi:
		return [...]string{"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"}[v-ConstHalf]
	case v == ConstInv2Pi && (o.Form == FormF64 || o.Form == FormB64) && o.Width != 4: // what has four is f32 in waves of 64 lanes
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
	case FormSplatF16:
		inline = small(int32(v)) || v>>16 == v&0xffff && half(uint16(v))
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
	case FormImm:
		return immediate(v)
	case FormBits:
		if small(int32(v)) {
			return strconv.Itoa(int(int32(v)))
		}
	}
	if inline {
		return fmt.Sprintf("lit(0x%x)", v)
	}
	return fmt.Sprintf("0x%x", shown)
}

// literal64 writes the 64 bits behind the first four bytes, by their name as an
// inline constant where one could be. What a literal of 32 bits could say stands in
// lit64(); of f64 the upper half is enough where the lower is zero.
func (i *Inst) literal64(form Form, always bool) string {
	v := i.Word>>32 | i.Tail<<32
	name, ok := map[uint64]string{0x3fe: "0.5", 0x3ff: "1.0", 0x400: "2.0", 0x401: "4.0"}[v<<1>>53]
	switch {
	case v>>32 == 0:
		return fmt.Sprintf("lit64(0x%x)", v)
	case !always && int64(v) >= -16 && int64(v) < 0:
		return strconv.Itoa(int(int64(v)))
	case !always && ok && v<<12 == 0 && v>>63 != 0:
		return "-" + name
	case !always && ok && v<<12 == 0:
		return name
	case !always && v == 0x3fc45f306dc9c882:
		return "0.15915494309189532"
	case form == FormF64 && uint32(v) == 0:
		return fmt.Sprintf("0x%x", v>>32)
	}
	return fmt.Sprintf("0x%x", v)
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
			if gen := i.Generation(); i.Offset() == 0 && (gen == 10 || gen == 11) {
				return "null" // neither a register nor a number
			}
			return hexSigned(i.Offset())
		}
		return fmt.Sprintf("0x%x", v)
	case FormWide:
		return i.literal64(FormF64, true)
	case FormImm:
		return immediate(v)
	case FormHWReg:
		return i.hwreg(v)
	case FormMessage:
		return i.message(v)
	case FormWait:
		return i.wait(v)
	case FormIndex:
		return indexMode(v)
	case FormDepCtr:
		return i.dependencies(v)
	case FormDelay:
		return delay(v)
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
