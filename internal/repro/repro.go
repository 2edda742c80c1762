// Package repro compares two install trees that should be the same and says, in
// words, where the first difference is.
//
// The trees are listed as package treehash lists them: paths, kinds, the
// executable bit, targets of symbolic links, bytes. Where the first differing
// path is a file in both, the file is looked into: sections of ELF and Mach-O
// files, members of archives, lines of text; and inside those again, down to
// the bytes. Two builds of one thing that differ do so for few reasons (a time
// stamp, the folder of the build, a random id, an order), and such a place
// usually names its own.
package repro

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// maxFurther bounds how many further differing paths are named.
const maxFurther = 20

// Kind tells in what a path differs.
type Kind string

// The ways in which a path of two trees can differ.
const (
	OnlyA   Kind = "only in the first"
	OnlyB   Kind = "only in the second"
	Type    Kind = "kind"
	Mode    Kind = "mode"
	Target  Kind = "link target"
	Content Kind = "content"
)

// Difference is the first difference of two trees, by path.
type Difference struct {
	Path string `json:"path"` // slash path relative to the roots
	Kind Kind   `json:"kind"`
	// A and B are what either tree has there: a kind, a mode, a target, a size.
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
	// Place is where the contents of two files begin to differ.
	Place *Place `json:"place,omitempty"`
	Hints []Hint `json:"hints,omitempty"`
	// Further counts the other differing paths; up to 20 are named.
	Further      int      `json:"further"`
	FurtherPaths []string `json:"further_paths,omitempty"`
}

// Place is a place in two files.
type Place struct {
	// Within leads from the file to the part that differs, outermost first:
	// "member a.o", "section .rodata".
	Within []string `json:"within,omitempty"`
	// Parts are the differing parts of the outermost container, up to 20, in
	// its order.
	Parts []string `json:"parts,omitempty"`
	// Field is what differs when it is no byte of a content: "time", "order".
	Field string `json:"field,omitempty"`
	// Offset is in bytes, from 0, in the innermost part.
	Offset int64 `json:"offset"`
	// Line and Column count from 1, columns in characters; 0 where the part is
	// no text.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// A and B are the values of a field, or a line, clipped around the column,
	// or up to 16 bytes in hex. Control characters are escaped.
	A string `json:"a"`
	B string `json:"b"`
	// TextA and TextB are the strings around differing bytes, where both are
	// printable.
	TextA string `json:"text_a,omitempty"`
	TextB string `json:"text_b,omitempty"`

	hints []Hint
}

// Hint is a guess at the cause.
type Hint struct {
	Kind string `json:"kind"` // time, path, id or order
	Text string `json:"text"`
}

// Build is what is known about how a tree was made; hints are better with it.
type Build struct {
	// Paths are folders that the build used: its work folder, its store.
	Paths []string
	// Begun and Ended are when it ran.
	Begun, Ended time.Time
}

// Comparer compares trees of two builds. The zero value knows nothing of them.
type Comparer struct {
	A, B Build
}

// Compare is Comparer.Compare for trees of which nothing else is known.
func Compare(ctx context.Context, a, b string) (*Difference, error) {
	return Comparer{}.Compare(ctx, a, b)
}

// Compare returns the first difference of the trees at a and b, nil when they
// are the same. An error says that a tree could not be read; a file that its
// format's parser cannot take is compared byte by byte.
func (c Comparer) Compare(ctx context.Context, a, b string) (*Difference, error) {
	listA, err := treehash.List(ctx, a, treehash.Options{})
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	listB, err := treehash.List(ctx, b, treehash.Options{})
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	pairs := differing(listA, listB)
	if len(pairs) == 0 {
		return nil, nil
	}
	d := describe(pairs[0])
	for _, p := range pairs[1:] {
		if d.Further++; d.Further <= maxFurther {
			d.FurtherPaths = append(d.FurtherPaths, clean(p.path()))
		}
	}
	if d.Kind != Content {
		return d, nil
	}
	path := filepath.FromSlash(pairs[0].path())
	fileA, sizeA, err := open(a, path)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	defer fileA.Close()
	fileB, sizeB, err := open(b, path)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	defer fileB.Close()
	l := &locator{Comparer: c, ctx: ctx, budget: maxUnpacked}
	if d.Place, err = l.locate(content{fileA, sizeA}, content{fileB, sizeB}, nil, 0); err != nil {
		return nil, fmt.Errorf("compare %s: %w", d.Path, err)
	}
	if d.Place == nil {
		return nil, fmt.Errorf("compare %s: the file changed while it was compared", d.Path)
	}
	d.Hints = d.Place.hints
	return d, nil
}

// open opens a file of a tree, which must not lead out of the tree.
func open(root, path string) (*os.File, int64, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, 0, err
	}
	defer r.Close()
	f, err := r.Open(path)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: fs.ErrInvalid}
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// pair is one path of two listings; a side that does not have it is nil.
type pair struct{ a, b *treehash.Entry }

func (p pair) path() string {
	if p.a != nil {
		return p.a.Path
	}
	return p.b.Path
}

// differing pairs two sorted listings and leaves out what is the same.
func differing(as, bs []treehash.Entry) []pair {
	var out []pair
	for len(as) > 0 || len(bs) > 0 {
		order := 0
		switch {
		case len(as) == 0:
			order = 1
		case len(bs) == 0:
			order = -1
		default:
			order = cmp.Compare(as[0].Path, bs[0].Path)
		}
		switch {
		case order < 0:
			out, as = append(out, pair{a: &as[0]}), as[1:]
		case order > 0:
			out, bs = append(out, pair{b: &bs[0]}), bs[1:]
		default:
			if as[0] != bs[0] {
				out = append(out, pair{&as[0], &bs[0]})
			}
			as, bs = as[1:], bs[1:]
		}
	}
	return out
}

func describe(p pair) *Difference {
	d := &Difference{Path: clean(p.path())}
	switch {
	case p.b == nil:
		d.Kind, d.A = OnlyA, kindOf(p.a)
	case p.a == nil:
		d.Kind, d.B = OnlyB, kindOf(p.b)
	case p.a.Type != p.b.Type:
		d.Kind, d.A, d.B = Type, kindOf(p.a), kindOf(p.b)
	case p.a.Type == treehash.Symlink:
		d.Kind, d.A, d.B = Target, clean(p.a.Target), clean(p.b.Target)
	case p.a.SHA256 != p.b.SHA256:
		d.Kind, d.A, d.B = Content, fmt.Sprintf("%d bytes", p.a.Size), fmt.Sprintf("%d bytes", p.b.Size)
	default:
		d.Kind, d.A, d.B = Mode, modeOf(p.a), modeOf(p.b)
	}
	return d
}

func kindOf(e *treehash.Entry) string {
	switch e.Type {
	case treehash.Dir:
		return "folder"
	case treehash.Symlink:
		return "link to " + clean(e.Target)
	}
	return "file"
}

func modeOf(e *treehash.Entry) string {
	if e.Exec {
		return "executable"
	}
	return "not executable"
}

// String says the difference in a few lines, without a line break at the end.
func (d *Difference) String() string {
	var b strings.Builder
	switch d.Kind {
	case OnlyA, OnlyB:
		fmt.Fprintf(&b, "%s is %s (%s)", d.Path, d.Kind, cmp.Or(d.A, d.B))
	case Content:
		fmt.Fprintf(&b, "%s differs", d.Path)
		if d.A != d.B {
			fmt.Fprintf(&b, " (%s, %s)", d.A, d.B)
		}
		if d.Place != nil {
			b.WriteString("\n" + d.Place.String())
		}
	default:
		fmt.Fprintf(&b, "%s differs in its %s: %s, %s", d.Path, d.Kind, d.A, d.B)
	}
	for _, h := range d.Hints {
		fmt.Fprintf(&b, "\n  hint: %s", h.Text)
	}
	if d.Further > 0 {
		fmt.Fprintf(&b, "\n%d further: %s", d.Further, strings.Join(d.FurtherPaths, ", "))
		if d.Further > len(d.FurtherPaths) {
			b.WriteString(", …")
		}
	}
	return b.String()
}

// String says the place in a few indented lines.
func (p *Place) String() string {
	var b strings.Builder
	at := slices.Clone(p.Within)
	switch {
	case p.Field != "":
		at = append(at, p.Field)
	case p.Line > 0:
		at = append(at, fmt.Sprintf("line %d, column %d", p.Line, p.Column))
	default:
		at = append(at, fmt.Sprintf("byte %#x", p.Offset))
	}
	fmt.Fprintf(&b, "  in %s", strings.Join(at, ", "))
	fmt.Fprintf(&b, "\n    first:  %s\n    second: %s", p.A, p.B)
	if p.TextA != "" || p.TextB != "" {
		fmt.Fprintf(&b, "\n    first:  %q\n    second: %q", p.TextA, p.TextB)
	}
	if len(p.Parts) > 1 {
		fmt.Fprintf(&b, "\n  parts that differ: %s", strings.Join(p.Parts, ", "))
	}
	return b.String()
}
