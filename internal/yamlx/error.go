package yamlx

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// maxErrors is how many errors one decoding reports.
const maxErrors = 10

// Pos is a place in a file. Line and Col count from 1, Col in characters; 0
// stands for unknown.
type Pos struct {
	File      string
	Line, Col int
}

// IsZero reports whether the position is unknown.
func (p Pos) IsZero() bool { return p == Pos{} }

// String returns file:line:col, leaving out what is unknown.
func (p Pos) String() string {
	s := p.File
	if p.Line > 0 {
		if s != "" {
			s += ":"
		}
		s += strconv.Itoa(p.Line)
		if p.Col > 0 {
			s += ":" + strconv.Itoa(p.Col)
		}
	}
	return s
}

// Error is one mistake in a file.
type Error struct {
	File      string
	Line, Col int    // from 1; 0 when unknown
	Path      string // the place in the document, such as components.hipify.provider
	Msg       string // the sentence; when empty it is made of Path, Found and Expected

	Found      string // what stands there: `a list`, `the number 7`, `"sorce"`
	Expected   string // what may stand there
	Suggestion string // the nearest valid spelling, without quotes
	Hint       string // what to do about it, when that is known and no spelling

	cause error
}

// Pos returns the position of the error.
func (e *Error) Pos() Pos { return Pos{e.File, e.Line, e.Col} }

// Unwrap returns the error that a custom type's decoding gave, if any.
func (e *Error) Unwrap() error { return e.cause }

// Error returns one line: position, message, suggestion.
func (e *Error) Error() string {
	var b strings.Builder
	if pos := e.Pos().String(); pos != "" {
		b.WriteString(pos + ": ")
	}
	if e.Msg != "" {
		b.WriteString(e.Msg)
	} else {
		if e.Path != "" {
			b.WriteString(e.Path + ": ")
		}
		b.WriteString("found " + e.Found)
		if e.Expected != "" {
			b.WriteString(", expected " + e.Expected)
		}
	}
	switch {
	case e.Suggestion != "":
		b.WriteString(": did you mean " + strconv.Quote(e.Suggestion) + "?")
	case e.Hint != "":
		b.WriteString(": " + e.Hint)
	}
	return b.String()
}

// Errors are the mistakes found in one file, in the order of their positions,
// at most ten. [errors.As] with a *Error finds the first.
type Errors []*Error

// Error returns one line for each error.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, one := range e {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors, for [errors.Is] and [errors.As].
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// Join gathers errors of this package, and any others, into one [Errors] in
// the order of their positions, and returns nil when there are none. Semantic
// checks use it to report what they found in one go.
func Join(errs ...error) error {
	var c collector
	for _, err := range errs {
		if err != nil {
			c.adopt(err, Pos{}, "")
		}
	}
	return c.err()
}

// collector keeps the first maxErrors errors by position.
type collector struct {
	list  Errors
	count int   // of all errors, also those that list has no room for
	def   error // a mistake in the Go types, which is no fault of the file
}

func (c *collector) add(e *Error) {
	c.count++
	// Equal positions keep their order of arrival: the search stops after them.
	i, _ := slices.BinarySearchFunc(c.list, e, func(have, add *Error) int {
		if order := comparePos(have, add); order != 0 {
			return order
		}
		return -1
	})
	c.list = slices.Insert(c.list, i, e)
	if len(c.list) > maxErrors {
		c.list = c.list[:maxErrors]
	}
}

func comparePos(a, b *Error) int {
	return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
}

// adopt takes over an error from elsewhere: one that has positions as it is,
// any other with the position and path given.
func (c *collector) adopt(err error, pos Pos, path string) {
	var many Errors
	var one *Error
	var def *typeError
	switch {
	case errors.As(err, &def):
		c.define(def)
	case errors.As(err, &many):
		for _, e := range many {
			c.add(e)
		}
	case errors.As(err, &one):
		c.add(one)
	default:
		msg := err.Error()
		if path != "" {
			msg = path + ": " + msg
		}
		c.add(&Error{File: pos.File, Line: pos.Line, Col: pos.Col, Path: path, Msg: msg, cause: err})
	}
}

func (c *collector) define(err error) {
	if c.def == nil {
		c.def = err
	}
}

func (c *collector) err() error {
	if c.def != nil {
		return c.def
	}
	if len(c.list) == 0 {
		return nil
	}
	return c.list
}

// typeError is a mistake in the Go types given to this package: an unknown
// tag, a field of a kind that no YAML gives.
type typeError struct{ msg string }

func (e *typeError) Error() string { return "yamlx: " + e.msg }

func typeErrorf(format string, args ...any) *typeError {
	return &typeError{fmt.Sprintf(format, args...)}
}

// quote returns s in quotes for a message, cut when it is long.
func quote(s string) string {
	const most = 60
	r := []rune(s)
	if len(r) > most {
		return strconv.Quote(string(r[:most]) + "…")
	}
	return strconv.Quote(s)
}
