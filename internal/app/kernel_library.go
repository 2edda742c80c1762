package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/devicelib"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
)

// KernelLibrary compiles kernels for the functions of the device's libraries, runs them
// on the emulator, and prints how exact the mathematical ones are as a table of
// Markdown, and which of those with one right result have another. It fails where one
// does not run, is wrong, or is beyond its bound without a known reason.
func (a *App) KernelLibrary(ctx context.Context, o KernelOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	if o.GPU == "" {
		o.GPU = "gfx942"
	}
	if strings.HasPrefix(o.GPU, "gfx1") { // what functions of a wave give is compared for 64 lanes
		o.Flags = strings.TrimSpace(o.Flags + " -mwavefrontsize64")
	}
	work, err := os.MkdirTemp("", "stonemason-library-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	load := func(name, source, flags string) (*emulator.Device, *emulator.Module, error) {
		o := o
		o.File, o.Flags = filepath.Join(work, name+".hip"), strings.TrimSpace(o.Flags+" "+flags)
		if err := os.WriteFile(o.File, []byte(source), 0o644); err != nil {
			return nil, nil, err
		}
		data, target, err := a.kernelCode(ctx, o, true)
		if err != nil {
			return nil, nil, stopped(ctx, err)
		}
		dev, err := emulator.NewDevice(target.String())
		if err != nil {
			return nil, nil, exit.With(exit.Unsupported, err)
		}
		mod, err := dev.Load(data)
		return dev, mod, exit.Default(exit.Config, err)
	}
	functions, hip := devicelib.Functions(), devicelib.HIP()
	const headers = "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"
	dev, mod, err := load("hip", devicelib.Source(headers, functions)+devicelib.ExactSource(hip), "-Wno-everything")
	if err != nil {
		return err
	}
	rows, err := devicelib.Measure(ctx, dev, mod, functions)
	if err != nil {
		return stopped(ctx, err)
	}
	verdicts, err := devicelib.Check(ctx, dev, mod, hip)
	if err != nil {
		return stopped(ctx, err)
	}
	library, others := devicelib.Within(o.GPU, append(devicelib.OCML(), devicelib.OCKL()...))
	if dev, mod, err = load("library", devicelib.ExactSource(library), "-nogpuinc -Wno-everything"); err != nil {
		return err
	}
	more, err := devicelib.Check(ctx, dev, mod, library)
	if err != nil {
		return stopped(ctx, err)
	}
	err = a.tellLibrary(dev.Target().String(), rows, append(verdicts, more...))
	if len(others) > 0 {
		fmt.Fprintf(a.Out, "Not compared: %s, which need all 64 lanes of a wave where %s reaches 32.\n", strings.Join(others, ", "), o.GPU)
	}
	return err
}

func (a *App) tellLibrary(target string, rows []devicelib.Row, verdicts []devicelib.Verdict) error {
	fmt.Fprintf(a.Out, "| function | f16: worst | f32: worst | as AMD counts | published | f64: worst | as AMD counts | published |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	tried, known, beyond := 0, 0, 0
	var reasons []string
	for _, r := range rows {
		half := ""
		if r.F16.Tried {
			half = strings.Trim(columns(r.F16), "|")
			half, _, _ = strings.Cut(half, "|")
		}
		fmt.Fprintf(a.Out, "| `%s` | %s |%s%s\n", r.Name, strings.TrimSpace(half), columns(r.F32), columns(r.F64))
		for _, e := range []devicelib.Error{r.F16, r.F32, r.F64} {
			switch {
			case !e.Tried:
				continue
			case e.OK():
			case e.Failed == "" && e.Packed == 0 && e.Known != "":
				known++
				reasons = append(reasons, fmt.Sprintf("- `%s`: %s", r.Name, e.Known))
			default:
				beyond++
				a.note("%s: %s", r.Name, whyBeyond(e))
			}
			tried++
		}
	}
	fmt.Fprintf(a.Out, "\n%s\n", strings.Join(slices.Compact(reasons), "\n"))
	wrong := 0
	for _, v := range verdicts {
		if v.Wrong > 0 {
			wrong++
			a.note("%s: %d results are wrong: %s", v.Name, v.Wrong, v.First)
		}
	}
	fmt.Fprintf(a.Out, "\n%d functions on %s: %d within their bounds, %d beyond for a known reason, %d beyond or failed.\n", tried, target, tried-known-beyond, known, beyond)
	fmt.Fprintf(a.Out, "%d functions with one right result: %d have it, %d do not.\n", len(verdicts), len(verdicts)-wrong, wrong)
	if wrong+beyond > 0 {
		return exit.Withf(exit.Verify, "%s did not run, are wrong or beyond their bounds", plural(wrong+beyond, "function", "functions"))
	}
	return nil
}

func whyBeyond(e devicelib.Error) string {
	switch {
	case e.Failed != "":
		return e.Failed
	case e.Packed > 0:
		return fmt.Sprintf("%d results of the packed form are others", e.Packed)
	}
	return fmt.Sprintf("%.4g units at %v (%.4g as AMD counts)", e.Worst, e.At, e.AtMost)
}

func columns(e devicelib.Error) string {
	if !e.Tried {
		return " | | |"
	}
	if e.Failed != "" {
		return " failed | | |"
	}
	bound := ""
	if e.Bound >= 0 {
		bound = fmt.Sprintf("%g", e.Bound)
	}
	mark := ""
	if !e.OK() {
		mark = "**"
	}
	return fmt.Sprintf(" %.4g | %s%.4g%s | %s |", e.Worst, mark, e.AtMost, mark, bound)
}
