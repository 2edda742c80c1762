//go:build e2e && linux && amd64

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestNEON runs the tests of the emulator's loops on an emulated ARM64: the results
// of its vector unit are those of the operations in Go.
func TestNEON(t *testing.T) {
	program := filepath.Join(t.TempDir(), "emulator.test")
	env := append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	tool(t, "../..", env, "go", "test", "-c", "-o", program, "./emulator")
	tests := []string{"TestLoops", "TestLoopsOfMasks", "TestLoopsOfHalves", "TestMovers", "TestMovedWords", "TestQuick", "TestQuickMemory"}
	// What a test starts, LLVM's tools, is of this machine, and no matter of qemu's.
	cmd := exec.CommandContext(t.Context(), "qemu-aarch64-static", program, "-test.v", "-test.short", "-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir = "../../emulator"
	text, err := cmd.CombinedOutput()
	out := string(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, name := range tests {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass\n%s", name, out)
		}
	}
	m := regexp.MustCompile(`(\d+) loops\n`).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no number of loops\n%s", out)
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 120 {
		t.Errorf("%d loops in NEON: %v", n, err)
	}
}
