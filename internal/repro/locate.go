package repro

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on what is read out of files that may be hostile.
const (
	maxDepth    = 6       // containers in containers
	maxParts    = 500_000 // sections or members of one container
	maxUnpacked = 1 << 30 // bytes decompressed, in all
	maxMember   = 1 << 27 // bytes decompressed of one member
	maxName     = 200     // characters of a name, a target or a value
	window      = 512     // bytes looked at on either side of a difference
)

// errTooLarge ends the look into a container; its bytes are compared then.
var errTooLarge = errors.New("too large to be looked into")

// content is a file or a part of one.
type content struct {
	io.ReaderAt
	size int64
}

// part cuts a range out, as far as the content reaches.
func (c content) part(off, size int64) content {
	off = min(max(off, 0), c.size)
	size = min(max(size, 0), c.size-off)
	return content{io.NewSectionReader(c, off, size), size}
}

// read reads a range, as far as the content reaches.
func (c content) read(off, size int64) ([]byte, error) {
	off = min(max(off, 0), c.size)
	size = min(max(size, 0), c.size-off)
	buf := make([]byte, size)
	n, err := c.ReadAt(buf, off)
	if n == len(buf) || errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

func (c content) reader() *io.SectionReader { return io.NewSectionReader(c, 0, c.size) }

// part is a named piece of a container.
type part struct {
	kind, name string // "section", ".rodata"
	// rank orders the search: 0 first; 1 for what only follows from the others
	// (headers, symbol tables with addresses); 2 for hashes over all others.
	rank   int
	fields []field
	body   func() (content, error)
}

func (p part) String() string { return strings.TrimSpace(p.kind + " " + p.name) }

// field is a value of a part that is not in its body.
type field struct{ name, value string }

func whole(c content) func() (content, error) {
	return func() (content, error) { return c, nil }
}

// locator looks for the first difference of two files.
type locator struct {
	Comparer
	ctx    context.Context
	budget int64 // bytes that may still be decompressed
}

// locate returns the first differing place of two contents, nil when they are
// the same.
func (l *locator) locate(a, b content, within []string, depth int) (*Place, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	if depth < maxDepth {
		if parse := l.parser(a, b); parse != nil {
			partsA, errA := guard(parse, a)
			partsB, errB := guard(parse, b)
			if errA == nil && errB == nil {
				p, err := l.parts(partsA, partsB, within, depth)
				if p != nil || l.ctx.Err() != nil {
					return p, err
				}
				// The parts are the same or cannot be read: the bytes tell.
			}
		}
	}
	return l.flat(a, b, within)
}

// parser returns what takes both contents apart, nil when nothing does.
func (l *locator) parser(a, b content) func(content) ([]part, error) {
	headA, errA := a.read(0, 512)
	headB, errB := b.read(0, 512)
	if errA != nil || errB != nil {
		return nil
	}
	for _, f := range []struct {
		is    func(head []byte) bool
		parse func(content) ([]part, error)
	}{
		{isELF, elfParts},
		{isMachO, machoParts},
		{isFat, fatParts},
		{isAr, arParts},
		{isZip, l.zipParts},
		{isGzip, l.gzipParts},
		{isTar, tarParts},
	} {
		if f.is(headA) && f.is(headB) {
			return f.parse
		}
	}
	return nil
}

// guard calls a parser. The parsers of the standard library are meant for
// files of good will; a panic of one is its error.
func guard(parse func(content) ([]part, error), c content) (parts []part, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parser: %v", r)
		}
	}()
	parts, err = parse(c)
	if err == nil && len(parts) > maxParts {
		err = errTooLarge
	}
	return unique(parts), err
}

// unique numbers parts of one name: objects hold many sections .text.
func unique(parts []part) []part {
	seen := make(map[string]int, len(parts))
	for i := range parts {
		name := parts[i].String()
		if seen[name]++; seen[name] > 1 {
			parts[i].name += fmt.Sprintf(" (no. %d)", seen[name])
		}
	}
	return parts
}

// parts compares two containers: first which parts there are, then the parts
// themselves, by rank.
func (l *locator) parts(as, bs []part, within []string, depth int) (*Place, error) {
	byName := make(map[string]part, len(bs))
	for _, p := range bs {
		byName[p.String()] = p
	}
	inA := make(map[string]bool, len(as))
	for _, p := range as {
		inA[p.String()] = true
		if _, ok := byName[p.String()]; !ok {
			return &Place{Within: within, Field: p.String(), A: "is there", B: "is not there"}, nil
		}
	}
	for _, p := range bs {
		if !inA[p.String()] {
			return &Place{Within: within, Field: p.String(), A: "is not there", B: "is there"}, nil
		}
	}
	if len(as) != len(bs) { // two parts of one name, in spite of unique
		return nil, errors.New("names are not unique")
	}
	var first *Place
	rank, names := 0, []string(nil)
	for _, a := range as {
		same, err := l.same(a, byName[a.String()])
		if err != nil {
			return nil, err
		}
		if same {
			continue
		}
		if len(names) < maxFurther {
			names = append(names, a.String())
		}
		if first != nil && a.rank >= rank {
			continue
		}
		p, err := l.part(a, byName[a.String()], append(slices.Clone(within), a.String()), depth)
		if err != nil {
			return nil, err
		}
		if p != nil {
			first, rank = p, a.rank
		}
	}
	// Another order moves everything: what follows from offsets says less.
	if first == nil || rank > 0 {
		for i := range as {
			if a, b := as[i].String(), bs[i].String(); a != b {
				return &Place{Within: within, Field: "order", A: a, B: b, hints: []Hint{{"order", "the same parts in another order: sort what is listed (a glob, a hash table, parallel jobs)"}}}, nil
			}
		}
	}
	if first != nil {
		first.Parts = names
		return first, nil
	}
	return nil, nil
}

func (l *locator) same(a, b part) (bool, error) {
	if !slices.Equal(a.fields, b.fields) {
		return false, nil
	}
	bodyA, err := a.body()
	if err != nil {
		return false, err
	}
	bodyB, err := b.body()
	if err != nil {
		return false, err
	}
	at, err := l.firstDifference(bodyA, bodyB)
	return at < 0, err
}

// part finds the difference of two parts that are known to differ.
func (l *locator) part(a, b part, within []string, depth int) (*Place, error) {
	for i := range min(len(a.fields), len(b.fields)) {
		if fa, fb := a.fields[i], b.fields[i]; fa != fb {
			p := &Place{Within: within, Field: fa.name, A: clean(fa.value), B: clean(fb.value)}
			if fa.name == "time" {
				p.hints = []Hint{{"time", "a time stamp is stored with the content"}}
			}
			return p, nil
		}
	}
	bodyA, err := a.body()
	if err != nil {
		return nil, err
	}
	bodyB, err := b.body()
	if err != nil {
		return nil, err
	}
	p, err := l.locate(bodyA, bodyB, within, depth+1)
	if p != nil && a.rank == 2 {
		p.hints = []Hint{{"id", a.String() + " alone differs: an id that is not made from the content"}}
	}
	return p, err
}

// firstDifference returns the offset of the first differing byte, the shorter
// size when one is the beginning of the other, and -1 when both are the same.
func (l *locator) firstDifference(a, b content) (int64, error) {
	const chunk = 1 << 18
	size := min(a.size, b.size)
	bufA, bufB := make([]byte, min(chunk, size)), make([]byte, min(chunk, size))
	for off := int64(0); off < size; off += chunk {
		if err := l.ctx.Err(); err != nil {
			return 0, err
		}
		n := min(chunk, size-off)
		if _, err := a.ReadAt(bufA[:n], off); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if _, err := b.ReadAt(bufB[:n], off); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if bytes.Equal(bufA[:n], bufB[:n]) {
			continue
		}
		for i := range n {
			if bufA[i] != bufB[i] {
				return off + i, nil
			}
		}
	}
	if a.size != b.size {
		return size, nil
	}
	return -1, nil
}

// flat compares contents that have no parts: as text, else as bytes.
func (l *locator) flat(a, b content, within []string) (*Place, error) {
	at, err := l.firstDifference(a, b)
	if err != nil || at < 0 {
		return nil, err
	}
	begin := max(0, at-window)
	winA, err := a.read(begin, at-begin+window)
	if err != nil {
		return nil, err
	}
	winB, err := b.read(begin, at-begin+window)
	if err != nil {
		return nil, err
	}
	p := &Place{Within: within, Offset: at}
	pos := int(at - begin)
	p.hints = l.hints(winA, winB, pos)
	if l.text(a, winA) && l.text(b, winB) {
		if p.Line, p.Column, err = l.lineOf(a, at); err != nil {
			return nil, err
		}
		p.A, p.B = lineAround(winA, pos), lineAround(winB, pos)
		return p, nil
	}
	p.A, p.B = hexAt(winA, pos), hexAt(winB, pos)
	if sa, sb := stringAround(winA, pos), stringAround(winB, pos); sa != "" && sb != "" {
		p.TextA, p.TextB = clip(sa), clip(sb)
	}
	return p, nil
}

// text reports whether a content looks like text at its beginning and around
// a difference.
func (l *locator) text(c content, win []byte) bool {
	head, err := c.read(0, 8192)
	return err == nil && isText(head) && isText(win)
}

func isText(data []byte) bool {
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	// A cut may go through a character: up to three bytes at either end.
	for i := 0; i < utf8.UTFMax-1 && len(data) > 0 && !utf8.RuneStart(data[0]); i++ {
		data = data[1:]
	}
	for i := 0; i < utf8.UTFMax-1 && len(data) > 0; i++ {
		if r, n := utf8.DecodeLastRune(data); r != utf8.RuneError || n > 1 {
			break
		}
		data = data[:len(data)-1]
	}
	return utf8.Valid(data)
}

// lineOf counts lines up to an offset, and characters in the last one.
func (l *locator) lineOf(c content, at int64) (line, column int, err error) {
	line, column = 1, 1
	buf := make([]byte, 1<<16)
	r := io.NewSectionReader(c, 0, at)
	for {
		if err := l.ctx.Err(); err != nil {
			return 0, 0, err
		}
		n, err := r.Read(buf)
		for _, ch := range buf[:n] {
			switch {
			case ch == '\n':
				line, column = line+1, 1
			case utf8.RuneStart(ch):
				column++
			}
		}
		if errors.Is(err, io.EOF) {
			return line, column, nil
		}
		if err != nil {
			return 0, 0, err
		}
	}
}

// lineAround is the line at a position of a window, clipped around it.
func lineAround(win []byte, pos int) string {
	pos = min(pos, len(win))
	begin := bytes.LastIndexByte(win[:pos], '\n') + 1
	end := len(win)
	if i := bytes.IndexByte(win[pos:], '\n'); i >= 0 {
		end = pos + i
	}
	if begin == end && pos >= len(win) {
		return "(ends)"
	}
	if pos-begin > 80 {
		begin = pos - 80
	}
	return strconv.Quote(clean(string(win[begin:min(end, pos+80)])))
}

func hexAt(win []byte, pos int) string {
	if pos >= len(win) {
		return "(ends)"
	}
	return hex.EncodeToString(win[pos:min(len(win), pos+16)])
}

// stringAround is the printable run of at least 4 characters in which a
// position lies; a position just behind the run's end belongs to it, because
// there the other side's may go on.
func stringAround(win []byte, pos int) string {
	begin, end := runAround(win, pos)
	if end-begin < 4 {
		return ""
	}
	return string(win[max(begin, pos-100):min(end, pos+100)])
}

func runAround(win []byte, pos int) (begin, end int) {
	pos = min(pos, len(win))
	printable := func(c byte) bool { return c >= ' ' && c < 0x7f || c == '\t' }
	begin, end = pos, pos
	for begin > 0 && printable(win[begin-1]) {
		begin--
	}
	for end < len(win) && printable(win[end]) {
		end++
	}
	return begin, end
}

// clean makes a string of a hostile file fit for a terminal, and bounds it.
func clean(s string) string {
	var b strings.Builder
	for _, r := range clip(s) {
		if strconv.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
			continue
		}
		q := strconv.QuoteRune(r)
		b.WriteString(q[1 : len(q)-1])
	}
	return b.String()
}

func clip(s string) string {
	count := 0
	for i := range s {
		if count++; count > maxName {
			return s[:i] + "…"
		}
	}
	return s
}
