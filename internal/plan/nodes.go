package plan

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/expr"
	"github.com/stonemason-hip/stonemason/internal/patch"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// choice is what was decided about a component on a host before its node is
// filled in.
type choice struct {
	component *spec.Component
	host      string // the platform that is built for; for AnyHost the build machine
	on        bool
	forced    bool // the user said off
	why       string
	blocked   string // why it cannot be on, whatever is asked
	pulledBy  []string
	provider  *spec.Provider
}

// nodes decides for every host what is on, and fills the graph.
func (r *resolver) nodes() error {
	perHost := map[string]map[string]*choice{}
	for _, host := range r.graph.Hosts {
		choices, err := r.decide(host)
		if err != nil {
			return err
		}
		perHost[host] = choices
	}
	// Components that serve builds run on the build machine. When that is no
	// host of its own, they are decided for it too and go into no bundle.
	buildOnly := map[string]bool{}
	build := r.graph.Build
	if perHost[build] == nil {
		choices, err := r.decide(build)
		if err != nil {
			return err
		}
		needed := map[string]bool{}
		for _, host := range r.graph.Hosts {
			for name, c := range perHost[host] {
				if c.on && c.component.Artifact == spec.AnyHost {
					r.markNeeded(choices, name, needed)
				}
			}
		}
		for name, c := range choices {
			if needed[name] && c.component.Artifact == spec.PerHost {
				c.on, buildOnly[name] = c.blocked == "", true
				c.why = "runs on the build machine"
			} else {
				delete(choices, name)
			}
		}
		perHost[build] = choices
	}
	for _, host := range slices.Sorted(maps.Keys(perHost)) {
		for _, name := range slices.Sorted(maps.Keys(perHost[host])) {
			c := perHost[host][name]
			id := nodeID(c.component, host)
			if old := slices.IndexFunc(r.graph.Nodes, func(n *Node) bool { return n.ID == id }); old >= 0 {
				if c.on && !r.graph.Nodes[old].Enabled {
					r.graph.Nodes = slices.Delete(r.graph.Nodes, old, old+1)
				} else {
					continue // an artifact for any host is one node
				}
			}
			n, err := r.node(c, host)
			if err != nil {
				return err
			}
			n.ForBuild = buildOnly[name] && host == build
			r.graph.Nodes = append(r.graph.Nodes, n)
		}
	}
	return nil
}

func nodeID(c *spec.Component, host string) string {
	if c.Artifact == spec.AnyHost {
		return c.Name + "@" + AnyHost
	}
	return c.Name + "@" + host
}

// markNeeded collects what a component needs for its build, transitively.
func (r *resolver) markNeeded(choices map[string]*choice, name string, needed map[string]bool) {
	c := choices[name]
	if c == nil || c.provider == nil {
		return
	}
	for _, dep := range slices.Concat(c.component.Needs.Build, c.provider.Needs.Build) {
		if !needed[dep] {
			needed[dep] = true
			r.markNeeded(choices, dep, needed)
			for _, run := range r.project.Components[dep].Needs.Runtime {
				needed[run] = true
			}
		}
	}
}

// decide settles what is on for one host, and why.
func (r *resolver) decide(host string) (map[string]*choice, error) {
	env, err := r.env(host)
	if err != nil {
		return nil, err
	}
	choices := map[string]*choice{}
	for _, name := range slices.Sorted(maps.Keys(r.project.Components)) {
		c := &choice{component: r.project.Components[name], host: host}
		r.wish(c)
		if err := r.possible(c, env); err != nil {
			return nil, err
		}
		choices[name] = c
	}
	if len(r.only) > 0 {
		for name, c := range choices {
			switch {
			case slices.Contains(r.only, name):
				c.on, c.forced, c.why = true, false, "asked for"
			case c.on:
				c.on, c.why = false, "not asked for"
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(choices)) {
		if choices[name].on && len(choices[name].pulledBy) == 0 {
			if err := r.require(choices, name); err != nil {
				return nil, err
			}
		}
	}
	return choices, nil
}

// wish applies preset, group and component toggles, the most specific last.
func (r *resolver) wish(c *choice) {
	cfg := r.config()
	c.why = fmt.Sprintf("not in preset %s", cfg.Preset)
	if slices.Contains(c.component.Presets, string(cfg.Preset)) {
		c.on, c.why = true, fmt.Sprintf("preset %s", cfg.Preset)
	}
	if on, said := cfg.Groups[c.component.Group]; said {
		c.on = on
		c.why = fmt.Sprintf("groups.%s is %s", c.component.Group, onOff(on))
		c.forced = !on
	}
	if t, said := cfg.Components[c.component.Name]; said && t.Enabled != nil {
		c.on = *t.Enabled
		c.why = fmt.Sprintf("components.%s is %s", c.component.Name, onOff(c.on))
		c.forced = !c.on
	}
}

// possible evaluates the component's own conditions and picks the provider.
func (r *resolver) possible(c *choice, env expr.Env) error {
	name := c.component.Name
	if c.component.When != "" {
		e, err := parseWhen(c.component.When)
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
	toggle := r.config().Components[name]
	var refused []string
	for i := range c.component.Providers {
		p := &c.component.Providers[i]
		switch {
		case toggle.Provider != "" && toggle.Provider != spec.AnyProvider && p.Kind != toggle.Provider,
			toggle.Workspace != "" && p.Kind != spec.Source:
			continue
		}
		e, err := parseWhen(p.When)
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
		if p.Kind == spec.Source && toggle.Workspace == "" && len(c.component.Sources) > 0 && c.component.Sources[r.graph.Channel] == nil {
			refused = append(refused, fmt.Sprintf("channel %s has no source of it", r.graph.Channel))
			continue
		}
		c.provider = p
		return nil
	}
	c.blocked = "no way to obtain it: " + strings.Join(refused, "; ")
	return nil
}

// require switches on what an enabled component needs. A need that cannot be
// switches the component off again, and says so.
func (r *resolver) require(choices map[string]*choice, name string) error {
	c := choices[name]
	if c.blocked != "" {
		c.on = false
		return nil
	}
	for _, dep := range slices.Concat(c.component.Needs.Build, c.provider.Needs.Build, c.component.Needs.Runtime, c.provider.Needs.Runtime) {
		d := choices[dep]
		if d.blocked != "" {
			c.on, c.blocked = false, fmt.Sprintf("it needs %s: %s", dep, d.blocked)
			return nil
		}
		if d.forced {
			return located(r.config().At("components."+dep), "%s is switched off (%s), and %s needs it (%s): switch both on or both off", dep, d.why, name, c.why)
		}
		if !d.on {
			d.on, d.why = true, ""
		}
		if d.why == "" && !slices.Contains(d.pulledBy, name) {
			d.pulledBy = append(d.pulledBy, name)
		}
		if err := r.require(choices, dep); err != nil {
			return err
		}
		if d.blocked != "" {
			c.on, c.blocked = false, fmt.Sprintf("it needs %s: %s", dep, d.blocked)
			return nil
		}
	}
	return nil
}

// node fills in a node.
func (r *resolver) node(c *choice, host string) (*Node, error) {
	s := c.component
	n := &Node{
		ID: nodeID(s, host), Component: s.Name, Host: host,
		Summary: s.Summary, Group: s.Group, License: s.License, Homepage: s.Homepage,
		Enabled: c.on, Why: c.why, PulledBy: c.pulledBy,
		Slices: s.Slices, Checks: s.Checks, Exceptions: s.Exceptions,
		Estimate: estimate(s.Estimate),
	}
	if s.Artifact == spec.AnyHost {
		n.Host = AnyHost
	}
	slices.Sort(n.PulledBy)
	switch {
	case c.blocked != "":
		n.Enabled, n.Why = false, c.blocked
	case c.why == "":
		n.Why = "needed by " + strings.Join(n.PulledBy, ", ")
	}
	if c.provider == nil {
		return n, nil
	}
	p := c.provider
	recipe := r.project.Recipes[p.Recipe]
	n.Provider, n.ProviderNote, n.Recipe, n.Outcome = p.Kind, p.Note, p.Recipe, recipe.Outcome
	if n.Outcome == "" {
		n.Outcome = "built"
	}
	n.Tools = slices.Clone(p.Tools)
	if p.Estimate != nil {
		n.Estimate = estimate(*p.Estimate)
	}
	n.Build = r.needIDs(slices.Concat(s.Needs.Build, p.Needs.Build), host, s.Artifact == spec.AnyHost)
	n.Runtime = r.needIDs(slices.Concat(s.Needs.Runtime, p.Needs.Runtime), host, false)
	if !n.Enabled {
		return n, nil
	}
	if p.Kind == spec.Source {
		if err := r.sources(n, s); err != nil {
			return nil, err
		}
		if err := r.patches(n); err != nil {
			return nil, err
		}
	}
	if n.Version == "" {
		n.Version = r.graph.Release
		if p.Kind == spec.System {
			n.Version = r.facts.LLVM
		}
	}
	return n, r.expandSteps(n, s, p, recipe)
}

func estimate(e spec.Estimate) Estimate {
	return Estimate{CPU: e.CPU, Disk: int64(e.Disk), Memory: int64(e.Memory)}
}

// needIDs turns names into node IDs. What a host-independent artifact is
// built with runs on the build machine.
func (r *resolver) needIDs(names []string, host string, onBuild bool) []string {
	var ids []string
	for _, name := range names {
		h := host
		if onBuild {
			h = r.graph.Build
		}
		if id := nodeID(r.project.Components[name], h); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

func (r *resolver) sources(n *Node, c *spec.Component) error {
	if w := r.config().Components[c.Name].Workspace; w != "" {
		n.Sources = []Source{{Name: c.Name, Workspace: w}}
		n.Version = r.graph.Release
		return nil
	}
	for i, ref := range c.Sources[r.graph.Channel] {
		locked, ok := r.locked.Sources[ref.From]
		if !ok {
			return located(c.At(fmt.Sprintf("sources.%s[%d].from", r.graph.Channel, i)), "release %s of channel %s has no source %q: it has %s", r.graph.Release, r.graph.Channel, ref.From, strings.Join(slices.Sorted(maps.Keys(r.locked.Sources)), ", "))
		}
		n.Sources = append(n.Sources, Source{
			Name: ref.From, Version: locked.Version, Commit: locked.Commit, Tree: locked.Tree,
			Package: locked.Package, Suite: locked.Suite, Pool: locked.Pool, URLs: locked.URLs,
			SHA256: locked.SHA256, Size: locked.Size, Strip: locked.Strip,
			Path: ref.Path, Only: ref.Only, Into: ref.Into,
		})
		if i == 0 {
			n.Version = locked.Version
		}
	}
	return nil
}

func (r *resolver) patches(n *Node) error {
	series, err := patch.Load(os.DirFS(r.project.Root), spec.PatchesDir+"/"+n.Component)
	if err != nil {
		return err
	}
	target := patch.Target{Version: n.Version, Channel: string(r.graph.Channel), LLVM: r.facts.LLVM, Host: n.Host}
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

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
