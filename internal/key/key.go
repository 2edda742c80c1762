// Package key names what goes into a build as readable text.
//
// A key is a list of sorted "name=value" lines; its identity is the SHA-256 of
// that text. The text is kept beside every result, so that two keys can be
// compared line by line and a rebuild can be explained by the lines that
// differ.
package key

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Salt is the first line of every key. Raising it makes all earlier results
// unreachable: do so when the meaning of a line changes.
const Salt = "stonemason/2"

// ID is the identity of a key: 64 lower-case hex digits of the SHA-256 of its
// text.
type ID string

// Short is the ID's first 12 digits, for folder names and people.
func (id ID) Short() string {
	if len(id) < 12 {
		return string(id)
	}
	return string(id[:12])
}

// Key is a finished key.
type Key struct {
	ID   ID     `json:"id"`
	Text string `json:"text"`
}

// Builder collects the lines of a key. The zero value is ready to use. A name
// that is added twice keeps both values, told apart by an index, so that
// nothing that was added can be lost.
//
// A plan makes a thousand keys of hundreds of lines each, so the lines stand in
// one buffer, as they will in the text, and [Builder.Reset] keeps it for the
// next key.
type Builder struct {
	buf    []byte // the lines in the order in which they were added
	lines  []line
	prefix string // of names that are added now

	// What ID needs, kept for the next time.
	text  []byte
	order []line
	runs  [][]line
}

// line is where a line stands in the buffer: name, "=", value, "\n".
type line struct {
	start, equals, end int
	next               bool // element of a list, after the element before it
}

func (b *Builder) name(l line) []byte { return b.buf[l.start:l.equals] }

// Reset empties the builder.
func (b *Builder) Reset() { b.buf, b.lines, b.prefix = b.buf[:0], b.lines[:0], "" }

// Add records one input. Values that hold line breaks or other control
// characters are quoted as Go strings, so that every input stays one line.
func (b *Builder) Add(name, value string) {
	start := b.begin(name)
	finish(b, start, value, false)
}

// begin writes the name of a line, finish the rest.
func (b *Builder) begin(name string) (start int) {
	start = len(b.buf)
	b.buf = append(append(b.buf, b.prefix...), name...)
	return start
}

func finish[T string | []byte](b *Builder, start int, value T, next bool) {
	equals := len(b.buf)
	b.buf = append(b.buf, '=')
	if mustQuote(value) {
		b.buf = strconv.AppendQuote(b.buf, string(value))
	} else {
		b.buf = append(b.buf, value...)
	}
	b.buf = append(b.buf, '\n')
	b.lines = append(b.lines, line{start, equals, len(b.buf), next})
}

func mustQuote[T string | []byte](value T) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f { // no byte of a longer character is
			return true
		}
	}
	return len(value) > 0 && value[0] == '"'
}

// List records values whose order matters as name.000, name.001, …, and an
// empty list as such, so that "none" and "not said" differ.
func (b *Builder) List(name string, values []string) {
	if len(values) == 0 {
		b.Add(name, "[]")
		return
	}
	for i, v := range values {
		element(b, name, i, v)
	}
}

func element[T string | []byte](b *Builder, name string, i int, value T) {
	start := b.begin(name)
	b.buf = append(b.buf, '.')
	for n := 100; n > 1 && i < n; n /= 10 {
		b.buf = append(b.buf, '0')
	}
	b.buf = strconv.AppendInt(b.buf, int64(i), 10)
	finish(b, start, value, i > 0 && i < 1000) // as text, 1000 comes before 999
}

// Text records a text that is read line by line, a script for instance, as
// List does.
func (b *Builder) Text(name string, text []byte) {
	text = bytes.TrimSuffix(text, []byte("\n"))
	for i, more := 0, true; more; i++ {
		var one []byte
		one, text, more = bytes.Cut(text, []byte("\n"))
		element(b, name, i, one)
	}
}

// Within adds what add adds with a prefix and a dot before every name.
func (b *Builder) Within(prefix string, add func() error) error {
	outer := b.prefix
	b.prefix = outer + prefix + "."
	defer func() { b.prefix = outer }()
	return add()
}

// Key closes the builder's present content.
func (b *Builder) Key() Key {
	id := b.ID()
	return Key{ID: id, Text: string(b.text)}
}

// ID is the identity of the key that Key would give.
func (b *Builder) ID() ID {
	b.text = append(append(b.text[:0], Salt...), '\n')
	if b.sort() {
		for _, l := range b.order {
			b.text = append(b.text, b.buf[l.start:l.end]...)
		}
	} else {
		for _, l := range b.renamed() {
			b.text = append(append(append(b.text, l.name...), '='), l.rest...)
		}
	}
	sum := sha256.Sum256(b.text)
	return ID(hex.EncodeToString(sum[:]))
}

// sort puts the lines into the order of their names. It reports false when a
// name was added twice.
//
// Most lines are elements of lists, which come in order, and hardly ever has
// another line its place among those of a list. So a list is sorted as a piece,
// by its first line, and line by line only when pieces overlap.
func (b *Builder) sort() (unique bool) {
	byName := func(x, y line) int { return bytes.Compare(b.name(x), b.name(y)) }
	b.runs = b.runs[:0]
	for begin, i := 0, 1; i <= len(b.lines); i++ {
		if i == len(b.lines) || !b.lines[i].next {
			b.runs = append(b.runs, b.lines[begin:i])
			begin = i
		}
	}
	slices.SortFunc(b.runs, func(x, y []line) int { return byName(x[0], y[0]) })
	b.order = b.order[:0]
	apart := true
	for _, run := range b.runs {
		apart = apart && (len(b.order) == 0 || byName(b.order[len(b.order)-1], run[0]) < 0)
		b.order = append(b.order, run...)
	}
	if apart {
		return true
	}
	slices.SortFunc(b.order, byName)
	for i := 1; i < len(b.order); i++ {
		if byName(b.order[i-1], b.order[i]) == 0 {
			return false
		}
	}
	return true
}

// named is a line with a name that is not in the buffer.
type named struct {
	name string
	rest []byte // the value and the line break
}

// renamed gives the lines by name, each name once: what was added under a name
// that is taken gets the first form of it that is free.
func (b *Builder) renamed() []named {
	taken := make(map[string]bool, len(b.lines))
	lines := make([]named, len(b.lines))
	for i, l := range b.lines {
		name := string(b.name(l))
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s#%d", b.name(l), n)
		}
		taken[name] = true
		lines[i] = named{name, b.buf[l.equals+1 : l.end]}
	}
	slices.SortFunc(lines, func(x, y named) int { return strings.Compare(x.name, y.name) })
	return lines
}

// Parse reads a key's text back into its lines. The salt line becomes the
// entry "salt", so that a change of it shows as a difference too.
func Parse(text string) map[string]string {
	lines := make(map[string]string)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok {
			lines[name] = value
		} else if i == 0 {
			lines["salt"] = line
		}
	}
	return lines
}

// Change is one line in which two keys differ. Old is empty for an input that
// was added, New for one that went away; Had and Has tell an empty value from
// an absent one.
type Change struct {
	Name string `json:"name"`
	Old  string `json:"old,omitempty"`
	New  string `json:"new,omitempty"`
	Had  bool   `json:"had"`
	Has  bool   `json:"has"`
}

func (c Change) String() string {
	switch {
	case !c.Had:
		return fmt.Sprintf("%s: added %s", c.Name, c.New)
	case !c.Has:
		return fmt.Sprintf("%s: removed, was %s", c.Name, c.Old)
	}
	return fmt.Sprintf("%s: %s → %s", c.Name, c.Old, c.New)
}

// Diff compares two key texts and returns the differing lines by name.
func Diff(oldText, newText string) []Change {
	older, newer := Parse(oldText), Parse(newText)
	var changes []Change
	for name, was := range older {
		is, has := newer[name]
		if !has || is != was {
			changes = append(changes, Change{Name: name, Old: was, New: is, Had: true, Has: has})
		}
	}
	for name, is := range newer {
		if _, had := older[name]; !had {
			changes = append(changes, Change{Name: name, New: is, Has: true})
		}
	}
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return changes
}
