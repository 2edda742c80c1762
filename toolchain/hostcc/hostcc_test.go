package hostcc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Macros as the compilers print them; only those that identify. Apple's are
// from Xcode 15.3, the others from the releases named.
const (
	gcc12 = "#define __GNUC__ 12\n#define __GNUC_MINOR__ 2\n#define __GNUC_PATCHLEVEL__ 0\n#define __VERSION__ \"12.2.0\"\n"
	gcc48 = "#define __GNUC__ 4\n#define __GNUC_MINOR__ 8\n#define __GNUC_PATCHLEVEL__ 5\n"
	// Clang claims to be GCC 4.2.1, always.
	asGCC   = "#define __GNUC__ 4\n#define __GNUC_MINOR__ 2\n#define __GNUC_PATCHLEVEL__ 1\n#define __clang__ 1\n"
	clang22 = asGCC + "#define __clang_major__ 22\n#define __clang_minor__ 1\n#define __clang_patchlevel__ 8\n"
	clang39 = asGCC + "#define __clang_major__ 3\n#define __clang_minor__ 9\n#define __clang_patchlevel__ 1\n"
	apple15 = asGCC + "#define __apple_build_version__ 15000309\n#define __clang_major__ 15\n#define __clang_minor__ 0\n#define __clang_patchlevel__ 0\n"
	icc     = "#define __GNUC__ 9\n#define __GNUC_MINOR__ 1\n#define __GNUC_PATCHLEVEL__ 0\n#define __INTEL_COMPILER 2021\n"
)

func TestIdentify(t *testing.T) {
	for _, tt := range []struct {
		name, macros string
		kind         Kind
		version      string
		fails        string
	}{
		{"gcc", gcc12, GCC, "12.2.0", ""},
		{"clang", clang22, Clang, "22.1.8", ""},
		{"apple", apple15, AppleClang, "15.0.0", ""},
		{"pretender", icc, "", "", "neither GCC nor Clang"},
		{"nothing", "", "", "", "does not say its version"},
		{"windows lines", strings.ReplaceAll(gcc12, "\n", "\r\n"), GCC, "12.2.0", ""},
		{"nonsense", "#define __GNUC__ 99999999\n", "", "", "does not say its version"},
	} {
		kind, version, err := identify(parseMacros(tt.macros))
		if kind != tt.kind || version != tt.version || (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %s %s, %v", tt.name, kind, version, err)
		}
	}
}

func TestMinimums(t *testing.T) {
	for _, tt := range []struct {
		kind    Kind
		version string
		ok      bool
	}{
		{GCC, "7.4.0", true}, {GCC, "7.3.9", false}, {GCC, "12.2.0", true},
		{Clang, "5.0.0", true}, {Clang, "4.0.1", false},
		{AppleClang, "10.0.0", true}, {AppleClang, "9.1.0", false},
	} {
		err := check(Compiler{Kind: tt.kind, Version: tt.version, Path: "/usr/bin/cc", Language: CXX})
		var old *TooOldError
		if (err == nil) != tt.ok || err != nil && !errors.As(err, &old) {
			t.Errorf("%s %s: %v", tt.kind, tt.version, err)
		}
	}
}

// fake is a compiler that defines these macros.
func fake(t *testing.T, path, macros string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in\n-dM) printf '%%s' '%s';;\n-dumpmachine) echo x86_64-linux-gnu;;\n*) echo as;;\nesac\n", macros)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestDetectReal runs this machine's compilers.
func TestDetectReal(t *testing.T) {
	found, err := Detect(context.Background(), Options{CC: "gcc", CXX: "g++"})
	if err != nil {
		t.Fatal(err)
	}
	banner, err := exec.Command("gcc", "-dumpfullversion", "-dumpversion").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := GCC
	if runtime.GOOS == "darwin" {
		want = AppleClang // macOS's gcc is Apple's clang.
	}
	if found.C.Kind != want || found.CXX.Kind != want || want == GCC && found.C.Version != strings.TrimSpace(string(banner)) {
		t.Errorf("%+v", found)
	}
	if !filepath.IsAbs(found.C.Path) || found.C.Triple == "" || len(found.C.Digest) != 64 || found.C.Digest == found.CXX.Digest {
		t.Errorf("%+v", found)
	}
	again, err := Detect(context.Background(), Options{CC: found.C.Path, CXX: found.CXX.Path})
	if err != nil || again != found {
		t.Errorf("by path: %+v, %v", again, err)
	}
	if _, err := Detect(context.Background(), Options{}); err != nil {
		t.Errorf("without names: %v", err)
	}
}

func TestDetectOrder(t *testing.T) {
	for _, tt := range []struct {
		name    string
		have    map[string]string
		opt     Options
		cc, cxx string
		says    string
	}{
		{name: "cc first", have: map[string]string{"cc": gcc12, "c++": gcc12, "clang": clang22, "clang++": clang22}, cc: "cc", cxx: "c++"},
		{name: "no cc", have: map[string]string{"clang": clang22, "clang++": clang22}, cc: "clang", cxx: "clang++"},
		{name: "partner wins", have: map[string]string{"gcc": gcc12, "g++": gcc12, "clang++": clang22, "c++": clang22}, cc: "gcc", cxx: "g++"},
		{name: "only versioned", have: map[string]string{"gcc-9": gcc12, "gcc-12": gcc12, "g++-12": gcc12, "g++-9": gcc12}, cc: "gcc-12", cxx: "g++-12"},
		{name: "old ones are passed over", have: map[string]string{"cc": gcc48, "c++": gcc48, "clang-22": clang22, "clang++-22": clang22}, cc: "clang-22", cxx: "clang++-22"},
		{name: "chosen", have: map[string]string{"cc": gcc12, "c++": gcc12, "clang-22": clang22, "clang++-22": clang22}, opt: Options{CC: "clang-22"}, cc: "clang-22", cxx: "clang++-22"},
		{name: "chosen old", have: map[string]string{"cc": gcc12, "c++": gcc12, "old": clang39}, opt: Options{CC: "old"},
			says: "old) is too old: version 5.0.0 or newer is needed; install"},
		{name: "all old", have: map[string]string{"cc": gcc48, "clang": clang39}, says: "GNU 4.8.5"},
		{name: "none", have: nil, says: "no usable C compiler (looked for cc, gcc, clang); install"},
		{name: "no C++", have: map[string]string{"cc": gcc12}, says: "no usable C++ compiler"},
		{name: "chosen with flags", have: map[string]string{"cc": gcc12}, opt: Options{CC: "ccache cc"}, says: "name one program without flags"},
		{name: "chosen missing", have: map[string]string{"cc": gcc12}, opt: Options{CC: "/none/cc"}, says: "/none/cc cannot be used as a compiler: there is no such program"},
		{name: "chosen is no compiler", have: map[string]string{"cc": "hello"}, opt: Options{CC: "cc"}, says: "does not say its version"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			for name, macros := range tt.have {
				fake(t, filepath.Join(bin, name), macros)
			}
			tt.opt.Path = "relative:" + bin
			found, err := Detect(context.Background(), tt.opt)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("%v, want it to say %q", err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Base(found.C.Path) != tt.cc || filepath.Base(found.CXX.Path) != tt.cxx {
				t.Errorf("%s and %s, want %s and %s", found.C.Path, found.CXX.Path, tt.cc, tt.cxx)
			}
		})
	}
}

func TestErrorsCanBeReached(t *testing.T) {
	bin := t.TempDir()
	fake(t, filepath.Join(bin, "cc"), gcc48)
	_, err := Detect(context.Background(), Options{Path: bin})
	var none *NotFoundError
	var old *TooOldError
	if !errors.As(err, &none) || !errors.As(err, &old) || old.Found.Version != "4.8.5" || old.Minimum != "7.4.0" {
		t.Errorf("%T %v", err, err)
	}
}

func TestDigestFollowsContent(t *testing.T) {
	ctx := context.Background()
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		fake(t, filepath.Join(dir, "cc"), gcc12)
		fake(t, filepath.Join(dir, "c++"), gcc12)
	}
	get := func(dir string) string {
		t.Helper()
		found, err := Detect(ctx, Options{Path: dir})
		if err != nil {
			t.Fatal(err)
		}
		return found.C.Digest
	}
	if get(a) != get(b) {
		t.Error("equal compilers in two folders differ")
	}
	first := get(a)
	script, err := os.ReadFile(filepath.Join(a, "cc"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a, "cc"), append(script, "# patched\n"...), 0o755); err != nil {
		t.Fatal(err)
	}
	second := get(a)
	if second == first {
		t.Error("another driver has the same digest")
	}
	fake(t, filepath.Join(a, "as"), "")
	if get(a) == second {
		t.Error("another assembler has the same digest")
	}
}

func TestPartners(t *testing.T) {
	for cc, want := range map[string]string{
		"/usr/bin/gcc-12":                "/usr/bin/g++-12",
		"/usr/bin/aarch64-linux-gnu-gcc": "/usr/bin/aarch64-linux-gnu-g++",
		"/usr/bin/cc":                    "/usr/bin/c++",
		"/opt/clang-22":                  "/opt/clang++-22",
		"/opt/tool":                      "",
	} {
		if got := strings.Join(partners(cc), " "); got != want {
			t.Errorf("%s: %q, want %q", cc, got, want)
		}
	}
}
