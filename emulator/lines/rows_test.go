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
