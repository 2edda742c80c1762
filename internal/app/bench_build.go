package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/stonemason-hip/stonemason/internal/bench"
	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// peakBound is what the orchestrator may have in memory at most, in bytes.
const peakBound = 150_000_000

// components measures single components, beside their commands typed by hand:
// one for this machine, and one compiled for a Mac.
func (b *benches) components(ctx context.Context) error {
	for _, c := range []struct{ name, host, what string }{
		{"device-libs", "", "device-libs from its source"},
		{"zstd", "darwin-arm64", "zstd for darwin-arm64 from its source"},
	} {
		if !b.wanted(c.what) {
			continue
		}
		argv := []string{b.therock, "component", c.name, "-rebuild=true"}
		var w Wishes
		if c.host != "" {
			argv, w.Hosts = append(argv, "-host="+c.host), c.host
		}
		ours := b.run(b.project.Root, nil, argv...)
		// Its log is where the commands come from.
		if err := ours(ctx); err != nil {
			return err
		}
		hand, err := b.byHand(ctx, c.name, w)
		if err != nil {
			return err
		}
		err = b.measure(ctx, bench.Case{
			What: c.what, Runs: 5, Ours: ours, Theirs: hand.run, Before: hand.clear,
			Alternative: "the same cmake and ninja commands by hand", Bound: bench.Bound{Ratio: 1.02},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// hand is a component that is built without us.
type hand struct {
	dir      string
	commands []string // as a person would paste them
	env      []string
}

// byHand puts the source of a component into a folder and takes the commands
// from its last log.
func (b *benches) byHand(ctx context.Context, name string, w Wishes) (*hand, error) {
	builder, nodes, err := b.app.builder(ctx, w, name, discard())
	if err != nil {
		return nil, err
	}
	n := nodes[0]
	ran, err := build.Commands(filepath.Join(logsDir(b.project), n.ID+".log"))
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	site, err := builder.Enter(ctx, n, &said, false)
	if err != nil {
		return nil, err
	}
	defer site.Close()
	// The toolchain file is written by the step.
	if err := site.Step(ctx, "configure"); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, said.String())
	}
	r := site.Run()
	h := &hand{dir: filepath.Join(b.tmp, "by-hand-"+name)}
	moved := strings.NewReplacer(r.Work, h.dir)
	for _, step := range []string{"configure", "build", "install"} {
		if len(ran[step]) == 0 {
			return nil, fmt.Errorf("the log of %s has no commands of step %s", n.ID, step)
		}
		for _, c := range ran[step] {
			h.commands = append(h.commands, moved.Replace(c))
		}
	}
	for _, e := range r.Env {
		h.env = append(h.env, moved.Replace(e))
	}
	for _, dir := range []string{"src", "home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(h.dir, dir), 0o755); err != nil {
			return nil, err
		}
	}
	if err := store.CopyTree(ctx, r.Source, filepath.Join(h.dir, "src"), nil); err != nil {
		return nil, err
	}
	toolchain, err := os.ReadFile(filepath.Join(r.Work, "toolchain.cmake"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(h.dir, "toolchain.cmake"), []byte(moved.Replace(string(toolchain))), 0o644); err != nil {
		return nil, err
	}
	// Our own measurements begin anew too.
	return h, os.RemoveAll(r.Work)
}

func (h *hand) clear(context.Context) error {
	return errors.Join(os.RemoveAll(filepath.Join(h.dir, "build")), os.RemoveAll(filepath.Join(h.dir, "stage")))
}

func (h *hand) run(ctx context.Context) error {
	for _, line := range h.commands {
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", line)
		cmd.Dir, cmd.Env = h.dir, h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", line, err, out[max(0, len(out)-2000):])
		}
	}
	return nil
}

// graph measures the whole build from its sources in an empty store, and the
// memory that we take meanwhile.
func (b *benches) graph(ctx context.Context) error {
	what, memory := "the whole graph from its sources", "peak memory of the orchestrator, building the whole graph"
	if !b.wanted(what) && !b.wanted(memory) {
		return nil
	}
	fmt.Fprintf(b.app.Err, "measuring: %s\n", what)
	dir, env, err := b.checkout(ctx)
	if err != nil {
		return err
	}
	begun := time.Now()
	cmd := exec.CommandContext(ctx, b.therock, "build")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return err
	}
	peak := watchPeak(cmd.Process.Pid)
	err = cmd.Wait()
	took, most := time.Since(begun), peak()
	if err != nil {
		return fmt.Errorf("build: %w\n%s", err, out.String())
	}
	work := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime() // its children's included (getrusage(2), wait4(2))
	alone := map[string]time.Duration{}
	for _, n := range b.nodes {
		begun := time.Now()
		if err := b.run(dir, env, b.therock, "component", n.Component, "-rebuild=true")(ctx); err != nil {
			return err
		}
		alone[n.ID] = time.Since(begun)
	}
	chain := longest(b.nodes, alone)
	bound := max(chain, work/time.Duration(runtime.NumCPU()))
	row := bench.Result{
		Case: bench.Case{What: what, Bound: bench.Bound{Ratio: 1.1}, Alternative: fmt.Sprintf(
			"lower bound: chain %s, processor time %s on %d cores", chain.Round(time.Second/10), work.Round(time.Second/10), runtime.NumCPU())},
		Ours: []time.Duration{took}, Theirs: []time.Duration{bound},
	}.Row()
	b.rows = append(b.rows, row)
	fmt.Fprintf(b.app.Err, "  %s, %s %s\n", row.Ours, row.Alternative, row.Met)
	if most > 0 {
		b.rows = append(b.rows, bench.Row{
			What: memory, Ours: fmt.Sprintf("%.0f MB", float64(most)/1e6), Alternative: "-", Bound: fmt.Sprintf("< %d MB", peakBound/1_000_000),
			Met: bench.Of(most < peakBound), Runs: 1,
		})
	}
	return nil
}

// checkout copies the project's own files, and the downloads into a store that
// is empty otherwise.
func (b *benches) checkout(ctx context.Context) (dir string, env []string, err error) {
	dir = filepath.Join(b.tmp, "checkout")
	cache := filepath.Join(b.tmp, "checkout-store")
	copies := [][2]string{
		{filepath.Join(b.project.Root, spec.ComponentsDir), filepath.Join(dir, spec.ComponentsDir)},
		{filepath.Join(b.project.Root, spec.RecipesDir), filepath.Join(dir, spec.RecipesDir)},
		{filepath.Join(b.project.Root, spec.PatchesDir), filepath.Join(dir, spec.PatchesDir)},
		{b.store.Sources(), filepath.Join(cache, "sources")},
		{b.store.Checkouts(), filepath.Join(cache, "checkouts")},
		{filepath.Join(b.store.Root(), "apt"), filepath.Join(cache, "apt")},
	}
	for _, c := range copies {
		if _, err := os.Stat(c[0]); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := os.MkdirAll(c[1], 0o755); err != nil {
			return "", nil, err
		}
		if err := store.CopyTree(ctx, c[0], c[1], nil); err != nil {
			return "", nil, err
		}
	}
	for _, file := range []string{spec.ConfigFile, spec.LockFile, spec.ReleasesFile} {
		data, err := os.ReadFile(filepath.Join(b.project.Root, filepath.FromSlash(file)))
		if err != nil {
			return "", nil, err
		}
		to := filepath.Join(dir, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o644)); err != nil {
			return "", nil, err
		}
	}
	return dir, []string{"STONEMASON_CACHE_DIR=" + cache}, nil
}

// longest is the time of the slowest chain of needs. Nodes stand behind those
// that they need.
func longest(nodes []*plan.Node, took map[string]time.Duration) time.Duration {
	ends := map[string]time.Duration{}
	var last time.Duration
	for _, n := range nodes {
		var ready time.Duration
		for _, id := range n.Build {
			ready = max(ready, ends[id])
		}
		ends[n.ID] = ready + took[n.ID]
		last = max(last, ends[n.ID])
	}
	return last
}

// watchPeak follows the peak memory of a process until it is asked for it.
func watchPeak(pid int) (peak func() int64) {
	var most int64
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, bench.PeakMemory(pid))
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 { close(done); all.Wait(); return most }
}
