// Package source puts a node's source tree together: it fetches what the plan
// pins, unpacks or checks it out, and applies the patches to the fresh copy.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/archive"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/fetch"
	"github.com/stonemason-hip/stonemason/internal/gitsource"
	"github.com/stonemason-hip/stonemason/internal/npm"
	"github.com/stonemason-hip/stonemason/internal/patch"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// Provider brings sources.
type Provider struct {
	// Root is the project's folder: workspaces and patches are relative to it.
	Root string
	// Fetcher downloads files.
	Fetcher *fetch.Fetcher
	// Checkouts caches git trees.
	Checkouts string
	// PoolURLs turns a path below a Debian mirror's base into addresses.
	PoolURLs func(pool string) []string
	// NPMURLs turns the name of an npm package, npm:name@1.2.3, into addresses.
	NPMURLs func(name string) ([]string, error)
	// Mirrors are therock.yaml's alternates: URL prefix to replacements.
	Mirrors map[string][]string
	// Glances remembers looks at workspaces; nil looks each time.
	Glances *Glances

	mu        sync.Mutex
	trees     []Tree
	downloads map[string]*download // by sha256: running, or failed
}

// Tree is the id of what a git fetch delivered, for the lock.
type Tree struct{ Source, Commit, Folders, ID string }

func (p *Provider) saw(t Tree) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trees = append(p.trees, t)
}

// Trees lists what the git fetches so far have delivered.
func (p *Provider) Trees() []Tree {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.trees)
}

// URLs lists the addresses of a source, alternates first.
func (p *Provider) URLs(s plan.Source) []string {
	urls := p.named(s.URLs)
	if s.Pool != "" {
		urls = p.PoolURLs(s.Pool)
	}
	// The longest prefix says the most about an address, so its alternates
	// come first.
	prefixes := slices.SortedFunc(maps.Keys(p.Mirrors), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	var all []string
	add := func(u string) {
		if !slices.Contains(all, u) {
			all = append(all, u)
		}
	}
	for _, u := range urls {
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(u, prefix); ok {
				for _, a := range p.Mirrors[prefix] {
					add(strings.TrimSuffix(a, "/") + "/" + strings.TrimPrefix(rest, "/"))
				}
			}
		}
	}
	for _, u := range urls {
		add(u)
	}
	return all
}

// named puts the addresses of an npm package in the place of its name. A name
// that gives none stays; why is said when nothing else gives the file.
func (p *Provider) named(urls []string) []string {
	var out []string
	for _, u := range urls {
		if strings.HasPrefix(u, npm.Scheme) && p.NPMURLs != nil {
			if found, err := p.NPMURLs(u); err == nil {
				out = append(out, found...)
				continue
			}
		}
		out = append(out, u)
	}
	return out
}

// unnamed is why an npm package has no address here, or nil.
func (p *Provider) unnamed(urls []string) error {
	for _, u := range urls {
		if strings.HasPrefix(u, npm.Scheme) && p.NPMURLs != nil {
			if _, err := p.NPMURLs(u); err != nil {
				return err
			}
		}
	}
	return nil
}

// Fetch brings the bytes of a source to this machine without unpacking them.
func (p *Provider) Fetch(ctx context.Context, s plan.Source) (string, error) {
	if s.Workspace != "" || s.Commit != "" {
		return "", nil
	}
	if s.Pool != "" && len(p.URLs(s)) == 0 {
		return "", exit.Withf(exit.Source, "source %s: %s is in Debian's archive, and the apt configuration of this machine names no mirror of it: name one in therock.yaml, under mirrors with the key debian", s.Name, s.Pool)
	}
	file, err := p.once(ctx, s.SHA256, func() (string, error) {
		file, err := p.Fetcher.Get(ctx, fetch.Request{Name: s.Name, URLs: p.URLs(s), SHA256: s.SHA256, Size: s.Size})
		if err != nil {
			if unnamed := p.unnamed(s.URLs); unnamed != nil {
				err = exit.With(exit.Source, fmt.Errorf("source %s: %w", s.Name, unnamed))
			}
		}
		return file, err
	})
	if err != nil {
		return "", refused(s.Name, err)
	}
	return file, nil
}

// Prepare makes the source folder of a node: dir, which must not exist, is
// filled with the sources and the patches are applied. On an error nothing is
// left.
func (p *Provider) Prepare(ctx context.Context, n *plan.Node, dir string, log io.Writer) (err error) {
	tmp := dir + ".new"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(tmp))
		}
	}()
	for i, s := range n.Sources {
		into := filepath.Join(tmp, filepath.FromSlash(s.Into))
		for _, name := range []string{s.Into, s.Path} {
			if name != "" && !filepath.IsLocal(filepath.FromSlash(name)) {
				return exit.Withf(exit.Config, "source %s of %s: %q does not stay inside its folder", s.Name, n.Component, name)
			}
		}
		if i > 0 && s.Into == "" && !ofOneSet(s, n.Sources[0]) {
			return fmt.Errorf("source %s of %s needs into: the source folder is taken by %s", s.Name, n.Component, n.Sources[0].Name)
		}
		if err := p.place(ctx, s, into, log); err != nil {
			return err
		}
	}
	if len(n.Patches) > 0 {
		selected, err := p.selected(n)
		if err != nil {
			return err
		}
		for _, s := range n.Patches {
			fmt.Fprintf(log, "+ patch %s: %s\n", s.File, s.Title)
		}
		if err := patch.Apply(ctx, tmp, selected); err != nil {
			return exit.With(exit.Patch, fmt.Errorf("%s: %w", n.Component, err))
		}
	}
	return os.Rename(tmp, dir)
}

// selected loads the patches that the plan names, and refuses one whose bytes
// have changed since the plan was made.
func (p *Provider) selected(n *plan.Node) ([]patch.Selected, error) {
	series, err := patch.Load(os.DirFS(p.Root), path.Dir(n.Patches[0].File))
	if err != nil {
		return nil, exit.With(exit.Patch, err)
	}
	var out []patch.Selected
	for _, want := range n.Patches {
		s, err := series.Pick(path.Base(want.File))
		if err != nil {
			return nil, exit.With(exit.Patch, err)
		}
		if s.SHA256 != want.SHA256 {
			return nil, exit.Withf(exit.Patch, "%s has changed since the plan was made: build again", want.File)
		}
		out = append(out, s)
	}
	return out, nil
}

// place fills into, which is the tree's root or a folder of it, with one
// source.
func (p *Provider) place(ctx context.Context, s plan.Source, into string, log io.Writer) error {
	whole := into + ".whole"
	defer os.RemoveAll(whole)
	switch {
	case s.Workspace != "":
		dir := p.Workspace(s)
		fmt.Fprintf(log, "+ copy workspace %s\n", dir)
		if err := p.copyWorkspace(ctx, dir, into); err != nil {
			return exit.With(exit.Source, fmt.Errorf("workspace of %s: %w", s.Name, err))
		}
		return nil
	case s.Commit != "":
		fmt.Fprintf(log, "+ git checkout %s of %s\n", s.Commit, strings.Join(p.URLs(s), ", "))
		got, err := gitsource.Fetch(ctx, gitsource.Request{
			URLs: p.URLs(s), Commit: s.Commit, Tree: s.Tree, Sparse: folders(s), Dest: whole, CacheDir: p.Checkouts,
		})
		if err != nil {
			return exit.With(exit.Source, fmt.Errorf("source %s: %w", s.Name, err))
		}
		p.saw(Tree{Source: s.Name, Commit: s.Commit, Folders: spec.Folders(s.Only, s.Path), ID: got.Tree})
	default:
		file, err := p.Fetch(ctx, s)
		if err != nil {
			return err
		}
		fmt.Fprintf(log, "+ unpack %s (%s)\n", s.Name, file)
		if _, err := archive.Unpack(ctx, file, whole, archive.Options{StripComponents: s.Strip, Subdirs: folders(s)}); err != nil {
			return refused(s.Name, err)
		}
	}
	move := moveInto
	if spec.SetOf(s.Name) != "" {
		move = mergeInto
	}
	if err := move(whole, s.Path, into); err != nil {
		return exit.With(exit.Source, fmt.Errorf("source %s: %w", s.Name, err))
	}
	return nil
}

// folders are what is taken out of a source: Only, else Path, else everything.
func folders(s plan.Source) []string {
	if len(s.Only) > 0 {
		return s.Only
	}
	if s.Path != "" {
		return []string{s.Path}
	}
	return nil
}

// ofOneSet reports whether two sources are packages of one set, which share a
// folder.
func ofOneSet(a, b plan.Source) bool {
	return spec.SetOf(a.Name) != "" && spec.SetOf(a.Name) == spec.SetOf(b.Name)
}

// moveInto moves the entries of a folder of a source into another folder.
// Nothing that is there already is replaced.
func moveInto(whole, folder, into string) error {
	return moveTree(whole, folder, into, false)
}

// mergeInto is moveInto for packages that share folders, as those of one system
// do: what is a folder in both is one folder after it.
func mergeInto(whole, folder, into string) error {
	return moveTree(whole, folder, into, true)
}

func moveTree(whole, folder, into string, merge bool) error {
	// A symbolic link in a git tree may lead anywhere: what is moved must be
	// the source's own.
	from, err := filepath.EvalSymlinks(filepath.Join(whole, filepath.FromSlash(folder)))
	if err != nil {
		return fmt.Errorf("it has no folder %q", folder)
	}
	real, err := filepath.EvalSymlinks(whole)
	if err != nil {
		return err
	}
	if rel, err := filepath.Rel(real, from); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("its folder %q is a symbolic link out of the source", folder)
	}
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		return fmt.Errorf("%q is no folder of it", folder)
	}
	if err := os.MkdirAll(into, 0o755); err != nil {
		return err
	}
	return moveEntries(from, into, "", merge)
}

// moveEntries moves what is in a folder; at is its place in the source, for an
// error.
func moveEntries(from, into, at string, merge bool) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name, source, to := path.Join(at, e.Name()), filepath.Join(from, e.Name()), filepath.Join(into, e.Name())
		there, err := os.Lstat(to)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = os.Rename(source, to)
		case err != nil:
		case merge && e.IsDir() && there.IsDir(): // neither is a symbolic link
			err = moveEntries(source, to, name, merge)
		case merge:
			return fmt.Errorf("%s is there already, from another package of the set", name)
		default:
			return fmt.Errorf("%s is there already, from another source: give it a folder of its own with into", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Workspace is the folder of a local source, absolute.
func (p *Provider) Workspace(s plan.Source) string {
	if filepath.IsAbs(s.Workspace) {
		return s.Workspace
	}
	return filepath.Join(p.Root, s.Workspace)
}

// Identity names a source's bytes for a key.
func (p *Provider) Identity(ctx context.Context, s plan.Source) (string, error) {
	switch {
	case s.Workspace != "":
		id, err := p.workspaceID(ctx, p.Workspace(s))
		if err != nil {
			return "", exit.With(exit.Source, fmt.Errorf("workspace of %s: %w", s.Name, err))
		}
		return "workspace " + id, nil
	case s.Commit != "":
		return "git " + s.Commit, nil
	}
	return "sha256 " + s.SHA256, nil
}
