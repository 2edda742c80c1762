package audit

import (
	delf "debug/elf"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// elfFormat checks ELF images by the rules of ld.so(8), with an empty
// environment and with the bundle at any place.
type elfFormat struct {
	platform platform.Platform
	floor    map[string]string
	tree     *tree

	mu sync.Mutex
	// images has a file under each of its names, files counts it once.
	images map[string]*elfImage
	files  int
}

type elfImage struct {
	*elf.Image
	path string
}

func (f *elfFormat) sniff(head []byte) bool { return elf.IsELF(head) }

func (f *elfFormat) load(e *entry, r io.ReaderAt) loaded {
	img, err := elf.Read(r, e.size)
	if err != nil {
		return loaded{findings: []Finding{finding(e.path, ruleELFDamaged, "cannot be read: "+err.Error(), "make it again")}}
	}
	if img.Machine == elf.MachineAMDGPU || img.Type == delf.ET_REL {
		// Code for a GPU is what the bundle is about, and relocatable objects
		// may be for any target that its compilers have.
		return loaded{}
	}
	if p, ok := img.Platform(); !ok || p != f.platform {
		return loaded{findings: []Finding{finding(e.path, ruleELFMachine,
			fmt.Sprintf("is for %s, in a bundle for %s", img.MachineName(), f.platform), "build it for "+f.platform.String())}}
	}
	f.mu.Lock()
	f.files++
	for _, name := range e.names() {
		f.images[name] = &elfImage{Image: img, path: name}
	}
	f.mu.Unlock()
	var out []Finding
	if img.Program() && e.mode.Perm()&0o111 == 0 && path.Base(path.Dir(e.path)) == "bin" {
		out = append(out, finding(e.path, ruleMode, fmt.Sprintf("is a program with mode %04o: not executable", octal(e.mode)), "set mode 0755"))
	}
	if want := elf.Interpreter(f.platform); img.Program() && img.Interp != "" && img.Interp != want {
		out = append(out, finding(e.path, ruleELFInterp, fmt.Sprintf("starts through %q", img.Interp), "link it with --dynamic-linker="+want))
	}
	return loaded{program: img.Program(), findings: out}
}

func (f *elfFormat) finish(r *Report) []Finding {
	var out []Finding
	r.Images += f.files
	newest := map[string]Floor{}
	closure := &elfClosure{format: f, seen: map[string]bool{}}
	for _, name := range slices.Sorted(maps.Keys(f.images)) {
		img := f.images[name]
		out = append(out, f.searchPath(img)...)
		closure.add(img, path.Dir(name))
		for family, version := range img.MaxVersions() {
			if old, ok := newest[family]; !ok || elf.CompareVersions(version, old.Version) > 0 {
				newest[family] = Floor{Family: family, Version: version, File: name}
			}
			if limit, ok := f.floor[family]; ok && elf.CompareVersions(version, limit) > 0 {
				over := finding(name, ruleGlibc, fmt.Sprintf("asks for %s_%s, and the bundle may ask for %s at most", family, version, limit),
					"build it on an older system, or raise the floor")
				over.Severity = Error
				out = append(out, over)
			}
		}
	}
	out = append(out, closure.run()...)
	for _, family := range slices.Sorted(maps.Keys(newest)) {
		n := newest[family]
		r.Floor = append(r.Floor, n)
		out = append(out, finding(n.File, ruleGlibc, fmt.Sprintf("asks for %s_%s, the newest of the bundle", n.Family, n.Version), ""))
	}
	return out
}

// searchPath checks an image's own search path, entry by entry.
func (f *elfFormat) searchPath(img *elfImage) []Finding {
	var out []Finding
	origin := path.Dir(img.path)
	if img.RPath != nil {
		what := "has an RPATH, which the files that it loads inherit"
		if img.RunPath != nil {
			what = "has an RPATH beside its RUNPATH, which the loader ignores"
		}
		out = append(out, finding(img.path, ruleELFRPathLegacy, what, "link with --enable-new-dtags"))
	}
	dirs := map[string]string{}
	for _, entry := range img.SearchPath() {
		expanded, ok := elf.ExpandOrigin(entry, origin)
		if !ok {
			what := fmt.Sprintf("searches %q, which does not start with $ORIGIN", entry)
			switch {
			case entry == "":
				what = "searches the working directory, by an empty entry"
			case strings.Contains(entry, "$"):
				what = fmt.Sprintf("searches %q, which means another folder on another machine", entry)
			}
			out = append(out, finding(img.path, ruleELFRPathAbsolute, what, "set a RUNPATH of $ORIGIN/…"))
			continue
		}
		dir, how := f.tree.resolve(expanded)
		if how == escapes || how == absolute {
			out = append(out, finding(img.path, ruleELFEscapes, fmt.Sprintf("searches %q, outside the bundle", entry), "set a RUNPATH that stays inside"))
			continue
		}
		// What is not there is compared by its text.
		place := path.Clean(expanded)
		if how == found {
			place = dir.path
		}
		if first, twice := dirs[place]; twice {
			out = append(out, finding(img.path, ruleELFDuplicate, fmt.Sprintf("searches %q, the same folder as %q", entry, first), "leave one of them out"))
			continue
		}
		dirs[place] = entry
		// An inherited path may be there for others, and a path without any
		// need for plugins that are loaded by name.
		if img.RunPath != nil && !f.useful(img, expanded) {
			out = append(out, finding(img.path, ruleELFUnused, fmt.Sprintf("searches %q, where nothing is that it needs", entry), "leave it out"))
		}
	}
	return out
}

// useful reports whether a folder holds something that an image needs.
func (f *elfFormat) useful(img *elfImage, dir string) bool {
	return slices.ContainsFunc(img.Needed, func(name string) bool {
		e, how := f.tree.resolve(dir + "/" + name)
		return how == found && e.mode.IsRegular() && !strings.Contains(name, "/")
	})
}

// elfClosure follows needed names from every image. A library's $ORIGIN is the
// folder it was found in, which a symlink may make another than its own, so
// each pair of image and folder counts.
type elfClosure struct {
	format *elfFormat
	queue  []elfLoad
	seen   map[string]bool
}

type elfLoad struct {
	img    *elfImage
	origin string
}

func (c *elfClosure) add(img *elfImage, origin string) {
	if key := img.path + "\x00" + origin; !c.seen[key] {
		c.seen[key] = true
		c.queue = append(c.queue, elfLoad{img, origin})
	}
}

func (c *elfClosure) run() []Finding {
	var out []Finding
	for len(c.queue) > 0 {
		load := c.queue[0]
		c.queue = c.queue[1:]
		for _, name := range load.img.Needed {
			out = append(out, c.need(load, name)...)
		}
	}
	return out
}

// need looks for one name as the loader does.
func (c *elfClosure) need(load elfLoad, name string) []Finding {
	if strings.Contains(name, "/") {
		return []Finding{finding(load.img.path, ruleELFNeeded, fmt.Sprintf("needs %q by its path", name), "give the library a SONAME without a slash and link again")}
	}
	var passed []string
	for _, entry := range load.img.SearchPath() {
		dir, ok := elf.ExpandOrigin(entry, load.origin)
		if !ok {
			continue
		}
		e, how := c.format.tree.resolve(dir + "/" + name)
		if how != found || !e.mode.IsRegular() {
			continue
		}
		lib := c.format.images[e.path]
		if lib == nil || lib.Type != delf.ET_DYN {
			passed = append(passed, e.path+" is there, and is no library for "+c.format.platform.String())
			continue
		}
		// Where it was found, links in the folder's own path not followed:
		// only the folder's place in the tree decides.
		if at, how := c.format.tree.resolve(dir); how == found {
			c.add(lib, at.path)
		}
		return nil
	}
	if elf.IsBase(name) {
		return nil
	}
	what := fmt.Sprintf("needs %s, which its RUNPATH does not find and the base system does not have", name)
	if load.origin != path.Dir(load.img.path) {
		what = fmt.Sprintf("needs %s, which its RUNPATH does not find when it is loaded from %s", name, load.origin)
	}
	if len(passed) > 0 {
		what += "; " + strings.Join(passed, "; ")
	}
	fix := "adopt or build the library into the bundle"
	for _, place := range c.format.tree.base[name] {
		if e, how := c.format.tree.resolve(place); how == found && c.format.images[e.path] != nil {
			fix = "set RUNPATH to " + originTo(load.origin, path.Dir(place))
			break
		}
	}
	return []Finding{finding(load.img.path, ruleELFNeeded, what, fix)}
}

// originTo writes the way from one folder of the bundle to another.
func originTo(from, to string) string {
	var a, b []string
	if from != "." {
		a = strings.Split(from, "/")
	}
	if to != "." {
		b = strings.Split(to, "/")
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	parts := []string{"$ORIGIN"}
	for range a {
		parts = append(parts, "..")
	}
	return strings.Join(append(parts, b...), "/")
}
