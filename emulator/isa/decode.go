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
	table  *table
	target Target
	rows   [][]*row // by encoding, then by row number; nil where there is none
}

// ErrShort says that the code ends within an instruction.
var ErrShort = errors.New("the code ends within an instruction")

// NewDecoder returns a decoder for a processor, named as LLVM does (gfx942),
// without features.
func NewDecoder(processor string) (*Decoder, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	i := slices.Index(t.targets, processor)
	if i < 0 {
		return nil, fmt.Errorf("instructions of %s are not known: those of %s are", processor, strings.Join(t.targets, ", "))
	}
	d := &Decoder{table: t, target: Target(i), rows: make([][]*row, len(t.encodings))}
	for e, rows := range t.rows {
		d.rows[e] = make([]*row, t.encodings[e].Rows())
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
func (d *Decoder) Processor() string { return d.table.targets[d.target] }

// Decode decodes the instruction at the start of the code. The error says why
// the bytes are none, or is ErrShort.
func (d *Decoder) Decode(code []byte) (Inst, error) {
	if len(code) < 4 {
		return Inst{}, ErrShort
	}
	first := binary.LittleEndian.Uint32(code)
	e := layout.Find(d.table.encodings, first)
	if e == nil {
		return Inst{}, fmt.Errorf("0x%08x: of no encoding of %s", first, d.Processor())
	}
	word := uint64(first)
	if len(code) >= 8 {
		word |= uint64(binary.LittleEndian.Uint32(code[4:])) << 32
	}
	if len(code) < int(e.Size) {
		return Inst{}, ErrShort
	}
	enc := slices.IndexFunc(d.table.encodings, func(x layout.Encoding) bool { return x.Name == e.Name })
	r := d.rows[enc][e.RowOf(word)]
	if r == nil {
		r = d.fp8Row(Encoding(enc), e, word)
	}
	if r == nil {
		return Inst{}, fmt.Errorf("0x%08x: no %s instruction of %s", first, e.Name, d.Processor())
	}
	inst := Inst{Op: r.op, Enc: Encoding(enc), Size: r.size, N: uint8(len(r.operands)), Target: d.target, Word: word, row: r}
	known := uint64(e.Mask) | r.mods | r.ignored
	for _, p := range e.Index {
		if bits := uint64(1<<p.Width-1) << p.Lo; !p.AllOnes || word&bits == bits {
			known |= bits
		}
	}
	for i, o := range r.operands {
		if o.field < 0 {
			inst.Operands[i] = o.fixed
			continue
		}
		known |= e.Fields[o.field].Put(^uint32(0))
		var err error
		if inst.Operands[i], err = resolve(&e.Fields[o.field], o, word); err != nil {
			return Inst{}, fmt.Errorf("0x%08x: %s: operand %d: %w", first, r.mnemonic, i, err)
		}
		if inst.Operands[i].Kind == Literal {
			inst.Size = e.Size + 4
		}
	}
	if e.Size == 4 {
		known |= 0xffffffff << 32
	}
	if extra := word &^ known; extra != 0 {
		return Inst{}, fmt.Errorf("0x%08x: %s: bits 0x%x must be zero", first, r.mnemonic, extra)
	}
	if len(code) < int(inst.Size) {
		return Inst{}, ErrShort
	}
	if inst.Size == 4 {
		inst.Word &= 0xffffffff
	}
	if inst.Enc == MAIX && strings.HasSuffix(r.mnemonic, "_f8f6f4") {
		narrow(&inst)
	}
	if err := check(&inst); err != nil {
		return Inst{}, fmt.Errorf("0x%08x: %s: %w", first, r.mnemonic, err)
	}
	return inst, nil
}

// resolve makes an operand of the value of its field.
func resolve(f *layout.Field, o operand, word uint64) (Operand, error) {
	v := f.Get(word)
	out := Operand{Value: v, Width: o.width, Role: o.role, Form: o.form}
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
	}
	out.Value = v
	if vector {
		switch {
		case has('v'):
			out.Kind = VGPR
		case has('a'):
			out.Kind = AGPR
		default:
			return out, errors.New("a vector register where none is allowed")
		}
		if int(v)+int(o.width) > 256 {
			return out, fmt.Errorf("%d registers from %d on: there are 256", o.width, v)
		}
		return out, nil
	}
	if v < 128 {
		out.Kind = SGPR
		if !has('s') {
			return out, errors.New("a scalar register where none is allowed")
		}
		if (v >= FlatScratch && v < TTMP0 || v >= Exec) && o.width == 2 && v&1 != 0 {
			return out, fmt.Errorf("s%d is not aligned for 2 registers", v)
		}
		// The lowest bits of the first of several do not count.
		switch {
		case o.width == 2:
			out.Value &^= 1
		case o.width > 2:
			out.Value &^= 3
		}
		return out, scalarExists(out.Value, o.width)
	}
	switch {
	case !has('c'):
		return out, errors.New("a constant where none is allowed")
	case o.width > 2 && (v > 208 && v < ConstHalf || v > ConstInv2Pi):
		return out, fmt.Errorf("source %d is not as wide as %d registers", v, o.width)
	case o.width > 1 && v == ConstLDSDirect:
		return out, errors.New("what is read from local memory has 32 bits")
	case v <= 208, v >= ConstSharedBase && v <= ConstInv2Pi, v >= ConstVCCZ && v <= ConstLDSDirect:
		out.Kind = Const
		return out, nil
	case v == layout.SrcLiteral && f.Lo < 32:
		out.Kind, out.Value = Literal, uint32(word>>32)
		return out, nil
	}
	return out, fmt.Errorf("source %d means nothing", v)
}

func scalarExists(v uint32, width uint8) error {
	end := v + uint32(width)
	switch {
	case end <= FlatScratch, v < FlatScratch && end <= XnackMask, v >= FlatScratch && end <= TTMP0 && width <= 2, v >= TTMP0 && end <= M0, v == M0 && width == 1, v >= Exec && end <= 128:
		return nil
	}
	return fmt.Errorf("%d scalar registers from %d on do not exist", width, v)
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
	case i.Enc == DS && (strings.HasPrefix(i.row.mnemonic, "ds_gws_") || i.row.mnemonic == "ds_ordered_count") && !i.GDS():
		return errors.New("it is of the global data share, and does not say so")
	case i.IsSDWA():
		dst, unused, src0, src1 := i.SDWA()
		if i.Enc == SDWAC {
			dst, unused = 0, 0
		}
		if i.Enc == SDWA1 {
			src1 = 0
		}
		if dst > SelDword || src0 > SelDword || src1 > SelDword || unused > 2 {
			return errors.New("a part of a register that does not exist")
		}
	}
	return nil
}
