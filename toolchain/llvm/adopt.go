package llvm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
)

// Spec says what to adopt and where to.
type Spec struct {
	// Tools must be there; Optional are taken where they are.
	Tools, Optional []string
	// Links are further names for adopted tools: amdclang → clang.
	Links map[string]string
	// Dest is the stage. What is made in it must not be there yet.
	Dest string
	// Patchelf is the tool's path; see elf.Editor.
	Patchelf string
}

// Entry is one file that an adoption made.
type Entry struct {
	// Path is relative to the stage, with slashes.
	Path string `json:"path"`
	// Origin is the file of the machine that it is a copy of; Link the target
	// of a symlink. One of them is empty.
	Origin string `json:"origin,omitempty"`
	Link   string `json:"link,omitempty"`
	// Size is in bytes, of the copy.
	Size int64 `json:"size"`
	// Edited tells that the search path was changed.
	Edited bool `json:"edited,omitempty"`
}

// Report is what an adoption did.
type Report struct {
	Install Install `json:"install"`
	Files   []Entry `json:"files"`
	// Base are the libraries that the tools take from the machine they run
	// on (elf.IsBase), sorted.
	Base []string `json:"base"`
	// Absent are the optional tools that the installation lacks.
	Absent []string `json:"absent,omitempty"`
	// Unlicensed are the files for whose package no licence text was found.
	Unlicensed []string `json:"unlicensed,omitempty"`
	// Bytes is the size of all copies.
	Bytes int64 `json:"bytes"`
}

// Adopt copies an installation's tools, the libraries that they need beyond
// the base system, and clang's own headers into spec.Dest, sets search paths
// so that all of it can be moved together, and checks that it closes. Errors
// are a MissingError for tools or libraries that are not there, and an
// UnavailableError on a host whose format is not handled.
func Adopt(ctx context.Context, in Install, spec Spec) (*Report, error) {
	l, err := arrange(ctx, in, spec.Tools, spec.Optional, spec.Links)
	if err != nil {
		return nil, fmt.Errorf("adopt: %w", err)
	}
	r := &Report{Install: in, Base: l.base, Absent: l.absent}
	editor := elf.Editor{Patchelf: spec.Patchelf, Platform: in.platform()}
	for _, f := range l.sorted() {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		entry, err := place(ctx, editor, spec.Dest, f)
		if err != nil {
			return nil, fmt.Errorf("adopt %s: %w", f.dest, err)
		}
		r.Files = append(r.Files, entry)
		r.Bytes += entry.Size
	}
	licences, unlicensed, err := copyLicences(ctx, in, l.origins, spec.Dest)
	if err != nil {
		return nil, fmt.Errorf("adopt: licences: %w", err)
	}
	r.Files = append(r.Files, licences...)
	r.Unlicensed = unlicensed
	slices.SortFunc(r.Files, func(a, b Entry) int { return strings.Compare(a.Path, b.Path) })
	if err := check(ctx, in, spec.Dest, l); err != nil {
		return nil, fmt.Errorf("adopt: the copy does not stand on its own: %w", err)
	}
	return r, nil
}

// place makes one file of the layout.
func place(ctx context.Context, editor elf.Editor, dest string, f file) (Entry, error) {
	to := filepath.Join(dest, filepath.FromSlash(f.dest))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return Entry{}, err
	}
	if f.link != "" {
		return Entry{Path: f.dest, Link: f.link}, os.Symlink(f.link, to)
	}
	mode := os.FileMode(0o644)
	if f.exec {
		mode = 0o755
	}
	if err := copyFile(f.source, to, mode); err != nil {
		return Entry{}, err
	}
	if f.edit {
		if err := editor.SetRunpath(ctx, to, f.runpath); err != nil {
			return Entry{}, err
		}
	}
	info, err := os.Stat(to)
	if err != nil {
		return Entry{}, err
	}
	return Entry{Path: f.dest, Origin: f.source, Size: info.Size(), Edited: f.edit}, nil
}

func copyFile(from, to string, mode os.FileMode) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	// A stage is fresh: what is there already is not ours to overwrite.
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Chmod(mode) // The umask took its part from the mode above.
}

// check proves the copy: every needed library is found in it or in the base,
// and the copied clang finds its own headers.
func check(ctx context.Context, in Install, dest string, l *layout) error {
	dest, err := filepath.EvalSymlinks(dest)
	if err != nil {
		return err
	}
	var programs []string
	for _, f := range l.files {
		if f.exec {
			programs = append(programs, filepath.Join(dest, filepath.FromSlash(f.dest)))
		}
	}
	slices.Sort(programs)
	linker, err := elf.NewLinker("/", in.platform())
	if err != nil {
		return err
	}
	closure, err := linker.Closure(programs)
	if err != nil {
		return err
	}
	if len(closure.Missing) > 0 {
		return fmt.Errorf("library %s is not found", closure.Missing[0])
	}
	for _, lib := range closure.Libraries {
		if rel, err := filepath.Rel(dest, lib.Real); err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s of %s is found outside, as %s", lib.Name, lib.NeededBy, lib.Real)
		}
	}
	if _, ok := l.files[destBin+"/clang"]; !ok || l.resource == "" {
		return nil
	}
	if !in.host.IsZero() {
		// It may not be able to run here; see FromTree for where it looks.
		if want := path.Join(destLib, "clang", strconv.Itoa(in.Major)); l.resource != want {
			return fmt.Errorf("clang looks for its headers in %s, and they are in %s", want, l.resource)
		}
		return nil
	}
	clang := filepath.Join(dest, filepath.FromSlash(destBin), "clang")
	out, err := probe(ctx, clang, "-print-resource-dir")
	if err != nil {
		return fmt.Errorf("%s: %w", clang, err)
	}
	got, want := filepath.Clean(strings.TrimSpace(out)), filepath.Join(dest, filepath.FromSlash(l.resource))
	if got != want {
		return errors.New("clang looks for its headers in " + got + ", and they are in " + want)
	}
	return nil
}
