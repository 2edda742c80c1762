package store

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// BenchmarkCopyTree copies a tree with the sizes of a bundle's files, 300 MB
// in 580 files of which two make up the half, beside cp -r of the same.
// STONEMASON_BENCH_TREE names a tree to copy in its place.
func BenchmarkCopyTree(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "store"))
	if err != nil {
		b.Fatal(err)
	}
	src := os.Getenv("STONEMASON_BENCH_TREE")
	if src == "" {
		src = b.TempDir()
		for i := range 580 {
			n := 260 << 10
			if i < 2 {
				n = 75 << 20
			}
			dir := filepath.Join(src, fmt.Sprint(i%40))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				b.Fatal(err)
			}
			data := make([]byte, n)
			for j := range data {
				data[j] = byte(i * j)
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	stage, err := s.Tmp("bench")
	if err != nil {
		b.Fatal(err)
	}
	if err := CopyTree(b.Context(), src, stage, nil); err != nil {
		b.Fatal(err)
	}
	a, err := s.Seal(b.Context(), action("bench"), stage, func(string) string { return "run" })
	if err != nil {
		b.Fatal(err)
	}
	for _, way := range []struct {
		name string
		copy func(to string) error
	}{
		{"cp", func(to string) error { return exec.Command("cp", "-r", src, to).Run() }},
		{"CopyTree", func(to string) error { return CopyTree(b.Context(), src, to, nil) }},
		{"Restore", func(to string) error { return s.Restore(b.Context(), []Content{a.Content}, to) }},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(a.Bytes)
			to := filepath.Join(b.TempDir(), "copy")
			for b.Loop() {
				if err := way.copy(to); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := os.RemoveAll(to); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
	if _, err := treehash.List(b.Context(), src, treehash.Options{}); err != nil {
		b.Fatal(err)
	}
}
