//go:build e2e && linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/bundle"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// TestDarwinBundle makes a bundle for Apple Silicon on this machine, without
// the LLVM that takes hours: cross-built, fixed up, audited, and audited again
// when it has been moved.
func TestDarwinBundle(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build", "-channel=debian", "-host=darwin-arm64", "-with=zstd", "-provider=amd-llvm=external"))
	dist := filepath.Join(project, "dist", "darwin-arm64")
	m, err := bundle.Load(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range m.Components {
		if c.Name == "macos-sdk" || c.Name == "llvm-tblgen" {
			t.Errorf("%s, which only the build needs, is in the bundle", c.Name)
		}
	}
	// In other folders, at another time: the same bytes.
	for _, name := range []string{"hipcc", "zstd"} {
		out := tool(t, project, os.Environ(), therock, "repro", name, "-channel=debian", "-host=darwin-arm64")
		if !strings.Contains(out, name+"@darwin-arm64") || !strings.Contains(out, "the same twice") {
			t.Error(out)
		}
	}
	for _, name := range []string{"bin/hipcc", "bin/hipconfig", "lib/libzstd.1.5.7.dylib"} {
		f, err := macho.Open(filepath.Join(dist, name))
		if err != nil {
			t.Error(err)
			continue
		}
		problems, err := f.Verify()
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", name, problems, err)
		}
		for _, i := range f.Images {
			build, ok := i.Build()
			if i.CPU != macho.CPUARM64 || !ok || build.MinOS.String() != "14.0" {
				t.Errorf("%s is for %v, %+v", name, i.CPU, build)
			}
			for _, d := range i.Dylibs {
				if !strings.HasPrefix(d.Name, "/usr/lib/") {
					t.Errorf("%s needs %s", name, d.Name)
				}
			}
		}
	}
	moved := away(t, dist, "for a Mac")
	out := tool(t, project, os.Environ(), therock, "verify", "-bundle="+moved)
	if !strings.Contains(out, "nothing is wrong") || !strings.Contains(out, "needs of the system: macOS 14.0") {
		t.Error(out)
	}
	t.Log(out)
}
