// Package gitsource fetches one pinned commit of a git repository: that commit
// alone, only the blobs of the folders that are asked for, with no history, no
// submodules and no ".git" in what it delivers.
//
// Git's object ids are the check: the commit's id covers every file, git
// recomputes the id of every object that it receives, and what is delivered is
// compared with the pinned commit and, when known, with the tree's id. Git runs
// without anybody's configuration, without hooks, filters and prompts, and may
// only speak the protocol of the given address.
package gitsource

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/stonemason-hip/stonemason/internal/fetch"
)

// Request names what to fetch.
type Request struct {
	// URLs of the repository: https, http or file; tried in order.
	URLs []string
	// Commit is the full id: 40 or 64 lower-case hex digits.
	Commit string
	// Sparse lists the folders (or files) to check out, as clean slash paths;
	// empty means everything. Nothing beside them is checked out, not even the
	// files at the root.
	Sparse []string
	// Dest becomes the checked-out tree. It must not exist.
	Dest string
	// CacheDir, when set, keeps the objects of each commit, so that another
	// request for other folders of it downloads only what is missing.
	CacheDir string
	// Tree is the expected Result.Tree; "" takes any.
	Tree string
}

// Result says what was fetched.
type Result struct {
	Commit string
	// Tree identifies the delivered content, whatever the commit is called: the
	// id of the commit's tree when all is checked out; the id of the folder's
	// tree (or the file's blob) for one Sparse entry; for several "sha256:" and
	// the hash of the lines "<id> <path>\n" in sorted order.
	Tree string
	// URL is the mirror that served it, without credentials; "" when the cache
	// had everything.
	URL string
}

// MirrorError says what one URL did.
type MirrorError struct {
	URL string // without credentials
	Err error
}

func (e *MirrorError) Error() string { return e.URL + ": " + e.Err.Error() }
func (e *MirrorError) Unwrap() error { return e.Err }

// TreeError says that a commit does not hold the content that was pinned.
type TreeError struct{ Commit, Got, Want string }

func (e *TreeError) Error() string {
	return fmt.Sprintf("commit %s holds the tree %s, not %s: the lock does not match the commit", e.Commit, e.Got, e.Want)
}

func (r Request) check() error {
	if !isID(r.Commit) {
		return fmt.Errorf("%q is no full commit id", r.Commit)
	}
	if r.Dest == "" {
		return errors.New("no destination given")
	}
	if len(r.URLs) == 0 {
		return errors.New("no address given")
	}
	for _, dir := range r.Sparse {
		// The names go into a pattern file, where these signs have a meaning.
		if !fs.ValidPath(dir) || dir == "." || strings.ContainsAny(dir, "*?[]\\!#\n\r\x00") || strings.TrimSpace(dir) != dir {
			return fmt.Errorf("%q is no plain folder of the repository", dir)
		}
	}
	return nil
}

func isID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

// scheme returns the protocol of an address, if it is one that is allowed.
func scheme(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", errors.New("the address cannot be parsed")
	}
	switch u.Scheme {
	case "https", "http":
		if u.Host == "" {
			return "", errors.New("the address names no host")
		}
	case "file":
		if u.Host != "" || !path.IsAbs(u.Path) {
			return "", errors.New("a file address needs an absolute path")
		}
	default:
		return "", fmt.Errorf("the scheme %q is not https, http or file", u.Scheme)
	}
	return u.Scheme, nil
}

// Fetch delivers the commit at Dest, by a rename of the finished tree. On any
// error Dest does not exist. An error names every URL with what it did; a
// content that is not the pinned one is a *TreeError and is not asked for again
// elsewhere, since the commit's id already vouches for it.
func Fetch(ctx context.Context, r Request) (Result, error) {
	res, err := fetchCommit(ctx, r)
	if err != nil {
		return Result{}, fmt.Errorf("fetch commit %s: %w", short(r.Commit), err)
	}
	return res, nil
}

func short(id string) string { return id[:min(len(id), 12)] }

func fetchCommit(ctx context.Context, r Request) (res Result, err error) {
	if err := r.check(); err != nil {
		return res, err
	}
	if _, err := os.Lstat(r.Dest); err == nil {
		return res, fmt.Errorf("%s exists already", r.Dest)
	}
	parent := filepath.Dir(filepath.Clean(r.Dest))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return res, err
	}
	work, err := os.MkdirTemp(parent, ".git-fetch-*")
	if err != nil {
		return res, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()

	repo := filepath.Join(work, "repo")
	if r.CacheDir != "" {
		if err := os.MkdirAll(r.CacheDir, 0o755); err != nil {
			return res, err
		}
		repo = filepath.Join(r.CacheDir, r.Commit+".git")
		unlock, err := lock(ctx, filepath.Join(r.CacheDir, r.Commit+".lock"))
		if err != nil {
			return res, err
		}
		defer unlock()
	}
	if repo, err = filepath.Abs(repo); err != nil {
		return res, err
	}
	g := &runner{repo: repo, work: filepath.Join(work, "tree"), index: filepath.Join(work, "index"), home: filepath.Join(work, "home")}
	for _, dir := range []string{g.work, g.home} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return res, err
		}
	}
	if res, err = g.fromMirrors(ctx, r); err != nil {
		return Result{}, err
	}
	if err := confineLinks(g.work); err != nil {
		return Result{}, err
	}
	if err := os.Rename(g.work, r.Dest); err != nil {
		return Result{}, err
	}
	return res, nil
}

// lock takes a lock file that other processes respect. The wait itself cannot be
// interrupted: when the context ends first, the lock is given back on arrival.
func lock(ctx context.Context, name string) (func(), error) {
	type result struct {
		unlock func()
		err    error
	}
	taken := make(chan result, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(name).Lock()
		taken <- result{unlock, err}
	}()
	select {
	case r := <-taken:
		return r.unlock, r.err
	case <-ctx.Done():
		go func() {
			if r := <-taken; r.err == nil {
				r.unlock()
			}
		}()
		return nil, ctx.Err()
	}
}

// fromMirrors tries the URLs until one gives the whole checkout.
func (g *runner) fromMirrors(ctx context.Context, r Request) (Result, error) {
	if err := g.initRepo(ctx, r.Commit); err != nil {
		return Result{}, err
	}
	var failed []error
	for _, raw := range r.URLs {
		proto, err := scheme(raw)
		if err == nil {
			g.protocol = proto
			var res Result
			if res, err = g.fromOne(ctx, r, raw); err == nil {
				return res, nil
			}
		}
		if ctx.Err() != nil {
			return Result{}, ctx.Err()
		}
		var wrong *TreeError
		if errors.As(err, &wrong) {
			return Result{}, err
		}
		failed = append(failed, &MirrorError{fetch.Redact(raw), err})
	}
	if len(failed) == 1 {
		return Result{}, failed[0]
	}
	return Result{}, fmt.Errorf("no mirror gave it:\n%w", errors.Join(failed...))
}

// initRepo makes an empty repository, or keeps the cache's.
func (g *runner) initRepo(ctx context.Context, commit string) error {
	if _, err := os.Stat(filepath.Join(g.repo, "HEAD")); err == nil {
		return nil
	}
	format := "sha1"
	if len(commit) == 64 {
		format = "sha256"
	}
	if err := os.RemoveAll(g.repo); err != nil {
		return err
	}
	// An empty template brings no hooks.
	_, err := g.git(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format, "--", g.repo)
	return err
}

// fromOne fetches from one URL, unless the objects are there, and checks out.
func (g *runner) fromOne(ctx context.Context, r Request, raw string) (Result, error) {
	res := Result{Commit: r.Commit}
	// The remote is named, because a partial clone asks it for blobs later.
	if _, err := g.git(ctx, "config", "--replace-all", "remote.origin.url", raw); err != nil {
		return res, err
	}
	if _, err := g.git(ctx, "cat-file", "-e", r.Commit+"^{tree}"); err != nil || r.CacheDir == "" {
		if err := g.fetch(ctx, r.Commit); err != nil {
			return res, err
		}
		res.URL = fetch.Redact(raw)
	}
	var err error
	if res.Tree, err = g.tree(ctx, r); err != nil {
		return res, err
	}
	if r.Tree != "" && r.Tree != res.Tree {
		return res, &TreeError{r.Commit, res.Tree, r.Tree}
	}
	return res, g.checkout(ctx, r)
}

// fetch brings one commit, without blobs if the server can leave them out.
func (g *runner) fetch(ctx context.Context, commit string) error {
	args := []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head"}
	_, err := g.git(ctx, slices.Concat(args, []string{"--filter=blob:none", "--", "origin", commit})...)
	if err != nil && ctx.Err() == nil && mayBeFilter(err) {
		// Forget that this was to be a partial clone.
		for _, key := range []string{"remote.origin.promisor", "remote.origin.partialclonefilter", "extensions.partialclone"} {
			_, _ = g.git(ctx, "config", "--unset-all", key) // absent is as good
		}
		_, err = g.git(ctx, slices.Concat(args, []string{"--", "origin", commit})...)
	}
	return err
}

// mayBeFilter says whether a failed fetch is worth a try without a filter: not
// when the address cannot be reached or the server lacks the commit.
func mayBeFilter(err error) bool {
	text := err.Error()
	for _, other := range []string{"not our ref", "unable to access", "does not appear to be a git repository", "Could not resolve"} {
		if strings.Contains(text, other) {
			return false
		}
	}
	return true
}

// tree computes Result.Tree.
func (g *runner) tree(ctx context.Context, r Request) (string, error) {
	got, err := g.id(ctx, r.Commit+"^{commit}")
	if err != nil {
		return "", err
	}
	if got != r.Commit {
		return "", fmt.Errorf("the server gave the commit %s", got)
	}
	if len(r.Sparse) == 0 {
		return g.id(ctx, r.Commit+"^{tree}")
	}
	dirs := slices.Compact(slices.Sorted(slices.Values(r.Sparse)))
	lines := make([]string, len(dirs))
	for i, dir := range dirs {
		id, err := g.id(ctx, r.Commit+":"+dir)
		if err != nil {
			return "", fmt.Errorf("the commit has no %s: %w", dir, err)
		}
		if len(dirs) == 1 {
			return id, nil
		}
		lines[i] = id + " " + dir + "\n"
	}
	sum := sha256.Sum256([]byte(strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

func (g *runner) id(ctx context.Context, rev string) (string, error) {
	out, err := g.git(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", rev)
	if err != nil {
		return "", err
	}
	id := strings.TrimSpace(string(out))
	if !isID(id) {
		return "", fmt.Errorf("git answers %q for %s", id, rev)
	}
	return id, nil
}

// checkout writes the wanted part of the commit to the work tree and checks
// that HEAD is the commit.
func (g *runner) checkout(ctx context.Context, r Request) error {
	// A mirror before this one may have left half a checkout.
	if err := errors.Join(os.RemoveAll(g.work), os.RemoveAll(g.index), os.Mkdir(g.work, 0o755)); err != nil {
		return err
	}
	// The patterns are written here rather than by "sparse-checkout set": cone
	// mode would add the files of every folder above.
	info := filepath.Join(g.repo, "info")
	if err := os.MkdirAll(info, 0o755); err != nil {
		return err
	}
	var patterns strings.Builder
	for _, dir := range r.Sparse {
		patterns.WriteString("/" + dir + "\n")
	}
	if err := os.WriteFile(filepath.Join(info, "sparse-checkout"), []byte(patterns.String()), 0o644); err != nil {
		return err
	}
	sparse := "false"
	if len(r.Sparse) > 0 {
		sparse = "true"
	}
	if _, err := g.git(ctx, "-c", "core.sparseCheckout="+sparse, "-c", "core.sparseCheckoutCone=false",
		"checkout", "--quiet", "--force", "--detach", "--no-recurse-submodules", r.Commit, "--"); err != nil {
		return err
	}
	head, err := g.id(ctx, "HEAD")
	if err != nil {
		return err
	}
	if head != r.Commit {
		return fmt.Errorf("git checked out %s", head)
	}
	// Every file is as the index says, and every listed folder is there.
	if out, err := g.git(ctx, "-c", "core.sparseCheckout="+sparse, "-c", "core.sparseCheckoutCone=false",
		"diff-index", "--name-only", "HEAD", "--"); err != nil {
		return err
	} else if len(out) > 0 {
		line, _, _ := strings.Cut(string(out), "\n")
		return fmt.Errorf("checked-out file %s differs from the commit", line)
	}
	for _, dir := range r.Sparse {
		if _, err := os.Lstat(filepath.Join(g.work, filepath.FromSlash(dir))); err != nil {
			return err
		}
	}
	return nil
}

// confineLinks refuses symlinks that lead out of the tree.
func confineLinks(root string) error {
	return filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 {
			return err
		}
		target, err := os.Readlink(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if filepath.IsAbs(target) || !filepath.IsLocal(filepath.Join(filepath.Dir(rel), target)) {
			return fmt.Errorf("symlink %s leads out of the repository, to %q", filepath.ToSlash(rel), target)
		}
		return nil
	})
}

// reachTimeout is how long "channel: auto" waits before it turns to another
// channel.
const reachTimeout = 5 * time.Second

// Reachable asks whether a repository answers, within five seconds.
func Reachable(ctx context.Context, raw string) error {
	proto, err := scheme(raw)
	if err != nil {
		return fmt.Errorf("%s: %w", fetch.Redact(raw), err)
	}
	home, err := os.MkdirTemp("", "git-reach-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	ctx, cancel := context.WithTimeoutCause(ctx, reachTimeout, fmt.Errorf("no answer within %v", reachTimeout))
	defer cancel()
	g := &runner{home: home, protocol: proto}
	if _, err := g.git(ctx, "ls-remote", "--quiet", "--", raw, "HEAD"); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("%s cannot be reached: %w", fetch.Redact(raw), err)
	}
	return nil
}
