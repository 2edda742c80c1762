//go:build e2e && linux

package e2e

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/remote/api/importer"
	"github.com/stonemason-hip/stonemason/remote/stub"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// symbols holds what the components made, for each host, to the list of symbols of
// the real library, and to its names and versions.
func (s *stubs) symbols(t *testing.T) {
	for _, l := range s.libraries {
		want := s.real(t, l)
		var plain []string
		for _, w := range want {
			symbol, _, _ := strings.Cut(w, "@")
			plain = append(plain, "_"+symbol)
		}
		slices.Sort(plain)
		for _, dist := range []string{s.linux, s.arm} {
			so := filepath.Join(dist, "lib", "lib"+l.Name+".so")
			got, soname := elfSymbols(t, so)
			equal(t, so, got, want)
			if soname != "lib"+l.Name+".so."+l.File.SoVersion {
				t.Errorf("%s calls itself %s", so, soname)
			}
		}
		name := "@rpath/lib" + l.Name + "." + l.File.SoVersion + ".dylib"
		dylib := filepath.Join(s.mac, "lib", "lib"+l.Name+".dylib")
		f, err := macho.Open(dylib)
		if err != nil {
			t.Error(err)
			continue
		}
		image := f.Images[0]
		exports, err := image.Exports()
		if err != nil {
			t.Error(err)
		}
		var got []string
		for _, e := range exports {
			got = append(got, e.Name)
		}
		equal(t, dylib, got, plain)
		if image.ID == nil || image.ID.Name != name {
			t.Errorf("%s calls itself %+v, want %s", dylib, image.ID, name)
		}

		file := filepath.Join(s.mac, "lib", "lib"+l.Name+".tbd")
		text, err := tbd.Parse(read(t, filepath.Dir(file), filepath.Base(file)))
		if err != nil {
			t.Error(err)
			continue
		}
		stands, ok := text.Library(name)
		listed, here := text.Exports("arm64-macos")
		if !ok || !here {
			t.Errorf("%s does not stand for %s", file, name)
			continue
		}
		got = nil
		for symbol := range listed.Symbols {
			got = append(got, symbol)
		}
		equal(t, file, got, plain)
		if id := image.ID; id != nil && (padded(stands.CurrentVersion) != padded(id.Current.String()) || padded(stands.CompatibilityVersion) != padded(id.Compatibility.String())) {
			t.Errorf("%s is of versions %s and %s, the library of %s and %s", file, stands.CurrentVersion, stands.CompatibilityVersion, id.Current, id.Compatibility)
		}
	}
}

// padded is a version of three numbers.
func padded(version string) string {
	for strings.Count(version, ".") < 2 {
		version += ".0"
	}
	return version
}

// real lists what the real library exports to programs in C, name@node or name.
func (s *stubs) real(t *testing.T, l *api.Library) (out []string) {
	t.Helper()
	f, err := os.Open(filepath.Join(s.project, "remote", "api", "testdata", "symbols", l.Name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := importer.ReadSymbols(f)
	if err != nil {
		t.Fatal(err)
	}
	a := s.annotations(t, l)
	for symbol, node := range symbols {
		if a.LeavesOut(symbol) != "" {
			continue
		}
		if node != "" {
			symbol += "@" + node
		}
		out = append(out, symbol)
	}
	if len(out) < 18 {
		t.Errorf("the real lib%s has %d symbols", l.Name, len(out))
	}
	slices.Sort(out)
	return out
}

// elfSymbols lists what a library defines for others, with version nodes.
func elfSymbols(t *testing.T, so string) (names []string, soname string) {
	t.Helper()
	f, err := elf.Open(so)
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Error(err)
	}
	for _, s := range symbols {
		switch {
		case s.Section == elf.SHN_UNDEF || s.Section == elf.SHN_ABS || elf.ST_BIND(s.Info) == elf.STB_LOCAL:
		case s.HasVersion && s.Version != "" && !s.VersionIndex.IsHidden():
			names = append(names, s.Name+"@"+s.Version)
		default:
			names = append(names, s.Name)
		}
	}
	if found, err := f.DynString(elf.DT_SONAME); err == nil && len(found) == 1 {
		soname = found[0]
	}
	return names, soname
}

// equal compares two lists without order.
func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	slices.Sort(got)
	if slices.Equal(got, want) {
		return
	}
	for _, w := range want {
		if _, ok := slices.BinarySearch(got, w); !ok {
			t.Errorf("%s lacks %s", what, w)
		}
	}
	for _, g := range got {
		if _, ok := slices.BinarySearch(want, g); !ok {
			t.Errorf("%s has %s, which the real library has not", what, g)
		}
	}
}

// signatures has a compiler compare each function as the stub's source declares it
// with the library's own headers, for both systems: of two declarations of one
// function of C with different types C++ makes an error, and it names a record
// without saying struct, as the stub does.
func (s *stubs) signatures(t *testing.T) {
	dir := t.TempDir()
	for _, l := range s.libraries {
		source, err := stub.Source(l)
		if err != nil {
			t.Fatal(err)
		}
		var declared strings.Builder
		count := 0
		for line := range strings.Lines(source) {
			p, ok := strings.CutPrefix(line, "STUB_EXPORT ")
			// No header of C declares what C++ has mangled, or has names for types
			// that stand in a list of parameters.
			if !ok || strings.Contains(p, "__asm__") || slices.ContainsFunc(l.Callbacks.Keys(), func(name string) bool {
				outer, inner, nested := strings.Cut(name, ".")
				return nested && strings.Contains(p, outer+"__"+inner)
			}) {
				continue
			}
			// Some names are macros for newer functions.
			name := p[:strings.Index(p, "(")]
			declared.WriteString("#undef " + name[strings.LastIndexAny(name, " *")+1:] + "\n" + p)
			count++
		}
		if count < len(l.Functions)-4 {
			t.Errorf("lib%s: %d of %d functions are compared", l.Name, count, len(l.Functions))
		}
		file := write(t, filepath.Join(dir, l.Name+".cpp"), s.headers(t, l)+"extern \"C\" {\n"+declared.String()+"}\n")
		clang, standard := compiler("cpp")
		llvmtest.Run(t, clang, standard, "-w", "-fsyntax-only", "-I"+filepath.Join(s.linux, "include"), file)
		llvmtest.Run(t, clang, append(s.forMac(t)[:3], standard, "-w", "-fsyntax-only", "-I"+filepath.Join(s.mac, "include"), file)...)
	}
}
