package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// full is an event with every field set, by reflection, so that a new field is
// covered by the round trip without anyone thinking of it.
func full(t *testing.T) Event {
	t.Helper()
	var e Event
	fill(t, reflect.ValueOf(&e).Elem())
	e.Kind = NodeEnd
	return e
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("a \"<b>\"\nc é")
	case reflect.Int64:
		v.SetInt(1234567890123)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"k": "v"}))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 4, 5, 6, 7, 8, time.UTC)))
			return
		}
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	default:
		t.Fatalf("the test does not know how to fill a %v", v.Kind())
	}
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := Create(path, "stonemason 1.2")
	if err != nil {
		t.Fatal(err)
	}
	want := full(t)
	f.Emit(want)
	f.Emit(Event{Kind: Info, Msg: "second"})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatalf("second Close: %v", err)
	}
	l, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if l.Version != Version || l.Tool != "stonemason 1.2" || l.Damaged != 0 || len(l.Events) != 2 {
		t.Fatalf("log %+v", l)
	}
	want.Run = f.Run()
	if !reflect.DeepEqual(l.Events[0], want) {
		t.Fatalf("got\n%+v\nwant\n%+v", l.Events[0], want)
	}
	if l.Events[1].Time.IsZero() {
		t.Fatal("an event without a time was written without one")
	}
	raw, _ := os.ReadFile(path)
	if n := bytes.Count(raw, []byte("\n")); n != 3 {
		t.Fatalf("%d lines for a header and two events:\n%s", n, raw)
	}
}

// Every prefix of a log is what some kill -9 leaves. Each must be readable, and
// going on with it must lose nothing but the torn line.
func TestTornAnywhere(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole")
	f, err := Create(whole, "t")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		f.Emit(Event{Kind: Info, Msg: fmt.Sprint(i)})
	}
	f.Close()
	raw, _ := os.ReadFile(whole)
	header := bytes.IndexByte(raw, '\n') + 1
	for n := range len(raw) + 1 {
		path := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(path, raw[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		complete := 0
		if n >= header {
			complete = bytes.Count(raw[header:n], []byte("\n"))
		}
		if n >= header-1 { // the schema line may lack only its newline
			l, err := Read(path)
			if err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if len(l.Events) != complete && len(l.Events) != complete+1 {
				t.Fatalf("%d bytes: %d events, %d lines are complete", n, len(l.Events), complete)
			}
		} else if _, err := Read(path); !errors.Is(err, ErrSchema) {
			t.Fatalf("%d bytes: %v, want ErrSchema", n, err)
		}
		if n > 0 && n < header-1 {
			continue // no schema line: nothing can follow it
		}
		f, err := Create(path, "later")
		if err != nil {
			t.Fatal(err)
		}
		f.Emit(Event{Kind: Info, Msg: "later"})
		f.Close()
		l, err := Read(path)
		if err != nil {
			t.Fatalf("%d bytes, continued: %v", n, err)
		}
		if len(l.Events) < complete+1 || l.Events[len(l.Events)-1].Msg != "later" || l.Tool != "later" {
			t.Fatalf("%d bytes, continued: %+v", n, l)
		}
	}
}

func TestManyWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const writers, each = 8, 200
	var wg sync.WaitGroup
	for w := range writers {
		// Two goroutines share each File, and four Files share the path.
		f, err := Create(path, "t")
		if err != nil {
			t.Fatal(err)
		}
		var inner sync.WaitGroup
		for h := range 2 {
			inner.Add(1)
			go func() {
				defer inner.Done()
				for i := range each {
					f.Emit(Event{Kind: StepOutput, Node: fmt.Sprint(w, h), Msg: strings.Repeat("x", i), Done: int64(i)})
				}
			}()
		}
		wg.Add(1)
		go func() { defer wg.Done(); inner.Wait(); f.Close() }()
	}
	wg.Wait()
	l, err := Read(path)
	if err != nil || l.Damaged != 0 || len(l.Events) != writers*2*each {
		t.Fatalf("%v, %d events, %d damaged", err, len(l.Events), l.Damaged)
	}
	next := map[string]int64{}
	for _, e := range l.Events {
		if e.Done != next[e.Node] {
			t.Fatalf("writer %s: event %d where %d belongs", e.Node, e.Done, next[e.Node])
		}
		next[e.Node]++
	}
}

func TestReaderRefuses(t *testing.T) {
	cases := map[string]struct {
		in  string
		err error
	}{
		"empty":         {"", ErrSchema},
		"not a log":     {"hello\n", ErrSchema},
		"no header":     {`{"kind":"info"}` + "\n", ErrSchema},
		"newer":         {`{"schema":"stonemason.events","version":2}` + "\n", ErrSchema},
		"version zero":  {`{"schema":"stonemason.events"}` + "\n", ErrSchema},
		"other schema":  {`{"schema":"x","version":1}` + "\n", ErrSchema},
		"newer, middle": {`{"schema":"stonemason.events","version":1}` + "\n" + `{"schema":"stonemason.events","version":9}` + "\n", ErrSchema},
		"only header":   {`{"schema":"stonemason.events","version":1}` + "\n", io.EOF},
	}
	for name, c := range cases {
		if _, err := NewReader(strings.NewReader(c.in)).Next(); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}

func TestReaderPassesOverALineTooLong(t *testing.T) {
	head := `{"schema":"stonemason.events","version":1}` + "\n"
	long := strings.NewReader(strings.Repeat("x", maxLine+10) + "\n" + `{"kind":"info","msg":"after"}`)
	r := NewReader(io.MultiReader(strings.NewReader(head), long))
	e, err := r.Next()
	if err != nil || e.Msg != "after" || r.Damaged() != 1 {
		t.Fatalf("%+v, %v, %d damaged", e, err, r.Damaged())
	}
}

func TestHugeTextIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := Create(path, "t")
	if err != nil {
		t.Fatal(err)
	}
	f.Emit(Event{Kind: StepOutput, Msg: strings.Repeat("y", 1<<20)})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := Read(path)
	if err != nil || len(l.Events) != 1 || len(l.Events[0].Msg) > maxText+10 {
		t.Fatalf("%v, %+v", err, l)
	}
}

// A full disk is known from /dev/full on Linux; a file size limit does the
// same on every unix, but for the whole process. A closed file is the portable
// way to make writes fail.
func TestWriteErrorIsKeptAndTold(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "events.jsonl"), "t")
	if err != nil {
		t.Fatal(err)
	}
	f.f.Close()
	var live Memory
	b := NewBus(f, &live)
	b.Emit(Event{Kind: BuildStart})
	b.Emit(Event{Kind: BuildEnd})
	if err := b.Close(); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("Close = %v", err)
	}
	var kinds []Kind
	for _, e := range live.Events() {
		kinds = append(kinds, e.Kind)
	}
	if want := []Kind{Warn, BuildStart, BuildEnd}; !reflect.DeepEqual(kinds, want) {
		t.Fatalf("live sink saw %v, want %v: one warning, and every event", kinds, want)
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Create(filepath.Join(dir, "no", "such"), "t"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := Create(dir, "t"); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("%v", err)
	}
}

func FuzzReader(f *testing.F) {
	head := `{"schema":"stonemason.events","version":1}` + "\n"
	f.Add([]byte(head + `{"kind":"node.end","outcome":"built","duration_ns":5,"nodes":[{"name":"a"}]}` + "\n{\"ki"))
	f.Add([]byte(head + "\x00\xff\n\n[]\n{}\nnull\n" + `{"kind":7}`))
	f.Add([]byte(`{"schema":"stonemason.events","version":1e99}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(bytes.NewReader(b))
		for n := 0; ; n++ {
			e, err := r.Next()
			if err != nil {
				break
			}
			if e.Kind == "" || n > len(b) {
				t.Fatalf("event %d of %d bytes: %+v", n, len(b), e)
			}
		}
	})
}
