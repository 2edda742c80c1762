package app

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/internal/dev"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// measurement is one line of the benchmarks: what we need beside what the
// alternative needs, measured in the same run.
type measurement struct {
	what, ours, theirs string
	runs               int
}

// Bench measures the standalone binary against its alternatives and writes
// docs/benchmarks.md. The toolchain must have been built.
func (a *App) Bench(ctx context.Context) error {
	p, err := a.project(Wishes{})
	if err != nil {
		return err
	}
	dist, _, err := a.bundleDir("")
	if err != nil {
		return err
	}
	if err := dev.Compile(ctx, a.Out, a.Err, p.Root, "bin/therock"); err != nil {
		return err
	}
	therock := filepath.Join(p.Root, "bin", "therock")
	tmp, err := os.MkdirTemp(p.Root, ".bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	command := func(argv ...string) func() error {
		return func() error {
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir = p.Root
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out.String())
			}
			return nil
		}
	}
	fresh := 0
	copied := func(f func(to string) error) func() error {
		return func() error {
			fresh++
			return f(filepath.Join(tmp, fmt.Sprint(fresh)))
		}
	}
	var rows []measurement
	for _, m := range []struct {
		what, alternative string
		runs              int
		ours, theirs      func() error
	}{
		{"start (`therock -l`)", "`go tool mage -l`", 10, command(therock, "-l"), command("go", "tool", "mage", "-l")},
		{"plan, all components", "", 10, command(therock, "plan"), nil},
		{"nothing to do (`therock build`)", "", 10, command(therock, "build"), nil},
		{"copy a bundle out of the store", "`cp -r`", 3,
			copied(func(to string) error { return store.CopyTree(ctx, dist, to, nil) }),
			copied(func(to string) error { return command("cp", "-r", dist, to)() })},
		{"verify the bundle, without running it", "`sha256sum` of its files", 3,
			command(therock, "verify", "-noRun=true"),
			command("find", dist, "-type", "f", "-exec", "sha256sum", "{}", "+")},
	} {
		fmt.Fprintf(a.Err, "measuring: %s\n", m.what)
		row := measurement{what: m.what, runs: m.runs, theirs: "-"}
		took, err := median(m.runs, m.ours)
		if err != nil {
			return exit.With(exit.Failure, err)
		}
		row.ours = ui.Duration(took)
		if m.theirs != nil {
			if took, err = median(m.runs, m.theirs); err != nil {
				return exit.With(exit.Failure, err)
			}
			row.theirs = ui.Duration(took) + " " + m.alternative
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	b.WriteString("# Benchmarks\n\nWritten by `go tool mage bench`: medians of wall times, ours and the alternative's in one run.\n\n")
	fmt.Fprintf(&b, "Machine: %s/%s, %d cores, %s. %s.\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version(), time.Now().UTC().Format("2006-01-02"))
	b.WriteString("| what | stonemason | alternative | runs |\n|---|---|---|---|\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %d |\n", r.what, r.ours, r.theirs, r.runs)
	}
	fmt.Fprint(a.Out, b.String())
	return renameio.WriteFile(filepath.Join(p.Root, "docs", "benchmarks.md"), []byte(b.String()), 0o644)
}

func median(runs int, f func() error) (time.Duration, error) {
	var took []time.Duration
	for range runs {
		begun := time.Now()
		if err := f(); err != nil {
			return 0, err
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}
