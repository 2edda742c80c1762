package ui

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Bytes writes a size with IEC units and about three digits: 512 B, 3.4 MiB.
func Bytes(n int64) string {
	if n < 0 {
		if n == -1<<63 {
			n++
		}
		return "-" + Bytes(-n)
	}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), 0
	const units = "KMGTPE"
	for v /= 1024; v >= 1023.5 && unit < len(units)-1; v /= 1024 {
		unit++
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %ciB", v, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", v, units[unit])
}

// Duration writes a time span as a person says it: 450ms, 3.2s, 48s, 1m23s,
// 2h05m.
func Duration(d time.Duration) string {
	if d < 0 {
		if d == -1<<63 {
			d++
		}
		return "-" + Duration(-d)
	}
	switch {
	case d > 0 && d < time.Millisecond:
		return "<1ms"
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds())
	case d < 9950*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	s := int64(d.Round(time.Second).Seconds())
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}

// clock writes a time since the start: 03:07, 1:02:03.
func clock(d time.Duration) string {
	s := int64(max(d, 0).Seconds())
	if s < 3600 {
		return fmt.Sprintf("%02d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s%3600/60, s%60)
}

// Clean makes a line that came from outside safe to print: escape sequences
// and control characters go, tabs become spaces, bytes that are not UTF-8
// become U+FFFD, and the characters that reorder text (Unicode bidi controls)
// go too, since they can make a line read as something else.
func Clean(line string) string {
	if !needsCleaning(line) {
		return line
	}
	var b strings.Builder
	column := 0
	for i := 0; i < len(line); {
		r, n := utf8.DecodeRuneInString(line[i:])
		switch {
		case r == '\t':
			spaces := 8 - column%8
			b.WriteString(strings.Repeat(" ", spaces))
			column += spaces
		case r == 0x1b:
			n = 1 + escapeLen(line[i+1:])
		case r == 0x9b: // CSI as one character
			n += csiLen(line[i+n:])
		case unicode.IsControl(r), isBidi(r), r == '\u2028', r == '\u2029':
		default:
			b.WriteRune(r)
			column++
		}
		i += n
	}
	return b.String()
}

func needsCleaning(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return true
		}
	}
	return false
}

// isBidi reports the explicit formatting characters of Unicode's annex 9.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// escapeLen returns how many bytes after an ESC belong to its sequence
// (ECMA-48: CSI sequences, command strings ended by BEL or ST, and escape
// sequences with intermediate bytes). Of a command string without an end only
// the introducer goes, so that it cannot hide the rest of the line.
func escapeLen(s string) int {
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case c == '[':
		return 1 + csiLen(s[1:])
	case strings.IndexByte("]PX^_", c) >= 0:
		for i := 1; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return 1
	case c >= 0x20 && c <= 0x2f:
		i := 1
		for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
			i++
		}
		if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
			i++
		}
		return i
	case c >= 0x30 && c <= 0x7e:
		return 1
	}
	return 0
}

func csiLen(s string) int {
	i := 0
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x3f {
		i++
	}
	if i < len(s) && s[i] >= 0x40 && s[i] <= 0x7e {
		i++
	}
	return i
}

// textWidth returns the columns that s takes.
func textWidth(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return ansi.StringWidth(s)
		}
	}
	return len(s) // a column each, which is most of what is ever shown
}

// truncate cuts s, plain or painted, to at most width columns.
func truncate(s string, width int, l Look) string {
	if width <= 0 {
		return ""
	}
	tail := l.symbol("…", "~")
	if width == 1 {
		tail = ""
	}
	return ansi.Truncate(s, width, tail)
}

// wrap breaks s, a plain text, at spaces, and inside words that are wider than
// width. Leading space is kept on the first line. Hyphens and slashes are no
// places to break, since paths and flags are to be copied whole.
func wrap(s string, width int) []string {
	if width <= 0 || textWidth(s) <= width {
		return []string{s}
	}
	var lines []string
	line, used := "", 0
	for i, word := range strings.Split(s, " ") {
		w := textWidth(word)
		if i > 0 && used+1+w <= width {
			line, used = line+" "+word, used+1+w
			continue
		}
		if i > 0 && strings.TrimSpace(line) != "" {
			lines = append(lines, strings.TrimRight(line, " "))
		}
		for w > width {
			head := ansi.Truncate(word, width, "")
			if head == "" { // one character wider than the column
				_, n := utf8.DecodeRuneInString(word)
				head = word[:n]
			}
			lines = append(lines, head)
			word = word[len(head):]
			w = textWidth(word)
		}
		line, used = word, w
	}
	if strings.TrimSpace(line) != "" || len(lines) == 0 {
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// pad fills s with spaces to width columns.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-textWidth(s)))
}

// plural returns "1 word" or "n words".
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
