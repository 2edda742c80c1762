package ui

import (
	"fmt"
	"strings"
	"time"
)

// redraw writes pending text and the live block anew, in one write.
func (w *owner) redraw() {
	if w.held || !w.o.TTY && w.pending.Len() == 0 {
		return
	}
	if w.size != nil {
		// The terminal may have changed before its signal got here.
		if width, height := w.size(); width > 0 && height > 0 {
			w.o.Width, w.o.Height = width, height
		}
	}
	var block []string
	if w.o.TTY {
		block = w.block()
	}
	if w.pending.Len() == 0 && equal(block, w.drawn) {
		return
	}
	var b strings.Builder
	b.WriteString(w.eraser())
	b.WriteString(w.pending.String())
	if len(block) > 0 {
		b.WriteString(strings.Join(block, "\n") + "\r")
	}
	w.pending.Reset()
	w.drawn = block
	w.write(b.String())
}

// erase takes the live block away and writes pending text.
func (w *owner) erase() {
	s := w.eraser() + w.pending.String()
	w.pending.Reset()
	w.drawn = nil
	w.write(s)
}

// eraser returns the bytes that clear the block and leave the cursor where it
// began. A terminal made narrower since has wrapped the lines, which are then
// more rows; the cursor stands at the beginning of the last line, because that
// is a place that wrapping does not move about. Rows are cleared one by one:
// asked to clear from the top left corner on, tmux moves what was there into
// its history, a copy of the block for every frame.
func (w *owner) eraser() string {
	if len(w.drawn) == 0 {
		return ""
	}
	above, rows := 0, 0
	for _, line := range w.drawn {
		above = rows
		rows += max(1, (textWidth(line)+w.o.Width-1)/max(1, w.o.Width))
	}
	rows = min(rows, max(1, w.o.Height))
	return "\r" + up(above) + strings.Repeat("\x1b[K\n", rows-1) + "\x1b[K" + up(rows-1)
}

// up moves the cursor n rows up.
func up(n int) string {
	if n < 1 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA", n)
}

func equal(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// liveRow is one running step as the block shows it.
type liveRow struct {
	node, step string
	progress   string
	short      string // the progress where there is no room for more
	elapsed    time.Duration
	left       time.Duration // estimate of what remains; 0 when unknown
}

// block returns the lines of the live block, each narrower than the terminal
// so that the cursor never stands in the terminal's wrap position.
func (w *owner) block() []string {
	m := w.model
	if len(m.running) == 0 {
		return nil
	}
	now := w.o.Now()
	var rows []liveRow
	for _, n := range m.running {
		name := Clean(m.label(n.id.host, n.id.name))
		if len(n.steps) == 0 {
			r := liveRow{node: name, step: "starting", elapsed: now.Sub(n.start)}
			r.fetch(n)
			rows = append(rows, r)
		}
		for _, s := range n.steps {
			r := liveRow{node: name, step: Clean(s.name), elapsed: now.Sub(s.start)}
			r.fetch(n)
			if s.total > 0 {
				r.progress = fmt.Sprintf("[%d/%d]", s.done, s.total)
				r.short = percent(s.done, s.total)
			}
			if s.estimate > r.elapsed {
				r.left = s.estimate - r.elapsed
			}
			rows = append(rows, r)
		}
	}
	width := w.o.Width - 1
	room := max(1, min(w.o.Height-2, 16))
	hidden := 0
	if len(rows) > room {
		hidden = len(rows) - room + 1
		rows = rows[:room-1]
	}
	lines := w.rows(rows, width)
	status := fmt.Sprintf("%d running", len(m.running))
	if hidden > 0 {
		status = fmt.Sprintf("%d more, %s", hidden, status)
	}
	if m.total > 0 {
		status = fmt.Sprintf("%d/%d done, %s", m.done, m.total, status)
	}
	if m.failed > 0 {
		status += fmt.Sprintf(", %d failed", m.failed)
	}
	elapsed := now.Sub(m.start)
	status += ", " + clock(elapsed)
	if m.estimate > elapsed {
		status += ", about " + Duration(m.estimate-elapsed) + " left"
	}
	return append(lines, w.o.paint(Faint, truncate("  "+status, width, w.o.Look)))
}

// fetch shows the download that a node waits for.
func (r *liveRow) fetch(n *nodeRun) {
	if n.fetch.Done == 0 && n.fetch.Total == 0 {
		return
	}
	r.progress = Bytes(n.fetch.Done)
	r.short = r.progress
	if len(n.steps) == 0 {
		r.step = "fetch"
	}
	if n.fetch.Total > 0 {
		r.short = percent(n.fetch.Done, n.fetch.Total)
		r.progress = fmt.Sprintf("%s of %s", r.progress, Bytes(n.fetch.Total))
	}
}

func percent(done, total int64) string {
	return fmt.Sprintf("%d%%", int64(100*float64(min(done, total))/float64(total)))
}

func (w *owner) rows(rows []liveRow, width int) []string {
	spinner := []string{"|", "/", "-", "\\"}
	if w.o.Unicode {
		spinner = []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}
	}
	mark := spinner[w.spin%len(spinner)]
	nameWidth, stepWidth, progressWidth := 0, 0, 0
	for _, r := range rows {
		nameWidth = max(nameWidth, textWidth(r.node))
		stepWidth = max(stepWidth, textWidth(r.step))
		progressWidth = max(progressWidth, textWidth(r.progress))
	}
	// The columns give way from the least telling one on: a terminal of 20
	// columns still shows the component and how far it is.
	nameWidth = min(nameWidth, max(6, width/2))
	stepWidth = min(stepWidth, max(6, width/4))
	if 2+nameWidth+1+progressWidth > width {
		progressWidth = 0
		for i := range rows {
			rows[i].progress = rows[i].short
			progressWidth = max(progressWidth, textWidth(rows[i].progress))
		}
		nameWidth = min(nameWidth, max(6, width-3-progressWidth))
	}
	withStep := 2+nameWidth+1+stepWidth+1+progressWidth+1+6 <= width
	withTime := 2+nameWidth+1+progressWidth+1+6 <= width
	var lines []string
	for _, r := range rows {
		name := truncate(r.node, nameWidth, w.o.Look)
		line := w.o.paint(Good, mark) + " " + w.o.paint(Strong, name) + strings.Repeat(" ", nameWidth-textWidth(name))
		if withStep {
			line += " " + pad(truncate(r.step, stepWidth, w.o.Look), stepWidth)
		}
		if withTime {
			if progressWidth > 0 {
				line += " " + pad(r.progress, progressWidth)
			}
			line += " " + fmt.Sprintf("%6s", clock(r.elapsed))
			if left := "  about " + Duration(r.left) + " left"; r.left > 0 && textWidth(line)+len(left) <= width {
				line += w.o.paint(Faint, left)
			}
		} else if r.progress != "" {
			line += " " + r.progress
		}
		lines = append(lines, truncate(line, width, w.o.Look))
	}
	return lines
}
