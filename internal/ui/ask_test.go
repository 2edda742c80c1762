package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
)

func TestAsk(t *testing.T) {
	cases := []struct {
		in   string
		want bool
		asks int
	}{
		{"y\n", true, 1}, {"YES\r\n", true, 1}, {" yes \n", true, 1}, {"y", true, 1},
		{"n\n", false, 1}, {"\n", false, 1}, {"", false, 1}, {"no\n", false, 1},
		{"what\ny\n", true, 2}, {"a\nb\nc\ny\n", false, 3}, {"maybe", false, 1},
		{strings.Repeat("y", 5000) + "\n", false, 2},
	}
	for _, c := range cases {
		var out bytes.Buffer
		got, err := Ask(context.Background(), strings.NewReader(c.in), &out, "install\x1b[2J it?")
		if err != nil || got != c.want || strings.Count(out.String(), "install it? [y/N] ") != c.asks {
			t.Errorf("%.20q: %v, %v, wrote %q", c.in, got, err, out.String())
		}
	}
}

func TestAskLeavesTheRestUnread(t *testing.T) {
	in := strings.NewReader("y\nrest")
	if ok, err := Ask(context.Background(), in, io.Discard, "?"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if rest, _ := io.ReadAll(in); string(rest) != "rest" {
		t.Fatalf("left %q", rest)
	}
}

func TestAskIsInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan struct{})
	go func() { <-asked; cancel() }()
	ok, err := Ask(ctx, r, writerFunc(func(p []byte) { close(asked) }), "?")
	if ok || !errors.Is(err, context.Canceled) {
		t.Fatal(ok, err)
	}
	if ok, err := Ask(context.Background(), nil, io.Discard, "?"); ok || err != nil {
		t.Fatal("no input must mean no", ok, err)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// While a question stands, nothing else may be written; afterwards what was
// held back appears.
func TestQuestionHasTheTerminal(t *testing.T) {
	r, w := io.Pipe()
	var out syncBuffer
	u := New(Options{Out: &out, In: r})
	done := make(chan bool)
	go func() {
		ok, _ := u.Ask(context.Background(), "sure?")
		done <- ok
	}()
	for !strings.Contains(out.String(), "sure? [y/N] ") { // wait for the question
		time.Sleep(time.Millisecond)
	}
	u.Emit(trace.Event{Kind: trace.Info, Msg: "news"})
	u.Print("text")
	if got := out.String(); got != "sure? [y/N] " {
		t.Fatalf("written beside the question: %q", got)
	}
	w.Write([]byte("y\n"))
	if !<-done {
		t.Fatal("no")
	}
	u.Close()
	if got := out.String(); got != "sure? [y/N] 00:00 news\ntext\n" {
		t.Fatalf("got %q", got)
	}
}
