package treebench

import (
	"path/filepath"
	"testing"
)

// go test -run '^$' -bench . ./internal/treehash/treebench
//
// Each pair is measured in one run, ours and the alternative.

func BenchmarkWorkspace(b *testing.B) {
	dir, cache := filepath.Join(b.TempDir(), "work"), b.TempDir()
	if err := Workspace(b.Context(), dir, 100_000); err != nil {
		b.Fatal(err)
	}
	if err := Unchanged(b.Context(), dir, cache); err != nil {
		b.Fatal(err)
	}
	measure(b, "unchanged", 0, func() error { return Unchanged(b.Context(), dir, cache) })
	measure(b, "git-status", 0, func() error { return GitStatus(b.Context(), dir) })
}

func BenchmarkTree(b *testing.B) {
	dir, cache := filepath.Join(b.TempDir(), "tree"), b.TempDir()
	if err := Tree(b.Context(), dir, 1<<30); err != nil {
		b.Fatal(err)
	}
	size, err := Size(b.Context(), dir)
	if err != nil {
		b.Fatal(err)
	}
	measure(b, "cold", size, func() error { return Cold(b.Context(), dir) })
	measure(b, "sha256sum", size, func() error { return SHA256Sum(b.Context(), dir) })
	if err := Unchanged(b.Context(), dir, cache); err != nil {
		b.Fatal(err)
	}
	measure(b, "warm", size, func() error { return Unchanged(b.Context(), dir, cache) })
}

func measure(b *testing.B, name string, bytes int64, f func() error) {
	b.Run(name, func(b *testing.B) {
		b.SetBytes(bytes)
		for b.Loop() {
			if err := f(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What is measured is what is meant: small trees here.
func TestTrees(t *testing.T) {
	dir, cache := filepath.Join(t.TempDir(), "work"), t.TempDir()
	if err := Workspace(t.Context(), dir, 60); err != nil {
		t.Fatal(err)
	}
	tree := filepath.Join(t.TempDir(), "tree")
	const want = 20 << 20
	if err := Tree(t.Context(), tree, want); err != nil {
		t.Fatal(err)
	}
	if size, err := Size(t.Context(), tree); err != nil || size != want {
		t.Errorf("the tree has %d bytes, want %d: %v", size, want, err)
	}
	for _, f := range []func() error{
		func() error { return Unchanged(t.Context(), dir, cache) },
		func() error { return GitStatus(t.Context(), dir) },
		func() error { return Cold(t.Context(), tree) },
		func() error { return SHA256Sum(t.Context(), tree) },
	} {
		if err := f(); err != nil {
			t.Error(err)
		}
	}
	if files, err := filepath.Glob(cache + "/*"); err != nil || len(files) != 1 {
		t.Errorf("snapshots: %v, %v", files, err)
	}
}
