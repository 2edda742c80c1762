package app

import (
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/emulator/lines"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// tellKernels prints the report of kernel:run.
func (a *App) tellKernels(r kernelReport, quiet bool) error {
	if !quiet || !r.OK {
		fmt.Fprintf(a.Out, "%s on the emulator as %s\n", r.File, r.Target)
	}
	checked := 0
	for _, l := range r.Launches {
		for _, b := range l.Buffers {
			if b.Checked {
				checked++
			}
		}
		var followed *kernelTrace
		if len(r.Trace) > 0 && r.Trace[0].Kernel == l.Symbol {
			followed, r.Trace = r.Trace[0], r.Trace[1:]
		}
		if quiet && l.OK && followed == nil {
			continue
		}
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
		if followed != nil {
			a.tellTrace(followed, r.source)
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
	if n := len(r.NotRun); n > 0 {
		fmt.Fprintf(a.Out, "  %s behind it %s not run\n", plural(n, "launch", "launches"), map[bool]string{true: "was", false: "were"}[n == 1])
	}
	head := "ok: "
	if quiet {
		head = fmt.Sprintf("%s on %s: ok: ", r.File, r.Target)
	} else {
		fmt.Fprintln(a.Out)
	}
	switch {
	case r.OK && checked > 0:
		fmt.Fprintf(a.Out, "%s%s, %s as expected\n", head, plural(len(r.Launches), "launch", "launches"), plural(checked, "buffer", "buffers"))
	case r.OK:
		fmt.Fprintf(a.Out, "%s%s; nothing was compared: say expect: of a buffer (docs/kernels.md)\n", head, plural(len(r.Launches), "launch", "launches"))
	}
	return nil
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
	}
	if err := ui.Table(a.Out, a.look(), []string{"buffer", "type", "elements", "result", "first elements"}, rows,
		ui.TableOptions{Align: []ui.Align{ui.Left, ui.Left, ui.Right, ui.Left, ui.Left}, Flex: 5}); err != nil {
		return err
	}
	for _, b := range buffers {
		if b.Wrong > 0 {
			if err := a.tellMismatches(b); err != nil {
				return err
			}
		}
	}
	return nil
}
