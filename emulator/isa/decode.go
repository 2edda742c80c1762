package isa

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
)

// Decoder decodes the instructions of one target. It is safe for concurrent use.
type Decoder struct {
	name    string
	target  Target
	column  column
	formats []Encoding // by place in the family's layout
	rows    [][]*row   // by encoding, then by row number; nil where there is none
}

// ErrShort says that the code ends within an instruction.
var ErrShort = errors.New("the code ends within an instruction")

// NewDecoder returns a decoder for a processor, named as LLVM does (gfx942),
// without features. Where waves can have 32 or 64 lanes, it decodes for 32.
func NewDecoder(processor string) (*Decoder, error) { return newDecoder(processor, false) }

// NewWave64Decoder is NewDecoder for waves of 64 lanes.
func NewWave64Decoder(processor string) (*Decoder, error) { return newDecoder(processor, true) }

func newDecoder(processor string, wave64 bool) (*Decoder, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(t.columns, func(c column) bool {
		return slices.Contains(c.processors, processor) && (c.wave64 == wave64 || c.family.Generation == 9)
	})
	if i < 0 {
		return nil, t.unknown(processor)
	}
	f := t.columns[i].family
	d := &Decoder{name: processor, target: Target(i), column: t.columns[i], rows: make([][]*row, len(f.Encodings))}
	for e, rows := range f.rows {
		enc, ok := encodings()[f.Encodings[e].Name]
		if !ok {
			return nil, fmt.Errorf("isa: no encoding is called %s", f.Encodings[e].Name)
		}
		d.formats = append(d.formats, enc)
		d.rows[e] = make([]*row, f.Encodings[e].Rows())
		for index, list := range rows {
			for _, r := range list {
				if r.targets>>i&1 != 0 && int(index) < len(d.rows[e]) {
					d.rows[e][index] = r
				}
			}
		}
	}
	return d, nil
}

// Processor returns the name that the decoder was made for.
func (d *Decoder) Processor() string { return d.name }

// Generation returns the number of the processor's generation: 9 to 12.
func (d *Decoder) Generation() int { return d.column.family.Generation }

// WaveSize returns how many lanes a wave has: 32 or 64.
func (d *Decoder) WaveSize() int {
	if d.column.wave64 {
		return 64
	}
	return 32
}

// Decode decodes the instruction at the start of the code. The error says why
// the bytes are none, or is ErrShort.
func (d *Decoder) Decode(code []byte) (Inst, error) {
	if len(code) < 4 {
		return Inst{}, ErrShort
	}
	var bytes [16]byte
	copy(bytes[:], code)
	c := layout.Code{Lo: binary.LittleEndian.Uint64(bytes[:]), Hi: binary.LittleEndian.Uint64(bytes[8:])}
	first := uint32(c.Lo)
	at := layout.Find(d.column.family.Encodings, c)
	if at < 0 {
		return Inst{}, fmt.Errorf("0x%08x: of no encoding of %s", first, d.Processor())
	}
	if len(code) < int(d.column.family.Encodings[at].Size) {
		return Inst{}, ErrShort
	}
	inst, err := d.decode(at, c)
	if list := d.column.family.Encodings; err != nil && list[at].Behind != nil {
		at += 1 + layout.Find(list[at+1:], c) // the first half may be an instruction by itself
		inst, err = d.decode(at, c)
	}
	if err == nil && (inst.Enc == VOPD || inst.Enc == VOPD3) {
		var second Inst
		if second, err = d.decode(at+1, c); err == nil {
			inst.Size = max(inst.Size, second.Size)
			inst.Dual = &second
			number := func(o Operand) bool { return o.Kind == Imm }
			always := slices.ContainsFunc(inst.Args(), number) && slices.ContainsFunc(second.Args(), number)
			for k := range second.Args() {
				if o := &second.Operands[k]; always && o.Kind == Literal {
					o.Form = FormImm // both have it anyway: it is written as a constant
				}
			}
		}
	}
	if err != nil {
		return Inst{}, fmt.Errorf("0x%08x: %w", first, err)
	}
	if len(code) < int(inst.Size) {
		return Inst{}, ErrShort
	}
	switch {
	case inst.Size == 4:
		inst.Word, inst.Tail = inst.Word&0xffffffff, 0
	case inst.Size == 8:
		inst.Tail = 0
	case inst.Size == 12:
		inst.Tail &= 0xffffffff
	}
	return inst, nil
}

// decode decodes an instruction, or one half of it, of a known encoding.
func (d *Decoder) decode(at int, c layout.Code) (Inst, error) {
	e := &d.column.family.Encodings[at]
	r := d.rows[at][e.RowOf(c)]
	if r == nil {
		return Inst{}, fmt.Errorf("no %s instruction of %s", e.Name, d.Processor())
	}
	inst := Inst{Op: r.op, Enc: d.formats[at], Size: r.size, N: uint8(len(r.operands)), Target: d.target, traits: d.column.traits,
		Word: c.Lo, Tail: c.Hi, row: r, family: d.column.family}
	known := e.Fixed(c).Or(r.mods).Or(r.ignored)
	for i, o := range r.operands {
		if o.field < 0 {
			inst.Operands[i] = d.fixed(o)
			continue
		}
		f := &e.Fields[o.field]
		known = known.Or(f.Put(^uint32(0)))
		var err error
		if inst.Operands[i], err = d.resolve(&inst, e, f, o, c); err != nil {
			return Inst{}, fmt.Errorf("%s: operand %d: %w", r.mnemonic, i, err)
		}
		switch inst.Operands[i].Kind {
		case Literal:
			inst.Size = max(inst.Size, e.Size+4)
		case Literal64:
			inst.Size = max(inst.Size, e.Size+8)
		}
	}
	switch e.Size {
	case 4:
		known = known.Or(layout.Code{Lo: 0xffffffff << 32, Hi: ^uint64(0)})
	case 8:
		known = known.Or(layout.Code{Hi: ^uint64(0)})
	case 12:
		known = known.Or(layout.Code{Hi: 0xffffffff << 32})
	}
	if extra := c.Without(known); extra != (layout.Code{}) {
		return Inst{}, fmt.Errorf("%s: bits 0x%x%016x must be zero", r.mnemonic, extra.Hi, extra.Lo)
	}
	if inst.gfx1250() && strings.HasSuffix(r.mnemonic, "_f8f6f4") {
		widths := [...]uint8{16, 16, 12, 12, 8} // fp8, bf8, fp6, bf6, fp4
		if a, b := inst.tileFormats(); int(max(a, b)) < len(widths) {
			inst.Operands[1].Width, inst.Operands[2].Width = widths[a], widths[b]
		}
	}
	if inst.Enc == MAIScale || inst.Enc == MAIX && strings.HasSuffix(r.mnemonic, "_f8f6f4") {
		narrow(&inst)
	}
	if err := check(&inst); err != nil {
		return Inst{}, fmt.Errorf("%s: %w", r.mnemonic, err)
	}
	return inst, nil
}

// fixed makes an operand that no field says: a mask of lanes is as wide as the
// wave.
func (d *Decoder) fixed(o operand) Operand {
	out := o.fixed
	if out.Kind == SGPR && out.Value != Null {
		out.Width = uint8(d.WaveSize() / 32)
	}
	return out
}

// resolve makes an operand of the value of its field.
func (d *Decoder) resolve(i *Inst, e *layout.Encoding, f *layout.Field, o operand, c layout.Code) (Operand, error) {
	v := f.Get(c)
	width := o.widths[0]
	if d.column.wave64 {
		width = o.widths[1]
	}
	out := Operand{Value: v, Width: width, Role: o.role, Form: o.form}
	if o.classes == "i" {
		out.Kind = Imm
		return out, nil
	}
	has := func(class byte) bool { return strings.IndexByte(o.classes, class) >= 0 }
	vector := false
	switch f.Kind {
	case layout.VGPR:
		vector = !has('s')
	case layout.SDWA:
		vector = has('v')
	case layout.Source:
		vector = v >= 256
		v &= 255
	case layout.Pair:
		v *= 2
	case layout.Quad:
		v *= 4
	case layout.DstY:
		vector = true
		v = v*2 | ^c.Bits(56, 1)&1
	}
	out.Value = v
	if vector {
		switch {
		case has('v'):
			out.Kind = VGPR
		case has('l'):
			out.Kind = VGPR
			if v > 127 {
				return out, fmt.Errorf("v%d where one of the first 128 must be", v)
			}
		case has('t'):
			out.Kind = VGPR
			i.half(&out)
		case has('a'):
			out.Kind = AGPR
		default:
			return out, errors.New("a vector register where none is allowed")
		}
		if int(v)+int(width) > 256 {
			return out, fmt.Errorf("%d registers from %d on: there are 256", width, v)
		}
		return out, nil
	}
	if v < 128 {
		out.Kind = SGPR
		if !has('s') {
			return out, errors.New("a scalar register where none is allowed")
		}
		return out, d.scalar(&out)
	}
	switch {
	case !has('c'):
		return out, errors.New("a constant where none is allowed")
	case v == layout.SrcLiteral64 && d.column.family.Literal64:
		if e.Size != 4 || width != 2 {
			return out, errors.New("a literal of 64 bits where none is allowed")
		}
		out.Kind, out.Value = Literal64, c.Bits(32, 32)
		return out, nil
	case width > 2 && (v > 208 && v < ConstHalf || v > ConstInv2Pi):
		return out, fmt.Errorf("source %d is not as wide as %d registers", v, width)
	case width > 1 && v == ConstLDSDirect:
		return out, errors.New("what is read from local memory has 32 bits")
	case i.gfx1250() && (v == ConstScratchBaseLo || v == ConstScratchBaseHi && width < 2):
		out.Kind = Const
		return out, nil
	case v <= 208, v >= ConstSharedBase && v <= ConstInv2Pi, v >= ConstVCCZ && v <= ConstLDSDirect:
		out.Kind = Const
		return out, nil
	case v == layout.SrcLiteral && e.HasLiteral():
		out.Kind, out.Value = Literal, c.Bits(e.Size*8, 32)
		return out, nil
	}
	return out, fmt.Errorf("source %d means nothing", v)
}

// half takes a half of a register: the number's highest bit says which in the
// short formats, OP_SEL in the others.
func (i *Inst) half(o *Operand) {
	upper := o.Value>>7 != 0
	if i.wide() {
		bit := map[Role]uint{RoleSrc0: 11, RoleSrc1: 12, RoleSrc2: 13, RoleDst: 14}[o.Role]
		upper = i.bits(bit, 1) != 0
	} else {
		o.Value &= 127
	}
	o.Half = Lower
	if upper {
		o.Half = Upper
	}
}

// scalar checks a scalar register, and drops the lowest bits of the first of
// several: they do not count.
func (d *Decoder) scalar(o *Operand) error {
	v, gen := o.Value, d.column.family.Generation
	if gen > 9 && v == d.column.family.Null {
		o.Value = Null
		return nil
	}
	if gen > 10 && v == 125 {
		v, o.Value = M0, M0
	}
	special := uint32(FlatScratch)
	if gen > 9 {
		special = VCC
	}
	if (v >= special && v < TTMP0 || v >= Exec) && o.Width == 2 && v&1 != 0 {
		return fmt.Errorf("s%d is not aligned for 2 registers", v)
	}
	switch {
	case o.Width == 2:
		v &^= 1
	case o.Width > 2:
		v &^= 3
	}
	o.Value = v
	end := v + uint32(o.Width)
	switch {
	case end <= special, gen == 9 && v < FlatScratch && end <= XnackMask, v >= special && end <= TTMP0 && o.Width <= 2,
		v >= TTMP0 && end <= M0, v == M0 && o.Width == 1, v >= Exec && end <= 128:
		return nil
	}
	return fmt.Errorf("%d scalar registers from %d on do not exist", o.Width, v)
}

// narrow gives the sources of a matrix instruction of mixed formats the width
// that their formats need: CBSZ and BLGP name those of A and B.
func narrow(i *Inst) {
	widths := [8]uint8{8, 8, 6, 6, 4, 8, 8, 8} // fp8, bf8, fp6, bf6, fp4, and none
	cbsz, _, blgp := i.Matrix()
	i.Operands[1].Width, i.Operands[2].Width = widths[cbsz&7], widths[blgp&7]
}

// check refuses values of modifiers that mean nothing.
func check(i *Inst) error {
	switch {
	case i.Enc == SOP1 && strings.Contains(i.row.mnemonic, "_barrier") && slices.ContainsFunc(i.Args(), func(o Operand) bool { return o.Kind == Literal }):
		return errors.New("a barrier's number is no literal")
	case i.Generation() == 12:
		return check12(i)
	case i.Enc == DS && (strings.HasPrefix(i.row.mnemonic, "ds_gws_") || strings.HasSuffix(i.row.mnemonic, "_gs_reg_rtn") || i.row.mnemonic == "ds_ordered_count") && !i.GDS():
		return errors.New("it is of the global data share, and does not say so")
	case i.IsSDWA():
		dst, unused, src0, src1 := i.SDWA()
		if i.Enc == SDWAC {
			dst, unused = 0, 0
		}
		if i.Enc == SDWA1 {
			src1 = 0
		}
		if i.sourceAlone() && dst != SelDword {
			return errors.New("a part of the result is selected where none can be")
		}
		if dst > SelDword || src0 > SelDword || src1 > SelDword || unused > 2 {
			return errors.New("a part of a register that does not exist")
		}
	}
	return nil
}

// check12 refuses what only gfx12 has rules for.
func check12(i *Inst) error {
	name := i.row.mnemonic
	switch {
	case i.Enc == SMEM && (strings.Contains(name, "_prefetch_") || strings.HasPrefix(name, "s_atc_probe")) && i.bits(6, 7) > 31:
		return errors.New("a length of more than 31")
	case i.Enc == SMEM && (strings.HasPrefix(name, "s_buffer_") || name == "s_atc_probe_buffer") && i.Offset() < 0:
		return errors.New("a negative offset into a buffer")
	case (i.Enc == WMMAScale || i.loadsScales()) && i.bits(50, 9) != 1<<8:
		return errors.New("a third source for the scales")
	case i.loadsScales(), strings.HasSuffix(name, "_f8f6f4"):
	case i.Enc == WMMAScale && (i.bits(123, 2) != 3 || i.bits(78, 1) != 1), i.tile() && i.Enc != WMMAScale && i.bits(59, 2) != 3:
		return errors.New("OP_SEL_HI must be set")
	case i.tile():
	case i.packed() && (strings.Contains(name, "mma") || strings.HasPrefix(name, "v_dot4_f32_")) && (i.bits(59, 2) != 3 || i.bits(14, 1) != 1):
		return errors.New("OP_SEL_HI must be set")
	}
	return nil
}
