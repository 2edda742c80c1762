package launchfile

import (
	"fmt"
	"strings"
	"testing"
)

// Sizes that no launch can have, and numbers in the place of buffers, are found before
// anything runs.
func TestSizes(t *testing.T) {
	d := load(t)
	for launch, want := range map[string]string{
		"{kernel: saxpy, grid: 1, block: 1025, args: [1, 0, 0, 0]}":                          "l.yaml:3:37: launches[0].block: 1025 work-items in a work-group: the kernel allows 1024",
		"{kernel: saxpy, grid: 1, block: [65536, 65536, 65536], args: [1, 0, 0, 0]}":         "l.yaml:3:37: launches[0].block: 4294967296 work-items in a work-group: the kernel allows 1024",
		"{kernel: saxpy, grid: 4294967295, block: 2, args: [1, 0, 0, 0]}":                    "l.yaml:3:27: launches[0].grid: 4294967295 work-groups of 2 are more work-items than a dimension may have: 4294967295",
		"{kernel: saxpy, grid: [1, 4194304], block: [1, 1024], args: [1, 0, 0, 0]}":          "l.yaml:3:27: launches[0].grid: 4194304 work-groups of 1024 are more",
		"{kernel: saxpy, grid: [4194304, 2097152, 2097152], block: 1, args: [1, 0, 0, 0]}":   "l.yaml:3:27: launches[0].grid: more work-groups than can be counted",
		"{kernel: saxpy, grid: [4194304, 2097152, 1048576], block: 1, args: [1, 0, 0, 0]}":   "l.yaml:3:27: launches[0].grid: more work-groups than can be counted",
		"{kernel: saxpy, grid: 1, block: 64, args: [1, 0, 7, 0]}":                            "l.yaml:3:54: launches[0].args[2]: found 7 for a pointer (float*): expected a buffer, {count: …}, or 0, the null pointer",
		"{kernel: saxpy, grid: 1, block: 64, args: [1, 0, {value: 0x10}, 0]}":                "l.yaml:3:62: launches[0].args[2].value: found 0x10 for a pointer (float*)",
		"{kernel: saxpy, grid: 1, block: 64, args: [1, 0, {value: 7, type: u64}, 0]}":        "",
		"{kernel: saxpy, grid: [4194303], block: [1024], args: [1, {value: 0x0}, 0, 0]}":     "",
		"{kernel: saxpy, grid: [4194304, 2097152, 1048575], block: 1, args: [1, 0, 0, 0x0]}": "",
	} {
		f, err := Parse("l.yaml", text(launch))
		if err != nil {
			t.Fatalf("%s: %v", launch, err)
		}
		if _, err = f.Bind(d.mod.Object()); err == nil && want == "" {
			continue
		}
		if err == nil || want == "" || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", launch, err, want)
		}
	}
}

// The first wrong elements are listed, all of them are counted, and a fault speaks of
// a buffer by its name.
func TestMismatches(t *testing.T) {
	d := load(t)
	const head = "{grid: 4, block: 64, kernel: saxpy, args: "
	_, err := d.run(t, "l.yaml", head+"[2, {name: x, count: 64, range: {}}, {count: 64, name: y, expect: 'when(i %% 2 == 0, 2*x, 2*x + 1)'}, 64]}")
	if err == nil {
		t.Error("%% is no operator")
	}
	r, err := d.run(t, "l.yaml", head+"[2, {name: x, count: 64, range: {}}, {count: 64, name: y, expect: 'when(i % 2 == 0, 2*x, 2*x + 1)'}, 64]}")
	if err != nil {
		t.Fatal(err)
	}
	b := r.Launches[0].Buffers[1]
	if b.Wrong != 32 || len(b.Bad) != Mismatches {
		t.Fatalf("%+v", b)
	}
	for n, w := range b.Bad {
		i := 2*n + 1
		if w.Element != i || w.Got != fmt.Sprint(2*i) || w.Expected != fmt.Sprint(2*i+1) || w.Abs != 1 || w.ULP <= 0 {
			t.Errorf("%d: %+v", n, w)
		}
	}
	r, err = d.run(t, "l.yaml", head+"[2, {name: x, count: 64}, {name: y, count: 65}, 256]}")
	if err != nil || r.OK || !strings.Contains(r.Launches[0].Error, "load of 4 bytes at 0x7f") || !strings.Contains(r.Launches[0].Error, ": nothing is allocated there, directly behind x (256 bytes) (") {
		t.Errorf("%v, %+v", err, r)
	}
}
