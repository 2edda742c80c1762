package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// gitDiff has git write the diff of changes. Both sides become trees of a bare
// repository that holds nothing else and is thrown away: so the names in the
// diff are those of the source, wherever the folders lie, and no attribute file
// of the source makes git convert line ends or take text for binary.
func gitDiff(ctx context.Context, changes []change) ([]byte, error) {
	home, err := os.MkdirTemp("", "stonemason-patch-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	g := git{dir: filepath.Join(home, "repo"), home: home}
	if _, err := g.run(ctx, "", "init", "-q", "--bare", "--template=", g.dir); err != nil {
		return nil, err
	}
	old, err := g.tree(ctx, "old", changes, func(c change) (string, bool) { return c.old, c.oldExec })
	if err != nil {
		return nil, err
	}
	now, err := g.tree(ctx, "new", changes, func(c change) (string, bool) { return c.new, c.newExec })
	if err != nil {
		return nil, err
	}
	// diff-tree, being plumbing, reads no settings for how a diff looks; the
	// options fix what could differ between versions of git.
	out, err := g.run(ctx, "", "diff-tree", "-r", "-p", "--full-index", "--binary", "--find-renames=50%",
		"--no-ext-diff", "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/",
		"--unified=3", "--inter-hunk-context=0", "--diff-algorithm=histogram", "--indent-heuristic", "--no-relative", old, now)
	if err != nil {
		return nil, err
	}
	if len(out) > maxPatchBytes {
		return nil, fmt.Errorf("the patch would have %d bytes, more than %d; does the edited copy hold the results of a build?", len(out), maxPatchBytes)
	}
	return out, nil
}

// git runs git in a repository of its own, without the settings and the
// environment of whoever calls.
type git struct{ dir, home string }

// tree stores one side of the changes and returns the name of its tree.
func (g git) tree(ctx context.Context, index string, changes []change, side func(change) (path string, exec bool)) (string, error) {
	var paths, entries strings.Builder
	var with []change
	for _, c := range changes {
		path, _ := side(c)
		if path == "" {
			continue
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		if strings.ContainsAny(abs, "\n\r") || strings.HasPrefix(abs, `"`) {
			return "", fmt.Errorf("the path %q holds a line break", cut(abs))
		}
		paths.WriteString(abs + "\n")
		with = append(with, c)
	}
	out, err := g.run(ctx, paths.String(), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return "", err
	}
	ids := strings.Fields(string(out))
	if len(ids) != len(with) {
		return "", fmt.Errorf("git named %d objects for %d files", len(ids), len(with))
	}
	for i, c := range with {
		mode := modeFile
		if _, exec := side(c); exec {
			mode = modeExec
		}
		fmt.Fprintf(&entries, "%o %s\t%s\x00", mode, ids[i], c.name)
	}
	env := "GIT_INDEX_FILE=" + filepath.Join(g.home, index)
	if _, err := g.run(ctx, entries.String(), "update-index", "-z", "--add", "--index-info", env); err != nil {
		return "", err
	}
	out, err = g.run(ctx, "", "write-tree", env)
	return strings.TrimSpace(string(out)), err
}

// run calls git. Arguments of the form GIT_X=... become environment.
func (g git) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "XDG_CONFIG_HOME=" + g.home, "LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1",
		"GIT_DIR=" + g.dir, "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat",
	}
	argv := make([]string, 0, len(args))
	for _, a := range args {
		if strings.HasPrefix(a, "GIT_") {
			env = append(env, a)
			continue
		}
		argv = append(argv, a)
	}
	cmd := exec.CommandContext(ctx, "git", argv...)
	cmd.Env, cmd.Dir = env, g.home
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		if errors.Is(err, exec.ErrNotFound) {
			return nil, errors.New("git is needed to make a patch and was not found on the PATH")
		}
		return nil, fmt.Errorf("git %s: %w: %s", argv[0], err, cut(strings.TrimSpace(errOut.String())))
	}
	return out.Bytes(), nil
}
