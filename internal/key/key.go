// Package key names what goes into a build as readable text.
//
// A key is a list of sorted "name=value" lines; its identity is the SHA-256 of
// that text. The text is kept beside every result, so that two keys can be
// compared line by line and a rebuild can be explained by the lines that
// differ.
package key

import (
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
type Builder struct {
	lines []line // in the order in which they were added
}

type line struct{ name, value string }

// Add records one input. Values that hold line breaks or other control
// characters are quoted as Go strings, so that every input stays one line.
func (b *Builder) Add(name, value string) {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.HasPrefix(value, `"`) {
		value = strconv.Quote(value)
	}
	b.lines = append(b.lines, line{name, value})
}

// sorted gives the lines by name, each name once: what was added under a name
// that is taken gets the first form of it that is free.
func (b *Builder) sorted() []line {
	byName := func(x, y line) int { return strings.Compare(x.name, y.name) }
	lines := slices.Clone(b.lines)
	slices.SortStableFunc(lines, byName)
	twice := false
	for i := 1; i < len(lines) && !twice; i++ {
		twice = lines[i].name == lines[i-1].name
	}
	if !twice {
		return lines
	}
	taken := make(map[string]bool, len(lines))
	for i, l := range b.lines {
		name := l.name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s#%d", l.name, n)
		}
		taken[name] = true
		lines[i] = line{name, l.value}
	}
	slices.SortFunc(lines, byName)
	return lines
}

// List records values whose order matters as name.000, name.001, …, and an
// empty list as such, so that "none" and "not said" differ.
func (b *Builder) List(name string, values []string) {
	if len(values) == 0 {
		b.Add(name, "[]")
		return
	}
	b.lines = slices.Grow(b.lines, len(values))
	for i, v := range values {
		number := strconv.Itoa(i)
		b.Add(name+"."+"000"[min(3, len(number)):]+number, v)
	}
}

// Text records a text that is read line by line, a script for instance, as
// List does.
func (b *Builder) Text(name, text string) {
	b.List(name, strings.Split(strings.TrimSuffix(text, "\n"), "\n"))
}

// Nest adds every line of another builder under a prefix.
func (b *Builder) Nest(prefix string, other *Builder) {
	b.lines = slices.Grow(b.lines, len(other.lines))
	for _, l := range other.lines {
		b.lines = append(b.lines, line{prefix + "." + l.name, l.value})
	}
}

// Key closes the builder's present content.
func (b *Builder) Key() Key {
	var text strings.Builder
	text.WriteString(Salt + "\n")
	for _, l := range b.sorted() {
		text.WriteString(l.name)
		text.WriteByte('=')
		text.WriteString(l.value)
		text.WriteByte('\n')
	}
	sum := sha256.Sum256([]byte(text.String()))
	return Key{ID: ID(hex.EncodeToString(sum[:])), Text: text.String()}
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
