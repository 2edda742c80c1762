package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

func summaryOf(look Look, hosts bool) string {
	var events []trace.Event
	for _, e := range story("") {
		if !hosts {
			e.Host = ""
		}
		events = append(events, e)
	}
	if hosts {
		events = append(events, trace.Event{Kind: trace.NodeEnd, Node: "hip-headers", Host: "darwin-arm64", Outcome: trace.Restored, Duration: 40 * time.Millisecond, Bytes: 900})
	}
	var b bytes.Buffer
	err := Summary(&b, look, Rows(events), Footer{
		Bundle: "dist/linux-amd64", Use: []string{"source dist/linux-amd64/env.sh", "hipcc --version"},
		Notes: []string{"channel upstream could not be reached; debian was taken"}, Elapsed: 101 * time.Second,
	})
	if err != nil {
		return err.Error()
	}
	return b.String()
}

func TestSummary(t *testing.T) {
	for _, width := range []int{0, 20, 80, 200} {
		plain := summaryOf(Look{Width: width}, false)
		noEscapes(t, plain)
		for _, r := range plain {
			if r > 0x7e {
				t.Errorf("width %d: %q in plain output", width, r)
			}
		}
		for line := range strings.Lines(plain) {
			if strings.HasSuffix(line, " \n") {
				t.Errorf("width %d: %q ends in a space", width, line)
			}
		}
		golden(t, fmt.Sprintf("summary-plain-%d.golden", width), plain)
		if width == 0 {
			continue
		}
		styled := summaryOf(Look{Width: width, TTY: true, Unicode: true, Profile: colorprofile.ANSI256}, width == 200)
		v := newVT(width, 50)
		if _, err := v.Write([]byte(styled)); err != nil || v.err != nil {
			t.Fatal(err, v.err)
		}
		golden(t, fmt.Sprintf("summary-tty-%d.golden", width), v.text())
		if !strings.Contains(styled, "\x1b[") {
			t.Errorf("width %d: no style on a terminal", width)
		}
	}
}

// No line of a table may be wider than the terminal, whatever is in it.
func TestTableFits(t *testing.T) {
	headers := []string{"name", "found", "what it is wanted for", "n"}
	rows := [][]string{
		{"cmake", "3.25.1", strings.Repeat("word ", 30), "1"},
		{strings.Repeat("x", 300), "漢字漢字漢字漢字漢字漢字", "two\nlines", "1234567890"},
		{"short row"}, {}, {"a", "b", "c", "d", "surplus"},
		{"\x1b[2J\x1b[31mred", "tab\there", "\u202ebidi", "\r\n"},
	}
	for width := 1; width < 230; width += 1 + width/8 {
		for _, tty := range []bool{false, true} {
			for flex := range 5 {
				var b bytes.Buffer
				o := TableOptions{Title: "a title of several words", Align: []Align{Left, Right}, Flex: flex, Style: func(r, c int) Tone { return Tone((r + c + 8) % 6) }}
				if err := Table(&b, Look{Width: width, TTY: tty, Unicode: true, Profile: colorprofile.TrueColor}, headers, rows, o); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(b.String()) {
					line = strings.TrimSuffix(line, "\n")
					if n := textWidth(line); n > width && width > 1 {
						t.Fatalf("width %d, tty %v: %q takes %d", width, tty, line, n)
					}
				}
				if !tty {
					noEscapes(t, b.String())
				}
				if n := strings.Count(strings.Map(keep('x'), b.String()), "x"); n < 300 {
					t.Fatalf("width %d, tty %v: only %d of 300 letters are left", width, tty, n)
				}
			}
		}
	}
}

func keep(want rune) func(rune) rune {
	return func(r rune) rune {
		if r == want {
			return r
		}
		return -1
	}
}

func TestTableOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := Table(&b, Look{}, nil, [][]string{{"x"}}, TableOptions{}); err != nil || b.Len() != 0 {
		t.Fatal(err, b.String())
	}
	if err := Table(&b, Look{Width: 20, TTY: true}, []string{"a"}, nil, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if err := Summary(&b, Look{}, nil, Footer{}); err != nil || b.String() != "0 components\n" {
		t.Fatal(err, b.String())
	}
}

func TestRowsKeepTheLastEnd(t *testing.T) {
	rows := Rows([]trace.Event{
		{Kind: trace.NodeEnd, Node: "a", Outcome: trace.Failed, Msg: "broken"},
		{Kind: trace.StepEnd, Node: "a"},
		{Kind: trace.NodeEnd, Node: "b", Outcome: trace.Skipped, Reason: "a failed"},
		{Kind: trace.NodeEnd, Node: "a", Outcome: trace.Built},
	})
	if len(rows) != 2 || rows[0].Outcome != trace.Built || rows[0].Detail != "" || rows[1].Detail != "a failed" {
		t.Fatalf("%+v", rows)
	}
}
