package repro

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

const (
	arMagic   = "!<arch>\n"
	thinMagic = "!<thin>\n"
	arHeader  = 60
)

func isAr(head []byte) bool {
	return bytes.HasPrefix(head, []byte(arMagic)) || bytes.HasPrefix(head, []byte(thinMagic))
}

// arParts are the members of an archive of ar(1), in GNU's and in BSD's form
// of long names (ar(5) of FreeBSD; binutils' include/aout/ar.h).
func arParts(c content) ([]part, error) {
	magic, err := c.read(0, int64(len(arMagic)))
	if err != nil {
		return nil, err
	}
	thin := string(magic) == thinMagic
	var parts []part
	var long []byte
	for off := int64(len(arMagic)); off < c.size; {
		if len(parts) >= maxParts {
			return nil, errTooLarge
		}
		h, err := c.read(off, arHeader)
		if err != nil {
			return nil, err
		}
		if len(h) < arHeader || string(h[58:]) != "`\n" {
			return nil, fmt.Errorf("no archive member at %#x", off)
		}
		cut := func(from, to int) string { return strings.TrimSpace(string(h[from:to])) }
		name := cut(0, 16)
		size, err := strconv.ParseInt(cut(48, 58), 10, 64)
		if err != nil || size < 0 {
			return nil, fmt.Errorf("archive member at %#x has no size", off)
		}
		body := c.part(off+arHeader, size)
		p := part{kind: "member", fields: []field{{"time", cut(16, 28)}, {"owner", cut(28, 34)}, {"group", cut(34, 40)}, {"mode", cut(40, 48)}}}
		table := name == "/" || name == "/SYM64/" || strings.HasPrefix(name, "__.SYMDEF")
		stored := !thin || table || name == "//"
		switch {
		case table:
			// It holds the offsets of members, and so follows from them.
			p.kind, p.rank = "symbol table", 1
		case name == "//":
			p.kind = "table of names"
			if long, err = body.read(0, min(size, maxMember)); err != nil {
				return nil, err
			}
		case strings.HasPrefix(name, "#1/"):
			n, err := strconv.ParseInt(name[3:], 10, 64)
			if err != nil || n < 0 || n > body.size || n > 1<<16 {
				return nil, fmt.Errorf("archive member at %#x has no name", off)
			}
			raw, err := body.read(0, n)
			if err != nil {
				return nil, err
			}
			p.name, body = string(bytes.TrimRight(raw, "\x00")), body.part(n, size-n)
			if strings.HasPrefix(p.name, "__.SYMDEF") {
				p.kind, p.rank = "symbol table", 1
			}
		case strings.HasPrefix(name, "/"):
			n, err := strconv.Atoi(name[1:])
			if err != nil || n < 0 || n >= len(long) {
				return nil, fmt.Errorf("archive member at %#x has no name", off)
			}
			end, _, _ := bytes.Cut(long[n:], []byte("\n"))
			p.name = strings.TrimSuffix(string(end), "/")
		default:
			p.name = strings.TrimSuffix(name, "/")
		}
		p.name = clean(p.name)
		off += arHeader
		if stored {
			off += size + size&1
		} else {
			body = c.part(0, 0)
			p.fields = append(p.fields, field{"size", fmt.Sprint(size)})
		}
		p.body = whole(body)
		parts = append(parts, p)
	}
	return parts, nil
}

func isTar(head []byte) bool {
	return len(head) >= 262 && string(head[257:262]) == "ustar"
}

// tarParts are the entries of a tar file, their bodies as they lie in it.
func tarParts(c content) ([]part, error) {
	sr := c.reader()
	r := tar.NewReader(sr)
	var parts []part
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return parts, nil
		}
		if err != nil {
			return nil, err
		}
		if len(parts) >= maxParts {
			return nil, errTooLarge
		}
		// The reader has read up to the body and not a byte further.
		at, err := sr.Seek(0, io.SeekCurrent)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{kind: "entry", name: clean(h.Name), body: whole(c.part(at, h.Size)), fields: []field{
			{"type", string(h.Typeflag)}, {"time", stamp(h.ModTime)}, {"mode", fmt.Sprintf("%04o", h.Mode)},
			{"owner", fmt.Sprintf("%d %s", h.Uid, h.Uname)}, {"group", fmt.Sprintf("%d %s", h.Gid, h.Gname)}, {"target", h.Linkname},
		}})
	}
}

func isZip(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

func (l *locator) zipParts(c content) ([]part, error) {
	r, err := zip.NewReader(c, c.size)
	if err != nil {
		return nil, err
	}
	if len(r.File) > maxParts {
		return nil, errTooLarge
	}
	var parts []part
	for _, f := range r.File {
		parts = append(parts, part{
			kind: "entry", name: clean(f.Name),
			fields: []field{
				{"time", stamp(f.Modified)}, {"mode", fs.FileMode(f.Mode()).String()}, {"method", fmt.Sprint(f.Method)},
				{"extra", fmt.Sprintf("%x", clip(string(f.Extra)))}, {"comment", f.Comment},
			},
			body: func() (content, error) {
				rc, err := f.Open()
				if err != nil {
					return content{}, err
				}
				defer rc.Close()
				return l.unpack(rc)
			},
		})
	}
	return parts, nil
}

func isGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}) }

func (l *locator) gzipParts(c content) ([]part, error) {
	r, err := gzip.NewReader(c.reader())
	if err != nil {
		return nil, err
	}
	fields := []field{{"time", stamp(r.ModTime)}, {"name", r.Name}, {"comment", r.Comment}, {"system", fmt.Sprint(r.OS)}, {"extra", fmt.Sprintf("%x", clip(string(r.Extra)))}}
	body, err := l.unpack(r)
	if err != nil {
		return nil, err
	}
	return []part{{kind: "uncompressed", fields: fields, body: whole(body)}}, nil
}

// unpack decompresses within the bounds.
func (l *locator) unpack(r io.Reader) (content, error) {
	limit := min(l.budget, maxMember)
	data, err := io.ReadAll(io.LimitReader(contextReader{l, r}, limit+1))
	l.budget -= int64(len(data))
	if err != nil {
		return content{}, err
	}
	if int64(len(data)) > limit {
		return content{}, errTooLarge
	}
	return content{bytes.NewReader(data), int64(len(data))}, nil
}

type contextReader struct {
	l *locator
	r io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.l.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format(time.RFC3339Nano)
}
