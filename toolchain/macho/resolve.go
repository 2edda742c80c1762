package macho

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const rpathToken = "@rpath/"

// tail is the part of a path or install name by which a dylib is known: its
// leaf, or in a framework all from the framework's folder on.
func tail(name string) string {
	parts := strings.Split(name, "/")
	for k, p := range parts[:len(parts)-1] {
		if strings.HasSuffix(p, ".framework") {
			return strings.Join(parts[k:], "/")
		}
	}
	return parts[len(parts)-1]
}

// paths are all names of a file, links last.
func (f *treeFile) paths() []string { return slices.Concat(f.names, f.aliases) }

// index makes a dylib known by its id and by the tails of its names.
func (t *tree) index(f *treeFile) {
	if !f.dylib {
		return
	}
	for _, img := range f.file.Images {
		if img.ID != nil && !slices.Contains(t.byID[img.ID.Name], f) {
			t.byID[img.ID.Name] = append(t.byID[img.ID.Name], f)
		}
	}
	for _, p := range f.paths() {
		if k := tail(p); !slices.Contains(t.byTail[k], f) {
			t.byTail[k] = append(t.byTail[k], f)
		}
	}
}

// choose picks the names that the dylibs are known by: that of the id, if a file
// or link of that name is there; else the one that most dependents use; else the
// file's own.
func (t *tree) choose() {
	used := map[*treeFile]map[string]int{}
	for _, f := range t.files {
		for _, img := range f.file.Images {
			for _, d := range img.Dylibs {
				// An ambiguous name is an error when the dependent's turn comes.
				if to, err := t.resolve(f, img, d.Name); err == nil && to != nil {
					if used[to] == nil {
						used[to] = map[string]int{}
					}
					used[to][tail(d.Name)]++
				}
			}
		}
	}
	for _, f := range t.files {
		if !f.dylib {
			continue
		}
		f.tail = tail(f.names[0])
		best := 0
		for _, p := range f.paths() { // In order, so that equals are settled alike.
			k := tail(p)
			if k == tail(f.oldID) {
				f.tail = k
				break
			}
			if used[f][k] > best {
				f.tail, best = k, used[f][k]
			}
		}
	}
}

// depend works out the new id and the new names of dependencies.
func (t *tree) depend(f *treeFile) error {
	f.edit = Edit{Change: map[string]string{}, SetRpaths: true, Sign: SignAlways, Leaf: path.Base(f.names[0]), Resign: t.opts.Resign}
	if f.dylib {
		f.edit.ID = rpathToken + f.tail
	}
	reported := map[string]bool{}
	for _, img := range f.file.Images {
		for _, d := range img.Dylibs {
			if t.isSystem(d.Name) {
				continue
			}
			to, err := t.resolve(f, img, d.Name)
			switch {
			case err != nil:
				return err
			case to == nil:
				if !reported[d.Name] {
					reported[d.Name] = true
					t.report.Unresolved = append(t.report.Unresolved, Unresolved{f.names[0], d.Name, d.Kind})
				}
				continue
			}
			if name := rpathToken + to.tail; name != d.Name {
				f.edit.Change[d.Name] = name
			}
			if to != f && !slices.Contains(f.needs, to) {
				f.needs = append(f.needs, to)
			}
		}
	}
	return nil
}

func (t *tree) isSystem(name string) bool {
	return slices.ContainsFunc(t.system, func(p string) bool { return strings.HasPrefix(name, p) })
}

// resolve finds the dylib of the tree that an image means by an install name,
// nil for none. It tries, in this order: the place that the name says, through
// old prefixes, the image's folder or its run paths; the dylib whose id it is;
// and, unless it is absolute, the dylib of that leaf.
func (t *tree) resolve(f *treeFile, img *Image, name string) (*treeFile, error) {
	if t.isSystem(name) {
		return nil, nil
	}
	for _, rel := range t.places(f, img, name) {
		if to := t.at(rel); to != nil && to.dylib {
			return to, nil
		}
	}
	if to, err := t.one(f, name, t.byID[name]); to != nil || err != nil {
		return to, err
	}
	if path.IsAbs(name) {
		if _, inside := t.inside(name); !inside {
			return nil, nil
		}
	}
	return t.one(f, name, t.byTail[tail(name)])
}

// inside turns an absolute path below an old prefix into one of the tree.
func (t *tree) inside(name string) (string, bool) {
	clean := path.Clean(name)
	for _, p := range t.opts.Prefixes {
		if rel, ok := strings.CutPrefix(clean, p+"/"); ok {
			return rel, true
		}
	}
	return "", false
}

// places are the paths of the tree that dyld would look at.
func (t *tree) places(f *treeFile, img *Image, name string) []string {
	var out []string
	add := func(p string) {
		if p = path.Clean(p); p != ".." && !strings.HasPrefix(p, "../") && !path.IsAbs(p) {
			out = append(out, p)
		}
	}
	if rel, ok := t.inside(name); ok {
		return []string{rel}
	}
	token, rest, ok := strings.Cut(name, "/")
	if !ok {
		return nil
	}
	for _, own := range f.names {
		dir := path.Dir(own)
		switch token {
		case "@loader_path":
			add(path.Join(dir, rest))
		case "@executable_path":
			if img.Type == TypeExecute {
				add(path.Join(dir, rest))
			}
		case "@rpath":
			for _, rp := range img.Rpaths {
				if p, ok := strings.CutPrefix(rp, "@loader_path"); ok {
					add(path.Join(dir, p, rest))
				} else if p, ok := strings.CutPrefix(rp, "@executable_path"); ok && img.Type == TypeExecute {
					add(path.Join(dir, p, rest))
				} else if p, ok := t.inside(rp); ok {
					add(path.Join(p, rest))
				}
			}
		}
	}
	return out
}

// one is the only candidate, or the one that lies beside the dependent.
func (t *tree) one(f *treeFile, name string, candidates []*treeFile) (*treeFile, error) {
	if len(candidates) < 2 {
		if len(candidates) == 0 {
			return nil, nil
		}
		return candidates[0], nil
	}
	var beside []*treeFile
	for _, c := range candidates {
		if slices.ContainsFunc(c.paths(), func(p string) bool { return path.Dir(p) == path.Dir(f.names[0]) }) {
			beside = append(beside, c)
		}
	}
	if len(beside) == 1 {
		return beside[0], nil
	}
	return nil, fmt.Errorf("its dependency %q may be %s or %s: give one of them another name", name, candidates[0].names[0], candidates[1].names[0])
}

// folder is where a dylib is found by its tail: the folder of its own name if
// that will do, else of a link.
func (f *treeFile) folder() string {
	for _, p := range f.paths() {
		if tail(p) == f.tail && path.Dir(p) == path.Dir(f.names[0]) {
			return f.strip(p)
		}
	}
	for _, p := range f.paths() {
		if tail(p) == f.tail {
			return f.strip(p)
		}
	}
	return path.Dir(f.names[0])
}

func (f *treeFile) strip(p string) string {
	return path.Clean(strings.TrimSuffix(p, f.tail))
}

// rpaths works out the run paths, by rule or from the needs, and makes sure
// that dyld finds by them what is meant.
func (t *tree) rpaths(f *treeFile) error {
	var list []string
	ruled := false
	for _, r := range t.opts.Rpaths {
		if ok, _ := path.Match(r.Glob, f.names[0]); ok {
			list, ruled = r.Rpaths, true
			break
		}
	}
	if !ruled {
		// Each of several hard links may be the one that is loaded.
		for _, own := range f.names {
			for _, to := range f.needs {
				list = append(list, loaderPath(path.Dir(own), to.folder()))
			}
		}
	}
	f.edit.Rpaths = NormalizeRpaths(list)
	for _, own := range f.names {
		for _, to := range f.needs {
			if err := t.finds(f, path.Dir(own), to, ruled); err != nil {
				return err
			}
		}
	}
	return nil
}

// loaderPath is the way from one folder of the tree to another.
func loaderPath(from, to string) string {
	a, b := strings.Split(path.Clean("/"+from), "/")[1:], strings.Split(path.Clean("/"+to), "/")[1:]
	if a[0] == "" {
		a = nil
	}
	if b[0] == "" {
		b = nil
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	parts := []string{"@loader_path"}
	for range a {
		parts = append(parts, "..")
	}
	return strings.Join(append(parts, b...), "/")
}

// finds follows the new run paths as dyld will. Those of a rule may begin with
// @executable_path, which nobody can follow from here.
func (t *tree) finds(f *treeFile, dir string, to *treeFile, ruled bool) error {
	for _, rp := range f.edit.Rpaths {
		p, ok := strings.CutPrefix(rp, "@loader_path")
		if !ok {
			return nil
		}
		found := t.at(path.Join(dir, p, to.tail))
		if found == to {
			return nil
		}
		if found != nil {
			return fmt.Errorf("by its run path %s it would load %s for %s: give one of them another name", rp, found.names[0], to.names[0])
		}
	}
	if ruled {
		return fmt.Errorf("none of the run paths that a rule gives it (%s) leads to %s", strings.Join(f.edit.Rpaths, ", "), to.names[0])
	}
	return fmt.Errorf("no run path leads to %s", to.names[0])
}
