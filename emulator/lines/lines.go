// Package lines finds the source of an instruction by the DWARF of a code object,
// which compilers write when asked to: -g, or -gline-tables-only.
package lines

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// ErrNone says that a code object has no debug information.
var ErrNone = errors.New("the code object has no debug information: compile with -gline-tables-only")

// Bounds on what is read for one address.
const (
	maxDepth = 64
	maxRows  = 1 << 24 // of a line table
)

// Place is a line of source.
type Place struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column,omitempty"`
	// Function is what the line belongs to; empty when that is not recorded.
	Function string `json:"function,omitempty"`
}

// String returns file:line:column.
func (p Place) String() string {
	s := fmt.Sprintf("%s:%d", p.File, p.Line)
	if p.Column > 0 {
		s += fmt.Sprintf(":%d", p.Column)
	}
	return s
}

// Table is the debug information of a code object.
type Table struct {
	data    *dwarf.Data
	symbols []codeobj.Symbol
}

// New reads the debug information of a code object. It is, or wraps, ErrNone when
// there is none. Compressed sections count as none.
func New(obj *codeobj.Object) (t *Table, err error) {
	defer survive(&err)
	sections := map[string][]byte{}
	for _, s := range obj.Sections {
		const compressed = 1 << 11 // SHF_COMPRESSED
		if name, ok := strings.CutPrefix(s.Name, ".debug_"); ok && s.Flags&compressed == 0 {
			sections[name] = s.Data
		}
	}
	if len(sections["line"]) == 0 || len(sections["info"]) == 0 {
		return nil, ErrNone
	}
	data, err := dwarf.New(sections["abbrev"], nil, nil, sections["info"], sections["line"], nil, sections["ranges"], sections["str"])
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"addr", "line_str", "str_offsets", "rnglists"} {
		if err := data.AddSection(".debug_"+name, sections[name]); err != nil {
			return nil, err
		}
	}
	return &Table{data, obj.Symbols}, nil
}

// survive turns a panic into an error: debug/dwarf was not made for input that
// somebody has thought up.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("debug information: %v", p)
	}
}

// Find returns the source of the instruction at an address of the object: its own
// line first, then, where functions were put into each other, the line of each call
// outwards. There is none when the debug information does not cover the address.
func (t *Table) Find(pc uint64) (places []Place, err error) {
	defer survive(&err)
	r := t.data.Reader()
	unit, err := r.SeekPC(pc)
	if errors.Is(err, dwarf.ErrUnknownPC) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lr, err := t.data.LineReader(unit)
	if err != nil || lr == nil {
		return nil, err
	}
	here, ok, err := row(lr, pc)
	if err != nil || !ok {
		return nil, err
	}
	frames, err := t.frames(r, pc)
	if err != nil {
		return nil, err
	}
	places = []Place{here}
	for i := len(frames) - 1; i >= 0; i-- {
		f := frames[i]
		places[len(places)-1].Function = f.function
		if i == 0 {
			break
		}
		// The first file is number 0 in DWARF 5, and is none before.
		files := lr.Files()
		if f.line <= 0 || f.file < 0 || f.file >= len(files) || files[f.file] == nil {
			break
		}
		places = append(places, Place{File: files[f.file].Name, Line: f.line, Column: f.column})
	}
	// Where nothing was put into a function, line tables alone do not name it.
	if last := &places[len(places)-1]; last.Function == "" {
		last.Function = t.symbol(pc)
	}
	return places, nil
}

// symbol names the function of an address by the symbol table.
func (t *Table) symbol(pc uint64) string {
	for _, s := range t.symbols {
		if s.Type == codeobj.SymbolFunc && s.Defined() && s.Value <= pc && pc-s.Value < s.Size {
			return codeobj.SignatureOf(s.Name).Name
		}
	}
	return ""
}

// row finds the line of an address: that of the last row at or before it, within a
// sequence that covers it.
func row(lr *dwarf.LineReader, pc uint64) (Place, bool, error) {
	var e, last dwarf.LineEntry
	inside := false
	for range maxRows {
		err := lr.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Place{}, false, err
		}
		if inside && last.Address <= pc && pc < e.Address && last.File != nil {
			return Place{File: last.File.Name, Line: last.Line, Column: last.Column}, last.Line > 0, nil
		}
		inside, last = !e.EndSequence, e
	}
	return Place{}, false, nil
}

// frame is a function that contains an address, and where it was called when it was
// put into another.
type frame struct {
	function           string
	file, line, column int
}

// frames returns the functions around an address, outermost first. The reader stands
// behind the compilation unit.
func (t *Table) frames(r *dwarf.Reader, pc uint64) ([]frame, error) {
	var list []frame
	for range maxRows {
		e, err := r.Next()
		if err != nil {
			return nil, err
		}
		if e == nil || e.Tag == dwarf.TagCompileUnit || len(list) == maxDepth {
			break
		}
		if e.Tag == 0 {
			if len(list) > 0 {
				break // the end of what contains the address
			}
			continue
		}
		if e.Tag == dwarf.TagNamespace && len(list) == 0 {
			continue
		}
		function := e.Tag == dwarf.TagSubprogram || e.Tag == dwarf.TagInlinedSubroutine
		if function || e.Tag == dwarf.TagLexDwarfBlock {
			in, err := t.covers(e, pc)
			if err != nil {
				return nil, err
			}
			if in {
				if function {
					list = append(list, t.frame(e))
				}
				continue // into its children
			}
		}
		r.SkipChildren()
	}
	return list, nil
}

func (t *Table) covers(e *dwarf.Entry, pc uint64) (bool, error) {
	ranges, err := t.data.Ranges(e)
	if err != nil {
		return false, err
	}
	for _, r := range ranges {
		if r[0] <= pc && pc < r[1] {
			return true, nil
		}
	}
	return false, nil
}

func (t *Table) frame(e *dwarf.Entry) frame {
	number := func(a dwarf.Attr) int {
		v, _ := e.Val(a).(int64)
		return int(v)
	}
	return frame{function: t.name(e), file: number(dwarf.AttrCallFile), line: number(dwarf.AttrCallLine), column: number(dwarf.AttrCallColumn)}
}

// name returns the name of a function, which one that was put into another, or is
// declared elsewhere, refers to.
func (t *Table) name(e *dwarf.Entry) string {
	for range 4 {
		if s, ok := e.Val(dwarf.AttrLinkageName).(string); ok {
			return codeobj.SignatureOf(s).Name
		}
		if s, ok := e.Val(dwarf.AttrName).(string); ok {
			return s
		}
		off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			if off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset); !ok {
				return ""
			}
		}
		r := t.data.Reader()
		r.Seek(off)
		next, err := r.Next()
		if err != nil || next == nil {
			return ""
		}
		e = next
	}
	return ""
}
