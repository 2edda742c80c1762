package source

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// Glances lets one look at a workspace serve for a while, for all providers that
// share it. A plan asks for its id, and the build that follows at once asks
// again; and several components may be built from one workspace. Nothing is
// built wrongly when it changes meanwhile: Prepare notices.
type Glances struct {
	// For is how long.
	For time.Duration

	mu   sync.Mutex
	seen map[string]*seen // by folder
}

// seen is a workspace as it was looked at last.
type seen struct {
	mu sync.Mutex // held while it is looked at
	id string
	at time.Time
}

// workspace is a local source whose listing is remembered in the project's
// state folder.
func (p *Provider) workspace(dir string) *treehash.Workspace {
	w := &treehash.Workspace{Dir: dir}
	if p.Root != "" {
		w.Cache = filepath.Join(p.Root, ".stonemason", "workspaces")
	}
	return w
}

// lookedAt is what is known of a workspace in this run.
func (g *Glances) lookedAt(dir string) *seen {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = map[string]*seen{}
	}
	if g.seen[dir] == nil {
		g.seen[dir] = &seen{}
	}
	return g.seen[dir]
}

// glances are the shared ones, or some of the provider's own: it has to know in
// any case which id it gave.
func (p *Provider) glances() *Glances {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Glances == nil {
		p.Glances = &Glances{}
	}
	return p.Glances
}

// workspaceID is the content id of a workspace.
func (p *Provider) workspaceID(ctx context.Context, dir string) (string, error) {
	g := p.glances()
	s := g.lookedAt(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" && time.Since(s.at) < g.For {
		return s.id, nil
	}
	at := time.Now()
	id, _, err := p.workspace(dir).Hash(ctx)
	if err != nil {
		return "", err
	}
	s.id, s.at = id, at
	return id, nil
}

// copyWorkspace copies what the last id of the workspace was made of, and
// nothing else: what is built is what the key names.
func (p *Provider) copyWorkspace(ctx context.Context, dir, into string) error {
	s := p.glances().lookedAt(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := p.workspace(dir)
	entries, err := w.List(ctx)
	if err != nil {
		return err
	}
	id := treehash.IDOf(entries)
	if s.id == "" {
		s.id = id // nobody asked for its key
	}
	listed := make(map[string]bool, len(entries))
	for _, e := range entries {
		listed[e.Path] = true
		for d := path.Dir(e.Path); d != "."; d = path.Dir(d) {
			listed[d+"/"] = true
		}
	}
	err = store.CopyTree(ctx, dir, into, func(rel string) string {
		if listed[rel] || listed[rel+"/"] {
			return rel
		}
		return ""
	})
	after, _, lookErr := w.Hash(ctx)
	if lookErr == nil && (id != s.id || after != s.id) {
		return fmt.Errorf("%s changed after its content had been put into the key: build again", dir)
	}
	if err == nil {
		err = lookErr
	}
	return err
}
