package sdk

import (
	"os"
	"path/filepath"
	"testing"
)

// What an SDK says of libraries: its own, those within them, those that are
// elsewhere, and nothing of what it does not have.
func TestStubs(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	one := func(name, more string) string {
		return "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: " + name + "\n" + more + "...\n"
	}
	put("usr/lib/libSystem.B.tbd", system)
	put("usr/lib/libfront.tbd", one("/usr/lib/libfront.dylib", "reexported-libraries: [ { targets: [ arm64-macos ], libraries: [ /usr/lib/libback.dylib ] } ]\n"))
	put("usr/lib/libback.tbd", one("/usr/lib/libback.dylib", "exports: [ { targets: [ arm64-macos ], symbols: [ _back ] } ]\nreexported-libraries: [ { targets: [ arm64-macos ], libraries: [ /usr/lib/libfront.dylib ] } ]\n"))
	put("usr/lib/libopen.tbd", one("/usr/lib/libopen.dylib", "reexported-libraries: [ { targets: [ arm64-macos ], libraries: [ /usr/lib/libgone.dylib ] } ]\n"))
	put("usr/lib/libintel.tbd", "--- !tapi-tbd\ntbd-version: 4\ntargets: [ x86_64-macos ]\ninstall-name: /usr/lib/libintel.dylib\n...\n")
	put("usr/lib/libbad.tbd", "no stub")
	put("System/Library/Frameworks/Metal.framework/Versions/A/Metal.tbd",
		one("/System/Library/Frameworks/Metal.framework/Versions/A/Metal", "exports: [ { targets: [ arm64-macos ], symbols: [ _MTLCopyAllDevices ] } ]\n"))
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.tbd"), []byte(one("/outside", "")), 0o644); err != nil {
		t.Fatal(err)
	}

	stubs := NewStubs(dir)
	for _, test := range []struct {
		library, symbol string
		known, has      bool
	}{
		{"/usr/lib/libSystem.B.dylib", "dyld_stub_binder", true, true},
		{"/usr/lib/libSystem.B.dylib", "_malloc", true, true},
		{"/usr/lib/libSystem.B.dylib", "_invented", true, false},
		{"/usr/lib/libfront.dylib", "_back", true, true},
		{"/usr/lib/libfront.dylib", "_invented", true, false}, // they re-export each other
		{"/usr/lib/libopen.dylib", "_anything", true, true},   // what it passes on is not known
		{"/System/Library/Frameworks/Metal.framework/Versions/A/Metal", "_MTLCopyAllDevices", true, true},
		{"/System/Library/Frameworks/Metal.framework/Versions/A/Metal", "_invented", true, false},
		{"/usr/lib/libgone.dylib", "", false, false},
		{"/usr/lib/libintel.dylib", "", false, false},
		{"/usr/lib/libbad.dylib", "", false, false},
		{"/../outside", "", false, false},
		{"usr/lib/libback.dylib", "", false, false},
		{"", "", false, false},
	} {
		exports, ok := stubs.SystemLibrary(test.library, 0)
		if ok != test.known || ok && exports(test.symbol) != test.has {
			t.Errorf("%s: known %v; %s: want known %v, exported %v", test.library, ok, test.symbol, test.known, test.has)
		}
	}
}
