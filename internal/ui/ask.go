package ui

import (
	"context"
	"errors"
	"io"
	"strings"
)

// Ask writes a yes/no question to out and reads the answer, a line, from in.
// Only y and yes are a yes; an empty line, end of input or three lines that are
// neither are a no. When ctx ends first its error is returned at once; the
// goroutine that waits for the line then lives until in yields one or ends.
func Ask(ctx context.Context, in io.Reader, out io.Writer, question string) (bool, error) {
	var werr error
	ok, err := ask(ctx, in, question, func(prompt string) {
		if _, e := io.WriteString(out, prompt); e != nil {
			werr = e
		}
	})
	return ok && werr == nil, errors.Join(err, werr)
}

// maxAnswer bounds what is read of one line.
const maxAnswer = 1024

func ask(ctx context.Context, in io.Reader, question string, prompt func(string)) (bool, error) {
	if in == nil {
		return false, nil
	}
	type answer struct {
		line string
		err  error
	}
	for range 3 {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		prompt(cleanKeepLines(question) + " [y/N] ")
		ch := make(chan answer, 1)
		go func() {
			line, err := readLine(in)
			ch <- answer{line, err}
		}()
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case a := <-ch:
			switch strings.ToLower(strings.TrimSpace(a.line)) {
			case "y", "yes":
				return true, nil
			case "", "n", "no":
				if a.err == io.EOF {
					a.err = nil
				}
				return false, a.err
			}
			if a.err != nil {
				return false, nil
			}
		}
	}
	return false, nil
}

// readLine reads up to a newline and nothing beyond it, since what follows on
// in may be meant for someone else.
func readLine(in io.Reader) (string, error) {
	var line []byte
	var c [1]byte
	for {
		n, err := in.Read(c[:])
		if n == 1 {
			if c[0] == '\n' {
				return string(line), nil
			}
			if len(line) < maxAnswer {
				line = append(line, c[0])
			}
		}
		if err != nil {
			return string(line), err
		}
	}
}

// cleanKeepLines cleans every line of a text.
func cleanKeepLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = Clean(lines[i])
	}
	return strings.Join(lines, "\n")
}
