// Package ui is what a person sees: live status on a terminal, plain lines
// elsewhere, log groups in GitHub Actions, failures with the compiler's own
// words, and tables.
//
// Rules: one goroutine owns the terminal (UI). Escape sequences are written to
// terminals only. Text that came from a child process or a file is cleaned
// before it is shown. Nothing here decides anything: all of it is drawn from
// trace events and from values that are handed in.
package ui

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"golang.org/x/term"
)

// Look says what the place that text goes to can show. The zero value is plain
// ASCII text without wrapping, right for files and pipes.
type Look struct {
	Width   int                  // columns; 0 means do not wrap
	TTY     bool                 // escape sequences are understood
	Profile colorprofile.Profile // colours; ASCII keeps bold and faint only
	Unicode bool                 // symbols beyond ASCII can be shown
}

// Detect looks at the file that output goes to and at the environment
// ("NAME=value" entries, as os.Environ returns them), without starting any
// process: NO_COLOR (no-color.org: any non-empty value), TERM (unset or dumb
// means plain), COLORTERM, CLICOLOR, the locale, GITHUB_ACTIONS, and COLUMNS
// where the terminal does not tell its width.
func Detect(out *os.File, env []string) Options {
	get := func(name string) string {
		for i := len(env) - 1; i >= 0; i-- {
			if v, ok := strings.CutPrefix(env[i], name+"="); ok {
				return v
			}
		}
		return ""
	}
	o := Options{Out: out, In: os.Stdin, Heartbeat: defaultHeartbeat}
	o.Profile = colorprofile.NoTTY
	o.GitHubActions = get("GITHUB_ACTIONS") == "true"
	if out == nil || o.GitHubActions || !term.IsTerminal(int(out.Fd())) {
		return o
	}
	if t := get("TERM"); t == "" || t == "dumb" {
		return o
	}
	o.TTY = true
	o.Width, o.Height = size(out)
	if o.Width <= 0 {
		o.Width, _ = strconv.Atoi(get("COLUMNS"))
	}
	if o.Width <= 0 {
		o.Width = defaultWidth
	}
	if o.Height <= 0 {
		o.Height = defaultHeight
	}
	o.Profile = max(colorprofile.Env(env), colorprofile.ASCII)
	if get("NO_COLOR") != "" {
		o.Profile = colorprofile.ASCII
	}
	locale := get("LC_ALL")
	for _, name := range []string{"LC_CTYPE", "LANG"} {
		if locale == "" {
			locale = get(name)
		}
	}
	locale = strings.ToLower(locale)
	o.Unicode = strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
	return o
}

const (
	defaultWidth  = 80
	defaultHeight = 24
)

// size returns columns and rows of a terminal, or zeros.
func size(f *os.File) (width, height int) {
	w, h, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return w, h
}

// Tone is the meaning of a piece of text; the Look decides how it shows.
type Tone int

// The tones. Only the sixteen colours of the terminal's own theme are used.
const (
	Normal Tone = iota
	Good
	Bad
	Caution
	Faint
	Strong
)

func (t Tone) style() lipgloss.Style {
	s := lipgloss.NewStyle()
	switch t {
	case Good:
		return s.Foreground(lipgloss.Green)
	case Bad:
		return s.Foreground(lipgloss.Red).Bold(true)
	case Caution:
		return s.Foreground(lipgloss.Yellow)
	case Faint:
		return s.Faint(true)
	case Strong:
		return s.Bold(true)
	}
	return s
}

// paint returns s, a text of one line, in the given tone.
func (l Look) paint(t Tone, s string) string {
	if !l.TTY || t == Normal || s == "" {
		return s
	}
	return l.render(t.style().Inline(true).Render(s))
}

// render reduces styled text to what the Look can show.
func (l Look) render(styled string) string {
	p := l.Profile
	if !l.TTY {
		p = colorprofile.NoTTY
	}
	var b bytes.Buffer
	w := colorprofile.Writer{Forward: &b, Profile: p}
	if _, err := w.WriteString(styled); err != nil {
		return Clean(styled)
	}
	return b.String()
}

// symbol returns the Unicode form where it can be shown.
func (l Look) symbol(unicode, ascii string) string {
	if l.Unicode && l.TTY {
		return unicode
	}
	return ascii
}
