package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/internal/bench"
	"github.com/stonemason-hip/stonemason/internal/bench/emubench"
)

// What the emulator is asked for.
const (
	emulatorRate    = 20e6      // wave instructions a second on one core
	emulatorScale   = 1.8       // two cores against one, where the machine has two to give
	emulatorPeer    = 10        // times MGPUSim
	emulatorMemory  = 100e6     // bytes beside the buffers
	emulatorBuffers = 256 << 20 // bytes of the buffers of that launch
	emulatorRuns    = 7
)

// emulator measures kernels on the CPU.
func (b *benches) emulator(ctx context.Context) error {
	rates := []string{"integer", "f32", "f64", "reduce"}
	row := func(text string) string { return "emulator: " + text }
	saxpy, memory := row("saxpy of 1048576 elements, start to result"), row(fmt.Sprintf("peak memory of a launch beside its %d MiB of buffers", emulatorBuffers>>20))
	rate := func(kernel string) string { return row(kernel + " kernel on one core") }
	scale := func(kernel string) string { return row(kernel + " kernel, two cores against one") }
	beside := func(kernel string) string { return row(kernel + " kernel beside MGPUSim") }
	peers := []string{"integer", "f32", "saxpy"}
	all := []string{saxpy, memory}
	for _, t := range rdnaTargets() {
		for _, kernel := range rdnaKernels() {
			all = append(all, rdnaRow(kernel, t))
		}
	}
	for _, kernel := range append(rates, peers...) {
		all = append(all, rate(kernel), scale(kernel), beside(kernel))
	}
	if !slices.ContainsFunc(all, b.wanted) {
		return nil
	}
	if b.builder.Machine.LLVM == nil {
		return errors.New("no LLVM to compile kernels with")
	}
	dir := filepath.Join(b.tmp, "emulator")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	clang := filepath.Join(b.builder.Machine.LLVM.BinDir, "clang++")
	code, err := emubench.Compile(ctx, clang, dir, emubench.Target{Processor: "gfx942"})
	if err != nil {
		return err
	}
	plain, err := emubench.Compile(ctx, clang, dir, emubench.Target{Processor: "gfx942", Apart: true})
	if err != nil {
		return err
	}
	jobs := map[string]emubench.Job{"reduce": emubench.Reduce(code, 64, 600), "saxpy": emubench.Saxpy(plain, 1<<18)}
	for _, kernel := range []string{"integer", "f32", "f64"} {
		jobs[kernel] = emubench.Loop(code, kernel, 64, 8000)
	}
	for _, kernel := range rates {
		if err := b.emulatorRate(ctx, rate(kernel), jobs[kernel]); err != nil {
			return err
		}
		if err := b.emulatorScale(ctx, scale(kernel), jobs[kernel]); err != nil {
			return err
		}
	}
	if err := b.emulatorRDNA(ctx, clang, dir); err != nil {
		return err
	}
	million := emubench.Saxpy(code, 1<<20)
	if b.wanted(saxpy) {
		fmt.Fprintf(b.app.Err, "measuring: %s\n", saxpy)
		r := bench.Result{Case: bench.Case{What: saxpy, Bound: bench.Bound{Most: 100 * time.Millisecond}}}
		for range emulatorRuns {
			_, whole, err := million.Run(ctx, 0)
			if err != nil {
				return err
			}
			r.Ours = append(r.Ours, whole)
		}
		b.add(r.Row())
	}
	if b.wanted(memory) && runtime.GOOS == "linux" {
		if err := b.emulatorMemory(ctx, memory, emubench.Saxpy(code, emulatorBuffers/8)); err != nil {
			return err
		}
	}
	return b.emulatorPeer(ctx, dir, peers, beside, func(kernel string) emubench.Job {
		if j, ok := map[string]emubench.Job{"integer": emubench.Loop(plain, "integer", 16, 500), "f32": emubench.Loop(plain, "f32", 16, 500)}[kernel]; ok {
			return j
		}
		return jobs[kernel]
	})
}

// rdnaTargets and rdnaKernels are what is measured of RDNA.
func rdnaTargets() []emubench.Target {
	return []emubench.Target{{Processor: "gfx1030"}, {Processor: "gfx1100"}, {Processor: "gfx1100", Wide: true}, {Processor: "gfx1201"}, {Processor: "gfx1201", Wide: true}}
}

func rdnaKernels() []string { return []string{"integer", "f32", "reduce", "saxpy"} }

func rdnaRow(kernel string, t emubench.Target) string {
	return fmt.Sprintf("emulator: %s kernel on one core, %s", kernel, t)
}

// emulatorRDNA measures the same kernels on processors of RDNA, in launches of a
// quarter of the size: there are many of them.
func (b *benches) emulatorRDNA(ctx context.Context, clang, dir string) error {
	for _, t := range rdnaTargets() {
		if !slices.ContainsFunc(rdnaKernels(), func(k string) bool { return b.wanted(rdnaRow(k, t)) }) {
			continue
		}
		code, err := emubench.Compile(ctx, clang, dir, t)
		if err != nil {
			return err
		}
		for _, j := range []emubench.Job{emubench.Loop(code, "integer", 64, 2000), emubench.Loop(code, "f32", 64, 2000), emubench.Reduce(code, 64, 150), emubench.Saxpy(code, 1<<20)} {
			if err := b.emulatorRate(ctx, rdnaRow(j.Kernel, t), j); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *benches) add(row bench.Row) {
	fmt.Fprintf(b.app.Err, "  %s, %s %s\n", row.Ours, row.Alternative, row.Met)
	b.rows = append(b.rows, row)
}

// launchTimes runs a job several times on one core.
func launchTimes(ctx context.Context, j emubench.Job) (times []float64, instructions int64, err error) {
	result := ""
	for range emulatorRuns {
		r, _, err := j.Run(ctx, 1)
		switch {
		case err != nil:
			return nil, 0, err
		case result != "" && r.Result != result:
			return nil, 0, fmt.Errorf("kernel %s has another result each time", j.Kernel)
		}
		result, instructions, times = r.Result, r.Instructions, append(times, r.Seconds[0])
	}
	return times, instructions, nil
}

func middle(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// millions writes rates in wave instructions a second.
func millions(instructions int64, times []float64) string {
	n := float64(instructions) / 1e6
	return fmt.Sprintf("%.3g M wave instructions/s (%.3g–%.3g)", n/middle(times), n/slices.Max(times), n/slices.Min(times))
}

func (b *benches) emulatorRate(ctx context.Context, what string, j emubench.Job) error {
	if !b.wanted(what) {
		return nil
	}
	fmt.Fprintf(b.app.Err, "measuring: %s\n", what)
	times, n, err := launchTimes(ctx, j)
	if err != nil {
		return err
	}
	row := bench.Row{What: what, Ours: millions(n, times), Alternative: "-", Runs: emulatorRuns}
	if j.Kernel == "integer" || j.Kernel == "f32" {
		row.Bound, row.Met = fmt.Sprintf("≥ %d M/s", int(emulatorRate/1e6)), bench.Of(float64(n)/middle(times) >= emulatorRate)
	}
	b.add(row)
	return nil
}

// emulatorScale measures two cores against one. Beside it stand two launches of half
// the size that share nothing and run at the same time: a virtual machine whose cores
// are threads of one core, or are lent out, gives those no more either. They are not
// made to wait for each other: what both have done in a second counts.
func (b *benches) emulatorScale(ctx context.Context, what string, j emubench.Job) error {
	if !b.wanted(what) || runtime.NumCPU() < 2 {
		return nil
	}
	fmt.Fprintf(b.app.Err, "measuring: %s\n", what)
	half := j
	half.Grid[0] /= 2
	times := map[int][]float64{}
	var apart []float64
	for range emulatorRuns {
		for _, cores := range []int{2, 1} {
			r, _, err := j.Run(ctx, cores)
			if err != nil {
				return err
			}
			times[cores] = append(times[cores], r.Seconds[0])
		}
		rate, err := atOnce(ctx, half, 2)
		if err != nil {
			return err
		}
		apart = append(apart, rate/2)
	}
	one := middle(times[1])
	ratio, machine := one/middle(times[2]), one*middle(apart)
	b.add(bench.Row{
		What: what, Ours: fmt.Sprintf("%.2f× as fast, %.3g ms", ratio, middle(times[2])*1e3),
		Alternative: fmt.Sprintf("%.2f×, two launches of half the size at once; %.3g ms on one core", machine, one*1e3),
		Bound:       fmt.Sprintf("≥ %g×, or 90 %% of the alternative", emulatorScale), Met: bench.Of(ratio >= min(emulatorScale, 0.9*machine)), Runs: emulatorRuns,
	})
	return nil
}

// atOnce runs a job so many times at the same time, each on one core and a device of
// its own, and returns how many such jobs a second all of them together do.
func atOnce(ctx context.Context, j emubench.Job, n int) (float64, error) {
	var g errgroup.Group
	seconds := make([]float64, n)
	for i := range n {
		g.Go(func() error {
			r, _, err := j.Run(ctx, 1)
			if err == nil {
				seconds[i] = r.Seconds[0]
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	rate := 0.0
	for _, s := range seconds {
		rate += 1 / s
	}
	return rate, nil
}

func (b *benches) emulatorMemory(ctx context.Context, what string, j emubench.Job) error {
	fmt.Fprintf(b.app.Err, "measuring: %s\n", what)
	debug.FreeOSMemory()
	before, err := bench.ResetPeak()
	if err != nil {
		return err
	}
	own := int64(0) // what the job itself keeps of the results
	for _, p := range j.Pointers {
		if p.Result {
			own += int64(len(p.Data))
		}
	}
	if _, _, err := j.Run(ctx, 0); err != nil {
		return err
	}
	most := bench.PeakMemory(os.Getpid()) - before - emulatorBuffers - own
	b.add(bench.Row{
		What: what, Ours: fmt.Sprintf("%.0f MB", float64(most)/1e6), Alternative: "-", Bound: fmt.Sprintf("≤ %d MB", int(emulatorMemory/1e6)),
		Met: bench.Of(float64(most) <= emulatorMemory), Runs: 1,
	})
	return nil
}

// emulatorPeer runs the kernels that MGPUSim can run there and here, in turns, on
// one core each.
func (b *benches) emulatorPeer(ctx context.Context, dir string, kernels []string, what func(string) string, job func(string) emubench.Job) error {
	if !slices.ContainsFunc(kernels, func(k string) bool { return b.wanted(what(k)) }) {
		return nil
	}
	fmt.Fprintln(b.app.Err, "building MGPUSim")
	peer, err := emubench.BuildPeer(ctx, b.project.Root, dir)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		fmt.Fprintf(b.app.Err, "  left out: %v\n", err)
		return nil
	}
	for _, kernel := range kernels {
		name := what(kernel)
		if !b.wanted(name) {
			continue
		}
		fmt.Fprintf(b.app.Err, "measuring: %s\n", name)
		const runs = 3
		var ours, theirs []float64
		var instructions int64
		j := job(kernel)
		for range runs {
			r, _, err := j.Run(ctx, 1)
			if err != nil {
				return err
			}
			p, err := peer.Run(ctx, j)
			switch {
			case err != nil:
				return err
			case p.Result != r.Result:
				return fmt.Errorf("kernel %s has another result there", kernel)
			}
			instructions, ours, theirs = r.Instructions, append(ours, r.Seconds...), append(theirs, p.Seconds...)
		}
		ratio := middle(theirs) / middle(ours)
		b.add(bench.Row{
			What: name, Ours: fmt.Sprintf("%s, %.0f× as fast", millions(instructions, ours), ratio), Alternative: millions(instructions, theirs) + ", MGPUSim " + peer.Version,
			Bound: fmt.Sprintf("≥ %d×", emulatorPeer), Met: bench.Of(ratio >= emulatorPeer), Runs: runs,
		})
	}
	return nil
}
