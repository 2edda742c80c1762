package app

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/launchfile"
)

// What hipcc says of itself is left out, and nothing of what the compiler says.
func TestCompilerText(t *testing.T) {
	const said = `clang++: warning: argument unused during compilation: '--hip-link' [-Wunused-command-line-argument]
k.hip:2:38: error: use of undeclared identifier 'q'
    2 | __global__ void k(float* p) { p[0] = q; }
      |                                      ^
1 error generated when compiling for gfx942.
failed to execute:/b/lib/llvm/bin/clang++  -x hip k.hip -o "/tmp/stonemason-kernel-1/kernel.co"`
	const want = `k.hip:2:38: error: use of undeclared identifier 'q'
    2 | __global__ void k(float* p) { p[0] = q; }
      |                                      ^
1 error generated when compiling for gfx942.`
	if got := compilerText(said); got != want {
		t.Errorf("%s", got)
	}
}

// A hint can be pasted: the shell reads the words that were meant.
func TestHintsArePasted(t *testing.T) {
	seed := 7
	o := KernelRunOptions{KernelOptions: KernelOptions{File: "a b's.hip", GPU: "gfx90a:xnack+", Bundle: "$HOME", Flags: "-O1 -DX=\"1\""}, Seed: &seed, Kernel: "apply<int>"}
	out, err := exec.Command("sh", "-c", `for w in `+strings.TrimPrefix(o.command(), "go tool mage kernel:run ")+`; do printf '%s\n' "$w"; done`).Output()
	want := "a b's.hip\n-gpu=gfx90a:xnack+\n-bundle=$HOME\n-cflags=-O1 -DX=\"1\"\n-kernel=apply<int>\n-seed=7\n"
	if err != nil || string(out) != want {
		t.Errorf("%v: %s", err, out)
	}
}

// A template names the schema by the way from the source's folder.
func TestTemplateHead(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	a := &App{Dir: root}
	for file, up := range map[string]string{"a.hip": "", "examples/saxpy/saxpy.hip": "../../"} {
		want := "# " + up + "docs/kernels.md explains the keys.\n# yaml-language-server: $schema=" + up + "docs/schema/" + launchfile.SchemaFile + "\n"
		if got := a.templateHead(KernelRunOptions{KernelOptions: KernelOptions{File: file}}); got != want {
			t.Errorf("%s: %s", file, got)
		}
	}
	a.Dir = t.TempDir()
	if got := a.templateHead(KernelRunOptions{KernelOptions: KernelOptions{File: "a.hip"}}); strings.Contains(got, "$schema") {
		t.Errorf("without a project: %s", got)
	}
}
