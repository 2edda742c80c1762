package step

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/stonemason-hip/stonemason/internal/budget"
	"github.com/stonemason-hip/stonemason/internal/child"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Run is what a running step may use: its folders, its environment, the
// results of its dependencies and the machine's tools.
type Run struct {
	Build, Host platform.Platform
	// Folders, absolute. Work holds the others and is the node's own.
	Work, Source, BuildDir, Stage string
	// Lease is the step's part of the build's budget, from which its programs
	// take what they run at once. Without one it is Jobs.
	Lease *budget.Lease
	// Jobs is how many processes the step may run at once, as far as that can
	// be said beforehand.
	Jobs int
	// LinkJobs is how many links of LLVM-sized programs fit into memory.
	LinkJobs int
	// Deps are the sealed trees of the node's dependencies, by component.
	Deps map[string]string
	// Tools are absolute paths of the build machine's programs, by name.
	Tools map[string]string
	// LLVM is the build machine's LLVM, where the node uses it.
	LLVM *llvm.Install
	// CC and CXX compile for Host, Cross tells how when that is not Build.
	CC, CXX *hostcc.Compiler
	Cross   *cross.Toolchain
	// Sysroot is the macOS SDK that programs for a Mac are compiled with;
	// Archiver and Ranlib take the place of Apple's on one.
	Sysroot, Archiver, Ranlib string
	// Launcher is put in front of each call of a compiler; it changes no
	// result, and so no key.
	Launcher string
	// Env is the whole environment of a child: nothing is inherited.
	Env []string
	// Wrap, if there is one, puts another program in front of a command, such
	// as one that confines it: it gets and gives the program's absolute file
	// and its arguments.
	Wrap func(argv []string) []string
	// Usage adds up what the commands have used.
	Usage Usage
	// Output receives what children print; the log file is behind it.
	Output io.Writer
	// Slice gives the slice of a path of the stage (see Slice).
	SliceOf func(path string) string
	// Exceptions are audit findings that do not count.
	Exceptions []spec.Exception
	// LeakPaths are strings that must not occur in the stage.
	LeakPaths []string
}

var reference = regexp.MustCompile(`\$\{([^{}]*)\}`)

// Expand fills in the variables of a value.
func (r *Run) Expand(s string) (string, error) {
	var failed error
	out := reference.ReplaceAllStringFunc(s, func(ref string) string {
		v, err := r.lookup(ref[2 : len(ref)-1])
		if err != nil && failed == nil {
			failed = err
		}
		return v
	})
	return out, failed
}

func (r *Run) lookup(name string) (string, error) {
	switch name {
	case "source":
		return r.Source, nil
	case "build":
		return r.BuildDir, nil
	case "stage":
		return r.Stage, nil
	case "jobs":
		return strconv.Itoa(r.Jobs), nil
	case "linkjobs":
		return strconv.Itoa(max(1, r.LinkJobs)), nil
	case "llvm", "llvm.major":
		if r.LLVM == nil {
			return "", fmt.Errorf("${%s}: this component names no llvm among its tools", name)
		}
		if name == "llvm.major" {
			return strconv.Itoa(r.LLVM.Major), nil
		}
		return r.LLVM.Prefix, nil
	}
	if dep, ok := strings.CutPrefix(name, "dep."); ok {
		if tree, ok := r.Deps[dep]; ok {
			return tree, nil
		}
		return "", fmt.Errorf("${%s}: %s is not among the component's needs", name, dep)
	}
	if near, ok := suggest.Nearest(name, Variables()); ok {
		return "", fmt.Errorf("${%s} is not a variable: did you mean ${%s}?", name, near)
	}
	return "", fmt.Errorf("${%s} is not a variable", name)
}

// ExpandAll fills in the variables of several values.
func (r *Run) ExpandAll(values []string) ([]string, error) {
	out := make([]string, len(values))
	for i, v := range values {
		var err error
		if out[i], err = r.Expand(v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// InStage turns a slash-separated path of the stage into a file name, and
// refuses one that leaves the stage.
func (r *Run) InStage(path string) (string, error) {
	return inside(r.Stage, path)
}

func inside(root, path string) (string, error) {
	if path == "." {
		return root, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(path)) {
		return "", fmt.Errorf("%q does not stay inside its folder", path)
	}
	return filepath.Join(root, filepath.FromSlash(path)), nil
}

// Command runs one program with the step's environment and folders, and waits
// for it. The first element of argv is the name of a tool of r.Tools or an
// absolute path.
func (r *Run) Command(ctx context.Context, dir string, env map[string]string, argv ...string) error {
	return r.command(ctx, dir, env, nil, argv)
}

// command is Command, with files that the program inherits.
func (r *Run) command(ctx context.Context, dir string, env map[string]string, files []*os.File, argv []string) error {
	program := argv[0]
	if !filepath.IsAbs(program) {
		path, ok := r.Tools[program]
		if !ok {
			return fmt.Errorf("%s is not among the tools of this component: add it to tools in its yaml", program)
		}
		program = path
	}
	out := &output{Writer: r.Output}
	c := child.Command{Path: program, Args: argv[1:], Dir: dir, Env: slices.Clone(r.Env), Output: out, Files: files}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		c.Env = append(c.Env, name+"="+env[name])
	}
	// The folder for temporary files is the node's own: who has it in the
	// environment belongs to the node.
	if i := slices.IndexFunc(c.Env, func(e string) bool { return strings.HasPrefix(e, "TMPDIR=") }); i >= 0 {
		c.Mark = c.Env[i]
	}
	fmt.Fprintf(r.Output, "+ %s\n", strings.Join(quoteAll(append([]string{program}, argv[1:]...)), " "))
	if r.Wrap != nil {
		wrapped := r.Wrap(append([]string{program}, argv[1:]...))
		c.Path, c.Args, c.Confined = wrapped[0], wrapped[1:], true
	}
	used, err := child.Run(ctx, c)
	r.Usage.add(used)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		return err
	}
	if out.full {
		return fmt.Errorf("%s: %w: %w", filepath.Base(program), err, syscall.ENOSPC)
	}
	return fmt.Errorf("%s: %w", filepath.Base(program), err)
}

// Usage adds up what the commands of a step have used. Its zero value is
// ready, and commands that run at the same time may add to it.
type Usage struct {
	mu  sync.Mutex
	sum child.Usage
}

func (u *Usage) add(v child.Usage) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sum.Add(v)
}

// Sum is what has been used since the start, or since the last Take.
func (u *Usage) Sum() child.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.sum
}

// Take is Sum, and begins anew: for the usage of each step.
func (u *Usage) Take() child.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	sum := u.sum
	u.sum = child.Usage{}
	return sum
}

// quoteAll writes arguments so that a person can paste them into a shell.
func quoteAll(args []string) []string {
	plain := regexp.MustCompile(`^[A-Za-z0-9_./:=,+@%^-]+$`)
	out := make([]string, len(args))
	for i, a := range args {
		if plain.MatchString(a) {
			out[i] = a
		} else {
			out[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return out
}

// Mark is the entry of its environment by which a child process of a node is
// known wherever it has gone (child.Command): the node's own folder tmp.
func Mark(tmp string) string { return "TMPDIR=" + tmp }

// Environment is the environment of a child process: what every build needs
// and nothing of the user's. home and tmp are the node's own folders, path
// the search path.
func Environment(home, tmp string, path []string) []string {
	return []string{
		"HOME=" + home,
		Mark(tmp),
		"PATH=" + strings.Join(path, string(os.PathListSeparator)),
		"LANG=C.UTF-8",
		"LC_ALL=C.UTF-8",
		"TZ=UTC",
		"TERM=dumb",
		// Reproducible archives and time stamps (reproducible-builds.org,
		// SOURCE_DATE_EPOCH; ar(1) of cctools, ZERO_AR_DATE).
		"SOURCE_DATE_EPOCH=1577836800",
		"ZERO_AR_DATE=1",
		// ninja's default status, said here because the progress is read.
		"NINJA_STATUS=[%f/%t] ",
	}
}
