package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
)

// What is measured must be the same work: what either side makes is as good.
func TestMacBundle(t *testing.T) {
	tools := filepath.Dir(llvmtest.Tool(t, "llvm-install-name-tool"))
	for _, side := range []string{"ours", "theirs"} {
		m, err := newMacBundle(t.Context(), filepath.Join(t.TempDir(), "mac"), &llvm.Install{BinDir: tools}, 4)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.audit(t.Context()); err == nil {
			t.Errorf("%s: nothing is wrong before", side)
		}
		if side == "ours" {
			err = m.fix(t.Context())
		} else if err = m.fixByTools(t.Context()); err == nil {
			err = m.audit(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", side, err)
		}
		if left, err := os.ReadDir(filepath.Dir(m.dir)); err != nil || len(left) != 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}
