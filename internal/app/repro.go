package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/repro"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/treehash"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// everyComponent as a name stands for all enabled components.
const everyComponent = "all"

// ReproOptions are the options of repro.
type ReproOptions struct {
	Wishes
	// Component is the one to build twice, or "all".
	Component string
	// Format is text or json.
	Format string
}

// verdict is what building a node twice gave.
type verdict struct {
	Node   string `json:"node"`
	Same   bool   `json:"same"`
	Files  int    `json:"files,omitempty"`
	Bytes  int64  `json:"bytes,omitempty"`
	First  string `json:"first,omitempty"`  // content id of the first build
	Second string `json:"second,omitempty"` // and of the second
	Store  string `json:"store,omitempty"`  // what the store holds for the key
	// Folders are the two trees, when they differ.
	Folders    []string          `json:"folders,omitempty"`
	Difference *repro.Difference `json:"difference,omitempty"`
	Seconds    float64           `json:"seconds"`
}

// Repro builds components twice, in different folders at different times, and
// compares what comes out, byte for byte.
func (a *App) Repro(ctx context.Context, o ReproOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	name := o.Component
	if name == everyComponent {
		name = ""
	}
	b, nodes, err := a.builder(ctx, o.Wishes, name, trace.SinkFunc(func(e trace.Event) {
		if e.Kind == trace.StepStart && o.Format != "json" {
			a.note("%s: %s", e.Node, e.Step)
		}
	}))
	if err != nil {
		return err
	}
	var verdicts []verdict
	different := 0
	for _, n := range nodes {
		v, err := a.twice(ctx, b, n)
		if err != nil {
			return exit.Default(exit.Failure, fmt.Errorf("%s: %w", n.ID, err))
		}
		if !v.Same {
			different++
		}
		verdicts = append(verdicts, v)
		if o.Format != "json" {
			a.tell(v)
		}
	}
	if o.Format == "json" {
		if err := a.json(verdicts); err != nil {
			return err
		}
	}
	if different > 0 {
		return exit.Withf(exit.Verify, "%s of %d differ between two builds", plural(different, "component", "components"), len(nodes))
	}
	return nil
}

func (a *App) tell(v verdict) {
	if v.Same {
		fmt.Fprintf(a.Out, "%s: the same twice: %s, %s, content %s\n", v.Node, plural(v.Files, "file", "files"), ui.Bytes(v.Bytes), store.Content(v.First).Short())
		if v.Store != "" && v.Store != v.First {
			fmt.Fprintf(a.Out, "  the store holds another content for this key: %s\n", store.Content(v.Store).Short())
		}
		return
	}
	fmt.Fprintf(a.Out, "%s: NOT the same\n%s\n", v.Node, v.Difference)
	for _, dir := range v.Folders {
		fmt.Fprintf(a.Out, "  kept: %s\n", dir)
	}
}

// twice builds a node in two folders whose names differ in length, one after
// the other, and removes them when the results are the same.
func (a *App) twice(ctx context.Context, b *build.Builder, n *plan.Node) (verdict, error) {
	begun := time.Now()
	v := verdict{Node: n.ID}
	k, _, err := b.Contents(ctx, n)
	if err != nil {
		return v, err
	}
	if old, ok, err := b.Store.Lookup(n.Component, k.ID); err == nil && ok {
		v.Store = string(old.Content)
	}
	name := "repro-" + n.Component + "-" + k.ID.Short()
	root := filepath.Join(b.Store.Root(), "work", name)
	// Nobody evicts the folder, or builds in it, as long as this is held.
	unlock, err := b.Store.LockContext(ctx, name)
	if err != nil {
		return v, err
	}
	defer unlock()
	if err := os.RemoveAll(root); err != nil {
		return v, err
	}
	logs, err := os.MkdirTemp("", "stonemason-repro-")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(logs)
	var trees []string
	var builds [2]repro.Build
	for i, dir := range []string{"a", filepath.Join("another", "folder-with-a-longer-name")} {
		work := filepath.Join(root, dir)
		builds[i] = repro.Build{Paths: []string{work, b.Store.Root()}, Begun: time.Now()}
		if err := waitForNextSecond(ctx); err != nil {
			return v, err
		}
		tree, err := a.stageIn(ctx, b, n, work, filepath.Join(logs, fmt.Sprint(i)))
		if err != nil {
			return v, err
		}
		builds[i].Ended = time.Now()
		trees = append(trees, tree)
	}
	if err := v.compare(ctx, trees, repro.Comparer{A: builds[0], B: builds[1]}); err != nil {
		return v, err
	}
	v.Seconds = time.Since(begun).Seconds()
	if v.Same {
		return v, os.RemoveAll(root)
	}
	return v, nil
}

// stageIn builds a node in a folder. When it fails, the folder stays.
func (a *App) stageIn(ctx context.Context, b *build.Builder, n *plan.Node, work, log string) (tree string, err error) {
	k, contents, err := b.Contents(ctx, n)
	if err != nil {
		return "", err
	}
	f, err := os.Create(log)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return b.Stage(ctx, n, k, contents, work, f)
}

func (v *verdict) compare(ctx context.Context, trees []string, c repro.Comparer) error {
	for i, id := range []*string{&v.First, &v.Second} {
		got, stats, err := treehash.Hash(ctx, trees[i], treehash.Options{})
		if err != nil {
			return err
		}
		*id, v.Files, v.Bytes = got, stats.Files+stats.Links, stats.Bytes
	}
	v.Same = v.First == v.Second
	if v.Same {
		return nil
	}
	var err error
	v.Folders = trees
	v.Difference, err = c.Compare(ctx, trees[0], trees[1])
	return err
}

// waitForNextSecond makes the second build begin in another second than the
// first: time stamps are often no finer.
func waitForNextSecond(ctx context.Context) error {
	select {
	case <-time.After(time.Until(time.Now().Truncate(time.Second).Add(time.Second))):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
