package lines

import (
	"cmp"
	"debug/dwarf"
	"errors"
	"io"
	"slices"
)

// Row says that the instructions from an address on, below that of the next row,
// come from a place. One without a line ends what is known.
type Row struct {
	PC    uint64
	Place Place
}

// Rows returns the whole line table in the order of addresses, without functions: what
// lists many instructions asks once. The error is that of damaged information.
func (t *Table) Rows() (rows []Row, err error) {
	defer survive(&err)
	r := t.data.Reader()
	for {
		unit, err := r.Next()
		if err != nil {
			return nil, err
		}
		if unit == nil {
			break
		}
		if unit.Tag == dwarf.TagCompileUnit {
			lr, err := t.data.LineReader(unit)
			if err != nil {
				return nil, err
			}
			if lr != nil {
				if rows, err = sequence(rows, lr); err != nil {
					return nil, err
				}
			}
		}
		r.SkipChildren()
	}
	order(rows)
	return rows, nil
}

func order(rows []Row) {
	slices.SortStableFunc(rows, func(a, b Row) int {
		// Where one sequence ends and another begins, the beginning counts.
		return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(min(a.Place.Line, 1), min(b.Place.Line, 1)))
	})
}

func sequence(rows []Row, lr *dwarf.LineReader) ([]Row, error) {
	var e dwarf.LineEntry
	for len(rows) < maxRows {
		err := lr.Next(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		row := Row{PC: e.Address}
		if !e.EndSequence && e.File != nil {
			row.Place = Place{File: e.File.Name, Line: e.Line, Column: e.Column}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// At returns the place of an address among rows; false where none is known.
func At(rows []Row, pc uint64) (Place, bool) {
	i, _ := slices.BinarySearchFunc(rows, pc+1, func(r Row, pc uint64) int { return cmp.Compare(r.PC, pc) })
	if i == 0 || rows[i-1].Place.Line <= 0 {
		return Place{}, false
	}
	return rows[i-1].Place, true
}
