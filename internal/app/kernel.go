package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/emulator/lines"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/smoke"
	"github.com/stonemason-hip/stonemason/internal/ui"
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
	// GPU is a target id. When it is empty, the launch file says it, or the code
	// object.
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
	// Template prints a launch file to start from, and runs nothing. Kernel is the one
	// that it is for; all when empty.
	Template bool
	Kernel   string
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
	Other []lines.Place `json:"other,omitempty"`
}

// findings are how many -check lists of a launch.
const findings = 10

// KernelRun performs a launch file on the emulator.
func (a *App) KernelRun(ctx context.Context, o KernelRunOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	if o.Budget < 0 {
		return exit.Withf(exit.Usage, "-budget: found %d, expected a number of instructions, or 0 for no bound", o.Budget)
	}
	check, err := checksOf(o.Check)
	if err != nil {
		return err
	}
	if o.Template {
		return a.kernelTemplate(ctx, o)
	}
	if o.Kernel != "" {
		return exit.Withf(exit.Usage, "-kernel goes with -template: what is run stands in the launch file")
	}
	launch := o.Launch
	if launch == "" {
		launch = strings.TrimSuffix(o.File, filepath.Ext(o.File)) + launchExt
	}
	file, err := launchfile.Read(a.path(launch))
	if errors.Is(err, fs.ErrNotExist) {
		err = exit.Withf(exit.Usage, "there is no launch file %s: -launch=FILE says what to run (docs/kernels.md); one to start from is printed by -template", launch)
		return exit.Hint(err, fmt.Sprintf("go tool mage kernel:run %s -template > %s", o.File, launch))
	}
	if err != nil {
		return exit.With(exit.Config, err)
	}
	if o.GPU == "" {
		o.GPU = file.Device
	}
	data, target, err := a.kernelCode(ctx, o.KernelOptions)
	if err != nil {
		return stopped(ctx, err)
	}
	dev, err := emulator.NewDevice(target.String())
	if err != nil {
		return exit.With(exit.Unsupported, err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		return exit.Withf(exit.Config, "%s: %w", o.File, err)
	}
	plan, err := file.Bind(mod.Object())
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
	report, err := plan.Run(ctx, dev, mod, opts)
	if err != nil {
		return stopped(ctx, exit.Default(exit.Config, err))
	}
	out := kernelReport{File: o.File, Launch: launch, Report: report}
	if last := report.Launches[len(report.Launches)-1]; last.Fault != nil {
		out.Places = a.places(mod.Object(), last.Fault.PC)
		if last.Fault.Other != 0 {
			out.Other = a.places(mod.Object(), last.Fault.Other)
		}
	}
	if o.Format == "json" {
		err = a.json(out)
	} else {
		err = a.tellKernels(out)
	}
	if err == nil && !report.OK {
		err = exit.Withf(exit.Verify, "%s: %s", o.File, verdictOf(report))
	}
	return err
}

// kernelTemplate prints a launch file for the kernels of a source or code object.
func (a *App) kernelTemplate(ctx context.Context, o KernelRunOptions) error {
	if o.Launch != "" || o.Seed != nil || o.Budget != 0 || o.Check != "" || o.Counters || o.Format == "json" {
		return exit.Withf(exit.Usage, "-template prints a launch file and runs nothing: only -gpu, -kernel, -bundle and -cflags go with it")
	}
	if o.GPU == "" && isSource(o.File) {
		o.GPU = templateGPU
	}
	data, target, err := a.kernelCode(ctx, o.KernelOptions)
	if err != nil {
		return stopped(ctx, err)
	}
	dev, err := emulator.NewDevice(target.String())
	if err != nil {
		return exit.With(exit.Unsupported, err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		return exit.Withf(exit.Config, "%s: %w", o.File, err)
	}
	text, err := launchfile.Template(mod.Object(), o.Kernel, target.String())
	if err != nil {
		return exit.Withf(exit.Usage, "%s: %w", o.File, err)
	}
	_, err = a.Out.Write(text)
	return err
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
		if rel, err := filepath.Rel(a.Dir, found[i].File); err == nil && filepath.IsLocal(rel) {
			found[i].File = rel
		}
	}
	return found
}

func isSource(name string) bool {
	return slices.Contains([]string{".hip", ".cu", ".cpp", ".cc", ".cxx", ".c++", ".c"}, strings.ToLower(filepath.Ext(name)))
}

// kernelCode returns the file with code objects, compiled when it is a source, and
// the device that is to run it.
func (a *App) kernelCode(ctx context.Context, o KernelOptions) ([]byte, gpu.Target, error) {
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
			return nil, target, exit.Withf(exit.Usage, "for which GPU is %s compiled? Say -gpu=gfx942, or device: in the launch file", o.File)
		}
		data, err := a.compileKernel(ctx, o, target)
		if name, ok := emulator.DeviceFor(target); ok && err == nil {
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
	if _, err := os.Stat(a.path(o.File)); err != nil {
		return nil, exit.With(exit.Usage, err)
	}
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
		fmt.Fprintln(a.Err, refused.Output)
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
				return fmt.Sprintf("%s: %s of %s are not as expected", codeobj.SignatureOf(l.Symbol).Name, plural(b.Wrong, "element", "elements"), b.Name)
			}
		}
	}
	return "ok"
}

// tellPlaces prints where an instruction is from, and who called that.
func (a *App) tellPlaces(words string, places []lines.Place) {
	for i, p := range places {
		if i > 0 {
			words = "called at"
		}
		fmt.Fprintf(a.Out, "    %s %s", words, p)
		if p.Function != "" {
			fmt.Fprintf(a.Out, " in %s", p.Function)
		}
		fmt.Fprintln(a.Out)
	}
}

// tellFindings prints what a checked launch has found beside the first.
func (a *App) tellFindings(f *emulator.Findings) {
	if f == nil {
		return
	}
	for _, one := range f.List[1:] {
		fmt.Fprintf(a.Out, "  found: %s\n", one)
	}
	fmt.Fprintf(a.Out, "  %s\n", f.Sum())
}

// tellKernels prints the report of kernel:run.
func (a *App) tellKernels(r kernelReport) error {
	fmt.Fprintf(a.Out, "%s on the emulator as %s\n", r.File, r.Target)
	checked := 0
	for _, l := range r.Launches {
		fmt.Fprintf(a.Out, "\n%s\n", l.Kernel)
		fmt.Fprintf(a.Out, "  grid %s of %s", extent(l.Grid), extent(l.Block))
		if l.LDS > 0 {
			fmt.Fprintf(a.Out, ", %d bytes of dynamic local memory", l.LDS)
		}
		fmt.Fprintf(a.Out, ": %s, %s, %s in %.3fs\n", plural(int(l.Counters.Groups), "work-group", "work-groups"),
			plural(int(l.Counters.Waves), "wave", "waves"), plural(int(l.Counters.Instructions), "instruction", "instructions"), l.Seconds)
		if l.Counters.Control > 0 { // every kernel ends with one: they were counted
			a.tellCounters(l.Counters)
		}
		if len(l.Buffers) > 0 {
			if err := a.tellBuffers(l.Buffers); err != nil {
				return err
			}
		}
		for _, b := range l.Buffers {
			if b.Checked {
				checked++
			}
		}
		if l.Error != "" {
			ended := l.Error
			if l.Findings != nil {
				ended = l.Fault.Error()
			}
			fmt.Fprintf(a.Out, "  ended: %s\n", ended)
			a.tellPlaces("at", r.Places)
			a.tellPlaces("the other access at", r.Other)
			a.tellFindings(l.Findings)
		}
	}
	fmt.Fprintln(a.Out)
	if r.OK {
		fmt.Fprintf(a.Out, "ok: %s, %s as expected\n", plural(len(r.Launches), "launch", "launches"), plural(checked, "buffer", "buffers"))
	}
	return nil
}

func (a *App) tellCounters(c emulator.Counters) {
	fmt.Fprintf(a.Out, "  instructions: %d scalar, %d vector, %d matrix, %d scalar memory, %d vector memory, %d local memory, %d control\n",
		c.Scalar, c.Vector, c.Matrix, c.ScalarMemory, c.VectorMemory, c.LocalMemory, c.Control)
	fmt.Fprintf(a.Out, "  bytes: %d loaded, %d stored, %d local, %d private\n", c.BytesLoaded, c.BytesStored, c.LocalBytes, c.PrivateBytes)
	fmt.Fprintf(a.Out, "  lanes active: %.1f%%; bank conflicts: %s\n", 100*c.Active(), plural(int(c.BankConflicts), "cycle", "cycles"))
}

func extent(d [3]uint32) string {
	switch {
	case d[2] > 1:
		return fmt.Sprintf("%d×%d×%d", d[0], d[1], d[2])
	case d[1] > 1:
		return fmt.Sprintf("%d×%d", d[0], d[1])
	}
	return fmt.Sprint(d[0])
}

func (a *App) tellBuffers(buffers []launchfile.Buffer) error {
	var rows [][]string
	for _, b := range buffers {
		result := "-"
		switch {
		case b.Wrong > 0:
			result = fmt.Sprintf("%d WRONG", b.Wrong)
		case b.Checked && b.WorstULP > 0 && b.Type.Float():
			result = fmt.Sprintf("ok, %.3g ulp", b.WorstULP)
		case b.Checked:
			result = "ok"
		}
		first := strings.Join(b.First, " ")
		if b.Count > len(b.First) {
			first += " …"
		}
		rows = append(rows, []string{b.Name, string(b.Type), fmt.Sprint(b.Count), result, first})
		if b.Wrong > 0 {
			rows = append(rows, []string{"", "", "", "", b.Mismatch})
		}
	}
	return ui.Table(a.Out, a.look(), []string{"buffer", "type", "elements", "result", "first elements"}, rows,
		ui.TableOptions{Align: []ui.Align{ui.Left, ui.Left, ui.Right, ui.Left, ui.Left}, Flex: 5})
}
