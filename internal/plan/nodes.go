package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/expr"
	"github.com/stonemason-hip/stonemason/internal/parallel"
	"github.com/stonemason-hip/stonemason/internal/patch"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// choice is what was decided about a component on a host before its node is
// filled in. An artifact for any host has one choice; its host is the first
// for which it can be had.
type choice struct {
	component *spec.Component
	id, host  string
	on        bool
	forced    bool   // the user said off
	said      string // the path in therock.yaml that switched it, or ""
	why       string
	blocked   string // why it cannot be on, whatever is asked
	pulledBy  []string
	forBuild  bool // it only serves the build machine
	provider  *spec.Provider

	settled, pulled bool // the two passes of nodes have been here

	needed         bool // needIDs has been here, and found
	build, runtime []string
}

// nodes decides what is on, and why, in two passes: first what cannot be,
// because something that it needs cannot; then what is switched on, with what
// it needs. So nothing is pulled in by a component that is off in the end.
func (r *resolver) nodes() error {
	r.choices = map[string]*choice{}
	r.patched = map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(r.project.Root, spec.PatchesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		r.patched[e.Name()] = true
	}
	r.gpusOf = map[*spec.Component][]string{}
	for _, c := range r.project.Components {
		r.gpusOf[c] = r.gpusFor(c)
	}
	for _, host := range r.graph.Hosts {
		if err := r.decide(host, false); err != nil {
			return err
		}
	}
	// What serves a build runs on the build machine, also when that is no
	// host of its own; it goes into no bundle then.
	if !slices.Contains(r.graph.Hosts, r.graph.Build) {
		if err := r.decide(r.graph.Build, true); err != nil {
			return err
		}
	}
	ids := slices.Sorted(maps.Keys(r.choices))
	for _, id := range ids {
		r.settle(r.choices[id])
	}
	for _, id := range ids {
		if c := r.choices[id]; c.on {
			if err := r.pull(c); err != nil {
				return err
			}
		}
	}
	var wanted []*choice
	for _, id := range ids {
		if c := r.choices[id]; !c.forBuild || c.on {
			wanted = append(wanted, c)
		}
	}
	r.recipes = make(map[string]*prepared, len(r.project.Recipes))
	for name, recipe := range r.project.Recipes {
		r.recipes[name] = prepare(recipe)
	}
	// Nothing is decided any more: nodes are filled in beside each other.
	r.graph.Nodes = make([]*Node, len(wanted))
	return parallel.Each(len(wanted), func(i int) (err error) {
		r.graph.Nodes[i], err = r.node(wanted[i])
		return err
	})
}

func nodeID(c *spec.Component, host string) string {
	if c.Artifact == spec.AnyHost {
		return c.Name + "@" + AnyHost
	}
	return c.Name + "@" + host
}

// decide makes the choices of one host, without what they need of each other.
func (r *resolver) decide(host string, forBuild bool) error {
	env, err := r.env(host)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.project.Components)) {
		c := &choice{component: r.project.Components[name], host: host}
		if c.component.BuildOnly && c.component.Artifact != spec.AnyHost && host != r.graph.Build {
			continue // no other machine runs it
		}
		c.forBuild = forBuild || c.component.BuildOnly
		c.id = nodeID(c.component, host)
		old := r.choices[c.id]
		if old != nil && (forBuild || old.blocked == "" && (old.on || c.component.Default == "")) {
			continue
		}
		if err := r.wish(c, env); err != nil {
			return err
		}
		if err := r.possible(c, env); err != nil {
			return err
		}
		if old != nil && old.blocked == "" && (!c.on || c.blocked != "") {
			continue // no other host has it on by default either
		}
		switch {
		case forBuild && !c.component.BuildOnly:
			c.on = false
		case slices.Contains(r.only, name):
			c.on, c.forced, c.why = true, false, "asked for"
		case len(r.only) > 0 && c.on:
			c.on, c.why = false, "not asked for"
		}
		c.on = c.on && c.blocked == ""
		r.choices[c.id] = c
	}
	return nil
}

// needs lists the choices of what a choice needs, each once. What an artifact
// for any host is built with runs on the build machine.
func (r *resolver) needs(c *choice) []*choice {
	var all []*choice
	build, runtime := r.needIDs(c)
	for _, id := range slices.Concat(build, runtime) {
		if d := r.choices[id]; !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// settle blocks a choice when something that it needs is blocked.
func (r *resolver) settle(c *choice) {
	if c.settled || c.blocked != "" {
		return
	}
	c.settled = true
	for _, d := range r.needs(c) {
		if r.settle(d); d.blocked != "" {
			c.on, c.blocked = false, fmt.Sprintf("it needs %s: %s", d.component.Name, d.blocked)
			return
		}
	}
	// What is left to the user's machine is no part of a build.
	build, _ := r.needIDs(c)
	for _, id := range build {
		if d := r.choices[id]; d.provider != nil && d.provider.Kind == spec.External && d.host == c.host {
			c.on, c.blocked = false, fmt.Sprintf("it is built with %s, which is left out of the bundle", d.component.Name)
			return
		}
	}
}

// pull switches on what an enabled choice needs.
func (r *resolver) pull(c *choice) error {
	if c.pulled {
		return nil
	}
	c.pulled = true
	for _, d := range r.needs(c) {
		if d.forced {
			return located(r.config().At(d.said), "%s is switched off (%s), and %s needs it (%s): switch both on or both off", d.component.Name, d.why, c.component.Name, c.reason())
		}
		if !d.on {
			d.on, d.pulledBy = true, []string{}
		}
		if d.pulledBy != nil && !slices.Contains(d.pulledBy, c.component.Name) {
			d.pulledBy = append(d.pulledBy, c.component.Name)
			slices.Sort(d.pulledBy)
		}
		if err := r.pull(d); err != nil {
			return err
		}
	}
	return nil
}

// reason says why a choice is on or off.
func (c *choice) reason() string {
	switch {
	case c.blocked != "":
		return c.blocked
	case c.pulledBy == nil:
		return c.why
	case c.forBuild && c.component.Sysroot == "":
		return "runs on the build machine, for " + strings.Join(c.pulledBy, ", ")
	}
	return "needed by " + strings.Join(c.pulledBy, ", ")
}

// wish applies preset, group and component toggles, the most specific last. A
// preset counts for the hosts that the component's own default names.
func (r *resolver) wish(c *choice, env expr.Env) error {
	cfg := r.config()
	c.why = fmt.Sprintf("not in preset %s", cfg.Preset)
	if slices.Contains(c.component.Presets, string(cfg.Preset)) {
		c.on, c.why = true, fmt.Sprintf("preset %s", cfg.Preset)
		if src := c.component.Default; src != "" {
			e, err := r.parseWhen(src)
			if err != nil {
				return located(c.component.At("default"), "%v", err)
			}
			if c.on, err = e.Eval(env); err != nil {
				return located(c.component.At("default"), "%v", err)
			}
			if c.on {
				c.why += ", by default where " + src
			} else {
				c.why = "off by default: " + e.Explain(env)
			}
		}
	}
	say := func(path string, on bool) {
		c.on, c.forced, c.said = on, !on, path
		c.why = fmt.Sprintf("%s is %s", path, onOff(on))
		if origin := cfg.Overridden(path); origin != "" {
			c.why += " by " + origin
		}
	}
	if on, said := cfg.Groups[c.component.Group]; said {
		say("groups."+c.component.Group, on)
	}
	if t, said := cfg.Components[c.component.Name]; said && t.Enabled != nil {
		say("components."+c.component.Name, *t.Enabled)
	}
	return nil
}

// possible evaluates the component's own conditions and picks the provider.
func (r *resolver) possible(c *choice, env expr.Env) error {
	name := c.component.Name
	if c.component.When != "" {
		e, err := r.parseWhen(c.component.When)
		if err != nil {
			return located(c.component.At("when"), "%v", err)
		}
		ok, err := e.Eval(env)
		if err != nil {
			return located(c.component.At("when"), "%v", err)
		}
		if !ok {
			c.blocked = e.Explain(env)
			if c.component.Because != "" {
				c.blocked = c.component.Because + " (" + c.blocked + ")"
			}
			return nil
		}
	}
	if c.component.Planned != "" {
		c.blocked = c.component.Planned
		return nil
	}
	if len(r.gpusOf[c.component]) == 0 {
		c.blocked = fmt.Sprintf("exclude_gpus leaves none of %s", strings.Join(r.graph.GPUs, ", "))
		return nil
	}
	toggle := r.config().Components[name]
	var refused []string
	for i := range c.component.Providers {
		p := &c.component.Providers[i]
		asked := toggle.Provider
		if c.forBuild && asked == spec.External {
			asked = "" // it cannot be left to somebody else's machine
		}
		switch {
		case asked != "" && asked != spec.AnyProvider && p.Kind != asked,
			p.Kind == spec.External && asked != spec.External,
			toggle.Workspace != "" && p.Kind != spec.Source:
			continue
		}
		e, err := r.parseWhen(p.When)
		if err != nil {
			return located(c.component.At(fmt.Sprintf("providers[%d].when", i)), "%v", err)
		}
		ok, err := e.Eval(env)
		if err != nil {
			return located(c.component.At(fmt.Sprintf("providers[%d].when", i)), "%v", err)
		}
		if !ok {
			refused = append(refused, fmt.Sprintf("provider %s: %s", p.Kind, e.Explain(env)))
			continue
		}
		if refs, _ := c.component.SourcesOf(p, r.graph.Channel); fetches(c.component, p) && toggle.Workspace == "" && refs == nil {
			refused = append(refused, fmt.Sprintf("channel %s has no source of it", r.graph.Channel))
			continue
		}
		c.provider = p
		return nil
	}
	if len(refused) == 0 {
		refused = []string{"it has no provider source, which a workspace needs"}
	}
	c.blocked = "no way to obtain it: " + strings.Join(refused, "; ")
	return nil
}

// node fills in a node.
func (r *resolver) node(c *choice) (*Node, error) {
	s := c.component
	n := &Node{
		ID: c.id, Component: s.Name, Host: c.host, ForBuild: c.forBuild,
		Summary: s.Summary, Group: s.Group, License: s.License, Homepage: s.Homepage,
		Enabled: c.on, Why: c.reason(), PulledBy: c.pulledBy,
		Slices: s.Slices, Checks: s.Checks, Exceptions: s.Exceptions,
		Estimate: estimate(s.Estimate),
	}
	if s.Artifact == spec.AnyHost {
		n.Host = AnyHost
	}
	if s.Sysroot != "" {
		n.Sysroot = "."
	}
	if c.provider == nil {
		return n, nil
	}
	p := c.provider
	recipe := r.recipes[p.Recipe]
	n.Provider, n.ProviderNote, n.Recipe, n.Outcome = p.Kind, p.Note, p.Recipe, recipe.Outcome
	if n.Outcome == "" {
		n.Outcome = "built"
	}
	if p.Kind == spec.External {
		n.Checks = nil // they are of what is left out
	}
	n.Tools = slices.Clone(p.Tools)
	if p.Estimate != nil {
		n.Estimate = estimate(*p.Estimate)
	}
	n.Build, n.Runtime = r.needIDs(c)
	if !n.Enabled {
		return n, nil
	}
	if p.Kind == spec.Source || len(p.Sources) > 0 {
		if err := r.sources(n, s, p); err != nil {
			return nil, err
		}
	}
	if p.Kind == spec.Source {
		if err := r.patches(n); err != nil {
			return nil, err
		}
	}
	if n.Version == "" {
		n.Version = r.graph.Release
		switch p.Kind {
		case spec.System:
			n.Version = r.facts.LLVM
		case spec.External:
			n.Version = "" // it is theirs
		}
	}
	return n, r.expandSteps(n, s, p, recipe)
}

func estimate(e spec.Estimate) Estimate {
	return Estimate{CPU: e.CPU, Disk: int64(e.Disk), Memory: int64(e.Memory)}
}

// needIDs are the nodes that a choice, which has its provider, needs. What an
// artifact for any host is built with runs on the build machine.
func (r *resolver) needIDs(c *choice) (build, runtime []string) {
	if c.needed {
		return c.build, c.runtime
	}
	var own spec.Needs
	if c.provider != nil {
		own = c.provider.Needs
	}
	host := c.host
	if c.component.Artifact == spec.AnyHost {
		host = r.graph.Build
	}
	ids := func(host string, lists ...[]string) []string {
		var ids []string
		for _, name := range slices.Concat(lists...) {
			if id := nodeID(r.project.Components[name], host); !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return ids
	}
	c.build, c.runtime = ids(host, c.component.Needs.Build, own.Build), ids(c.host, c.component.Needs.Runtime, own.Runtime)
	for _, id := range ids(r.graph.Build, c.component.Needs.Native, own.Native, r.sysroot(c, host)) {
		if !slices.Contains(c.build, id) {
			c.build = append(c.build, id)
		}
	}
	c.needed = true
	return c.build, c.runtime
}

// sysroot lists the component that compilers of this machine need to make
// something for another system.
func (r *resolver) sysroot(c *choice, host string) []string {
	if c.provider == nil || host == r.graph.Build || !slices.Contains(c.provider.Tools, "c++") {
		return nil
	}
	h, err := platform.Parse(host)
	if err != nil || h.OS == r.facts.Build.OS || r.facts.Sysroots[h.OS] {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.project.Components)) {
		if r.project.Components[name].Sysroot == h.OS {
			return []string{name}
		}
	}
	return nil
}

// fetches reports whether a provider of a component has sources, in whichever
// channel.
func fetches(c *spec.Component, p *spec.Provider) bool {
	return len(p.Sources) > 0 || p.Kind == spec.Source && len(c.Sources) > 0
}

func (r *resolver) sources(n *Node, c *spec.Component, p *spec.Provider) error {
	if w := r.config().Components[c.Name].Workspace; w != "" {
		n.Sources = []Source{{Name: c.Name, Workspace: w}}
		n.Version = r.graph.Release
		return nil
	}
	refs, path := c.SourcesOf(p, r.graph.Channel)
	for i, ref := range refs {
		names := r.named(ref.From)
		if len(names) == 0 {
			return located(c.At(fmt.Sprintf("%s[%d].from", path, i)), "release %s of channel %s has no source %q: it has %s", r.graph.Release, r.graph.Channel, ref.From, strings.Join(r.sourceNames(), ", "))
		}
		for _, name := range names {
			locked := r.locked.Sources[name]
			n.Sources = append(n.Sources, Source{
				Name: name, Version: locked.Version, Commit: locked.Commit, Tree: locked.Trees[spec.Folders(ref.Only, ref.Path)],
				Package: locked.Package, Suite: locked.Suite, Pool: locked.Pool, URLs: locked.URLs,
				SHA256: locked.SHA256, Size: locked.Size, Strip: locked.Strip,
				Path: ref.Path, Only: ref.Only, Into: ref.Into,
			})
		}
		if i == 0 {
			n.Version = n.Sources[0].Version
		}
	}
	return nil
}

// named lists the sources of the lock that a reference names: one, or all
// packages of a set, sorted.
func (r *resolver) named(from string) []string {
	if _, ok := r.locked.Sources[from]; ok {
		return []string{from}
	}
	var names []string
	for name := range r.locked.Sources {
		if spec.SetOf(name) == from {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// sourceNames lists what a reference can name, sorted.
func (r *resolver) sourceNames() []string {
	var names []string
	for name := range r.locked.Sources {
		if set := spec.SetOf(name); set != "" {
			name = set
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (r *resolver) patches(n *Node) error {
	if !r.patched[n.Component] {
		return nil
	}
	series, err := patch.Load(os.DirFS(r.project.Root), spec.PatchesDir+"/"+n.Component)
	if err != nil {
		return err
	}
	target := patch.Target{Version: n.Version, Channel: string(r.graph.Channel), LLVM: r.llvmFor(n), Host: n.Host}
	if p, err := platform.Parse(n.Host); err == nil {
		target.HostOS = p.OS
	}
	selected, skipped, err := series.Select(target)
	if err != nil {
		return err
	}
	for _, s := range selected {
		n.Patches = append(n.Patches, Patch{File: spec.PatchesDir + "/" + n.Component + "/" + s.File, Title: s.Title, SHA256: s.SHA256, Link: s.Upstream})
	}
	for _, s := range skipped {
		n.SkippedPatches = append(n.SkippedPatches, SkippedPatch{File: spec.PatchesDir + "/" + n.Component + "/" + s.File, Reason: s.Reason})
	}
	return nil
}

// llvmFor is the version of the LLVM that a node is built against: the
// machine's, unless the plan builds one; "" when it is not known. A source
// that has no version but the release's does not tell LLVM's.
func (r *resolver) llvmFor(n *Node) string {
	for _, id := range n.Build {
		d := r.choices[id]
		if d.component.Name != "amd-llvm" || d.provider == nil || d.provider.Kind == spec.System && len(d.provider.Sources) == 0 {
			continue
		}
		refs, _ := d.component.SourcesOf(d.provider, r.graph.Channel)
		for _, ref := range refs {
			for _, name := range r.named(ref.From) {
				if v := r.locked.Sources[name].Version; v != r.graph.Release {
					return v
				}
			}
		}
		return ""
	}
	return r.facts.LLVM
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
