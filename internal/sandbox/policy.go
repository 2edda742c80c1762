// Package sandbox keeps build steps apart from the machine they run on: they
// see no network, write nowhere but in their own folders, and do not see what
// lies in the user's home, under /opt or in another component's result.
//
// On Linux the work is done by bubblewrap (bwrap(1)), the unprivileged
// container program that Flatpak runs everything in. Where it is not there or
// may not work, a build goes on without; Probe says which of the two it is.
package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Access says what a step may see and write. All paths are absolute.
type Access struct {
	// Hidden are folders that are empty for the step. Those that are not
	// there, and those without which no program runs, are left out: the home
	// of some users is /.
	Hidden []string
	// Readable are files and folders that stay to be seen although they lie in
	// a hidden folder. Nothing of them can be written.
	Readable []string
	// Writable are the folders in which the step may write.
	Writable []string
}

// Policy is an Access that has been held against the file system: what is done
// to which place, outer places before inner ones, so that the innermost counts.
type Policy struct {
	// NewSession cuts the program off from the terminal that it is started at.
	// One that leads a session of its own already, as those of package child,
	// needs no other; and what is left of a second one after bubblewrap's end
	// could not be told to be the program's, nor what it has used be counted.
	NewSession bool

	places []place
}

type place struct {
	kind   kind
	path   string
	target string // of a link
}

type kind int

// In rising order of what is seen: of two for one place the later one counts.
const (
	hide kind = iota
	link
	show
	write
)

// Resolve follows the symbolic links of an Access. A name that leads through
// links into a hidden folder works inside as it does outside: the links are
// made there again.
func Resolve(a Access) (Policy, error) {
	at := map[string]place{}
	put := func(p place) {
		if old, ok := at[p.path]; !ok || p.kind > old.kind {
			at[p.path] = p
		}
	}
	var hidden []string
	for _, dir := range a.Hidden {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || slices.Contains(system(), real) {
			continue
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			continue
		}
		hidden = append(hidden, real)
		put(place{kind: hide, path: real})
	}
	within := func(path string) bool {
		return slices.ContainsFunc(hidden, func(dir string) bool { return below(path, dir) })
	}
	for _, group := range []struct {
		kind  kind
		paths []string
	}{{show, a.Readable}, {write, a.Writable}} {
		for _, path := range group.paths {
			links, real, err := trace(path)
			if err != nil {
				return Policy{}, fmt.Errorf("isolation: %w", err)
			}
			for _, l := range links {
				if within(l.path) {
					put(l)
				}
			}
			if group.kind == write || within(real) {
				put(place{kind: group.kind, path: real})
			}
		}
	}
	var p Policy
	for _, one := range at {
		// A folder that is shown brings its links along, and bubblewrap makes
		// none where something is: python3 beside python3.12 in one bin.
		if one.kind != link || around(at, one.path) == hide {
			p.places = append(p.places, one)
		}
	}
	slices.SortFunc(p.places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	return p, nil
}

// around is what is done to the innermost place that holds a path, hide where
// there is none.
func around(at map[string]place, path string) kind {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if p, ok := at[dir]; ok && p.kind != link {
			return p.kind
		}
		if dir == "/" {
			return hide
		}
	}
}

// system are the folders without which no program runs.
func system() []string {
	return []string{"/", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/usr/bin", "/usr/lib"}
}

// maxLinks is the kernel's bound for one name (path_resolution(7)).
const maxLinks = 40

// trace follows a name as the kernel does, and returns the symbolic links on
// its way and the place where it ends.
func trace(path string) (links []place, real string, err error) {
	if !filepath.IsAbs(path) {
		return nil, "", fmt.Errorf("%q is not absolute", path)
	}
	rest := strings.Split(filepath.Clean(path)[1:], "/")
	real = "/"
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, name)
		info, err := os.Lstat(next)
		if err != nil {
			return nil, "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			real = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return nil, "", err
		}
		if links = append(links, place{kind: link, path: next, target: target}); len(links) > maxLinks {
			return nil, "", fmt.Errorf("%s: too many symbolic links", path)
		}
		if filepath.IsAbs(target) {
			real = "/"
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return links, real, nil
}

// below reports whether path is dir or lies in it.
func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Program gives what has to be readable for a program to work: the prefix that
// it is installed in (/home/me/.local for /home/me/.local/bin/cmake), or its
// folder alone where that is no bin, or where the prefix would be a home.
// Symbolic links are followed first, as programs do that look for their files.
// Python's virtual environments are looked for by the name instead, so those on
// the way are readable too.
func Program(path string, homes []string) []string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return []string{path}
	}
	private := func(prefix string) bool { // all of a home, or of the machine
		return prefix == "/" || slices.ContainsFunc(homes, func(h string) bool { return below(h, prefix) })
	}
	dir := filepath.Dir(real)
	if base := filepath.Base(dir); base == "bin" || base == "sbin" || base == "shims" {
		if prefix := filepath.Dir(dir); !private(prefix) {
			dir = prefix
		}
	}
	all := []string{path, dir}
	links, _, _ := trace(path) // an error would have been one above
	for _, l := range links {
		// https://docs.python.org/3/library/site.html: pyvenv.cfg lies beside
		// the program or a folder above it.
		prefix := filepath.Dir(filepath.Dir(l.path))
		if _, err := os.Stat(filepath.Join(prefix, "pyvenv.cfg")); err == nil && !private(prefix) && !slices.Contains(all, prefix) {
			all = append(all, prefix)
		}
	}
	return all
}
