package llvm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
)

// Where things go in the stage. The layout is that of upstream's install tree
// and of ROCm's lib/llvm: clang finds its headers from its own place.
const (
	destRoot = "lib/llvm"
	destBin  = destRoot + "/bin"
	destLib  = destRoot + "/lib"
	destDoc  = "share/doc/amd-llvm"
)

// maxResourceFiles bounds clang's resource folder; release 22 has 330 headers.
const maxResourceFiles = 20_000

// UnavailableError says that a host's installations cannot be adopted.
type UnavailableError struct {
	Host   string
	Reason string
}

// Error names the host and the reason, and what to do instead.
func (e *UnavailableError) Error() string {
	return fmt.Sprintf("adopting LLVM is not available for %s: %s; build amd-llvm from source", e.Host, e.Reason)
}

// MissingError names the tools and libraries that an adoption needs and the
// machine lacks.
type MissingError struct {
	Install   Install
	Tools     []string
	Libraries []elf.Missing
}

// Error names what is missing, and the packages that have the tools.
func (e *MissingError) Error() string {
	var parts []string
	if len(e.Tools) > 0 {
		part := "no " + strings.Join(e.Tools, ", ")
		lacking := e.Install
		lacking.Missing = e.Tools
		if packages := lacking.Packages(false); len(packages) > 0 {
			part += ": install " + strings.Join(packages, ", ")
		}
		parts = append(parts, part)
	}
	for _, lib := range e.Libraries {
		parts = append(parts, "library "+lib.String()+" is not found")
	}
	return fmt.Sprintf("%s cannot be adopted: %s", e.Install, strings.Join(parts, "; "))
}

// file is one file or symlink that an adoption makes.
type file struct {
	dest string // Relative to the stage, with slashes.
	// source is the real file that is copied; link the target of a symlink.
	source, link string
	// runpath is the search path of a copied image; edit is false where the
	// file's own already leads to the same folder, or for what is no image.
	runpath []string
	edit    bool
	exec    bool
}

// layout is everything that an adoption makes, by destination.
type layout struct {
	files map[string]file
	base  []string
	// absent are the optional tools that the installation lacks.
	absent []string
	// origins are files of the machine whose packages' licences apply.
	origins []string
	// resource is the resource folder's place in the stage.
	resource string
}

func (l *layout) add(f file) error {
	if old, taken := l.files[f.dest]; taken {
		if old.source == f.source && old.link == f.link {
			return nil
		}
		return fmt.Errorf("%s would come from both %s%s and %s%s", f.dest, old.source, old.link, f.source, f.link)
	}
	l.files[f.dest] = f
	return nil
}

// sorted are the files by destination.
func (l *layout) sorted() []file {
	var out []file
	for _, dest := range slices.Sorted(maps.Keys(l.files)) {
		out = append(out, l.files[dest])
	}
	return out
}

// arrange works out what an adoption of these tools makes, and copies nothing.
func arrange(ctx context.Context, in Install, tools, optional []string, links map[string]string) (*layout, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	host := in.platform()
	if host.OS != "linux" {
		return nil, &UnavailableError{Host: host.String(), Reason: "Mach-O adoption is missing"}
	}
	l := &layout{files: map[string]file{}}
	reals, err := l.addTools(in, tools, optional)
	if err != nil {
		return nil, err
	}
	if err := l.addLinks(links); err != nil {
		return nil, err
	}
	root := in.root
	if root == "" {
		root = "/"
	}
	linker, err := elf.NewLinker(root, host)
	if err != nil {
		return nil, err
	}
	closure, err := linker.Closure(reals)
	if err != nil {
		return nil, err
	}
	if len(closure.Missing) > 0 {
		return nil, &MissingError{Install: in, Libraries: closure.Missing}
	}
	l.base = slices.Sorted(slices.Values(closure.Base))
	for _, lib := range closure.Libraries {
		if err := l.addLibrary(lib); err != nil {
			return nil, err
		}
	}
	l.origins = append(l.origins, reals...)
	if err := l.addResource(in); err != nil {
		return nil, err
	}
	return l, in.enclosed(l)
}

// addTools adds each tool's real file once, under its own name, and the other
// names as symlinks to it. It returns the real files.
func (l *layout) addTools(in Install, tools, optional []string) ([]string, error) {
	var missing, reals []string
	want := map[string]bool{} // Name → required.
	for _, name := range optional {
		want[name] = false
	}
	for _, name := range tools {
		want[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if name == "" || strings.ContainsAny(name, "/\x00") || name == "." || name == ".." {
			return nil, fmt.Errorf("%q is no name of a tool", name)
		}
		found, ok := in.Tools[name]
		if !ok {
			if want[name] {
				missing = append(missing, name)
			} else {
				l.absent = append(l.absent, name)
			}
			continue
		}
		real, err := filepath.EvalSymlinks(found)
		if err != nil {
			return nil, err
		}
		base, err := l.addTool(in, real)
		if err != nil {
			return nil, fmt.Errorf("adopt %s: %w", name, err)
		}
		reals = append(reals, real)
		if name == base {
			continue
		}
		target := base
		// clang++ and clang-cpp lead to clang, as upstream installs them.
		if _, plain := want["clang"]; plain && name != "clang" && base == clangName(in.Major) {
			target = "clang"
		}
		if err := l.add(file{dest: destBin + "/" + name, link: target}); err != nil {
			return nil, err
		}
	}
	if len(missing) > 0 {
		return nil, &MissingError{Install: in, Tools: missing}
	}
	slices.Sort(reals)
	return slices.Compact(reals), nil
}

func clangName(major int) string { return "clang-" + strconv.Itoa(major) }

// addTool adds one real file and returns its name in the stage.
func (l *layout) addTool(in Install, real string) (string, error) {
	img, err := elf.Open(real)
	if errors.Is(err, elf.ErrNotELF) {
		return "", fmt.Errorf("%s is a script or of another system: only ELF programs are adopted", real)
	}
	if err != nil {
		return "", err
	}
	if !img.Program() {
		return "", fmt.Errorf("%s is no program", real)
	}
	base := filepath.Base(real)
	if base == "clang" {
		// Debian's real file is clang, upstream's clang-22: one layout for all.
		base = clangName(in.Major)
	}
	f := file{dest: destBin + "/" + base, source: real, exec: true}
	if needsPrivate(img) {
		f.runpath = []string{"$ORIGIN/../lib"}
	}
	f.edit = img.HasDynamic && !leadsTo(img, destBin, f.runpath)
	return base, l.add(f)
}

// addLinks adds further names for tools.
func (l *layout) addLinks(links map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(links)) {
		target := links[name]
		if name == "" || name != path.Base(name) || target != path.Base(target) {
			return fmt.Errorf("link %q → %q: both must be names of tools", name, target)
		}
		if _, ok := l.files[destBin+"/"+target]; !ok {
			return fmt.Errorf("link %s → %s: %s is not among the adopted tools", name, target, target)
		}
		if err := l.add(file{dest: destBin + "/" + name, link: target}); err != nil {
			return err
		}
	}
	return nil
}

// addLibrary adds a library's real file and the names that lead to it.
func (l *layout) addLibrary(lib elf.Library) error {
	base := filepath.Base(lib.Real)
	f := file{dest: destLib + "/" + base, source: lib.Real}
	if lib.Private {
		f.runpath = []string{"$ORIGIN"}
	}
	f.edit = !leadsTo(lib.Image, destLib, f.runpath)
	if err := l.add(f); err != nil {
		return err
	}
	for _, name := range []string{lib.Name, lib.Image.Soname} {
		if name == "" || name == base {
			continue
		}
		if name != path.Base(name) {
			return fmt.Errorf("library %s: the name %q holds a slash, so it cannot move", lib.Real, name)
		}
		if err := l.add(file{dest: destLib + "/" + name, link: base}); err != nil {
			return err
		}
	}
	l.origins = append(l.origins, lib.Real)
	return nil
}

func needsPrivate(img *elf.Image) bool {
	return slices.ContainsFunc(img.Needed, func(name string) bool { return !elf.IsBase(name) })
}

// leadsTo reports whether an image in the folder dir of the stage already
// looks exactly where want says, so that its bytes can stay the vendor's.
// Debian's libLLVM, for one, has $ORIGIN/../lib, which from lib is lib.
func leadsTo(img *elf.Image, dir string, want []string) bool {
	if img.RPath != nil {
		return false
	}
	expand := func(entries []string) (dirs []string, ok bool) {
		for _, entry := range entries {
			expanded, ok := elf.ExpandOrigin(entry, "/"+dir)
			if !ok {
				return nil, false
			}
			dirs = append(dirs, path.Clean(expanded))
		}
		return dirs, true
	}
	have, ok1 := expand(img.RunPath)
	wanted, ok2 := expand(want)
	return ok1 && ok2 && slices.Equal(have, wanted)
}

// addResource adds clang's headers and the builtins of compiler-rt. They go to
// the place where the copied clang looks: as far from it as before.
func (l *layout) addResource(in Install) error {
	clang, ok := in.Tools["clang"]
	if !ok || in.ResourceDir == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(clang)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(filepath.Dir(real), in.ResourceDir)
	if err != nil {
		return err
	}
	l.resource = path.Join(destBin, filepath.ToSlash(rel))
	if !filepath.IsLocal(l.resource) {
		return fmt.Errorf("clang's resource folder %s is %s from %s, which would lie outside the bundle", in.ResourceDir, rel, real)
	}
	count := 0
	for _, sub := range []string{"include", "lib"} {
		top := filepath.Join(in.ResourceDir, sub)
		// The folder may be a symlink, which WalkDir would not enter.
		walked, err := filepath.EvalSymlinks(top)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = filepath.WalkDir(walked, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if sub == "lib" && !isBuiltins(d.Name()) {
				return nil
			}
			if count++; count > maxResourceFiles {
				return fmt.Errorf("%s holds more than %d files", in.ResourceDir, maxResourceFiles)
			}
			real, err := filepath.EvalSymlinks(name)
			if err != nil {
				return err
			}
			if info, err := os.Stat(real); err != nil || !info.Mode().IsRegular() {
				return err
			}
			rel, err := filepath.Rel(walked, name)
			if err != nil {
				return err
			}
			return l.add(file{dest: path.Join(l.resource, sub, filepath.ToSlash(rel)), source: real})
		})
		if err != nil {
			return err
		}
	}
	l.origins = append(l.origins, filepath.Join(in.ResourceDir, "include/stddef.h"))
	return nil
}

// isBuiltins matches compiler-rt's builtins in both of its layouts
// (libclang_rt.builtins-x86_64.a, libclang_rt.builtins.a), and the start files
// that go with them; the sanitizers stay behind.
func isBuiltins(name string) bool {
	return strings.HasPrefix(name, "libclang_rt.builtins") || strings.HasPrefix(name, "clang_rt.crt")
}
