package step

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/stonemason-hip/stonemason/internal/key"
)

// Link makes symbolic links in the stage.
type Link struct {
	// Links maps the link's path in the stage to its target, relative to the
	// link's folder. A target that is not there is an error.
	Links map[string]string `yaml:"links"`
}

// Validate implements Step.
func (s *Link) Validate() error {
	for name, target := range s.Links {
		if !filepath.IsLocal(name) || path.IsAbs(target) || !filepath.IsLocal(path.Join(path.Dir(name), target)) {
			return fmt.Errorf("link %s → %s leaves the stage", name, target)
		}
	}
	return nil
}

// Key implements Step.
func (s *Link) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Link) Run(ctx context.Context, r *Run) error {
	for _, name := range slices.Sorted(maps.Keys(s.Links)) {
		file, err := r.InStage(name)
		if err != nil {
			return err
		}
		target := s.Links[name]
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(target))); err != nil {
			return fmt.Errorf("link %s: %w", name, err)
		}
		if old, err := os.Readlink(file); err == nil && old == target {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(target, file); err != nil {
			return err
		}
		fmt.Fprintf(r.Output, "+ link %s → %s\n", name, target)
	}
	return nil
}
