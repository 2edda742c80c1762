package isa

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
)

// The table: lines of words, numbers hexadecimal unless said otherwise.
//
//	targets NAME...
//	format SIZE MODS IGNORED OPERANDS
//	encoding NAME
//	ROW MNEMONIC TARGETS FORMAT
//
// SIZE is in bytes. MODS are the bits that the opcode knows as modifiers,
// IGNORED those that mean nothing. OPERANDS are FIELD:CLASSES WIDTH FORM, or =
// and what always stands there; - is none. TARGETS has one bit a target, FORMAT
// is a decimal number, counted from zero.
//
//go:embed table.txt
var tableText string

// Target is a processor that the table knows: its column.
type Target uint8

// row describes an opcode with its variant on the targets of its mask.
type row struct {
	op       Op
	mnemonic string
	targets  uint32
	*format
}

type format struct {
	size          uint8
	mods, ignored uint64
	operands      []operand
}

// operand says where an operand of a row comes from.
type operand struct {
	field   int // of the layout; -1: fixed
	classes string
	width   uint8
	role    Role
	form    Form
	fixed   Operand
}

type table struct {
	targets   []string
	encodings []layout.Encoding
	names     []string            // by Op; the first is empty
	ops       map[string]Op       // the reverse
	rows      []map[uint32][]*row // by encoding and row number; one for each set of targets
}

// load reads the embedded table once. It fails only when the table breaks its
// own rules, which the tests of this package would show.
var load = sync.OnceValues(func() (*table, error) { return parse(tableText) })

func parse(text string) (*table, error) {
	t := &table{encodings: layout.GFX9(), ops: map[string]Op{}}
	t.rows = make([]map[uint32][]*row, len(t.encodings))
	var formats []*format
	var raw []string // operands of the formats, as written
	enc := -1
	type resolved struct{ enc, format int }
	byEncoding := map[resolved]*format{}
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		err := func() error {
			switch words[0] {
			case "targets":
				t.targets = words[1:]
				return nil
			case "format":
				f, err := parseFormat(words[1:])
				formats = append(formats, f)
				raw = append(raw, strings.Join(words[4:], " "))
				return err
			case "encoding":
				enc = slices.IndexFunc(t.encodings, func(e layout.Encoding) bool { return e.Name == words[1] })
				if enc < 0 {
					return errors.New("unknown encoding")
				}
				t.rows[enc] = map[uint32][]*row{}
				return nil
			}
			if enc < 0 || len(words) != 4 {
				return errors.New("not a row")
			}
			index, err1 := strconv.ParseUint(words[0], 16, 32)
			targets, err2 := strconv.ParseUint(words[2], 16, 32)
			number, err3 := strconv.Atoi(words[3])
			if err := errors.Join(err1, err2, err3); err != nil {
				return err
			}
			if number < 0 || number >= len(formats) {
				return fmt.Errorf("format %d of %d", number, len(formats))
			}
			key := resolved{enc, number}
			f := byEncoding[key]
			if f == nil {
				c := *formats[number]
				var err error
				if c.operands, err = parseOperands(&t.encodings[enc], raw[number]); err != nil {
					return err
				}
				f = &c
				byEncoding[key] = f
			}
			t.rows[enc][uint32(index)] = append(t.rows[enc][uint32(index)],
				&row{mnemonic: words[1], targets: uint32(targets), format: f})
			return nil
		}()
		if err != nil {
			return nil, fmt.Errorf("isa table: line %d: %w", n+1, err)
		}
	}
	t.number()
	return t, nil
}

// number gives every operation its Op, in the order of the names.
func (t *table) number() {
	for _, rows := range t.rows {
		for _, list := range rows {
			for _, r := range list {
				t.ops[base(r.mnemonic)] = 0
			}
		}
	}
	t.names = []string{""}
	for name := range t.ops {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	for i, name := range t.names {
		t.ops[name] = Op(i)
	}
	delete(t.ops, "")
	for _, rows := range t.rows {
		for _, list := range rows {
			for _, r := range list {
				r.op = t.ops[base(r.mnemonic)]
			}
		}
	}
}

// base drops what a mnemonic says of its encoding.
func base(mnemonic string) string {
	for _, suffix := range []string{"_e32", "_e64", "_sdwa", "_dpp"} {
		if name, ok := strings.CutSuffix(mnemonic, suffix); ok {
			return name
		}
	}
	return mnemonic
}

func parseFormat(words []string) (*format, error) {
	if len(words) < 4 {
		return nil, errors.New("a format has four parts")
	}
	size, err1 := strconv.ParseUint(words[0], 10, 8)
	mods, err2 := strconv.ParseUint(words[1], 16, 64)
	ignored, err3 := strconv.ParseUint(words[2], 16, 64)
	return &format{size: uint8(size), mods: mods, ignored: ignored}, errors.Join(err1, err2, err3)
}

func parseOperands(e *layout.Encoding, text string) ([]operand, error) {
	if text == "-" {
		return nil, nil
	}
	var list []operand
	for _, word := range strings.Split(text, ",") {
		if fixed, ok := strings.CutPrefix(word, "="); ok {
			o, known := map[string]Operand{
				"vcc": {Kind: SGPR, Value: VCC, Width: 2},
				"off": {Kind: Off},
			}[fixed]
			if !known {
				return nil, fmt.Errorf("unknown operand %q", fixed)
			}
			list = append(list, operand{field: -1, fixed: o})
			continue
		}
		name, rest, ok := strings.Cut(word, ":")
		field := e.Field(name)
		digits := strings.IndexAny(rest, "0123456789")
		if !ok || field < 0 || digits < 1 {
			return nil, fmt.Errorf("operand %q of %s", word, e.Name)
		}
		end := digits
		for end < len(rest) && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		width, err := strconv.ParseUint(rest[digits:end], 10, 8)
		if err != nil {
			return nil, err
		}
		o := operand{field: field, classes: rest[:digits], width: uint8(width), role: roleOf(name)}
		if end < len(rest) {
			o.form = Form(rest[end])
		}
		if o.classes == "i" {
			if form, ok := map[Form]Form{'d': FormDecimal, 'h': FormHWReg, 'w': FormWait}[o.form]; ok {
				o.form = form
			}
		}
		list = append(list, o)
	}
	if len(list) > MaxOperands {
		return nil, fmt.Errorf("%d operands: at most %d", len(list), MaxOperands)
	}
	return list, nil
}

func roleOf(field string) Role {
	switch field {
	case "vdst":
		return RoleDst
	case "sdst":
		return RoleSDst
	case "src0", "ssrc0":
		return RoleSrc0
	case "src1", "ssrc1":
		return RoleSrc1
	case "src2":
		return RoleSrc2
	case "addr", "vaddr":
		return RoleAddr
	case "data0", "vdata", "sdata":
		return RoleData0
	case "data1":
		return RoleData1
	case "sbase", "srsrc", "saddr":
		return RoleBase
	case "soffset", "sgpr", "offset":
		return RoleOffset
	}
	return RoleImm
}

// Ops returns the names of all operations of the table; the index is the Op.
func Ops() ([]string, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	return t.names, nil
}
