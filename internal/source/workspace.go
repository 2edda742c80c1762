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
func (p *Provider) lookedAt(dir string) *seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == nil {
		p.seen = map[string]*seen{}
	}
	if p.seen[dir] == nil {
		p.seen[dir] = &seen{}
	}
	return p.seen[dir]
}

// workspaceID is the content id of a workspace.
func (p *Provider) workspaceID(ctx context.Context, dir string) (string, error) {
	s := p.lookedAt(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.id != "" && time.Since(s.at) < p.Glance {
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
	s := p.lookedAt(dir)
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
