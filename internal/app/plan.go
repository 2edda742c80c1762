package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/explain"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// PlanOptions are the options of plan and graph.
type PlanOptions struct {
	Wishes
	Only []string
	// Format is text or json; for graph dot, mermaid or json.
	Format string
}

// plannedNode is a node with what the store knows of it: plan -format=json.
type plannedNode struct {
	*plan.Node
	Cached  bool          `json:"cached"`
	Key     string        `json:"key,omitempty"`
	Unknown string        `json:"key_unknown,omitempty"`
	Expect  time.Duration `json:"expect_ns"`
	Bytes   int64         `json:"bytes,omitempty"`
	// Explain says why, for what is switched on.
	Explain *explain.Verdict `json:"explain,omitempty"`
}

type plannedGraph struct {
	*plan.Graph
	Nodes []plannedNode `json:"nodes"`
}

// planned makes the plan and asks the store about every node. Nothing is
// built, fetched or written.
func (a *App) planned(ctx context.Context, o PlanOptions) (*plannedGraph, error) {
	p, err := a.project(o.Wishes)
	if err != nil {
		return nil, err
	}
	s, err := a.store(p)
	if err != nil {
		return nil, err
	}
	m := a.machine(ctx, p)
	g, err := a.resolve(ctx, p, m, o.Only)
	if err != nil {
		return nil, err
	}
	sources, err := a.sources(p, s, discard())
	if err != nil {
		return nil, err
	}
	b := &build.Builder{Graph: g, Store: s, Sources: sources, Machine: m, Events: discard(), Jobs: a.jobs(p)}
	forecast, verdicts := b.Survey(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	out := &plannedGraph{Graph: g}
	for _, n := range g.Nodes {
		f := forecast[n.ID]
		pn := plannedNode{Node: n, Cached: f.Cached, Key: string(f.Key.ID), Unknown: f.Unknown, Bytes: f.Action.Bytes}
		if n.Enabled && !f.Cached {
			pn.Expect = b.Expect(n)
		}
		if v, ok := verdicts[n.ID]; ok {
			pn.Explain = &v
		}
		out.Nodes = append(out.Nodes, pn)
	}
	return out, nil
}

// Plan prints what a build would do, for any host from any machine.
func (a *App) Plan(ctx context.Context, o PlanOptions) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	g, err := a.planned(ctx, o)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		return a.json(g)
	}
	return a.planText(g)
}

func (a *App) json(v any) error {
	e := json.NewEncoder(a.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func checkFormat(format string, allowed ...string) error {
	if format == "" {
		return nil
	}
	return exit.With(exit.Usage, oneOf("-format", "format", format, allowed))
}

func (a *App) planText(g *plannedGraph) error {
	look := a.look()
	fmt.Fprintf(a.Out, "release %s of channel %s, for %s, built on %s\n", g.Release, g.Channel, strings.Join(g.Hosts, ", "), g.Build)
	if g.ChannelWhy != "" {
		fmt.Fprintf(a.Out, "  %s\n", g.ChannelWhy)
	}
	fmt.Fprintf(a.Out, "GPUs (%s): %s\n\n", g.Name, strings.Join(g.GPUs, " "))
	var on, off [][]string
	var download, disk, peak int64
	var expect time.Duration
	var notes, problems []string
	stuck := map[string][]string{} // problem → components
	for _, n := range g.Nodes {
		if !n.Enabled {
			off = append(off, []string{n.Component, n.Host, n.Why})
			continue
		}
		on = append(on, []string{n.Component, n.Host, doing(n), n.Why, sourceText(n.Node), sizeText(n.DownloadSize()), timeText(n), sizeText(n.Estimate.Disk), because(n)})
		if !n.Cached {
			download += n.DownloadSize()
			expect += n.Expect
			disk += n.Estimate.Disk
			peak = max(peak, n.Estimate.Memory)
		}
		if n.ProviderNote != "" {
			notes = append(notes, n.Component+": "+n.ProviderNote)
		}
		if n.Explain != nil && n.Explain.State == explain.Unknown {
			problem := strings.TrimPrefix(n.Explain.Problem, n.ID+": ")
			if len(stuck[problem]) == 0 {
				problems = append(problems, problem)
			}
			stuck[problem] = append(stuck[problem], n.Component)
		}
		for _, s := range n.SkippedPatches {
			notes = append(notes, fmt.Sprintf("%s: patch skipped: %s: %s", n.Component, s.File, s.Reason))
		}
	}
	if err := ui.Table(a.Out, look, []string{"component", "host", "plan", "why", "source", "fetch", "time", "disk", "because"}, on, ui.TableOptions{Flex: 4}); err != nil {
		return err
	}
	if len(off) > 0 {
		fmt.Fprintln(a.Out)
		if err := ui.Table(a.Out, look, []string{"off", "host", "why"}, off, ui.TableOptions{Flex: 3}); err != nil {
			return err
		}
	}
	fmt.Fprintln(a.Out)
	for _, problem := range problems {
		notes = append(notes, strings.Join(stuck[problem], ", ")+": "+problem)
	}
	for _, n := range notes {
		fmt.Fprintf(a.Out, "note: %s\n", n)
	}
	fmt.Fprintf(a.Out, "to do: %s of work one after the other, %s to fetch at most, %s of disk, %s of memory a job\n",
		ui.Duration(expect), ui.Bytes(download), ui.Bytes(disk), ui.Bytes(peak))
	return nil
}

func doing(n plannedNode) string {
	switch {
	case n.Cached:
		return "restore"
	case n.Provider == spec.External:
		return "leave out (external)"
	case n.Outcome == "adopted":
		return "adopt (" + string(n.Provider) + ")"
	case n.Provider == spec.Source:
		return "build (source)"
	}
	return string(n.Provider)
}

// because says in a few words why there is something to do, as explain does at
// length.
func because(n plannedNode) string {
	switch {
	case n.Cached || n.Explain == nil:
		return "-"
	case n.Explain.State == explain.Unknown:
		return "not known yet" // why is long, and stands below
	}
	return n.Explain.Reason()
}

func sourceText(n *plan.Node) string {
	text := from(n)
	if n.Version != "" {
		text = n.Version + " " + text
	}
	return text
}

func sizeText(n int64) string {
	if n == 0 {
		return "-"
	}
	return ui.Bytes(n)
}

func timeText(n plannedNode) string {
	if n.Cached {
		return "-"
	}
	return ui.Duration(n.Expect)
}

// Graph prints the graph for machines and for drawing.
func (a *App) Graph(ctx context.Context, o PlanOptions) error {
	if err := checkFormat(o.Format, "dot", "mermaid", "json"); err != nil {
		return err
	}
	g, err := a.planned(ctx, o)
	if err != nil {
		return err
	}
	switch o.Format {
	case "json":
		return a.json(g)
	case "mermaid":
		return plan.Mermaid(a.Out, g.Graph)
	}
	return plan.Dot(a.Out, g.Graph)
}
