package doctor

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// apt gives the machine a package manager of shell scripts: "index" holds a
// line "package version" for each package that apt-cache knows, "mirror" what
// update makes of it, and installing a package puts its tool on the PATH.
// Everything it is asked to do stands in "calls".
func (f *fake) apt(index, mirror string) *fake {
	f.file("index", index)
	f.file("mirror", mirror)
	f.file("calls", "")
	f.file("root/etc/os-release", "ID=debian\n")
	f.script("cat", `exec /bin/cat "$@"`)
	f.script("env", `exec /usr/bin/env "$@"`)
	f.script("apt-cache", `
[ "$1" = policy ] && [ "$LC_ALL" = C ] || exit 9
shift 2
for p in "$@"; do
  while read -r name version; do
    if [ "$name" = "$p" ]; then
      echo "$p:"; echo "  Installed: (none)"; echo "  Candidate: $version"; echo "  Version table:"
    fi
  done < "$FAKE/index"
done`)
	f.script("apt-get", `
echo "$DEBIAN_FRONTEND apt-get $*" >> "$FAKE/calls"
while [ "$1" = -o ]; do shift 2; done
case "$1" in
update) /bin/cp "$FAKE/mirror" "$FAKE/index" ;;
install)
  shift 3
  for p in "$@"; do
    PATH=/bin:/usr/bin grep -q "^$p " "$FAKE/mirror" || { echo "E: Unable to locate package $p" >&2; exit 100; }
    case "$p" in
    cmake) printf '#!/bin/sh\necho cmake version 3.25.1\n' > "$FAKE/bin/cmake"; /bin/chmod +x "$FAKE/bin/cmake" ;;
    ninja-build) printf '#!/bin/sh\necho 1.11.1\n' > "$FAKE/bin/ninja"; /bin/chmod +x "$FAKE/bin/ninja" ;;
    esac
    echo "Setting up $p"
  done ;;
esac`)
	return f
}

func (f *fake) calls() []string {
	f.t.Helper()
	text, err := readSmall(filepath.Join(f.dir, "calls"))
	if err != nil {
		f.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(text), "\n")
}

const (
	basics = "cmake 3.25.1-1\nninja-build 1.11.1-2~deb12u1\n"
	llvm22 = "clang-22 1:22.1.8-1\nlld-22 1:22.1.8-1\nllvm-22 1:22.1.8-1\nclang-tools-22 1:22.1.8-1\n"
	llvm20 = "clang-20 1:20.1.2-1\nlld-20 1:20.1.2-1\nllvm-20 1:20.1.2-1\nclang-tools-20 1:20.1.2-1\n"
	dev    = "libzstd-dev 1.5.4\nzlib1g-dev 1:1.2.13\nlibxml2-dev 2.9.14\n"
	dev22  = dev + "llvm-22-dev 1:22.1.8-1\nlibclang-22-dev 1:22.1.8-1\n"
	dev20  = dev + "llvm-20-dev 1:20.1.2-1\nlibclang-20-dev 1:20.1.2-1\n"
)

func probe(name string, status Status, found string) Probe {
	return func(context.Context) Item { return Item{Name: name, Status: status, Found: found} }
}

func TestInstallPlanApt(t *testing.T) {
	cases := []struct {
		name      string
		index     string
		probes    []Probe
		uid       int
		shell     string
		uncovered string
	}{
		{"all there", basics + llvm22 + llvm20, []Probe{probe("llvm", Missing, "")}, 1000,
			"sudo apt-get install -y --no-install-recommends cmake ninja-build clang-22 lld-22 llvm-22 clang-tools-22", ""},
		{"as root", basics, nil, 0, "apt-get install -y --no-install-recommends cmake ninja-build", ""},
		{"the newest that is whole", basics + "clang-22 1:22.1.8-1\n" + llvm20, []Probe{probe("llvm", Missing, "")}, 0,
			"apt-get update && apt-get install -y --no-install-recommends cmake ninja-build clang-20 lld-20 llvm-20 clang-tools-20", ""},
		{"one major for tools and libraries", basics + llvm22 + llvm20 + dev20, []Probe{probe("llvm", Missing, ""), probe("llvm-dev", Missing, "")}, 0,
			"apt-get update && apt-get install -y --no-install-recommends cmake ninja-build clang-20 lld-20 llvm-20 clang-tools-20 llvm-20-dev libclang-20-dev libzstd-dev zlib1g-dev libxml2-dev", ""},
		{"libraries of the LLVM that is there", basics + dev22 + dev20, []Probe{probe("llvm", OK, "LLVM 20.1.2 in /usr/lib/llvm-20"), probe("llvm-dev", Missing, "")}, 0,
			"apt-get install -y --no-install-recommends cmake ninja-build llvm-20-dev libclang-20-dev libzstd-dev zlib1g-dev libxml2-dev", ""},
		{"empty index", "", []Probe{probe("llvm", Missing, "")}, 1000,
			"sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake ninja-build clang-19 lld-19 llvm-19 clang-tools-19", ""},
		{"too old in the index", "cmake 3.22.1-1ubuntu1\nninja-build 1.10.1-1\n", nil, 0, "apt-get install -y --no-install-recommends ninja-build", "cmake"},
		{"two LLVM items share packages", basics + llvm22, []Probe{probe("llvm", Missing, ""), probe("llvm", Old, "14.0.6")}, 0,
			"apt-get install -y --no-install-recommends cmake ninja-build clang-22 lld-22 llvm-22 clang-tools-22", ""},
		{"something no manager has", basics, []Probe{probe("license", Missing, "")}, 0, "apt-get install -y --no-install-recommends cmake ninja-build", "license"},
	}
	for _, c := range cases {
		f := newFake(t, "linux").all().apt(c.index, "")
		f.says("cmake", "cmake version 3.1.0")
		f.says("ninja", "1.2.3")
		f.UID = c.uid
		r := Check(context.Background(), Needs{Host: f.Host, Probes: c.probes})
		p, err := InstallPlan(context.Background(), r)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Shell != c.shell || names(p.Uncovered) != c.uncovered {
			t.Errorf("%s:\n got %s, without %s\nwant %s, without %s", c.name, p.Shell, names(p.Uncovered), c.shell, c.uncovered)
		}
		if calls := f.calls(); calls[0] != "" {
			t.Errorf("%s: planning ran %q", c.name, calls)
		}
	}
}

func TestInstallPlanOthers(t *testing.T) {
	for manager, want := range map[string]string{
		"dnf":  "sudo dnf install -y cmake ninja-build clang lld llvm clang-tools-extra",
		"brew": "brew install cmake ninja llvm lld",
		"":     "",
	} {
		f := newFake(t, "linux").all()
		f.UID = 1000
		f.says("cmake", "cmake version 3.1.0")
		f.says("ninja", "1.2.3")
		if manager != "" {
			f.script(manager, "exit 0")
		}
		r := Check(context.Background(), Needs{Host: f.Host, Probes: []Probe{probe("llvm", Missing, "")}})
		p, err := InstallPlan(context.Background(), r)
		if err != nil || p.Shell != want {
			t.Errorf("%s: %v, %q", manager, err, p.Shell)
		}
		if manager == "" && names(p.Uncovered) != "cmake, ninja, llvm" {
			t.Errorf("uncovered: %v", p.Uncovered)
		}
	}
}

func TestNothingToInstall(t *testing.T) {
	f := newFake(t, "linux").all().apt("", "")
	r := Check(context.Background(), Needs{Host: f.Host})
	if p, err := InstallPlan(context.Background(), r); err != nil || p.Shell != "" || len(p.Argvs) != 0 {
		t.Fatal(p, err)
	}
	if err := Ensure(context.Background(), r, Mode{}); err != nil {
		t.Fatal(err)
	}
}

func TestEnsure(t *testing.T) {
	ctx := context.Background()
	setup := func(index, mirror string) (*fake, *Report) {
		f := newFake(t, "linux").all().apt(index, mirror)
		f.says("cmake", "cmake version 3.1.0")
		f.says("ninja", "1.2.3")
		return f, Check(ctx, Needs{Host: f.Host})
	}
	const command = "apt-get install -y --no-install-recommends cmake ninja-build"

	f, r := setup(basics, basics)
	err := Ensure(ctx, r, Mode{})
	if exit.Of(err) != exit.Preflight || !strings.Contains(err.Error(), "install with: "+command) || !strings.Contains(err.Error(), "cmake 3.25 or newer (found: 3.1)") {
		t.Errorf("without -yes and terminal: %v", err)
	}
	asked := ""
	err = Ensure(ctx, r, Mode{TTY: true, Ask: func(_ context.Context, q string) (bool, error) { asked = q; return false, nil }})
	if exit.Of(err) != exit.Preflight || !strings.Contains(asked, command) {
		t.Errorf("after a no: %v, asked %q", err, asked)
	}
	if err := Ensure(ctx, r, Mode{TTY: true, Ask: func(context.Context, string) (bool, error) { return false, context.Canceled }}); exit.Of(err) != exit.Interrupted {
		t.Errorf("interrupted: %v", err)
	}
	if calls := f.calls(); calls[0] != "" {
		t.Errorf("something was installed without a yes: %q", calls)
	}

	var log, out bytes.Buffer
	err = Ensure(ctx, r, Mode{TTY: true, Ask: func(context.Context, string) (bool, error) { return true, nil }, Log: &log, Out: &out})
	if err != nil || !r.OK() || item(t, r, "cmake").Found != "3.25.1" {
		t.Errorf("after a yes: %v, %+v", err, r.Items)
	}
	want := []string{"noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 install -y --no-install-recommends cmake ninja-build"}
	if !slices.Equal(f.calls(), want) {
		t.Errorf("ran %q", f.calls())
	}
	if !strings.Contains(log.String(), "Setting up ninja-build") || !strings.Contains(out.String(), "installing cmake, ninja: "+command) {
		t.Errorf("log %q, out %q", log.String(), out.String())
	}

	// A fresh container: no index yet.
	f, r = setup("", basics)
	if err := Ensure(ctx, r, Mode{Yes: true}); err != nil || len(f.calls()) != 2 || !strings.HasSuffix(f.calls()[0], "update") {
		t.Errorf("fresh container: %v, ran %q", err, f.calls())
	}

	// An index of last month: the first try fails, the index is fetched.
	f, r = setup(basics, "cmake 3.25.1-1\n")
	err = Ensure(ctx, r, Mode{Yes: true})
	if exit.Of(err) != exit.Preflight || len(f.calls()) != 3 || !strings.Contains(err.Error(), "ninja") {
		t.Errorf("package gone from the mirror: %v, ran %q", err, f.calls())
	}

	// The manager says that all went well, and it did not.
	f, r = setup(basics, basics)
	f.script("apt-get", "exit 0")
	if err := Ensure(ctx, r, Mode{Yes: true}); exit.Of(err) != exit.Preflight || !strings.Contains(err.Error(), "still missing: cmake") {
		t.Errorf("%v", err)
	}

	// The manager fails: its last lines are in the error, cleaned.
	f, r = setup(basics, basics)
	f.script("apt-get", "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo line $i; done; printf 'E: \\033[31mbroken' >&2; exit 100")
	err = Ensure(ctx, r, Mode{Yes: true})
	if exit.Of(err) != exit.Preflight || !strings.Contains(err.Error(), "line 20\nE: broken") || strings.Contains(err.Error(), "line 5\n") {
		t.Errorf("%v", err)
	}
}

func TestFreshContainerChoosesTheNewest(t *testing.T) {
	f := newFake(t, "linux").all().apt("", llvm22+llvm20)
	r := Check(context.Background(), Needs{Host: f.Host, Probes: []Probe{probe("llvm", Missing, "")}})
	p, err := InstallPlan(context.Background(), r)
	if err != nil || !p.Refresh {
		t.Fatal(p, err)
	}
	if err := Install(context.Background(), p, nil); err != nil {
		t.Fatal(err)
	}
	if calls := f.calls(); !strings.HasSuffix(calls[len(calls)-1], "clang-22 lld-22 llvm-22 clang-tools-22") {
		t.Errorf("ran %q", calls)
	}

	f = newFake(t, "linux").all().apt("", "")
	r = Check(context.Background(), Needs{Host: f.Host, Probes: []Probe{probe("llvm", Missing, "")}})
	if p, err = InstallPlan(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if err := Install(context.Background(), p, nil); exit.Of(err) != exit.Preflight || !strings.Contains(err.Error(), "apt has no LLVM of [22 21 20 19]") {
		t.Errorf("no LLVM anywhere: %v", err)
	}
}

func TestUncoveredSaysWhatToDo(t *testing.T) {
	f := newFake(t, "darwin").all()
	f.script("brew", "exit 0")
	f.script("c++", "exit 1")
	r := Check(context.Background(), Needs{Host: f.Host, Tools: []string{"compiler", "git"}})
	err := Ensure(context.Background(), r, Mode{Yes: true})
	if exit.Of(err) != exit.Preflight || !strings.Contains(err.Error(), "for compiler: xcode-select --install") {
		t.Errorf("%v", err)
	}
	f = newFake(t, "linux")
	r = Check(context.Background(), Needs{Host: f.Host, Tools: []string{"git"}})
	if err := Ensure(context.Background(), r, Mode{Yes: true}); !strings.Contains(err.Error(), "none of apt-get, dnf and brew is here") {
		t.Errorf("%v", err)
	}
}

func TestNoSudo(t *testing.T) {
	f := newFake(t, "linux").all().apt(basics, basics)
	f.UID = 1000
	f.says("cmake", "cmake version 3.1.0")
	r := Check(context.Background(), Needs{Host: f.Host})
	err := Ensure(context.Background(), r, Mode{Yes: true})
	if exit.Of(err) != exit.Preflight || !strings.Contains(err.Error(), "sudo is not on the PATH") {
		t.Errorf("%v", err)
	}
}

func TestInstallIsInterrupted(t *testing.T) {
	f := newFake(t, "linux").all().apt(basics, basics)
	f.says("cmake", "cmake version 3.1.0")
	f.script("apt-get", `trap 'echo ended; exit 1' INT; echo started; while :; do :; done`)
	r := Check(context.Background(), Needs{Host: f.Host})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	log := cancelOn{word: "started", cancel: cancel}
	err := Ensure(ctx, r, Mode{Yes: true, Log: &log})
	if !errors.Is(err, context.Canceled) || exit.Of(err) != exit.Interrupted || !strings.Contains(log.b.String(), "ended") {
		t.Errorf("%v, log %q", err, log.b.String())
	}
}

// cancelOn cancels when a word is written to it.
type cancelOn struct {
	b      bytes.Buffer
	word   string
	cancel func()
}

func (c *cancelOn) Write(p []byte) (int, error) {
	c.b.Write(p)
	if strings.Contains(c.b.String(), c.word) {
		c.cancel()
	}
	return len(p), nil
}

func TestShell(t *testing.T) {
	if got := shell([]string{"a-b", "", "c d", "it's", "x=1", "g++"}); got != `a-b '' 'c d' 'it'\''s' x=1 g++` {
		t.Error(got)
	}
}
