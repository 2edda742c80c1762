package ui

import (
	"fmt"
	"io"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
)

// Align places text in a column.
type Align int

// The alignments.
const (
	Left Align = iota
	Right
)

// TableOptions shapes a table. The zero value is fine.
type TableOptions struct {
	Title string
	Align []Align // a column each; missing ones are Left
	// Flex is one more than the column that gives way first when there is not
	// enough room; 0 lets the widest do so.
	Flex int
	// Style gives the tone of a cell; row -1 is the header. Nil is Normal.
	Style func(row, col int) Tone
}

const (
	minColumn = 6  // a column is not squeezed below this, …
	maxWord   = 14 // nor below its longest word, up to this
	minFlex   = 16 // the flex column gives way down to this before others do
)

// Table writes a table no wider than look.Width: columns give way and their
// text wraps, and where even that does not fit every row becomes a small block
// of "header value" lines. On a terminal it has borders; elsewhere it is plain
// text with columns two spaces apart and no line ends in a space. Missing
// cells are empty, surplus ones are ignored.
func Table(w io.Writer, look Look, headers []string, rows [][]string, o TableOptions) error {
	_, err := io.WriteString(w, tableText(look, headers, rows, o))
	return err
}

func tableText(look Look, headers []string, rows [][]string, o TableOptions) string {
	n := len(headers)
	if n == 0 {
		return ""
	}
	cells := make([][]string, 0, len(rows)+1)
	cells = append(cells, cleanCells(headers, n))
	for _, r := range rows {
		cells = append(cells, cleanCells(r, n))
	}
	natural, floor := make([]int, n), make([]int, n)
	for _, r := range cells {
		for c, s := range r {
			for line := range strings.SplitSeq(s, "\n") {
				natural[c] = max(natural[c], textWidth(line))
			}
			for word := range strings.FieldsSeq(s) {
				floor[c] = max(floor[c], minColumn, min(maxWord, textWidth(word)))
			}
		}
	}
	frame := 2 * (n - 1)
	if look.TTY {
		frame = 3*n + 1
	}
	if o.Style == nil {
		o.Style = func(int, int) Tone { return Normal }
	}
	var b strings.Builder
	if o.Title != "" {
		for _, line := range wrap(Clean(o.Title), look.Width) {
			b.WriteString(look.paint(Strong, line) + "\n")
		}
	}
	widths, fits := natural, true
	if look.Width > 0 {
		widths, fits = squeeze(natural, floor, look.Width-frame, o.Flex-1)
	}
	switch {
	case !fits:
		stacked(&b, look, cells, o)
	case look.TTY:
		bordered(&b, look, cells, widths, o)
	default:
		columns(&b, cells, widths, o)
	}
	return b.String()
}

func cleanCells(row []string, n int) []string {
	out := make([]string, n)
	for c := range min(n, len(row)) {
		lines := strings.Split(row[c], "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(Clean(lines[i]), " ")
		}
		out[c] = strings.Join(lines, "\n")
	}
	return out
}

// squeeze finds column widths that add up to at most room and are not below
// their floors. It reports false when there are none.
func squeeze(natural, floor []int, room, flex int) ([]int, bool) {
	widths := append([]int(nil), natural...)
	total := 0
	for c, n := range natural {
		// No column needs more than the whole room; this bounds the loop below.
		widths[c] = min(n, max(room, 1))
		total += widths[c]
	}
	if flex >= 0 && flex < len(widths) && total > room {
		give := min(total-room, max(0, widths[flex]-max(minFlex, floor[flex])))
		widths[flex] -= give
		total -= give
	}
	for total > room {
		widest := -1
		for c := range widths {
			if widths[c] > floor[c] && (widest < 0 || widths[c] > widths[widest]) {
				widest = c
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
		total--
	}
	return widths, true
}

func (o TableOptions) align(col int) Align {
	if col < len(o.Align) {
		return o.Align[col]
	}
	return Left
}

// wrapCell wraps the lines of a cell.
func wrapCell(s string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(s, "\n") {
		out = append(out, wrap(line, width)...)
	}
	return out
}

func columns(b *strings.Builder, cells [][]string, widths []int, o TableOptions) {
	for _, row := range cells {
		wrapped := make([][]string, len(row))
		height := 1
		for c, s := range row {
			wrapped[c] = wrapCell(s, widths[c])
			height = max(height, len(wrapped[c]))
		}
		for i := range height {
			var line strings.Builder
			for c := range row {
				if c > 0 {
					line.WriteString("  ")
				}
				text := ""
				if i < len(wrapped[c]) {
					text = wrapped[c][i]
				}
				if o.align(c) == Right {
					line.WriteString(strings.Repeat(" ", max(0, widths[c]-textWidth(text))) + text)
				} else {
					line.WriteString(pad(text, widths[c]))
				}
			}
			b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
		}
	}
}

func bordered(b *strings.Builder, look Look, cells [][]string, widths []int, o TableOptions) {
	border := lipgloss.ASCIIBorder()
	if look.Unicode {
		border = lipgloss.RoundedBorder()
	}
	for r, row := range cells {
		for c, s := range row {
			cells[r][c] = strings.Join(wrapCell(s, widths[c]), "\n")
		}
	}
	t := table.New().Border(border).BorderStyle(Faint.style()).
		Headers(cells[0]...).Rows(cells[1:]...).
		StyleFunc(func(row, col int) lipgloss.Style {
			tone := o.Style(row, col)
			if row == table.HeaderRow && tone == Normal {
				tone = Strong
			}
			s := tone.style().Padding(0, 1).Width(widths[col] + 2)
			if o.align(col) == Right {
				s = s.Align(lipgloss.Right)
			}
			return s
		})
	b.WriteString(look.render(t.Render()) + "\n")
}

// stacked is the form for terminals too narrow for columns: the first cell on
// a line of its own, then a line for each other cell that has text.
func stacked(b *strings.Builder, look Look, cells [][]string, o TableOptions) {
	indent := 2
	if look.Width < 8 {
		indent = 0
	}
	for r, row := range cells[1:] {
		for _, line := range wrapCell(row[0], look.Width) {
			tone := o.Style(r, 0)
			if tone == Normal {
				tone = Strong
			}
			b.WriteString(look.paint(tone, line) + "\n")
		}
		for c := 1; c < len(row); c++ {
			if row[c] == "" {
				continue
			}
			text := row[c]
			if cells[0][c] != "" {
				text = fmt.Sprintf("%s: %s", cells[0][c], row[c])
			}
			for _, line := range wrapCell(text, max(1, look.Width-indent)) {
				b.WriteString(strings.Repeat(" ", indent) + look.paint(o.Style(r, c), line) + "\n")
			}
		}
	}
}
