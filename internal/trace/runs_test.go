package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

func create(t *testing.T, path string) *File {
	t.Helper()
	f, err := Create(path, "t")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func messages(t *testing.T, r Run) []string {
	t.Helper()
	var out []string
	if _, err := Each(r, func(e Event) error { out = append(out, e.Msg); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// Two builds at once in one checkout: their lines lie among each other, and
// each is read back whole and alone.
func TestRunsAtOnceAreToldApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	const lines = 300
	var wg sync.WaitGroup
	want := map[string][]string{}
	for w := range 3 {
		f := create(t, path)
		for i := range lines {
			want[f.Run()] = append(want[f.Run()], fmt.Sprint(w, i))
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range lines {
				f.Emit(Event{Kind: Info, Run: "forged", Msg: fmt.Sprint(w, i)})
			}
			if w != 1 { // the second is killed
				f.Emit(Event{Kind: BuildEnd, Msg: "end"})
			}
			f.Close()
		}()
		if w != 1 {
			want[f.Run()] = append(want[f.Run()], "end")
		}
	}
	wg.Wait()
	runs, err := Runs(path)
	if err != nil || len(runs) != len(want) {
		t.Fatalf("%v, runs %+v", err, runs)
	}
	for i, r := range runs {
		if got := messages(t, r); !reflect.DeepEqual(got, want[r.ID]) {
			t.Errorf("run %s: %d events, want %d", r.ID, len(got), len(want[r.ID]))
		}
		if r.Events != len(want[r.ID]) || r.Ended != (r.Events > lines) || r.Started.IsZero() {
			t.Errorf("run %+v", r)
		}
		if i > 0 && r.Started.Before(runs[i-1].Started) {
			t.Error("not in the order of their beginnings")
		}
	}
}

func TestLogOfOldFormHasRuns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	head := `{"schema":"stonemason.events","version":1,"tool":"old","started":"2026-01-02T03:04:0%dZ"}` + "\n"
	text := fmt.Sprintf(head, 5) + `{"kind":"info","msg":"a"}` + "\n" + fmt.Sprintf(head, 6) + `{"kind":"info","msg":"b"}` + "\n{torn"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	runs, err := Runs(path)
	if err != nil || len(runs) != 2 || runs[0].ID != "20260102-030405" || runs[1].ID != "20260102-030406" || runs[0].Tool != "old" {
		t.Fatalf("%v, %+v", err, runs)
	}
	if got := messages(t, runs[1]); !reflect.DeepEqual(got, []string{"b"}) {
		t.Fatal(got)
	}
}

// grow makes the log larger than the limit by a run of its own.
func grow(t *testing.T, path, msg string, limit int) {
	t.Helper()
	f, err := openCurrent(path, int64(limit))
	if err != nil {
		t.Fatal(err)
	}
	l := &File{f: f, run: newRun(time.Now())}
	if err := l.write(header{Schema, Version, "t", l.run, time.Now()}); err != nil {
		t.Fatal(err)
	}
	l.Emit(Event{Kind: Info, Msg: msg, Reason: strings.Repeat("x", limit)})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRotationKeepsTheNewestRuns(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "events.jsonl")
	for i := range 6 {
		grow(t, path, fmt.Sprint(i), 1000)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1+keptFiles {
		t.Fatalf("%d files: %v", len(entries), entries)
	}
	runs, err := Runs(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range runs {
		got = append(got, messages(t, r)...)
	}
	if want := []string{"3", "4", "5"}; !reflect.DeepEqual(got, want) {
		t.Fatalf("runs %v are left, want %v", got, want)
	}
}

// A file that somebody writes to is not moved away under them.
func TestNoRotationUnderAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	first := create(t, path)
	first.Emit(Event{Kind: Info, Msg: "first", Reason: strings.Repeat("x", 2000)})
	grow(t, path, "second", 1000)
	if _, err := os.Stat(older(path, 1)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("rotated while another run was writing")
	}
	first.Emit(Event{Kind: BuildEnd, Msg: "end"})
	first.Close()
	grow(t, path, "third", 1000)
	if _, err := os.Stat(older(path, 1)); err != nil {
		t.Fatal("not rotated although nobody wrote any more:", err)
	}
	runs, err := Runs(path)
	if err != nil || len(runs) != 3 || !runs[0].Ended {
		t.Fatalf("%v, %+v", err, runs)
	}
}

// Many that begin at once on a log that is too large: it is rotated once, and
// nobody's lines are lost.
func TestRotationRace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	for round := range 20 {
		grow(t, path, "old", 4000)
		var wg sync.WaitGroup
		ids := make([]string, 8)
		for w := range ids {
			wg.Add(1)
			go func() {
				defer wg.Done()
				f, err := openCurrent(path, 3000)
				if err != nil {
					t.Error(err)
					return
				}
				l := &File{f: f, run: fmt.Sprintf("%d-%d", round, w)}
				if err := l.write(header{Schema, Version, "t", l.run, time.Now()}); err != nil {
					t.Error(err)
				}
				ids[w] = l.run
				l.Emit(Event{Kind: BuildEnd})
				l.Close()
			}()
		}
		wg.Wait()
		runs, err := Runs(path)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, r := range runs {
			seen[r.ID] = true
			if strings.HasPrefix(r.ID, fmt.Sprint(round, "-")) && r.File != path {
				t.Fatalf("round %d: run %s was moved away at birth", round, r.ID)
			}
		}
		for _, id := range ids {
			if !seen[id] {
				t.Fatalf("round %d: run %s is lost", round, id)
			}
		}
	}
}

func TestRunsErrors(t *testing.T) {
	dir := t.TempDir()
	if _, err := Runs(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	bad := filepath.Join(dir, "bad")
	os.WriteFile(bad, []byte("hello\n"), 0o644)
	if _, err := Runs(bad); !errors.Is(err, ErrSchema) {
		t.Errorf("%v", err)
	}
	stop := errors.New("stop")
	path := filepath.Join(dir, "events.jsonl")
	f := create(t, path)
	f.Emit(Event{Kind: Info})
	f.Emit(Event{Kind: Info})
	f.Close()
	runs, _ := Runs(path)
	n := 0
	if _, err := Each(runs[0], func(Event) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%v after %d events", err, n)
	}
}
