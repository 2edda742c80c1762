//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/devicelib"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// TestDeviceLibrary measures the bundle's device library, and sees to it that no
// function of it was forgotten.
func TestDeviceLibrary(t *testing.T) {
	project, therock := product(t)
	t.Log(tool(t, project, os.Environ(), therock, "build"))
	bundle := filepath.Join(project, "dist", platform.Native().String())
	for _, library := range []string{"ocml", "ockl"} {
		var symbols []string
		for line := range strings.Lines(llvmtest.Run(t, "llvm-nm", "--defined-only", filepath.Join(bundle, "amdgcn", "bitcode", library+".bc"))) {
			fields := strings.Fields(line)
			if name := fields[len(fields)-1]; strings.HasPrefix(name, "__") && strings.ContainsAny(fields[len(fields)-2], "TW") {
				symbols = append(symbols, name)
			}
		}
		if len(symbols) < 300 {
			t.Errorf("%s has %d functions", library, len(symbols))
		}
		if missing := devicelib.Missing(symbols); len(missing) > 0 {
			t.Errorf("functions of %s that nobody tries, and that are not left out: %s", library, strings.Join(missing, " "))
		}
	}
	for _, gpu := range []string{"gfx942", "gfx1100"} {
		out := tool(t, project, os.Environ(), therock, "kernel:library", "-gpu="+gpu)
		if !strings.Contains(out, " 0 beyond or failed.") || !strings.Contains(out, " have it, 0 do not.") {
			t.Error(out)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		t.Log(strings.Join(lines[max(0, len(lines)-3):], "\n"))
	}
}
