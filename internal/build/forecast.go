package build

import (
	"context"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// Forecast says what a build would do with a node.
type Forecast struct {
	// Cached: the store has the result already.
	Cached bool
	// Known: the key could be computed now. It cannot when something that the
	// node needs must be built first, or when the machine lacks a tool.
	Known bool
	Key   key.Key
	// Unknown says why not.
	Unknown string
	Action  store.Action
}

// Forecast looks all enabled nodes up without building anything.
func (b *Builder) Forecast(ctx context.Context) map[string]Forecast {
	out := map[string]Forecast{}
	contents := map[string]store.Content{}
	for _, n := range b.Graph.Enabled() {
		out[n.ID] = b.forecast(ctx, n, contents)
		if f := out[n.ID]; f.Cached {
			contents[n.ID] = f.Action.Content
		}
	}
	return out
}

func (b *Builder) forecast(ctx context.Context, n *plan.Node, contents map[string]store.Content) Forecast {
	for _, id := range n.Build {
		if _, ok := contents[id]; !ok {
			return Forecast{Unknown: id + " must be built first"}
		}
	}
	k, err := b.Key(ctx, n, contents)
	if err != nil {
		return Forecast{Unknown: err.Error()}
	}
	f := Forecast{Known: true, Key: k}
	if a, ok, err := b.Store.Lookup(n.Component, k.ID); err == nil && ok {
		f.Cached, f.Action = true, a
	}
	return f
}
