package treehash

import (
	"bytes"
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// watched is everything that decides a listing. A nil one records nothing.
//
// What git lists follows from its index, from the rules of what it ignores, and
// from the names in the folders that it enters, which are all that it does not
// ignore as a whole. So these are watched, and when none of them changed the
// listing is the same.
type watched struct {
	// rules are the index, configuration and ignore files, as they were
	// before git read them.
	rules map[string]statcache.Identity
	// repositories are the prefixes below which git was asked.
	repositories []string
	// names are the paths that git named, there or not.
	names []string
	// hollow are folders that are named and not entered.
	hollow map[string]bool
	// whole: git has no say.
	whole bool
	// ask: more decides the listing than can be watched.
	ask bool
	// folders are the folders to watch, as they were after the listing.
	folders []folder
}

func (w *watched) plain() {
	if w != nil {
		w.whole = true
	}
}

func (w *watched) name(full string) {
	if w != nil {
		w.names = append(w.names, full)
	}
}

func (w *watched) empty(full string) {
	if w == nil {
		return
	}
	if w.hollow == nil {
		w.hollow = map[string]bool{}
	}
	w.hollow[full] = true
}

func (w *watched) rule(file string) {
	is, err := statcache.Lstat(file)
	if err != nil {
		w.ask = true
		return
	}
	if is.Mode&unix.S_IFMT == unix.S_IFLNK {
		w.ask = true // what it leads to counts
	}
	w.rules[file] = is
}

// repository records the files that decide what git lists in dir, before it is
// asked.
func (w *watched) repository(ctx context.Context, prefix, dir, top string) error {
	if w == nil {
		return nil
	}
	w.repositories = append(w.repositories, prefix)
	places := []string{"index", "HEAD", "config", "config.worktree", "info/exclude", "info/sparse-checkout"}
	args := []string{"rev-parse"}
	for _, p := range places {
		args = append(args, "--git-path", p)
	}
	out, err := git(ctx, dir, nil, args...)
	if err != nil {
		w.ask = true // ls-files will say what is wrong
		return ctx.Err()
	}
	found := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(found) != len(places) {
		w.ask = true // a line break in a name
		return nil
	}
	for _, p := range found {
		if !filepath.IsAbs(p) {
			p = filepath.Join(dir, p)
		}
		w.rule(p)
	}
	// .git is a folder, whose times tell nothing, or a file that names one.
	if is, err := statcache.Lstat(filepath.Join(top, ".git")); err != nil || is.Mode&unix.S_IFMT != unix.S_IFDIR {
		w.rule(filepath.Join(top, ".git"))
	}
	// Above the workspace: below it, the walk finds them.
	for up := dir; up != top; {
		up = filepath.Dir(up)
		w.rule(filepath.Join(up, ".gitignore"))
	}
	// Configuration that includes other files can say anything.
	out, err = git(ctx, dir, nil, "config", "-z", "--get-regexp", `^(include\.path|includeif\..*\.path|core\.excludesfile|core\.worktree)$`)
	if err != nil {
		w.ask = w.ask || !exitedWith(err, 1)
		return ctx.Err()
	}
	for setting := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		key, value, _ := strings.Cut(string(setting), "\n")
		switch {
		case key == "core.worktree":
			// A submodule's, which its configuration names: watched with it.
		case key == "core.excludesfile" && filepath.IsAbs(value):
			w.rule(value)
		default:
			w.ask = true
		}
	}
	return nil
}

// walkFolders looks at every folder that git enters. It comes after the
// listing: a folder that changed in between shows it by its times.
func (l *listing) walkFolders(ctx context.Context) error {
	w := l.watched
	inhabited := map[string]bool{"": true}
	for _, name := range w.names {
		for dir := parent(name); !inhabited[dir]; dir = parent(dir) {
			inhabited[dir] = true
		}
	}
	for _, r := range w.repositories {
		inhabited[r] = true
	}
	for dir := range w.hollow {
		inhabited[dir] = true
	}
	// Folders with nothing that git names are either ignored or empty to it;
	// git is asked which, once for each level of them.
	next := []string{""}
	for len(next) > 0 {
		var unclear []string
		for len(next) > 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			dir := next[len(next)-1]
			next = next[:len(next)-1]
			for _, sub := range l.lookInto(dir) {
				if w.whole || inhabited[sub] {
					next = append(next, sub)
				} else {
					unclear = append(unclear, sub)
				}
			}
		}
		entered, err := l.notIgnored(ctx, unclear)
		if err != nil {
			return err
		}
		next = entered
	}
	return nil
}

// lookInto records a folder and returns the folders in it that git may enter.
func (l *listing) lookInto(dir string) (subs []string) {
	w := l.watched
	abs := filepath.Join(l.root, filepath.FromSlash(dir))
	is, entries, names, err := look(abs)
	if err != nil {
		w.ask = true // not readable, or gone since
		return nil
	}
	w.folders = append(w.folders, folder{path: dir, is: is, names: names})
	if w.hollow[dir] {
		return nil
	}
	for _, e := range entries {
		switch {
		case e.Name() == ".gitignore" && !w.whole:
			w.rule(filepath.Join(abs, ".gitignore"))
		case e.Name() == ".git" && !w.whole && !slices.Contains(w.repositories, dir):
			w.ask = true // a repository in the making: only git knows when it is one
		case e.IsDir() && !slices.Contains(l.opts.Exclude, e.Name()):
			subs = append(subs, path.Join(dir, e.Name()))
		}
	}
	return subs
}

// notIgnored returns the folders that git does not ignore.
func (l *listing) notIgnored(ctx context.Context, dirs []string) ([]string, error) {
	groups := map[string][]string{} // repository → folders, relative to it
	for _, dir := range dirs {
		home := ""
		for _, r := range l.watched.repositories {
			if strings.HasPrefix(dir, r+"/") && len(r) > len(home) {
				home = r
			}
		}
		groups[home] = append(groups[home], strings.TrimPrefix(strings.TrimPrefix(dir, home), "/"))
	}
	var entered []string
	for home, rels := range groups {
		out, err := git(ctx, filepath.Join(l.root, filepath.FromSlash(home)), []byte(strings.Join(rels, "\x00")), "check-ignore", "-z", "--stdin")
		if err != nil && !exitedWith(err, 1) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			l.watched.ask = true
			continue
		}
		ignored := map[string]bool{}
		for name := range strings.SplitSeq(string(out), "\x00") {
			ignored[name] = true
		}
		for _, rel := range rels {
			if !ignored[rel] {
				entered = append(entered, path.Join(home, rel))
			}
		}
	}
	return entered, nil
}
