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
	known := 0
	var strange []string
	for _, name := range Supported() {
		if slices.Contains(names, name) {
			known++
		} else {
			strange = append(strange, name)
		}
	}
	slices.Sort(strange)
	t.Logf("%d of %d operations are supported", known, len(names)-1)
	if len(strange) > 0 {
		t.Errorf("not in the tables: %s", strings.Join(strange, " "))
	}
	var missing []string
	for _, name := range names {
		if name != "" && operations()[name] == nil {
			missing = append(missing, name)
		}
	}
	t.Logf("missing: %s", strings.Join(missing, " "))
}
