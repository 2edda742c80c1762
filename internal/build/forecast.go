package build

import (
	"context"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/explain"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/parallel"
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
	// Key has no text when the store never had a result of the component: there
	// is nothing to compare it with.
	Key key.Key
	// Unknown says why not.
	Unknown string
	Action  store.Action
}

// Forecast looks all enabled nodes up without building anything.
func (b *Builder) Forecast(ctx context.Context) map[string]Forecast {
	out, _ := b.survey(ctx, false)
	return out
}

// Survey is Forecast, and says of every node, by ID, why a build would do that:
// every key is computed once.
func (b *Builder) Survey(ctx context.Context) (map[string]Forecast, map[string]explain.Verdict) {
	out, nodes := b.survey(ctx, true)
	return out, explain.Explain(nodes, b.history)
}

// survey looks all enabled nodes up, each after those it needs. With partial,
// the known lines of keys that are not final are computed too.
func (b *Builder) survey(ctx context.Context, partial bool) (map[string]Forecast, []explain.Node) {
	enabled := b.Graph.Enabled()
	out := make(map[string]Forecast, len(enabled))
	nodes := make([]explain.Node, len(enabled))
	contents := make(map[string]store.Content, len(enabled))
	b.built = b.Store.Components()
	keys := &sync.Pool{New: func() any { return new(lines) }}
	for _, wave := range waves(enabled) {
		forecasts := make([]Forecast, len(wave))
		_ = parallel.Each(len(wave), func(i int) error {
			forecasts[i], nodes[wave[i]] = b.lookUp(ctx, enabled[wave[i]], contents, partial, keys)
			return nil
		})
		for i, f := range forecasts {
			id := enabled[wave[i]].ID
			out[id] = f
			if f.Cached {
				contents[id] = f.Action.Content
			}
		}
	}
	return out, nodes
}

// waves groups nodes, which stand behind those that they need: all needs of a
// wave are in the ones before it. The elements are indexes.
func waves(nodes []*plan.Node) [][]int {
	var all [][]int
	depth := make(map[string]int, len(nodes))
	for i, n := range nodes {
		d := 0
		for _, id := range n.Build {
			d = max(d, depth[id])
		}
		if d == len(all) {
			all = append(all, nil)
		}
		all[d] = append(all[d], i)
		depth[n.ID] = d + 1
	}
	return all
}

// lookUp asks the store about one node. contents are those of what it needs, as
// far as they are known. keys holds builders of keys to use again.
func (b *Builder) lookUp(ctx context.Context, n *plan.Node, contents map[string]store.Content, partial bool, keys *sync.Pool) (Forecast, explain.Node) {
	var f Forecast
	e := explain.Node{ID: n.ID, Component: n.Component, Host: n.Host, Needs: n.Build}
	never := b.built != nil && !b.built[n.Component]
	for _, s := range n.Sources {
		e.Sources = append(e.Sources, sourceName(s))
	}
	for _, id := range n.Build {
		if _, ok := contents[id]; !ok {
			e.Open = append(e.Open, id)
		}
	}
	if len(e.Open) > 0 {
		f.Unknown = e.Open[0] + " must be built first"
	}
	if partial || len(e.Open) == 0 {
		k := keys.Get().(*lines)
		defer keys.Put(k)
		k.Reset()
		if err := b.keyLines(ctx, k, n, contents, e.Open); err != nil {
			f.Unknown, e.Problem = err.Error(), err.Error()
		} else {
			if never {
				e.Key.ID = k.ID()
			} else {
				e.Key = k.Key()
			}
			if len(e.Open) == 0 {
				f.Known, f.Key = true, e.Key
			}
		}
	}
	if f.Known && !never {
		if a, ok, err := b.Store.Lookup(n.Component, f.Key.ID); err == nil && ok {
			f.Cached, f.Action = true, a
			r := result(a)
			e.Result = &r
		}
	}
	return f, e
}

// history lists the earlier results of a component for a host. A history that
// cannot be read is as none: it explains less, and hinders nothing.
func (b *Builder) history(component, host string) []explain.Result {
	if b.built != nil && !b.built[component] {
		return nil
	}
	actions, _ := b.Store.History(component)
	var all []explain.Result
	for _, a := range actions {
		if a.Host == host {
			all = append(all, result(a))
		}
	}
	return all
}

func result(a store.Action) explain.Result {
	return explain.Result{Key: a.Key, Content: string(a.Content), Created: a.Created, Seconds: a.Seconds}
}

// sourceName is what a person calls a source.
func sourceName(s plan.Source) string {
	if s.Workspace != "" {
		return "workspace " + s.Workspace
	}
	return s.Name
}
