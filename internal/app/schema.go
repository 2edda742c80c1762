package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// Schema writes the JSON Schemas by which editors complete the project's files.
func (a *App) Schema(ctx context.Context) error {
	root, err := spec.FindRoot(a.Dir)
	if err != nil {
		return exit.With(exit.Config, err)
	}
	schemas, err := spec.Schemas()
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	if schemas[launchfile.SchemaFile], err = launchfile.Schema(); err != nil {
		return exit.With(exit.Internal, err)
	}
	dir := filepath.Join(root, spec.SchemaDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if err := renameio.WriteFile(filepath.Join(dir, name), schemas[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "wrote %s/%s\n", spec.SchemaDir, name)
	}
	return nil
}
