package step

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

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
	if !info.IsDir() {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		return os.WriteFile(to, data, item.mode(info.Mode()))
	}
	copied := 0
	err = store.CopyTree(ctx, from, to, func(rel string) string {
		if isDir(filepath.Join(from, rel)) {
			return "" // folders come with their files
		}
		if len(item.Only) > 0 && !glob.Any(item.Only, rel) || glob.Any(item.Except, rel) {
			return ""
		}
		copied++
		return rel
	})
	if err != nil {
		return fmt.Errorf("copy: %w", err)
	}
	if copied == 0 && !item.Optional {
		return fmt.Errorf("copy: nothing in %s matches", item.From)
	}
	if item.Executable {
		return filepath.WalkDir(to, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			return os.Chmod(path, 0o755)
		})
	}
	return nil
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
