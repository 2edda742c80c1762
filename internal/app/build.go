package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/aptindex"
	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/bundle"
	"github.com/stonemason-hip/stonemason/internal/doctor"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/fetch"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// BuildOptions are the options of a build.
type BuildOptions struct {
	Wishes
	// Only limits the build to components and what they need.
	Only []string
	// Yes installs what is missing without a question.
	Yes bool
	// Verbose prints what children print.
	Verbose bool
	// KeepGoing builds what does not depend on a failure.
	KeepGoing bool
	// KeepWork leaves the work folders behind.
	KeepWork bool
	// DryRun stops after the plan.
	DryRun bool
	// Rebuild builds the components of Only although the store has them.
	Rebuild bool
}

// Build makes the toolchain: preflight, plan, build, bundle.
func (a *App) Build(ctx context.Context, o BuildOptions) error {
	begun := time.Now()
	if o.DryRun {
		return a.Plan(ctx, PlanOptions{Wishes: o.Wishes, Only: o.Only})
	}
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	s, err := a.store(p)
	if err != nil {
		return err
	}
	sources, err := a.sources(p, s, discard())
	if err != nil {
		return err
	}
	m, g, err := a.prepared(ctx, p, o, s, sources)
	if err != nil {
		return err
	}
	if len(g.Enabled()) == 0 {
		return a.nothing(g, o.Only)
	}
	if g.ChannelWhy != "" {
		a.note("channel %s: %s", g.Channel, g.ChannelWhy)
	}
	if err := os.MkdirAll(stateDir(p), 0o755); err != nil {
		return exit.With(exit.Failure, err)
	}
	log, err := trace.Create(filepath.Join(stateDir(p), "events.jsonl"), "stonemason")
	if err != nil {
		return err
	}
	opts := ui.Detect(a.Out, a.Env)
	opts.In, opts.Verbose = a.In, o.Verbose
	terminal := ui.New(opts)
	bus := trace.NewBus(log, terminal)
	sources.Fetcher.Progress = progress(bus)
	b := &build.Builder{
		Graph: g, Store: s, Sources: sources, Machine: m, Events: bus,
		Logs: logsDir(p), Jobs: a.jobs(p), LinkJobs: p.Config.Budget.LinkJobs,
		KeepGoing: o.KeepGoing, KeepWork: o.KeepWork,
	}
	if o.Rebuild {
		b.Rebuild = o.Only
	}
	results, buildErr := b.Run(ctx)
	if err := bus.Close(); err != nil {
		a.note("warning: %v", err)
	}
	if err := a.recordTrees(p, g.Channel, sources.Trees()); err != nil {
		return errors.Join(buildErr, err)
	}
	footer := ui.Footer{}
	if buildErr == nil && len(o.Only) == 0 {
		buildErr = a.compose(ctx, p, s, g, results, &footer)
	}
	for _, n := range g.Enabled() {
		if r := results[n.ID]; buildErr == nil && slices.Contains(o.Only, n.Component) {
			tree, err := s.Tree(r.Action.Content)
			if err != nil {
				return err
			}
			footer.Notes = append(footer.Notes, n.ID+" is in "+tree)
		}
	}
	a.trim(ctx, p, s, results)
	footer.Elapsed = time.Since(begun)
	if err := ui.Summary(a.Out, a.look(), rows(g, results, o.Only), footer); err != nil {
		return err
	}
	return buildErr
}

// compose makes the bundles of a build's hosts and says how to use them.
func (a *App) compose(ctx context.Context, p *spec.Project, s *store.Store, g *plan.Graph, results map[string]*build.Result, footer *ui.Footer) error {
	for _, host := range g.Hosts {
		dir := filepath.Join(p.Root, "dist", host)
		if _, err := bundle.Compose(ctx, s, g, results, host, dir); err != nil {
			return err
		}
		footer.Bundle = relative(p.Root, dir)
		if host != g.Build {
			continue
		}
		footer.Use = []string{"source dist/" + host + "/env.sh"}
		if _, err := os.Stat(filepath.Join(dir, "bin", "hipcc")); err == nil {
			footer.Use = append(footer.Use, "hipcc -c --offload-arch="+g.GPUs[0]+" examples/saxpy/saxpy.hip")
		}
	}
	return nil
}

// trim holds the store to cache.max_size; what bundles and live processes use
// stays. The build's result does not depend on it: what goes wrong is a
// warning, and the next build trims again.
func (a *App) trim(ctx context.Context, p *spec.Project, s *store.Store, results map[string]*build.Result) {
	for _, text := range s.Warnings() {
		a.note("warning: %s", text)
	}
	if ctx.Err() != nil {
		return // the user is waiting for the end
	}
	o := store.TrimOptions{Max: -1}
	if cap := int64(p.Config.Cache.MaxSize); cap > 0 && grown(results) {
		o.Max = cap
	}
	t, err := s.Trim(ctx, o)
	if len(t.Removed) > 0 && o.Max >= 0 {
		a.note("store: removed %s not used for the longest time, %s", things(t.Removed), ui.Bytes(t.Bytes))
	}
	if err != nil && ctx.Err() == nil {
		a.note("warning: %v", err)
	}
}

// grown reports whether a build has added anything to the store.
func grown(results map[string]*build.Result) bool {
	for _, r := range results {
		if r.Err != nil || r.Outcome != trace.Restored && r.Outcome != trace.Skipped {
			return true
		}
	}
	return false
}

// buildable refuses what can be planned and not be built on this machine: no
// compiler of macOS makes programs for Linux.
func buildable(g *plan.Graph) error {
	build, err := platform.Parse(g.Build)
	if err != nil {
		return exit.With(exit.Unsupported, err)
	}
	for _, n := range g.Enabled() {
		if n.Host == plan.AnyHost {
			continue
		}
		if host, err := platform.Parse(n.Host); err != nil || !cross.Possible(build, host) {
			return exit.Withf(exit.Unsupported, "%s for %s cannot be built on %s: build it on a %s machine", n.Component, n.Host, g.Build, n.Host)
		}
	}
	return nil
}

// Installing is how the doctor may install here: without asking when yes is
// set, else after a question to the person at the terminal, if there is one.
func (a *App) Installing(yes bool) doctor.Mode {
	return doctor.Mode{
		Yes: yes, TTY: ui.Detect(a.Err, a.Env).TTY && ui.Detect(os.Stdin, a.Env).TTY, Out: a.Err, Log: a.Err,
		Ask: func(ctx context.Context, q string) (bool, error) { return ui.Ask(ctx, a.In, a.Err, q) },
	}
}

// prepared plans, and sees to it that the machine has what the plan needs. As
// an LLVM that was just installed can change the plan, it is made again then.
func (a *App) prepared(ctx context.Context, p *spec.Project, o BuildOptions, s *store.Store, sources *source.Provider) (*machine.Machine, *plan.Graph, error) {
	m := a.machine(ctx, p)
	g, err := a.resolve(ctx, p, m, o.Only)
	if err != nil {
		return nil, nil, err
	}
	if err := buildable(g); err != nil {
		return nil, nil, err
	}
	report, err := a.checkup(ctx, p, m, g, s, sources)
	if err != nil {
		return nil, nil, err
	}
	if report.OK() {
		return m, g, nil
	}
	if err := report.Table(a.Err, ui.Detect(a.Err, a.Env).Look); err != nil {
		return nil, nil, err
	}
	if err := doctor.Ensure(ctx, report, a.Installing(o.Yes)); err != nil {
		return nil, nil, err
	}
	m = a.machine(ctx, p)
	if g, err = a.resolve(ctx, p, m, o.Only); err != nil {
		return nil, nil, err
	}
	if report, err = a.checkup(ctx, p, m, g, s, sources); err != nil {
		return nil, nil, err
	}
	if !report.OK() {
		if err := report.Table(a.Err, ui.Detect(a.Err, a.Env).Look); err != nil {
			return nil, nil, err
		}
		return nil, nil, exit.Withf(exit.Preflight, "the machine still lacks what the build needs")
	}
	return m, g, nil
}

// nothing explains a plan in which nothing is enabled.
func (a *App) nothing(g *plan.Graph, only []string) error {
	for _, n := range g.Nodes {
		if slices.Contains(only, n.Component) {
			return exit.Withf(exit.Unsupported, "%s cannot be built for %s: %s", n.Component, n.Host, n.Why)
		}
	}
	return exit.Withf(exit.Unsupported, "nothing is switched on for %s", strings.Join(g.Hosts, ", "))
}

// Group builds all components of a group.
func (a *App) Group(ctx context.Context, group string, o BuildOptions) error {
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	for _, name := range componentNames(p) {
		if p.Components[name].Group == group {
			o.Only = append(o.Only, name)
		}
	}
	if len(o.Only) == 0 {
		return exit.Withf(exit.Usage, "no component is in group %s: there is %s", group, strings.Join(groupNames(p), ", "))
	}
	return a.Build(ctx, o)
}

// sources makes the provider of sources.
func (a *App) sources(p *spec.Project, s *store.Store, events trace.Sink) (*source.Provider, error) {
	apt, err := a.apt(p, s)
	if err != nil {
		return nil, err
	}
	return &source.Provider{
		Root: p.Root, Checkouts: s.Checkouts(), PoolURLs: apt.URLs, NPMURLs: a.npm(p).URLs, Mirrors: p.Config.Mirrors, Glances: &a.glances,
		Fetcher: &fetch.Fetcher{Dir: s.Sources(), Progress: progress(events)},
	}, nil
}

// progress tells events how far downloads are.
func progress(events trace.Sink) func(fetch.Event) {
	return func(e fetch.Event) {
		events.Emit(trace.Event{Kind: trace.FetchProgress, Node: e.Name, Done: e.Done, Total: e.Total})
	}
}

// apt answers where files of Debian's archive are, by the machine's own
// configuration.
func (a *App) apt(p *spec.Project, s *store.Store) (*aptindex.Client, error) {
	apt, err := aptindex.New(aptindex.Config{ListsDir: filepath.Join(s.Root(), "apt"), AptConfRoot: a.getenv("STONEMASON_APT_CONF"), Fallback: p.Config.Mirrors["debian"]})
	return apt, exit.With(exit.Config, err)
}

// rows are the lines of the summary, in the plan's order: first what there is
// now, then what was skipped. When only some components were asked for, the
// others are left out.
func rows(g *plan.Graph, results map[string]*build.Result, only []string) []ui.Row {
	var rows, skipped []ui.Row
	for _, n := range g.Nodes {
		r := results[n.ID]
		if r == nil || len(only) > 0 && !n.Enabled && !slices.Contains(only, n.Component) {
			continue
		}
		row := ui.Row{Component: n.Component, Host: n.Host, Outcome: r.Outcome, Duration: r.Took, Bytes: r.Action.Bytes, Detail: r.Reason}
		switch r.Outcome {
		case trace.Built, trace.Adopted, trace.Restored:
			row.Detail = strings.TrimSpace(n.Version + " " + from(n))
		case trace.Failed:
			row.Detail, _, _ = strings.Cut(r.Reason, "\n")
		}
		if r.Outcome == trace.Skipped {
			skipped = append(skipped, row)
		} else {
			rows = append(rows, row)
		}
	}
	return append(rows, skipped...)
}

// from says in a few words where a node came from.
func from(n *plan.Node) string {
	if n.Provider == spec.System && len(n.Sources) == 0 {
		return "of this machine"
	}
	if n.Provider == spec.External {
		return "left out: of the machine that uses the bundle"
	}
	var words []string
	for _, s := range n.Sources {
		switch {
		case s.Workspace != "":
			words = append(words, "workspace "+s.Workspace)
		case s.Commit != "":
			words = append(words, s.Name+" "+s.Commit[:12])
		case spec.SetOf(s.Name) != "": // it would fill the page
			if set := spec.SetOf(s.Name); !slices.Contains(words, set) {
				words = append(words, set)
			}
		case s.Package != "":
			words = append(words, s.Package)
		default:
			words = append(words, s.Name)
		}
	}
	if len(n.Patches) > 0 {
		words = append(words, plural(len(n.Patches), "patch", "patches"))
	}
	return strings.Join(words, ", ")
}

func relative(root, dir string) string {
	if rel, err := filepath.Rel(root, dir); err == nil {
		return rel
	}
	return dir
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
