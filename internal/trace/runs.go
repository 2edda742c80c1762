package trace

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// Run is one run of the program as a log has it.
type Run struct {
	ID      string    `json:"id"`
	Tool    string    `json:"tool"`
	Started time.Time `json:"started"`
	File    string    `json:"-"` // the file that holds it
	Events  int       `json:"events"`
	// Ended is set where the log has the run's last event; a killed run has
	// none, and neither has one that is still going on.
	Ended bool `json:"ended"`
}

// maxRuns bounds how many runs of one log are told apart: the newest.
const maxRuns = 10000

// newRun names a run: its time in UTC, so that names sort, and four random
// digits, so that two that begin at once differ.
func newRun(now time.Time) string {
	var b [2]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	return runName(now) + "-" + hex.EncodeToString(b[:])
}

func runName(started time.Time) string { return started.UTC().Format("20060102-150405") }

// Runs lists the runs of a log that have an event, its older files included,
// in the order in which they began. It reads the files once, line by line.
func Runs(path string) ([]Run, error) {
	var runs []Run
	found := false
	for n := keptFiles; n >= 0; n-- {
		name := path
		if n > 0 {
			name = older(path, n)
		}
		more, err := runsOf(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("event log %s: %w", name, err)
		}
		found = true
		runs = append(runs, more...)
	}
	if !found {
		return nil, fmt.Errorf("event log %s: %w", path, fs.ErrNotExist)
	}
	return runs, nil
}

func runsOf(name string) ([]Run, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := NewReader(f)
	byID := map[string]*Run{}
	var order []*Run
	for {
		e, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		run := byID[e.Run]
		if run == nil {
			run = &Run{ID: e.Run, Started: e.Time, File: name}
			// The schema line may be that of another run that began later.
			if r.head.Run == e.Run {
				run.Tool, run.Started = r.head.Tool, r.head.Started
			}
			byID[e.Run], order = run, append(order, run)
			if len(order) > maxRuns {
				delete(byID, order[0].ID)
				order = order[1:]
			}
		}
		run.Events++
		run.Ended = run.Ended || e.Kind == BuildEnd
	}
	runs := make([]Run, len(order))
	for i, run := range order {
		runs[i] = *run
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return a.Started.Compare(b.Started) })
	return runs, nil
}

// Each calls f for every event of one run, in the order in which they were
// written, and returns how many lines of the file were torn or foreign. It
// holds one event at a time. It ends with the first error of f.
func Each(run Run, f func(Event) error) (damaged int, err error) {
	file, err := os.Open(run.File)
	if err != nil {
		return 0, fmt.Errorf("event log: %w", err)
	}
	defer file.Close()
	r := NewReader(file)
	for {
		e, err := r.Next()
		if err == io.EOF {
			return r.damaged, nil
		}
		if err != nil {
			return r.damaged, fmt.Errorf("event log %s: %w", run.File, err)
		}
		if e.Run != run.ID {
			continue
		}
		if err := f(e); err != nil {
			return r.damaged, err
		}
	}
}
