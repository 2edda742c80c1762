package ninjalog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func read(t *testing.T, text string, from, to int64) *Log {
	t.Helper()
	l, err := Read(strings.NewReader(text), int64(len(text)), from, to)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func outputs(l *Log) []string {
	var out []string
	for _, e := range l.Edges {
		out = append(out, e.Output)
	}
	slices.Sort(out)
	return out
}

const head = "# ninja log v5\n"

func line(start, end int, output, hash string) string {
	return fmt.Sprintf("%d\t%d\t1795271783731202423\t%s\t%s\n", start, end, output, hash)
}

func TestEntries(t *testing.T) {
	l := read(t, "# ninja log v6\n"+line(10, 30, "b.o", "bf")+line(0, 40, "a.o", "cf")+line(0, 40, "a.d", "cf")+line(0, 40, "other", "1"), 0, 0)
	want := []Edge{
		{0, 40 * time.Millisecond, "a.o", 2}, {0, 40 * time.Millisecond, "other", 1},
		{10 * time.Millisecond, 30 * time.Millisecond, "b.o", 1},
	}
	if !reflect.DeepEqual(l.Edges, want) || l.Version != 6 || l.Damaged != 0 {
		t.Fatalf("%+v", l)
	}
}

func TestLaterRuns(t *testing.T) {
	first := head + line(0, 900, "a.o", "a") + line(5, 1000, "b.o", "b")
	second := line(0, 10, "b.o", "b") + line(3, 20, "c", "c")
	both := first + second
	for name, c := range map[string]struct {
		text     string
		from, to int
		want     []string
		rewrote  bool
	}{
		"the first":                  {first, 0, 0, []string{"a.o", "b.o"}, false},
		"the second, by offset":      {both, len(first), 0, []string{"b.o", "c"}, false},
		"the first, by its end":      {both, 0, len(first), []string{"a.o", "b.o"}, false},
		"the second, by times alone": {both, 0, 0, []string{"b.o", "c"}, false},
		"nothing appended":           {first, len(first), 0, nil, false},
		"rewritten, shorter":         {both, len(both) + 50, 0, []string{"b.o", "c"}, true},
		"rewritten, middle of line":  {both, len(first) - 3, 0, []string{"b.o", "c"}, true},
		"header only":                {head, 0, 0, nil, false},
	} {
		l := read(t, c.text, int64(c.from), int64(c.to))
		if got := outputs(l); !slices.Equal(got, c.want) || l.Rewritten != c.rewrote {
			t.Errorf("%s: %v, rewritten %v", name, got, l.Rewritten)
		}
	}
}

func TestDamagedLines(t *testing.T) {
	for _, bad := range []string{
		"x", "1\t2\t3\ta", "1\t2\t3\ta\tb\tc", "a\t2\t3\ta\tb", "1\tb\t3\ta\tb", "5\t2\t3\ta\tb", "-1\t2\t3\ta\tb",
		"1\t99999999999\t3\ta\tb", "1\t2\t3\ta\tzz", "1\t2\t3\t\tb", "1\t2\t3\t" + strings.Repeat("x", 3*maxLine) + "\tb",
	} {
		l := read(t, head+line(0, 1, "before", "1")+bad+"\n"+line(1, 2, "after", "2"), 0, 0)
		if got := outputs(l); !slices.Equal(got, []string{"after", "before"}) || l.Damaged != 1 {
			t.Errorf("%.40q: %v, %d damaged", bad, got, l.Damaged)
		}
	}
	// What a killed ninja leaves: no newline behind the last entry.
	torn := head + line(0, 1, "a", "1") + strings.TrimSuffix(line(1, 12345, "b", "2"), "\n")
	if l := read(t, torn, 0, 0); !slices.Equal(outputs(l), []string{"a"}) || l.Damaged != 1 {
		t.Errorf("torn: %+v", l)
	}
}

func TestRefuses(t *testing.T) {
	for _, text := range []string{"", "\n", "hello\n", "# ninja log v4\n", "# ninja log v8\n", "# ninja log v5", "# ninja log v\n", "# ninja log v5x\n", strings.Repeat("x", 1000)} {
		if _, err := Read(strings.NewReader(text), int64(len(text)), 0, 0); !errors.Is(err, ErrVersion) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := Read(strings.NewReader(head), maxBytes+1, 0, 0); err == nil {
		t.Error("a log of any size is read")
	}
}

// What ninja itself writes: two runs, the second after an edit, then a
// recompaction; and -j is never exceeded by the lanes.
func TestRealNinja(t *testing.T) {
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("rule make\n  command = cat $in > $out && touch $out.d\n")
	for i := range 12 {
		fmt.Fprintf(&b, "build out%d | out%d.d: make in%d\n", i, i, i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("in", i)), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "build.ninja"), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	ninja := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ninja", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	log := func(from int64) (*Log, int64) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(dir, ".ninja_log"))
		if err != nil {
			t.Fatal(err)
		}
		l, err := Read(bytes.NewReader(data), int64(len(data)), from, 0)
		if err != nil {
			t.Fatal(err)
		}
		return l, int64(len(data))
	}
	ninja("-j3")
	l, size := log(0)
	if len(l.Edges) != 12 || l.Damaged != 0 || l.Edges[0].Outputs != 2 {
		t.Fatalf("%+v", l)
	}
	spans := make([]Span, len(l.Edges))
	for i, e := range l.Edges {
		spans[i] = Span{e.Start, e.End}
	}
	if _, n := Lanes(spans); n < 1 || n > 3 {
		t.Errorf("%d lanes for -j3: %v", n, l.Edges)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "in7"), later, later); err != nil {
		t.Fatal(err)
	}
	ninja("-j3")
	if l, _ = log(size); !slices.Equal(outputs(l), []string{"out7"}) {
		t.Fatalf("second run: %v", outputs(l))
	}
	ninja("-t", "recompact")
	if l, _ = log(size + 1<<20); !l.Rewritten || l.Damaged != 0 || len(l.Edges) == 0 {
		t.Fatalf("recompacted: %+v", l)
	}
}

func TestLanes(t *testing.T) {
	ms := func(a, b int) Span { return Span{time.Duration(a), time.Duration(b)} }
	lanes, n := Lanes([]Span{ms(5, 6), ms(0, 10), ms(0, 3), ms(3, 5), ms(12, 13), ms(12, 12), ms(10, 12)})
	if want := []int{1, 0, 1, 1, 0, 1, 0}; !reflect.DeepEqual(lanes, want) || n != 2 {
		t.Fatalf("%v, %d lanes", lanes, n)
	}
	if lanes, n := Lanes(nil); len(lanes) != 0 || n != 0 {
		t.Fatal("lanes of nothing")
	}
}

// No two spans of a lane overlap, and the lanes are as few as there are spans
// at once.
func TestLanesProperty(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		spans := make([]Span, r.IntN(60))
		for i := range spans {
			start := r.IntN(50)
			spans[i] = Span{time.Duration(start), time.Duration(start + 1 + r.IntN(20))}
		}
		lanes, n := Lanes(spans)
		most := 0
		for i, a := range spans {
			at := 0
			for j, b := range spans {
				if b.Start <= a.Start && a.Start < b.End {
					at++
				}
				if i != j && lanes[i] == lanes[j] && a.Start < b.End && b.Start < a.End {
					t.Fatalf("%v and %v overlap in lane %d", a, b, lanes[i])
				}
			}
			most = max(most, at)
		}
		if n != most {
			t.Fatalf("%d lanes for %d at once", n, most)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(head+line(0, 1, "a", "1")+line(0, 1, "b", "1")), int64(0), int64(0))
	f.Add([]byte(head+line(9, 10, "a", "1")+"\x00\t\t\t\t\n"+line(0, 1, "b", "2")), int64(20), int64(31))
	f.Fuzz(func(t *testing.T, b []byte, from, to int64) {
		l, err := Read(bytes.NewReader(b), int64(len(b)), from, to)
		if err != nil {
			return
		}
		for _, e := range l.Edges {
			if e.Start < 0 || e.End < e.Start || e.Output == "" || e.Outputs < 1 {
				t.Fatalf("%+v", e)
			}
		}
	})
}
