package smoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// searchPath is all that a compiler of the bundle may find outside of it: the
// host's linker and the C++ library's headers belong to the system's compiler.
const searchPath = "PATH=/usr/bin:/bin"

// Bounds on what a tool may write to standard error or output, and on how long
// it may outlive its cancellation.
const (
	maxOutput = 1 << 20
	killDelay = 5 * time.Second
	maxResult = 256 << 20
)

// Where the tools lie in a bundle.
const (
	hipccPath   = "bin/hipcc"
	clangPath   = "lib/llvm/bin/clang++"
	bundlerPath = "lib/llvm/bin/clang-offload-bundler"
)

// toolchain is the bundle's compiler and how to call it.
type toolchain struct {
	root     string
	compiler string   // absolute path
	flags    []string // of every compilation
	env      []string
}

// findToolchain takes the bundle's hipcc, which is what its user calls, else
// its clang++. clang++ is told where the bundle is: where lib/llvm is a link,
// it would look for the HIP headers beside the link's target.
func findToolchain(root string, flags, env []string) (*toolchain, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("bundle: %w", err)
	}
	t := &toolchain{root: root, env: append([]string{searchPath}, env...)}
	t.flags = []string{"-x", "hip", "-O3", "-fuse-cuid=none"}
	switch {
	case isFile(filepath.Join(root, hipccPath)):
		t.compiler = filepath.Join(root, hipccPath)
	case isFile(filepath.Join(root, clangPath)):
		t.compiler = filepath.Join(root, clangPath)
		t.flags = append(t.flags, "--rocm-path="+root)
	default:
		return nil, fmt.Errorf("bundle %s: neither %s nor %s is there: build it first, or name another bundle", root, hipccPath, clangPath)
	}
	t.flags = append(t.flags, flags...)
	return t, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.IsDir()
}

// version returns the first line of --version.
func (t *toolchain) version(ctx context.Context) (string, error) {
	out, stderr, err := t.run(ctx, t.root, t.compiler, "--version")
	if err != nil {
		return "", fmt.Errorf("%s --version: %w: %s", t.compiler, err, firstError(stderr))
	}
	// hipcc puts a line of its own before that of clang.
	first, rest, _ := strings.Cut(strings.TrimSpace(out), "\n")
	for _, line := range append([]string{first}, strings.Split(rest, "\n")...) {
		if strings.Contains(line, "clang version") {
			return strings.TrimSpace(line), nil
		}
	}
	return first, nil
}

// run runs a tool of the bundle with the emptied environment. The strings are
// what it wrote, cut where it wrote far too much.
func (t *toolchain) run(ctx context.Context, dir, tool string, args ...string) (stdout, stderr string, err error) {
	out, errs := &capped{left: maxOutput}, &capped{left: maxOutput}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir, cmd.Env = dir, t.env
	cmd.Stdout, cmd.Stderr = out, errs
	cmd.WaitDelay = killDelay
	ownGroup(cmd)
	err = cmd.Run()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return out.String(), errs.String(), err
}

// capped keeps the beginning of what is written to it.
type capped struct {
	bytes.Buffer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	keep := min(len(p), c.left)
	c.left -= keep
	c.Buffer.Write(p[:keep]) // never fails
	return len(p), nil
}

// outcome is a finished compilation.
type outcome struct {
	data    []byte // what was compiled; nil when it failed
	path    string
	stderr  string
	log     string // path of a log, written when it failed
	seconds float64
}

// compile puts a copy of the source into dir and compiles it there by its
// absolute path, so that a compiler that leaks paths shows it. An error is one
// of the machine, or cancellation; a compiler that fails is an outcome.
func (t *toolchain) compile(ctx context.Context, dir string, ex Example, name string, args ...string) (outcome, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return outcome{}, err
	}
	text, err := os.ReadFile(ex.Source)
	if err != nil {
		return outcome{}, err
	}
	source := filepath.Join(dir, filepath.Base(ex.Source))
	if err := os.WriteFile(source, text, 0o644); err != nil {
		return outcome{}, err
	}
	o := outcome{path: filepath.Join(dir, name)}
	argv := append(append([]string{}, t.flags...), args...)
	argv = append(argv, source, "-o", o.path)
	start := time.Now()
	_, o.stderr, err = t.run(ctx, dir, t.compiler, argv...)
	o.seconds = time.Since(start).Seconds()
	if ctx.Err() != nil {
		return o, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return o, fmt.Errorf("run %s: %w", t.compiler, err)
	}
	if err != nil {
		o.log = o.path + ".log"
		text := fmt.Sprintf("%s %s\n%s\n%v\n", t.compiler, strings.Join(argv, " "), o.stderr, err)
		return o, os.WriteFile(o.log, []byte(text), 0o644)
	}
	o.data, err = readFile(o.path)
	return o, err
}

func readFile(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Size() > maxResult {
		return nil, fmt.Errorf("%s: %d bytes: at most %d are read", path, st.Size(), maxResult)
	}
	return os.ReadFile(path)
}
