package importer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/capture"
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

// Tree dumps the syntax tree of a library's headers. What clang says against
// them is the error, with file and line.
func (c Clang) Tree(ctx context.Context, a *Annotations) ([]byte, error) {
	return c.run(ctx, a, a.Source(), "-fparse-all-comments", "-Xclang", "-ast-dump=json")
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
	_, err := c.run(ctx, a, b.String(), append([]string{"-fno-caret-diagnostics"}, more...)...)
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

func (c Clang) run(ctx context.Context, a *Annotations, source string, args ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "stonemason-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "headers.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		return nil, err
	}
	replaced, err := c.replace(dir, a)
	if err != nil {
		return nil, err
	}
	argv := []string{"-x", "c", "-std=gnu11", "-fsyntax-only", "-w", "-ferror-limit=20", "-fno-color-diagnostics"}
	for _, i := range c.Includes {
		argv = append(argv, "-I", i)
	}
	argv = append(argv, replaced...)
	cmd := exec.CommandContext(ctx, c.Path, append(append(argv, args...), file)...)
	out, stderr, err := capture.Both(cmd, maxTree)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		said := strings.TrimSpace(strings.ReplaceAll(string(stderr), file, "the importer's own file"))
		if said == "" {
			return nil, fmt.Errorf("%s: %w", c.Path, err)
		}
		return nil, errors.New(said)
	}
	return out, nil
}
