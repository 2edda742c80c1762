package audit

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Bounds on a bundle. A full one has some 20,000 files; links are followed as
// often as Linux does (MAXSYMLINKS).
const (
	maxEntries = 2_000_000
	maxFollow  = 40
	maxNames   = 4 // Of a hard-linked file that a finding lists.
)

// entry is one name of the tree.
type entry struct {
	path   string // Relative to the root, with slashes; "." is the root.
	mode   fs.FileMode
	size   int64
	target string // Of a symlink.
	// links are all names of a hard-linked file in the tree, sorted; nil for a
	// file that has one.
	links []string
	id    fileID
}

// first reports whether the entry stands for its file: the first of its names.
func (e *entry) first() bool { return len(e.links) == 0 || e.links[0] == e.path }

// names are all names that the entry's file has in the tree.
func (e *entry) names() []string {
	if len(e.links) == 0 {
		return []string{e.path}
	}
	return e.links
}

// fileID is a file's identity, and how many names it has anywhere.
type fileID struct{ dev, ino, names uint64 }

func identity(info fs.FileInfo) fileID {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileID{}
	}
	// The types of these fields differ between systems.
	return fileID{uint64(st.Dev), uint64(st.Ino), uint64(st.Nlink)}
}

// tree is a bundle's names.
type tree struct {
	entries map[string]*entry
	// base maps a file's name to the paths that end with it.
	base map[string][]string
}

// walk lists a folder without following a symlink.
func walk(ctx context.Context, root *os.Root) (*tree, error) {
	t := &tree{entries: map[string]*entry{}, base: map[string][]string{}}
	linked := map[fileID][]*entry{}
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() && t.entries[name] != nil && os.IsPermission(err) {
				return fs.SkipDir // Its mode is a finding.
			}
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(t.entries) >= maxEntries {
			return fmt.Errorf("more than %d names", maxEntries)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		e := &entry{path: name, mode: info.Mode(), size: info.Size()}
		if e.mode&fs.ModeSymlink != 0 {
			if e.target, err = root.Readlink(filepath.FromSlash(name)); err != nil {
				return err
			}
		}
		if e.mode.IsRegular() {
			if e.id = identity(info); e.id.names > 1 {
				linked[e.id] = append(linked[e.id], e)
			}
		}
		t.entries[name] = e
		t.base[path.Base(name)] = append(t.base[path.Base(name)], name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, group := range linked {
		if len(group) < 2 {
			continue
		}
		var names []string
		for _, e := range group {
			names = append(names, e.path)
		}
		slices.Sort(names)
		for _, e := range group {
			e.links = names
		}
	}
	return t, nil
}

// group makes one finding of those that say the same of several names of one
// file, and says which other names the file has.
func (t *tree) group(findings []Finding) []Finding {
	seen := map[Finding]bool{}
	var out []Finding
	for _, f := range findings {
		e := t.entries[f.File]
		if e == nil || len(e.links) == 0 {
			out = append(out, f)
			continue
		}
		f.File = ""
		if seen[f] {
			continue
		}
		seen[f] = true
		others := slices.DeleteFunc(slices.Clone(e.links), func(name string) bool { return name == e.path })
		more := ""
		if len(others) > maxNames {
			more = fmt.Sprintf(" and %d more", len(others)-maxNames)
			others = others[:maxNames]
		}
		f.File = e.path
		f.What += " (one file with " + strings.Join(others, ", ") + more + ")"
		out = append(out, f)
	}
	return out
}

// outcome is where a path leads.
type outcome int

const (
	found outcome = iota
	missing
	escapes
	absolute
	loops
)

// resolve follows a path through the tree's symlinks, as the kernel would with
// the tree at any place: a step above the root or to an absolute target leads
// outside, and is not followed.
func (t *tree) resolve(name string) (*entry, outcome) {
	pending := strings.Split(name, "/")
	at := "."
	for follows := 0; len(pending) > 0; {
		part := pending[0]
		pending = pending[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return nil, escapes
			}
			at = path.Dir(at)
			continue
		}
		if dir := t.entries[at]; dir == nil || !dir.mode.IsDir() {
			return nil, missing
		}
		next := t.entries[path.Join(at, part)]
		if next == nil {
			return nil, missing
		}
		if next.mode&fs.ModeSymlink == 0 {
			at = next.path
			continue
		}
		if follows++; follows > maxFollow {
			return nil, loops
		}
		if path.IsAbs(next.target) {
			return nil, absolute
		}
		pending = append(strings.Split(next.target, "/"), pending...)
	}
	return t.entries[at], found
}

// check applies the rules that need only names, modes and links.
func (t *tree) check() []Finding {
	var out []Finding
	folded := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(t.entries)) {
		e := t.entries[name]
		lower := strings.ToLower(name)
		folded[lower] = append(folded[lower], name)
		switch {
		case e.mode&fs.ModeSymlink != 0:
			out = append(out, t.checkLink(e)...)
		case e.mode.IsRegular(), e.mode.IsDir():
			out = append(out, checkMode(e)...)
			if n := uint64(len(e.names())); e.mode.IsRegular() && e.first() && e.id.names > n {
				out = append(out, finding(name, ruleHardLink, fmt.Sprintf("has %s outside the bundle too, where an edit would change it", count(int(e.id.names-n), "name")),
					"copy the bundle, so that the file is its own"))
			}
		default:
			out = append(out, finding(name, ruleSpecial, "is a "+kind(e.mode), "leave it out of the bundle"))
		}
	}
	for _, lower := range slices.Sorted(maps.Keys(folded)) {
		if names := folded[lower]; len(names) > 1 {
			out = append(out, finding(names[0], ruleCase, "has the same name as "+strings.Join(names[1:], ", ")+" where case does not count, as on macOS", "rename one"))
		}
	}
	return out
}

func (t *tree) checkLink(e *entry) []Finding {
	arrow := "leads to " + e.target
	if path.IsAbs(e.target) {
		return []Finding{finding(e.path, ruleLinkAbsolute, arrow+", an absolute path", "make it relative")}
	}
	dest, how := t.resolve(path.Dir(e.path) + "/" + e.target)
	switch how {
	case escapes, absolute:
		return []Finding{finding(e.path, ruleLinkEscapes, arrow+", outside the bundle", "copy the target into the bundle")}
	case loops:
		return []Finding{finding(e.path, ruleLinkLoop, arrow+", and on without an end", "make it lead to a file")}
	case missing:
		return []Finding{finding(e.path, ruleLinkDangling, arrow+", which is not there", "add the target, or leave the link out")}
	}
	if dest.mode.IsDir() && (dest.path == "." || strings.HasPrefix(e.path, dest.path+"/")) {
		return []Finding{finding(e.path, ruleLinkLoop, arrow+", a folder that holds the link itself, so that walking it does not end", "leave the link out")}
	}
	return nil
}

func checkMode(e *entry) []Finding {
	var wrong []string
	perm := e.mode.Perm()
	if e.mode&fs.ModeSetuid != 0 {
		wrong = append(wrong, "setuid")
	}
	if e.mode&fs.ModeSetgid != 0 {
		wrong = append(wrong, "setgid")
	}
	if perm&0o002 != 0 {
		wrong = append(wrong, "writable by everybody")
	}
	need := fs.FileMode(0o444)
	if e.mode.IsDir() {
		need = 0o555
	}
	if perm&need != need {
		wrong = append(wrong, "not readable by everybody")
	}
	if x := perm & 0o111; e.mode.IsRegular() && x != 0 && x != 0o111 {
		wrong = append(wrong, "executable by some only")
	}
	if len(wrong) == 0 {
		return nil
	}
	want := "0644, or 0755 for a program"
	if e.mode.IsDir() {
		want = "0755"
	}
	return []Finding{finding(e.path, ruleMode, fmt.Sprintf("has mode %04o: %s", octal(e.mode), strings.Join(wrong, ", ")), "set mode "+want)}
}

// octal is a mode in chmod's form, which Go keeps apart from its own bits.
func octal(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	if m&fs.ModeSetuid != 0 {
		bits |= 0o4000
	}
	if m&fs.ModeSetgid != 0 {
		bits |= 0o2000
	}
	if m&fs.ModeSticky != 0 {
		bits |= 0o1000
	}
	return bits
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "named pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
