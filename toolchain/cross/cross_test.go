package cross

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

func parse(t *testing.T, name string) platform.Platform {
	t.Helper()
	p, err := platform.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPossible(t *testing.T) {
	for _, c := range []struct {
		build, host string
		want        bool
	}{
		{"linux-amd64", "linux-amd64", true}, {"linux-amd64", "linux-arm64", true}, {"linux-amd64", "darwin-arm64", true},
		{"linux-arm64", "darwin-arm64", true}, {"darwin-arm64", "darwin-arm64", true},
		{"darwin-arm64", "linux-arm64", false}, {"darwin-arm64", "linux-amd64", false},
	} {
		if got := Possible(parse(t, c.build), parse(t, c.host)); got != c.want {
			t.Errorf("%s on %s: %v", c.host, c.build, got)
		}
	}
}

// The distribution's compilers are found by their names, the first folder of
// the path first; what is missing is named.
func TestGNU(t *testing.T) {
	dir, late := t.TempDir(), t.TempDir()
	arm := parse(t, "linux-arm64")
	for _, program := range []string{"gcc", "g++", "ar", "ranlib", "nm", "strip", "objcopy", "objdump", "readelf"} {
		if err := os.WriteFile(filepath.Join(dir, "aarch64-linux-gnu-"+program), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	_, err := GNU(arm, []string{dir, late})
	if err == nil || !strings.Contains(err.Error(), "aarch64-linux-gnu-ld in ") {
		t.Errorf("without a linker: %v", err)
	}
	for _, at := range []string{dir, late} {
		if err := os.WriteFile(filepath.Join(at, "aarch64-linux-gnu-ld"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := GNU(arm, []string{dir, late})
	if err != nil {
		t.Fatal(err)
	}
	if got.CXX != filepath.Join(dir, "aarch64-linux-gnu-g++") || got.Programs["LINKER"] != filepath.Join(dir, "aarch64-linux-gnu-ld") {
		t.Errorf("found %+v", got)
	}
	if files := got.Files(); len(files) != 10 || !slices.IsSorted(files) {
		t.Errorf("its files: %q", files)
	}
	// What cannot be run is no compiler.
	if err := os.Chmod(filepath.Join(dir, "aarch64-linux-gnu-g++"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := GNU(arm, []string{dir, late}); err == nil || !strings.Contains(err.Error(), "aarch64-linux-gnu-g++") {
		t.Errorf("a g++ that is no program: %v", err)
	}
}
