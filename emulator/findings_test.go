package emulator

import (
	"errors"
	"strings"
	"testing"
)

// A launch that goes on behind what is wrong lists each pair of instructions once, with
// both places and the name of the buffer, and counts all.
func TestFindings(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O2", `
KERNEL wrong(u32 *a, u32 *b, u32 n) {
  __shared__ u32 t[256];
  t[TID] = TID;
  u32 v = t[(TID + 64) & 255];
  a[GID & 127] = v;
  v += a[(GID + 64) & 127];
  b[TID & 63] = v + BID;
  if (TID == 0) b[1] = a[200];
  if (n && TID == 1) a[1 << 20] = v;
}`)
	launch := func(list int, n uint32) error {
		pa, err := m.dev.Alloc(4 * 256)
		if err != nil {
			t.Fatal(err)
		}
		pb, _ := alloc(t, m, 4*64)
		if err := m.dev.Name(pa, "buffer a"); err != nil {
			t.Fatal(err)
		}
		_, err = m.Launch(t.Context(), "wrong", Dim3{2, 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(pb)), u32arg(n)},
			Options{Workers: 1, Check: CheckRace | CheckInit, Findings: list})
		return err
	}
	var one *Fault
	if err := launch(0, 0); !errors.As(err, &one) || errors.As(err, new(*Findings)) {
		t.Errorf("the first ends the launch: %v", err)
	}
	var all *Findings
	if err := launch(20, 0); !errors.As(err, &all) {
		t.Fatal(err)
	}
	places := map[[2]uint64]bool{}
	found := map[string]bool{}
	for _, f := range all.List {
		if places[[2]uint64{f.PC, f.Other}] || f.PC != f.Other && places[[2]uint64{f.Other, f.PC}] {
			t.Errorf("twice: %v", f)
		}
		places[[2]uint64{f.PC, f.Other}] = true
		for _, word := range []string{"at local address", "(buffer a + 800): nobody has written", "(allocation of 256 bytes + ", "race: nothing orders this store of 4 bytes at address"} {
			found[word] = found[word] || strings.Contains(f.Reason, word)
		}
		if strings.HasPrefix(f.Reason, "race") != (f.Other != 0) {
			t.Errorf("the other access is at 0x%x: %v", f.Other, f)
		}
	}
	if len(found) != 4 || found["at local address"] != true || len(all.List) != all.Kinds || all.Total <= int64(all.Kinds) {
		t.Errorf("%d kinds, %d accesses, %v\n%v", all.Kinds, all.Total, found, all.List)
	}
	for word, ok := range found {
		if !ok {
			t.Errorf("nothing with %q in\n%v", word, all.List)
		}
	}
	var few *Findings
	if err := launch(2, 0); !errors.As(err, &few) || len(few.List) != 2 || few.Kinds != all.Kinds || !strings.HasSuffix(err.Error(), " findings not listed") {
		t.Errorf("two of them: %v", err)
	}
	// What ends the launch all the same comes first.
	if err := launch(20, 1); !errors.As(err, &one) || !strings.Contains(one.Reason, "is allocated there") && !strings.Contains(one.Reason, "ends at") || !errors.As(err, &few) {
		t.Errorf("a store beyond: %v", err)
	}
}
