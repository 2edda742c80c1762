package treehash

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// maxGitDepth bounds repositories nested in repositories.
const maxGitDepth = 16

// HashGitWorkspace returns the content id of what a person works on in dir: of
// every tracked file as it is on disk, and of every untracked file that git
// does not ignore, with the directories above them. Files that are tracked but
// deleted are absent. A repository nested in dir (a submodule or not) counts
// with its own files. What is staged or committed makes no difference, only
// what is on disk.
//
// When no repository holds dir, or that repository ignores all of dir, or git
// is not installed, the whole folder is hashed, without ".git".
func HashGitWorkspace(ctx context.Context, dir string, opts Options) (string, Stats, error) {
	entries, err := ListGitWorkspace(ctx, dir, opts)
	if err != nil {
		return "", Stats{}, err
	}
	return IDOf(entries), StatsOf(entries), nil
}

// ListGitWorkspace returns the entries that HashGitWorkspace hashes.
func ListGitWorkspace(ctx context.Context, dir string, opts Options) ([]Entry, error) {
	opts.Exclude = append(slices.Clone(opts.Exclude), ".git")
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("hash workspace: %w", err)
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return nil, fmt.Errorf("hash workspace: %w", err)
	}
	entries, err := (&listing{root: abs, opts: opts}).workspace(ctx)
	if err != nil {
		return nil, fmt.Errorf("hash workspace %s: %w", dir, err)
	}
	return fill(ctx, abs, entries)
}

// listing is one listing of a workspace.
type listing struct {
	root    string // absolute, without symlinks
	opts    Options
	entries []Entry
	watched *watched // what decides the listing; nil when nobody asks
	real    map[string]bool
}

// beyondLink reports whether a path below root leads through a symlink. To git
// such a file is deleted: a link lies where its folder was.
func (l *listing) beyondLink(full string) bool {
	dir := parent(full)
	if dir == "" {
		return false
	}
	real, ok := l.real[dir]
	if !ok {
		info, err := os.Lstat(filepath.Join(l.root, filepath.FromSlash(dir)))
		real = err == nil && info.IsDir() && !l.beyondLink(dir)
		if l.real == nil {
			l.real = map[string]bool{}
		}
		l.real[dir] = real
	}
	return !real
}

// workspace lists what a person works on, by path, without reading files.
func (l *listing) workspace(ctx context.Context) ([]Entry, error) {
	err := l.repository(ctx, "", 0)
	if errors.Is(err, errNotGit) {
		l.watched.plain()
		return walk(ctx, l.root, l.opts)
	}
	if err != nil {
		return nil, err
	}
	entries := withParents(l.entries)
	// Git lists a path once for every stage of an unresolved merge.
	slices.SortFunc(entries, byPath)
	return slices.CompactFunc(entries, func(a, b Entry) bool { return a.Path == b.Path }), nil
}

// repository adds what git sees below root/prefix.
func (l *listing) repository(ctx context.Context, prefix string, depth int) error {
	if depth > maxGitDepth {
		return fmt.Errorf("repositories nested deeper than %d at %s", maxGitDepth, prefix)
	}
	dir := filepath.Join(l.root, filepath.FromSlash(prefix))
	top, ok := enclosingRepository(dir)
	if !ok {
		return errNotGit
	}
	if gitProgram() == "" {
		return errNotGit
	}
	if err := l.watched.repository(ctx, prefix, dir, top); err != nil {
		return err
	}
	if top != dir {
		// A folder that the repository around it ignores is the person's own:
		// git would list nothing and hide every change.
		_, err := git(ctx, dir, nil, "check-ignore", "--quiet", ".")
		if err == nil {
			return errNotGit
		}
		if !exitedWith(err, 1) {
			return err
		}
	}
	names, err := git(ctx, dir, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for raw := range bytes.SplitSeq(names, []byte{0}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel := strings.TrimSuffix(string(raw), "/")
		if rel == "" || excluded(rel, l.opts.Exclude) {
			continue
		}
		if len(l.entries) >= l.opts.maxEntries() {
			return fmt.Errorf("more than %d entries", l.opts.maxEntries())
		}
		full := path.Join(prefix, rel)
		l.watched.name(full)
		name := filepath.Join(l.root, filepath.FromSlash(full))
		if l.beyondLink(full) {
			continue
		}
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // tracked and deleted, or replaced by a file further up
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			// Git names a directory only where another repository begins.
			l.entries = append(l.entries, Entry{Path: full, Type: Dir})
			if _, err := os.Lstat(filepath.Join(name, ".git")); err != nil {
				l.watched.empty(full) // a submodule that was never checked out
				continue
			}
			if err := l.repository(ctx, full, depth+1); err != nil {
				return err
			}
			continue
		}
		e, err := describe(name, full, info.Mode().Type())
		if err != nil {
			return err
		}
		l.entries = append(l.entries, e)
	}
	return nil
}

// exitedWith reports whether a program ended with an exit code.
func exitedWith(err error, code int) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == code
}

// enclosingRepository returns the nearest folder at or above dir that has a
// ".git" file or folder.
func enclosingRepository(dir string) (string, bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

func excluded(rel string, names []string) bool {
	for part := range strings.SplitSeq(rel, "/") {
		if slices.Contains(names, part) {
			return true
		}
	}
	return false
}

// git runs one reading git command in dir, with nothing of the person's own
// configuration, so that two people get one id for one tree.
func git(ctx context.Context, dir string, input []byte, args ...string) ([]byte, error) {
	argv := append([]string{
		// The folder is the user's choice; who owns it does not matter here.
		"-c", "safe.directory=*",
		// Never start a helper that the repository's configuration names.
		"-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", "-c", "core.hooksPath=" + os.DevNull,
		"-C", dir,
	}, args...)
	cmd := exec.CommandContext(ctx, "git", argv...)
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + os.DevNull, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
	}
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}
