package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/remote/stub"
)

// APIStub writes a CMake project with link stubs of some libraries, names of
// descriptions of the project or files, comma-separated, into a folder. It is for
// libraries of a user's own: those that come with Stonemason are components.
func (a *App) APIStub(ctx context.Context, libraries, out string) error {
	if out == "" {
		return exit.Withf(exit.Usage, "api:stub: -out is missing: the folder to write the stubs to")
	}
	if !filepath.IsAbs(out) {
		out = filepath.Join(a.Dir, out)
	}
	if err := replaceable(out); err != nil {
		return exit.With(exit.Usage, err)
	}
	var libs []*api.Library
	for _, name := range fields(libraries) {
		l, err := a.description(name)
		if err != nil {
			return err
		}
		libs = append(libs, l)
	}
	if len(libs) == 0 {
		return exit.Withf(exit.Usage, "api:stub: no library is named")
	}
	files, err := stub.Files(libs)
	if err != nil {
		return exit.With(exit.Config, err)
	}
	replaced, err := stub.Replace(ctx, out, files)
	if err != nil {
		return fmt.Errorf("api:stub: %w", err)
	}
	for _, l := range libs {
		fmt.Fprintf(a.Out, "stub of lib%s %s: %d functions\n", l.Name, l.Version, len(l.Functions))
	}
	if n := len(replaced.Removed); n > 0 {
		fmt.Fprintf(a.Out, "removed %s of stubs that are no longer named\n", plural(n, "file", "files"))
	}
	for _, name := range replaced.Kept {
		a.note("%s was changed since it was written: it stays", filepath.Join(out, filepath.FromSlash(name)))
	}
	fmt.Fprintf(a.Out, "wrote %d files to %s: build them with cmake\n", len(files), out)
	return nil
}

// maxTop bounds a CMakeLists.txt that names libraries, in bytes.
const maxTop = 1 << 20

// replaceable refuses a folder with files that are not an earlier stub's.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("api:stub: %w", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, stub.Listed)); err == nil {
		return nil // one that was stopped half-way has nothing else yet
	}
	refused := fmt.Errorf("api:stub: %s holds something else than generated stubs: name a new folder", dir)
	text, err := readFile(filepath.Join(dir, "CMakeLists.txt"), maxTop)
	if err != nil || !strings.HasPrefix(string(text), stub.Mark) {
		return refused
	}
	return nil
}
