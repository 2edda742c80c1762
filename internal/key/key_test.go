package key

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestTextIsSortedReadableAndStable(t *testing.T) {
	var b Builder
	b.Add("zeta", "1")
	b.List("argv", []string{"cmake", "-S", "src"})
	b.Add("define.B", "2")
	b.Add("define.A", "1")
	b.Add("text", "two\nlines")
	b.List("none", nil)
	want := "stonemason/2\nargv.000=cmake\nargv.001=-S\nargv.002=src\ndefine.A=1\ndefine.B=2\nnone=[]\ntext=\"two\\nlines\"\nzeta=1\n"
	if got := b.Key().Text; got != want {
		t.Errorf("text:\n%s\nwant:\n%s", got, want)
	}
	if first, second := b.Key().ID, b.Key().ID; len(first) != 64 || first != second {
		t.Errorf("ids %q and %q of the same lines", first, second)
	}
}

func TestEveryInputChangesTheID(t *testing.T) {
	make := func(f func(*Builder)) ID {
		var b Builder
		b.Add("a", "1")
		f(&b)
		return b.Key().ID
	}
	base := make(func(*Builder) {})
	seen := map[ID]string{base: "base"}
	for name, f := range map[string]func(*Builder){
		"other value":        func(b *Builder) { b.Add("b", "1") },
		"empty value":        func(b *Builder) { b.Add("b", "") },
		"same name twice":    func(b *Builder) { b.Add("a", "1") },
		"list of one":        func(b *Builder) { b.List("b", []string{"1"}) },
		"empty list":         func(b *Builder) { b.List("b", nil) },
		"split differently":  func(b *Builder) { b.List("b", []string{"1", "2"}) },
		"joined":             func(b *Builder) { b.List("b", []string{"12"}) },
		"a line in a value":  func(b *Builder) { b.Add("b", "1\nc=2") },
		"the line for real":  func(b *Builder) { b.Add("b", "1"); b.Add("c", "2") },
		"quoted by the user": func(b *Builder) { b.Add("b", `"1\nc=2"`) },
	} {
		id := make(f)
		if other, taken := seen[id]; taken {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[id] = name
	}
}

func TestDiffNamesWhatChanged(t *testing.T) {
	var a, b Builder
	a.Add("flag", "-O2")
	a.Add("gone", "x")
	a.Add("same", "y")
	b.Add("flag", "-O3")
	b.Add("same", "y")
	b.Add("new", "z")
	var lines []string
	for _, c := range Diff(a.Key().Text, b.Key().Text) {
		lines = append(lines, c.String())
	}
	want := "flag: -O2 → -O3\ngone: removed, was x\nnew: added z"
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	older := strings.Replace(a.Key().Text, Salt, "stonemason/0", 1)
	if d := Diff(older, a.Key().Text); len(d) != 1 || d[0].Name != "salt" {
		t.Errorf("another salt: %v", d)
	}
}

// What Parse reads back is what a builder wrote, and of anything else it makes
// no more lines than there are.
func FuzzParse(f *testing.F) {
	var b Builder
	b.Add("b", "two=2")
	f.Add(b.Key().Text)
	for _, s := range []string{"", "\n", "=", "a=b=c\na=d", "salt\n=x\n", "no line\nneither"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		lines := Parse(text)
		if len(lines) > strings.Count(text, "\n")+1 {
			t.Errorf("%d lines", len(lines))
		}
		for name := range lines {
			if strings.ContainsAny(name, "=\n") {
				t.Errorf("the name %q", name)
			}
		}
		if changes := Diff(text, text); len(changes) > 0 {
			t.Errorf("a key differs from itself: %v", changes)
		}
	})
}

// However lines are added, in runs that lie apart, overlap or repeat names, the
// text has them by name, and what stood under a taken name under a free one.
func TestLinesInAnyOrderGiveTheSameText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var b Builder // used again for each key
	for range 2000 {
		b.Reset()
		var names, want []string
		taken := map[string]bool{}
		add := func(name string) {
			names = append(names, name)
			free := name
			for n := 2; taken[free]; n++ {
				free = fmt.Sprintf("%s#%d", name, n)
			}
			taken[free] = true
			want = append(want, free+"="+strconv.Itoa(len(names)))
			b.Add(name, strconv.Itoa(len(names)))
		}
		for range random.IntN(6) {
			run := []string{"a", "b", "b.000", "b.001", "b.001#2", "b0", "c", "ü"}[random.IntN(8):]
			for _, name := range run[:random.IntN(len(run)+1)] {
				add(name)
			}
		}
		slices.SortFunc(want, func(x, y string) int {
			x, _, _ = strings.Cut(x, "=")
			y, _, _ = strings.Cut(y, "=")
			return strings.Compare(x, y)
		})
		if got := b.Key().Text; got != strings.Join(append([]string{Salt}, want...), "\n")+"\n" {
			t.Fatalf("of %q:\n%s\nwant:\n%s", names, got, strings.Join(want, "\n"))
		}
	}
}

func TestWithinNamesLinesBelowAPrefix(t *testing.T) {
	var b Builder
	failed := errors.New("no")
	err := b.Within("step", func() error {
		b.List("flags", []string{"-a"})
		b.Text("script", []byte("one\ntwo\n"))
		return errors.Join(b.Within("inner", func() error { b.Add("m.k", "v"); return nil }), failed)
	})
	b.List("many", slices.Repeat([]string{""}, 1001))
	if !errors.Is(err, failed) {
		t.Errorf("the error %v", err)
	}
	text := b.Key().Text
	var names []string
	for line := range strings.Lines(strings.TrimPrefix(text, Salt+"\n")) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	if !slices.IsSorted(names) {
		t.Errorf("a list of more than a thousand is not in the order of the names:\n%.200s", text)
	}
	for _, want := range []string{"\nstep.flags.000=-a\n", "\nstep.script.000=one\nstep.script.001=two\n", "\nstep.inner.m.k=v\n", "\nmany.009=\nmany.010=\n", "\nmany.1000=\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%.200s", want, text)
		}
	}
}
