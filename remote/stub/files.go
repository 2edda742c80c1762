package stub

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// Versions returns the script by which a linker of ELF gives symbols their
// version nodes and hides all others.
func Versions(l *api.Library) string {
	byNode := map[string][]string{}
	for i := range l.Functions {
		f := &l.Functions[i]
		byNode[f.Value.Node] = append(byNode[f.Value.Node], f.Value.Symbol(f.Key))
	}
	nodes := l.Nodes
	if len(nodes) == 0 {
		nodes = []string{""}
	}
	var b strings.Builder
	before := ""
	for i, n := range nodes {
		symbols := byNode[n]
		slices.Sort(symbols)
		if n == "" {
			b.WriteString("{\n")
		} else {
			b.WriteString(n + " {\n")
		}
		if len(symbols) > 0 {
			b.WriteString("global:\n")
		}
		for _, s := range symbols {
			b.WriteString("    " + s + ";\n")
		}
		if i == len(nodes)-1 {
			b.WriteString("local:\n    *;\n")
		}
		b.WriteString("}" + before + ";\n")
		before = " " + n
	}
	return b.String()
}

// darwinVersion shortens a version to what a dynamic library of macOS can have:
// at most three numbers, the first below 65536, the others below 256 (<mach-o/loader.h>).
// For the current version, which is only shown, that is enough.
func darwinVersion(version string) string {
	var kept []string
	for i, n := range strings.Split(version, ".") {
		v, err := strconv.Atoi(n)
		if err != nil || i == 0 && v > 65535 || i > 0 && v > 255 || i > 2 {
			break
		}
		kept = append(kept, n)
	}
	if len(kept) == 0 {
		return "1"
	}
	return strings.Join(kept, ".")
}

// darwinCompatibility refuses what darwinVersion would shorten: macOS starts a
// program only with a library whose compatibility version is not below the one that
// it was linked with, so two versions must not become the same.
func darwinCompatibility(l *api.Library) error {
	if c := l.File.Compatibility; darwinVersion(c) != c {
		return fmt.Errorf("lib%s: compatibility %q is no version that a library of macOS can have: at most three numbers, the first below 65536, the others below 256", l.Name, c)
	}
	return nil
}

// DarwinName is the install name of a library's dylib.
func DarwinName(l *api.Library) string {
	return "@rpath/lib" + l.Name + "." + l.File.SoVersion + ".dylib"
}

// TBD returns the text stub for arm64 macOS.
func TBD(l *api.Library) []byte {
	var symbols []string
	for i := range l.Functions {
		f := &l.Functions[i]
		symbols = append(symbols, "_"+f.Value.Symbol(f.Key))
	}
	slices.Sort(symbols)
	targets := []string{"arm64-macos"}
	f := tbd.File{Libraries: []*tbd.Library{{
		InstallName: DarwinName(l), Targets: targets, Flags: []string{"not_app_extension_safe"},
		CurrentVersion: darwinVersion(l.File.Version), CompatibilityVersion: darwinVersion(l.File.Compatibility),
		Exports: []tbd.Section{{Targets: targets, Symbols: symbols}},
	}}}
	return f.Bytes()
}

// Definitions returns a module definition file, from which tools of Windows make
// an import library.
func Definitions(l *api.Library) string {
	var names []string
	for i := range l.Functions {
		f := &l.Functions[i]
		names = append(names, f.Value.Symbol(f.Key))
	}
	slices.Sort(names)
	return "LIBRARY " + l.Name + "\nEXPORTS\n    " + strings.Join(names, "\n    ") + "\n"
}

// File is a generated file.
type File struct {
	// Name is relative, with slashes.
	Name string
	Data []byte
}

// Mark is the first line of the CMakeLists.txt of [Files].
const Mark = "# Link stubs. Generated: do not edit.\n"

// Write puts files below a folder, which is made where there is none.
func Write(ctx context.Context, dir string, files []File) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(filepath.FromSlash(f.Name), f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Files returns a CMake project that builds and installs the stubs of some
// libraries: CMakeLists.txt, and for each library a folder of its name. The same
// libraries give the same bytes.
func Files(libs []*api.Library) ([]File, error) {
	var files []File
	var names []string
	packages := map[string]string{}
	for _, l := range libs {
		if slices.Contains(names, l.Name) {
			return nil, fmt.Errorf("lib%s stands twice", l.Name)
		}
		if other := packages[l.File.Package]; other != "" && l.File.Package != "" {
			return nil, fmt.Errorf("lib%s and lib%s are both the CMake package %s", other, l.Name, l.File.Package)
		}
		if err := darwinCompatibility(l); err != nil {
			return nil, err
		}
		packages[l.File.Package] = l.Name
		names = append(names, l.Name)
		source, err := Source(l)
		if err != nil {
			return nil, err
		}
		project, err := render("library.cmake", l)
		if err != nil {
			return nil, err
		}
		add := func(name string, data []byte) {
			files = append(files, File{Name: path.Join(l.Name, name), Data: data})
		}
		add(l.Name+".c", []byte(source))
		add(l.Name+".map", []byte(Versions(l)))
		add("lib"+l.Name+".tbd", TBD(l))
		add(l.Name+".def", []byte(Definitions(l)))
		add("CMakeLists.txt", project)
		if l.File.Package == "" {
			continue
		}
		for _, t := range []string{"config", "config-version"} {
			text, err := render(t+".cmake", l)
			if err != nil {
				return nil, err
			}
			add(l.File.Package+"-"+t+".cmake", text)
		}
		for _, more := range further(l) {
			text, err := render(l.Name+"."+more+".cmake", l)
			if err != nil {
				return nil, err
			}
			add(more+"-config.cmake", text)
		}
	}
	var top bytes.Buffer
	top.WriteString(Mark + "cmake_minimum_required(VERSION 3.21)\nproject(stubs C)\n")
	for _, n := range names {
		fmt.Fprintf(&top, "add_subdirectory(%s)\n", n)
	}
	files = append(files, File{Name: "CMakeLists.txt", Data: top.Bytes()})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// project is what the templates of CMake files see.
type project struct {
	*api.Library
	DarwinVersion, DarwinCompatibility string
	PackageVersion                     string
	// Extra is CMake code that only this library's package has, Further names the
	// packages that it has beside.
	Extra   string
	Further []string
	// Names are those of the variables that a package sets, as projects write them:
	// rocblas_LIBRARIES, ROCBLAS_LIBRARIES.
	Names []string
	// Needs are packages that must be found before.
	Needs []string
	// Main is the target of the library itself, Others those that stand for it.
	Main   string
	Others []string
}

// further names the packages that a library has beside its own: hip-lang of HIP's
// runtime, by which CMake knows the language; hipblas-common of hipBLAS.
func further(l *api.Library) (names []string) {
	entries, _ := own.ReadDir("own") // embedded: it is there
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), l.Name+"."); ok {
			if name, ok := strings.CutSuffix(rest, ".cmake.tmpl"); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// packageVersion is that of a library's CMake package. Where the file has a version of
// three numbers (HIP's 7.2.53211) it is the package's too; one of two (0.1 of hipFFT's
// libraries) belongs to the soname.
func packageVersion(l *api.Library) string {
	if strings.Count(l.File.Version, ".") == 2 {
		return l.File.Version
	}
	return l.Version
}

func render(name string, l *api.Library) ([]byte, error) {
	text, err := own.ReadFile("own/" + name + ".tmpl")
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Delims("<<", ">>").Parse(string(text))
	if err != nil {
		return nil, err
	}
	p := project{Library: l, DarwinVersion: darwinVersion(l.File.Version), DarwinCompatibility: darwinVersion(l.File.Compatibility),
		PackageVersion: packageVersion(l), Further: further(l)}
	for _, name := range []string{l.File.Package, strings.ToUpper(l.File.Package), l.Name} {
		if !slices.Contains(p.Names, name) {
			p.Names = append(p.Names, name)
		}
	}
	for _, u := range l.Used() {
		if u.File.Package != "" {
			p.Needs = append(p.Needs, u.File.Package)
		}
	}
	for _, target := range l.File.Targets {
		if strings.HasSuffix(target, "::"+l.Name) {
			p.Main = target
		} else {
			p.Others = append(p.Others, target)
		}
	}
	if p.Main == "" && len(p.Others) > 0 {
		p.Main, p.Others = p.Others[0], p.Others[1:]
	}
	if extra, err := own.ReadFile("own/" + l.Name + ".cmake"); err == nil {
		p.Extra = string(extra)
	}
	var out bytes.Buffer
	err = t.Execute(&out, p)
	return out.Bytes(), err
}

// Digest is a hash of everything that a library's stub is made of beside this
// program's code: its description, those that it uses, and the C that answers.
func Digest(library string) (string, error) {
	described, err := api.Digest(api.Descriptions(), library)
	if err != nil {
		return "", err
	}
	return digest(described, own, library)
}

func digest(described string, code fs.FS, library string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, described)
	entries, err := fs.ReadDir(code, "own")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		// Templates and the common header are everybody's.
		name, kind := e.Name(), path.Ext(e.Name())
		if (kind == ".c" || kind == ".cmake") && strings.TrimSuffix(name, kind) != library {
			continue
		}
		data, err := fs.ReadFile(code, path.Join("own", name))
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, name, len(data))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
