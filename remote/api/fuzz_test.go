package api

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// Whatever is read is an error or a description that can be asked everything, and
// that is the same when it is written and read again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte(order))
	for _, cut := range []string{"handles:", "records:", "functions:", "memory:"} {
		_, rest, _ := strings.Cut(order, cut)
		f.Add([]byte(cut + rest))
	}
	f.Fuzz(func(t *testing.T, data []byte) { askEverything(t, data) })
}

var words = regexp.MustCompile(`[A-Za-z_0-9.*]+`)

// The same of a description in which words have changed places: most of it is
// understood.
func FuzzWords(f *testing.F) {
	at := words.FindAllStringIndex(order, -1)
	f.Add(uint16(10), uint16(20), uint16(30), uint16(40))
	f.Fuzz(func(t *testing.T, a, b, c, d uint16) {
		text := []byte(order)
		for _, pair := range [][2]uint16{{a, b}, {c, d}} {
			to, from := at[int(pair[0])%len(at)], at[int(pair[1])%len(at)]
			if word := order[from[0]:from[1]]; to[0] >= len(text) || to[1] > len(text) {
				return
			} else {
				text = slices.Concat(text[:to[0]], []byte(word), text[to[1]:])
			}
		}
		askEverything(t, text)
	})
}

func askEverything(t *testing.T, data []byte) {
	l, err := Read(fstest.MapFS{}, "", data)
	if err != nil {
		return
	}
	text := l.Bytes()
	again, err := Read(fstest.MapFS{}, l.Name, text)
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, text)
	}
	if !bytes.Equal(text, again.Bytes()) {
		t.Fatalf("written again it is\n%s\nand was\n%s", again.Bytes(), text)
	}
	if changes, facts := Compare(l, again), CompareFacts(l, again); len(changes)+len(facts) > 0 {
		t.Fatalf("what was written differs: %v %v", changes, facts)
	}
	l.Undecided()
	Facts(l)
	_ = l.Layout()
	for _, name := range l.Functions.Keys() {
		l.Lookup(name, 600, true)
	}
}
