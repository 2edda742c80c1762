package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/internal/disk"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// node obtains one node: from the store, or by running its steps.
func (b *Builder) node(ctx context.Context, n *plan.Node, contents map[string]store.Content, jobs int) *Result {
	begun := time.Now()
	res := &Result{Node: n}
	b.Events.Emit(trace.Event{Kind: trace.NodeStart, Host: n.Host, Node: n.Component, Estimate: b.Expect(n)})
	err := b.obtain(ctx, n, contents, jobs, res)
	res.Took, res.Err = time.Since(begun), err
	ev := trace.Event{
		Kind: trace.NodeEnd, Host: n.Host, Node: n.Component, Outcome: res.Outcome, Reason: res.Reason,
		Duration: res.Took, Bytes: res.Action.Bytes, Key: string(res.Key.ID), Content: string(res.Action.Content),
	}
	if err != nil {
		res.Outcome, res.Reason = trace.Failed, err.Error()
		ev.Outcome, ev.Reason = trace.Failed, err.Error()
		if _, statErr := os.Stat(b.Log(n)); statErr == nil {
			ev.Log = b.Log(n)
		}
		ev.Next = "go tool mage component " + n.Component
		ev.Msg = err.Error()
		var se *stepError
		if errors.As(err, &se) {
			ev.Step, ev.Msg = se.step, se.err.Error()
		}
	}
	b.Events.Emit(ev)
	return res
}

// stepError says in which step a node failed.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return "step " + e.step + ": " + e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

func (b *Builder) obtain(ctx context.Context, n *plan.Node, contents map[string]store.Content, jobs int, res *Result) error {
	k, err := b.Key(ctx, n, contents)
	if err != nil {
		return err
	}
	res.Key = k
	rebuild := slices.Contains(b.Rebuild, n.Component)
	found, err := b.restore(n, k, rebuild, res)
	if err != nil || found {
		return err
	}
	unlock, err := b.Store.Lock(n.Component + "-" + k.ID.Short())
	if err != nil {
		return err
	}
	defer unlock()
	// Another process may have built it while we waited for the lock.
	if found, err = b.restore(n, k, rebuild, res); err != nil || found {
		return err
	}
	return b.make(ctx, n, k, contents, jobs, res)
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

// make runs the steps of a node in its work folder and seals the stage.
func (b *Builder) make(ctx context.Context, n *plan.Node, k key.Key, contents map[string]store.Content, jobs int, res *Result) error {
	begun := time.Now()
	file, err := b.openLog(n)
	if err != nil {
		return err
	}
	defer file.Close()
	work := b.Work(n, k.ID)
	done, err := loadProgress(work, k)
	if err != nil {
		return err
	}
	// What is gone on with is what finished steps left. Where none is known,
	// all of the folder goes; and a wish to build again means all steps.
	leftover := filepath.Join(work, "stage")
	if len(done.Steps) == 0 || slices.Contains(b.Rebuild, n.Component) {
		leftover, done.Steps = work, nil
	}
	if err := os.RemoveAll(leftover); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if !slices.ContainsFunc(done.Steps, func(s string) bool { return s != "source" }) {
		// CMake takes over what it finds of itself, also what is half.
		if err := os.RemoveAll(filepath.Join(work, "build")); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	for _, dir := range []string{"home", "tmp", "build", "stage"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o755); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "key"), []byte(k.Text), 0o644); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	ctx, space := disk.Watch(ctx, work)
	defer space.End()
	defer func() {
		if space.Exhausted() {
			_ = os.RemoveAll(work) // nothing in it is trusted
		}
	}()
	trusted := func(err error) error {
		if full := space.Check(); full != nil {
			return full
		}
		return err
	}
	if len(n.Sources) > 0 && !slices.Contains(done.Steps, "source") {
		if err := b.inStep(n, "source", file, func(out io.Writer) error {
			src := filepath.Join(work, "src")
			if err := os.RemoveAll(src); err != nil {
				return err
			}
			if err := trusted(b.Sources.Prepare(ctx, n, src, out)); err != nil {
				return err
			}
			return b.unchanged(ctx, n, k, contents)
		}); err != nil {
			return err
		}
		if err := done.add(work, "source"); err != nil {
			return err
		}
	}
	run, err := b.run(n, work, contents, jobs)
	if err != nil {
		return err
	}
	staged := false
	for i, s := range n.Steps {
		typed, err := s.Decode()
		if err != nil {
			return err
		}
		// Only steps before the first that writes the stage are remembered:
		// the stage is made in one go, on an empty folder, so that nothing of
		// an interrupted attempt can end up in an artifact.
		mark := fmt.Sprintf("%02d-%s", i, s.Name)
		staged = staged || step.Stages(typed)
		if !staged && slices.Contains(done.Steps, mark) {
			continue
		}
		if err := b.inStep(n, s.Name, file, func(out io.Writer) error {
			run.Output = out
			return trusted(typed.Run(ctx, run))
		}); err != nil {
			return err
		}
		if staged {
			continue
		}
		if err := done.add(work, mark); err != nil {
			return err
		}
	}
	if err := check(n, run.Stage); err != nil {
		return &stepError{"check", err}
	}
	action := store.Action{Component: n.Component, Host: n.Host, Outcome: n.Outcome, Key: k, Seconds: time.Since(begun).Seconds()}
	if action, err = b.Store.Seal(ctx, action, run.Stage, run.SliceOf); err != nil {
		return trusted(err)
	}
	res.Action, res.Outcome = action, trace.Built
	if n.Outcome == "adopted" {
		res.Outcome = trace.Adopted
	}
	if b.KeepWork {
		return nil
	}
	return os.RemoveAll(work)
}

// unchanged makes sure that the workspace that was copied is the one that the
// key names: somebody may be typing in it.
func (b *Builder) unchanged(ctx context.Context, n *plan.Node, k key.Key, contents map[string]store.Content) error {
	if !slices.ContainsFunc(n.Sources, func(s plan.Source) bool { return s.Workspace != "" }) {
		return nil
	}
	now, err := b.Key(ctx, n, contents)
	if err == nil && now.ID != k.ID {
		err = exit.With(exit.Source, errors.New("the workspace was changed while it was copied: build again"))
	}
	return err
}

// inStep runs one step between its events, with its output going to the log
// and, line by line, to the event stream.
func (b *Builder) inStep(n *plan.Node, name string, log io.Writer, f func(out io.Writer) error) error {
	begun := time.Now()
	ev := trace.Event{Host: n.Host, Node: n.Component, Step: name}
	start := ev
	start.Kind = trace.StepStart
	b.Events.Emit(start)
	fmt.Fprintf(log, "=== %s: %s\n", n.ID, name)
	lines := trace.NewOutput(b.Events, ev)
	err := f(io.MultiWriter(log, lines))
	err = errors.Join(err, lines.Close())
	end := ev
	end.Kind, end.Duration, end.Outcome = trace.StepEnd, time.Since(begun), trace.Built
	if err != nil {
		end.Outcome, end.Reason = trace.Failed, err.Error()
		fmt.Fprintf(log, "=== %s: %s failed: %v\n", n.ID, name, err)
		err = &stepError{name, err}
	}
	b.Events.Emit(end)
	return err
}

// run makes the surroundings of a node's steps.
func (b *Builder) run(n *plan.Node, work string, contents map[string]store.Content, jobs int) (*step.Run, error) {
	build := b.Machine.Platform
	host := build
	if n.Host != plan.AnyHost {
		var err error
		if host, err = platform.Parse(n.Host); err != nil {
			return nil, err
		}
	}
	linkJobs := b.LinkJobs
	if linkJobs == 0 {
		linkJobs = b.Machine.LinkJobs(jobs)
	}
	r := &step.Run{
		Build: build, Host: host, Work: work,
		Source: filepath.Join(work, "src"), BuildDir: filepath.Join(work, "build"), Stage: filepath.Join(work, "stage"),
		Jobs: jobs, LinkJobs: linkJobs, Deps: map[string]string{}, Tools: b.Machine.Tools,
		CC: b.Machine.CC, CXX: b.Machine.CXX,
		Env:        step.Environment(filepath.Join(work, "home"), filepath.Join(work, "tmp"), b.Machine.Path),
		SliceOf:    step.Slicer(n.Slices),
		Exceptions: n.Exceptions,
		LeakPaths:  []string{work, b.Store.Root()},
	}
	// Only needs of the build: their contents are in the key, those of the
	// runtime's are not.
	for _, id := range n.Build {
		tree, err := b.Store.Tree(contents[id])
		if err != nil {
			return nil, err
		}
		r.Deps[b.Graph.Node(id).Component] = tree
	}
	if slices.Contains(n.Tools, "llvm") {
		r.LLVM = b.Machine.LLVM
		if dep := b.llvmFromGraph(n); dep != nil {
			r.LLVM = built(filepath.Join(r.Deps[dep.Component], "lib", "llvm"), dep.Version)
		}
	}
	return r, nil
}

// check holds the stage against what the component promises.
func check(n *plan.Node, stage string) error {
	if len(n.Checks) == 0 {
		return nil
	}
	var paths []string
	err := filepath.WalkDir(stage, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(stage, file)
		paths = append(paths, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range n.Checks {
		count := func(pattern string) (matches int) {
			for _, p := range paths {
				if glob.Match(pattern, p) {
					matches++
				}
			}
			return matches
		}
		if c.Exists != "" {
			if found := count(c.Exists); found < max(1, c.Count) {
				errs = append(errs, fmt.Errorf("%s: %d found, at least %d expected", c.Exists, found, max(1, c.Count)))
			}
		}
		if c.Absent != "" && count(c.Absent) > 0 {
			errs = append(errs, fmt.Errorf("%s is there and must not be", c.Absent))
		}
	}
	return errors.Join(errs...)
}

// progress records which steps of a work folder are finished, so that a build
// that was interrupted goes on behind the last of them.
type progress struct {
	Key   key.ID   `json:"key"`
	Steps []string `json:"steps"`
}

func loadProgress(work string, k key.Key) (*progress, error) {
	p := &progress{Key: k.ID}
	data, err := os.ReadFile(filepath.Join(work, "progress.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	var old progress
	if json.Unmarshal(data, &old) != nil || old.Key != k.ID {
		return p, nil // not of this key: begin anew
	}
	return &old, nil
}

func (p *progress) add(work, step string) error {
	p.Steps = append(p.Steps, step)
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(work, "progress.json"), data, 0o644); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// built describes an LLVM that this build has made.
func built(prefix, version string) *llvm.Install {
	i := &llvm.Install{Prefix: prefix, Version: version, BinDir: filepath.Join(prefix, "bin"), LibDir: filepath.Join(prefix, "lib"), HasDev: true}
	if v, err := semver.NewVersion(version); err == nil {
		i.Major = int(v.Major())
	}
	return i
}
