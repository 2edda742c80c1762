package emulator

import (
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// Every operation has a mnemonic of the tables: a misspelt one would never run.
func TestOperationsAreOfTheTables(t *testing.T) {
	names, err := isa.Ops()
	if err != nil {
		t.Fatal(err)
	}
	var strange []string
	for _, name := range Supported() {
		if !slices.Contains(names, name) {
			strange = append(strange, name)
		}
	}
	slices.Sort(strange)
	t.Logf("%d operations are supported", len(Supported()))
	if len(strange) > 0 {
		t.Errorf("not in the tables: %s", strings.Join(strange, " "))
	}
	gfx9 := map[string]bool{}
	processors, err := Processors()
	if err != nil {
		t.Fatal(err)
	}
	for _, processor := range processors {
		list, err := isa.OpsOf(processor)
		if err != nil {
			t.Fatal(err)
		}
		same, err := isa.Alike(processor)
		if err != nil {
			t.Fatal(err)
		}
		if same[0] != processor {
			continue
		}
		run := 0
		for _, name := range list {
			if operations()[name] != nil {
				run++
			}
			if !strings.HasPrefix(processor, "gfx1") {
				gfx9[name] = true
			}
		}
		t.Logf("%s: %d of %d", strings.Join(same, ", "), run, len(list))
		if run*10 < len(list)*9 {
			t.Errorf("%s: only %d of %d operations run", processor, run, len(list))
		}
	}
	all := len(gfx9)
	for name := range gfx9 {
		if operations()[name] == nil {
			delete(gfx9, name)
		}
	}
	t.Logf("GFX9: %d of %d", len(gfx9), all)
	var missing []string
	for name := range operationsThatRun(t) {
		if operations()[name] == nil {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	t.Logf("missing: %s", strings.Join(missing, " "))
}

// operationsThatRun are those of all processors that there are devices of, whether they
// are supported or not.
func operationsThatRun(t *testing.T) map[string]bool {
	t.Helper()
	processors, err := Processors()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, processor := range processors {
		list, err := isa.OpsOf(processor)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			names[name] = true
		}
	}
	return names
}
