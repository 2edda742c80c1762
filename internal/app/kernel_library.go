package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/devicelib"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
)

// KernelLibrary compiles a kernel for each function of the device's mathematical
// library, runs them on the emulator, and prints how exact they are as a table of
// Markdown.
func (a *App) KernelLibrary(ctx context.Context, o KernelOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	if o.GPU == "" {
		o.GPU = "gfx942"
	}
	work, err := os.MkdirTemp("", "stonemason-library-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	list := devicelib.Functions()
	o.File = filepath.Join(work, "library.hip")
	if err := os.WriteFile(o.File, []byte(devicelib.Source("#include <hip/hip_runtime.h>\n", list)), 0o644); err != nil {
		return err
	}
	data, target, err := a.kernelCode(ctx, o)
	if err != nil {
		return stopped(ctx, err)
	}
	dev, err := emulator.NewDevice(target.String())
	if err != nil {
		return exit.With(exit.Unsupported, err)
	}
	mod, err := dev.Load(data)
	if err != nil {
		return exit.With(exit.Config, err)
	}
	rows, err := devicelib.Measure(ctx, dev, mod, list)
	if err != nil {
		return stopped(ctx, err)
	}
	fmt.Fprintf(a.Out, "| function | f32: worst | as AMD counts | published | f64: worst | as AMD counts | published |\n|---|---:|---:|---:|---:|---:|---:|\n")
	beyond, failed := 0, 0
	for _, r := range rows {
		fmt.Fprintf(a.Out, "| `%s` |%s%s\n", r.Name, columns(r.F32), columns(r.F64))
		for _, e := range []devicelib.Error{r.F32, r.F64} {
			switch {
			case e.Failed != "":
				failed++
				a.note("%s: %s", r.Name, e.Failed)
			case !e.OK():
				beyond++
			}
		}
	}
	n := 2 * len(rows)
	fmt.Fprintf(a.Out, "\n%d functions on %s: %d within what AMD publishes or without a figure, %d beyond it, %d did not run.\n", n, target, n-beyond-failed, beyond, failed)
	if failed > 0 {
		return exit.Withf(exit.Verify, "%d functions did not run", failed)
	}
	return nil
}

func columns(e devicelib.Error) string {
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
