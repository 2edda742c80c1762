package step

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// Copy copies files and folders into the stage: what needs no build.
type Copy struct {
	Items []CopyItem `yaml:"items"`
}

// CopyItem is one copy.
type CopyItem struct {
	// From is a file or folder, below ${source}, ${build} or ${dep.name}.
	From string `yaml:"from"`
	// To is the place in the stage; a folder's content goes into it.
	To string `yaml:"to"`
	// Only and Except are globs over paths below From (see package glob).
	Only   []string `yaml:"only,omitempty"`
	Except []string `yaml:"except,omitempty"`
	// Executable gives every copied file the execute bits.
	Executable bool `yaml:"executable,omitempty"`
	// Optional lets From be absent.
	Optional bool `yaml:"optional,omitempty"`
}

// Validate implements Step.
func (s *Copy) Validate() error {
	if len(s.Items) == 0 {
		return errors.New("items is empty")
	}
	for i, item := range s.Items {
		if item.From == "" || item.To == "" {
			return fmt.Errorf("items[%d]: from and to are needed", i)
		}
		if !keyed(item.From) {
			return fmt.Errorf("items[%d]: from %q does not lie below ${source}, ${build} or ${dep.name}", i, item.From)
		}
		for _, g := range slices.Concat(item.Only, item.Except) {
			if err := glob.Check(g); err != nil {
				return fmt.Errorf("items[%d]: %w", i, err)
			}
		}
	}
	return nil
}

// Key implements Step.
func (s *Copy) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Copy) Run(ctx context.Context, r *Run) error {
	for _, item := range s.Items {
		if err := item.run(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (item CopyItem) run(ctx context.Context, r *Run) error {
	from, err := r.Expand(item.From)
	if err != nil {
		return err
	}
	to, err := r.InStage(item.To)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) && item.Optional {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	fmt.Fprintf(r.Output, "+ copy %s to %s\n", from, item.To)
	// Where From itself is a symbolic link, what it leads to is meant.
	if from, err = filepath.EvalSymlinks(from); err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if !info.IsDir() {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		mode := item.mode(info.Mode())
		if err := os.WriteFile(to, data, mode); err != nil {
			return err
		}
		return os.Chmod(to, mode) // the file may have been there
	}
	var copied []string
	err = store.CopyTree(ctx, from, to, func(rel string) string {
		if isDir(filepath.Join(from, rel)) {
			return "" // folders come with their files
		}
		if len(item.Only) > 0 && !glob.Any(item.Only, rel) || glob.Any(item.Except, rel) {
			return ""
		}
		copied = append(copied, filepath.Join(to, rel))
		return rel
	})
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if len(copied) == 0 && !item.Optional {
		return fmt.Errorf("copy: nothing in %s matches", item.From)
	}
	for _, file := range copied {
		info, err := os.Lstat(file)
		if err != nil {
			return fmt.Errorf("copy: %w", err)
		}
		if !item.Executable || !info.Mode().IsRegular() {
			continue
		}
		if err := os.Chmod(file, 0o755); err != nil {
			return fmt.Errorf("copy: %w", err)
		}
	}
	return nil
}

// keyed reports whether a path lies in a folder whose content is in the key:
// a copy from elsewhere on the machine would not be noticed when it changes.
func keyed(from string) bool {
	root, rest, ok := strings.Cut(from, "}")
	if !ok || root != "${source" && root != "${build" && !strings.HasPrefix(root, "${dep.") {
		return false
	}
	rest, slash := strings.CutPrefix(rest, "/")
	return rest == "" || slash && filepath.IsLocal(filepath.FromSlash(rest))
}

func (item CopyItem) mode(m fs.FileMode) fs.FileMode {
	if item.Executable || m&0o111 != 0 {
		return 0o755
	}
	return 0o644
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
