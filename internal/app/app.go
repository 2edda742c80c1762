// Package app holds the verbs: what the Mage targets and the standalone
// binary do. A verb parses nothing and exits nowhere; it takes its options,
// prints to the app's writers and returns an error with an exit code.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stonemason-hip/stonemason/internal/doctor"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/fetch"
	"github.com/stonemason-hip/stonemason/internal/gitsource"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// App is one run of a verb.
type App struct {
	Out, Err *os.File
	In       io.Reader
	// Env is the environment, as os.Environ gives it.
	Env []string
	// Dir is the folder from which the project is looked for.
	Dir string

	once  sync.Once
	cache *statcache.Cache // see known

	glances source.Glances
	ballast ballast
}

// glance is long enough for a plan and the build that follows at once, and for
// all components of one workspace.
const glance = 2 * time.Second

// New makes the app of this process.
func New() *App {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	return &App{Out: os.Stdout, Err: os.Stderr, In: os.Stdin, Env: os.Environ(), Dir: dir, glances: source.Glances{For: glance}, ballast: newBallast()}
}

// Wishes override therock.yaml for one run. Empty fields override nothing.
type Wishes struct {
	Version, Channel, Preset, Name string
	// Hosts and GPUs are comma-separated lists.
	Hosts, GPUs string
	// With and Without are comma-separated components or groups to switch.
	With, Without string
	// Provider is component=kind pairs, comma-separated.
	Provider string
	Jobs     int
}

// getenv reads a variable of the app's environment.
func (a *App) getenv(name string) string {
	for _, kv := range slices.Backward(a.Env) {
		if k, v, _ := strings.Cut(kv, "="); k == name {
			return v
		}
	}
	return ""
}

func (a *App) look() ui.Look { return ui.Detect(a.Out, a.Env).Look }

// project finds and reads the project and applies the overrides: environment
// first, flags on top.
func (a *App) project(w Wishes) (*spec.Project, error) {
	root, err := spec.FindRoot(a.Dir)
	if err != nil {
		return nil, exit.With(exit.Config, err)
	}
	p, err := spec.LoadKnown(root, filepath.Join(root, stateDirName, "project.cache"))
	if err != nil {
		return nil, exit.With(exit.Config, err)
	}
	variable := func(flag string) string {
		if flag == "host" {
			flag = "hosts" // as the key in therock.yaml
		}
		return "STONEMASON_" + strings.ToUpper(flag)
	}
	if err := a.override(p, a.environment(), variable); err != nil {
		return nil, exit.With(exit.Config, err)
	}
	if err := a.override(p, w, func(flag string) string { return "-" + flag }); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return p, nil
}

// coded gives a mistake its exit code, when it has none: one in a flag is
// wrong usage, one in a file or variable is wrong configuration.
func coded(err error) error {
	var one *yamlx.Error
	if errors.As(err, &one) && strings.HasPrefix(one.File, "-") {
		return exit.Default(exit.Usage, err)
	}
	return exit.Default(exit.Config, err)
}

// environment reads the STONEMASON_ variables that override therock.yaml.
func (a *App) environment() Wishes {
	return Wishes{
		Version: a.getenv("STONEMASON_VERSION"), Channel: a.getenv("STONEMASON_CHANNEL"),
		Preset: a.getenv("STONEMASON_PRESET"), Name: a.getenv("STONEMASON_NAME"),
		Hosts: a.getenv("STONEMASON_HOSTS"), GPUs: a.getenv("STONEMASON_GPUS"),
		With: a.getenv("STONEMASON_WITH"), Without: a.getenv("STONEMASON_WITHOUT"),
		Provider: a.getenv("STONEMASON_PROVIDER"),
	}
}

// override replaces what therock.yaml says by what w says. from names the
// flag or variable for messages.
func (a *App) override(p *spec.Project, w Wishes, from func(flag string) string) error {
	c := p.Config
	if w.Version != "" {
		c.Version = w.Version
		c.Override("version", from("version"))
	}
	if w.Channel != "" {
		c.Channel = spec.Channel(w.Channel)
		if err := oneOf(from("channel"), "channel", w.Channel, c.Channel.Values()); err != nil {
			return err
		}
	}
	if w.Preset != "" {
		c.Preset = spec.Preset(w.Preset)
		if err := oneOf(from("preset"), "preset", w.Preset, c.Preset.Values()); err != nil {
			return err
		}
	}
	if w.Hosts != "" {
		c.Hosts = fields(w.Hosts)
		c.Override("hosts", from("host"))
		for _, h := range c.Hosts {
			if err := oneOf(from("host"), "host", h, append(platform.Names(), "native")); err != nil {
				return err
			}
		}
	}
	if w.GPUs != "" {
		c.GPUs = fields(w.GPUs)
		table, err := gpu.Load()
		if err != nil {
			return err
		}
		if _, err := table.Expand(c.GPUs, nil); err != nil {
			return fmt.Errorf("%s: %w", from("gpus"), err)
		}
		c.Override("gpus", from("gpus"))
		if w.Name == "" && len(c.GPUs) > 1 {
			c.Name = strings.Join(c.GPUs, "-")
		} else if w.Name == "" {
			c.Name = ""
		}
	}
	if w.Name != "" {
		c.Name = w.Name
	}
	if w.Jobs < 0 {
		return fmt.Errorf("%s: found %d, expected the number of processes at once, or 0 for one a core", from("jobs"), w.Jobs)
	}
	if w.Jobs != 0 {
		c.Budget.Jobs = w.Jobs
	}
	for _, name := range fields(w.With) {
		if err := toggle(p, from("with"), name, true); err != nil {
			return err
		}
	}
	for _, name := range fields(w.Without) {
		if err := toggle(p, from("without"), name, false); err != nil {
			return err
		}
	}
	for _, pair := range fields(w.Provider) {
		name, kind, ok := strings.Cut(pair, "=")
		if !ok {
			return fmt.Errorf("%s: %q is not component=kind", from("provider"), pair)
		}
		if err := oneOf(from("provider"), "provider of "+name, kind, spec.ProviderKind("").Values()); err != nil {
			return err
		}
		if p.Components[name] == nil {
			return oneOf(from("provider"), "component", name, componentNames(p))
		}
		c.Override("components."+name+".provider", from("provider"))
		t := c.Components[name]
		t.Provider = spec.ProviderKind(kind)
		setToggle(c, name, t)
	}
	return nil
}

func toggle(p *spec.Project, from, name string, on bool) error {
	if p.Components[name] != nil {
		t := p.Config.Components[name]
		t.Enabled = &on
		setToggle(p.Config, name, t)
		p.Config.Override("components."+name, from)
		return nil
	}
	groups := groupNames(p)
	if slices.Contains(groups, name) {
		if p.Config.Groups == nil {
			p.Config.Groups = map[string]bool{}
		}
		p.Config.Groups[name] = on
		p.Config.Override("groups."+name, from)
		return nil
	}
	return oneOf(from, "component or group", name, append(componentNames(p), groups...))
}

func setToggle(c *spec.Config, name string, t spec.Toggle) {
	if c.Components == nil {
		c.Components = map[string]spec.Toggle{}
	}
	c.Components[name] = t
}

func componentNames(p *spec.Project) []string {
	var names []string
	for name := range p.Components {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func groupNames(p *spec.Project) []string {
	var names []string
	for _, c := range p.Components {
		if !slices.Contains(names, c.Group) {
			names = append(names, c.Group)
		}
	}
	slices.Sort(names)
	return names
}

func oneOf(from, what, value string, allowed []string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	if near, ok := suggest.Nearest(value, allowed); ok {
		return fmt.Errorf("%s: unknown %s %q: did you mean %q?", from, what, value, near)
	}
	return fmt.Errorf("%s: unknown %s %q: there is %s", from, what, value, strings.Join(allowed, ", "))
}

// fields splits a comma-separated list.
func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// storeDir is where the store lies: STONEMASON_CACHE_DIR, else cache.dir, else
// stonemason in the user's cache folder.
func (a *App) storeDir(p *spec.Project) (string, error) {
	if dir := a.getenv("STONEMASON_CACHE_DIR"); dir != "" {
		return dir, nil
	}
	if dir := p.Config.Cache.Dir; dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(p.Root, dir)
		}
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", exit.With(exit.Config, fmt.Errorf("no folder for the store: %w (set STONEMASON_CACHE_DIR)", err))
	}
	return filepath.Join(cache, "stonemason"), nil
}

func (a *App) store(p *spec.Project) (*store.Store, error) {
	dir, err := a.storeDir(p)
	if err != nil {
		return nil, err
	}
	return store.Open(dir)
}

// stateDir holds what belongs to this checkout: logs and events.
func stateDir(p *spec.Project) string { return filepath.Join(p.Root, stateDirName) }

const stateDirName = ".stonemason"

// machine looks at the machine, and asks meanwhile whether the upstream channel
// can be reached, when that is going to be asked.
func (a *App) machine(ctx context.Context, p *spec.Project) *machine.Machine {
	var tools []string
	if r := p.Recipes["adopt-llvm"]; r != nil && r.Params["tools"].Default != nil {
		for _, n := range r.Params["tools"].Default.Items() {
			tools = append(tools, n.Text())
		}
	}
	cache := a.known(p)
	var asked sync.WaitGroup
	if p.Config.Channel == spec.Auto {
		asked.Go(func() { _ = a.upstream(ctx, p) })
	}
	m := machine.Probe(ctx, machine.Options{
		LLVMTools:  tools,
		LLVMPrefix: a.getenv("STONEMASON_LLVM"), MacSDK: a.getenv("STONEMASON_MACOS_SDK"), CC: a.getenv("STONEMASON_CC"), CXX: a.getenv("STONEMASON_CXX"),
		Cache: cache, Memory: memory(p),
	})
	m.Isolation = p.Config.Isolation
	asked.Wait()
	_ = cache.Save() // not to keep what was learnt costs time, and nothing else
	return m
}

// known is what earlier runs in this checkout have learnt of the machine.
func (a *App) known(p *spec.Project) *statcache.Cache {
	a.once.Do(func() { a.cache = statcache.Open(filepath.Join(stateDir(p), "machine.cache")) })
	return a.cache
}

// memory is what a build may use: the budget's, else what the machine has; 0
// when that is unknown.
func memory(p *spec.Project) int64 {
	if m := int64(p.Config.Budget.Memory); m > 0 {
		return m
	}
	m, _, err := doctor.TotalMemory(doctor.ThisHost())
	if err != nil {
		return 0
	}
	return m
}

// resolve makes the plan.
func (a *App) resolve(ctx context.Context, p *spec.Project, m *machine.Machine, only []string) (*plan.Graph, error) {
	for _, name := range only {
		if p.Components[name] == nil {
			return nil, exit.With(exit.Usage, oneOf("component", "component", name, componentNames(p)))
		}
	}
	g, err := plan.Resolve(p, plan.Facts{
		Build: m.Platform, GPUDriver: m.GPUDriver, LLVM: llvmVersion(m), Sysroots: map[string]bool{"darwin": m.MacSDK != ""},
		UpstreamError: func() error { return a.upstream(ctx, p) },
	}, only)
	return g, coded(err)
}

// llvmVersion is the version of the LLVM that will be adopted. A Linux machine
// without one is planned for as if it had the one that the preflight installs;
// once that is there, the plan is made again.
func llvmVersion(m *machine.Machine) string {
	if v := m.LLVMVersion(); v != "" || m.Platform.OS != "linux" {
		return v
	}
	return "22.0.0"
}

// upstream reports why the upstream channel cannot be reached. What a
// repository answered, or that it did not, is remembered for a while.
func (a *App) upstream(ctx context.Context, p *spec.Project) error {
	repos := p.Releases.Repositories
	if len(repos) == 0 {
		return nil // nothing to reach
	}
	name := "llvm-project"
	if _, ok := repos[name]; !ok {
		name = slices.Min(slices.Collect(maps.Keys(repos)))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	sources := source.Provider{Mirrors: p.Config.Mirrors}
	memory := gitsource.Memory{Cache: a.known(p), Life: reachLife}
	silent, asked := memory.Silent(ctx, sources.URLs(plan.Source{URLs: repos[name].URLs}))
	if len(silent) == 0 {
		return nil
	}
	for i, address := range silent {
		silent[i] = fetch.Redact(address)
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			silent[i] = u.Host
		}
	}
	when := ""
	if !asked.IsZero() {
		when = fmt.Sprintf(" (asked at %s; -channel=upstream takes it unasked)", asked.Format("15:04:05"))
	}
	return fmt.Errorf("%s does not answer%s", strings.Join(slices.Compact(silent), ", "), when)
}

// reachLife is how long an answer to "can upstream be reached" is remembered.
const reachLife = 10 * time.Minute

func (a *App) jobs(p *spec.Project) int {
	if p.Config.Budget.Jobs > 0 {
		return p.Config.Budget.Jobs
	}
	return runtime.NumCPU()
}

// note prints one line of information to standard error, so that standard
// output stays clean for -format=json.
func (a *App) note(format string, args ...any) {
	fmt.Fprintf(a.Err, format+"\n", args...)
}

// discard is used where a verb needs no events.
func discard() trace.Sink { return trace.Discard() }
