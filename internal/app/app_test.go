package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// small writes a project with the components alpha (which needs beta) and
// beta, and returns an app in it with that environment.
func small(t *testing.T, env ...string) *App {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("therock.yaml", "schema: 1\nversion: \">=1\"\nchannel: debian\ngpus: [gfx942]\nname: mine\npreset: minimal\nhosts: [linux-amd64]\n")
	write("toolchain/releases.yaml", "schema: 1\nrepositories: {}\nreleases: [{version: \"1.0.0\", channel: debian, pins: {}}]\n")
	write("recipes/copy.yaml", "schema: 1\nname: copy\nsummary: s\nsteps: [{name: slice, uses: slice}]\n")
	for name, needs := range map[string]string{"alpha": "[beta]", "beta": "[]"} {
		write("components/"+name+".yaml", fmt.Sprintf("schema: 1\nname: %s\nsummary: s\ngroup: GREEK\nneeds: {build: %s}\nproviders: [{kind: source, recipe: copy}]\n", name, needs))
	}
	return &App{Dir: root, Env: env, Out: os.Stdout, Err: os.Stderr}
}

// therock.yaml, then the environment, then flags: the later wins, each key for
// itself.
func TestOverridesAndTheirPrecedence(t *testing.T) {
	keys := map[string]func(c *spec.Config) string{
		"version": func(c *spec.Config) string { return c.Version },
		"channel": func(c *spec.Config) string { return string(c.Channel) },
		"preset":  func(c *spec.Config) string { return string(c.Preset) },
		"hosts":   func(c *spec.Config) string { return strings.Join(c.Hosts, ",") },
		"gpus":    func(c *spec.Config) string { return strings.Join(c.GPUs, ",") },
		"name":    func(c *spec.Config) string { return c.Name },
		"alpha": func(c *spec.Config) string {
			if on := c.Components["alpha"].Enabled; on != nil {
				return fmt.Sprint(*on)
			}
			return ""
		},
		"greek":    func(c *spec.Config) string { return fmt.Sprint(c.Groups["GREEK"]) },
		"provider": func(c *spec.Config) string { return string(c.Components["beta"].Provider) },
		"jobs":     func(c *spec.Config) string { return fmt.Sprint(c.Budget.Jobs) },
	}
	for _, c := range []struct {
		env  []string
		flag Wishes
		key  string
		want string
	}{
		{nil, Wishes{}, "version", ">=1"},
		{[]string{"STONEMASON_VERSION=~1"}, Wishes{}, "version", "~1"},
		{[]string{"STONEMASON_VERSION=~1"}, Wishes{Version: "1.0.0"}, "version", "1.0.0"},
		{[]string{"STONEMASON_VERSION="}, Wishes{}, "version", ">=1"},
		{[]string{"STONEMASON_CHANNEL=upstream"}, Wishes{}, "channel", "upstream"},
		{[]string{"STONEMASON_CHANNEL=upstream"}, Wishes{Channel: "auto"}, "channel", "auto"},
		{[]string{"STONEMASON_PRESET=full"}, Wishes{}, "preset", "full"},
		{[]string{"STONEMASON_PRESET=full"}, Wishes{Preset: "compiler"}, "preset", "compiler"},
		{[]string{"STONEMASON_HOSTS=darwin-arm64,linux-arm64"}, Wishes{}, "hosts", "darwin-arm64,linux-arm64"},
		{[]string{"STONEMASON_HOSTS=darwin-arm64"}, Wishes{Hosts: "native"}, "hosts", "native"},
		{[]string{"STONEMASON_GPUS=gfx1100, gfx90a"}, Wishes{}, "gpus", "gfx1100,gfx90a"},
		{[]string{"STONEMASON_GPUS=gfx1100"}, Wishes{GPUs: "gfx1201"}, "gpus", "gfx1201"},
		// Other GPUs than the file's are no longer what its name stands for.
		{nil, Wishes{}, "name", "mine"},
		{nil, Wishes{GPUs: "gfx1201"}, "name", ""},
		{nil, Wishes{GPUs: "gfx1201,gfx1100"}, "name", "gfx1201-gfx1100"},
		{[]string{"STONEMASON_NAME=ours"}, Wishes{}, "name", "ours"},
		{[]string{"STONEMASON_WITH=alpha"}, Wishes{}, "alpha", "true"},
		{[]string{"STONEMASON_WITH=alpha"}, Wishes{Without: "alpha"}, "alpha", "false"},
		{nil, Wishes{With: "alpha", Without: "alpha"}, "alpha", "false"},
		{nil, Wishes{With: "GREEK"}, "greek", "true"},
		{[]string{"STONEMASON_PROVIDER=beta=source"}, Wishes{}, "provider", "source"},
		{[]string{"STONEMASON_PROVIDER=beta=source"}, Wishes{Provider: "beta=auto"}, "provider", "auto"},
		{nil, Wishes{Jobs: 7}, "jobs", "7"},
		// The last of two entries of an environment counts, as for os.Getenv's callers.
		{[]string{"STONEMASON_VERSION=~1", "STONEMASON_VERSION=~2"}, Wishes{}, "version", "~2"},
	} {
		p, err := small(t, c.env...).project(c.flag)
		if err != nil {
			t.Errorf("%q, %+v: %v", c.env, c.flag, err)
			continue
		}
		if got := keys[c.key](p.Config); got != c.want {
			t.Errorf("%q, %+v: %s is %q, want %q", c.env, c.flag, c.key, got, c.want)
		}
	}
}

// A wrong value is found where it was given, and the exit code says whether
// that was the command line.
func TestWrongOverridesNameTheirOrigin(t *testing.T) {
	for _, c := range []struct {
		env  []string
		flag Wishes
		code exit.Code
		want string
	}{
		{nil, Wishes{Channel: "debain"}, exit.Usage, `-channel: unknown channel "debain": did you mean "debian"?`},
		{[]string{"STONEMASON_CHANNEL=debain"}, Wishes{}, exit.Config, `STONEMASON_CHANNEL: unknown channel "debain"`},
		{nil, Wishes{Preset: "maximal"}, exit.Usage, `-preset: unknown preset "maximal"`},
		{nil, Wishes{Hosts: "linux-amd46"}, exit.Usage, `-host: unknown host "linux-amd46": did you mean "linux-amd64"?`},
		{[]string{"STONEMASON_HOSTS=mac"}, Wishes{}, exit.Config, `STONEMASON_HOSTS: unknown host "mac"`},
		{nil, Wishes{GPUs: "gfx942,gfx1l00"}, exit.Usage, `-gpus: unknown gpu "gfx1l00"`},
		{[]string{"STONEMASON_GPUS=gfx1l00"}, Wishes{}, exit.Config, `STONEMASON_GPUS: unknown gpu`},
		{nil, Wishes{With: "alpah"}, exit.Usage, `-with: unknown component or group "alpah": did you mean "alpha"?`},
		{nil, Wishes{Without: "GREKE"}, exit.Usage, `-without: unknown component or group "GREKE": did you mean "GREEK"?`},
		{nil, Wishes{Provider: "alpha"}, exit.Usage, `-provider: "alpha" is not component=kind`},
		{nil, Wishes{Provider: "alpha=sorce"}, exit.Usage, `-provider: unknown provider of alpha "sorce": did you mean "source"?`},
		{nil, Wishes{Provider: "alpah=source"}, exit.Usage, `-provider: unknown component "alpah"`},
		{nil, Wishes{Jobs: -1}, exit.Usage, `-jobs: found -1`},
		{nil, Wishes{Version: "newest"}, exit.Usage, `-version: "newest" is not a version constraint`},
		{[]string{"STONEMASON_VERSION=newest"}, Wishes{}, exit.Config, `STONEMASON_VERSION: "newest" is not a version constraint`},
		{nil, Wishes{Version: "^9"}, exit.Usage, `-version: no release satisfies version "^9"`},
		{nil, Wishes{With: "alpha", Without: "beta"}, exit.Usage, `-without: beta is switched off (components.beta is off by -without), and alpha needs it (components.alpha is on by -with)`},
		{[]string{"STONEMASON_WITH=alpha", "STONEMASON_WITHOUT=beta"}, Wishes{}, exit.Config, `STONEMASON_WITHOUT: beta is switched off`},
		{nil, Wishes{Provider: "beta=system"}, exit.Usage, `-provider: beta has no provider "system": it has source`},
	} {
		a := small(t, c.env...)
		p, err := a.project(c.flag)
		if err == nil {
			if p.Lock, err = plan.Expected(p); err == nil {
				_, err = a.resolve(t.Context(), p, &machine.Machine{Platform: platform.Platform{OS: "linux", Arch: "amd64"}}, nil)
			}
			err = coded(err)
		}
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || exit.Of(err) != c.code {
			t.Errorf("%q, %+v: code %d, %v\nwant code %d, %s", c.env, c.flag, exit.Of(err), err, c.code, c.want)
		}
	}
}

func TestAnUnknownComponentIsWrongUsage(t *testing.T) {
	a := small(t)
	p, err := a.project(Wishes{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.resolve(t.Context(), p, &machine.Machine{Platform: platform.Native()}, []string{"alpa"})
	if exit.Of(err) != exit.Usage || err.Error() != `component: unknown component "alpa": did you mean "alpha"?` {
		t.Errorf("code %d: %v", exit.Of(err), err)
	}
}

// A mistake that knows its code keeps it.
func TestCoded(t *testing.T) {
	for _, c := range []struct {
		err  error
		want exit.Code
	}{
		{nil, exit.OK},
		{&yamlx.Error{File: "-gpus", Msg: "x"}, exit.Usage},
		{&yamlx.Error{File: "therock.yaml", Msg: "x"}, exit.Config},
		{fmt.Errorf("wrapped: %w", yamlx.Join(&yamlx.Error{File: "-gpus", Msg: "x"})), exit.Usage},
		{exit.Withf(exit.Lock, "no lock"), exit.Lock},
	} {
		if got := exit.Of(coded(c.err)); got != c.want {
			t.Errorf("%v: code %d, want %d", c.err, got, c.want)
		}
	}
}

func TestTheStoresFolder(t *testing.T) {
	a := small(t, "STONEMASON_CACHE_DIR=/elsewhere")
	p, err := a.project(Wishes{})
	if err != nil {
		t.Fatal(err)
	}
	p.Config.Cache.Dir = "cache"
	if dir, err := a.storeDir(p); err != nil || dir != "/elsewhere" {
		t.Errorf("got %s, %v: the variable comes first", dir, err)
	}
	a.Env = nil
	if dir, err := a.storeDir(p); err != nil || dir != filepath.Join(p.Root, "cache") {
		t.Errorf("got %s, %v: a relative folder is the project's", dir, err)
	}
}

// A Linux machine without an LLVM is planned for as with one, which takes
// minutes to install, unless the user wants it built; a Mac builds it.
func TestAMachineWithoutAnLLVMIsPlannedToAdoptOne(t *testing.T) {
	for _, c := range []struct {
		provider string
		machine  platform.Platform
		adopt    bool
	}{
		{"auto", platform.Platform{OS: "linux", Arch: "amd64"}, true},
		{"system", platform.Platform{OS: "linux", Arch: "amd64"}, true},
		{"source", platform.Platform{OS: "linux", Arch: "amd64"}, false},
		{"auto", platform.Platform{OS: "darwin", Arch: "arm64"}, false},
	} {
		a := &App{Dir: "../..", Out: os.Stdout, Err: os.Stderr}
		p, err := a.project(Wishes{Channel: "debian", Hosts: "native", Provider: "amd-llvm=" + c.provider})
		if err != nil {
			t.Fatal(err)
		}
		m := &machine.Machine{Platform: c.machine}
		g, err := a.resolve(t.Context(), p, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := g.Node("amd-llvm@" + c.machine.String())
		if adopts := n.Enabled && n.Provider == spec.System && slices.Contains(n.Tools, "llvm"); adopts != c.adopt {
			t.Errorf("provider %s on %s: adopts %v, want %v (%s)", c.provider, c.machine, adopts, c.adopt, n.Why)
		}
	}
}

func TestCompletionKnowsItsShells(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if text, err := Completion(shell); err != nil || !strings.Contains(text, "therock") {
			t.Errorf("%s: %q, %v", shell, text, err)
		}
	}
	if _, err := Completion("csh"); exit.Of(err) != exit.Usage {
		t.Errorf("csh: %v", err)
	}
}

// Who presses Ctrl-C is not told that something is missing or was wrong usage,
// and a plan that could not be made out is not printed as one.
func TestCancelledVerbsAreInterrupted(t *testing.T) {
	a := small(t, "STONEMASON_CACHE_DIR="+t.TempDir())
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	a.Out, a.Err = null, null
	if err := a.Lock(t.Context(), LockOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Plan(t.Context(), PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, verb := range map[string]func() error{
		"plan":    func() error { return a.Plan(ctx, PlanOptions{}) },
		"explain": func() error { return a.Explain(ctx, ExplainOptions{Component: "alpha"}) },
		"doctor":  func() error { return a.Doctor(ctx, DoctorOptions{}) },
		"build":   func() error { return a.Build(ctx, BuildOptions{}) },
		"step":    func() error { return a.Step(ctx, SiteOptions{Component: "alpha", Step: "slice"}) },
		"repro":   func() error { return a.Repro(ctx, ReproOptions{Component: "alpha"}) },
		"gc":      func() error { return a.StoreGC(ctx, StoreOptions{}) },
	} {
		if err := verb(); exit.Of(err) != exit.Interrupted {
			t.Errorf("%s: %v, exit code %d", name, err, exit.Of(err))
		}
	}
}

func TestBenchKeepsWhatPeopleWrote(t *testing.T) {
	if got := kept("# Benchmarks\n\ntable\n\n## Measured once\n\nLLVM\n"); got != "\n## Measured once\n\nLLVM\n" {
		t.Errorf("%q", got)
	}
	if got := kept("# Benchmarks\n\ntable\n"); got != "" {
		t.Errorf("%q", got)
	}
}
