package build

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/internal/plan"
)

// parallelFetches bounds the downloads that run at once.
const parallelFetches = 4

// prefetch downloads what the nodes that are not in the store will need, all
// at once and while the first of them are already being built. A node that
// needs a file in the meantime waits for it, and reports it when the download
// failed.
func (b *Builder) prefetch(ctx context.Context) (wait func()) {
	ctx, stop := context.WithCancel(ctx)
	var g errgroup.Group
	g.SetLimit(parallelFetches)
	done := make(chan struct{})
	go func() {
		defer close(done)
		seen := map[string]bool{}
		for _, n := range b.Graph.Enabled() {
			if b.forecast[n.ID].Cached {
				continue
			}
			for _, s := range n.Sources {
				if s.SHA256 == "" || seen[s.SHA256] {
					continue
				}
				seen[s.SHA256] = true
				g.Go(func() error { b.fetchAhead(ctx, s); return nil })
			}
		}
		g.Wait()
	}()
	return func() { stop(); <-done }
}

func (b *Builder) fetchAhead(ctx context.Context, s plan.Source) {
	if ctx.Err() == nil {
		_, _ = b.Sources.Fetch(ctx, s) // the node that needs it reports the error
	}
}
