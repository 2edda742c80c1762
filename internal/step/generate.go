package step

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/internal/key"
)

// Generate writes a file into the stage or, with an absolute name such as
// ${build}/x, elsewhere in the node's own folders.
type Generate struct {
	File       string `yaml:"file"`
	Content    string `yaml:"content"`
	Executable bool   `yaml:"executable,omitempty"`
}

// Validate implements Step.
func (s *Generate) Validate() error {
	if s.File == "" {
		return errors.New("file is missing")
	}
	return nil
}

// Key implements Step.
func (s *Generate) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Generate) Run(ctx context.Context, r *Run) error {
	name, err := r.Expand(s.File)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(name) {
		if name, err = r.InStage(name); err != nil {
			return err
		}
	} else if rel, err := filepath.Rel(r.Work, name); err != nil || !filepath.IsLocal(rel) {
		return errors.New("file " + s.File + " is outside the folders of this build")
	}
	content, err := r.Expand(s.Content)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if s.Executable {
		mode = 0o755
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(name, []byte(content), mode); err != nil {
		return err
	}
	return os.Chmod(name, mode) // the file may have been there
}
