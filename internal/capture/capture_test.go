package capture

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	out, err := Output(exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf 123; printf said >&2; exit 3"), 3)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || string(exit.Stderr) != "said" || string(out) != "123" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err = Output(exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf 1234"), 3); err == nil || !strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("got %q, %v", out, err)
	}
}

// A program without end does end.
func TestOutputOfAProgramThatNeverStops(t *testing.T) {
	if _, err := Output(exec.CommandContext(t.Context(), "/bin/sh", "-c", "while :; do echo x; done"), 1<<16); err == nil || !strings.Contains(err.Error(), "more than 65536 bytes") {
		t.Errorf("got %v", err)
	}
	out, err := Output(exec.CommandContext(t.Context(), "/bin/sh", "-c", "head -c 100000 /dev/zero >&2; exit 1"), 1<<16)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || len(exit.Stderr) != maxStderr || len(out) != 0 {
		t.Errorf("got %d bytes, %v", len(out), err)
	}
}
