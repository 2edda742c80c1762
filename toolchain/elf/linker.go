package elf

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// maxClosure bounds the libraries of one closure.
const maxClosure = 4096

// Linker finds libraries as the dynamic loader of a system does (ld.so(8)),
// but with an empty environment: LD_LIBRARY_PATH plays no part.
type Linker struct {
	root     string
	platform platform.Platform
	cache    map[string][]string
	images   map[string]*Image
}

// Library is one shared library that something needs.
type Library struct {
	// Name is the name that was asked for (DT_NEEDED).
	Name string
	// Path is where the loader finds it, under the linker's root; Real is the
	// same with symlinks followed.
	Path, Real string
	Image      *Image
	// NeededBy is the first file that asked for it.
	NeededBy string
	// Private reports whether it needs something outside the base itself, and
	// so needs a search path.
	Private bool
}

// Missing is a library that no rule finds.
type Missing struct{ Name, NeededBy string }

func (m Missing) String() string { return m.Name + " (needed by " + m.NeededBy + ")" }

// Closure is what a set of files needs.
type Closure struct {
	// Libraries are those to carry along, in the order they were found.
	Libraries []Library
	// Base are the names taken from the system (IsBase), in the order met.
	Base []string
	// Missing are those that were not found.
	Missing []Missing
}

// NewLinker returns the linker of the system under root ("/" for this one). A
// system without an ld.so.cache has only the default folders.
func NewLinker(root string, p platform.Platform) (*Linker, error) {
	if p.OS != "linux" {
		return nil, fmt.Errorf("elf files of %s: there are none", p)
	}
	l := &Linker{root: root, platform: p, images: map[string]*Image{}}
	var err error
	l.cache, err = readCache(filepath.Join(root, "etc/ld.so.cache"), p)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return l, nil
}

// defaultDirs are the folders searched last: those of upstream glibc, of
// Debian's multiarch, and of Fedora.
func (l *Linker) defaultDirs() []string {
	multiarch := "x86_64-linux-gnu"
	if l.platform.Arch == "arm64" {
		multiarch = "aarch64-linux-gnu"
	}
	return []string{"/lib/" + multiarch, "/usr/lib/" + multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib"}
}

// Find returns the file that a needed name leads to. needer is the image that
// needs it and origin the folder it was loaded from. inherited are the
// expanded DT_RPATH folders of the files that led to it. A file for another
// machine is passed over, as the loader does.
func (l *Linker) Find(name string, needer *Image, origin string, inherited []string) (string, *Image, bool) {
	if strings.Contains(name, "/") {
		// A name with a slash is a path, and only an absolute one has a
		// meaning that does not depend on the working directory.
		if filepath.IsAbs(name) {
			return l.try(filepath.Join(l.root, name))
		}
		return "", nil, false
	}
	var dirs []string
	if needer.RunPath == nil {
		dirs = append(l.expand(needer.RPath, origin), inherited...)
	}
	dirs = append(dirs, l.expand(needer.RunPath, origin)...)
	for _, dir := range dirs {
		if path, img, ok := l.try(dir + "/" + name); ok {
			return path, img, true
		}
	}
	for _, path := range l.cache[name] {
		if path, img, ok := l.try(filepath.Join(l.root, path)); ok {
			return path, img, true
		}
	}
	for _, dir := range l.defaultDirs() {
		if path, img, ok := l.try(filepath.Join(l.root, dir, name)); ok {
			return path, img, true
		}
	}
	return "", nil, false
}

// expand turns entries into folders; those that cannot be used are dropped.
func (l *Linker) expand(entries []string, origin string) []string {
	var dirs []string
	for _, entry := range entries {
		if dir, ok := ExpandOrigin(entry, origin); ok {
			dirs = append(dirs, dir)
		} else if filepath.IsAbs(entry) && !strings.Contains(entry, "$") {
			dirs = append(dirs, filepath.Join(l.root, entry))
		}
	}
	return dirs
}

func (l *Linker) try(path string) (string, *Image, bool) {
	img, known := l.images[path]
	if !known {
		img, _ = Open(path)
		l.images[path] = img
	}
	if img == nil || img.Type != elf.ET_DYN {
		return "", nil, false
	}
	if p, ok := img.Platform(); !ok || p != l.platform {
		return "", nil, false
	}
	return path, img, true
}

// Closure finds what files need, and what that needs in turn, the base
// excepted. The files themselves must be dynamic images of the platform.
func (l *Linker) Closure(files []string) (*Closure, error) {
	type item struct {
		path, origin string
		image        *Image
		inherited    []string
		library      int // Index in Libraries, or -1.
	}
	var queue []item
	for _, file := range files {
		// $ORIGIN of a program is the folder of the real file: the kernel
		// resolves symlinks before the loader sees the name.
		file, err := filepath.EvalSymlinks(file)
		if err != nil {
			return nil, err
		}
		img, err := Open(file)
		if err != nil {
			return nil, err
		}
		if p, ok := img.Platform(); !ok || p != l.platform {
			return nil, fmt.Errorf("%s is for %s, not for %s", file, img.MachineName(), l.platform)
		}
		queue = append(queue, item{path: file, origin: filepath.Dir(file), image: img, library: -1})
	}
	c := &Closure{}
	// As in a process, a name is looked up once: the first file found under
	// it serves all that ask for it.
	seen := map[string]bool{}
	for len(queue) > 0 {
		it := queue[0]
		queue = queue[1:]
		inherited := it.inherited
		if it.image.RunPath == nil {
			inherited = append(l.expand(it.image.RPath, it.origin), inherited...)
		}
		for _, name := range it.image.Needed {
			if !IsBase(name) && it.library >= 0 {
				c.Libraries[it.library].Private = true
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			if IsBase(name) {
				c.Base = append(c.Base, name)
				continue
			}
			path, img, ok := l.Find(name, it.image, it.origin, it.inherited)
			if !ok {
				c.Missing = append(c.Missing, Missing{name, it.path})
				continue
			}
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				return nil, err
			}
			if len(c.Libraries) >= maxClosure {
				return nil, fmt.Errorf("more than %d libraries are needed", maxClosure)
			}
			c.Libraries = append(c.Libraries, Library{Name: name, Path: filepath.Clean(path), Real: real, Image: img, NeededBy: it.path})
			queue = append(queue, item{path: real, origin: filepath.Dir(path), image: img,
				inherited: inherited, library: len(c.Libraries) - 1})
		}
	}
	return c, nil
}
