package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// The same headers give the same bytes again, others others, and what goes with
// them has to be there.
func TestAgain(t *testing.T) {
	want, err := os.ReadFile("testdata/tiny.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ header, notes, want string }{
		{header, notes, ""},
		{strings.Replace(header, "size_t n, enum", "int n, enum", 1), notes, "another description"},
		{strings.Replace(header, "tiny_close(tiny_t", "tiny_clos(tiny_t", 1), notes, "another description"},
		{header, strings.Replace(notes, "library: tiny", "library: huge", 1), "annotations/tiny.yaml is about huge"},
		{header, strings.Replace(notes, "rules:", "rule:", 1), `unknown key "rule"`},
		{strings.Replace(header, "stddef.h", "nothing.h", 1), notes, "'nothing.h' file not found"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "tiny.h"), []byte(c.header), 0o644); err != nil {
			t.Fatal(err)
		}
		clang := Clang{Path: llvmtest.Tool(t, "clang"), Includes: []string{dir}}
		folder := fstest.MapFS{"tiny.yaml": {Data: want}, "annotations/tiny.yaml": {Data: []byte(c.notes)}}
		got, err := clang.Again(t.Context(), folder, "tiny", nil)
		switch {
		case c.want == "" && (err != nil || string(got) != string(want)):
			t.Errorf("the same headers: %v\n%s", err, got)
		case c.want == "another description" && (err != nil || string(got) == string(want)):
			t.Errorf("other headers: %v\n%s", err, got)
		case c.want != "" && c.want != "another description" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%v\nwant %q", err, c.want)
		}
	}
	if _, err := (Clang{}).Again(t.Context(), fstest.MapFS{}, "tiny", nil); err == nil {
		t.Error("a description that is not there is made again")
	}
}
