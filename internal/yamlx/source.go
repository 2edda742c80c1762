package yamlx

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// Source gives the positions of what a file said, by path, so that mistakes
// found after decoding can be located too. A nil Source, for values that came
// from no file, knows no position.
type Source struct{ root *Node }

// Root returns the top of the document.
func (s *Source) Root() *Node {
	if s == nil {
		return nil
	}
	return s.root
}

// File returns the name of the file.
func (s *Source) File() string {
	if s == nil {
		return ""
	}
	return s.root.doc.file
}

// Node returns the value at a path such as components.hipify.patches[2] or
// components["a.b"]; see [Field] and [Index]. It is nil when nothing is there.
func (s *Source) Node(path string) *Node {
	n, whole := s.find(path)
	if !whole {
		return nil
	}
	return n
}

// At returns where the value at a path begins. Of a path that the file does
// not have, for instance because a default applies, it is the position of the
// nearest surrounding value that it has.
func (s *Source) At(path string) Pos {
	n, _ := s.find(path)
	return n.Pos()
}

// KeyAt is [Source.At] for the key of the value.
func (s *Source) KeyAt(path string) Pos {
	n, _ := s.find(path)
	return n.KeyPos()
}

// Errorf returns an error at the value of a path. The message is not preceded
// by the path.
func (s *Source) Errorf(path, format string, args ...any) *Error {
	return s.errorAt(s.At(path), path, fmt.Sprintf(format, args...))
}

// Unknown returns the error that the value at a path, a string, names nothing
// of its kind: `unknown GPU "gfx924": did you mean "gfx942"?`.
func (s *Source) Unknown(path, kind, found string, known []string) *Error {
	return unknownName(s.errorAt(s.At(path), path, ""), kind, found, known)
}

// UnknownKey is [Source.Unknown] for the key of the value.
func (s *Source) UnknownKey(path, kind, found string, known []string) *Error {
	return unknownName(s.errorAt(s.KeyAt(path), path, ""), kind, found, known)
}

func (s *Source) errorAt(pos Pos, path, msg string) *Error {
	if pos.File == "" {
		pos.File = s.File()
	}
	return &Error{File: pos.File, Line: pos.Line, Col: pos.Col, Path: path, Msg: msg}
}

func unknownName(e *Error, kind, found string, known []string) *Error {
	e.Msg = "unknown " + kind + " " + quote(found)
	e.Found, e.Expected = quote(found), oneOf(known)
	if e.Suggestion, _ = suggest.Nearest(found, known); e.Suggestion == "" && len(known) > 0 {
		e.Hint = "expected " + e.Expected
	}
	return e
}

// find follows a path as far as the document goes and reports whether that is
// the whole of it.
func (s *Source) find(path string) (*Node, bool) {
	n := s.Root()
	for path != "" && n != nil {
		key, index, rest, ok := firstStep(path)
		if !ok {
			return n, false
		}
		next := n.Get(key)
		if index >= 0 {
			next = nil
			if items := n.Items(); index < len(items) {
				next = items[index]
			}
		}
		if next == nil {
			return n, false
		}
		n, path = next, rest
	}
	return n, n != nil
}

// firstStep takes the first key or index (else -1) off a path.
func firstStep(path string) (key string, index int, rest string, ok bool) {
	if path[0] != '[' {
		path = strings.TrimPrefix(path, ".")
		end := strings.IndexAny(path, ".[")
		if end < 0 {
			end = len(path)
		}
		return path[:end], -1, path[end:], end > 0
	}
	if quoted, err := strconv.QuotedPrefix(path[1:]); err == nil {
		key, err = strconv.Unquote(quoted)
		rest, closed := strings.CutPrefix(path[1+len(quoted):], "]")
		return key, -1, rest, err == nil && closed
	}
	number, rest, closed := strings.Cut(path[1:], "]")
	i, err := strconv.ParseUint(number, 10, 31)
	return "", int(i), rest, closed && err == nil
}
