package build

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// configured is a node with a configure step that names no tools.
func configured() *plan.Node {
	n := base()
	n.Tools = nil
	n.Steps = []plan.Step{{Name: "configure", Uses: "cmake", With: map[string]any{
		"source": "${source}/.", "defines": map[string]any{"A": "${llvm.major}"}, "flags": []any{"-O2"}, "prefixes": []any{"${dep.dep}"},
	}}}
	return n
}

// What stonemason itself tells CMake is in the key as it will be said, with
// variables in place of folders: a release that says something else does not
// restore what an older one built.
func TestTheCommandsOfConfigureAreInTheKey(t *testing.T) {
	k := newKeyed(t)
	k.builder.Machine.Platform = platform.Platform{OS: "linux", Arch: "amd64"}
	text := k.key(t, configured())
	for _, want := range []string{
		"argv.000=cmake\n", "=-DCMAKE_INSTALL_LIBDIR=lib\n", "=-DCMAKE_BUILD_TYPE=Release\n", "=-DA=${llvm.major}\n",
		"=-DCMAKE_TOOLCHAIN_FILE=${work}/toolchain.cmake\n", "=-DCMAKE_MAKE_PROGRAM=${ninja}\n",
		`set(CMAKE_CXX_COMPILER "\${cxx}")`, `set(CMAKE_FIND_USE_PACKAGE_REGISTRY "OFF")`, "-O2 ", "=dep",
		"env.000=HOME=${home}\n", "env.001=TMPDIR=${tmp}\n", "env.002=PATH=${path}\n", "=SOURCE_DATE_EPOCH=1577836800\n", `set(CMAKE_PREFIX_PATH "\${dep.dep}")`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the key has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, k.builder.Sources.Root) || strings.Contains(text, "CMAKE_SYSTEM_NAME") {
		t.Errorf("the key of a native build names a place or a system:\n%s", text)
	}
	// For another host the same steps tell CMake another system.
	n := configured()
	n.Host = "linux-arm64"
	k.builder.Machine.CrossPath = []string{crossCompilers(t)}
	if text := k.key(t, n); !strings.Contains(text, `set(CMAKE_SYSTEM_PROCESSOR "aarch64")`) {
		t.Errorf("the key of a cross build names no processor:\n%s", text)
	}
}

// crossCompilers is a folder with programs by the names of cross compilers for
// ARM64: this machine's own.
func crossCompilers(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, program := range map[string]string{
		"gcc": "gcc", "g++": "g++", "ar": "ar", "ranlib": "ranlib", "nm": "nm", "strip": "strip",
		"objcopy": "objcopy", "objdump": "objdump", "readelf": "readelf", "ld": "ld",
	} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, "aarch64-linux-gnu-"+name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The compilers that make programs for another machine are in the key in place
// of this machine's.
func TestCrossCompilersAreInTheKey(t *testing.T) {
	k := newKeyed(t)
	n := configured()
	n.Host = "linux-arm64"
	dir := crossCompilers(t)
	k.builder.Machine.CrossPath = []string{dir}
	was := k.key(t, n)
	if strings.Contains(was, "\ncc=") || !strings.Contains(was, "\ncross=GNU ") {
		t.Errorf("the key names other compilers:\n%s", was)
	}
	k.builder.Machine.CXX = &hostcc.Compiler{Version: "12.2.0", Digest: "other"}
	if k.key(t, n) != was {
		t.Error("this machine's own compiler, which compiles nothing here, changes the key")
	}
	k = newKeyed(t)
	k.builder.Machine.CrossPath = []string{dir}
	strip := filepath.Join(dir, "aarch64-linux-gnu-strip")
	if err := errors.Join(os.Remove(strip), os.WriteFile(strip, []byte("other"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if k.key(t, n) == was {
		t.Error("another strip gives the same key")
	}
}

// What a step runs is in the key though no component names it.
func TestToolsThatAreNotNamedAreInTheKey(t *testing.T) {
	k := newKeyed(t)
	was := k.key(t, configured())
	file := filepath.Join(k.builder.Sources.Root, "two", "file")
	k.builder.Machine.CXX = &hostcc.Compiler{Version: "12.2.0", Digest: "other"}
	if k.key(t, configured()) == was {
		t.Error("another compiler gives the same key")
	}
	k = newKeyed(t)
	k.builder.Machine.Tools["cmake"] = file
	if k.key(t, configured()) == was {
		t.Error("another cmake gives the same key")
	}
	// Every program that a component names is there by content, or refused.
	n := base()
	n.Tools = []string{"git"}
	if _, err := k.builder.Key(t.Context(), n, k.contents); err == nil {
		t.Error("a program that is not there is in the key")
	}
	k.builder.Machine.Tools["git"] = file
	if text := k.key(t, n); !strings.Contains(text, "tool.git=") {
		t.Errorf("git is not in the key:\n%s", text)
	}
	n = base()
	n.Tools, n.Steps = nil, []plan.Step{{Name: "fixup", Uses: "fixup", With: map[string]any{"runpaths": []any{map[string]any{"globs": []any{"bin/*"}, "paths": []any{"$ORIGIN"}}}}}}
	k.builder.Machine.Tools["patchelf"] = file
	if text := k.key(t, n); !strings.Contains(text, "tool.patchelf=") {
		t.Errorf("patchelf is not in the key:\n%s", text)
	}
}

// A patch has its own line: one that comes in before it does not touch it.
func TestPatchesAreKeyedByName(t *testing.T) {
	k := newKeyed(t)
	n := base()
	was := k.key(t, n)
	n.Patches = append([]plan.Patch{{File: "patches/a/0000-zero.patch", SHA256: strings.Repeat("0", 64)}}, n.Patches...)
	changes := key.Diff(was, k.key(t, n))
	if len(changes) != 1 || changes[0].Name != "patch.0000-zero.patch" || changes[0].Had {
		t.Errorf("changes are %v", changes)
	}
}

// The key that was computed before the build serves as long as what the node
// needs is what the store had then.
func TestAKeyIsComputedAnewWhenANeedWasBuilt(t *testing.T) {
	k := newKeyed(t)
	n := base()
	early := keyNamed("computed early")
	k.builder.forecast = map[string]Forecast{n.ID: {Known: true, Key: early}}
	for id, c := range k.contents {
		k.builder.forecast[id] = Forecast{Known: true, Cached: true, Action: store.Action{Content: c}}
	}
	if got, err := k.builder.keyed(t.Context(), n, k.contents); err != nil || got.ID != early.ID {
		t.Errorf("nothing was built: %v, %v", got, err)
	}
	k.contents["dep@linux-amd64"] = "another content"
	got, err := k.builder.keyed(t.Context(), n, k.contents)
	if err != nil || !strings.Contains(got.Text, "dep.dep=another content\n") {
		t.Errorf("a need was built: %v, %v", got, err)
	}
}

// The known lines of a key that is not final are those of the final one.
func TestKeysWithoutWhatMustBeBuiltFirst(t *testing.T) {
	k := newKeyed(t)
	n := base()
	n.Build = append(n.Build, "other@linux-amd64")
	partial, err := k.builder.keyWithout(t.Context(), n, k.contents, []string{"dep@linux-amd64"})
	if err != nil {
		t.Fatal(err)
	}
	changes := key.Diff(partial.Text, k.key(t, n))
	if len(changes) != 1 || changes[0].Name != "dep.dep" || changes[0].Had {
		t.Errorf("changes are %v", changes)
	}
}

// A workspace under git counts as it is on disk: whatever changes the files
// that a build sees changes the key, and nothing else does.
func TestAGitWorkspaceInTheKey(t *testing.T) {
	k := newKeyed(t)
	root := filepath.Join(k.builder.Sources.Root, "work")
	run := func(argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	try := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	try(os.MkdirAll(filepath.Join(root, "dir"), 0o755))
	write("tracked", "one")
	write("dir/other", "two")
	write(".gitignore", "*.o\n")
	try(os.Symlink("tracked", filepath.Join(root, "link")))
	git := []string{"git", "-c", "user.name=n", "-c", "user.email=n@example.org"}
	run("git", "init", "-q", "-b", "main")
	run("git", "add", "-A")
	run(append(slices.Clone(git), "commit", "-q", "-m", "first")...)

	n := base()
	n.Sources = []plan.Source{{Name: "a", Workspace: "work"}}
	was := k.key(t, n)
	seen := map[string]string{was: "as it was committed"}
	for _, c := range []struct {
		what string
		do   func()
		same bool
	}{
		{"an ignored file", func() { write("x.o", "object") }, true},
		{"a tracked file changed", func() { write("tracked", "ONE") }, false},
		{"the change committed", func() { run(append(slices.Clone(git), "commit", "-q", "-a", "-m", "second")...) }, true},
		{"an untracked file", func() { write("untracked", "new") }, false},
		{"the untracked file changed", func() { write("untracked", "newer") }, false},
		{"the untracked file staged", func() { run("git", "add", "untracked") }, true},
		{"a tracked file executable", func() { try(os.Chmod(filepath.Join(root, "tracked"), 0o755)) }, false},
		{"a link to elsewhere", func() {
			try(os.Remove(filepath.Join(root, "link")))
			try(os.Symlink("dir/other", filepath.Join(root, "link")))
		}, false},
		{"a file in the link's place", func() {
			try(os.Remove(filepath.Join(root, "link")))
			write("link", "two")
		}, false},
		{"a tracked file deleted", func() { try(os.Remove(filepath.Join(root, "dir", "other"))) }, false},
		{"the deletion staged", func() { run("git", "add", "-A") }, true},
		{"a file renamed", func() { try(os.Rename(filepath.Join(root, "untracked"), filepath.Join(root, "renamed"))) }, false},
		{"no longer ignored", func() { write(".gitignore", "") }, false},
	} {
		c.do()
		text := k.key(t, n)
		if (text == was) != c.same {
			t.Errorf("%s: the key is the same: %v", c.what, text == was)
		}
		if other := seen[text]; other != "" && !c.same {
			t.Errorf("%s: the key is that of %s", c.what, other)
		}
		was, seen[text] = text, c.what
	}
}
