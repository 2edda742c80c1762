package aptindex

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Bounds of a control file. The largest paragraph of Debian's Sources index,
// that of the kernel, has about 400 kB; the largest line some 150 kB.
const (
	maxLine      = 4 << 20
	maxParagraph = 16 << 20
	maxFields    = 4096
)

// paragraph is one stanza of a control file (Debian Policy 5.1): fields by their
// lower-case names. The lines of a value are joined by newlines, each without
// the blank that it began with.
type paragraph map[string]string

// stanzas reads a control file paragraph by paragraph.
type stanzas struct {
	r    *bufio.Reader
	line []byte
}

func newStanzas(r io.Reader) *stanzas { return &stanzas{r: bufio.NewReaderSize(r, 1<<16)} }

// next returns the next line without its end, valid until the call after.
func (s *stanzas) next() ([]byte, error) {
	s.line = s.line[:0]
	for {
		part, err := s.r.ReadSlice('\n')
		if err == nil && len(s.line) == 0 {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		if len(s.line)+len(part) > maxLine {
			return nil, fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		s.line = append(s.line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(s.line, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(s.line) > 0:
			return bytes.TrimRight(s.line, "\r\n"), nil
		default:
			return nil, err
		}
	}
}

// find returns the next paragraph whose first field is first, such as
// "Package: zlib", without building those before it; "" takes any. The error is
// io.EOF at the end.
func (s *stanzas) find(first string) (paragraph, error) {
	for {
		line, err := s.next()
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 || line[0] == '#' {
			continue
		}
		if first == "" || string(bytes.TrimRight(line, " \t")) == first {
			return s.read(line)
		}
		for len(bytes.TrimSpace(line)) > 0 {
			if line, err = s.next(); err != nil {
				return nil, err
			}
		}
	}
}

// read builds the paragraph that begins with line.
func (s *stanzas) read(line []byte) (paragraph, error) {
	p := paragraph{}
	var name string
	var value strings.Builder
	size := 0
	put := func() error {
		if name == "" {
			return nil
		}
		if _, ok := p[name]; ok {
			return fmt.Errorf("field %q twice in one paragraph", name)
		}
		if len(p) == maxFields {
			return fmt.Errorf("more than %d fields in one paragraph", maxFields)
		}
		p[name] = value.String()
		value.Reset()
		return nil
	}
	for {
		if size += len(line); size > maxParagraph {
			return nil, fmt.Errorf("a paragraph of more than %d bytes", maxParagraph)
		}
		switch {
		case len(bytes.TrimSpace(line)) == 0:
			return p, put()
		case line[0] == '#':
		case line[0] == ' ' || line[0] == '\t':
			if name == "" {
				return nil, errors.New("a continued line before the first field")
			}
			value.WriteByte('\n')
			value.Write(bytes.TrimSpace(line))
		default:
			key, rest, ok := bytes.Cut(line, []byte{':'})
			if !ok || len(key) == 0 {
				return nil, fmt.Errorf("no field in the line %q", clip(line))
			}
			if err := put(); err != nil {
				return nil, err
			}
			name = strings.ToLower(string(key))
			value.Write(bytes.TrimSpace(rest))
		}
		var err error
		line, err = s.next()
		if errors.Is(err, io.EOF) {
			return p, put()
		}
		if err != nil {
			return nil, err
		}
	}
}

func clip(p []byte) []byte { return p[:min(len(p), 80)] }

// lines returns the non-empty lines of a value.
func (p paragraph) lines(name string) []string {
	var list []string
	for line := range strings.SplitSeq(p[name], "\n") {
		if line != "" {
			list = append(list, line)
		}
	}
	return list
}
