package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Report is what an audit found.
type Report struct {
	Root     string            `json:"root"`
	Platform platform.Platform `json:"platform"`
	// Files and Bytes are what was read; Images the object files of the
	// platform among them; Executed the programs that were run.
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	Images   int   `json:"images"`
	Executed int   `json:"executed"`
	// Floor is what the bundle asks of the base system.
	Floor    []Floor       `json:"floor,omitempty"`
	Findings []Finding     `json:"findings"`
	Elapsed  time.Duration `json:"elapsed_ns"`
}

// Floor is the newest symbol version of one family that the bundle asks for.
type Floor struct {
	Family  string `json:"family"`
	Version string `json:"version"`
	// File is the first that asks for it.
	File string `json:"file"`
}

// maxShown is how many findings of one rule Table shows.
const maxShown = 50

// leastWidth is the narrowest terminal that lines are broken for.
const leastWidth = 40

// Add adds findings.
func (r *Report) Add(findings ...Finding) { r.Findings = append(r.Findings, findings...) }

// OK reports whether there is no error among the findings.
func (r *Report) OK() bool { return r.Count(Error) == 0 }

// Count is the number of findings of a severity.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// sort puts errors first and equal audits into equal order, and leaves each
// finding once.
func (r *Report) sort() {
	order := []Severity{Error, Warning, Info}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity)),
			strings.Compare(a.File, b.File), strings.Compare(a.Rule, b.Rule), strings.Compare(a.What, b.What), strings.Compare(a.Fix, b.Fix))
	})
	r.Findings = slices.Compact(r.Findings)
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	r.sort()
	out := *r
	if out.Findings == nil {
		out.Findings = []Finding{}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// Table writes the report for a person, in lines of at most width columns. A
// width below 40, which is that of no terminal, gives each finding one line of
// any length: severity, rule, file, what, fix.
func (r *Report) Table(w io.Writer, width int) error {
	r.sort()
	var b strings.Builder
	fmt.Fprintf(&b, "audit of %s for %s: %s, %s, %s", clean(r.Root), r.Platform, count(r.Files, "file"), size(r.Bytes), count(r.Images, "image"))
	if r.Executed > 0 {
		fmt.Fprintf(&b, ", %s run", count(r.Executed, "program"))
	}
	b.WriteString("\n")
	if len(r.Floor) > 0 {
		var parts []string
		for _, f := range r.Floor {
			parts = append(parts, f.Family+" "+f.Version)
		}
		wrap(&b, "needs of the system: "+strings.Join(parts, ", "), "", width)
	}
	shown := map[string]int{}
	longest := 0
	for _, f := range r.Findings {
		longest = max(longest, len(f.Rule))
	}
	for k, f := range r.Findings {
		if f.Severity == Info && f.Rule == ruleGlibc {
			continue // The line above says it.
		}
		if shown[f.Rule]++; shown[f.Rule] > maxShown {
			continue
		}
		if width < leastWidth {
			if k == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "%-7s  %-*s  %s: %s", f.Severity, longest, f.Rule, clean(f.File), clean(f.What))
			if f.Fix != "" {
				b.WriteString("; fix: " + clean(f.Fix))
			}
			b.WriteString("\n")
			continue
		}
		fmt.Fprintf(&b, "\n%-7s  %s  %s\n", f.Severity, f.Rule, clean(f.File))
		wrap(&b, clean(f.What), "         ", width)
		if f.Fix != "" {
			wrap(&b, "fix: "+clean(f.Fix), "         ", width)
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(shown)) {
		if more := shown[rule] - maxShown; more > 0 {
			fmt.Fprintf(&b, "\nand %d more of %s, which -format=json lists\n", more, rule)
		}
	}
	if len(shown) > 0 {
		b.WriteString("\n")
	}
	if r.OK() && r.Count(Warning) == 0 {
		b.WriteString("nothing is wrong\n")
	} else {
		fmt.Fprintf(&b, "%s, %s\n", count(r.Count(Error), "error"), count(r.Count(Warning), "warning"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func size(n int64) string {
	for _, unit := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}} {
		if n >= unit.bytes {
			return strconv.FormatFloat(float64(n)/float64(unit.bytes), 'f', 1, 64) + " " + unit.name
		}
	}
	return count(int(n), "byte")
}

// clean keeps a hostile file name from writing to the terminal.
func clean(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return s
	}
	return strconv.Quote(s)
}

// wrap breaks text at spaces. A word that is longer than a line stays whole,
// so that a path can be copied.
func wrap(b *strings.Builder, text, indent string, width int) {
	line := indent
	used := utf8.RuneCountInString(indent)
	empty := true
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if !empty && width >= leastWidth && used+1+n > width {
			b.WriteString(line + "\n")
			line, used, empty = indent, utf8.RuneCountInString(indent), true
		}
		if !empty {
			line += " "
			used++
		}
		line += word
		used += n
		empty = false
	}
	b.WriteString(line + "\n")
}
