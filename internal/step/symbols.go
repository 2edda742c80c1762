package step

import (
	"context"
	debugelf "debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/capture"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// Symbols moves the debug information of the stage's programs and libraries
// into files of their own, which the slice dbg takes, at the places where
// debuggers look without being told, wherever the bundle lies:
//
//   - beside an image for a Mac, NAME.dSYM (dsymutil(1)), found by its UUID;
//   - for Linux, .debug/NAME.debug in the image's folder, which the image names
//     in .gnu_debuglink (GDB, "Debugging Information in Separate Files").
//
// It comes before anything that edits images: an object file that dsymutil is to
// read must still be where the link found it. What has no debug information is
// left as it is, archives and object files too.
type Symbols struct{}

// Validate implements Step.
func (s *Symbols) Validate() error { return nil }

// Key implements Step.
func (s *Symbols) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Symbols) Run(ctx context.Context, r *Run) error {
	var files []string
	err := filepath.WalkDir(r.Stage, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		return err
	}
	split := s.elf
	if r.Host.OS == "darwin" {
		split = s.macho
	}
	for _, file := range files {
		if err := split(ctx, r, file); err != nil {
			rel, relErr := filepath.Rel(r.Stage, file)
			return fmt.Errorf("debug information of %s: %w", rel, errors.Join(err, relErr))
		}
	}
	return nil
}

// macho makes the dSYM of a file that has a debug map or DWARF.
func (s *Symbols) macho(ctx context.Context, r *Run, file string) error {
	if is, err := begins(file, macho.IsMachO); !is {
		return err
	}
	f, err := macho.Open(file)
	if err != nil {
		return err
	}
	found := false
	for _, image := range f.Images {
		if image.Type == macho.TypeObject {
			continue
		}
		sources, err := image.SourceFiles()
		if err != nil {
			return err
		}
		found = found || len(sources) > 0 || image.Segment("__DWARF") != nil
	}
	if !found {
		return nil
	}
	dsymutil, strip := "/usr/bin/dsymutil", "/usr/bin/strip"
	if r.Cross != nil {
		dsymutil, strip = r.Cross.Programs["DSYMUTIL"], r.Cross.Programs["STRIP"]
	}
	bundle := file + ".dSYM"
	if err := r.Command(ctx, r.Work, nil, dsymutil, "-o", bundle, file); err != nil {
		return err
	}
	// What is kept there for joining the dSYMs of several architectures names
	// the folder of this build.
	if err := os.RemoveAll(filepath.Join(bundle, "Contents", "Resources", "Relocations")); err != nil {
		return err
	}
	return r.replaced(file, func(to string) error {
		return r.Command(ctx, r.Work, nil, strip, "-S", "-o", to, file)
	})
}

// elf makes the debug file of a program or shared library with DWARF.
func (s *Symbols) elf(ctx context.Context, r *Run, file string) error {
	if is, err := begins(file, elf.IsELF); !is {
		return err
	}
	has, err := hasDWARF(file)
	if !has {
		return err
	}
	objcopy, err := r.binutil(ctx, "objcopy")
	if err != nil {
		return err
	}
	debug := filepath.Join(filepath.Dir(file), ".debug", filepath.Base(file)+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		return err
	}
	if err := r.Command(ctx, r.Work, nil, objcopy, "--only-keep-debug", file, debug); err != nil {
		return err
	}
	return r.replaced(file, func(to string) error {
		return r.Command(ctx, r.Work, nil, objcopy, "--strip-debug", "--add-gnu-debuglink="+debug, file, to)
	})
}

// hasDWARF reports whether a program or shared library carries debug
// information; code objects for a GPU are none of ours to touch.
func hasDWARF(file string) (bool, error) {
	f, err := debugelf.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if f.Type != debugelf.ET_EXEC && f.Type != debugelf.ET_DYN || f.Machine == elf.MachineAMDGPU {
		return false, nil
	}
	for _, section := range f.Sections {
		if strings.HasPrefix(section.Name, ".debug_") || strings.HasPrefix(section.Name, ".zdebug_") {
			return true, nil
		}
	}
	return false, nil
}

// begins reports whether a file's first bytes are such.
func begins(file string, such func(head []byte) bool) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false, err
	}
	return such(head[:n]), nil
}

// replaced puts what make writes in a file's place, with its mode.
func (r *Run) replaced(file string, make func(to string) error) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	to := file + ".stonemason"
	defer os.Remove(to)
	if err := make(to); err != nil {
		return err
	}
	if err := os.Chmod(to, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(to, file)
}

// binutil finds a program of the binutils that belong to the compiler.
func (r *Run) binutil(ctx context.Context, name string) (string, error) {
	if r.Cross != nil {
		if path := r.Cross.Programs[strings.ToUpper(name)]; path != "" {
			return path, nil
		}
	}
	if r.CC == nil {
		return "", errors.New("no compiler was chosen: add c++ to tools in the component's yaml")
	}
	cmd := exec.CommandContext(ctx, r.CC.Path, "-print-prog-name="+name)
	cmd.Env = r.Env
	out, err := capture.Output(cmd, 4<<10)
	if err != nil {
		return "", fmt.Errorf("ask %s for %s: %w", r.CC.Path, name, err)
	}
	// GCC answers with the bare name for what its search path has.
	path := strings.TrimSpace(string(out))
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(r.CC.Path), path)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s has no %s beside it: install binutils", r.CC.Path, name)
	}
	return path, nil
}
