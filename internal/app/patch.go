package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/patch"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// PatchOptions are the options of patch:new.
type PatchOptions struct {
	Wishes
	// Component is whose source was edited, Edited the edited copy.
	Component, Edited string
	Title, Why        string
	Upstream          string
}

// PatchNew makes a patch of what differs between a component's source, with
// the patches it has already, and an edited copy of it.
func (a *App) PatchNew(ctx context.Context, o PatchOptions) error {
	of, err := a.sourceOf(ctx, "patch:new", o.Wishes, o.Component)
	if err != nil {
		return err
	}
	tmp, err := of.store.Tmp("patch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	pristine := filepath.Join(tmp, "src")
	sources, err := a.sources(of.project, of.store, discard())
	if err != nil {
		return err
	}
	if err := sources.Prepare(ctx, of.node, pristine, io.Discard); err != nil {
		return err
	}
	dir := filepath.Join(of.project.Root, spec.PatchesDir, o.Component)
	name, err := patch.NextName(dir, o.Title)
	if err != nil {
		return exit.With(exit.Patch, err)
	}
	meta := patch.Patch{Title: o.Title, Why: o.Why, Upstream: o.Upstream, Versions: "=" + of.node.Version, Channels: []string{string(of.graph.Channel)}}
	if meta.Why == "" {
		meta.Why = o.Title
	}
	if meta.Upstream == "" {
		meta.Upstream = "none yet"
	}
	if _, err := patch.New(ctx, pristine, o.Edited, filepath.Join(dir, name), meta); err != nil {
		return exit.With(exit.Patch, err)
	}
	fmt.Fprintf(a.Out, "wrote %s/%s/%s; say why in series.yaml\n", spec.PatchesDir, o.Component, name)
	return nil
}

// sourced is a component whose source a verb is about, and where it was found.
type sourced struct {
	project *spec.Project
	store   *store.Store
	graph   *plan.Graph
	node    *plan.Node
}

// sourceOf plans a component for a verb that is about its source. One that
// brings none, because it is adopted, is an error.
func (a *App) sourceOf(ctx context.Context, verb string, w Wishes, component string) (*sourced, error) {
	p, err := a.project(w)
	if err != nil {
		return nil, err
	}
	if p.Components[component] == nil {
		return nil, exit.With(exit.Usage, oneOf(verb, "component", component, componentNames(p)))
	}
	s, err := a.store(p)
	if err != nil {
		return nil, err
	}
	g, err := a.resolve(ctx, p, a.machine(ctx, p), []string{component})
	if err != nil {
		return nil, err
	}
	for _, n := range g.Enabled() {
		if n.Component != component {
			continue
		}
		if len(n.Sources) == 0 {
			return nil, exit.Withf(exit.Unsupported, "%s has no source: its provider is %s (try -provider=source)", n.Component, n.Provider)
		}
		return &sourced{p, s, g, n}, nil
	}
	return nil, a.nothing(g, []string{component})
}

// SourceOptions are the options of source.
type SourceOptions struct {
	Wishes
	Component, Dest string
}

// Source puts a component's source, with its patches, into a folder: the start
// of a patch or of a workspace.
func (a *App) Source(ctx context.Context, o SourceOptions) error {
	if _, err := os.Lstat(o.Dest); err == nil {
		return exit.Withf(exit.Usage, "%s exists already: name a new folder", o.Dest)
	}
	of, err := a.sourceOf(ctx, "source", o.Wishes, o.Component)
	if err != nil {
		return err
	}
	dest, err := filepath.Abs(o.Dest)
	if err != nil {
		return err
	}
	sources, err := a.sources(of.project, of.store, discard())
	if err != nil {
		return err
	}
	return sources.Prepare(ctx, of.node, dest, a.Out)
}
