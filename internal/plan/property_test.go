package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// random makes a project of up to 12 components with random edges (always to
// a later name, so without a cycle), conditions, providers and toggles.
func random(rnd *rand.Rand) *spec.Project {
	coin := func(n int) bool { return rnd.IntN(n) == 0 }
	pick := func(words ...string) string { return words[rnd.IntN(len(words))] }
	p := &spec.Project{
		Root: "/nowhere", Components: map[string]*spec.Component{},
		Recipes:  map[string]*spec.Recipe{"r": {Name: "r"}},
		Releases: &spec.Releases{Releases: []spec.Release{{Version: "1.0.0", Channel: spec.Debian}}},
		Config:   &spec.Config{Version: ">=1", Channel: spec.Debian, GPUs: []string{"gfx942"}, Preset: spec.Compiler},
	}
	p.Lock, _ = Expected(p)
	n := 1 + rnd.IntN(12)
	name := func(i int) string { return fmt.Sprintf("c%02d", i) }
	for i := range n {
		needs := func() (list []string) {
			for j := i + 1; j < n; j++ {
				if coin(4) {
					list = append(list, name(j))
				}
			}
			return list
		}
		c := &spec.Component{Name: name(i), Group: pick("A", "B"), Artifact: spec.PerHost, Needs: spec.Needs{Build: needs(), Runtime: needs()}}
		if coin(3) {
			c.Artifact = spec.AnyHost
		}
		if coin(2) {
			c.Presets = []string{"compiler"}
		}
		if coin(6) {
			c.When = pick(`host.os == "linux"`, `host.os == "darwin"`, "native", "gpu_driver")
		}
		if coin(12) {
			c.Planned = "later"
		}
		for range rnd.IntN(3) {
			c.Providers = append(c.Providers, spec.Provider{Kind: spec.ProviderKind(pick("source", "system")), Recipe: "r", When: pick("", "", "native"), Needs: spec.Needs{Build: needs()}})
		}
		p.Components[c.Name] = c
		if coin(5) {
			on := coin(2)
			if p.Config.Components == nil {
				p.Config.Components = map[string]spec.Toggle{}
			}
			p.Config.Components[c.Name] = spec.Toggle{Enabled: &on}
		}
	}
	if coin(4) {
		p.Config.Groups = map[string]bool{p.Components["c00"].Group: coin(2)}
	}
	for _, host := range []string{"native", "darwin-arm64", "linux-arm64"} {
		if coin(2) {
			p.Config.Hosts = append(p.Config.Hosts, host)
		}
	}
	if len(p.Config.Hosts) == 0 {
		p.Config.Hosts = []string{"native"}
	}
	return p
}

// plans resolves a random project and checks what holds of every plan.
func plans(t *testing.T, seed uint64) (planned bool) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := random(rnd)
	facts := linux()
	facts.GPUDriver = rnd.IntN(2) == 0
	if rnd.IntN(3) == 0 {
		facts.Build = platform.Platform{OS: "darwin", Arch: "arm64"}
	}
	var only Only
	if rnd.IntN(4) == 0 {
		only = Only{"c00"}
	}
	g, err := Resolve(p, facts, only)
	if err != nil { // a need that the user switched off, and nothing else
		if !strings.Contains(err.Error(), "is switched off") {
			t.Errorf("seed %d: %v", seed, err)
		}
		return false
	}
	consistent(t, g)
	for _, n := range g.Enabled() {
		if n.Component != "c00" || len(only) == 0 {
			if toggle := p.Config.Components[n.Component]; toggle.Enabled != nil && !*toggle.Enabled {
				t.Errorf("%s is on, and the user switched it off", n.ID)
			}
		}
		if len(only) > 0 && n.Component != "c00" && len(n.PulledBy) == 0 {
			t.Errorf("%s is on, and nobody asked for it", n.ID)
		}
		if c := p.Components[n.Component]; c.Planned != "" || len(c.Providers) == 0 {
			t.Errorf("%s is on, and there is no way to obtain it", n.ID)
		}
	}
	again, err := Resolve(p, facts, only)
	if err != nil || !bytes.Equal(encode(t, g), encode(t, again)) {
		t.Errorf("seed %d: the second plan is another: %v", seed, err)
	}
	if t.Failed() {
		t.Logf("seed %d: hosts %q, only %q\n%s", seed, p.Config.Hosts, only, strings.Join(states(g), "\n"))
	}
	return true
}

func encode(t *testing.T, g *Graph) []byte {
	t.Helper()
	data, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Whatever is switched: no node is on without what it needs, before what it
// needs, or for somebody who is off; and the same files give the same plan.
func TestRandomTogglesYieldConsistentPlans(t *testing.T) {
	good := 0
	for seed := range uint64(400) {
		if plans(t, seed) {
			good++
		}
		if t.Failed() {
			return
		}
	}
	if good < 200 {
		t.Errorf("only %d of 400 random projects could be planned: the property says little", good)
	}
}

func FuzzResolve(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { plans(t, seed) })
}

var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// References are what the expression says, wherever braces and dollars stand.
func TestReferencesAreFoundByTheirForm(t *testing.T) {
	var texts []string
	for n := range 1 << 12 { // all texts of six of these
		text := ""
		for range 6 {
			text += string("${}a"[n%4])
			n /= 4
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		want := reference.ReplaceAllString(text, "<$1>")
		got, err := fill(text, func(name string) (string, error) { return "<" + name + ">", nil })
		if got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// FuzzExpand: no text of a recipe makes the expansion panic, or leave a
// reference behind that no running step fills in.
func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${name}", "a${list}b", "${list.list}", "${nope}", "${", "${}", "$${name}}", "${map}", "${source}/${name}", "${name.list}", "${a.b.c}"} {
		f.Add(s)
	}
	values := scope{"name": "x", "list": []any{"a", "b"}, "map": map[string]any{"k": "v"}, "flag": true}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := values.expand([]any{text, map[string]any{"k": text}})
		if err != nil {
			return
		}
		for _, s := range strs(v) {
			for _, m := range reference.FindAllStringSubmatch(s, -1) {
				if _, known := values[m[1]]; known {
					t.Errorf("%q left %s behind", text, m[0])
				}
			}
		}
	})
}

func strs(v any) (all []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, e := range v {
			all = append(all, strs(e)...)
		}
	case map[string]any:
		for _, e := range v {
			all = append(all, strs(e)...)
		}
	}
	return all
}

// The plan of our own project is the same every time, for any set of hosts,
// and holds no path of the machine.
func TestOurOwnPlanIsDeterministic(t *testing.T) {
	for _, hosts := range [][]string{{"native"}, {"darwin-arm64"}, {"linux-arm64", "native", "darwin-arm64"}} {
		var first []byte
		for range 3 {
			p, err := spec.Load("../..")
			if err != nil {
				t.Fatal(err)
			}
			p.Config.Hosts, p.Config.Channel = hosts, spec.Debian
			g, err := Resolve(p, linux(), nil)
			if err != nil {
				t.Fatal(err)
			}
			consistent(t, g)
			data := encode(t, g)
			if first == nil {
				first = data
			}
			if !bytes.Equal(first, data) {
				t.Fatalf("%q: two plans of the same files differ", hosts)
			}
			if bytes.Contains(data, []byte(p.Root)) && p.Root != "../.." || bytes.Contains(data, []byte("/home/")) {
				t.Errorf("%q: the plan holds a path of the machine", hosts)
			}
		}
	}
}

// Whoever has no LLVM gets a plan too: to build one.
func TestOurOwnPlanWithoutAnLLVM(t *testing.T) {
	p, err := spec.Load("../..")
	if err != nil {
		t.Fatal(err)
	}
	p.Config.Channel = spec.Debian
	facts := linux()
	facts.LLVM = ""
	g, err := Resolve(p, facts, nil)
	if err != nil {
		t.Fatal(err)
	}
	consistent(t, g)
	n := g.Node("amd-llvm@linux-amd64")
	if n.Provider != spec.Source || !slices.Contains(n.Build, "zstd@linux-amd64") {
		t.Errorf("amd-llvm: provider %s, needs %q", n.Provider, n.Build)
	}
	// Patches for LLVM 22 belong to the LLVM 22 that is built, too.
	if libs := g.Node("device-libs@any"); len(libs.Patches) < 2 {
		t.Errorf("device-libs is built against LLVM %s with %d patches; skipped: %v", n.Version, len(libs.Patches), libs.SkippedPatches)
	}
}

// What a plan knows of the network is asked for channel auto alone.
func TestChannelAuto(t *testing.T) {
	f := table()
	f["toolchain/releases.yaml"] = strings.Replace(f["toolchain/releases.yaml"], "      pkg: {debian: {suite: stable, source: pkg, version: \"1-1\", file: pkg_1.orig.tar.xz}}\n", "", 1)
	f.component("a", "presets: [compiler]")
	for _, c := range []struct {
		channel spec.Channel
		down    bool
		want    spec.Channel
		asked   bool
	}{
		{spec.Auto, false, spec.Upstream, true}, {spec.Auto, true, spec.Debian, true},
		{spec.Upstream, true, spec.Upstream, false}, {spec.Debian, false, spec.Debian, false},
	} {
		p := f.load(t)
		p.Config.Channel = c.channel
		facts, asked := linux(), false
		facts.UpstreamError = func() error {
			asked = true
			if c.down {
				return &yamlx.Error{Msg: "example.com does not answer"}
			}
			return nil
		}
		g, err := Resolve(p, facts, nil)
		if err != nil {
			t.Fatal(err)
		}
		if g.Channel != c.want || asked != c.asked {
			t.Errorf("%s, down %v: took %s, asked %v", c.channel, c.down, g.Channel, asked)
		}
		if why := "upstream cannot be reached: example.com does not answer"; (g.ChannelWhy == why) != (c.asked && c.down) {
			t.Errorf("%s, down %v: why %q", c.channel, c.down, g.ChannelWhy)
		}
	}
}
