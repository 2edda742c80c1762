package llvm

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// FromTree describes the LLVM in a folder root that stands for / and holds
// packages of Debian that were unpacked and not installed. Its programs are for
// host, which need not be this machine, so none is run: all that is said of it
// is read from names of folders and from ELF headers.
//
// The version is the name of usr/lib/clang/<version>, which Debian's
// libclang-common-<major>-dev has; the resource folder is where clang looks for
// it when nobody says otherwise, ../lib/clang/<major> of itself (clang's
// Driver::GetResourcesPath).
func FromTree(root string, host platform.Platform) (Install, error) {
	in, err := fromTree(root, host)
	if err != nil {
		return Install{}, fmt.Errorf("llvm in the packages for %s: %w", host, err)
	}
	return in, nil
}

func fromTree(root string, host platform.Platform) (Install, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return Install{}, err
	}
	in := Install{Vendor: Debian, Triple: host.Triple(), root: real, host: host}
	prefixes, err := filepath.Glob(filepath.Join(escapeGlob(real), "usr/lib/llvm-[0-9]*"))
	if err != nil {
		return in, err
	}
	prefixes = slices.DeleteFunc(prefixes, func(p string) bool { return listTools(filepath.Join(p, "bin"))["clang"] == "" })
	switch len(prefixes) {
	case 0:
		return in, errors.New("no usr/lib/llvm-<major>/bin/clang: name the package clang-<major>")
	case 1:
		in.Prefix = prefixes[0]
	default:
		return in, fmt.Errorf("more than one clang: %s and %s", filepath.Base(prefixes[0]), filepath.Base(prefixes[1]))
	}
	if in.Major, err = strconv.Atoi(strings.TrimPrefix(filepath.Base(in.Prefix), "llvm-")); err != nil {
		return in, fmt.Errorf("%s names no major version", filepath.Base(in.Prefix))
	}
	in.BinDir, in.LibDir = filepath.Join(in.Prefix, "bin"), filepath.Join(in.Prefix, "lib")
	in.Tools = listTools(in.BinDir)
	if in.Version, err = treeVersion(real, in.Major); err != nil {
		return in, err
	}
	in.ResourceDir = filepath.Join(in.LibDir, "clang", strconv.Itoa(in.Major))
	if !isFile(filepath.Join(in.ResourceDir, "include/stddef.h")) {
		return in, fmt.Errorf("no headers of clang in usr/lib/llvm-%d/lib/clang/%d: name the package libclang-common-%d-dev", in.Major, in.Major, in.Major)
	}
	img, err := elf.Open(in.Tools["clang"])
	if err != nil {
		return in, err
	}
	if p, ok := img.Platform(); !ok || p != host {
		return in, fmt.Errorf("its clang is a program for %s: name packages of another architecture", img.MachineName())
	}
	return in, nil
}

func treeVersion(root string, major int) (string, error) {
	entries, err := os.ReadDir(filepath.Join(root, "usr/lib/clang"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, e := range entries {
		if v, err := semver.StrictNewVersion(e.Name()); err == nil && v.Major() == uint64(major) {
			return v.String(), nil
		}
	}
	return "", fmt.Errorf("no usr/lib/clang/%d.<minor>.<patch>: name the package libclang-common-%d-dev", major, major)
}

// platform is the machine that the installation's programs are for.
func (i Install) platform() platform.Platform {
	if i.host.IsZero() {
		return platform.Native()
	}
	return i.host
}

// enclosed makes sure that a tree's files are its own: a symbolic link in a
// package could lead to a file of this machine.
func (i Install) enclosed(l *layout) error {
	if i.host.IsZero() {
		return nil
	}
	for _, f := range l.sorted() {
		if f.source == "" {
			continue
		}
		if rel, err := filepath.Rel(i.root, f.source); err != nil || !filepath.IsLocal(rel) {
			return fmt.Errorf("%s would be %s, which no package holds", f.dest, f.source)
		}
	}
	return nil
}

// treeLicences are the licence texts of all packages of a tree: which package a
// file was in is not known any more, and a tree is made of packages that were
// named for its sake.
func (i Install) treeLicences() (owners []owner, err error) {
	found, err := filepath.Glob(filepath.Join(escapeGlob(i.root), "usr/share/doc/*/copyright"))
	if err != nil {
		return nil, err
	}
	for _, text := range found {
		real, err := filepath.EvalSymlinks(text)
		if err != nil {
			return nil, err
		}
		if rel, err := filepath.Rel(i.root, real); err != nil || !filepath.IsLocal(rel) {
			return nil, fmt.Errorf("%s leads out of the packages", text)
		}
		name := filepath.Base(filepath.Dir(text))
		if packageName.MatchString(name) {
			owners = append(owners, owner{name, []string{escapeGlob(real)}})
		}
	}
	return owners, nil
}
