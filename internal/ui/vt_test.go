package ui

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// vt is a small terminal: enough of ECMA-48 for what this package writes, with
// the wrap-at-the-next-character behaviour of real ones, scrolling, and lines
// that are wrapped anew when its width changes (as xterm-likes with reflow,
// VTE, kitty and tmux do). Any sequence it does not know is an error, so that
// the tests see when the package starts to use a new one.
type vt struct {
	width, height int
	rows          []vtRow // everything since the start; the last height are on screen
	r, c          int     // cursor: row in rows, column
	wrapNext      bool
	err           error
	maxWide       int
}

type vtRow struct {
	cells   []rune
	wrapped bool // the next row continues this one
}

func newVT(width, height int) *vt {
	return &vt{width: width, height: height, rows: []vtRow{{}}}
}

func (v *vt) top() int { return max(0, len(v.rows)-v.height) }

func (v *vt) Write(p []byte) (int, error) {
	s := string(p)
	for i := 0; i < len(s); {
		switch s[i] {
		case '\n': // the line discipline makes it CR LF
			v.newline(false)
			i++
		case '\r':
			v.c, v.wrapNext = 0, false
			i++
		case 0x1b:
			i += v.escape(s[i:])
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r < 0x20 || r == 0x7f {
				v.fail("control character %q", r)
			}
			v.put(r)
			i += n
		}
	}
	return len(p), nil
}

func (v *vt) fail(format string, a ...any) {
	if v.err == nil {
		v.err = fmt.Errorf(format, a...)
	}
}

func (v *vt) newline(wrapped bool) {
	v.rows[v.r].wrapped = wrapped
	v.r++
	v.c, v.wrapNext = 0, false
	if v.r == len(v.rows) {
		v.rows = append(v.rows, vtRow{})
	}
}

func (v *vt) put(r rune) {
	if ansi.StringWidth(string(r)) != 1 {
		v.fail("the emulation knows only characters of one column, not %q", r)
	}
	if v.wrapNext {
		v.newline(true)
	}
	row := &v.rows[v.r]
	for len(row.cells) <= v.c {
		row.cells = append(row.cells, ' ')
	}
	row.cells[v.c] = r
	v.maxWide = max(v.maxWide, v.c+1)
	if v.c+1 == v.width {
		v.wrapNext = true
	} else {
		v.c++
	}
}

func (v *vt) escape(s string) int {
	end := 2
	if len(s) < 3 || s[1] != '[' {
		v.fail("escape sequence %q", s[:min(len(s), 4)])
		return min(len(s), 2)
	}
	for end < len(s) && s[end] >= 0x20 && s[end] <= 0x3f {
		end++
	}
	if end == len(s) {
		v.fail("torn escape sequence %q", s)
		return len(s)
	}
	arg := s[2:end]
	switch s[end] {
	case 'A':
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			v.fail("cursor up by %q", arg)
		}
		v.r = max(v.top(), v.r-n)
		v.wrapNext = false
	case 'K':
		if arg != "" {
			v.fail("erase line %q", arg)
		}
		if v.wrapNext {
			v.fail("erasing in the wrap position, where terminals differ")
		}
		v.rows[v.r].cells = v.rows[v.r].cells[:min(v.c, len(v.rows[v.r].cells))]
		v.rows[v.r].wrapped = false
	case 'm':
	default:
		v.fail("escape sequence %q", s[:end+1])
	}
	return end + 1
}

// resize wraps everything anew, keeping the cursor on its character.
func (v *vt) resize(width, height int) {
	var rows []vtRow
	nr, nc := 0, 0
	for i := 0; i < len(v.rows); {
		var line []rune
		cursor := -1
		for {
			if i == v.r {
				cursor = len(line) + v.c
				if v.wrapNext {
					cursor++
				}
			}
			line = append(line, v.rows[i].cells...)
			i++
			if !v.rows[i-1].wrapped || i == len(v.rows) {
				break
			}
		}
		if cursor >= 0 {
			nr, nc = len(rows)+cursor/width, cursor%width
		}
		for len(line) > width {
			rows = append(rows, vtRow{line[:width:width], true})
			line = line[width:]
		}
		rows = append(rows, vtRow{line, false})
	}
	for nr >= len(rows) {
		rows = append(rows, vtRow{})
	}
	for len(rows) > nr+1 && len(rows[len(rows)-1].cells) == 0 {
		rows = rows[:len(rows)-1] // nothing was ever there
	}
	v.rows, v.r, v.c, v.width, v.height, v.wrapNext = rows, nr, nc, width, height, false
}

// text returns everything that stands on the terminal and in its scrollback,
// wrapped lines joined, without trailing empty lines.
func (v *vt) text() string {
	var b strings.Builder
	for _, r := range v.rows {
		b.WriteString(string(r.cells))
		if !r.wrapped {
			b.WriteString("\n")
		}
	}
	var lines []string
	for l := range strings.SplitSeq(b.String(), "\n") {
		lines = append(lines, strings.TrimRight(l, " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}
