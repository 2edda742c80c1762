package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// system is a small libSystem: one symbol of its own, and the C library.
const system = `--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: '/usr/lib/libSystem.B.dylib'
current-version: 1351
reexported-libraries: [ { targets: [ x86_64-macos, arm64-macos ], libraries: [ /usr/lib/system/libsystem_c.dylib ] } ]
exports: [ { targets: [ x86_64-macos, arm64-macos ], symbols: [ dyld_stub_binder ] } ]
--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: /usr/lib/system/libsystem_c.dylib
exports: [ { targets: [ x86_64-macos, arm64-macos ], symbols: [ _malloc, _pthread_create, _puts, _quick_exit, _later, _latest, '$ld$hide$os10.4$_later', __Unwind_Resume ] } ]
...
`

const abiLines = `{'is_defined': False, 'name': '_malloc', 'type': 'U'}
{'is_defined': True, 'name': '__ZNSt3__14coutE', 'size': 160, 'type': 'OBJECT'}
{'is_defined': True, 'name': '__ZNSt3__122__libcpp_verbose_abortEPKcz', 'type': 'FUNC'}
{'is_defined': True, 'name': '__ZNSt3__118__get_ostream_fileERNS_13basic_ostreamIcNS_11char_traitsIcEEEE', 'type': 'FUNC'}
{'is_defined': True, 'name': '__ZNSt3__119__is_posix_terminalEP7__sFILE', 'type': 'FUNC'}
{'is_defined': True, 'name': '__ZNSt3__13fooEv', 'type': 'FUNC'}
{'is_defined': True, 'name': '__ZNSt3__15thereEv', 'type': 'FUNC'}
{'is_defined': True, 'name': '__ZNSt3__17twentytEv', 'type': 'FUNC'}
{'is_defined': True, 'name': '__ZNSt3__19twentytwoEv', 'type': 'FUNC'}
{'is_defined': True, 'name': '__Znwm', 'type': 'I'}
{'is_defined': True, 'name': '___cxa_init_primary_exception', 'type': 'I'}
{'is_defined': True, 'name': '___gxx_personality_v0', 'type': 'I'}
`

const changeLog = `------------
Version 22.0
------------
  All platforms
  -------------
  Symbol added: __ZNSt3__19twentytwoEv
------------
Version 20.0
------------
  Symbol added: _ZNSt3__17twentytEv
------------
Version 18.0
------------
  Symbol added: _ZNSt6__ndk119__is_posix_terminalEP7__sFILE
  Symbol added: __cxa_init_primary_exception
------------
Version 17.0
------------
  Symbol removed: _ZNSt3__14coutE
  <arch>-apple-darwin
  -------------------
  Symbol reexported: __ZNSt3__15thereEv
------------
Version 15.0
------------
  Symbol added: _ZNSt3__122__libcpp_verbose_abortEPKcz
`

const availabilityLines = `#  define _LIBCPP_INTRODUCED_IN_LLVM_22_ATTRIBUTE /* nothing */
#elif defined(__APPLE__)
// LLVM 22
#  define _LIBCPP_INTRODUCED_IN_LLVM_22_ATTRIBUTE __attribute__((unavailable))
#  define _LIBCPP_INTRODUCED_IN_LLVM_20_ATTRIBUTE                     \
    __attribute__((availability(macos, strict, introduced = 26.0)))   \
    __attribute__((availability(ios, strict, introduced = 26.0)))
#  define _LIBCPP_INTRODUCED_IN_LLVM_18_ATTRIBUTE                     \
    __attribute__((availability(macos, strict, introduced = 15.0)))   \
    __attribute__((availability(ios, strict, introduced = 18.0)))
#  define _LIBCPP_INTRODUCED_IN_LLVM_15_ATTRIBUTE                     \
    __attribute__((availability(ios, strict, introduced = 16.3)))     \
    __attribute__((availability(macos, strict, introduced = 13.3)))
#  define _LIBCPP_INTRODUCED_IN_LLVM_14_ATTRIBUTE _LIBCPP_INTRODUCED_IN_LLVM_15_ATTRIBUTE
`

// fixture is a small SDK's sources. change overwrites files of zig (zig/…) or
// of LLVM (llvm/…); an empty text removes one.
func fixture(change map[string]string) Sources {
	files := map[string]string{
		"zig/darwin/SDKSettings.json":                          `{"MinimalDisplayName":"15.1"}`,
		"zig/darwin/libSystem.tbd":                             system,
		"zig/include/any-macos-any/stdio.h":                    "#ifdef __cplusplus\nextern \"C\"\n#endif\nint puts(const char *);\n",
		"zig/include/any-macos-any/sys/types.h":                "typedef long ssize_t;\n",
		"zig/include/any-macos-any/later.h":                    "/* _puts API_AVAILABLE(macos(99.0)) */\nint puts(const char *);\nint later(int a)\n  API_AVAILABLE(macos(15.0), ios(18.0)) ;\nint latest(void) __OSX_AVAILABLE(26.4);\n",
		"zig/include/any-macos-any/Availability.h":             "int malloc __API_AVAILABLE(macos(99.0));\n",
		"zig/include/any-macos-any/zlib.h":                     "int deflate(void);\n",
		"zig/include/any-macos-any/zconf.h":                    "\n",
		"zig/include/any-macos-any/objc/runtime.h":             "\n",
		"llvm/" + abiList:                                      abiLines,
		"llvm/" + abiChanges:                                   changeLog,
		"llvm/" + availability:                                 availabilityLines,
		"llvm/" + weakList:                                     "# weak\n__ZTISt9exception\n",
		"llvm/" + operatorList:                                 "# operators\n__Znwm\n",
		"llvm/" + notReexported:                                "# none\n\n___cxa_rethrow_primary_exception\n",
		"llvm/libcxx/include/vector":                           "#pragma once\n#include <__config_site>\nnamespace std { inline namespace __1 { void foo(); void there(); void twentyt(); void twentytwo(); } }\n",
		"llvm/libcxx/include/CMakeLists.txt":                   "not a header\n",
		"llvm/libcxx/include/__config_site.in":                 "#cmakedefine _LIBCPP_ABI_VERSION @_LIBCPP_ABI_VERSION@\n#cmakedefine01 _LIBCPP_HAS_THREADS\n#cmakedefine _LIBCPP_NO_VCRUNTIME\n@_LIBCPP_ABI_DEFINES@\n",
		"llvm/libcxx/include/module.modulemap.in":              "module std { @LIBCXX_CONFIG_SITE_MODULE_ENTRY@ }\n",
		"llvm/libcxx/vendor/llvm/default_assertion_handler.in": "// handler\n",
		"llvm/libcxxabi/include/cxxabi.h":                      "#pragma once\n",
	}
	maps.Copy(files, change)
	m := fstest.MapFS{}
	for name, text := range files {
		switch target, link := strings.CutPrefix(text, "→"); {
		case link:
			m[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		case text != "":
			m[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o644}
		}
	}
	sub := func(dir string) fs.FS {
		f, err := fs.Sub(m, dir)
		if err != nil {
			panic(err)
		}
		return f
	}
	return Sources{Darwin: sub("zig"), LLVM: sub("llvm")}
}

func assemble(t *testing.T, from Sources, target string) (dir string, sum Summary, err error) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	v, err := ParseVersion(target)
	if err != nil {
		t.Fatal(err)
	}
	sum, err = Assemble(t.Context(), from, root, v)
	return dir, sum, err
}

func mustAssemble(t *testing.T, target string) (string, Summary) {
	t.Helper()
	dir, sum, err := assemble(t, fixture(nil), target)
	if err != nil {
		t.Fatal(err)
	}
	return dir, sum
}

// digest hashes names, links and contents of a tree.
func digest(t *testing.T, dir string) string {
	t.Helper()
	sum := sha256.New()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		if link, err := os.Readlink(name); err == nil {
			fmt.Fprintf(sum, "%s → %s\n", rel, link)
			return nil
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", rel, len(data), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// The bytes belong to the revision: whoever changes the one must change the
// other, or stores will go on to serve the old SDK.
func TestRevision(t *testing.T) {
	const revision, want = "2", "80f518f0d5360dbdb94b36280c4e619afbedd1035aaa75054ce620bc1db88370"
	first, _ := mustAssemble(t, "14.0")
	second, _ := mustAssemble(t, "14.0")
	got := digest(t, first)
	if got != digest(t, second) {
		t.Error("assembled twice, the SDK differs")
	}
	if Revision != revision || got != want {
		t.Errorf("revision %s has the digest %s; this test knows %s with %s: change Revision when the bytes change", Revision, got, revision, want)
	}
}

func TestTree(t *testing.T) {
	dir, sum := mustAssemble(t, "14.0")
	var names []string
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Fields(`SDKSettings.json
		usr/include/Availability.h usr/include/c++/v1/__assertion_handler usr/include/c++/v1/__config_site
		usr/include/c++/v1/__configuration/availability.h usr/include/c++/v1/cxxabi.h
		usr/include/c++/v1/module.modulemap usr/include/c++/v1/vector usr/include/later.h usr/include/stdio.h usr/include/sys/types.h
		usr/lib/libSystem.B.tbd usr/lib/libSystem.tbd usr/lib/libc++.1.tbd usr/lib/libc++.tbd usr/lib/libc++abi.tbd
		usr/lib/libc.tbd usr/lib/libdbm.tbd usr/lib/libdl.tbd usr/lib/libinfo.tbd usr/lib/libm.tbd usr/lib/libpoll.tbd
		usr/lib/libproc.tbd usr/lib/libpthread.tbd usr/lib/librpcsvc.tbd usr/lib/libutil.tbd`)
	slices.Sort(want)
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("the SDK holds\n%s\nwant\n%s", strings.Join(names, "\n"), strings.Join(want, "\n"))
	}
	if sum.Headers != 10 || sum.Version != (Version{15, 1}) || !slices.Equal(sum.LeftOut, []string{"objc/runtime.h", "zconf.h", "zlib.h"}) {
		t.Errorf("Summary = %+v", sum)
	}
	site, err := os.ReadFile(filepath.Join(dir, "usr/include/c++/v1/__config_site"))
	if want := "#define _LIBCPP_ABI_VERSION 1\n#define _LIBCPP_HAS_THREADS 1\n/* #undef _LIBCPP_NO_VCRUNTIME */\n"; err != nil || string(site) != want {
		t.Errorf("__config_site is %q, %v; want %q", site, err, want)
	}
	modules, err := os.ReadFile(filepath.Join(dir, "usr/include/c++/v1/module.modulemap"))
	if err != nil || string(modules) != "module std { textual header \"__config_site\" }\n" {
		t.Errorf("module.modulemap is %q, %v", modules, err)
	}
	s, err := Describe(dir)
	if err != nil || s.Name != "macosx15.1" || s.Version != (Version{15, 1}) {
		t.Errorf("Describe = %+v, %v", s, err)
	}
	if err := s.Check(Version{14, 0}); err != nil {
		t.Error(err)
	}
}

// What each macOS is given of the fixture's symbols.
func TestDeploymentTargets(t *testing.T) {
	const (
		cout    = "__ZNSt3__14coutE"                                                           // in the baseline
		abort   = "__ZNSt3__122__libcpp_verbose_abortEPKcz"                                    // LLVM 15
		there   = "__ZNSt3__15thereEv"                                                         // LLVM 17: with the next that shipped, 18
		posix   = "__ZNSt3__119__is_posix_terminalEP7__sFILE"                                  // LLVM 18, by Android's name
		primary = "___cxa_init_primary_exception"                                              // LLVM 18, re-exported
		ostream = "__ZNSt3__118__get_ostream_fileERNS_13basic_ostreamIcNS_11char_traitsIcEEEE" // LLVM 18, in no log
		twenty  = "__ZNSt3__17twentytEv"                                                       // LLVM 20
		newest  = "__ZNSt3__19twentytwoEv"                                                     // LLVM 22: in no macOS
		unknown = "__ZNSt3__13fooEv"                                                           // nobody knows
		rethrow = "___cxa_rethrow_primary_exception"                                           // of libc++abi alone
	)
	for _, c := range []struct {
		target       string
		cxx, without []string
		system, lack []string
	}{
		{"14.0", []string{cout, abort, "__Znwm", "___gxx_personality_v0"}, []string{there, posix, primary, ostream, twenty, newest, unknown}, []string{"_puts", "_malloc"}, []string{"_quick_exit", "_later", "_latest"}},
		{"14.6", []string{cout, abort, "__Znwm"}, []string{there, posix, primary, ostream, twenty, newest, unknown}, []string{"_puts"}, []string{"_quick_exit", "_later", "_latest"}},
		{"15.0", []string{cout, there, posix, primary, ostream}, []string{twenty, newest, unknown}, []string{"_quick_exit", "_later"}, []string{"_latest"}},
		{"26.0", []string{cout, there, posix, primary, ostream, twenty}, []string{newest, unknown}, []string{"_quick_exit", "_later"}, []string{"_latest"}},
		{"26.4", []string{cout, twenty}, []string{newest, unknown}, []string{"_quick_exit", "_later", "_latest"}, nil},
	} {
		dir, sum := mustAssemble(t, c.target)
		check := func(stub string, have, lack []string) tbd.Exports {
			t.Helper()
			f, err := tbd.Open(os.DirFS(dir), "usr/lib/"+stub)
			if err != nil {
				t.Fatal(err)
			}
			e, ok := f.Exports(Target)
			if !ok {
				t.Fatalf("%s has nothing for %s", stub, Target)
			}
			for _, name := range have {
				if !e.Has(name) {
					t.Errorf("macOS %s: %s lacks %s", c.target, stub, name)
				}
			}
			for _, name := range lack {
				if e.Has(name) {
					t.Errorf("macOS %s: %s has %s", c.target, stub, name)
				}
			}
			return e
		}
		e := check("libc++.tbd", c.cxx, append(c.without, "_malloc", rethrow))
		if e.InstallName != "/usr/lib/libc++.1.dylib" || e.Symbols["__Znwm"].Kind != tbd.Weak || e.Symbols[cout].Kind != tbd.Strong {
			t.Errorf("libc++.tbd: %+v", e)
		}
		if len(e.Symbols) != sum.Symbols || len(e.Symbols)+len(sum.TooNew) != 11 {
			t.Errorf("macOS %s: %d symbols, and the summary says %d and %v", c.target, len(e.Symbols), sum.Symbols, sum.TooNew)
		}
		check("libSystem.tbd", c.system, c.lack)
		if sum.System != len(c.lack)+strings.Count(strings.Join(c.lack, " "), "_later") {
			t.Errorf("macOS %s: %d symbols of libSystem left out, want %v and the orders about them", c.target, sum.System, c.lack)
		}
		check("libc++abi.tbd", []string{"__Znwm", "___gxx_personality_v0"}, []string{cout})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]string
		target string
		want   string
	}{
		"an old target":       {nil, "13.3", "the oldest deployment target is 14.0"},
		"no stub":             {map[string]string{"zig/darwin/libSystem.tbd": ""}, "14.0", "libSystem: "},
		"another stub":        {map[string]string{"zig/darwin/libSystem.tbd": strings.ReplaceAll(system, "_malloc", "_mallok")}, "14.0", "and not the C library"},
		"a stub for Intel":    {map[string]string{"zig/darwin/libSystem.tbd": strings.ReplaceAll(system, ", arm64-macos", "")}, "14.0", "not for arm64-macos"},
		"no version":          {map[string]string{"zig/darwin/SDKSettings.json": `{}`}, "14.0", "darwin/SDKSettings.json: "},
		"no settings":         {map[string]string{"zig/darwin/SDKSettings.json": `[`}, "14.0", "darwin/SDKSettings.json: "},
		"a link":              {map[string]string{"zig/include/any-macos-any/passwd.h": "→/etc/passwd"}, "14.0", "passwd.h is neither a file nor a folder"},
		"no list":             {map[string]string{"llvm/" + abiList: ""}, "14.0", "libc++: open " + abiList},
		"a list of else":      {map[string]string{"llvm/" + abiList: "hello\n"}, "14.0", abiList + ":1: \"hello\" is no line"},
		"an empty list":       {map[string]string{"llvm/" + abiList: "{'is_defined': False, 'name': 'x', 'type': 'U'}\n"}, "14.0", "lists no symbol"},
		"no log":              {map[string]string{"llvm/" + abiChanges: "nothing\n"}, "14.0", "names no symbol"},
		"a log without start": {map[string]string{"llvm/" + abiChanges: "  Symbol added: _x\n"}, "14.0", "stands before any version"},
		"no systems":          {map[string]string{"llvm/" + availability: "// nothing\n"}, "14.0", "names no release of macOS"},
		"an old LLVM":         {map[string]string{"llvm/" + availability: ""}, "14.0", "LLVM 19 or newer is needed"},
		"an unknown setting":  {map[string]string{"llvm/libcxx/include/__config_site.in": "#cmakedefine01 _LIBCPP_HAS_NEWS\n"}, "14.0", "__config_site.in: line 1: the setting _LIBCPP_HAS_NEWS of libc++ is not known"},
		"an unknown value":    {map[string]string{"llvm/libcxx/include/__config_site.in": "@NEWS@\n"}, "14.0", "the setting @NEWS@"},
		"a huge file":         {map[string]string{"llvm/libcxx/include/huge": strings.Repeat("x", maxSourceFile+1)}, "14.0", "larger than 16777216 bytes"},
	} {
		_, _, err := assemble(t, fixture(c.change), c.target)
		if err == nil || !strings.HasPrefix(err.Error(), "assemble the macOS SDK: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if _, err := Assemble(ctx, fixture(nil), root, Version{14, 0}); err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Assemble(t.Context(), fixture(nil), root, Version{14, 0}); err != nil {
		t.Fatal(err)
	}
	if _, err := Assemble(t.Context(), fixture(nil), root, Version{14, 0}); err == nil || !strings.Contains(err.Error(), "/stdio.h: file exists") && !strings.Contains(err.Error(), "/Availability.h: file exists") {
		t.Errorf("a folder that is not empty: %v", err)
	}
}

// The compiler takes the SDK without a warning, and the linker finds what a
// deployment target has and nothing newer.
func TestCompilers(t *testing.T) {
	clang, lld, objdump := llvmtest.Tool(t, "clang++"), llvmtest.Tool(t, "ld64.lld"), llvmtest.Tool(t, "llvm-objdump")
	work := t.TempDir()
	build := func(sdk, target, source string, flags ...string) (string, error) {
		t.Helper()
		in, out := filepath.Join(work, "x.cpp"), filepath.Join(work, "x")
		if err := os.WriteFile(in, []byte(source), 0o644); err != nil {
			t.Fatal(err)
		}
		args := append([]string{"--target=arm64-apple-macos" + target, "-isysroot", sdk, "-Werror", "-fuse-ld=lld", "--ld-path=" + lld, in, "-o", out}, flags...)
		_, stderr, err := llvmtest.Try(t, clang, args...)
		return stderr, err
	}
	old, _ := mustAssemble(t, "14.0")
	newer, _ := mustAssemble(t, "26.0")
	const program = "#include <vector>\n#include <stdio.h>\nint main() { int *p = new int(3); return puts(\"x\") + *p; }\n"
	if stderr, err := build(old, "14.0", program, "-lm", "-lpthread"); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	used := llvmtest.Run(t, objdump, "--macho", "--dylibs-used", filepath.Join(work, "x"))
	if strings.Count(used, "/usr/lib/") != 2 || !strings.Contains(used, "/usr/lib/libc++.1.dylib") || !strings.Contains(used, "/usr/lib/libSystem.B.dylib") {
		t.Errorf("the program uses\n%s", used)
	}
	header := llvmtest.Run(t, objdump, "--macho", "--private-headers", filepath.Join(work, "x"))
	for _, want := range []string{"minos 14.0", "sdk 15.1"} {
		if !strings.Contains(header, want) {
			t.Errorf("the program's header lacks %q:\n%s", want, header)
		}
	}
	for source, symbol := range map[string]string{
		"#include <vector>\nint main() { std::twentyt(); }\n":                 "std::__1::twentyt()",
		"extern \"C\" void quick_exit(int);\nint main() { quick_exit(1); }\n": "quick_exit",
		"extern \"C\" int later(int);\nint main() { return later(1); }\n":     "later",
	} {
		if stderr, err := build(old, "14.0", source); err == nil || !strings.Contains(stderr, "undefined symbol: "+symbol) {
			t.Errorf("for macOS 14.0 %s is linked: %s", symbol, stderr)
		}
		if stderr, err := build(newer, "26.0", source); err != nil {
			t.Errorf("for macOS 26.0 %s is not linked: %s", symbol, stderr)
		}
	}
	if stderr, err := build(newer, "26.0", "#include <vector>\nint main() { std::foo(); }\n"); err == nil {
		t.Errorf("a symbol of which nothing is known is linked: %s", stderr)
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string]Version{"14": {14, 0}, "14.0": {14, 0}, "15.4.1": {15, 4}, "26.2": {26, 2}, "10.15": {10, 15}} {
		if v, err := ParseVersion(text); err != nil || v != want {
			t.Errorf("ParseVersion(%q) = %v, %v", text, v, err)
		}
	}
	for _, text := range []string{"", "x", "14.x", "-14", "14.-1", "+14", "9.0", "14.0.0.0", "14.", "1000"} {
		if v, err := ParseVersion(text); err == nil {
			t.Errorf("ParseVersion(%q) = %v", text, v)
		}
	}
	order := []Version{{}, {10, 15}, {14, 0}, {14, 6}, {15, 0}, {26, 0}, never}
	for i, v := range order {
		for j, w := range order {
			if v.Less(w) != (i < j) {
				t.Errorf("%v.Less(%v) = %v", v, w, v.Less(w))
			}
		}
	}
}

// The baseline is whole: its size, and a few that every C++ program needs.
func TestBaseline(t *testing.T) {
	b := baseline()
	if len(b) != 2207 {
		t.Errorf("%d symbols", len(b))
	}
	for _, name := range []string{"__ZNSt3__14coutE", "__Znwm", "___cxa_throw", "___gxx_personality_v0", "__ZNSt3__16threadD1Ev", "__ZTVN10__cxxabiv120__si_class_type_infoE"} {
		if !b[name] {
			t.Errorf("the baseline lacks %s", name)
		}
	}
	for name, llvm := range unlisted() {
		if b[name] || llvm < 17 {
			t.Errorf("%s is in the baseline and dated %d", name, llvm)
		}
	}
}
