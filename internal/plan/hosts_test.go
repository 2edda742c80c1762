package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/spec"
)

// An artifact for any host is one node, however many hosts need it, and what
// it is built with runs on the build machine.
func TestAnArtifactForAnyHostIsOneNode(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [darwin-arm64, linux-arm64, native]\n")}.
		component("libs", "artifact: any", "presets: [compiler]", "needs: {build: [tool]}").
		component("tool", "presets: [compiler]")
	g := f.resolve(t)
	wantStates(t, g, "libs@any", "tool@linux-amd64", "tool@darwin-arm64", "tool@linux-arm64")
	if n := g.Node("libs@any"); n.Host != AnyHost || !slices.Equal(n.Build, []string{"tool@linux-amd64"}) {
		t.Errorf("libs@any is for host %s and built with %q", n.Host, n.Build)
	}
	for _, host := range g.Hosts {
		if len(g.Bundled(host)) != 2 {
			t.Errorf("the bundle of %s has %d nodes, want libs and tool", host, len(g.Bundled(host)))
		}
	}
}

// For another host alone, tools that the build machine runs are nodes of their
// own and go into no bundle.
func TestBuildToolsOfAnotherHostAreForTheBuildOnly(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [darwin-arm64]\n")}.
		component("libs", "artifact: any", "presets: [compiler]", "needs: {build: [tool]}").
		component("tool", "presets: [compiler]", "needs: {runtime: [base]}").
		component("base", "needs: {runtime: [deep]}").component("deep").component("other", "presets: [compiler]")
	g := f.resolve(t)
	wantStates(t, g, "libs@any", "tool@darwin-arm64", "base@darwin-arm64", "deep@darwin-arm64", "other@darwin-arm64",
		"tool@linux-amd64", "base@linux-amd64", "deep@linux-amd64")
	for _, name := range []string{"tool", "base", "deep"} {
		if n := g.Node(name + "@linux-amd64"); !n.ForBuild || g.Node(name+"@darwin-arm64").ForBuild {
			t.Errorf("%s is not marked as serving the build only", name)
		}
	}
	if n := g.Node("tool@linux-amd64"); n.Why != "runs on the build machine, for libs" {
		t.Errorf("tool: %q", n.Why)
	}
	for _, n := range g.Bundled("darwin-arm64") {
		if n.Host == "linux-amd64" {
			t.Errorf("%s would go into the bundle of darwin-arm64", n.ID)
		}
	}
	if len(g.Bundled("linux-amd64")) != 1 { // libs@any alone
		t.Errorf("a bundle for the build machine would have %d nodes", len(g.Bundled("linux-amd64")))
	}
}

// The tool is off on the build machine, being no host's wish there, until the
// artifact for any host, which another host wants, needs it.
func TestAnyHostPullsItsToolsInOnTheBuildMachine(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [native, darwin-arm64]\n")}.
		component("libs", "artifact: any", "presets: [compiler]", "when: 'host.os == \"darwin\"'", "needs: {build: [tool]}").
		component("tool")
	g := f.resolve(t)
	wantStates(t, g, "libs@any", "tool@linux-amd64", "tool@darwin-arm64: not in preset compiler")
	if n := g.Node("tool@linux-amd64"); n.Why != "needed by libs" || n.ForBuild {
		t.Errorf("tool: %q, for build only %v", n.Why, n.ForBuild)
	}
}

// A tool that cannot be had on the build machine blocks what is built with it.
func TestAToolThatTheBuildMachineLacksBlocks(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [darwin-arm64]\n")}.
		component("libs", "artifact: any", "presets: [compiler]", "needs: {build: [tool]}").
		component("tool", "when: 'host.os == \"darwin\"'", "because: it is Apple's")
	wantStates(t, f.resolve(t),
		`libs@any: it needs tool: it is Apple's (host.os == "darwin" is false (host.os is "linux"))`,
		"tool@darwin-arm64: not in preset compiler")
}

// What a build runs is made for the build machine, also when the result is for
// another one; it goes into no bundle when that is all it is for.
func TestNativeNeedsAreForTheBuildMachine(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [darwin-arm64, native]\n")}.
		component("lib", "presets: [compiler]", "needs: {build: [base], native: [gen]}").
		component("base").
		component("gen", "build_only: true")
	g := f.resolve(t)
	wantStates(t, g, "lib@darwin-arm64", "lib@linux-amd64", "base@darwin-arm64", "base@linux-amd64", "gen@linux-amd64")
	if n := g.Node("lib@darwin-arm64"); !slices.Equal(n.Build, []string{"base@darwin-arm64", "gen@linux-amd64"}) {
		t.Errorf("lib is built with %q", n.Build)
	}
	if n := g.Node("gen@linux-amd64"); !n.ForBuild || n.Why != "runs on the build machine, for lib" {
		t.Errorf("gen: for the build only %v, %q", n.ForBuild, n.Why)
	}
	for _, n := range g.Bundled("linux-amd64") {
		if n.Component == "gen" {
			t.Error("gen would go into a bundle")
		}
	}
}

// Compilers of Linux are pointed at a sysroot to make programs for macOS, and
// at none for this system, nor where nothing is compiled.
func TestASysrootIsNeededToCompileForAnotherSystem(t *testing.T) {
	const compiled = "providers: [{kind: source, recipe: copy, tools: [c++]}]"
	f := files{"therock.yaml": config("hosts: [darwin-arm64, linux-arm64, native]\n")}.
		component("prog", "presets: [compiler]", compiled).
		component("text", "presets: [compiler]").
		component("libs", "artifact: any", "presets: [compiler]", compiled).
		component("mac-sdk", "artifact: any", "build_only: true", "sysroot: darwin")
	g := f.resolve(t)
	wantStates(t, g, "prog@darwin-arm64", "prog@linux-amd64", "prog@linux-arm64", "text@darwin-arm64", "text@linux-amd64", "text@linux-arm64",
		"libs@any", "mac-sdk@any")
	for id, want := range map[string][]string{
		"prog@darwin-arm64": {"mac-sdk@any"}, "prog@linux-arm64": nil, "prog@linux-amd64": nil, "text@darwin-arm64": nil, "libs@any": nil,
	} {
		if n := g.Node(id); !slices.Equal(n.Build, want) {
			t.Errorf("%s is built with %q, want %q", id, n.Build, want)
		}
	}
	if n := g.Node("mac-sdk@any"); n.Sysroot != "." || !n.ForBuild || n.Why != "needed by prog" {
		t.Errorf("mac-sdk: sysroot %q, for the build only %v, %q", n.Sysroot, n.ForBuild, n.Why)
	}
	// A person's own takes its place.
	with := linux()
	with.Sysroots = map[string]bool{"darwin": true}
	own, err := Resolve(f.load(t), with, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := own.Node("prog@darwin-arm64"); len(n.Build) > 0 || own.Node("mac-sdk@any") != nil {
		t.Errorf("with a sysroot of the user's prog is built with %q", n.Build)
	}
}

// Conditions see the host that is planned for, not the machine that plans.
func TestConditionsAreOfTheHost(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [darwin-arm64, linux-amd64, darwin-arm64]\n")}.
		component("a", "presets: [compiler]", "providers:",
			"  - {kind: system, recipe: copy, when: native}",
			"  - {kind: source, recipe: copy}").
		component("kfd", "presets: [compiler]", "when: 'host.os == \"linux\"'")
	g := f.resolve(t)
	if k := g.Node("a@linux-amd64").Provider; k != "system" {
		t.Errorf("native: provider %s", k)
	}
	if k := g.Node("a@darwin-arm64").Provider; k != "source" {
		t.Errorf("cross: provider %s", k)
	}
	if n := g.Node("kfd@darwin-arm64"); n.Enabled || n.Why != `host.os == "linux" is false (host.os is "darwin")` {
		t.Errorf("kfd on a Mac: %v, %q", n.Enabled, n.Why)
	}
	if !slices.Equal(g.Hosts, []string{"darwin-arm64", "linux-amd64"}) {
		t.Errorf("hosts %q", g.Hosts)
	}
}

// native and the machine's own name are one host.
func TestNativeIsTheBuildMachine(t *testing.T) {
	f := files{"therock.yaml": config("hosts: [native, linux-amd64]\n")}.component("a", "presets: [compiler]")
	wantStates(t, f.resolve(t), "a@linux-amd64")
}

// Our own files: for ARM64 Debian's packages are adopted, whatever LLVM this
// machine has, and without GPUs or compilers of another kind.
func TestOurOwnPlanForARM64(t *testing.T) {
	p, err := spec.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	p.Config.Channel, p.Config.Hosts = spec.Debian, []string{"linux-arm64"}
	facts := linux()
	facts.LLVM = "19.1.7"
	g, err := Resolve(p, facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, g)
	n := g.Node("amd-llvm@linux-arm64")
	if n.Provider != spec.System || n.Version != "22.1.8" || len(n.Sources) < 30 || !slices.Equal(n.Tools, []string{"patchelf"}) {
		t.Errorf("%s %s of %d sources with %q", n.Provider, n.Version, len(n.Sources), n.Tools)
	}
	for _, s := range n.Sources {
		if !strings.HasSuffix(s.Pool, "_arm64.deb") || s.Size == 0 || len(s.SHA256) != 64 {
			t.Errorf("%s is %s of %d bytes, sha256 %s", s.Name, s.Pool, s.Size, s.SHA256)
		}
	}
	if machine := g.Node("amd-llvm@linux-amd64"); machine.Version != "19.1.7" || len(machine.Sources) > 0 || !machine.ForBuild {
		t.Errorf("for the build: %s of %d sources", machine.Version, len(machine.Sources))
	}
	p.Config.Channel = spec.Upstream
	if g, err = Resolve(p, facts, nil); err != nil {
		t.Fatal(err)
	}
	if n := g.Node("amd-llvm@linux-arm64"); n.Provider != spec.Source || !slices.Contains(n.Build, "llvm-tblgen@linux-amd64") {
		t.Errorf("upstream: %s with %q", n.Provider, n.Build)
	}
}
