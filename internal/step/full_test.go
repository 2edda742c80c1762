package step

import (
	"context"
	"errors"
	"io"
	"syscall"
	"testing"
)

func TestOutputNoticesAFullDisk(t *testing.T) {
	text := "ld: final link failed: No space left on device\n"
	for cut := range len(text) {
		o := &output{Writer: io.Discard}
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := io.WriteString(o, part); err != nil || n != len(part) {
				t.Fatal(n, err)
			}
		}
		if !o.full {
			t.Errorf("cut at %d it is not noticed", cut)
		}
	}
	o := &output{Writer: io.Discard}
	for i := range text { // a byte at a time
		io.WriteString(o, text[i:i+1])
	}
	if !o.full {
		t.Error("in single bytes it is not noticed")
	}
}

func TestCommandOnAFullDisk(t *testing.T) {
	r := &Run{Output: io.Discard}
	for script, want := range map[string]bool{
		"echo No space left on device >&2; exit 1": true,
		"echo No space left on device":             false, // it went well all the same
		"echo something else; exit 1":              false,
	} {
		err := r.Command(context.Background(), t.TempDir(), nil, "/bin/sh", "-c", script)
		if got := errors.Is(err, syscall.ENOSPC); got != want {
			t.Errorf("%s: %v", script, err)
		}
	}
}
