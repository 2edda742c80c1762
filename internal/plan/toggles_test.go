package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/spec"
)

// What is left to the machines that a bundle is used on is so only when it is
// asked for, and never what a build itself needs.
func TestExternalIsNeverChosenByItself(t *testing.T) {
	const either = "providers: [{kind: source, recipe: copy}, {kind: external, recipe: copy}]"
	f := files{"therock.yaml": config("hosts: [darwin-arm64]\n")}.
		component("cc", "presets: [compiler]", either).
		component("gone", "presets: [compiler]", "providers: [{kind: source, recipe: copy, when: 'native'}, {kind: external, recipe: copy}]").
		component("libs", "artifact: any", "presets: [compiler]", "needs: {build: [cc]}")
	g := f.resolve(t)
	if n := g.Node("cc@darwin-arm64"); n.Provider != spec.Source {
		t.Errorf("cc is %s", n.Provider)
	}
	if n := g.Node("gone@darwin-arm64"); n.Enabled {
		t.Errorf("gone is %s, and nobody asked for that", n.Provider)
	}
	f["therock.yaml"] = config("hosts: [darwin-arm64]\ncomponents: {cc: {provider: external}, gone: {provider: external}}\n")
	g = f.resolve(t)
	for id, want := range map[string]spec.ProviderKind{"cc@darwin-arm64": spec.External, "gone@darwin-arm64": spec.External, "cc@linux-amd64": spec.Source} {
		if n := g.Node(id); !n.Enabled || n.Provider != want {
			t.Errorf("%s is %s, want %s (%s)", id, n.Provider, want, n.Why)
		}
	}
}

func config(more string) string {
	return "schema: 1\nversion: \">=1.0\"\nchannel: debian\ngpus: [gfx942]\n" + more
}

// Preset, then group, then component: the most specific wins.
func TestTheMostSpecificToggleWins(t *testing.T) {
	for _, c := range []struct{ config, want string }{
		{"", "a@linux-amd64"},
		{"preset: minimal\n", "a@linux-amd64: not in preset minimal"},
		{"groups: {TEST: off}\n", "a@linux-amd64: groups.TEST is off"},
		{"preset: minimal\ngroups: {TEST: on}\n", "a@linux-amd64"},
		{"groups: {TEST: off}\ncomponents: {a: on}\n", "a@linux-amd64"},
		{"groups: {TEST: on}\ncomponents: {a: off}\n", "a@linux-amd64: components.a is off"},
		{"components: {a: {enabled: off}}\n", "a@linux-amd64: components.a is off"},
		{"components: {a: {exclude_gpus: [gfx942]}}\n", "a@linux-amd64: exclude_gpus leaves none of gfx942"},
	} {
		f := files{"therock.yaml": config(c.config)}.component("a", "presets: [compiler, full]")
		wantStates(t, f.resolve(t), c.want)
	}
}

// A preset counts for the hosts that default names; toggles have the last word.
func TestDefaultLimitsThePresetsToHosts(t *testing.T) {
	const mac, linux = "a@darwin-arm64", "a@linux-amd64"
	const off = linux + `: off by default: host.os == "darwin" is false (host.os is "linux")`
	for _, c := range []struct {
		config string
		want   []string
	}{
		{"", []string{mac, off}},
		{"preset: minimal\n", []string{mac + ": not in preset minimal", linux + ": not in preset minimal"}},
		{"groups: {TEST: on}\n", []string{mac, linux}},
		{"groups: {TEST: off}\n", []string{mac + ": groups.TEST is off", linux + ": groups.TEST is off"}},
		{"components: {a: off}\n", []string{mac + ": components.a is off", linux + ": components.a is off"}},
		{"groups: {TEST: off}\ncomponents: {a: on}\n", []string{mac, linux}},
	} {
		f := files{"therock.yaml": config("hosts: [darwin-arm64, native]\n" + c.config)}.
			component("a", "presets: [compiler]", `default: host.os == "darwin"`)
		wantStates(t, f.resolve(t), c.want...)
	}
	f := files{"therock.yaml": config("hosts: [darwin-arm64]\n")}.component("a", "presets: [compiler]", `default: host.os == "darwin"`)
	if n := f.resolve(t).Node(mac); n.Why != `preset compiler, by default where host.os == "darwin"` {
		t.Errorf("why %q", n.Why)
	}
	f.component("a", "presets: [compiler]", `default: host.system == "darwin"`)
	for _, more := range []string{"", "preset: minimal\n"} { // a mistake that this plan does not meet too
		f["therock.yaml"] = config(more)
		if err := f.fails(t); !strings.Contains(err.Error(), "host.system") {
			t.Errorf("a mistake in default gives %v", err)
		}
	}
}

// An artifact for any host is on as soon as one host has it on by default,
// whichever is named first; what it needs is then switched on for that one.
func TestAnArtifactForAnyHostFollowsTheHostThatWantsIt(t *testing.T) {
	for _, hosts := range []string{"native, darwin-arm64", "darwin-arm64, native"} {
		f := files{"therock.yaml": config("hosts: [" + hosts + "]\n")}.
			component("a", "artifact: any", "presets: [compiler]", `default: host.os == "darwin"`, "needs: {runtime: [low]}").component("low")
		wantStates(t, f.resolve(t), "a@any", "low@darwin-arm64", "low@linux-amd64: not in preset compiler")
	}
	f := files{}.component("a", "artifact: any", "presets: [compiler]", `default: host.os == "darwin"`)
	wantStates(t, f.resolve(t), `a@any: off by default: host.os == "darwin" is false (host.os is "linux")`)
	// For a Linux host with a Mac build machine it is nobody's wish.
	f["therock.yaml"] = config("hosts: [linux-arm64, native]\n")
	wantStates(t, f.resolve(t), `a@any: off by default: host.os == "darwin" is false (host.os is "linux")`)
}

func TestNeedsAreSwitchedOnAndSayForWhom(t *testing.T) {
	f := files{}.component("top", "presets: [compiler]", "needs: {build: [mid], runtime: [low]}").
		component("side", "presets: [compiler]", "needs: {runtime: [low]}").
		component("mid", "needs: {runtime: [low]}").component("low").component("other")
	g := f.resolve(t)
	wantStates(t, g, "top@linux-amd64", "side@linux-amd64", "mid@linux-amd64", "low@linux-amd64", "other@linux-amd64: not in preset compiler")
	if n := g.Node("low@linux-amd64"); n.Why != "needed by mid, side, top" || strings.Join(n.PulledBy, " ") != "mid side top" {
		t.Errorf("low: why %q, pulled by %q", n.Why, n.PulledBy)
	}
	if n := g.Node("top@linux-amd64"); n.Why != "preset compiler" || n.PulledBy != nil {
		t.Errorf("top: why %q, pulled by %q", n.Why, n.PulledBy)
	}
}

// A provider can have needs of its own: they count when it is the one taken.
func TestOnlyTheChosenProvidersNeedsCount(t *testing.T) {
	f := files{}.component("llvm", "presets: [compiler]", "providers:",
		"  - {kind: system, recipe: copy, when: 'native and semver(llvm, \">=19\")'}",
		"  - {kind: source, recipe: copy, needs: {build: [zstd]}}").component("zstd")
	p := f.load(t)
	facts := linux()
	for llvm, want := range map[string][]string{
		"22.1.8": {"llvm@linux-amd64", "zstd@linux-amd64: not in preset compiler"},
		"":       {"llvm@linux-amd64", "zstd@linux-amd64"},
	} {
		facts.LLVM = llvm
		g, err := Resolve(p, facts, nil)
		if err != nil {
			t.Fatal(err)
		}
		wantStates(t, g, want...)
		consistent(t, g)
	}
}

func TestANeededComponentThatIsOffNamesBoth(t *testing.T) {
	f := files{}.component("top", "presets: [compiler]", "needs: {build: [low]}").component("low", "presets: [compiler]")
	for _, c := range []struct{ config, at, why string }{
		{"components:\n  low: off\n", "therock.yaml:6:8", "components.low is off"},
		{"groups: {TEST: off}\ncomponents: {top: on}\n", "therock.yaml:5:16", "groups.TEST is off"},
	} {
		f["therock.yaml"] = config(c.config)
		err := f.fails(t)
		if place(err) != c.at {
			t.Errorf("%v: at %s, want %s", err, place(err), c.at)
		}
		for _, word := range []string{"low is switched off", c.why, "top needs it"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%v: lacks %q", err, word)
			}
		}
	}
}

// The same mistake made by a flag is found at the flag, not in the file.
func TestAFlagIsNamedAsTheOriginOfAToggle(t *testing.T) {
	p := files{}.component("top", "presets: [compiler]", "needs: {build: [low]}").component("low", "presets: [compiler]").load(t)
	off := false
	p.Config.Components = map[string]spec.Toggle{"low": {Enabled: &off}}
	p.Config.Override("components.low", "-without")
	_, err := Resolve(p, linux(), nil)
	if err == nil || !strings.HasPrefix(err.Error(), "-without: low is switched off (components.low is off by -without), and top needs it") {
		t.Errorf("got %v", err)
	}
}

// What cannot be had takes along what needs it, with the reason; and what only
// those had pulled in stays off.
func TestWhatCannotBeHadIsOffWithItsReason(t *testing.T) {
	f := files{}.
		component("top", "presets: [compiler]", "needs: {build: [helper, mid]}").
		component("mid", "needs: {runtime: [driver]}").
		component("helper").
		component("driver", "when: gpu_driver", "because: the driver is Linux's").
		component("later", "presets: [compiler]", "planned: it is written next year")
	wantStates(t, f.resolve(t),
		"driver@linux-amd64: the driver is Linux's (gpu_driver is false)",
		"helper@linux-amd64: not in preset compiler",
		"later@linux-amd64: it is written next year",
		"mid@linux-amd64: it needs driver: the driver is Linux's (gpu_driver is false)",
		"top@linux-amd64: it needs mid: it needs driver: the driver is Linux's (gpu_driver is false)",
	)
	facts := linux()
	facts.GPUDriver = true
	g, err := Resolve(f.load(t), facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !g.Node("top@linux-amd64").Enabled || !g.Node("helper@linux-amd64").Enabled {
		t.Errorf("with a driver: %q", states(g))
	}
}

func TestOnlyLimitsToWhatIsAskedForAndItsNeeds(t *testing.T) {
	f := files{}.component("top", "presets: [compiler]", "needs: {build: [low]}").component("low").
		component("other", "presets: [compiler]").component("rest")
	wantStates(t, f.resolve(t, "top"), "top@linux-amd64", "low@linux-amd64",
		"other@linux-amd64: not asked for", "rest@linux-amd64: not in preset compiler")
}

// Asking for a component beats a toggle that has it off.
func TestOnlyBeatsAToggle(t *testing.T) {
	f := files{"therock.yaml": config("components: {a: off}\n")}.component("a")
	wantStates(t, f.resolve(t, "a"), "a@linux-amd64")
}

func TestAWorkspaceNeedsTheSourceProvider(t *testing.T) {
	f := files{"therock.yaml": config("components: {a: {workspace: ../x}}\n")}.
		component("a", "presets: [compiler]", "providers: [{kind: system, recipe: copy}]")
	wantStates(t, f.resolve(t), "a@linux-amd64: no way to obtain it: it has no provider source, which a workspace needs")
}

// Each level needs both components of the next: 2^64 paths lead through such a
// ladder. A plan that walked every path would not end.
func TestADiamondLadderIsPlannedOnce(t *testing.T) {
	f := files{}
	const levels = 64
	for i := range levels {
		needs := ""
		if i+1 < levels {
			needs = fmt.Sprintf("needs: {build: [l%02d, r%02d], runtime: [l%02d, r%02d]}", i+1, i+1, i+1, i+1)
		}
		preset := ""
		if i == 0 {
			preset = "presets: [compiler]"
		}
		f.component(fmt.Sprintf("l%02d", i), preset, needs).component(fmt.Sprintf("r%02d", i), preset, needs)
	}
	if g := f.resolve(t); len(g.Enabled()) != 2*levels {
		t.Errorf("%d nodes are on, want %d", len(g.Enabled()), 2*levels)
	}
	f.component("l63", "planned: later")
	if g := f.resolve(t); len(g.Enabled()) != 0 {
		t.Errorf("the ladder's foot is missing and %d nodes are on", len(g.Enabled()))
	}
}
