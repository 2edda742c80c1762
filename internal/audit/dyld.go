package audit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// dyld follows install names as the loader of macOS 12 and newer does (dyld4,
// Loader.cpp: expandAtLoaderPath, expandAtExecutablePath, forEachPath), with an
// empty environment. An image's @loader_path is the folder of the file itself,
// symlinks followed. @rpath tries the run paths of the image, then of what
// loaded it, up to the program. What another image has loaded by chance does
// not count.
type dyld struct {
	*machOFormat
	units []*dyldUnit
	// byName has the units by path and architecture.
	byName map[string]*dyldUnit
	// mains are the folders of programs, by architecture.
	mains map[string][]string
	out   []Finding
}

// dyldUnit is an image under one name of its file.
type dyldUnit struct {
	*machOImage
	name, dir string
	needs     []*dyldNeed
	used      []bool // Of each run path: it is of use, or told to be wrong.
	reached   bool
	// offers are the exports as a set, made when they are first asked for.
	offers map[string]bool
}

// dyldNeed is one dependency.
type dyldNeed struct {
	macho.Dylib
	// system is set when macOS has it, at is its install name there.
	system bool
	at     string
	// own is what the image finds by itself, nil for nothing.
	own *dyldUnit
	// all are those that it is bound to, one for nearly every need.
	all []*dyldUnit
	// passed are files that have the name and cannot be it.
	passed []string
	// lent is the name of an image whose run path or place it takes to find it.
	lent string
	told bool
}

func newDyld(f *machOFormat) *dyld {
	d := &dyld{machOFormat: f, byName: map[string]*dyldUnit{}, mains: map[string][]string{}}
	for _, m := range f.images {
		for _, name := range m.entry.names() {
			u := &dyldUnit{machOImage: m, name: name, dir: path.Dir(name), used: make([]bool, len(m.Rpaths))}
			d.units = append(d.units, u)
			d.byName[name+"\x00"+m.Arch()] = u
			if dirs := d.mains[m.Arch()]; u.main() && !slices.Contains(dirs, u.dir) {
				d.mains[m.Arch()] = append(dirs, u.dir)
			}
		}
	}
	slices.SortStableFunc(d.units, func(x, y *dyldUnit) int { return strings.Compare(x.name, y.name) })
	return d
}

func (u *dyldUnit) main() bool { return u.Type == macho.TypeExecute }

func (u *dyldUnit) finding(rule, what, fix string) Finding {
	return finding(u.name, rule, u.prefix+what, fix)
}

func (d *dyld) add(u *dyldUnit, rule, what, fix string) {
	d.out = append(d.out, u.finding(rule, what, fix))
}

func (d *dyld) run() []Finding {
	for _, u := range d.units {
		d.rpaths(u)
		for k := range u.Dylibs {
			u.needs = append(u.needs, d.own(u, u.Dylibs[k]))
		}
	}
	for _, u := range d.units {
		if u.main() {
			d.load(u, []string{u.dir})
		}
	}
	// Plugins and libraries for others' programs: first those that nothing of
	// the bundle needs, then what is left of circles.
	needed := map[*dyldUnit]bool{}
	for _, u := range d.units {
		for _, n := range u.needs {
			if n.own != nil && n.own != u {
				needed[n.own] = true
			}
		}
	}
	for _, circles := range []bool{false, true} {
		for _, u := range d.units {
			if !u.reached && (circles || !needed[u]) {
				d.load(u, d.mains[u.Arch()])
			}
		}
	}
	for _, u := range d.units {
		d.conclude(u)
	}
	return d.out
}

// rpaths checks an image's run paths, one by one.
func (d *dyld) rpaths(u *dyldUnit) {
	places, texts := map[string]string{}, map[string]bool{}
	for k, entry := range u.Rpaths {
		told := len(d.out)
		d.rpath(u, entry, texts, places)
		u.used[k] = len(d.out) > told
	}
}

func (d *dyld) rpath(u *dyldUnit, entry string, texts map[string]bool, places map[string]string) {
	if texts[entry] {
		d.add(u, ruleMachORPathTwice, fmt.Sprintf("has the run path %q twice, and macOS 15.4 and newer load no such image", entry), "leave one of them out")
		return
	}
	texts[entry] = true
	// The place in the tree; what is not there is compared by its text.
	place := path.Clean(entry)
	if at, ok := u.expand(entry, d.ownDirs(u)); ok {
		dir, how := d.tree.resolve(at)
		if how == escapes || how == absolute {
			d.add(u, ruleMachORPathOut, fmt.Sprintf("has the run path %q, outside the bundle", entry), "set a run path that stays inside")
			return
		}
		if place = path.Clean(at); how == found {
			place = dir.path
		}
	} else if !isSystem(place) && !below(entry, "@executable_path") {
		d.add(u, ruleMachORPathAbs, fmt.Sprintf("has the run path %q, which does not start with @loader_path", entry), "set a run path of @loader_path/…")
		return
	}
	if first, twice := places[place]; twice {
		f := u.finding(ruleMachORPathTwice, fmt.Sprintf("has the run path %q, the same folder as %q", entry, first), "leave one of them out")
		f.Severity = Warning // dyld compares them as text.
		d.out = append(d.out, f)
		return
	}
	places[place] = entry
}

// ownDirs are the folders that @executable_path means to an image by itself.
func (d *dyld) ownDirs(u *dyldUnit) []string {
	if u.main() {
		return []string{u.dir}
	}
	return nil
}

// below reports whether a path begins with a variable of dyld's.
func below(name, variable string) bool {
	rest, ok := strings.CutPrefix(name, variable)
	return ok && (rest == "" || rest[0] == '/')
}

// expand writes a name or run path as a path of the tree. mains are the folders
// that @executable_path may be; only the first is taken.
func (u *dyldUnit) expand(name string, mains []string) (string, bool) {
	switch {
	case below(name, "@loader_path"):
		return u.dir + "/" + strings.TrimPrefix(name, "@loader_path"), true
	case below(name, "@executable_path") && len(mains) > 0:
		return mains[0] + "/" + strings.TrimPrefix(name, "@executable_path"), true
	}
	return "", false
}

// own looks for a dependency with what the image itself says.
func (d *dyld) own(u *dyldUnit, lib macho.Dylib) *dyldNeed {
	n := &dyldNeed{Dylib: lib}
	if isSystem(lib.Name) {
		n.system, n.at = true, lib.Name
		return n
	}
	rest, ok := strings.CutPrefix(lib.Name, "@rpath/")
	if !ok {
		if at, ok := u.expand(lib.Name, d.ownDirs(u)); ok {
			n.own = d.candidate(u, n, at)
		}
		return n
	}
	for k, entry := range u.Rpaths {
		if at := path.Clean(entry) + "/" + rest; isSystem(at) {
			// Whether macOS has it there is known of public ones only.
			if n.own == nil && !n.system && (isPublic(at) || d.known(at, u)) {
				n.system, n.at = true, at
				u.used[k] = true
			}
			continue
		}
		dir, ok := u.expand(entry, d.ownDirs(u))
		if !ok {
			continue
		}
		if lib := d.candidate(u, n, dir+"/"+rest); lib != nil {
			u.used[k] = true
			if n.own == nil && !n.system {
				n.own = lib
			}
		}
	}
	return n
}

func (d *dyld) known(name string, u *dyldUnit) bool {
	if d.system == nil {
		return false
	}
	_, ok := d.system.SystemLibrary(name, u.minOS())
	return ok
}

// candidate is the library at a path of the tree, if it is one for u.
func (d *dyld) candidate(u *dyldUnit, n *dyldNeed, at string) *dyldUnit {
	e, how := d.tree.resolve(at)
	if how != found || !e.mode.IsRegular() {
		return nil
	}
	lib := d.byName[e.path+"\x00"+u.Arch()]
	if lib == nil && u.Arch() == "x86_64h" {
		lib = d.byName[e.path+"\x00x86_64"]
	}
	if lib == nil || lib.Type != macho.TypeDylib {
		if what := e.path + " is there, and is no dylib for " + u.Arch(); !slices.Contains(n.passed, what) {
			n.passed = append(n.passed, what)
		}
		return nil
	}
	return lib
}

// dyldLink is an image and the chain of those that loaded it.
type dyldLink struct {
	unit *dyldUnit
	by   *dyldLink
}

// String is the chain by name, from the first that was loaded to this one.
func (l *dyldLink) String() string {
	var names []string
	for ; l != nil; l = l.by {
		names = append(names, l.unit.name)
	}
	slices.Reverse(names)
	return strings.Join(names, " → ")
}

// load loads an image and all that it needs, each once, in dyld's order.
func (d *dyld) load(root *dyldUnit, mains []string) {
	seen := map[*dyldUnit]bool{root: true}
	for queue := []*dyldLink{{unit: root}}; len(queue) > 0; queue = queue[1:] {
		link := queue[0]
		link.unit.reached = true
		for _, n := range link.unit.needs {
			lib := n.own
			if lib == nil && !n.system {
				lib = d.chain(link, n, mains)
			}
			if lib == nil {
				if !n.system && !n.told {
					n.told = true
					d.missing(link, n)
				}
				continue
			}
			if !slices.Contains(n.all, lib) {
				n.all = append(n.all, lib)
			}
			if !seen[lib] {
				seen[lib] = true
				queue = append(queue, &dyldLink{lib, link})
			}
		}
	}
}

// chain looks for what an image does not find by itself.
func (d *dyld) chain(link *dyldLink, n *dyldNeed, mains []string) *dyldUnit {
	rest, ok := strings.CutPrefix(n.Name, "@rpath/")
	for _, dir := range mains {
		one := []string{dir}
		if !ok {
			if at, ok := link.unit.expand(n.Name, one); ok {
				if lib := d.candidate(link.unit, n, at); lib != nil {
					n.lent = "the programs in " + dir
					return lib
				}
			}
			continue
		}
		if lib := d.stack(link, n, rest, one); lib != nil {
			return lib
		}
	}
	if ok && len(mains) == 0 {
		return d.stack(link, n, rest, nil)
	}
	return nil
}

// stack tries the run paths of an image and of those that loaded it.
func (d *dyld) stack(link *dyldLink, n *dyldNeed, rest string, mains []string) *dyldUnit {
	for l := link; l != nil; l = l.by {
		for k, entry := range l.unit.Rpaths {
			if dir, ok := l.unit.expand(entry, mains); ok {
				if lib := d.candidate(link.unit, n, dir+"/"+rest); lib != nil {
					l.unit.used[k] = true
					if n.lent = l.unit.name; below(entry, "@executable_path") {
						n.lent = "the programs in " + mains[0]
					}
					return lib
				}
			}
		}
	}
	return nil
}

// missing says that a dependency is not found.
func (d *dyld) missing(link *dyldLink, n *dyldNeed) {
	u := link.unit
	leaf := path.Base(n.Name)
	what := fmt.Sprintf("needs %q, which no run path finds", n.Name)
	optional := n.Kind == macho.Weak
	switch {
	case path.IsAbs(n.Name):
		what, optional = fmt.Sprintf("needs %q, which is neither in the bundle nor a part of macOS", n.Name), false
	case below(n.Name, "@executable_path") && len(d.mains[u.Arch()]) == 0:
		what = fmt.Sprintf("needs %q, and the bundle has no program", n.Name)
	case below(n.Name, "@loader_path") || below(n.Name, "@executable_path"):
		what = fmt.Sprintf("needs %q, which is not there", n.Name)
	case !below(n.Name, "@rpath"):
		what, optional = fmt.Sprintf("needs %q, which is looked for in the working directory", n.Name), false
	case link.by != nil:
		what += fmt.Sprintf(" (loaded by %s)", link.by)
	}
	if len(n.passed) > 0 {
		what += "; " + strings.Join(n.passed, "; ")
	}
	fix := "adopt or build the library into the bundle"
	for _, place := range d.tree.base[leaf] {
		if e, how := d.tree.resolve(place); how == found && d.byName[e.path+"\x00"+u.Arch()] != nil {
			to := strings.Replace(originTo(u.dir, path.Dir(place)), "$ORIGIN", "@loader_path", 1)
			if fix = "add the run path " + to; !below(n.Name, "@rpath") {
				fix = "change the name to @rpath/" + leaf + " and " + fix
			}
			break
		}
	}
	f := u.finding(ruleMachONeeded, what, fix)
	if optional {
		f.What += "; it is weak, so dyld goes on without it"
		f.Severity = Warning
	}
	d.out = append(d.out, f)
}

// conclude checks what an image is bound to.
func (d *dyld) conclude(u *dyldUnit) {
	for k, entry := range u.Rpaths {
		if !u.used[k] {
			d.add(u, ruleMachORPathUnused, fmt.Sprintf("has the run path %q, where nothing is that it needs", entry), "leave it out")
		}
	}
	for _, n := range u.needs {
		if n.system && !isPublic(n.at) && !d.known(n.at, u) {
			d.add(u, ruleMachOSystem, fmt.Sprintf("needs %s, which is no public library of macOS", n.at), "link what the SDK has a stub of")
		}
		if n.lent != "" && !u.main() {
			d.add(u, ruleMachORPathLent, fmt.Sprintf("needs %q, which it finds only by what %s lends it", n.Name, n.lent), "give it a run path of its own")
		}
		for _, lib := range n.all {
			if v := lib.minOS(); v > u.minOS() {
				d.add(u, ruleMachOMinOSNeeded, fmt.Sprintf("is for macOS %s, and needs %s, which is for %s", u.minOS(), lib.name, v), "build both for the same macOS")
			}
			if lib.ID != nil && lib.ID.Compatibility < n.Compatibility {
				d.add(u, ruleMachOVersion, fmt.Sprintf("needs %s with compatibility version %s, and it has %s", lib.name, n.Compatibility, lib.ID.Compatibility), "link it with the library that is in the bundle")
			}
		}
	}
	d.symbols(u)
}
