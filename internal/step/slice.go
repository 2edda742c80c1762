package step

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// Slice gives every file of the stage to a slice and prints the counts. The
// rules are the component's, and the built-in ones after them.
type Slice struct{}

// Validate implements Step.
func (s *Slice) Validate() error { return nil }

// Key implements Step.
func (s *Slice) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Slice) Run(ctx context.Context, r *Run) error {
	counts := map[string]int{}
	err := filepath.WalkDir(r.Stage, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(r.Stage, file)
		if err != nil {
			return err
		}
		counts[r.SliceOf(filepath.ToSlash(rel))]++
		return nil
	})
	if err != nil {
		return err
	}
	for _, name := range spec.Slice("").Values() {
		fmt.Fprintf(r.Output, "slice %s: %d files\n", name, counts[name])
	}
	return nil
}

// Slicer makes the function that assigns paths to slices: the first rule that
// matches, then what names and folders usually mean on Unix. Every path gets
// exactly one slice.
func Slicer(rules []spec.SliceRule) func(string) string {
	return func(name string) string {
		for _, rule := range rules {
			if glob.Any(rule.Globs, name) {
				return string(rule.Slice)
			}
		}
		return string(usual(name))
	}
}

func usual(name string) spec.Slice {
	base := path.Base(name)
	in := func(dirs ...string) bool {
		for _, d := range dirs {
			if strings.HasPrefix(name, d+"/") || strings.Contains(name, "/"+d+"/") {
				return true
			}
		}
		return false
	}
	switch {
	case in(".build-id", "debug") || strings.HasSuffix(base, ".debug") || strings.Contains(name, ".dSYM/"):
		return spec.Dbg
	case in("share/doc", "share/man", "share/licenses") || strings.HasPrefix(base, "LICENSE"):
		return spec.Doc
	case in("lib/clang", "bin", "libexec"):
		return spec.Run // a compiler's own headers are needed to run it
	case in("include", "cmake", "pkgconfig") || strings.HasSuffix(base, ".a") || strings.HasSuffix(base, ".cmake"):
		return spec.Dev
	case strings.HasSuffix(base, ".so") || strings.Contains(base, ".so.") || strings.HasSuffix(base, ".dylib"):
		return spec.Lib
	}
	return spec.Run
}
