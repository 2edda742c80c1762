package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// maxSaid bounds what is kept of a program's output.
const maxSaid = 32 << 10

// questions are harmless arguments that make a program load all that it needs
// and end. Some tools know only one of them.
func questions() []string { return []string{"--version", "--help", "-version", "-h"} }

// execute runs the bundle's programs in an empty environment and an empty
// folder. The question is whether they start: an exit code other than 0 only
// means that a tool does not know the question.
func (a *auditor) execute(ctx context.Context, root string) error {
	programs := slices.Clone(a.programs)
	slices.SortFunc(programs, func(x, y program) int { return strings.Compare(x.path, y.path) })
	if a.opts.Platform != platform.Native() {
		// A script's children would be started without the runner.
		programs = slices.DeleteFunc(programs, func(p program) bool { return p.script || len(a.opts.Runner) == 0 })
		if skipped := len(a.programs) - len(programs); skipped > 0 {
			a.add(finding(".", ruleExecSkipped, fmt.Sprintf("%s for %s not run on this %s machine",
				count(skipped, "program"), a.opts.Platform, platform.Native()), "verify the bundle on a machine of its own kind"))
		}
	}
	dir, err := os.MkdirTemp("", "audit-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(a.opts.Jobs)
	for _, p := range programs {
		g.Go(func() error {
			// A folder of its own: -h of one tool may write where another reads.
			own, err := os.MkdirTemp(dir, "run-*")
			if err != nil {
				return err
			}
			what := a.start(ctx, filepath.Join(root, filepath.FromSlash(p.path)), own)
			if err := ctx.Err(); err != nil {
				return err
			}
			if what != "" {
				fix := "see what it needs with: ldd " + p.path
				if p.script {
					fix = "install its interpreter, or leave the script out"
				}
				a.add(finding(p.path, ruleExecFails, what, fix))
			}
			a.mu.Lock()
			a.report.Executed++
			a.mu.Unlock()
			return nil
		})
	}
	return g.Wait()
}

// start runs one program until it answers a question, and returns what is
// wrong with it.
func (a *auditor) start(ctx context.Context, file, dir string) string {
	for _, question := range questions() {
		what, done := a.ask(ctx, file, question, dir)
		if what != "" || done || ctx.Err() != nil {
			return what
		}
	}
	return ""
}

// ask runs a program once, and reports what is wrong, and whether it answered.
func (a *auditor) ask(ctx context.Context, file, question, dir string) (what string, done bool) {
	timed, cancel := context.WithTimeout(ctx, a.opts.ExecTimeout)
	defer cancel()
	argv := append(slices.Clone(a.opts.Runner), file, question)
	cmd := exec.CommandContext(timed, argv[0], argv[1:]...)
	cmd.Env = []string{}
	cmd.Dir = dir
	said := &limitedBuffer{limit: maxSaid}
	cmd.Stdout, cmd.Stderr = said, said
	// Children of a script go with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", true
	case timed.Err() != nil:
		return fmt.Sprintf("did not end within %s of %s", a.opts.ExecTimeout, question), true
	case err == nil:
		return "", true
	case !errors.As(err, &exit):
		return notStarted(err), true
	}
	if line := loaderError(said.String()); line != "" {
		return fmt.Sprintf("does not start: %.300s", line), true
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return fmt.Sprintf("%s ends it with signal %d (%s)", question, status.Signal(), status.Signal()), true
	}
	// 126 and 127 are what shells, env and the loader return when a program
	// cannot be run (POSIX, "Exit Status and Errors").
	if code := exit.ExitCode(); code == 126 || code == 127 {
		first, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return fmt.Sprintf("does not start: exit code %d: %.300s", code, first), true
	}
	return "", false
}

func notStarted(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not start: its loader or interpreter is not there"
	case errors.Is(err, syscall.ENOEXEC):
		return "does not start: it is neither a program for this machine nor a script with a #! line"
	}
	return "does not start: " + err.Error()
}

// loaderError finds the line in which glibc's loader says what is missing
// (elf/dl-*.c: "error while loading shared libraries", "symbol lookup error",
// "version … not found (required by …)").
func loaderError(said string) string {
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if strings.Contains(line, "error while loading shared libraries") || strings.Contains(line, "symbol lookup error") ||
			strings.Contains(line, "' not found (required by ") {
			return line
		}
	}
	return ""
}

// limitedBuffer keeps the start of what is written to it.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if room := b.limit - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
