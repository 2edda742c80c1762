package audit

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

func TestGoodBundle(t *testing.T) {
	b := good(t)
	r := b.audit(nil)
	for _, f := range r.Findings {
		if f.Severity != Info {
			t.Errorf("%+v", f)
		}
	}
	if !r.OK() || r.Files != 9 || r.Images != 3 || r.Executed != 3 || r.Bytes == 0 {
		t.Errorf("%+v", r)
	}
	if len(r.Floor) == 0 || r.Floor[0].Family != "GLIBC" || r.Floor[0].File == "" {
		t.Errorf("floor %+v", r.Floor)
	}
	// The same anywhere else.
	if moved := b.copied(t).audit(nil); !slices.Equal(moved.Findings, r.Findings) {
		t.Errorf("moved: %+v", moved.Findings)
	}
}

// mutations break one thing each. Each must give its own rule, for its own
// file, and nothing else.
func mutations() []mutation {
	return []mutation{
		{"library gone", ruleELFNeeded, "bin/hello", "needs libgreet.so.1", func(b bundle) {
			b.remove("lib/libgreet.so.1.0")
			b.remove("lib/libgreet.so.1")
		}, with(ruleELFUnused, ruleExecFails)},
		{"library of a library gone", ruleELFNeeded, "lib/libgreet.so.1.0", "needs libdeep.so.1", func(b bundle) {
			b.remove("lib/libdeep.so.1.0")
			b.remove("lib/libdeep.so.1")
		}, with(ruleELFUnused, ruleExecFails)},
		{"no runpath", ruleELFNeeded, "bin/hello", "set RUNPATH to $ORIGIN/../lib", func(b bundle) {
			b.patchelf("--remove-rpath", b.path("bin/hello"))
		}, with(ruleExecFails)},
		// It runs all the same: the program has loaded the library before.
		{"needed by chance", ruleELFNeeded, "lib/libgreet.so.1.0", "set RUNPATH to $ORIGIN", func(b bundle) {
			b.patchelf("--remove-rpath", b.path("lib/libgreet.so.1.0"))
			b.patchelf("--add-needed", "libdeep.so.1", b.path("bin/hello"))
		}, nil},
		{"needed by path", ruleELFNeeded, "bin/hello", "by its path", func(b bundle) {
			b.patchelf("--replace-needed", "libgreet.so.1", "./libgreet.so.1", b.path("bin/hello"))
		}, with(ruleELFUnused, ruleExecFails)},
		{"library is a linker script", ruleELFNeeded, "bin/hello", "is no library for", func(b bundle) {
			b.write("lib/libgreet.so.1.0", 0o644, "INPUT(libother.so)\n")
		}, with(ruleExecFails)},
		{"symlinked folder", ruleELFNeeded, "lib/libgreet.so.1.0", "when it is loaded from other", func(b bundle) {
			b.link("../lib/libgreet.so.1.0", "other/libgreet.so.1")
			b.patchelf("--set-rpath", "$ORIGIN/../other", b.path("bin/hello"))
		}, with(ruleExecFails)},
		{"absolute runpath", ruleELFRPathAbsolute, "bin/hello", `searches "/opt/lib"`, func(b bundle) {
			b.patchelf("--set-rpath", "$ORIGIN/../lib:/opt/lib", b.path("bin/hello"))
		}, nil},
		{"empty entry", ruleELFRPathAbsolute, "bin/hello", "working directory", func(b bundle) {
			b.patchelf("--set-rpath", "$ORIGIN/../lib:", b.path("bin/hello"))
		}, nil},
		{"token", ruleELFRPathAbsolute, "bin/hello", "another folder on another machine", func(b bundle) {
			b.patchelf("--set-rpath", "$ORIGIN/../lib:$ORIGIN/../$LIB", b.path("bin/hello"))
		}, nil},
		{"runpath above", ruleELFEscapes, "bin/hello", `"$ORIGIN/../../lib"`, func(b bundle) {
			b.patchelf("--set-rpath", "$ORIGIN/../lib:$ORIGIN/../../lib", b.path("bin/hello"))
		}, nil},
		{"runpath out by symlink", ruleELFEscapes, "bin/hello", "outside the bundle", func(b bundle) {
			b.link("/usr/lib", "sys")
			b.patchelf("--set-rpath", "$ORIGIN/../lib:$ORIGIN/../sys", b.path("bin/hello"))
		}, with(ruleLinkAbsolute)},
		{"duplicate", ruleELFDuplicate, "bin/hello", `the same folder as "$ORIGIN/../lib"`, func(b bundle) {
			b.patchelf("--set-rpath", "$ORIGIN/../lib:$ORIGIN/../bin/../lib/", b.path("bin/hello"))
		}, nil},
		{"unused", ruleELFUnused, "bin/hello", `"$ORIGIN/../share"`, func(b bundle) {
			b.patchelf("--set-rpath", "$ORIGIN/../share:$ORIGIN/../lib", b.path("bin/hello"))
		}, nil},
		{"legacy rpath", ruleELFRPathLegacy, "bin/hello", "has an RPATH", func(b bundle) {
			b.hello("-Wl,--disable-new-dtags,-rpath,$ORIGIN/../lib")
		}, nil},
		{"interpreter", ruleELFInterp, "bin/hello", `"/nix/ld.so"`, func(b bundle) {
			b.patchelf("--set-interpreter", "/nix/ld.so", b.path("bin/hello"))
		}, with(ruleExecFails)},
		{"foreign machine", ruleELFMachine, "lib/other.so", "in a bundle for", func(b bundle) {
			b.write("lib/other.so", 0o755, b.read("lib/libdeep.so.1.0"))
			b.machine("lib/other.so", elf.EM_RISCV)
		}, nil},
		{"damaged", ruleELFDamaged, "lib/bad.so", "cannot be read", func(b bundle) {
			b.write("lib/bad.so", 0o755, b.read("lib/libdeep.so.1.0")[:3000])
		}, nil},
		{"macos", ruleMachOMachine, "lib/libx.dylib", "is for macOS", func(b bundle) {
			b.write("lib/libx.dylib", 0o755, "\xcf\xfa\xed\xfe\x0c\x00\x00\x01")
		}, nil},
		{"universal", ruleMachOMachine, "lib/libx.dylib", "is for macOS", func(b bundle) {
			b.write("lib/libx.dylib", 0o755, "\xca\xfe\xba\xbe\x00\x00\x00\x02")
		}, nil},
		{"leak in a binary", ruleBuildPath, "lib/data.bin", "/tmp/some/build at byte 4", func(b bundle) {
			b.write("lib/data.bin", 0o644, "\x00abc/tmp/some/buildclang version")
		}, nil},
		{"leak compiled in", ruleBuildPath, "bin/hello", "/tmp/some/build", func(b bundle) {
			b.cc("bin/hello", `int puts(const char *); int main(void){return puts("/tmp/some/build/src/a.c") < 0;}`)
		}, nil},
		{"leak in text", ruleBuildPath, "share/flags", "3 times, first at byte 2", func(b bundle) {
			b.write("share/flags", 0o644, "-I/tmp/some/build/include -L/tmp/some/build -I/store\n/tmp/some/build")
		}, nil},
		{"system folder in cmake", ruleSystemPath, "lib/cmake/greet/greetConfig.cmake", "line 3", func(b bundle) {
			b.write("lib/cmake/greet/greetConfig.cmake", 0o644, "\n# /usr/lib/x\nset(L /usr/lib/x86_64-linux-gnu/libz.so)\n")
		}, nil},
		{"rpath in pkg-config", ruleSystemPath, "lib/pkgconfig/a.pc", "-rpath,/", func(b bundle) {
			b.write("lib/pkgconfig/a.pc", 0o644, "Libs: -Wl,-rpath,/opt/a -la\n")
		}, nil},
		{"rocm in cmake", ruleSystemPath, "lib/cmake/hip/hip.cmake", "/opt/rocm", func(b bundle) {
			b.write("lib/cmake/hip/hip.cmake", 0o644, "set(ROCM_PATH /opt/rocm)\n")
		}, nil},
		{"shebang", ruleShebang, "bin/tool", `"/opt/python/bin/python3"`, func(b bundle) {
			b.write("bin/tool", 0o755, "#! /opt/python/bin/python3 -u\n")
		}, with(ruleExecFails)},
		{"bash", ruleShebang, "bin/tool", "write #!/usr/bin/env bash", func(b bundle) { b.write("bin/tool", 0o755, "#!/bin/bash\n") }, nil},
		{"env with a path", ruleShebang, "bin/tool", "which is a path", func(b bundle) {
			b.write("bin/tool", 0o755, "#!/usr/bin/env -S A=b /bin/sh\n")
		}, nil},
		{"env alone", ruleShebang, "bin/tool", "for nothing", func(b bundle) { b.write("bin/tool", 0o755, "#!/usr/bin/env\n") }, with(ruleExecFails)},
		{"carriage return", ruleShebang, "bin/tool", "carriage return", func(b bundle) { b.write("bin/tool", 0o755, "#!/bin/sh\r\n") }, with(ruleExecFails)},
		{"empty shebang", ruleShebang, "bin/tool", "names no interpreter", func(b bundle) { b.write("bin/tool", 0o755, "#!\n") }, with(ruleExecFails)},
		{"absolute symlink", ruleLinkAbsolute, "lib/abs", "an absolute path", func(b bundle) { b.link("/etc/passwd", "lib/abs") }, nil},
		{"symlink above", ruleLinkEscapes, "lib/up", "outside the bundle", func(b bundle) { b.link("../../up", "lib/up") }, nil},
		{"symlink above by another", ruleLinkEscapes, "lib/a", "outside the bundle", func(b bundle) {
			b.link("up/etc", "lib/a")
			b.link("../..", "lib/up")
		}, nil},
		{"dangling", ruleLinkDangling, "lib/gone", "is not there", func(b bundle) { b.link("nothing", "lib/gone") }, nil},
		{"through a file", ruleLinkDangling, "lib/gone", "is not there", func(b bundle) { b.link("../bin/tool/x", "lib/gone") }, nil},
		{"loop", ruleLinkLoop, "lib/a", "without an end", func(b bundle) {
			b.link("b", "lib/a")
			b.link("a", "lib/b")
		}, nil},
		{"own folder", ruleLinkLoop, "lib/cmake/all", "holds the link itself", func(b bundle) { b.link("../../lib", "lib/cmake/all") }, nil},
		{"setuid", ruleMode, "bin/hello", "mode 4755: setuid", func(b bundle) { b.chmod("bin/hello", 0o755|os.ModeSetuid) }, nil},
		{"setgid folder", ruleMode, "share", "setgid", func(b bundle) { b.chmod("share", 0o755|os.ModeSetgid) }, nil},
		{"world-writable", ruleMode, "share/doc/readme", "writable by everybody", func(b bundle) { b.chmod("share/doc/readme", 0o666) }, nil},
		{"private", ruleMode, "share/doc/readme", "not readable by everybody", func(b bundle) { b.chmod("share/doc/readme", 0o600) }, nil},
		{"private folder", ruleMode, "share", "not readable by everybody", func(b bundle) { b.chmod("share", 0o700) }, nil},
		{"half executable", ruleMode, "bin/tool", "executable by some only", func(b bundle) { b.chmod("bin/tool", 0o744) }, nil},
		{"not executable", ruleMode, "bin/hello", "not executable", func(b bundle) { b.chmod("bin/hello", 0o644) }, nil},
		{"linked outside", ruleHardLink, "share/doc/readme", "1 name outside", func(b bundle) {
			b.must(os.Link(b.path("share/doc/readme"), filepath.Join(b.t.TempDir(), "other")))
		}, nil},
		{"leak in a hard-linked file", ruleBuildPath, "lib/one.bin", "(one file with share/two.bin)", func(b bundle) {
			b.write("lib/one.bin", 0o644, "\x00/store/x")
			b.must(os.Link(b.path("lib/one.bin"), b.path("share/two.bin")))
		}, nil},
		{"case", ruleCase, "lib/Libgreet.so.1", "has the same name as lib/libgreet.so.1", func(b bundle) { b.link("libdeep.so.1", "lib/Libgreet.so.1") }, nil},
		{"pipe", ruleSpecial, "share/pipe", "named pipe", func(b bundle) { b.must(syscall.Mkfifo(b.path("share/pipe"), 0o644)) }, nil},
		{"missing symbol", ruleExecFails, "bin/hello", "symbol lookup error", func(b bundle) {
			b.cc("lib/libgreet.so.1.0", "int other;", "-shared", "-fPIC", "-Wl,-soname,libgreet.so.1")
		}, nil},
		{"crash", ruleExecFails, "bin/crash", "signal 6", func(b bundle) {
			b.cc("bin/crash", "void abort(void); int main(void){abort();}")
		}, nil},
		{"no interpreter", ruleExecFails, "bin/tool", "exit code 127", func(b bundle) {
			b.write("bin/tool", 0o755, "#!/usr/bin/env no-such-program-here\n")
		}, nil},
		{"hangs", ruleExecFails, "bin/tool", "did not end within", func(b bundle) {
			b.write("bin/tool", 0o755, "#!/bin/sh\nsleep 1000\n")
		}, nil},
	}
}

type mutation struct {
	name, rule, file, says string
	spoil                  func(bundle)
	// more are rules that the same damage must break too.
	more []string
}

func with(rules ...string) []string { return rules }

// check fails the test unless the mutation's own finding is there, and none of
// another rule.
func (m mutation) check(t *testing.T, r *Report) {
	t.Helper()
	var rules []string
	hit := false
	for _, f := range r.Findings {
		if f.Severity == Info {
			continue
		}
		rules = append(rules, f.Rule)
		hit = hit || f.Rule == m.rule && f.File == m.file && (strings.Contains(f.What, m.says) || strings.Contains(f.Fix, m.says)) && f.Fix != ""
	}
	slices.Sort(rules)
	want := slices.Sorted(slices.Values(append([]string{m.rule}, m.more...)))
	if !hit || !slices.Equal(slices.Compact(rules), slices.Compact(want)) {
		t.Errorf("want %s for %s saying %q and just %v, got", m.rule, m.file, m.says, want)
		for _, f := range r.Findings {
			t.Logf("%+v", f)
		}
	}
}

func TestMutations(t *testing.T) {
	whole := good(t)
	broken := map[string]bool{}
	for _, m := range mutations() {
		t.Run(m.name, func(t *testing.T) {
			b := whole.copied(t)
			m.spoil(b)
			r := b.audit(func(o *Options) {
				// A script that env is given alone runs itself for ever.
				if m.name == "hangs" || m.name == "env alone" {
					o.ExecTimeout = 300 * time.Millisecond
				}
			})
			m.check(t, r)
			broken[m.rule] = true
		})
	}
	for _, rule := range Rules() {
		switch rule.ID {
		case ruleGlibc, ruleExecSkipped, ruleManifest: // Tests of their own; the last is verify's.
			continue
		}
		if strings.HasPrefix(rule.ID, "macho-") && rule.ID != ruleMachOMachine {
			continue // See TestMachOMutations.
		}
		if !broken[rule.ID] {
			t.Errorf("no mutation breaks %s", rule.ID)
		}
	}
}

func TestFloor(t *testing.T) {
	b := good(t)
	b.cc("bin/power", "#include <math.h>\nint main(int c, char **v){return pow(c, c) < 0;}", "-lm")
	r := b.audit(func(o *Options) { o.Floor = map[string]string{"GLIBC": "2.28"} })
	var over []Finding
	for _, f := range r.Findings {
		if f.Severity == Error {
			over = append(over, f)
		}
	}
	// Every program asks for __libc_start_main@GLIBC_2.34 on a system since.
	if len(over) == 0 || over[0].Rule != ruleGlibc || !strings.Contains(over[0].What, "2.28 at most") {
		t.Errorf("%+v", r.Findings)
	}
	if r := b.audit(func(o *Options) { o.Floor = map[string]string{"GLIBC": "99"} }); !r.OK() {
		t.Errorf("%+v", r.Findings)
	}
}

func TestOtherPlatforms(t *testing.T) {
	b := good(t)
	other := platform.Platform{OS: "linux", Arch: "arm64"}
	if platform.Native() == other {
		other.Arch = "amd64"
	}
	wrong := b.audit(func(o *Options) { o.Platform = other })
	var said []string
	for _, f := range wrong.Findings {
		if f.Severity == Error {
			said = append(said, f.File+": "+f.What)
		}
	}
	if want := []string{fmt.Sprintf(".: none of its 3 images is for %s: bin/hello is for %s", other, platform.Native())}; !slices.Equal(said, want) {
		t.Errorf("a bundle of the wrong platform: %q, want %q", said, want)
	}
	mixed := b.copied(t)
	for _, name := range []string{"lib/one.so", "lib/two.so"} {
		mixed.write(name, 0o755, mixed.read("lib/libdeep.so.1.0"))
		mixed.machine(name, elf.EM_RISCV)
	}
	said = nil
	for _, f := range mixed.audit(nil).Findings {
		if f.Severity == Error {
			said = append(said, f.File+" "+f.Rule)
		}
	}
	if want := []string{"lib/one.so " + ruleELFMachine, "lib/two.so " + ruleELFMachine}; !slices.Equal(said, want) {
		t.Errorf("two files of another platform: %q, want %q", said, want)
	}
	mac := b.audit(func(o *Options) { o.Platform = platform.Platform{OS: "darwin", Arch: "arm64"} })
	for _, want := range []string{ruleELFMachine, ruleExecSkipped} {
		if !slices.ContainsFunc(mac.Findings, func(f Finding) bool { return f.Rule == want }) {
			t.Errorf("no %s: %+v", want, mac.Findings)
		}
	}
}

func TestRunner(t *testing.T) {
	b := good(t)
	other := platform.Platform{OS: "linux", Arch: "arm64"}
	machine := elf.EM_AARCH64
	if platform.Native() == other {
		other.Arch, machine = "amd64", elf.EM_X86_64
	}
	for _, name := range []string{"bin/hello", "lib/libgreet.so.1.0", "lib/libdeep.so.1.0"} {
		b.machine(name, machine)
	}
	runner := filepath.Join(b.spare, "emulator")
	if err := os.WriteFile(runner, []byte("#!/bin/sh\ncase $1 in */bin/hello) exit 0;; esac\nexit 127\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := b.audit(func(o *Options) { o.Platform, o.Runner = other, []string{runner} })
	if r.Executed != 1 {
		t.Errorf("%d programs were run", r.Executed)
	}
	for _, f := range r.Findings {
		// The loader's path is the native one's, which here is the mutation.
		if f.Severity != Info && f.Rule != ruleELFInterp {
			t.Errorf("%+v", f)
		}
	}
	r = b.audit(func(o *Options) { o.Platform = other })
	if r.Executed != 0 || !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Rule == ruleExecSkipped && strings.Contains(f.What, "3 programs")
	}) {
		t.Errorf("%+v", r.Findings)
	}
}

func TestPartial(t *testing.T) {
	b := good(t)
	b.remove("lib/libgreet.so.1")
	b.remove("lib/libgreet.so.1.0")
	b.link("../lib/nothing", "share/link")
	r := b.audit(func(o *Options) { o.Partial, o.Execute = true, false })
	if !r.OK() || r.Count(Warning) != 0 {
		t.Errorf("%+v", r.Findings)
	}
	b.patchelf("--set-rpath", "/opt/lib", b.path("bin/hello"))
	if r := b.audit(func(o *Options) { o.Partial = true }); r.OK() {
		t.Error("a part may have an absolute search path")
	}
}

func TestRunErrors(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	native := platform.Native()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		root string
		o    Options
		says string
	}{
		"no platform":   {dir, Options{}, "platform that it is for"},
		"no folder":     {dir + "/none", Options{Platform: native}, "no such file"},
		"a file":        {file, Options{Platform: native}, "not a directory"},
		"relative path": {dir, Options{Platform: native, BuildPaths: []string{"build"}}, "is not absolute"},
		"root path":     {dir, Options{Platform: native, BuildPaths: []string{"/tmp/.."}}, "is in every path"},
	} {
		if _, err := Run(ctx, tt.root, tt.o); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, tt.says)
		}
	}
	stopped, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Run(stopped, good(t).dir, Options{Platform: native}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile("../../docs/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range Rules() {
		if !strings.Contains(string(text), "| `"+rule.ID+"` | "+string(rule.Severity)) {
			t.Errorf("docs/verify.md has no row for %s with its severity %s", rule.ID, rule.Severity)
		}
	}
	if rows := strings.Count(string(text), "\n| `"); rows != len(Rules()) {
		t.Errorf("docs/verify.md has %d rows, and there are %d rules", rows, len(Rules()))
	}
}
