package explain

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// maxValue is how many characters of a value are shown.
const maxValue = 60

// hash matches what is long and says nothing to a person.
var hash = regexp.MustCompile(`\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b`)

// shorten makes two values fit for a line: hashes to twelve digits, and of
// what is still too long the part where the two differ.
func shorten(a, b string) (string, string) {
	a, b = clean(a), clean(b)
	brief := func(s string) string { return hash.ReplaceAllStringFunc(s, func(h string) string { return h[:12] }) }
	if x, y := brief(a), brief(b); x != y || a == b {
		a, b = x, y
	}
	x, y := []rune(a), []rune(b)
	if len(x) <= maxValue && len(y) <= maxValue {
		return a, b
	}
	same := 0
	for same < len(x) && same < len(y) && x[same] == y[same] {
		same++
	}
	from := max(0, same-maxValue/3)
	return window(x, from), window(y, from)
}

// window cuts at most maxValue characters out of s, from a place on, with an
// ellipsis where something was left out.
func window(s []rune, from int) string {
	from = min(from, max(0, len(s)-maxValue))
	to := min(len(s), from+maxValue)
	text := string(s[from:to])
	if from > 0 {
		text = "…" + text
	}
	if to < len(s) {
		text += "…"
	}
	return text
}

// clean makes text from a store's files fit for a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// WriteText writes the verdict for a person.
func (v Verdict) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if v.State == UpToDate {
		line("%s: up to date", v.ID)
		line("  key      %s", v.Key)
		line("  content  %s", v.Content)
		line("  built    %s, in %s", stamp(*v.Built), (time.Duration(v.Seconds * float64(time.Second))).Round(100*time.Millisecond))
		return flush(w, &b)
	}
	head := map[State]string{
		New:     "new: it was never built for " + v.Host + ", or the store has forgotten it",
		Gone:    "to be built again: nothing changed, but its result is gone from the store",
		Changed: "to be built again: " + v.Why,
		Cascade: "to be built again " + v.Why,
		Waiting: "perhaps to be built again, " + v.Why,
		Unknown: "cannot be said yet: " + clean(v.Problem),
	}
	line("%s: %s", v.ID, head[v.State])
	if v.Key != "" {
		line("  key      %s", v.Key)
	}
	if v.Nearest != nil {
		line("  nearest  %s, content %s, built %s", short(v.Nearest.Key), short(v.Nearest.Content), stamp(v.Nearest.Built))
	}
	var rows [][2]string
	for _, c := range v.Changes {
		rows = append(rows, [2]string{c.Subject(), c.Values()})
	}
	section(&b, "cause, inputs of its own:", rows)
	rows = nil
	for _, n := range v.Needs {
		if n.First {
			rows = append(rows, [2]string{n.Component, "must be built first; if it gives the same bytes, nothing changes by it"})
			continue
		}
		rows = append(rows, [2]string{n.Component, fmt.Sprintf("content %s → %s", short(n.Old), short(n.New))})
	}
	section(&b, "cascade, what it needs:", rows)
	if v.State == Waiting {
		names := make([]string, len(v.Needs))
		for i, n := range v.Needs {
			names[i] = n.Component
		}
		line("  It is looked at again once %s is built; with the same bytes it stays as it is.", strings.Join(names, ", "))
	}
	if len(v.Chains) > 0 {
		line("  chain:")
		for _, c := range v.Chains {
			line("    %s", c)
		}
		if len(v.Chains) == MaxChains {
			line("    … and perhaps others, further away")
		}
	}
	return flush(w, &b)
}

// section writes rows of two columns under a title.
func section(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, "  %s\n", title)
	width := 0
	for _, r := range rows {
		width = max(width, min(maxValue, len([]rune(r[0]))))
	}
	for _, r := range rows {
		fmt.Fprintf(b, "    %-*s  %s\n", width, r[0], r[1])
	}
}

func flush(w io.Writer, b *strings.Builder) error {
	_, err := io.WriteString(w, b.String())
	return err
}

func short(id string) string {
	id = strings.TrimPrefix(clean(id), "sha256:")
	if len(id) > 12 {
		id = id[:12]
	}
	return orNone(id)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
