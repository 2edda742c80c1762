package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/emulator/lines"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/smoke"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// maxKernelFile bounds a file with code objects.
const maxKernelFile = 2 << 30

// templateGPU is what a template is for where nobody says another.
const templateGPU = "gfx942"

// launchExt is how the launch file beside a source is called.
const launchExt = ".launch.yaml"

// KernelOptions say which code kernel:run and kernel:info are about.
type KernelOptions struct {
	// File is a HIP source, or a file with code objects: one alone, a bundle, a host
	// object, library or program.
	File string
	// GPU is a target id, several separated by commas, or all, which are those that the
	// emulator knows. When it is empty, the launch file says it, or the code object.
	GPU string
	// Bundle is the toolchain for a source; dist/HOST when empty.
	Bundle string
	// Flags are added to the compilation of a source, separated by spaces.
	Flags string
	// Format is text or json.
	Format string
}

// KernelRunOptions are the options of kernel:run.
type KernelRunOptions struct {
	KernelOptions
	// Launch is the launch file; FILE.launch.yaml beside File when empty.
	Launch string
	// Seed makes the order of waves the same each time; nil lets all cores run.
	Seed *int
	// Budget is the most wave instructions of a launch; 0 is no bound.
	Budget int
	// Check lists what is looked for besides, separated by commas: race, init, wait.
	Check string
	// Template prints a launch file to start from, and runs nothing.
	Template bool
	// Kernel is the one that a template is for, or whose launches are performed; all
	// when empty.
	Kernel string
	// Deadline is the longest that the launches may take on one GPU; 0 is no bound.
	Deadline time.Duration
	// Trace follows a wave, GROUP,WAVE[,LANE], and Steps is how many of its
	// instructions are shown; 400 when nil.
	Trace string
	Steps *int
	// JUnit is a file for the results as CI systems read them.
	JUnit string
	// Quiet leaves launches out that are as expected.
	Quiet bool
	// Counters prints instructions by class, bytes moved, bank conflicts and
	// divergence.
	Counters bool
}

// kernelReport is what kernel:run prints as JSON.
type kernelReport struct {
	File   string `json:"file"`
	Launch string `json:"launch"`
	*launchfile.Report
	// Places are the source of the instruction that ended a launch, its own line
	// first.
	Places []lines.Place `json:"places,omitempty"`
	// Other are the source of the access that a race is with.
	Other  []lines.Place  `json:"other,omitempty"`
	Trace  []*kernelTrace `json:"trace,omitempty"`
	NotRun []string       `json:"not_run,omitempty"` // the kernels of the launches behind one that ended before its time

	source *sourceLines // for the trace
}

// findings are how many -check lists of a launch.
const findings = 10

// gpuRun is what came of the launches on one GPU: a report, or what kept them from
// being run.
type gpuRun struct {
	gpu    string // as it was asked for; empty where nobody said
	report *kernelReport
	err    error
}

// KernelRun performs a launch file on the emulator, on each GPU that is asked for.
func (a *App) KernelRun(ctx context.Context, o KernelRunOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	if err := a.checkFile("kernel:run", o.KernelOptions); err != nil {
		return err
	}
	if o.Budget < 0 {
		return exit.Withf(exit.Usage, "-budget: found %d, expected a number of instructions, or 0 for no bound", o.Budget)
	}
	if o.Deadline < 0 {
		return exit.Withf(exit.Usage, "-deadline: found %s, expected a time such as 30s, or 0 for none", o.Deadline)
	}
	check, err := checksOf(o.Check)
	if err != nil {
		return err
	}
	follow, err := newTracing(o.Trace, o.Steps)
	if err != nil {
		return err
	}
	gpus, err := a.gpusOf(o.KernelOptions)
	if err != nil {
		return err
	}
	if o.Template {
		return a.kernelTemplate(ctx, o)
	}
	launch := o.Launch
	if launch == "" {
		launch = strings.TrimSuffix(o.File, filepath.Ext(o.File)) + launchExt
	}
	file, err := launchfile.Read(a.path(launch))
	if errors.Is(err, fs.ErrNotExist) {
		err = exit.Withf(exit.Usage, "there is no launch file %s: -launch=FILE says what to run (docs/kernels.md); one to start from is printed by -template", launch)
		first := KernelRunOptions{KernelOptions: o.KernelOptions}
		if len(gpus) != 1 {
			first.GPU = "" // a template is for one
		}
		return exit.Hint(err, fmt.Sprintf("%s -template > %s", first.command(), quotedWord(launch)))
	}
	if err != nil {
		return exit.With(exit.Config, err)
	}
	opts := emulator.Options{Budget: int64(o.Budget), Check: check, Findings: findings, Count: o.Counters, Output: a.Out, ErrorOutput: a.Err}
	if o.Format == "json" {
		opts.Output = a.Err // standard output is the report alone
	}
	if o.Seed != nil {
		opts.Deterministic, opts.Seed = true, uint64(*o.Seed)
	}
	if len(gpus) == 0 {
		gpus = []string{file.Device}
	}
	var runs []gpuRun
	var reports []*kernelReport
	for _, name := range gpus {
		one := o
		one.GPU = name
		r := gpuRun{gpu: name}
		r.report, r.err = a.runOn(ctx, one, launch, file, opts, follow)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runs = append(runs, r)
		switch {
		case r.err != nil && len(gpus) > 1:
			a.note("%s: %v", name, r.err)
		case r.report != nil && o.Format == "json":
			reports = append(reports, r.report)
		case r.report != nil:
			if !o.Quiet && len(runs) > 1 {
				fmt.Fprintln(a.Out)
			}
			if err := a.tellKernels(*r.report, o.Quiet); err != nil {
				return err
			}
		}
	}
	switch {
	case o.Format != "json":
	case len(gpus) > 1:
		err = a.json(reports)
	case len(reports) == 1:
		err = a.json(reports[0])
	}
	if err != nil {
		return err
	}
	if o.JUnit != "" {
		if err := a.writeJUnit(o.JUnit, o.File, runs); err != nil {
			return exit.Withf(exit.Usage, "-junit: %w", err)
		}
	}
	return o.outcome(runs)
}

// outcome is the error of what went wrong on one or more GPUs, with the command that
// tells more.
func (o KernelRunOptions) outcome(runs []gpuRun) error {
	var failed []string
	var first error
	for _, r := range runs {
		err := r.err
		if err == nil && !r.report.OK {
			err = exit.Withf(exit.Verify, "%s: %s", o.File, verdictOf(r.report.Report))
			last := r.report.Launches[len(r.report.Launches)-1]
			if f := last.Fault; f != nil && o.Trace == "" {
				lane := ""
				if f.Lane >= 0 {
					lane = fmt.Sprintf(",%d", f.Lane)
				}
				if len(runs) > 1 {
					o.GPU = r.gpu
				}
				err = exit.Hint(err, fmt.Sprintf("%s -trace=%s,%d%s", o.command(), place(f.Group), f.Wave, lane))
			}
		}
		if err != nil {
			failed = append(failed, r.gpu)
			if first == nil {
				first = err
			}
		}
	}
	if first == nil || len(runs) == 1 {
		return first
	}
	return exit.Hint(exit.Withf(exit.Of(first), "%d of %d GPUs failed (%s); %s: %w", len(failed), len(runs), strings.Join(failed, ", "), failed[0], first), exit.HintOf(first))
}

// runOn performs the launches on the GPU of the options. The error is what kept them
// from being performed: a source that does not compile, a launch file that does not fit.
func (a *App) runOn(ctx context.Context, o KernelRunOptions, launch string, file *launchfile.File, opts emulator.Options, follow *tracing) (*kernelReport, error) {
	dev, mod, err := a.loadKernels(ctx, o.KernelOptions, file.Has)
	if err != nil {
		return nil, err
	}
	plan, err := file.Bind(mod.Object())
	if err != nil {
		return nil, exit.With(exit.Config, err)
	}
	if o.Kernel != "" {
		k, err := mod.Object().FindKernel(o.Kernel)
		if err != nil {
			return nil, exit.Withf(exit.Usage, "-kernel: %w", err)
		}
		plan.Launches = slices.DeleteFunc(plan.Launches, func(b *launchfile.Bound) bool { return b.Kernel.Name != k.Name })
		if len(plan.Launches) == 0 {
			return nil, exit.Withf(exit.Usage, "-kernel: %s has no launch of %s", launch, o.Kernel)
		}
	}
	if err := follow.applies(plan); err != nil {
		return nil, err
	}
	opts.Trace = follow.options()
	limited := ctx
	if o.Deadline > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeoutCause(ctx, o.Deadline, exit.Withf(exit.Verify, "the deadline of %s has passed", o.Deadline))
		defer cancel()
	}
	report, err := plan.Run(limited, dev, mod, opts)
	if err != nil {
		if list := follow.finished(); o.Format != "json" && ctx.Err() == nil { // what ran until then is what one wants to see
			for _, k := range list {
				fmt.Fprintf(a.Out, "%s on the emulator as %s\n\n%s\n", o.File, dev.Target(), codeobj.SignatureOf(k.Kernel).Full)
				a.tellTrace(k, a.sourceLines(mod.Object()))
			}
		}
		return nil, exit.Default(exit.Config, fmt.Errorf("%s: %w", o.File, err))
	}
	out := &kernelReport{File: o.File, Launch: launch, Report: report, Trace: follow.finished()}
	if last := report.Launches[len(report.Launches)-1]; last.Fault != nil {
		out.Places = a.places(mod.Object(), last.Fault.PC)
		if last.Fault.Other != 0 {
			out.Other = a.places(mod.Object(), last.Fault.Other)
		}
	}
	for _, b := range plan.Launches[len(report.Launches):] {
		out.NotRun = append(out.NotRun, b.Signature.Full)
	}
	if len(out.Trace) > 0 {
		out.source = a.sourceLines(mod.Object())
	}
	return out, nil
}

// loadKernels loads, on the device that is to run it, the code that has what is wanted.
func (a *App) loadKernels(ctx context.Context, o KernelOptions, has func(*codeobj.Object) bool) (*emulator.Device, *emulator.Module, error) {
	data, target, err := a.kernelCode(ctx, o, true)
	if err != nil {
		return nil, nil, stopped(ctx, err)
	}
	if obj, err := codeobj.Parse(data); err == nil && len(obj.Kernels) == 0 {
		return nil, nil, exit.Withf(exit.Config, "%s: there is no kernel in it: kernels are __global__ functions, and templates of them are there when something instantiates them", o.File)
	}
	dev, err := emulator.NewDevice(target.String())
	if err != nil {
		return nil, nil, exit.With(exit.Unsupported, err)
	}
	mod, err := loadWith(dev, data, has)
	if errors.Is(err, codeobj.ErrNoMatch) {
		err = fmt.Errorf("there is no code for %s in it: it has %s", target, codeFor(data))
	}
	if err != nil {
		return nil, nil, exit.Withf(exit.Config, "%s: %w", o.File, err)
	}
	return dev, mod, nil
}

// kernelTemplate prints a launch file for the kernels of a source or code object.
func (a *App) kernelTemplate(ctx context.Context, o KernelRunOptions) error {
	if o.Launch != "" || o.Seed != nil || o.Budget != 0 || o.Check != "" || o.Counters || o.Format == "json" || o.Trace != "" || o.JUnit != "" || o.Quiet || o.Deadline != 0 || strings.Contains(o.GPU, ",") {
		return exit.Withf(exit.Usage, "-template prints a launch file and runs nothing: only -gpu with one GPU, -kernel, -bundle and -cflags go with it")
	}
	if o.GPU == "" && isSource(o.File) {
		o.GPU = templateGPU
	}
	dev, mod, err := a.loadKernels(ctx, o.KernelOptions, func(obj *codeobj.Object) bool {
		_, err := obj.FindKernel(o.Kernel)
		return o.Kernel == "" || err == nil
	})
	if err != nil {
		return err
	}
	text, err := launchfile.Template(mod.Object(), o.Kernel, dev.Target().String())
	if err != nil {
		return exit.Withf(exit.Usage, "%s: %w", o.File, err)
	}
	fmt.Fprint(a.Out, a.templateHead(o))
	_, err = a.Out.Write(text)
	return err
}

// loadWith loads the first code object for the device that has what is wanted, or the
// first of all: a program has one for each of its sources.
func loadWith(dev *emulator.Device, data []byte, has func(*codeobj.Object) bool) (*emulator.Module, error) {
	list, err := dev.CodeObjects(data)
	if err != nil {
		return nil, err
	}
	at := 0
	for n, code := range list {
		if obj, err := codeobj.Parse(code); err == nil && has(obj) {
			at = n
			break
		}
	}
	return dev.Load(list[at])
}

// checksOf reads the list of -check.
func checksOf(list string) (emulator.Check, error) {
	var all emulator.Check
	for word := range strings.SplitSeq(list, ",") {
		switch word {
		case "":
		case "race":
			all |= emulator.CheckRace
		case "init":
			all |= emulator.CheckInit
		case "wait":
			all |= emulator.CheckWait
		default:
			return 0, exit.Withf(exit.Usage, "-check: found %q, expected race, init and wait, separated by commas", word)
		}
	}
	return all, nil
}

func (a *App) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.Dir, name)
}

// places finds the source of an instruction; nothing where it is not recorded.
func (a *App) places(obj *codeobj.Object, pc uint64) []lines.Place {
	table, err := lines.New(obj)
	if errors.Is(err, lines.ErrNone) {
		a.note("no source line: %v", err)
		return nil
	}
	var found []lines.Place
	if err == nil {
		found, err = table.Find(pc)
	}
	if err != nil {
		a.note("no source line: %v", err)
	}
	for i := range found {
		found[i] = a.nearer(found[i])
	}
	return found
}

// nearer writes the path of a place below the current folder relative to it.
func (a *App) nearer(p lines.Place) lines.Place {
	if rel, err := filepath.Rel(a.Dir, p.File); err == nil && filepath.IsLocal(rel) {
		p.File = rel
	}
	return p
}

func isSource(name string) bool {
	return slices.Contains([]string{".hip", ".cu", ".cpp", ".cc", ".cxx", ".c++", ".c"}, strings.ToLower(filepath.Ext(name)))
}

// kernelCode returns the file with code objects, compiled when it is a source, and
// the device that is to run it. A GPU that code can be compiled for and not run is an
// error where it is to be run, before a compiler says what it lacks for it.
func (a *App) kernelCode(ctx context.Context, o KernelOptions, run bool) ([]byte, gpu.Target, error) {
	table, err := gpu.Load()
	if err != nil {
		return nil, gpu.Target{}, err
	}
	var target gpu.Target
	if o.GPU != "" {
		if target, err = table.Target(o.GPU); err != nil {
			return nil, target, exit.Withf(exit.Usage, "-gpu: %w", err)
		}
	}
	if isSource(o.File) {
		if o.GPU == "" {
			return nil, target, exit.Withf(exit.Usage, "for which GPU is %s compiled? Say -gpu=gfx942, or for kernel:run device: in the launch file", o.File)
		}
		name, runs := emulator.DeviceFor(target)
		if run && !runs {
			_, err := emulator.NewDevice(o.GPU)
			return nil, target, exit.With(exit.Unsupported, err)
		}
		data, err := a.compileKernel(ctx, o, target)
		if runs && err == nil {
			target, err = table.Target(name)
		}
		return data, target, err
	}
	if o.Flags != "" || o.Bundle != "" {
		return nil, target, exit.Withf(exit.Usage, "-cflags and -bundle are for sources, and %s is none (by its name)", o.File)
	}
	data, err := readFile(a.path(o.File), maxKernelFile)
	if err != nil {
		return nil, target, exit.With(exit.Usage, err)
	}
	if o.GPU != "" {
		return data, target, nil
	}
	target, err = deviceOf(table, data)
	if err != nil {
		return nil, target, exit.Withf(exit.Config, "%s: %w", o.File, err)
	}
	return data, target, nil
}

// deviceOf finds a device for the first code object of a file that the emulator has
// one for.
func deviceOf(table *gpu.Table, data []byte) (gpu.Target, error) {
	list, err := codeobj.Slices(data, codeobj.Limits{})
	if err != nil {
		return gpu.Target{}, err
	}
	var first gpu.Target
	for _, s := range list {
		obj, err := codeobj.Parse(s.Data)
		if err != nil {
			return gpu.Target{}, err
		}
		t, err := obj.Target(table)
		if err != nil {
			return gpu.Target{}, err
		}
		if name, ok := emulator.DeviceFor(t); ok {
			return table.Target(name)
		}
		if first.Name == "" {
			first = t
		}
	}
	if first.Name == "" {
		return first, errors.New("there is no code object in it")
	}
	return first, nil
}

func (a *App) compileKernel(ctx context.Context, o KernelOptions, target gpu.Target) ([]byte, error) {
	dir, _, err := a.bundleDir(o.Bundle)
	if err != nil {
		return nil, err
	}
	compiler, err := smoke.FindCompiler(dir, strings.Fields(o.Flags))
	if err != nil {
		return nil, exit.Hint(exit.With(exit.Verify, err), "go tool mage build -yes")
	}
	data, err := compiler.Device(ctx, a.Dir, o.File, target)
	var refused *smoke.CompileError
	if errors.As(err, &refused) {
		fmt.Fprintln(a.Err, compilerText(refused.Output))
	}
	return data, exit.Default(exit.Failure, err)
}

// verdictOf is one line about what went wrong.
func verdictOf(r *launchfile.Report) string {
	for _, l := range r.Launches {
		if l.Error != "" {
			return l.Error
		}
		for _, b := range l.Buffers {
			if b.Wrong > 0 {
				if b.Wrong == 1 {
					return fmt.Sprintf("%s: %s: %s", codeobj.SignatureOf(l.Symbol).Name, b.Name, b.Mismatch)
				}
				return fmt.Sprintf("%s: %d elements of %s are not as expected", codeobj.SignatureOf(l.Symbol).Name, b.Wrong, b.Name)
			}
		}
	}
	return "ok"
}
