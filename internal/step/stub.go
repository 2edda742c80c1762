package step

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/remote/stub"
)

// Stub writes a CMake project with link stubs into ${build}/stubs. They are made
// of the API descriptions that come with this program.
type Stub struct {
	// Libraries are the names of descriptions: amdhip64, rocblas.
	Libraries []string `yaml:"libraries"`
}

// Validate implements Step.
func (s *Stub) Validate() error {
	if len(s.Libraries) == 0 {
		return errors.New("libraries is empty")
	}
	known := api.Libraries()
	for i, name := range s.Libraries {
		if !slices.Contains(known, name) {
			if near, ok := suggest.Nearest(name, known); ok {
				return fmt.Errorf("there is no description of lib%s: did you mean %q?", name, near)
			}
			return fmt.Errorf("there is no description of lib%s: there is %s", name, suggest.List(known, len(known)))
		}
		if slices.Contains(s.Libraries[:i], name) {
			return fmt.Errorf("lib%s stands twice", name)
		}
	}
	return nil
}

// Key implements Step. What the stubs are like is in the descriptions and in
// this program.
func (s *Stub) Key(b *key.Builder) {
	fields(b, s)
	b.Add("generator", stub.Revision)
	for _, name := range s.Libraries {
		digest, err := stub.Digest(name)
		if err != nil {
			digest = "none" // Validate says why
		}
		b.Add("description."+lineName(name), digest)
	}
}

// Run implements Step.
func (s *Stub) Run(ctx context.Context, r *Run) error {
	var libs []*api.Library
	for _, name := range s.Libraries {
		l, err := api.Load(api.Descriptions(), name)
		if err != nil {
			return err
		}
		libs = append(libs, l)
	}
	files, err := stub.Files(libs)
	if err != nil {
		return err
	}
	if err := stub.Write(ctx, filepath.Join(r.BuildDir, "stubs"), files); err != nil {
		return err
	}
	for _, l := range libs {
		fmt.Fprintf(r.Output, "+ stub of lib%s %s: %d functions\n", l.Name, l.Version, len(l.Functions))
	}
	return nil
}
