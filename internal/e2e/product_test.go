//go:build e2e

package e2e

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/dev"
)

// product compiles the program of this working tree, and says where the tree
// and the program are.
func product(t *testing.T) (project, therock string) {
	t.Helper()
	project, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	therock = filepath.Join(t.TempDir(), "therock")
	if err := dev.Compile(t.Context(), io.Discard, os.Stderr, project, therock); err != nil {
		t.Fatal(err)
	}
	return project, therock
}

// away moves a bundle, so that what still looked into the old folder would
// fail, and brings it back when the test has ended.
func away(t *testing.T, dist, name string) (moved string) {
	t.Helper()
	elsewhere, err := os.MkdirTemp(filepath.Dir(dist), ".moved-")
	if err != nil {
		t.Fatal(err)
	}
	moved = filepath.Join(elsewhere, name)
	if err := os.Rename(dist, moved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Rename(moved, dist); err != nil {
			t.Error(err)
		}
		os.RemoveAll(elsewhere)
	})
	return moved
}
