package lines

import (
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// The rows say of every instruction what Find says, which is compared with
// llvm-symbolizer.
func TestRows(t *testing.T) {
	for _, flags := range [][]string{{"-gline-tables-only", "-O3"}, {"-g", "-O0"}, {"-g", "-O2", "-gdwarf-4"}} {
		_, obj := object(t, flags...)
		table, err := New(obj)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := table.Rows()
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, s := range obj.Symbols {
			if s.Type != codeobj.SymbolFunc {
				continue
			}
			for at := s.Value; at < s.Value+s.Size; at += 4 {
				places, err := table.Find(at)
				if err != nil {
					t.Fatal(err)
				}
				got, ok := At(rows, at)
				if ok != (len(places) > 0) {
					t.Errorf("%v: 0x%x: %v, Find says %v", flags, at, got, places)
				}
				if !ok || len(places) == 0 {
					continue
				}
				want := places[0]
				want.Function = ""
				if seen++; got != want {
					t.Errorf("%v: 0x%x: %v, Find says %v", flags, at, got, want)
				}
			}
		}
		if seen < 20 {
			t.Errorf("%v: %d instructions", flags, seen)
		}
		if _, ok := At(rows, 0); ok {
			t.Error("address 0 has a line")
		}
		if _, ok := At(rows, 1<<40); ok {
			t.Error("an address behind all code has a line")
		}
	}
}

// Where one function ends at the address at which another begins, the address belongs to
// the second, in whatever order the table has them.
func TestRowsThatMeet(t *testing.T) {
	end, begin := Row{PC: 16}, Row{PC: 16, Place: Place{File: "b", Line: 5}}
	for _, rows := range [][]Row{
		{{PC: 8, Place: Place{File: "a", Line: 1}}, end, begin, {PC: 24}},
		{begin, {PC: 24}, {PC: 8, Place: Place{File: "a", Line: 1}}, end},
	} {
		order(rows)
		for pc, want := range map[uint64]int{7: 0, 8: 1, 15: 1, 16: 5, 23: 5, 24: 0} {
			if p, ok := At(rows, pc); p.Line != want || ok != (want > 0) {
				t.Errorf("%d: %v", pc, p)
			}
		}
	}
}
