package elf

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// editTimeout bounds one run of patchelf; the largest library takes a second.
const editTimeout = 2 * time.Minute

// ErrNotEditable marks files that have no dynamic section to edit: static
// programs, relocatable objects, core files.
var ErrNotEditable = errors.New("not a dynamic ELF file")

// Editor changes RUNPATH and SONAME.
//
// Each edit works on a fresh copy beside the file, reads the result back,
// compares everything that was not meant to change, and renames the copy into
// place; a failure leaves the file as it was. An edit whose result is there
// already touches nothing, and equal inputs give equal bytes.
type Editor struct {
	// Patchelf is the tool's path. It is needed only where the file has no
	// room for the new value.
	Patchelf string
	// Platform is the only machine whose files are edited; the zero value is
	// the native one.
	Platform platform.Platform
}

// SetRunpath gives a file of the native platform this RUNPATH; see
// Editor.SetRunpath.
func SetRunpath(ctx context.Context, patchelf, file string, runpath []string) error {
	return Editor{Patchelf: patchelf}.SetRunpath(ctx, file, runpath)
}

// SetRunpath makes runpath the file's only search path: a DT_RPATH goes, and
// an empty runpath removes the tag. Entries start with $ORIGIN, since others
// would not move with the bundle.
func (e Editor) SetRunpath(ctx context.Context, file string, runpath []string) error {
	for _, entry := range runpath {
		if err := checkEntry(entry); err != nil {
			return fmt.Errorf("set runpath of %s: %w", file, err)
		}
	}
	before, err := e.editable(file)
	if err != nil {
		return fmt.Errorf("set runpath of %s: %w", file, err)
	}
	if before.RPath == nil && slices.Equal(before.RunPath, runpath) {
		return nil
	}
	// Both forms of nil must compare equal to what the reader returns.
	var want []string
	if len(runpath) > 0 {
		want = runpath
	}
	expect := func(img *Image) { img.RPath, img.RunPath = nil, want }

	err = e.replace(file, expect, func(copied string) error {
		state, err := rewriteRunpath(copied, runpath)
		if err != nil || state == rewritten {
			return err
		}
		// --set-rpath fills the old value with X, whoever else uses its
		// bytes (seen with 0.14.3); --remove-rpath leaves them alone.
		if len(runpath) == 0 || state == notAlone {
			if err := e.patchelf(ctx, "--remove-rpath", copied); err != nil {
				return err
			}
		}
		if len(runpath) == 0 {
			return nil
		}
		return e.patchelf(ctx, "--set-rpath", strings.Join(runpath, ":"), copied)
	})
	if err != nil {
		return fmt.Errorf("set runpath of %s: %w", file, err)
	}
	return nil
}

// SetSoname gives a shared library this SONAME.
func (e Editor) SetSoname(ctx context.Context, file, soname string) error {
	if soname == "" || strings.ContainsAny(soname, "/\x00") {
		return fmt.Errorf("set soname of %s: %q is no file name", file, soname)
	}
	before, err := e.editable(file)
	if err != nil {
		return fmt.Errorf("set soname of %s: %w", file, err)
	}
	if before.Soname == soname {
		return nil
	}
	if before.Program() {
		return fmt.Errorf("set soname of %s: it is a program, not a shared library", file)
	}
	err = e.replace(file, func(img *Image) { img.Soname = soname }, func(copied string) error {
		return e.patchelf(ctx, "--set-soname", soname, copied)
	})
	if err != nil {
		return fmt.Errorf("set soname of %s: %w", file, err)
	}
	return nil
}

// checkEntry refuses what cannot be one entry of a relocatable search path.
func checkEntry(entry string) error {
	if strings.ContainsAny(entry, ":\x00") {
		return fmt.Errorf("%q cannot be one entry of a search path", entry)
	}
	if _, ok := ExpandOrigin(entry, "/"); !ok {
		return fmt.Errorf("entry %q does not start with $ORIGIN, so it would not move with the bundle", entry)
	}
	return nil
}

// editable reads the file and refuses what must not be edited.
func (e Editor) editable(file string) (*Image, error) {
	info, err := os.Lstat(file)
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		return nil, errors.New("it is a symlink, which an edit would replace: name the file that it points to")
	}
	img, err := Open(file)
	if err != nil {
		return nil, err
	}
	if !img.HasDynamic || img.Type != elf.ET_EXEC && img.Type != elf.ET_DYN {
		return nil, fmt.Errorf("%w: %s %s", ErrNotEditable, img.MachineName(), img.Type)
	}
	want := e.Platform
	if want.IsZero() {
		want = platform.Native()
	}
	if p, ok := img.Platform(); !ok || p != want {
		return nil, fmt.Errorf("it is for %s, and only files for %s are edited here", img.MachineName(), want)
	}
	return img, nil
}

// replace runs edit on a copy of file, checks the copy, and renames it over
// file.
func (e Editor) replace(file string, expect func(*Image), edit func(copied string) error) error {
	before, err := takeSnapshot(file)
	if err != nil {
		return err
	}
	copied, err := copyBeside(file)
	if err != nil {
		return err
	}
	defer os.Remove(copied) // Fails once it is renamed, which is as meant.
	if err := edit(copied); err != nil {
		return err
	}
	after, err := takeSnapshot(copied)
	if err != nil {
		return fmt.Errorf("the edited copy cannot be read back: %w", err)
	}
	expect(before.image)
	if err := before.same(after); err != nil {
		return fmt.Errorf("the edit changed more than it should, so the file stays as it was: %w", err)
	}
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if err := os.Chmod(copied, info.Mode().Perm()); err != nil {
		return err
	}
	return os.Rename(copied, file)
}

// copyBeside copies file to a new file in the same folder that the owner alone
// can read, write and run (patchelf keeps the mode it finds).
func copyBeside(file string) (path string, err error) {
	in, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".edit-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return "", err
	}
	return out.Name(), out.Chmod(0o700)
}

// patchelf runs the tool with args, the last of which is the file.
func (e Editor) patchelf(ctx context.Context, args ...string) error {
	if e.Patchelf == "" {
		return errors.New("the file has no room for the new value, and patchelf, which makes some, is missing: install the package patchelf")
	}
	ctx, cancel := context.WithTimeout(ctx, editTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, e.Patchelf, args...)
	cmd.Env = []string{"LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(out[:min(len(out), 400)]))
		return fmt.Errorf("%s %s: %w: %s", e.Patchelf, strings.Join(args[:len(args)-1], " "), err, said)
	}
	return nil
}

// snapshot is what an edit must keep.
type snapshot struct {
	image    *Image
	sections map[string]sectionState
}

type sectionState struct {
	addr, size uint64
	sum        [sha256.Size]byte
}

// takeSnapshot reads a file's image and the contents of the sections that hold
// code and data. Those that an edit of names rewrites or moves (strings, hash
// tables, notes, symbols, the interpreter) are of other types or are excepted;
// what they say is compared through the image.
func takeSnapshot(path string) (*snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	d, err := newReader(f, info.Size())
	if err != nil {
		return nil, err
	}
	s := &snapshot{sections: map[string]sectionState{}}
	if s.image, err = d.image(); err != nil {
		return nil, err
	}
	buf := make([]byte, 1<<20)
	for _, sec := range d.f.Sections {
		switch sec.Type {
		case elf.SHT_PROGBITS, elf.SHT_INIT_ARRAY, elf.SHT_FINI_ARRAY, elf.SHT_PREINIT_ARRAY:
		default:
			continue
		}
		if sec.Flags&elf.SHF_ALLOC == 0 || sec.Name == ".interp" {
			continue
		}
		state := sectionState{addr: sec.Addr, size: sec.FileSize}
		h := sha256.New()
		if sec.Offset > uint64(info.Size()) || sec.FileSize > uint64(info.Size())-sec.Offset {
			return nil, fmt.Errorf("damaged ELF file: section %q lies beyond the end of the file", sec.Name)
		}
		if _, err := io.CopyBuffer(onlyWriter{h}, io.NewSectionReader(f, int64(sec.Offset), int64(sec.FileSize)), buf); err != nil {
			return nil, err
		}
		copy(state.sum[:], h.Sum(nil))
		s.sections[sec.Name] = state
	}
	return s, nil
}

// onlyWriter hides a hash's other methods, so that CopyBuffer uses its buffer.
type onlyWriter struct{ io.Writer }

// same compares what was expected with what is there.
func (s *snapshot) same(after *snapshot) error {
	if diff := s.image.Diff(after.image); diff != "" {
		return errors.New(diff)
	}
	for name, was := range s.sections {
		is, ok := after.sections[name]
		switch {
		case !ok:
			return fmt.Errorf("section %q is gone", name)
		case is.addr != was.addr:
			return fmt.Errorf("section %q moved from address %#x to %#x", name, was.addr, is.addr)
		case is.size != was.size || !bytes.Equal(is.sum[:], was.sum[:]):
			return fmt.Errorf("the contents of section %q differ", name)
		}
	}
	return nil
}

// Diff names the first difference between two images, or is "".
func (i *Image) Diff(o *Image) string {
	for _, field := range []struct {
		name string
		a, b any
	}{
		{"class", i.Class, o.Class}, {"machine", i.Machine, o.Machine}, {"type", i.Type, o.Type},
		{"abi", i.OSABI, o.OSABI}, {"interpreter", i.Interp, o.Interp},
		{"dynamic section", i.HasDynamic, o.HasDynamic}, {"PIE flag", i.PIE, o.PIE},
		{"soname", i.Soname, o.Soname}, {"needed libraries", i.Needed, o.Needed},
		{"rpath", i.RPath, o.RPath}, {"runpath", i.RunPath, o.RunPath},
		{"build id", i.BuildID, o.BuildID}, {"version needs", i.Versions, o.Versions},
	} {
		// Quoted forms differ exactly when the values do, nil lists aside:
		// fmt prints a nil and an empty list alike, and both mean no tag here.
		if a, b := fmt.Sprintf("%q", field.a), fmt.Sprintf("%q", field.b); a != b {
			return fmt.Sprintf("%s: %v, expected %v", field.name, field.b, field.a)
		}
	}
	return ""
}
