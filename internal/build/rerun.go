package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// Site is a node's work folder, entered to look around or to run one step in.
// Nothing that happens in it is sealed.
type Site struct {
	site   *site
	unlock func()
}

// Enter takes hold of the work folder of a node: the one that a failed or
// interrupted build left, or a new one, in which only the source is in place.
// A build of the same node waits until Close. The error is one with a hint when
// something that the node needs is not built yet. For a person the source, which
// steps may only read, can be written.
func (b *Builder) Enter(ctx context.Context, n *plan.Node, log io.Writer, person bool) (*Site, error) {
	k, contents, err := b.Contents(ctx, n)
	if err != nil {
		return nil, err
	}
	unlock, err := b.lock(ctx, n, k.ID)
	if err != nil {
		return nil, err
	}
	s := &site{b: b, n: n, key: k, contents: contents, jobs: max(1, b.Jobs), work: b.Work(n, k.ID), log: log}
	s.takeOver(ctx)
	if err := s.enter(ctx, person); err != nil {
		unlock()
		return nil, err
	}
	return &Site{site: s, unlock: unlock}, nil
}

// enter makes a work folder ready as it was left. The caller holds its lock.
func (s *site) enter(ctx context.Context, person bool) (err error) {
	if s.done, err = loadProgress(s.work, s.key); err != nil {
		return err
	}
	if len(s.done.Steps) == 0 && !s.done.Touched {
		err = s.open(ctx, true)
	} else {
		err = s.furnish(ctx)
	}
	if err != nil {
		return err
	}
	if err := s.source(ctx); err != nil {
		return err
	}
	var writable []string
	if person && len(s.n.Sources) > 0 {
		writable = []string{s.run.Source}
	}
	return s.b.isolate(ctx, s.run, person, writable...)
}

// Close lets go of the folder. It stays: a build goes on behind the steps that
// are done in it, and begins anew where none is.
func (s *Site) Close() {
	s.site.done.settle(s.site.work, settleTime)
	s.unlock()
}

// Borrow lets somebody else, a person in a shell, use the folder while use runs.
// changed lists the files that are not as they were, at most some: if there are
// any, the folder is no longer what the key says and the next build begins anew.
func (s *Site) Borrow(use func() error) (changed []string, err error) {
	// Before, so that a kill while it is lent leaves it marked.
	untouched := !s.site.done.Touched
	if err := s.site.done.touch(s.site.work, true); err != nil {
		return nil, err
	}
	before, err := identities(s.site.work)
	if err != nil {
		return nil, err
	}
	if err := use(); err != nil {
		return nil, err
	}
	after, err := identities(s.site.work)
	if err != nil {
		return nil, err
	}
	for name, id := range after {
		if before[name] != id {
			changed = append(changed, name)
		}
		delete(before, name)
	}
	changed = slices.Sorted(slices.Values(slices.AppendSeq(changed, maps.Keys(before))))
	if untouched && len(changed) == 0 {
		return nil, s.site.done.touch(s.site.work, false)
	}
	return changed, nil
}

// identities tells of the files that a build goes on with whether they are
// still the same: size, mode and time of change.
func identities(work string) (map[string]string, error) {
	ids := map[string]string{}
	for _, dir := range []string{"src", "build", "stage", step.ToolchainFile} {
		err := filepath.WalkDir(filepath.Join(work, dir), func(file string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(work, file)
			if d.IsDir() { // its time changes with temporary files in it
				ids[rel] = "folder"
				return err
			}
			ids[rel] = fmt.Sprint(info.Size(), info.Mode(), info.ModTime().UnixNano())
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
	}
	return ids, nil
}

// Run is what a step in this folder may use; see step.Run.
func (s *Site) Run() *step.Run { return s.site.run }

// Touched reports whether the next build begins anew, because files of the
// folder were changed by hand.
func (s *Site) Touched() bool { return s.site.done.Touched }

// Next names the step that a build would run next, or "" when all are done.
func (s *Site) Next() string {
	for i, st := range s.site.n.Steps {
		if !s.site.done.has(mark(i, st)) {
			return st.Name
		}
	}
	return ""
}

// Step runs one step as a build would, on what the steps before it have left.
// Steps before it that are not done yet are run first.
func (s *Site) Step(ctx context.Context, name string) error {
	at := slices.IndexFunc(s.site.n.Steps, func(st plan.Step) bool { return st.Name == name })
	if at < 0 {
		var names []string
		for _, st := range s.site.n.Steps {
			names = append(names, st.Name)
		}
		return exit.Withf(exit.Usage, "%s has no step %q: there is %s", s.site.n.Component, name, strings.Join(names, ", "))
	}
	ctx, end := s.site.watch(ctx)
	defer end()
	staged := false
	for i, st := range s.site.n.Steps[:at+1] {
		typed, err := st.Decode()
		if err != nil {
			return err
		}
		staged = staged || step.Stages(typed)
		if i < at && s.site.done.has(mark(i, st)) {
			continue
		}
		if err := s.site.done.forget(s.site.work, i); err != nil {
			return err
		}
		if err := s.site.unconfigured(); err != nil {
			return fmt.Errorf("build: %w", err)
		}
		if err := s.site.step(ctx, i, typed, staged); err != nil {
			return err
		}
	}
	return nil
}

// Commands lists what the steps of the last build of a node ran, step by step,
// as its log has it: the lines that begin with "+ ".
func Commands(log string) (map[string][]string, error) {
	data, err := os.ReadFile(log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	out := map[string][]string{}
	at := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if head, ok := strings.CutPrefix(line, "=== "); ok {
			if _, name, ok := strings.Cut(head, ": "); ok && !strings.Contains(name, " ") {
				at = name
			}
		} else if cmd, ok := strings.CutPrefix(line, "+ "); ok && at != "" {
			out[at] = append(out[at], cmd)
		}
	}
	return out, nil
}

// Folder is the folder in which a person will want to look around: the build
// folder where the node has one, else the source, else the work folder.
func (s *Site) Folder() string {
	for _, dir := range []string{s.site.run.BuildDir, s.site.run.Source} {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return dir
		}
	}
	return filepath.Clean(s.site.work)
}

// Stage runs all steps of a node in a folder of the caller's choice, which must
// not exist, and returns the staged tree. Nothing is sealed and nothing is
// looked up: repro compares two of these.
func (b *Builder) Stage(ctx context.Context, n *plan.Node, k key.Key, contents map[string]store.Content, work string, log io.Writer) (string, error) {
	if _, err := os.Lstat(work); err == nil {
		return "", fmt.Errorf("build: %s is there already", work)
	}
	s := &site{b: b, n: n, key: k, contents: contents, jobs: max(1, b.Jobs), work: work, log: log}
	if err := s.open(ctx, true); err != nil {
		return "", err
	}
	ctx, end := s.watch(ctx)
	defer end()
	if err := s.steps(ctx); err != nil {
		return "", err
	}
	return s.run.Stage, check(n, s.run.Stage)
}

// Contents are the contents of the nodes that the store has, by ID, with the
// key of one node. The error says what must be built first.
func (b *Builder) Contents(ctx context.Context, n *plan.Node) (key.Key, map[string]store.Content, error) {
	forecast := b.Forecast(ctx)
	if ctx.Err() != nil {
		return key.Key{}, nil, context.Cause(ctx)
	}
	f := forecast[n.ID]
	if !f.Known {
		return key.Key{}, nil, exit.Hint(exit.Withf(exit.Usage, "%s: %s", n.ID, f.Unknown), "go tool mage component "+n.Component)
	}
	contents := map[string]store.Content{}
	for id, f := range forecast {
		if f.Cached {
			contents[id] = f.Action.Content
		}
	}
	if f.Key.Text == "" {
		k, err := b.Key(ctx, n, contents)
		return k, contents, err
	}
	return f.Key, contents, nil
}
