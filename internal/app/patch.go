package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/patch"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// PatchOptions are the options of patch:new.
type PatchOptions struct {
	// Component is whose source was edited, Edited the edited copy.
	Component, Edited string
	Title, Why        string
	Upstream          string
}

// PatchNew makes a patch of what differs between a component's source, with
// the patches it has already, and an edited copy of it.
func (a *App) PatchNew(ctx context.Context, o PatchOptions) error {
	p, err := a.project(Wishes{})
	if err != nil {
		return err
	}
	if p.Components[o.Component] == nil {
		return exit.With(exit.Usage, oneOf("patch:new", "component", o.Component, componentNames(p)))
	}
	s, err := a.store(p)
	if err != nil {
		return err
	}
	m := a.machine(ctx, p)
	g, err := a.resolve(ctx, p, m, []string{o.Component})
	if err != nil {
		return err
	}
	tmp, err := s.Tmp("patch")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, n := range g.Enabled() {
		if n.Component != o.Component {
			continue
		}
		pristine := filepath.Join(tmp, "src")
		sources, err := a.sources(p, s, discard())
		if err != nil {
			return err
		}
		if err := sources.Prepare(ctx, n, pristine, io.Discard); err != nil {
			return err
		}
		dir := filepath.Join(p.Root, spec.PatchesDir, o.Component)
		name, err := patch.NextName(dir, o.Title)
		if err != nil {
			return exit.With(exit.Patch, err)
		}
		meta := patch.Patch{Title: o.Title, Why: o.Why, Upstream: o.Upstream, Versions: "=" + n.Version, Channels: []string{string(g.Channel)}}
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
	return a.nothing(g, []string{o.Component})
}

// SourceOptions are the options of source.
type SourceOptions struct {
	Wishes
	Component, Dest string
}

// Source puts a component's source, with its patches, into a folder: the start
// of a patch or of a workspace.
func (a *App) Source(ctx context.Context, o SourceOptions) error {
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	if p.Components[o.Component] == nil {
		return exit.With(exit.Usage, oneOf("source", "component", o.Component, componentNames(p)))
	}
	if _, err := os.Lstat(o.Dest); err == nil {
		return exit.Withf(exit.Usage, "%s exists already: name a new folder", o.Dest)
	}
	s, err := a.store(p)
	if err != nil {
		return err
	}
	g, err := a.resolve(ctx, p, a.machine(ctx, p), []string{o.Component})
	if err != nil {
		return err
	}
	for _, n := range g.Enabled() {
		if n.Component == o.Component {
			if len(n.Sources) == 0 {
				return exit.Withf(exit.Unsupported, "%s has no source: its provider is %s (try -provider=source)", n.Component, n.Provider)
			}
			dest, err := filepath.Abs(o.Dest)
			if err != nil {
				return err
			}
			sources, err := a.sources(p, s, discard())
			if err != nil {
				return err
			}
			return sources.Prepare(ctx, n, dest, a.Out)
		}
	}
	return a.nothing(g, []string{o.Component})
}
