package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/expr"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Facts are what a plan needs to know of the machine and the network.
type Facts struct {
	Build platform.Platform
	// GPUDriver reports whether an AMD GPU driver is loaded.
	GPUDriver bool
	// LLVM is the version of the LLVM that would be adopted; "" for none.
	LLVM string
	// Sysroots are the operating systems that the user has named a sysroot of,
	// so that none need be made.
	Sysroots map[string]bool
	// UpstreamError is why the upstream channel cannot be reached, or nil. It
	// is called only for channel auto.
	UpstreamError func() error
}

// Only limits a plan to some components and what they need; empty means no
// limit.
type Only []string

// Resolve makes the graph of a project.
func Resolve(p *spec.Project, facts Facts, only Only) (*Graph, error) {
	r := &resolver{project: p, facts: facts, only: only, uses: step.Names(), conditions: map[string]*expr.Expr{}}
	steps := []func() error{
		// Mistakes in the files come before a lock that does not match them.
		r.hosts, r.gpus, r.names, r.cycles, r.channel, r.nodes, r.sort,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.graph.index()
	return r.graph, nil
}

type resolver struct {
	project *spec.Project
	facts   Facts
	only    Only
	graph   *Graph
	table   *gpu.Table
	locked  spec.LockedSet
	targets []gpu.Target
	choices map[string]*choice // by node ID
	types   yamlx.Types
	bare    sync.Map // step type → the step without values

	versions sync.Map // see semver
	recipes  map[string]*prepared

	uses       []string // the step types there are
	conditions map[string]*expr.Expr
	gpusOf     map[*spec.Component][]string
	patched    map[string]bool // folders below patches
}

func (r *resolver) config() *spec.Config { return r.project.Config }

func (r *resolver) hosts() error {
	r.graph = &Graph{Schema: 1, Build: r.facts.Build.String(), Preset: string(r.config().Preset)}
	for i, name := range r.config().Hosts {
		p := r.facts.Build
		if name != "native" {
			var err error
			if p, err = platform.Parse(name); err != nil {
				return located(r.config().At(fmt.Sprintf("hosts[%d]", i)), "%v", err)
			}
		}
		if !slices.Contains(r.graph.Hosts, p.String()) {
			r.graph.Hosts = append(r.graph.Hosts, p.String())
		}
	}
	return nil
}

// channel settles channel and release and takes the sources from the lock.
func (r *resolver) channel() error {
	c := r.config().Channel
	if c == spec.Auto {
		c = spec.Upstream
		if r.facts.UpstreamError != nil {
			if err := r.facts.UpstreamError(); err != nil {
				c = spec.Debian
				r.graph.ChannelWhy = "upstream cannot be reached: " + err.Error()
			}
		}
	}
	r.graph.Channel = c
	if err := CheckLock(r.project); err != nil {
		return err
	}
	set, ok := r.project.Lock.Channels[c]
	if !ok {
		return located(r.config().At("version"), "no release of channel %s satisfies version %q", c, r.config().Version)
	}
	r.locked = set
	r.graph.Release = set.Release
	return nil
}

func (r *resolver) gpus() error {
	table, err := gpu.Load()
	if err != nil {
		return err
	}
	r.table = table
	if len(r.config().GPUs) == 0 {
		return located(r.config().At("gpus"), "no GPU is named: name at least one target or family")
	}
	if err := r.known("gpus", r.config().At, r.config().GPUs); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(r.project.Components)) {
		c := r.project.Components[name]
		if err := r.known("exclude_gpus", c.At, c.ExcludeGPUs); err != nil {
			return err
		}
		if err := r.known("components."+name+".exclude_gpus", r.config().At, r.config().Components[name].ExcludeGPUs); err != nil {
			return err
		}
	}
	if r.targets, err = table.Expand(r.config().GPUs, nil); err != nil {
		return located(r.config().At("gpus"), "%v", err)
	}
	for _, t := range r.targets {
		r.graph.GPUs = append(r.graph.GPUs, t.String())
	}
	r.graph.Name = r.config().Name
	if r.graph.Name == "" {
		if r.graph.Name, err = table.BundleName(r.config().GPUs); err != nil {
			return located(r.config().At("gpus"), "%v (key name)", err)
		}
	}
	return nil
}

// known checks that the table has the targets and families of a list.
func (r *resolver) known(path string, at func(string) yamlx.Pos, names []string) error {
	for i, name := range names {
		if _, err := r.table.Expand([]string{name}, nil); err != nil {
			return located(at(fmt.Sprintf("%s[%d]", path, i)), "%v", err)
		}
	}
	return nil
}

// names checks that everything the files name exists.
func (r *resolver) names() error {
	known := slices.Sorted(maps.Keys(r.project.Components))
	groups := map[string]bool{}
	for _, c := range r.project.Components {
		groups[c.Group] = true
	}
	var errs []error
	unknown := func(pos yamlx.Pos, what, name string, candidates []string) {
		msg := fmt.Sprintf("unknown %s %q", what, name)
		if near, ok := suggest.Nearest(name, candidates); ok {
			msg += fmt.Sprintf(": did you mean %q?", near)
		}
		errs = append(errs, located(pos, "%s", msg))
	}
	for name, toggle := range r.config().Components {
		c, ok := r.project.Components[name]
		if !ok {
			unknown(r.config().At("components."+name), "component", name, known)
			continue
		}
		if toggle.Provider != "" && toggle.Provider != spec.AnyProvider && !slices.ContainsFunc(c.Providers, func(p spec.Provider) bool { return p.Kind == toggle.Provider }) {
			errs = append(errs, located(r.config().At("components."+name+".provider"), "%s has no provider %q: it has %s", name, toggle.Provider, providerKinds(c)))
		}
	}
	for name := range r.config().Groups {
		if !groups[name] {
			unknown(r.config().At("groups."+name), "group", name, slices.Sorted(maps.Keys(groups)))
		}
	}
	for _, name := range known {
		c := r.project.Components[name]
		if _, err := r.parseWhen(c.When); err != nil {
			errs = append(errs, located(c.At("when"), "%v", err))
		}
		if _, err := r.parseWhen(c.Default); err != nil {
			errs = append(errs, located(c.At("default"), "%v", err))
		}
		for i, p := range c.Providers {
			if _, err := r.parseWhen(p.When); err != nil {
				errs = append(errs, located(c.At(fmt.Sprintf("providers[%d].when", i)), "%v", err))
			}
			if r.project.Recipes[p.Recipe] == nil {
				unknown(c.At(fmt.Sprintf("providers[%d].recipe", i)), "recipe", p.Recipe, slices.Sorted(maps.Keys(r.project.Recipes)))
			}
			for j, tool := range p.Tools {
				// One that nobody knows would be in no key and asked for by no
				// preflight.
				if !slices.Contains(step.ToolNames(), tool) {
					unknown(c.At(fmt.Sprintf("providers[%d].tools[%d]", i, j)), "tool", tool, step.ToolNames())
				}
			}
		}
		for _, need := range allNeeds(c) {
			if r.project.Components[need.name] == nil {
				unknown(c.At(need.path()), "component", need.name, known)
			}
		}
	}
	for _, name := range r.only {
		if r.project.Components[name] == nil {
			unknown(yamlx.Pos{}, "component", name, known)
		}
	}
	return yamlx.Join(errs...)
}

func providerKinds(c *spec.Component) string {
	var kinds []string
	for _, p := range c.Providers {
		if k := string(p.Kind); !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	if len(kinds) == 0 {
		return "none yet"
	}
	return strings.Join(kinds, ", ")
}

// need is a component that another one names, and where.
type need struct {
	name     string
	provider int // index; -1 for what every provider needs
	list     string
	index    int
}

func (n need) path() string {
	path := fmt.Sprintf("needs.%s[%d]", n.list, n.index)
	if n.provider >= 0 {
		path = fmt.Sprintf("providers[%d].%s", n.provider, path)
	}
	return path
}

// allNeeds lists what a component needs with any of its providers.
func allNeeds(c *spec.Component) []need {
	var all []need
	add := func(provider int, n spec.Needs) {
		for i, name := range n.Build {
			all = append(all, need{name, provider, "build", i})
		}
		for i, name := range n.Native {
			all = append(all, need{name, provider, "native", i})
		}
		for i, name := range n.Runtime {
			all = append(all, need{name, provider, "runtime", i})
		}
	}
	add(-1, c.Needs)
	for i, p := range c.Providers {
		add(i, p.Needs)
	}
	return all
}

// cycles refuses components that need each other, over all their providers:
// whether a graph is acyclic must not depend on a toggle.
func (r *resolver) cycles() error {
	const visiting, done = 1, 2
	state := map[string]int{}
	var trail []string
	var visit func(name string) error
	visit = func(name string) error {
		switch state[name] {
		case done:
			return nil
		case visiting:
			return errors.New(strings.Join(append(trail[slices.Index(trail, name):], name), " → "))
		}
		state[name] = visiting
		trail = append(trail, name)
		c := r.project.Components[name]
		for _, n := range allNeeds(c) {
			if state[n.name] == visiting {
				loop := strings.Join(append(slices.Clone(trail[slices.Index(trail, n.name):]), n.name), " → ")
				return located(c.At(n.path()), "components need each other: %s", loop)
			}
			if err := visit(n.name); err != nil {
				return err
			}
		}
		trail = trail[:len(trail)-1]
		state[name] = done
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(r.project.Components)) {
		if err := visit(name); err != nil {
			return err
		}
	}
	return nil
}

// sort puts nodes after those they need; among equals they stay by ID.
func (r *resolver) sort() error {
	r.graph.index()
	placed := map[string]bool{}
	var ordered []*Node
	var place func(n *Node)
	place = func(n *Node) {
		if placed[n.ID] {
			return
		}
		placed[n.ID] = true
		needs := n.Needs()
		slices.Sort(needs)
		for _, id := range needs {
			if dep := r.graph.byID[id]; dep != nil {
				place(dep)
			}
		}
		ordered = append(ordered, n)
	}
	for _, n := range r.graph.Nodes {
		place(n)
	}
	r.graph.Nodes = ordered
	return nil
}

// parseWhen reads a condition. Many components have the same one.
func (r *resolver) parseWhen(src string) (*expr.Expr, error) {
	if src == "" {
		src = "true"
	}
	if e := r.conditions[src]; e != nil {
		return e, nil
	}
	e, err := expr.Parse(src)
	if err != nil {
		return nil, err
	}
	if err := e.Check(Scope()); err != nil {
		return nil, err
	}
	r.conditions[src] = e
	return e, nil
}

func located(pos yamlx.Pos, format string, args ...any) error {
	return &yamlx.Error{File: pos.File, Line: pos.Line, Col: pos.Col, Msg: fmt.Sprintf(format, args...)}
}
