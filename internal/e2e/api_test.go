//go:build e2e && linux

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stonemason-hip/stonemason/remote/api/importer"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// descriptions makes the descriptions anew from the headers in the bundle: they
// are the same byte for byte.
func (s *stubs) descriptions(t *testing.T) {
	dir := filepath.Join(s.project, "remote", "api")
	clang := importer.Clang{Path: llvmtest.Tool(t, "clang"), Includes: []string{filepath.Join(s.linux, "include")}}
	for _, l := range s.libraries {
		f, err := os.Open(filepath.Join(dir, "testdata", "symbols", l.Name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := importer.ReadSymbols(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		got, err := clang.Again(t.Context(), os.DirFS(dir), l.Name, symbols)
		if err != nil {
			t.Error(err)
			continue
		}
		if want, err := os.ReadFile(filepath.Join(dir, l.Name+".yaml")); err != nil || !bytes.Equal(got, want) {
			t.Errorf("the headers in the bundle give another description of %s: %v", l.Name, err)
		}
	}
}
