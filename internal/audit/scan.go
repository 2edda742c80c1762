package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// chunkSize is read at a time: small enough to stay in the processor's cache
// while each pattern passes over it.
const chunkSize = 1 << 20

// lookBehind is how many bytes before a match decide whether it counts.
const lookBehind = 2

// maxPatterns bounds the build paths; each costs a pass.
const maxPatterns = 64

// pattern is one build path.
type pattern struct {
	path string
	b    []byte
	// short is a path of one component (/work), which occurs by chance in
	// words like "and/work": it must stand alone.
	short bool
}

// buildPatterns cleans the paths, adds what symlinks make of them, and leaves
// out those below another one, which that one finds.
func buildPatterns(paths []string) ([]pattern, error) {
	var clean []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("build path %q is not absolute, so it cannot be told from other text", p)
		}
		p = filepath.Clean(p)
		if p == string(filepath.Separator) {
			return nil, errors.New("build path / is in every path")
		}
		clean = append(clean, p)
		if real, err := filepath.EvalSymlinks(p); err == nil && real != p && real != string(filepath.Separator) {
			clean = append(clean, real)
		}
	}
	var out []pattern
	for i, p := range clean {
		covered := false
		for j, q := range clean {
			covered = covered || p == q && j < i || strings.HasPrefix(p, q+"/")
		}
		if !covered {
			out = append(out, pattern{path: p, b: []byte(p), short: strings.Count(p, "/") == 1})
		}
	}
	if len(out) > maxPatterns {
		return nil, fmt.Errorf("%d build paths, at most %d are searched for", len(out), maxPatterns)
	}
	return out, nil
}

// hit is a pattern that occurs in a file.
type hit struct {
	pattern pattern
	count   int
	first   int64 // Offset in the file.
}

// buffer is one worker's memory.
type buffer struct {
	b []byte
	// ahead is how many bytes from a match's start must be in view.
	ahead int
}

func newBuffer(patterns []pattern, chunk int) *buffer {
	ahead := 1
	for _, p := range patterns {
		ahead = max(ahead, len(p.b)+1)
	}
	return &buffer{b: make([]byte, lookBehind+chunk+ahead), ahead: ahead}
}

// scan searches a file for the patterns. Chunks overlap so that each match is
// seen whole, with its neighbours, exactly once. Each judge is given each byte
// once.
func (buf *buffer) scan(ctx context.Context, r io.ReaderAt, text bool, patterns []pattern, judges ...judge) ([]hit, error) {
	if len(patterns) == 0 && len(judges) == 0 {
		return nil, nil
	}
	hits := make([]hit, len(patterns))
	// The buffer holds the file from base on; matches start at from or later.
	have, from := 0, 0
	for base := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := r.ReadAt(buf.b[have:], base+int64(have))
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, err
		}
		for _, j := range judges {
			if _, err := j.Write(buf.b[have : have+n]); err != nil {
				return nil, err
			}
		}
		have += n
		view := buf.b[:have]
		to := have - buf.ahead
		if last {
			to = have
		}
		for i, p := range patterns {
			for at := from; at < to; {
				// A match that starts before to may end behind it.
				k := bytes.Index(view[at:min(have, to+len(p.b)-1)], p.b)
				if k < 0 {
					break
				}
				at += k
				if counts(view, at, p, text) {
					if hits[i].count++; hits[i].count == 1 {
						hits[i].pattern, hits[i].first = p, base+int64(at)
					}
				}
				at += len(p.b)
			}
		}
		if last {
			break
		}
		keep := max(to-lookBehind, 0)
		copy(buf.b, view[keep:])
		base += int64(keep)
		have -= keep
		from = to - keep
	}
	var out []hit
	for _, h := range hits {
		if h.count > 0 {
			out = append(out, h)
		}
	}
	return out, nil
}

// counts decides whether the bytes at an offset are the path, and not the
// start of a longer name (/tmp/build and /tmp/builders). In binary files
// strings may follow each other without a gap (LLVM bitcode, Go), so only
// short paths must stand alone there.
func counts(view []byte, at int, p pattern, text bool) bool {
	end := at + len(p.b)
	if (text || p.short) && end < len(view) && isNameByte(view[end]) {
		return false
	}
	if p.short && at > 0 && isNameByte(view[at-1]) {
		// -I/work and -L/work are the path, word/work is not.
		return at > 1 && view[at-2] == '-'
	}
	return true
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-+", c) >= 0
}

// isText reports whether a file that begins with head holds text.
func isText(head []byte) bool { return bytes.IndexByte(head, 0) < 0 }

// maxConfig bounds the configuration files that are read by line.
const maxConfig = 8 << 20

// isConfig tells the files by which other builds find what the bundle has.
func isConfig(name string) bool {
	switch path.Ext(name) {
	case ".cmake", ".pc", ".la", ".prl", ".cfg":
		return true
	}
	return false
}

// systemPaths are folders that differ from machine to machine. /usr/bin is not
// among them: programs there are named on purpose. ROCm's own files name
// /opt/rocm as a place to look last.
func systemPaths() []struct {
	text     string
	severity Severity
} {
	type row = struct {
		text     string
		severity Severity
	}
	return []row{
		{"/usr/lib/", Error}, {"/usr/lib64/", Error}, {"/usr/include", Error}, {"/usr/local/", Error},
		{"/lib/x86_64-linux-gnu", Error}, {"/lib/aarch64-linux-gnu", Error},
		{"/opt/homebrew/", Error}, {"/opt/local/", Error}, {"/home/linuxbrew/", Error}, {"/nix/store/", Error},
		{"/Library/Developer/", Error}, {"/Applications/Xcode", Error},
		{"-rpath,/", Error}, {"-rpath=/", Error}, {"-rpath /", Error},
		{"/opt/rocm", Warning},
	}
}

// scanConfig looks for system folders in a configuration file, line by line;
// comments may name what they like.
func scanConfig(e *entry, r io.ReaderAt) ([]Finding, error) {
	if e.size > maxConfig {
		return []Finding{finding(e.path, ruleSystemPath, fmt.Sprintf("is a configuration file of %d bytes, too large to look through", e.size), "leave it out")}, nil
	}
	b := make([]byte, e.size)
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, e.size), b); err != nil {
		return nil, fmt.Errorf("read %s: %w", e.path, err)
	}
	var out []Finding
	seen := map[string]bool{}
	number := 0
	for line := range bytes.Lines(b) {
		number++
		if bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) {
			continue
		}
		for _, s := range systemPaths() {
			if !seen[s.text] && bytes.Contains(line, []byte(s.text)) {
				seen[s.text] = true
				f := finding(e.path, ruleSystemPath, fmt.Sprintf("names %s in line %d: %.100q", s.text, number, bytes.TrimSpace(line)),
					"make it relative to the file, or link the library in")
				f.Severity = s.severity
				out = append(out, f)
				break // "/usr/lib/x" is one finding, whatever else the line has.
			}
		}
	}
	return out, nil
}
