package isa

import (
	"fmt"
	"math/bits"
	"strings"
)

// traits are what processors of one family name otherwise, beside their instructions.
type traits uint8

const (
	likeGFX90A  traits = 1 << iota // CDNA 2 on
	likeGFX940                     // CDNA 3 on
	likeGFX1010                    // RDNA before RDNA 2
	likeGFX1250
)

func traitsOf(processor string) traits {
	switch processor {
	case "gfx90a":
		return likeGFX90A
	case "gfx942", "gfx950", "gfx9-4-generic":
		return likeGFX90A | likeGFX940
	case "gfx1010", "gfx1011":
		return likeGFX1010
	case "gfx1250", "gfx1251":
		return likeGFX1250
	}
	return 0
}

func (i *Inst) gfx90a() bool { return i.traits&likeGFX90A != 0 }
func (i *Inst) gfx940() bool { return i.traits&likeGFX940 != 0 }

func (i *Inst) gfx1010() bool { return i.traits&likeGFX1010 != 0 }

func (i *Inst) gfx1250() bool { return i.traits&likeGFX1250 != 0 }

func (i *Inst) modifiers(b *strings.Builder) {
	switch i.Enc {
	case VOPD3:
		i.truth(b)
	case VOP3, VOP3DPP, VOP3DPP8:
		i.truth(b)
		i.opSel(b)
		i.clampOMod(b)
		i.lanesText(b)
	case WMMAScale:
		i.tileText(b)
	case VOP3P, VOP3PDPP, VOP3PDPP8:
		if i.tile() {
			i.tileText(b)
			return
		}
		i.packedText(b)
		i.lanesText(b)
	case MAI, MAIX:
		i.matrix(b)
	case MAIScale:
		if sel := i.mod(11, 2); sel != 0 {
			list(b, "op_sel", sel, 3)
		}
		list(b, "op_sel_hi", i.mod(59, 2), 3)
		i.matrix(b)
	case SDWA1, SDWA2, SDWAC:
		i.sdwa(b)
	case DPP1, DPP2, DPPC, DPP81, DPP82, DPP8C:
		i.lanesText(b)
	case SMEM:
		i.smem(b)
	case DS:
		i.ds(b)
	case FLAT:
		i.offset(b)
		switch i.Generation() {
		case 9:
			i.cache(b, 16, 17, 25)
		case 10:
			i.hints(b, 16, 17, 12)
		case 11:
			i.hints(b, 14, 15, 13)
		case 12:
			i.temporal(b, 52, 50)
		}
		if i.lds() {
			b.WriteString(" lds")
		}
	case MUBUF:
		i.mubuf(b)
	}
}

// truth writes a truth table.
func (i *Inst) truth(b *strings.Builder) {
	switch n := i.BitOp(); {
	case !i.bitop() || n == 0:
	case n <= 10:
		fmt.Fprintf(b, " bitop3:%d", n)
	default:
		fmt.Fprintf(b, " bitop3:0x%x", n)
	}
}

func (i *Inst) clampOMod(b *strings.Builder) {
	if i.Clamp() {
		b.WriteString(" clamp")
	}
	b.WriteString([...]string{"", " mul:2", " mul:4", " div:2"}[i.OMod()])
}

// sources counts the operands that are sources of an operation.
func (i *Inst) sources() int {
	n := 0
	for _, o := range i.Args() {
		if o.Role >= RoleSrc0 && o.Role <= RoleSrc2 {
			n++
		}
	}
	return n
}

func list(b *strings.Builder, name string, values uint32, n int) {
	b.WriteString(" " + name + ":[")
	for k := range n {
		if k > 0 {
			b.WriteByte(',')
		}
		b.WriteByte(byte('0' + values>>k&1))
	}
	b.WriteByte(']')
}

// opSel writes the halves that VOP3 chooses: of each source, then of the result
// where the opcode has one.
func (i *Inst) opSel(b *strings.Builder) {
	sel := i.OpSel()
	if sel == 0 {
		return
	}
	if name := i.Name(); name == "v_permlane16_swap_b32" || name == "v_permlane32_swap_b32" {
		b.WriteString([...]string{"", "", " bound_ctrl:1", " bound_ctrl:1"}[sel&3])
		if sel&1 != 0 {
			b.WriteString(" fi:1")
		}
		return
	}
	if i.gfx1250() && i.opSel1250(b, sel) {
		return
	}
	if name := i.Name(); i.Generation() == 12 && byteSelected(name) {
		at := 0
		if strings.HasPrefix(name, "v_cvt_sr_") {
			at = 2
		}
		if half := sel >> at & 3; half != 0 && at == 0 {
			fmt.Fprintf(b, " byte_sel:%d", half>>1|half&1<<1)
		} else if half != 0 {
			fmt.Fprintf(b, " byte_sel:%d", half)
		}
		return
	}
	n := max(i.sources(), bits.Len32(i.row.mods.Bits(11, 3)))
	result := i.row.mods.Has(14)
	switch name := i.Name(); {
	case name == "v_permlane16_b32" || name == "v_permlanex16_b32":
		n = 2 // whether lanes that are off are read, and zero where there is none
	case name == "v_cndmask_b16":
		return // the halves say it all
	case name == "v_fmac_f16" && i.Generation() > 10:
		n = 3
	case strings.HasPrefix(name, "v_cmp_") && i.Enc == VOP3:
		result = true
	}
	list := fmt.Sprintf("%d", sel&1)
	for k := 1; k < n; k++ {
		list += fmt.Sprintf(",%d", sel>>k&1)
	}
	if result {
		list += fmt.Sprintf(",%d", sel>>3)
	}
	b.WriteString(" op_sel:[" + list + "]")
}

func (i *Inst) packedText(b *strings.Builder) {
	n := i.sources()
	all := uint32(1)<<n - 1
	if sel := i.OpSel() & all; sel != 0 && strings.HasPrefix(i.Name(), "v_swmmac_") {
		fmt.Fprintf(b, " index_key:%d", sel)
	} else if sel != 0 {
		list(b, "op_sel", sel, n)
	}
	if hi := i.OpSelHi() & all; hi != i.hiDefault()&all {
		list(b, "op_sel_hi", hi, n)
	}
	if neg := i.Neg() & all; neg != 0 && !i.mix() {
		list(b, "neg_lo", neg, n)
	}
	if neg := i.NegHi() & all; neg != 0 {
		list(b, "neg_hi", neg, n)
	}
	if i.Clamp() {
		b.WriteString(" clamp")
	}
}

// hiDefault is what OP_SEL_HI is when nothing is written.
func (i *Inst) hiDefault() uint32 {
	if i.mix() {
		return 0
	}
	return 7
}

func (i *Inst) matrix(b *strings.Builder) {
	cbsz, abid, blgp := i.Matrix()
	if cbsz != 0 {
		fmt.Fprintf(b, " cbsz:%d", cbsz)
	}
	if abid != 0 {
		fmt.Fprintf(b, " abid:%d", abid)
	}
	switch {
	case blgp == 0:
	case i.gfx940() && strings.Contains(i.row.mnemonic, "f64"):
		list(b, "neg", blgp, 3)
	default:
		fmt.Fprintf(b, " blgp:%d", blgp)
	}
}

func (i *Inst) sdwa(b *strings.Builder) {
	names := [...]string{"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "?"}
	dst, unused, src0, src1 := i.SDWA()
	i.clampOMod(b)
	if i.Enc != SDWAC && i.N > 0 && !i.sourceAlone() {
		fmt.Fprintf(b, " dst_sel:%s dst_unused:%s", names[dst], [...]string{"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"}[unused])
	}
	if i.sources() > 0 {
		fmt.Fprintf(b, " src0_sel:%s", names[src0])
	}
	if i.sources() > 1 {
		fmt.Fprintf(b, " src1_sel:%s", names[src1])
	}
}

// sourceAlone reports the conversions of fp8 and bf8 to f32 with sub-dword
// addressing: the bits that select a part of the result must say all of it.
func (i *Inst) sourceAlone() bool {
	return i.Enc == SDWA1 && !i.row.mods.Has(40) && i.row.mods.Has(41)
}

func (i *Inst) lanesText(b *strings.Builder) {
	switch {
	case i.IsDPP8():
		sel := i.DPP8()
		text := ""
		for n := range 8 {
			text += fmt.Sprintf(",%d", sel>>(3*n)&7)
		}
		b.WriteString(" dpp8:[" + text[1:] + "]")
	case i.IsDPP():
		ctrl, rows, banks, zero := i.DPP()
		b.WriteString(" " + i.dppControl(ctrl))
		fmt.Fprintf(b, " row_mask:0x%x bank_mask:0x%x", rows, banks)
		if zero {
			b.WriteString(" bound_ctrl:1")
		}
	}
	if i.FetchInactive() {
		b.WriteString(" fi:1")
	}
}

// Control words of DPP ("Vega" ISA, section "DPP Control").
const (
	DPPRowShl     = 0x100 // + 1..15
	DPPRowShr     = 0x110
	DPPRowRor     = 0x120
	DPPWaveShl    = 0x130
	DPPWaveRol    = 0x134
	DPPWaveShr    = 0x138
	DPPWaveRor    = 0x13c
	DPPMirror     = 0x140
	DPPHalfMirror = 0x141
	DPPBcast15    = 0x142
	DPPBcast31    = 0x143
	DPPNewBcast   = 0x150 // + 0..15; gfx90a on, and from gfx10 on: there called row_share
	DPPRowXMask   = 0x160 // + 0..15; from gfx10 on
)

func (i *Inst) dppControl(c uint32) string {
	switch {
	case c < 0x100:
		return fmt.Sprintf("quad_perm:[%d,%d,%d,%d]", c&3, c>>2&3, c>>4&3, c>>6&3)
	case c > DPPRowShl && c < 0x110:
		return fmt.Sprintf("row_shl:%d", c&15)
	case c > DPPRowShr && c < 0x120:
		return fmt.Sprintf("row_shr:%d", c&15)
	case c > DPPRowRor && c < 0x130:
		return fmt.Sprintf("row_ror:%d", c&15)
	case c >= DPPNewBcast && c < 0x160 && i.Generation() > 9:
		return fmt.Sprintf("row_share:%d", c&15)
	case c >= DPPRowXMask && c < 0x170 && i.Generation() > 9:
		return fmt.Sprintf("row_xmask:%d", c&15)
	case c >= DPPNewBcast && c < 0x160:
		return fmt.Sprintf("row_newbcast:%d", c&15)
	}
	return map[uint32]string{DPPWaveShl: "wave_shl:1", DPPWaveRol: "wave_rol:1", DPPWaveShr: "wave_shr:1", DPPWaveRor: "wave_ror:1",
		DPPMirror: "row_mirror", DPPHalfMirror: "row_half_mirror", DPPBcast15: "row_bcast:15", DPPBcast31: "row_bcast:31"}[c]
}

func (i *Inst) ds(b *strings.Builder) {
	switch name := i.Name(); {
	case name == "ds_swizzle_b32":
		b.WriteString(swizzle(uint32(i.Offset())))
	case twoOffsets(name):
		if a, c := i.Offsets(); a != 0 || c != 0 {
			if a != 0 {
				fmt.Fprintf(b, " offset0:%d", a)
			}
			if c != 0 {
				fmt.Fprintf(b, " offset1:%d", c)
			}
		}
	default:
		i.offset(b)
	}
	if i.GDS() {
		b.WriteString(" gds")
	}
}

func twoOffsets(name string) bool {
	return strings.Contains(name, "_2addr_") || strings.HasPrefix(name, "ds_read2") || strings.HasPrefix(name, "ds_write2") || strings.HasPrefix(name, "ds_wrxchg2")
}

func (i *Inst) offset(b *strings.Builder) {
	if o := i.Offset(); o != 0 {
		fmt.Fprintf(b, " offset:%d", o)
	}
}

func (i *Inst) smem(b *strings.Builder) {
	gen := i.Generation()
	switch scalar := i.bits(57, 7) != i.family.Null; {
	case gen == 9 && i.Word&(1<<17|1<<14) == 1<<17|1<<14,
		gen > 9 && scalar && i.row.mods.Has(32) && (gen == 12 || i.Offset() != 0):
		b.WriteString(" offset:" + hexSigned(i.Offset()))
	}
	switch gen {
	case 9:
		i.hints(b, 16, 96, 96)
	case 10:
		i.hints(b, 16, 96, 14)
	case 11:
		i.hints(b, 14, 96, 13)
	case 12:
		i.temporal(b, 23, 21)
	}
}

// hints writes the cache policy of gfx10 and gfx11, given where its bits lie; 96
// where there is none.
func (i *Inst) hints(b *strings.Builder, glc, slc, dlc uint) {
	for _, hint := range []struct {
		bit  uint
		name string
	}{{glc, " glc"}, {slc, " slc"}, {dlc, " dlc"}} {
		if hint.bit < 96 && i.hinted(hint.bit) {
			b.WriteString(hint.name)
		}
	}
}

// hinted reports a bit that is a modifier, or chooses the row.
func (i *Inst) hinted(bit uint) bool {
	return i.bits(bit, 1) != 0 && !i.row.ignored.Has(uint8(bit))
}

// cache writes the cache policy, given where its bits lie.
func (i *Inst) cache(b *strings.Builder, glc, slc, scc uint) {
	names := [3]string{" glc", " slc", " scc"}
	if i.gfx940() {
		names = [3]string{" sc0", " nt", " sc1"}
	}
	if i.Word>>glc&1 != 0 && (i.N > 0 || i.gfx940()) {
		b.WriteString(names[0])
	}
	if i.mod(slc, 1) != 0 {
		b.WriteString(names[1])
	}
	if i.gfx90a() && i.mod(scc, 1) != 0 {
		b.WriteString(names[2])
	}
}

// lds reports a FLAT instruction that loads into local memory; on gfx942 the bit
// means something else for scratch.
func (i *Inst) lds() bool {
	return i.Generation() <= 10 && i.bits(13, 1) != 0 && (i.Segment() != 1 || !i.gfx940())
}

func (i *Inst) mubuf(b *strings.Builder) {
	toLDS := i.Name() == "buffer_store_lds_dword"
	if i.N == 0 && i.Generation() > 9 {
		return // one for the caches
	}
	if i.IdxEn() {
		b.WriteString(" idxen")
	}
	if i.OffEn() {
		b.WriteString(" offen")
	}
	i.offset(b)
	if toLDS {
		b.WriteString(" lds")
	}
	tfe := uint(55)
	switch i.Generation() {
	case 9:
		i.cache(b, 14, 17, 15)
	case 10:
		i.hints(b, 14, 54, 15)
	case 11:
		i.hints(b, 14, 12, 13)
		tfe = 53
	case 12:
		i.temporal(b, 52, 50)
		tfe = 22
	}
	if i.bits(tfe, 1) != 0 && !i.gfx90a() {
		b.WriteString(" tfe")
	}
	if i.LDS() && !toLDS {
		b.WriteString(" lds")
	}
}

// swizzle writes the pattern of ds_swizzle_b32 ("Vega" ISA, "DS_SWIZZLE_B32").
func swizzle(v uint32) string {
	switch {
	case v == 0:
		return ""
	case v >= 0xe000:
		return fmt.Sprintf(" offset:swizzle(FFT,%d)", v&31)
	case v >= 0xc000:
		return fmt.Sprintf(" offset:swizzle(ROTATE,%d,%d)", v>>10&1, v>>5&31)
	case v&0xff00 == 0x8000:
		return fmt.Sprintf(" offset:swizzle(QUAD_PERM,%d,%d,%d,%d)", v&3, v>>2&3, v>>4&3, v>>6&3)
	case v&0x8000 != 0:
		return fmt.Sprintf(" offset:%d", v)
	}
	and, or, xor := v&31, v>>5&31, v>>10&31
	group := 32 - and
	switch {
	case and == 31 && or == 0 && bits.OnesCount32(xor) == 1:
		return fmt.Sprintf(" offset:swizzle(SWAP,%d)", xor)
	case and == 31 && or == 0 && xor > 0 && xor&(xor+1) == 0:
		return fmt.Sprintf(" offset:swizzle(REVERSE,%d)", xor+1)
	case group > 1 && group&(group-1) == 0 && or < group && xor == 0:
		return fmt.Sprintf(" offset:swizzle(BROADCAST,%d,%d)", group, or)
	}
	mask := ""
	for bit := uint32(16); bit > 0; bit >>= 1 {
		p0, p1 := or&bit^xor&bit, (and|or)&bit^xor&bit
		switch {
		case p0 == p1 && p0 == 0:
			mask += "0"
		case p0 == p1:
			mask += "1"
		case p0 == 0:
			mask += "p"
		default:
			mask += "i"
		}
	}
	return fmt.Sprintf(" offset:swizzle(BITMASK_PERM,\"%s\")", mask)
}

// temporal writes the cache policy of gfx12, given where TH and SCOPE lie, between
// two bits that later processors know.
func (i *Inst) temporal(b *strings.Builder, th, scope uint) {
	width, scale, nv := uint(3), uint(48), uint(7)
	if i.Enc == SMEM {
		width, scale, nv = 2, 56, 20
	}
	c := i.code().Without(i.row.ignored)
	hint, where := c.Bits(uint8(th), uint8(width)), c.Bits(uint8(scope), 2)
	if i.mod(scale, 1) != 0 {
		b.WriteString(" scale_offset")
	}
	name := i.row.mnemonic
	switch {
	case hint == 0:
	case strings.Contains(name, "_atomic_"):
		b.WriteString(" th:TH_ATOMIC_" + atomicHint(hint, where))
	default:
		kind := "LOAD"
		if strings.Contains(name, "_store_") || name == "tensor_save" || name == "tensor_stop" {
			kind = "STORE"
		}
		names := [8]string{"", "NT", "HT", "LU", "NT_RT", "RT_NT", "NT_HT", "NT_WB"}
		if kind == "STORE" {
			names[3] = "WB"
		}
		if where == 3 {
			names[3] = "BYPASS"
		}
		if kind == "LOAD" && hint == 7 {
			b.WriteString(" th:0x7")
		} else {
			b.WriteString(" th:TH_" + kind + "_" + names[hint])
		}
	}
	b.WriteString([4]string{"", " scope:SCOPE_SE", " scope:SCOPE_DEV", " scope:SCOPE_SYS"}[where])
	if i.mod(nv, 1) != 0 {
		b.WriteString(" nv")
	}
}

// atomicHint names TH of an atomic: bit 0 returns the old value, bit 1 is not
// temporal, bit 2 cascades.
func atomicHint(hint, scope uint32) string {
	switch {
	case hint&4 != 0 && scope >= 2 && hint&2 != 0:
		return "CASCADE_NT"
	case hint&4 != 0 && scope >= 2:
		return "CASCADE_RT"
	case hint&4 != 0:
		return fmt.Sprintf("0x%x", hint)
	case hint == 3:
		return "NT_RETURN"
	case hint == 2:
		return "NT"
	}
	return "RETURN"
}

// byteSelected reports the conversions of one number of 8 bits, whose OP_SEL says
// in which byte it is.
func byteSelected(name string) bool {
	return strings.HasPrefix(name, "v_cvt_f32_fp8") || strings.HasPrefix(name, "v_cvt_f32_bf8") ||
		strings.HasPrefix(name, "v_cvt_sr_fp8") || strings.HasPrefix(name, "v_cvt_sr_bf8")
}
