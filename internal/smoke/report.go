package smoke

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Row is one example compiled for one GPU.
type Row struct {
	Example  string  `json:"example"`
	GPU      string  `json:"gpu"` // canonical target id
	OK       bool    `json:"ok"`
	Kernels  int     `json:"kernels"`
	Version  int     `json:"code_object_version,omitempty"`
	Bytes    int     `json:"bytes"`    // size of the code object
	Seconds  float64 `json:"seconds"`  // wall time of the compiler
	Repeated bool    `json:"repeated"` // compiled again in another folder: the same bytes
	// Emulator says whether the kernels computed what they ought to on the emulator:
	// ran, failed or unknown (the GPU); empty when the example does not say how, or its
	// code object is wrong.
	Emulator string `json:"emulator,omitempty"`
	Finding  string `json:"finding,omitempty"`
	Log      string `json:"log,omitempty"` // path of what the compiler wrote, when it failed
}

// The kinds of bundles that are made.
const (
	KindPlain      = "bundle"            // --offload-device-only, several GPUs
	KindCompressed = "compressed bundle" // the same with --offload-compress
	KindHost       = "host object"       // -c: host code with an embedded bundle
)

// BundleRow is one multi-GPU bundle that was made and read back.
type BundleRow struct {
	Example string   `json:"example"`
	Kind    string   `json:"kind"`
	OK      bool     `json:"ok"`
	Entries []string `json:"entries"` // entry ids, in the bundle's order
	Bytes   int      `json:"bytes"`   // as stored
	Plain   int      `json:"plain"`   // uncompressed
	Seconds float64  `json:"seconds"`
	Finding string   `json:"finding,omitempty"`
	Log     string   `json:"log,omitempty"`
}

// Report is the outcome of a smoke run. Its JSON form is stable.
type Report struct {
	Bundle   string      `json:"bundle"`   // the toolchain bundle tried
	Compiler string      `json:"compiler"` // path inside of the bundle
	Version  string      `json:"version"`  // first line of the compiler's --version
	Rows     []Row       `json:"rows"`     // examples by name, GPUs in the table's order
	Bundles  []BundleRow `json:"bundles"`
}

// OK reports whether anything was tried and nothing was found.
func (r *Report) OK() bool {
	tried, failed := r.count()
	return tried > 0 && failed == 0
}

// Emulated returns how many rows ran on the emulator as they ought to, and how many
// were tried there.
func (r *Report) Emulated() (ran, of int) {
	for _, row := range r.Rows {
		switch row.Emulator {
		case Ran:
			ran, of = ran+1, of+1
		case RanWrong:
			of++
		}
	}
	return ran, of
}

func (r *Report) count() (tried, failed int) {
	for _, row := range r.Rows {
		tried++
		if !row.OK {
			failed++
		}
	}
	for _, row := range r.Bundles {
		tried++
		if !row.OK {
			failed++
		}
	}
	return tried, failed
}

// minWidth is the narrowest table; defaultWidth serves when none is known.
const (
	minWidth     = 40
	defaultWidth = 100
)

// Table prints the report as plain text for a terminal of that many columns
// (0: 100). Findings are wrapped below their row.
func (r *Report) Table(w io.Writer, width int) error {
	if width <= 0 {
		width = defaultWidth
	}
	p := &printer{w: w, width: max(width, minWidth)}
	p.line("%s (%s)", r.Compiler, r.Version)
	p.line("")

	cells := [][]string{{"EXAMPLE", "GPU", "RESULT", "KERNELS", "BYTES", "TWICE", "EMULATOR", "TIME"}}
	notes := []note{{}}
	for _, row := range r.Rows {
		cells = append(cells, []string{row.Example, row.GPU, result(row.OK), fmt.Sprint(row.Kernels), fmt.Sprint(row.Bytes),
			twice(row), emulated(row), fmt.Sprintf("%.1fs", row.Seconds)})
		notes = append(notes, note{row.Finding, row.Log})
	}
	p.table(cells, notes, 3)

	if len(r.Bundles) > 0 {
		p.line("")
		cells, notes = [][]string{{"BUNDLE OF", "KIND", "RESULT", "ENTRIES", "BYTES", "PLAIN", "TIME"}}, []note{{}}
		for _, row := range r.Bundles {
			cells = append(cells, []string{row.Example, row.Kind, result(row.OK), fmt.Sprint(len(row.Entries)), fmt.Sprint(row.Bytes),
				fmt.Sprint(row.Plain), fmt.Sprintf("%.1fs", row.Seconds)})
			notes = append(notes, note{row.Finding, row.Log})
		}
		p.table(cells, notes, 3)
	}
	p.line("")
	if ran, of := r.Emulated(); of > 0 {
		p.line("ran on the emulator: %d of %d", ran, of)
	}
	tried, failed := r.count()
	switch {
	case tried == 0:
		p.line("nothing was tried")
	case failed == 0:
		p.line("all %d checks passed", tried)
	default:
		p.line("%d of %d checks failed", failed, tried)
	}
	return p.err
}

func result(ok bool) string {
	if ok {
		return "ok"
	}
	return "FAILED"
}

func twice(r Row) string {
	if r.Repeated {
		return "same"
	}
	return "-"
}

func emulated(r Row) string {
	switch r.Emulator {
	case Ran:
		return "ran"
	case RanWrong:
		return "FAILED"
	}
	return "-"
}

type note struct{ finding, log string }

type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// table prints columns, from the numeric-th on aligned to the right. On a
// terminal that is too narrow the last columns fall away, the result never.
func (p *printer) table(cells [][]string, notes []note, numeric int) {
	widths := make([]int, len(cells[0]))
	for _, row := range cells {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	shown, total := 0, 0
	for i, n := range widths {
		if total += n + 2; total-2 > p.width && i >= numeric {
			break
		}
		shown = i + 1
	}
	for r, row := range cells {
		var b strings.Builder
		for i, c := range row[:shown] {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i >= numeric {
				c = pad + c
			} else {
				c += pad
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(c)
		}
		p.line("%s", strings.TrimRight(b.String(), " "))
		p.wrapped(notes[r].finding)
		if notes[r].log != "" {
			p.line("    log: %s", notes[r].log)
		}
	}
}

func (p *printer) wrapped(text string) {
	const indent = "    "
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(indent)+utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > p.width:
			p.line("%s%s", indent, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		p.line("%s%s", indent, line)
	}
}
