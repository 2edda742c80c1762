package emulator

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What does not run is on the page, with the reason: each mnemonic of the processors
// that there are devices of is that of an operation, or of a row there.
func TestMissingOperationsAreOnThePage(t *testing.T) {
	page, err := os.ReadFile("../docs/emulator.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n## What is missing\n")
	rest, _, found := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("the page has no such section any more")
	}
	var patterns []string
	for _, line := range strings.Split(rest, "\n") {
		if row, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " | "); ok && strings.HasPrefix(line, "| ") {
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
				patterns = append(patterns, m[1])
			}
		}
	}
	matches := func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { ok, err := path.Match(p, name); return err == nil && ok })
	}
	for name := range operationsThatRun(t) {
		if operations()[name] == nil && !matches(name) {
			t.Errorf("%s does not run, and the page does not say why", name)
		}
	}
	for _, p := range patterns { // and nothing is said to be missing that runs
		for name := range operations() {
			if ok, err := path.Match(p, name); err != nil || ok && p != "s_sendmsg" {
				t.Errorf("the page says that %s does not run: %s does (%v)", p, name, err)
			}
		}
	}
}
