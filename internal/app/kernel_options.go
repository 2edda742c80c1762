package app

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/internal/ui"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// allGPUs stands for every GPU whose instructions the emulator knows.
const allGPUs = "all"

// checkFile sees to it that the first argument is a file, and not a flag that was
// written before it.
func (a *App) checkFile(verb string, o KernelOptions) error {
	if strings.HasPrefix(o.File, "-") {
		return exit.Withf(exit.Usage, "%s: found the flag %s where the file is expected: the file comes first, flags behind it; -h %s lists them", verb, o.File, verb)
	}
	if _, err := os.Stat(a.path(o.File)); err != nil {
		return exit.Withf(exit.Usage, "%w: expected a HIP source, or a file with code objects", err)
	}
	return nil
}

// gpusOf reads the list of -gpu; nil where nobody says one.
func (a *App) gpusOf(o KernelOptions) ([]string, error) {
	switch {
	case o.GPU == "":
		return nil, nil
	case o.GPU == allGPUs && isSource(o.File):
		return emulator.Processors()
	case o.GPU == allGPUs:
		return nil, exit.Withf(exit.Usage, "-gpu=all is for sources, which are compiled for each: say which of the GPUs that %s has code for", o.File)
	}
	list := strings.Split(o.GPU, ",")
	seen := map[string]bool{}
	for _, name := range list {
		if name == "" || seen[name] {
			return nil, exit.Withf(exit.Usage, "-gpu: found %q, expected GPUs separated by commas, each once", o.GPU)
		}
		seen[name] = true
	}
	return list, nil
}

// codeFor lists the target ids that a file has code objects for.
func codeFor(data []byte) string {
	list, _ := codeobj.Slices(data, codeobj.Limits{}) // it was read before
	var names []string
	for _, s := range list {
		_, name, found := strings.Cut(s.ID, "--")
		if found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return suggest.List(names, 16)
}

// command is the call with the flags that say which code is run, as a hint begins.
func (o KernelRunOptions) command() string {
	words := []string{"go tool mage kernel:run", quotedWord(o.File)}
	seed := ""
	if o.Seed != nil {
		seed = fmt.Sprint(*o.Seed)
	}
	for _, f := range []struct{ name, value string }{{"launch", o.Launch}, {"gpu", o.GPU}, {"bundle", o.Bundle}, {"cflags", o.Flags}, {"kernel", o.Kernel}, {"check", o.Check}, {"seed", seed}} {
		if f.value != "" {
			words = append(words, quotedWord("-"+f.name+"="+f.value))
		}
	}
	return strings.Join(words, " ")
}

// quotedWord is a word as a shell reads it.
func quotedWord(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+,./:@%", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// templateHead is what stands above a template: where its keys are explained, and by
// what editors complete them, from the folder of the source.
func (a *App) templateHead(o KernelRunOptions) string {
	root, err := spec.FindRoot(a.Dir)
	if err != nil {
		return "# docs/kernels.md of Stonemason explains the keys.\n"
	}
	up, err := filepath.Rel(filepath.Dir(a.path(o.File)), root)
	schema := filepath.Join(root, spec.SchemaDir, launchfile.SchemaFile)
	if _, missing := os.Stat(schema); err != nil || missing != nil {
		return "# docs/kernels.md of Stonemason explains the keys.\n"
	}
	return fmt.Sprintf("# %s explains the keys.\n# yaml-language-server: $schema=%s\n",
		filepath.ToSlash(filepath.Join(up, "docs", "kernels.md")), filepath.ToSlash(filepath.Join(up, spec.SchemaDir, launchfile.SchemaFile)))
}

// compilerText is what a compiler wrote without what hipcc says of itself: a warning
// about a flag of its own, and the command that failed, which names a folder that is
// gone.
func compilerText(s string) string {
	var kept []string
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(line, "failed to execute:") || strings.Contains(line, "argument unused during compilation: '--hip-link'") {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// tellMismatches prints the first wrong elements of a buffer.
func (a *App) tellMismatches(b launchfile.Buffer) error {
	fmt.Fprintf(a.Out, "%s: %d of %d elements are not as expected", b.Name, b.Wrong, b.Count)
	if b.Type.Float() {
		fmt.Fprintf(a.Out, " (allowed: %g ulp", b.ULP)
		if b.Abs > 0 {
			fmt.Fprintf(a.Out, ", or %g", b.Abs)
		}
		fmt.Fprintf(a.Out, "; worst: element %d, %s ulp)", b.At, ulps(b.WorstULP))
	}
	fmt.Fprintln(a.Out)
	headers, align := []string{"element", "found", "expected", "difference"}, []ui.Align{ui.Right, ui.Right, ui.Right, ui.Right}
	if b.Type.Float() {
		headers, align = append(headers, "ulp"), append(align, ui.Right)
	}
	var rows [][]string
	for _, w := range b.Bad {
		row := []string{fmt.Sprint(w.Element), w.Got, w.Expected, ulps(w.Abs)}
		if b.Type.Float() {
			row = append(row, ulps(w.ULP))
		}
		rows = append(rows, row)
	}
	return ui.Table(a.Out, a.look(), headers, rows, ui.TableOptions{Align: align})
}

// ulps writes a distance, of which the largest number stands for one without end.
func ulps(v float64) string {
	if v == math.MaxFloat64 {
		return "-"
	}
	return fmt.Sprintf("%.3g", v)
}
