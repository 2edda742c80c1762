package app

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"go.yaml.in/yaml/v3"

	"github.com/stonemason-hip/stonemason/internal/aptindex"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/fetch"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// LockOptions are the options of lock.
type LockOptions struct {
	Wishes
	// Check only compares and writes nothing.
	Check bool
}

// Lock resolves therock.yaml anew and writes therock.lock.
func (a *App) Lock(ctx context.Context, o LockOptions) error {
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	if o.Check {
		if err := plan.CheckLock(p); err != nil {
			return coded(err)
		}
		fmt.Fprintf(a.Out, "%s matches\n", spec.LockFile)
		return nil
	}
	lock, err := plan.Expected(p)
	if err != nil {
		return coded(err)
	}
	s, err := a.store(p)
	if err != nil {
		return err
	}
	apt, err := a.apt(p, s)
	if err != nil {
		return err
	}
	unsigned := map[string]string{} // suite → why
	for _, channel := range plan.Channels() {
		set, ok := lock.Channels[channel]
		if !ok {
			continue
		}
		release, _, err := plan.Choose(p, channel)
		if err != nil {
			return coded(err)
		}
		for _, name := range slices.Sorted(maps.Keys(set.Sources)) {
			source := set.Sources[name]
			source.Trees = knownTrees(p.Lock, channel, name, source.Commit)
			if d := release.Debian(name); d != nil {
				if err := lockDebian(ctx, apt, *d, &source); err != nil {
					return exit.With(exit.Source, fmt.Errorf("lock: %s: %w", name, err))
				}
				if r, err := apt.Release(ctx, d.Suite); err == nil && !r.Signed {
					unsigned[d.Suite] = r.Unsigned
				}
			}
			if source.SHA256 != "" && source.Size == 0 {
				if err := learnSize(ctx, &fetch.Fetcher{Dir: s.Sources()}, name, a.addresses(p, source.URLs), &source); err != nil {
					return exit.With(exit.Source, fmt.Errorf("lock: %s: %w", name, err))
				}
			}
			set.Sources[name] = source
			fmt.Fprintf(a.Out, "%s %s %s: %s\n", channel, set.Release, name, lockedText(source))
		}
	}
	for _, suite := range slices.Sorted(maps.Keys(unsigned)) {
		a.note("warning: nobody vouches for the index of suite %s: %s", suite, unsigned[suite])
	}
	return writeLock(filepath.Join(p.Root, spec.LockFile), lock)
}

// learnSize fetches a plain file once, holds it to its pinned hash, and notes
// how long it is: a download of unknown length cannot be bounded.
func learnSize(ctx context.Context, f *fetch.Fetcher, name string, urls []string, source *spec.LockedSource) error {
	sum, size, _, err := f.Learn(ctx, fetch.Request{Name: name, URLs: urls})
	if err != nil {
		return err
	}
	if sum != source.SHA256 {
		return fmt.Errorf("%s has sha256 %s, and the release table says %s", strings.Join(source.URLs, ", "), sum, source.SHA256)
	}
	source.Size = size
	return nil
}

// lockDebian looks a pinned package up in its suite's index.
func lockDebian(ctx context.Context, apt *aptindex.Client, d spec.DebianPin, source *spec.LockedSource) error {
	if d.Binary != "" {
		f, err := apt.Binary(ctx, d.Suite, d.Arch, d.Binary, d.Version)
		if err != nil {
			return err
		}
		source.Pool, source.SHA256, source.Size = f.Path, f.SHA256, f.Size
		return nil
	}
	files, err := apt.Source(ctx, d.Suite, d.Source, d.Version)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Name == d.File {
			source.Pool, source.SHA256, source.Size = f.Path, f.SHA256, f.Size
			return nil
		}
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	return fmt.Errorf("%s %s has no file %s: it has %s", d.Source, d.Version, d.File, strings.Join(names, ", "))
}

// knownTrees keeps the tree ids that an earlier lock recorded for a commit.
func knownTrees(old *spec.Lock, channel spec.Channel, name, commit string) map[string]string {
	if old == nil {
		return nil
	}
	if s := old.Channels[channel].Sources[name]; s.Commit == commit {
		return s.Trees
	}
	return nil
}

// recordTrees adds the tree ids that this build's fetches have seen for the
// first time to the lock, so that the next fetch is held to them.
func (a *App) recordTrees(p *spec.Project, channel spec.Channel, seen []source.Tree) error {
	changed := false
	for _, t := range seen {
		set := p.Lock.Channels[channel]
		locked, ok := set.Sources[t.Source]
		if !ok || locked.Commit != t.Commit || locked.Trees[t.Folders] != "" {
			continue
		}
		if locked.Trees == nil {
			locked.Trees = map[string]string{}
		}
		locked.Trees[t.Folders] = t.ID
		set.Sources[t.Source] = locked
		changed = true
	}
	if !changed {
		return nil
	}
	a.note("%s now holds the ids of the git trees fetched: commit it", spec.LockFile)
	return writeLock(filepath.Join(p.Root, spec.LockFile), p.Lock)
}

func lockedText(s spec.LockedSource) string {
	switch {
	case s.Commit != "":
		return "commit " + s.Commit
	case s.Pool != "":
		return fmt.Sprintf("%s (%d bytes) sha256 %s", s.Pool, s.Size, s.SHA256)
	}
	return "sha256 " + s.SHA256
}

func writeLock(file string, lock *spec.Lock) error {
	var b bytes.Buffer
	b.WriteString("# What therock.yaml resolved to. Written by: go tool mage lock. Commit it.\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(lock); err != nil {
		return err
	}
	if err := e.Close(); err != nil {
		return err
	}
	if old, err := os.ReadFile(file); err == nil && bytes.Equal(old, b.Bytes()) {
		return nil
	}
	return renameio.WriteFile(file, b.Bytes(), 0o644)
}
