package smoke

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

const addLaunch = `schema: 1
launches:
  - grid: 1
    block: 64
    args: [{count: 64, expect: in + 5}, {name: in, count: 64, range: {}}, 5]
`

// Examples that say how run on the GPUs that the emulator knows, and what they
// compute counts.
func TestEmulated(t *testing.T) {
	t.Parallel()
	dir := examples(t, "fault", addSource, addExpect, "fine", addSource, addExpect, "mute", addSource, addExpect, "other", addSource, addExpect, "wrong", addSource, addExpect)
	for name, launch := range map[string]string{
		"fine":  addLaunch,
		"fault": strings.Replace(addLaunch, "{count: 64, expect: in + 5}", "{count: 9}", 1),
		"other": strings.Replace(addLaunch, ", 5]", "]", 1),
		"wrong": strings.Replace(addLaunch, "in + 5", "in + 6", 1),
	} {
		put(t, filepath.Join(dir, name, name+launchExt), launch)
	}
	report, err := Run(t.Context(), Options{Bundle: miniBundle(t), GPUs: gpus(t, "gfx90a:xnack+", "gfx1250", "gfx9-4-generic"), Examples: dir, Flags: noHeaders, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if ran, of := report.Emulated(); ran != 2 || of != 8 {
		t.Errorf("%d of %d ran", ran, of)
	}
	for _, row := range report.Rows {
		finding := map[string]string{
			"fault": "emulator: kernel _Z3addPiPKii: at 0x",
			"other": "other.launch.yaml:5:11: add(int*, int const*, int) has 3 arguments, and 2 are given",
			"wrong": "argument 0: 64 of 64 elements are wrong: element 0 is 5, expected 6",
		}[row.Example]
		state := RanWrong
		switch {
		case row.Example == "mute":
			state = ""
		case row.GPU == "gfx1250":
			state, finding = RanUnknown, ""
		case row.Example == "fine":
			state = Ran
		}
		if row.Emulator != state || !strings.Contains(row.Finding, finding) || row.OK != (finding == "") {
			t.Errorf("%s for %s: %q, %q", row.Example, row.GPU, row.Emulator, row.Finding)
		}
	}
	var b bytes.Buffer
	if err := report.Table(&b, 120); err != nil || !strings.Contains(b.String(), "\nran on the emulator: 2 of 8\n") || !strings.Contains(b.String(), "EMULATOR") {
		t.Errorf("%v\n%s", err, b.String())
	}
	put(t, filepath.Join(dir, "mute", "mute"+launchExt), "schema: 1\nlaunch: []\n")
	if _, err := Run(t.Context(), Options{Bundle: miniBundle(t), GPUs: gpus(t, "gfx942"), Examples: dir}); err == nil || !strings.Contains(err.Error(), `mute.launch.yaml:2:1: unknown key "launch"`) {
		t.Errorf("a broken launch file: %v", err)
	}
}
