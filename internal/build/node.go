package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
	"github.com/stonemason-hip/stonemason/internal/explain"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

// node obtains one node: from the store, or by running its steps.
func (b *Builder) node(ctx context.Context, n *plan.Node, contents map[string]store.Content, lease *budget.Lease) *Result {
	begun := time.Now()
	res := &Result{Node: n}
	start := trace.Event{Kind: trace.NodeStart, Host: n.Host, Node: n.Component, Estimate: b.expected[n.ID]}
	if v, ok := b.verdicts[n.ID]; ok && v.State != explain.UpToDate {
		start.Reason, start.Attrs = v.Reason(), v.Attrs()
	}
	b.Events.Emit(start)
	err := b.obtain(ctx, n, contents, lease, res)
	res.Took, res.Err = time.Since(begun), err
	ev := trace.Event{
		Kind: trace.NodeEnd, Host: n.Host, Node: n.Component, Outcome: res.Outcome, Reason: res.Reason,
		Duration: res.Took, Bytes: res.Action.Bytes, Key: string(res.Key.ID), Content: string(res.Action.Content),
	}
	if err != nil {
		res.Outcome, res.Reason = trace.Failed, err.Error()
		b.failed(&ev, n, err)
	}
	b.Events.Emit(ev)
	return res
}

// failed completes the event of a node that failed: what and where, and the
// commands that go on from there.
func (b *Builder) failed(ev *trace.Event, n *plan.Node, err error) {
	ev.Outcome, ev.Reason, ev.Msg = trace.Failed, err.Error(), err.Error()
	if _, statErr := os.Stat(b.Log(n)); statErr == nil {
		ev.Log = b.Log(n)
	}
	host := ""
	if n.Host != plan.AnyHost && n.Host != b.Graph.Build && !n.ForBuild {
		host = " -host=" + n.Host
	}
	ev.Next = "go tool mage component " + n.Component + host
	var se *stepError
	if !errors.As(err, &se) {
		return
	}
	ev.Step, ev.Msg = se.step, se.err.Error()
	if slices.ContainsFunc(n.Steps, func(s plan.Step) bool { return s.Name == se.step }) {
		ev.Next = "go tool mage step " + n.Component + " " + se.step + host
		ev.Attrs = map[string]string{"shell": "go tool mage shell " + n.Component + host}
	}
}

// stepError says in which step a node failed.
type stepError struct {
	step string
	err  error
}

// Error is "step NAME: " and the step's own error.
func (e *stepError) Error() string { return "step " + e.step + ": " + e.err.Error() }

// Unwrap gives the step's own error.
func (e *stepError) Unwrap() error { return e.err }

func (b *Builder) obtain(ctx context.Context, n *plan.Node, contents map[string]store.Content, lease *budget.Lease, res *Result) error {
	k, err := b.keyed(ctx, n, contents)
	if err != nil {
		return err
	}
	res.Key = k
	rebuild := slices.Contains(b.Rebuild, n.Component)
	found, err := b.restore(n, k, rebuild, res)
	if err != nil || found {
		return err
	}
	unlock, err := b.lock(ctx, n, k.ID)
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have built it while we waited for the lock.
	if found, err = b.restore(n, k, rebuild, res); err != nil || found {
		return err
	}
	return b.make(ctx, n, k, contents, lease, res)
}

// lock takes the lock of a node's work folder. Who waits for another build is
// told so, and can stop waiting.
func (b *Builder) lock(ctx context.Context, n *plan.Node, id key.ID) (unlock func(), err error) {
	notice := time.AfterFunc(time.Second, func() {
		trace.Infof(b.Events, n.Component, "waits: another process is at work on %s", n.ID)
	})
	defer notice.Stop()
	unlock, err = b.Store.LockContext(ctx, n.Component+"-"+id.Short())
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return unlock, err
}

// keyed is the node's key, with its text. The one that was computed before the
// build began still holds when nothing that the node needs was built since.
func (b *Builder) keyed(ctx context.Context, n *plan.Node, contents map[string]store.Content) (key.Key, error) {
	f := b.forecast[n.ID]
	if f.Known && f.Key.Text != "" && !slices.ContainsFunc(n.Build, func(id string) bool { return contents[id] != b.forecast[id].Action.Content }) {
		return f.Key, nil
	}
	return b.Key(ctx, n, contents)
}

func (b *Builder) restore(n *plan.Node, k key.Key, rebuild bool, res *Result) (bool, error) {
	if rebuild {
		return false, nil
	}
	a, ok, err := b.Store.Lookup(n.Component, k.ID)
	if err != nil || !ok {
		return false, err
	}
	b.Store.Used(a)
	res.Outcome, res.Action = trace.Restored, a
	return true, nil
}

// settleTime is how long a build that ends early waits for the disk, so that
// what it leaves can be gone on with even after a power cut.
const settleTime = time.Second

// make runs the steps of a node in its work folder and seals the stage.
func (b *Builder) make(ctx context.Context, n *plan.Node, k key.Key, contents map[string]store.Content, lease *budget.Lease, res *Result) error {
	begun := time.Now()
	file, err := b.openLog(n)
	if err != nil {
		return err
	}
	defer file.Close()
	s := &site{b: b, n: n, key: k, contents: contents, lease: lease, jobs: lease.Jobs(), work: b.Work(n, k.ID), log: file}
	s.takeOver(ctx)
	if err := s.open(ctx, slices.Contains(b.Rebuild, n.Component)); err != nil {
		return err
	}
	ctx, end := s.watch(ctx)
	defer end()
	if err := s.steps(ctx); err != nil {
		s.done.settle(s.work, settleTime)
		return err
	}
	if err := check(n, s.run.Stage); err != nil {
		return &stepError{"check", err}
	}
	action := store.Action{
		Component: n.Component, Host: n.Host, Outcome: n.Outcome, Key: k, Seconds: time.Since(begun).Seconds(),
		CPU: s.used.CPU.Seconds(), MaxRSS: s.used.MaxRSS, Jobs: s.jobs,
	}
	if action, err = b.Store.Seal(ctx, action, s.run.Stage, s.run.SliceOf); err != nil {
		return s.trusted(err)
	}
	res.Action, res.Outcome = action, trace.Built
	if n.Outcome == "adopted" {
		res.Outcome = trace.Adopted
	}
	if b.KeepWork {
		return nil
	}
	if err := discard(s.work); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}
