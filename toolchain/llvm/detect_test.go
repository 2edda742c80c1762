package llvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeClang answers what Detect asks, as real ones do: the banners were taken
// from the distributions named in the tests.
func fakeClang(t *testing.T, path, banner, resource string, targets ...string) {
	t.Helper()
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in\n--version) echo '%s'; echo 'Target: x86_64-pc-linux-gnu';;\n"+
		"-print-resource-dir) echo '%s';;\n--print-targets) printf '\\n  Registered Targets:\\n'; for t in %s; do echo \"    $t  - some target\"; done;;\nesac\n",
		banner, resource, strings.Join(targets, " "))
	writeTool(t, path, script)
	if err := os.MkdirAll(filepath.Join(resource, "include"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeTool(t *testing.T, path, script string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	writeTool(t, path, "x")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

func detect(t *testing.T, o Options) []Install {
	t.Helper()
	found, err := Detect(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

const tool = "#!/bin/sh\nexit 0\n"

func TestDetectDebian(t *testing.T) {
	root := t.TempDir()
	for major, version := range map[string]string{"19": "19.1.7", "22": "22.1.8", "9": "9.0.1"} {
		p := filepath.Join(root, "usr/lib/llvm-"+major)
		fakeClang(t, p+"/bin/clang", "Debian clang version "+version+" (1~deb12u1)", p+"/lib/clang/"+major, "aarch64", "amdgcn", "x86-64")
		writeTool(t, p+"/bin/ld.lld", tool)
	}
	touch(t, root+"/usr/lib/llvm-22/lib/cmake/llvm/LLVMConfig.cmake")
	touch(t, root+"/usr/lib/llvm-22/lib/cmake/clang/ClangConfig.cmake")
	// /usr/bin/clang leads to one that is listed already.
	if err := os.MkdirAll(root+"/usr/bin", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../lib/llvm-19/bin/clang", root+"/usr/bin/clang"); err != nil {
		t.Fatal(err)
	}
	found := detect(t, Options{Root: root, MinMajor: 19, Required: []string{"clang", "ld.lld"}})
	if len(found) != 3 {
		t.Fatalf("%d found: %v", len(found), found)
	}
	best := found[0]
	if best.Version != "22.1.8" || best.Major != 22 || best.Vendor != Debian || !best.Usable() || !best.HasDev || !best.HasAMDGPU ||
		best.Triple != "x86_64-pc-linux-gnu" || best.ResourceDir != root+"/usr/lib/llvm-22/lib/clang/22" || best.Tools["ld.lld"] == "" {
		t.Errorf("%+v", best)
	}
	if found[1].Major != 19 || !found[1].Usable() || found[1].HasDev {
		t.Errorf("%+v", found[1])
	}
	if found[2].Major != 9 || strings.Join(found[2].Unusable, ";") != "version 9.0.1 is older than 19" {
		t.Errorf("%+v", found[2])
	}
	if got := strings.Join(found[1].Packages(true), " "); got != "libclang-19-dev libxml2-dev libzstd-dev llvm-19-dev zlib1g-dev" {
		t.Errorf("packages %q", got)
	}
	if in, err := Best(found, 19); err != nil || in.Major != 22 {
		t.Errorf("%v, %v", in, err)
	}
}

func TestDetectFedora(t *testing.T) {
	root := t.TempDir()
	fakeClang(t, root+"/usr/bin/clang", "clang version 20.1.8 (Fedora 20.1.8-4.fc42)", root+"/usr/lib/clang/20", "amdgcn")
	writeTool(t, root+"/usr/bin/unrelated", tool)
	touch(t, root+"/usr/lib64/cmake/llvm/LLVMConfig.cmake")
	found := detect(t, Options{Root: root, Required: []string{"ld.lld", "clang-offload-bundler"}})
	if len(found) != 1 || found[0].Vendor != Fedora || found[0].LibDir != root+"/usr/lib64" || found[0].HasDev {
		t.Fatalf("%+v", found)
	}
	if found[0].Tools["unrelated"] != "" {
		t.Error("a tool that is not LLVM's is listed")
	}
	want := "lacks clang-offload-bundler, ld.lld (packages clang-tools-extra, lld)"
	if strings.Join(found[0].Unusable, ";") != want {
		t.Errorf("%q", found[0].Unusable)
	}
}

func TestDetectHomebrew(t *testing.T) {
	root := t.TempDir()
	opt := root + "/opt/homebrew/opt/"
	for _, v := range []string{"llvm 21.1.0", "llvm@20 20.1.8"} {
		name, version, _ := strings.Cut(v, " ")
		fakeClang(t, opt+name+"/bin/clang", "Homebrew clang version "+version, opt+name+"/lib/clang/x", "amdgcn")
	}
	writeTool(t, opt+"lld/bin/ld.lld", "#!/bin/sh\necho 'Homebrew LLD 21.1.0 (compatible with GNU linkers)'\n")
	// A linker of another version than its formula says is not taken.
	writeTool(t, opt+"lld@20/bin/ld.lld", "#!/bin/sh\necho 'Homebrew LLD 19.1.0 (compatible with GNU linkers)'\n")
	found := detect(t, Options{Root: root, Required: []string{"ld.lld"}})
	if len(found) != 2 || found[0].Vendor != Homebrew || !found[0].Usable() || found[0].Tools["ld.lld"] != opt+"lld/bin/ld.lld" {
		t.Fatalf("%+v", found)
	}
	if found[1].Major != 20 || strings.Join(found[1].Unusable, ";") != "lacks ld.lld (packages lld)" {
		t.Errorf("%+v", found[1])
	}
}

func TestDetectNamedAndBroken(t *testing.T) {
	root, own := t.TempDir(), t.TempDir()
	fakeClang(t, own+"/good/bin/clang", "clang version 23.0.0git (https://github.com/llvm/llvm-project 0bace19)", own+"/good/lib/clang/23", "amdgcn")
	fakeClang(t, own+"/apple/bin/clang", "Apple clang version 17.0.0 (clang-1700.0.13.3)", own+"/apple/lib/clang/17", "arm64")
	fakeClang(t, own+"/narrow/bin/clang", "clang version 22.1.0", own+"/narrow/lib/clang/22", "x86-64")
	fakeClang(t, own+"/mute/bin/clang", "hello", own+"/mute/lib", "amdgcn")
	writeTool(t, own+"/dead/bin/clang", "#!/bin/sh\necho 'cannot load libLLVM' >&2\nexit 127\n")
	fakeClang(t, own+"/headless/bin/clang", "clang version 21.0.0", own+"/headless/lib", "amdgcn")
	if err := os.RemoveAll(own + "/headless/lib"); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, name := range []string{"narrow", "good", "apple", "mute", "dead", "headless", "absent"} {
		named = append(named, filepath.Join(own, name))
	}
	found := detect(t, Options{Root: root, ExtraPrefixes: named, MinMajor: 19})
	if len(found) != len(named) || found[0].Version != "23.0.0-git" || !found[0].Usable() || found[0].Vendor != Other {
		t.Fatalf("%+v", found)
	}
	_, err := Best(found[1:], 19)
	var none *NoUsableError
	if !errors.As(err, &none) {
		t.Fatal(err)
	}
	for _, says := range []string{"version 19 or newer", "Apple's clang", "no amdgcn target", "which names no version",
		"cannot load libLLVM", "no clang in", "own headers are not in"} {
		if !strings.Contains(err.Error(), says) {
			t.Errorf("%v\ndoes not say %q", err, says)
		}
	}
	if _, err := Best(nil, 19); err == nil || !strings.Contains(err.Error(), "no LLVM found") {
		t.Errorf("%v", err)
	}
	if found := detect(t, Options{Root: t.TempDir()}); len(found) != 0 {
		t.Errorf("found %v in an empty root", found)
	}
}

func TestDetectStopsWithItsContext(t *testing.T) {
	root := t.TempDir()
	fakeClang(t, root+"/usr/bin/clang", "clang version 20.1.8", root+"/usr/lib/clang/20", "amdgcn")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Detect(ctx, Options{Root: root}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
