package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// Clang is a compiler to read headers with.
type Clang struct {
	Path string
	// Includes are searched for the library's headers.
	Includes []string
	// Places are where the headers define records ([Result]), for what is said
	// against a description's layouts.
	Places map[string]Place
}

// Place is a line of a header.
type Place struct {
	File string
	Line int
}

// Source is the C file by which a library's headers are read.
func (a *Annotations) Source() string {
	var b strings.Builder
	for _, name := range sortedKeys(a.Defines) {
		fmt.Fprintf(&b, "#define %s %s\n", name, a.Defines[name])
	}
	b.WriteString(a.Before)
	for _, h := range a.Headers {
		fmt.Fprintf(&b, "#include <%s>\n", h)
	}
	b.WriteString("#line 1 \"declare\"\n" + a.Declare)
	return b.String()
}

// Tree reads what a library's headers declare, while clang prints it. What clang
// says against them is the error, with file and line.
func (c Clang) Tree(ctx context.Context, a *Annotations, symbols Symbols) (*Tree, error) {
	var tree *Tree
	err := c.run(ctx, a, a.Source(), func(r io.Reader) (err error) {
		tree, err = ReadTree(r, a, symbols)
		return err
	}, "-fparse-all-comments", "-Xclang", "-ast-dump=json")
	return tree, err
}

// Verify has the compiler compare a description's layouts with the headers.
// More are arguments such as a target, with the headers that it needs.
func (c Clang) Verify(ctx context.Context, a *Annotations, l *api.Library, more ...string) error {
	var b strings.Builder
	b.WriteString(a.Source())
	b.WriteString("#include <stddef.h>\n")
	for _, f := range api.Facts(l) {
		if p, ok := c.Places[recordOf(f.Expression)]; ok {
			fmt.Fprintf(&b, "#line %d %q\n", p.Line, p.File)
		}
		fmt.Fprintf(&b, "_Static_assert(%s == %d, %q);\n", f.Expression, f.Value, f.Expression)
	}
	err := c.run(ctx, a, b.String(), nil, append([]string{"-fno-caret-diagnostics"}, more...)...)
	if err != nil {
		return fmt.Errorf("the description's layouts are not the headers': %w", err)
	}
	return nil
}

// recordOf is the record that a [api.Fact] is about: the last word before a
// parenthesis ends or a comma comes.
func recordOf(expression string) string {
	_, inside, _ := strings.Cut(expression, "(")
	words := strings.FieldsFunc(inside[:max(strings.IndexAny(inside, ",)"), 0)], func(r rune) bool { return r == ' ' })
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}

// run has clang look at a source. What it prints is for read, if there is one;
// when clang fails, what it says is the error, unless read has stopped before the
// end.
func (c Clang) run(ctx context.Context, a *Annotations, source string, read func(io.Reader) error, args ...string) error {
	dir, err := os.MkdirTemp("", "stonemason-import-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "headers.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return err
	}
	replaced, err := c.replace(dir, a)
	if err != nil {
		return err
	}
	argv := []string{"-x", "c", "-std=gnu11", "-fsyntax-only", "-w", "-ferror-limit=20", "-fno-color-diagnostics"}
	for _, i := range c.Includes {
		argv = append(argv, "-I", i)
	}
	argv = append(argv, replaced...)
	cmd := exec.CommandContext(ctx, c.Path, append(append(argv, args...), file)...)
	stderr := &head{most: maxStderr}
	cmd.Stderr = stderr
	var wrong error // what read says
	if read == nil {
		err = cmd.Run()
	} else {
		err, wrong = piped(cmd, read)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if early := new(earlyError); err != nil && !errors.As(wrong, &early) {
		said := strings.TrimSpace(strings.ReplaceAll(string(stderr.text), file, "the importer's own file"))
		if said == "" {
			return fmt.Errorf("%s: %w", c.Path, err)
		}
		return errors.New(said)
	}
	return wrong
}

// earlyError is that of a reader who has stopped before the end.
type earlyError struct{ error }

func (e *earlyError) Unwrap() error { return e.error }

// piped runs a program and has its output read while it prints. The program's
// own error comes apart from the reader's.
func piped(cmd *exec.Cmd, read func(io.Reader) error) (err, wrong error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err, nil
	}
	if err := cmd.Start(); err != nil {
		return err, nil
	}
	end := &endReader{r: out}
	if wrong = read(end); wrong != nil && !end.seen {
		wrong = &earlyError{wrong}
	} else if wrong == nil {
		_, wrong = io.Copy(io.Discard, io.LimitReader(end, maxTree)) // a line's end
	}
	_ = out.Close() // a program that goes on meets a closed pipe
	return cmd.Wait(), wrong
}

// endReader notes that the end was read.
type endReader struct {
	r    io.Reader
	seen bool
}

func (e *endReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	e.seen = e.seen || err != nil
	return n, err
}

// maxStderr bounds what is kept of what clang says, in bytes.
const maxStderr = 32 << 10

// head keeps the first bytes that are written to it.
type head struct {
	text []byte
	most int
}

// Write implements io.Writer.
func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), h.most-len(h.text))]...)
	return len(p), nil
}
