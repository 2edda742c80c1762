// Package capture reads what a program prints, within bounds.
package capture

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
)

// maxStderr bounds what is kept of a program's standard error, in bytes.
const maxStderr = 32 << 10

// Output runs a program as cmd.Output does, and does not read more than most
// bytes: the program then meets a closed pipe, and the result is an error,
// whatever it makes of that. An *exec.ExitError holds the beginning of its
// standard error.
func Output(cmd *exec.Cmd, most int) ([]byte, error) {
	stdout, _, err := Both(cmd, most)
	return stdout, err
}

// Both is Output, and the beginning of the program's standard error, unless cmd
// has a place for that already.
func Both(cmd *exec.Cmd, most int) (stdout, stderr []byte, err error) {
	out, errs := &buffer{most: most, closing: true}, &buffer{most: maxStderr}
	cmd.Stdout = out
	if cmd.Stderr == nil {
		cmd.Stderr = errs
	}
	err = cmd.Run()
	if out.over {
		return nil, nil, fmt.Errorf("it printed more than %d bytes", most)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		exit.Stderr = errs.b.Bytes()
	}
	return out.b.Bytes(), errs.b.Bytes(), err
}

// buffer keeps the first bytes that are written to it. It does not embed the
// buffer, whose ReadFrom would be used instead of Write.
type buffer struct {
	b       bytes.Buffer
	most    int
	closing bool // an error when more comes
	over    bool
}

// Write implements io.Writer. Beyond most bytes the rest is dropped, or is an
// error when the program is to be stopped by it.
func (b *buffer) Write(p []byte) (int, error) {
	room := b.most - b.b.Len()
	if len(p) <= room {
		return b.b.Write(p)
	}
	b.over = true
	b.b.Write(p[:room])
	if b.closing {
		return room, errors.New("too much output")
	}
	return len(p), nil
}
