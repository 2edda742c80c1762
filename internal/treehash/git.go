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
	var entries []Entry
	err = listGit(ctx, abs, "", opts, 0, &entries)
	if errors.Is(err, errNotGit) {
		return List(ctx, abs, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("hash workspace %s: %w", dir, err)
	}
	entries = withParents(entries)
	// Git lists a path once for every stage of an unresolved merge.
	slices.SortFunc(entries, byPath)
	entries = slices.CompactFunc(entries, func(a, b Entry) bool { return a.Path == b.Path })
	return fill(ctx, abs, entries)
}

// listGit appends what git sees below root/prefix.
func listGit(ctx context.Context, root, prefix string, opts Options, depth int, out *[]Entry) error {
	if depth > maxGitDepth {
		return fmt.Errorf("repositories nested deeper than %d at %s", maxGitDepth, prefix)
	}
	dir := filepath.Join(root, filepath.FromSlash(prefix))
	top, ok := enclosingRepository(dir)
	if !ok {
		return errNotGit
	}
	if _, err := exec.LookPath("git"); err != nil {
		return errNotGit
	}
	if top != dir {
		// A folder that the repository around it ignores is the person's own:
		// git would list nothing and hide every change.
		_, err := git(ctx, dir, "check-ignore", "--quiet", ".")
		if err == nil {
			return errNotGit
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			return err
		}
	}
	names, err := git(ctx, dir, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for raw := range bytes.SplitSeq(names, []byte{0}) {
		if err := ctx.Err(); err != nil {
			return err
		}
		rel := strings.TrimSuffix(string(raw), "/")
		if rel == "" || excluded(rel, opts.Exclude) {
			continue
		}
		if len(*out) >= opts.maxEntries() {
			return fmt.Errorf("more than %d entries", opts.maxEntries())
		}
		full := path.Join(prefix, rel)
		name := filepath.Join(root, filepath.FromSlash(full))
		info, err := os.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue // tracked and deleted, or replaced by a file further up
		}
		if err != nil {
			return err
		}
		if info.IsDir() {
			// Git names a directory only where another repository begins.
			*out = append(*out, Entry{Path: full, Type: Dir})
			if _, err := os.Lstat(filepath.Join(name, ".git")); err != nil {
				continue // a submodule that was never checked out
			}
			if err := listGit(ctx, root, full, opts, depth+1, out); err != nil {
				return err
			}
			continue
		}
		e, err := describe(name, full, info.Mode().Type())
		if err != nil {
			return err
		}
		*out = append(*out, e)
	}
	return nil
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
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
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
