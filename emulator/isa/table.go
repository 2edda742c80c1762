package isa

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa/internal/layout"
)

// The table: lines of words, numbers hexadecimal unless said otherwise.
//
//	targets NAME[,NAME...][/64]...
//	format SIZE MODS IGNORED OPERANDS
//	family NAME
//	encoding NAME
//	ROW MNEMONIC TARGETS FORMAT
//
// A column is of the processors that it names, which have the same instructions. One
// that ends in /64 is of waves of 64 lanes, where the one before is of the same
// processors in waves of 32. SIZE is in bytes. MODS are the bits that the
// opcode knows as modifiers, IGNORED those that mean nothing. OPERANDS are
// FIELD:CLASSES WIDTH FORM, or = and what always stands there, or ~ and what is
// not written; - is none. The classes are v for vector registers, l for the first
// 128 of them, t for their halves, a for accumulation registers, s for scalar ones,
// c for constants, i for a number. The width of what depends on the size of waves is two
// numbers, for 32 and 64 lanes. TARGETS has one bit a column, FORMAT is a decimal
// number, counted from zero.
//
//go:embed table.txt
var tableText string

// Target is a column of the table: processors with the same instructions, and a
// size of waves.
type Target uint8

// row describes an opcode with its variant on the targets of its mask.
type row struct {
	op       Op
	mnemonic string
	targets  uint64
	*format
}

type format struct {
	size          uint8
	mods, ignored layout.Code
	operands      []operand
	text          string // the operands, as written
}

// operand says where an operand of a row comes from.
type operand struct {
	field   int // of the layout; -1: fixed
	classes string
	widths  [2]uint8 // in waves of 32 lanes, and of 64
	role    Role
	form    Form
	fixed   Operand
}

// column is a target.
type column struct {
	processors []string
	wave64     bool
	family     *family
	traits     traits
}

// family is the part of the table for the processors of one layout.
type family struct {
	layout.Family
	rows []map[uint32][]*row // by encoding and row number; one for each set of targets
}

type table struct {
	columns  []column
	families []family
	names    []string      // by Op; the first is empty
	ops      map[string]Op // the reverse
}

// load reads the embedded table once. It fails only when the table breaks its
// own rules, which the tests of this package would show.
var load = sync.OnceValues(func() (*table, error) { return parse(tableText) })

// parser holds what the lines before have said.
type parser struct {
	*table
	formats  []*format
	family   *family
	encoding int
	resolved map[resolved]*format
}

type resolved struct {
	family           string
	encoding, format int
}

func parse(text string) (*table, error) {
	p := &parser{table: &table{ops: map[string]Op{}}, resolved: map[resolved]*format{}}
	for _, f := range layout.Families() {
		p.families = append(p.families, family{f, make([]map[uint32][]*row, len(f.Encodings))})
	}
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		if err := p.line(words); err != nil {
			return nil, fmt.Errorf("isa table: line %d: %w", n+1, err)
		}
	}
	p.number()
	return p.table, nil
}

func (p *parser) line(words []string) error {
	switch {
	case words[0] == "targets":
		for _, name := range words[1:] {
			list, wave, _ := strings.Cut(name, "/")
			processors := strings.Split(list, ",")
			at := layout.FamilyOf(processors[0])
			if at < 0 || wave != "" && wave != "64" {
				return fmt.Errorf("unknown target %q", name)
			}
			f := &p.families[at]
			p.columns = append(p.columns, column{processors, wave == "64" || f.Generation == 9, f, traitsOf(processors[0])})
		}
		return nil
	case words[0] == "format":
		f, err := parseFormat(words[1:])
		p.formats = append(p.formats, f)
		return err
	case words[0] == "family" && len(words) == 2:
		at := slices.IndexFunc(p.families, func(f family) bool { return f.Name == words[1] })
		if at < 0 {
			return errors.New("unknown family")
		}
		p.family, p.encoding = &p.families[at], -1
		return nil
	case words[0] == "encoding" && len(words) == 2 && p.family != nil:
		p.encoding = slices.IndexFunc(p.family.Encodings, func(e layout.Encoding) bool { return e.Name == words[1] })
		if p.encoding < 0 {
			return errors.New("unknown encoding")
		}
		p.family.rows[p.encoding] = map[uint32][]*row{}
		return nil
	}
	if p.family == nil || p.encoding < 0 || len(words) != 4 {
		return errors.New("not a row")
	}
	index, err1 := strconv.ParseUint(words[0], 16, 32)
	targets, err2 := strconv.ParseUint(words[2], 16, 64)
	number, err3 := strconv.Atoi(words[3])
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if number < 0 || number >= len(p.formats) {
		return fmt.Errorf("format %d of %d", number, len(p.formats))
	}
	key := resolved{p.family.Name, p.encoding, number}
	f := p.resolved[key]
	if f == nil {
		c := *p.formats[number]
		var err error
		if c.operands, err = parseOperands(&p.family.Encodings[p.encoding], c.text); err != nil {
			return err
		}
		f = &c
		p.resolved[key] = f
	}
	rows := p.family.rows[p.encoding]
	rows[uint32(index)] = append(rows[uint32(index)], &row{mnemonic: words[1], targets: targets, format: f})
	return nil
}

// all calls a function for every row.
func (t *table) all(do func(*row)) {
	for _, f := range t.families {
		for _, rows := range f.rows {
			for _, list := range rows {
				for _, r := range list {
					do(r)
				}
			}
		}
	}
}

// number gives every operation its Op, in the order of the names.
func (t *table) number() {
	t.all(func(r *row) { t.ops[base(r.mnemonic)] = 0 })
	t.names = []string{""}
	for name := range t.ops {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	for i, name := range t.names {
		t.ops[name] = Op(i)
	}
	delete(t.ops, "")
	t.all(func(r *row) { r.op = t.ops[base(r.mnemonic)] })
}

// base is the name of an operation: GFX9's, without what a mnemonic says of its
// encoding.
func base(mnemonic string) string {
	name := bare(mnemonic)
	if before, ok := renamed()[name]; ok {
		return before
	}
	return name
}

// bare drops what a mnemonic says of its encoding.
func bare(mnemonic string) string {
	for _, suffix := range []string{"_e32", "_e64", "_sdwa", "_e64_dpp", "_dpp"} {
		if name, ok := strings.CutSuffix(mnemonic, suffix); ok {
			return name
		}
	}
	if rest, ok := strings.CutPrefix(mnemonic, "v_dual_"); ok {
		return "v_" + rest
	}
	return mnemonic
}

func parseFormat(words []string) (*format, error) {
	if len(words) < 4 {
		return nil, errors.New("a format has four parts")
	}
	size, err1 := strconv.ParseUint(words[0], 10, 8)
	mods, err2 := parseCode(words[1])
	ignored, err3 := parseCode(words[2])
	return &format{size: uint8(size), mods: mods, ignored: ignored, text: words[3]}, errors.Join(err1, err2, err3)
}

// parseCode reads up to 128 bits.
func parseCode(text string) (layout.Code, error) {
	split := max(0, len(text)-16)
	lo, err := strconv.ParseUint(text[split:], 16, 64)
	if err != nil || split == 0 {
		return layout.Code{Lo: lo}, err
	}
	hi, err := strconv.ParseUint(text[:split], 16, 64)
	return layout.Code{Lo: lo, Hi: hi}, err
}

func parseOperands(e *layout.Encoding, text string) ([]operand, error) {
	if text == "-" {
		return nil, nil
	}
	var list []operand
	for _, word := range strings.Split(text, ",") {
		if strings.ContainsAny(word[:1], "=~") {
			o, known := map[string]Operand{
				"=vcc":  {Kind: SGPR, Value: VCC},
				"~vcc":  {Kind: SGPR, Value: VCC, Form: FormUnsaid},
				"~exec": {Kind: SGPR, Value: Exec, Form: FormUnsaid},
				"=off":  {Kind: Off},
				"=null": {Kind: SGPR, Value: Null},
			}[word]
			if !known {
				return nil, fmt.Errorf("unknown operand %q", word)
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
		for end < len(rest) && (rest[end] >= '0' && rest[end] <= '9' || rest[end] == '/') {
			end++
		}
		narrow, wide, two := strings.Cut(rest[digits:end], "/")
		if !two {
			wide = narrow
		}
		w32, err1 := strconv.ParseUint(narrow, 10, 8)
		w64, err2 := strconv.ParseUint(wide, 10, 8)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		o := operand{field: field, classes: rest[:digits], widths: [2]uint8{uint8(w32), uint8(w64)}, role: roleOf(name)}
		if end < len(rest) {
			o.form = Form(rest[end])
		}
		if name == "k64" {
			o.form = FormWide
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
	case "vdst", "vdstx", "vdsty":
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
	case "scale0":
		return RoleScale0
	case "scale1":
		return RoleScale1
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

// OpsOf returns the names of the operations that a processor of the table has, in
// waves of either size, in no order.
func OpsOf(processor string) ([]string, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for c, column := range t.columns {
		if !slices.Contains(column.processors, processor) {
			continue
		}
		for _, byNumber := range column.family.rows {
			for _, rows := range byNumber {
				for _, r := range rows {
					if r.targets>>c&1 != 0 {
						names[t.names[r.op]] = true
					}
				}
			}
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("isa table: it has no processor %q", processor)
	}
	return slices.Collect(maps.Keys(names)), nil
}

// Processors returns the names of all processors of the table, in its order, those
// that have the same instructions beside each other. Some are generic: gfx9-generic.
func Processors() ([]string, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	return t.processors(), nil
}

func (t *table) processors() []string {
	var names []string
	for _, c := range t.columns {
		if !slices.Contains(names, c.processors[0]) {
			names = append(names, c.processors...)
		}
	}
	return names
}

// Alike returns the names of the processors that have the same instructions as this
// one, itself among them, in the order of the table.
func Alike(processor string) ([]string, error) {
	t, err := load()
	if err != nil {
		return nil, err
	}
	for _, c := range t.columns {
		if slices.Contains(c.processors, processor) {
			return slices.Clone(c.processors), nil
		}
	}
	return nil, t.unknown(processor)
}

func (t *table) unknown(processor string) error {
	return fmt.Errorf("instructions of %s are not known: those of %s are", processor, strings.Join(t.processors(), ", "))
}
