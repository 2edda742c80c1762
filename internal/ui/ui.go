package ui

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

const (
	// frame is the least time between two redraws of the live block (10 Hz).
	frame = 100 * time.Millisecond
	// defaultHeartbeat is how often plain output says what is running when it
	// has nothing else to say: some CI systems stop a job that is silent.
	defaultHeartbeat = time.Minute
)

// Options says where a UI writes and how. Detect fills it for a terminal or a
// file; only Out is necessary.
type Options struct {
	Look
	Out           io.Writer
	In            io.Reader        // for Ask; nil means every answer is no
	Height        int              // rows of the terminal; 0 means 24
	GitHubActions bool             // log groups and annotations; implies no live status
	Verbose       bool             // show what children print as it comes
	Now           func() time.Time // nil means time.Now
	Heartbeat     time.Duration    // plain output only; 0 means never
}

// UI shows a build. It is a trace.Sink; hand it to trace.NewBus as a live
// sink, and the bus will close it. All methods may be called from any
// goroutine, also after Close, when they do nothing.
type UI struct {
	o    Options
	msgs chan any
	done chan struct{} // closed when the owner has ended
	once sync.Once
	err  error // of the first failed write; set before done is closed
}

// Messages to the goroutine that owns the terminal, beside trace.Event.
type (
	printMsg struct {
		text string
		ack  chan struct{}
	}
	// holdMsg takes the live block away, shows a prompt, and stops all
	// writing until releaseMsg.
	holdMsg struct {
		prompt string
		ack    chan struct{}
	}
	releaseMsg struct{ text string }
	resizeMsg  struct{} // look at the size and draw again
	closeMsg   struct{}
)

// New starts a UI.
func New(o Options) *UI {
	u, own := newUI(o)
	var tick, beat <-chan time.Time
	stop := func() {}
	if own.o.TTY {
		t := time.NewTicker(frame)
		tick, stop = t.C, t.Stop
	} else if o.Heartbeat > 0 {
		t := time.NewTicker(o.Heartbeat)
		beat, stop = t.C, t.Stop
	}
	stopResize := func() {}
	if f, ok := o.Out.(*os.File); ok && own.o.TTY {
		own.size = func() (int, int) { return size(f) }
		stopResize = onResize(func() { u.send(resizeMsg{}) })
	}
	go func() {
		own.run(u.msgs, tick, beat)
		stop()
		stopResize()
		u.err = own.err
		close(u.done)
	}()
	return u
}

// newUI makes a UI whose owner is not running yet.
func newUI(o Options) (*UI, *owner) {
	if o.GitHubActions {
		o.TTY = false
	}
	if o.TTY && o.Width <= 0 {
		o.Width = defaultWidth
	}
	if o.Height <= 0 {
		o.Height = defaultHeight
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	u := &UI{o: o, msgs: make(chan any), done: make(chan struct{})}
	return u, &owner{o: o, model: newModel()}
}

func (u *UI) send(m any) bool {
	select {
	case u.msgs <- m:
		return true
	case <-u.done:
		return false
	}
}

// Emit shows an event. It waits while the terminal takes no output.
func (u *UI) Emit(e trace.Event) { u.send(e) }

// Print writes permanent text, above the live block where there is one. The
// text may be styled; a missing last newline is added. It returns when the
// text has been written.
func (u *UI) Print(text string) {
	ack := make(chan struct{})
	if u.send(printMsg{text, ack}) {
		<-ack
	}
}

// Close takes the live block away and ends the UI. It returns the first error
// of a write.
func (u *UI) Close() error {
	u.once.Do(func() { u.send(closeMsg{}) })
	<-u.done
	return u.err
}

// Ask asks a yes/no question and waits for the answer; the live block is away
// meanwhile. See the function Ask.
func (u *UI) Ask(ctx context.Context, question string) (bool, error) {
	ok, err := ask(ctx, u.o.In, question, func(prompt string) {
		ack := make(chan struct{})
		if u.send(holdMsg{prompt, ack}) {
			<-ack
		}
	})
	end := ""
	if err != nil {
		end = "\n"
	}
	u.send(releaseMsg{end})
	return ok, err
}

// owner is the state of the goroutine that owns the terminal.
type owner struct {
	o     Options
	model *model
	err   error
	size  func() (width, height int) // of the terminal now; nil when fixed

	drawn   []string        // the live block as it stands on the terminal
	pending strings.Builder // permanent text that waits for the next frame
	held    bool            // a question is on the terminal
	spin    int
	wrote   bool // since the last heartbeat
}

func (w *owner) run(msgs <-chan any, tick, beat <-chan time.Time) {
	for {
		select {
		case m := <-msgs:
			if !w.handle(m) {
				return
			}
		case <-tick:
			w.spin++
			w.redraw()
		case <-beat:
			w.heartbeat()
		}
	}
}

// handle takes one message. It returns false at the end.
func (w *owner) handle(m any) bool {
	switch m := m.(type) {
	case trace.Event:
		w.event(m)
	case printMsg:
		w.permanent(strings.TrimSuffix(m.text, "\n"))
		w.redraw()
		close(m.ack)
	case holdMsg:
		w.erase()
		w.held = true
		w.write(m.prompt)
		close(m.ack)
	case releaseMsg:
		if w.held {
			w.held = false
			w.write(m.text)
		}
		w.redraw()
	case resizeMsg:
		w.redraw()
	case closeMsg:
		w.held = false
		w.erase()
		return false
	}
	return true
}

// event takes an event into the model and writes what is to stay of it.
func (w *owner) event(e trace.Event) {
	if e.Time.IsZero() {
		e.Time = w.o.Now()
	}
	ended := w.model.take(e)
	if w.o.GitHubActions {
		w.github(e, ended)
		return
	}
	w.lines(e, ended)
}

// permanent adds lines that stay. On a terminal they appear with the next
// frame, so that a burst of events is one redraw.
func (w *owner) permanent(text string) {
	w.wrote = true
	if w.o.TTY || w.held {
		w.pending.WriteString(text + "\n")
		return
	}
	w.write(text + "\n")
}

func (w *owner) write(s string) {
	if s == "" {
		return
	}
	if _, err := io.WriteString(w.o.Out, s); err != nil && w.err == nil {
		w.err = err
	}
}
