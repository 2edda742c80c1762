package tbd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// umbrella is a library that re-exports two others: one that the same file
// describes, which goes on to a third, and one that it does not.
const umbrella = `--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos, arm64e-macos ]
install-name:    '/usr/lib/libTop.B.dylib'
current-version: 1351.2
reexported-libraries:
  - targets:         [ x86_64-macos, arm64-macos ]
    libraries:       [ '/usr/lib/system/libmiddle.dylib', '/usr/lib/libelsewhere.dylib' ]
exports:
  - targets:         [ x86_64-macos ]
    symbols:         [ _only_intel ]
  - targets:         [ x86_64-macos, arm64-macos, arm64e-macos ]
    symbols:         [ '$ld$hide$os10.4$_top', _top,
                       _shared ]
    objc-classes:    [ Top ]
    objc-eh-types:   [ Top ]
    objc-ivars:      [ Top.ivar ]
    weak-symbols:    [ __Znwm ]
    thread-local-symbols: [ _local ]
--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos ]
install-name:    '/usr/lib/system/libmiddle.dylib'
parent-umbrella:
  - targets:         [ x86_64-macos, arm64-macos ]
    umbrella:        Top
reexported-libraries:
  - targets:         [ arm64-macos ]
    libraries:       [ '/usr/lib/system/libdeep.dylib' ]
exports:
  - targets:         [ x86_64-macos, arm64-macos ]
    symbols:         [ _middle, _shared ]
reexports:
  - targets:         [ arm64-macos ]
    symbols:         [ _passed_on ]
--- !tapi-tbd
tbd-version:     4
targets:         [ arm64-macos ]
install-name:    /usr/lib/system/libdeep.dylib
exports:
  - targets:         [ arm64-macos ]
    symbols:         [ _deep ]
undefineds:
  - targets:         [ arm64-macos ]
    symbols:         [ _needed ]
...
`

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestExports(t *testing.T) {
	f := parse(t, umbrella)
	e, ok := f.Exports("arm64-macos")
	if !ok || e.InstallName != "/usr/lib/libTop.B.dylib" {
		t.Fatalf("Exports = %+v, %v", e, ok)
	}
	const top, middle, deep = "/usr/lib/libTop.B.dylib", "/usr/lib/system/libmiddle.dylib", "/usr/lib/system/libdeep.dylib"
	want := map[string]Symbol{
		"_top": {Strong, top}, "_shared": {Strong, top}, "__Znwm": {Weak, top}, "_local": {ThreadLocal, top},
		"_OBJC_CLASS_$_Top": {Strong, top}, "_OBJC_METACLASS_$_Top": {Strong, top},
		"_OBJC_EHTYPE_$_Top": {Strong, top}, "_OBJC_IVAR_$_Top.ivar": {Strong, top},
		"_middle": {Strong, middle}, "_passed_on": {Strong, middle}, "_deep": {Strong, deep},
	}
	for name, symbol := range want {
		if got, ok := e.Symbols[name]; !ok || got != symbol {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, symbol)
		}
	}
	if len(e.Symbols) != len(want) {
		t.Errorf("%d symbols, want %d: %v", len(e.Symbols), len(want), e.Symbols)
	}
	if !slices.Equal(e.Elsewhere, []string{"/usr/lib/libelsewhere.dylib"}) {
		t.Errorf("Elsewhere = %v", e.Elsewhere)
	}
	intel, _ := f.Exports("x86_64-macos")
	if !intel.Has("_only_intel") || !intel.Has("_middle") || intel.Has("_deep") || intel.Has("_passed_on") {
		t.Errorf("x86_64-macos: %v", intel.Symbols)
	}
	if e, _ := f.Exports("arm64e-macos"); e.Has("_middle") || len(e.Elsewhere) != 0 {
		t.Errorf("arm64e-macos follows a re-export that is not its own: %+v", e)
	}
	if _, ok := f.Exports("arm64-ios"); ok {
		t.Error("the library is not made for arm64-ios")
	}
	if l, ok := f.Library(middle); !ok || l.CurrentVersion != "1.0" || l.ParentUmbrella[0].Names[0] != "Top" {
		t.Errorf("Library = %+v, %v", l, ok)
	}
}

// What is written reads as what it was, and is written alike again.
func TestWritten(t *testing.T) {
	f := parse(t, umbrella)
	data := f.Bytes()
	again := parse(t, string(data))
	if want, got := fmt.Sprintf("%+v", values(f)), fmt.Sprintf("%+v", values(again)); want != got {
		t.Errorf("read again:\n%s\nwant\n%s", got, want)
	}
	if string(again.Bytes()) != string(data) {
		t.Error("written twice, it differs")
	}
	for line := range strings.Lines(string(data)) {
		if len(line) > lineWidth+1 {
			t.Errorf("a long line: %q", line)
		}
	}
}

// Names that YAML would read as something else are put into quotes.
func TestOddNames(t *testing.T) {
	names := []string{"_a, b", "_a]", "_a: b", "_a #b", "#a", "[a", "{a", "'a'", "it's", "-", "~", "*a", "&a", "!a", "@a", "%a", "true", "$ld$hide$os10.4$_a", "_äö", "\\"}
	f := &File{Libraries: []*Library{{InstallName: "/usr/lib/a b's.dylib", Targets: []string{"arm64-macos"}, Exports: []Section{{Targets: []string{"arm64-macos"}, Symbols: names}}}}}
	again := parse(t, string(f.Bytes()))
	if l := again.Libraries[0]; l.InstallName != "/usr/lib/a b's.dylib" || !slices.Equal(l.Exports[0].Symbols, names) {
		t.Errorf("read again: %q %q", l.InstallName, l.Exports[0].Symbols)
	}
}

func values(f *File) []Library {
	var out []Library
	for _, l := range f.Libraries {
		out = append(out, *l)
	}
	return out
}

// LLVM's linker reads what we write, and finds no more and no less in it.
func TestLinkerAgrees(t *testing.T) {
	clang, lld := llvmtest.Tool(t, "clang"), llvmtest.Tool(t, "ld64.lld")
	dir := t.TempDir()
	odd := &Library{
		InstallName: "/usr/lib/it's.dylib", Targets: []string{"arm64-macos"}, CurrentVersion: "2.3", CompatibilityVersion: "2",
		Exports: []Section{{Targets: []string{"arm64-macos"}, Symbols: []string{"_a", "_true", "_1", "_x.y", "_z$q", "dyld_stub_binder"}, Weak: []string{"_weak"}, ThreadLocal: []string{"_tls"}}},
	}
	write := func(name string, data []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	ours := write("ours.tbd", (&File{Libraries: []*Library{odd}}).Bytes())
	top := write("top.tbd", parse(t, strings.Replace(umbrella, ", '/usr/lib/libelsewhere.dylib'", "", 1)).Bytes())
	link := func(names ...string) error {
		var b strings.Builder
		for i, name := range names {
			fmt.Fprintf(&b, "extern int v%d __asm__(%q); int *p%d = &v%d;\n", i, name, i, i)
		}
		source := write("x.c", []byte(b.String()))
		_, stderr, err := llvmtest.Try(t, clang, "--target=arm64-apple-macos14.0", "-fuse-ld=lld", "--ld-path="+lld, "-nostdlib", "-dynamiclib", source, ours, top, "-o", filepath.Join(dir, "x.dylib"))
		if err != nil {
			return errors.New(stderr)
		}
		return nil
	}
	if err := link("_a", "_true", "_1", "_x.y", "_z$q", "_weak", "_top", "_middle", "_deep", "_passed_on", "__Znwm"); err != nil {
		t.Errorf("the linker misses what the stubs have: %v", err)
	}
	used := llvmtest.Run(t, llvmtest.Tool(t, "llvm-objdump"), "--macho", "--dylibs-used", filepath.Join(dir, "x.dylib"))
	if !strings.Contains(used, "it's.dylib (compatibility version 2.0.0, current version 2.3.0)") {
		t.Errorf("the linker has recorded:\n%s", used)
	}
	for _, name := range []string{"_only_intel", "_absent"} {
		if err := link(name); err == nil || !strings.Contains(err.Error(), "undefined symbol: "+strings.TrimPrefix(name, "_")) {
			t.Errorf("%s: the linker says %v", name, err)
		}
	}
}

func TestHostile(t *testing.T) {
	const head = "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: /a\n"
	for name, c := range map[string]struct{ text, want string }{
		"nothing":              {"", "not a text stub"},
		"an ELF file":          {"\x7fELF", "not a text stub"},
		"version 3":            {"--- !tapi-tbd-v3\narchs: [ x86_64 ]\n", "only !tapi-tbd of version 4"},
		"version 5":            {`{"main_library": {}, "tapi_tbd_version": 5}`, "version 5 (JSON)"},
		"another version":      {strings.Replace(head, "4", "9", 1), `tbd-version is "9"`},
		"no install name":      {"--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\n", "install-name is missing"},
		"no targets":           {"--- !tapi-tbd\ntbd-version: 4\ninstall-name: /a\n", "targets are missing"},
		"an odd target":        {strings.Replace(head, "arm64-macos", "arm64", 1), "line 3: arm64 is no target"},
		"a name twice":         {head + "install-name: /b\n", "install-name is there twice"},
		"an unknown name":      {head + "surprise: 1\n", "the unknown name surprise"},
		"a list of lists":      {head + "exports: [ { targets: [ a-b ], symbols: [ [ x ] ] } ]\n", "one value is expected"},
		"no list":              {head + "exports: nothing\n", "a list is expected"},
		"no targets of one":    {head + "exports: [ { symbols: [ _x ] } ]\n", "targets are missing"},
		"a number for a map":   {head + "exports: [ 1 ]\n", "a mapping is expected"},
		"an alias":             {head + "flags: &a [ x ]\nexports: *a\n", "without an alias"},
		"control characters":   {head + "exports: [ { targets: [ a-b ], symbols: [ \"_\\x01\" ] } ]\n", "control characters"},
		"a huge name":          {head + "exports: [ { targets: [ a-b ], symbols: [ " + strings.Repeat("x", maxName+1) + " ] } ]\n", "more than"},
		"no end":               {head + "exports: [ { targets: [", "damaged stub"},
		"an empty second":      {head + "---\n", "line"},
		"a plain second":       {head + "---\na: b\n", "only !tapi-tbd"},
		"no library":           {head + "reexported-libraries: [ { targets: [ a-b ] } ]\n", "targets or libraries are missing"},
		"brackets and no more": {"--- !tapi-tbd\n" + strings.Repeat("[", 20000), "damaged stub"},
	} {
		_, err := Parse([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: a long error: %.400s", name, err)
		}
	}
	if _, err := Parse([]byte("no")); !errors.Is(err, ErrNotTBD) {
		t.Errorf("another file: %v", err)
	}
	if _, err := Parse(make([]byte, maxFile+1)); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("a huge file: %v", err)
	}
	many := umbrellaOf(maxDocuments + 1)
	if _, err := Parse([]byte(many)); err == nil || !strings.Contains(err.Error(), "documents") {
		t.Errorf("many documents: %v", err)
	}
	if _, err := Open(fstest.MapFS{"a.tbd": {Data: []byte("x"), Mode: 0o644}}, "a.tbd"); err == nil || !strings.Contains(err.Error(), "read a.tbd: ") {
		t.Errorf("Open: %v", err)
	}
	if _, err := Open(os.DirFS(t.TempDir()), "."); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Open of a folder: %v", err)
	}
}

func umbrellaOf(n int) string {
	return strings.Repeat("--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: /a\n", n)
}

// A circle of re-exports ends.
func TestCircle(t *testing.T) {
	f := parse(t, `--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: /a
reexported-libraries: [ { targets: [ arm64-macos ], libraries: [ /b, /a ] } ]
--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos ]
install-name: /b
reexported-libraries: [ { targets: [ arm64-macos ], libraries: [ /a, /b ] } ]
exports: [ { targets: [ arm64-macos ], symbols: [ _b ] } ]
`)
	if e, ok := f.Exports("arm64-macos"); !ok || !e.Has("_b") || len(e.Symbols) != 1 || len(e.Elsewhere) != 0 {
		t.Errorf("Exports = %+v, %v", e, ok)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(umbrella))
	f.Add([]byte("--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: '/it''s'\nflags: [ a, 'b c' ]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		for _, target := range file.Libraries[0].Targets {
			if _, ok := file.Exports(target); !ok {
				t.Errorf("no exports for %s", target)
			}
		}
		out := file.Bytes()
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, out)
		}
		if string(again.Bytes()) != string(out) {
			t.Fatalf("written twice, it differs:\n%s", out)
		}
	})
}

// A stub of libSystem's size: 45 libraries, 9,000 symbols.
func BenchmarkParse(b *testing.B) {
	var top, rest strings.Builder
	top.WriteString("--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: /top\nreexported-libraries:\n  - targets: [ arm64-macos ]\n    libraries: [ /l0")
	for i := range 45 {
		fmt.Fprintf(&top, ", /l%d", i)
		fmt.Fprintf(&rest, "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: /l%d\nexports:\n  - targets: [ arm64-macos ]\n    symbols: [ _s", i)
		for j := range 200 {
			fmt.Fprintf(&rest, ", _some_symbol_%d_%d", i, j)
		}
		rest.WriteString(" ]\n")
	}
	data := []byte(top.String() + " ]\n" + rest.String())
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		f, err := Parse(data)
		if err != nil {
			b.Fatal(err)
		}
		if e, ok := f.Exports("arm64-macos"); !ok || len(e.Symbols) != 45*200+1 {
			b.Fatal("symbols are missing")
		}
	}
}
