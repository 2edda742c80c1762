package sched

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
)

func record(log *[]string, mu *sync.Mutex, id string) func(context.Context, *budget.Lease) error {
	return func(context.Context, *budget.Lease) error {
		mu.Lock()
		defer mu.Unlock()
		*log = append(*log, id)
		return nil
	}
}

func TestOrderFollowsNeedsAndTheLongestPath(t *testing.T) {
	var log []string
	var mu sync.Mutex
	tasks := []Task{
		{ID: "short", Cost: time.Second, Run: record(&log, &mu, "short")},
		{ID: "head", Cost: time.Second, Run: record(&log, &mu, "head")},
		{ID: "tail", Cost: time.Hour, Needs: []string{"head"}, Run: record(&log, &mu, "tail")},
	}
	if failed := Run(t.Context(), tasks, Options{Jobs: 1}); len(failed) != 0 {
		t.Fatal(failed)
	}
	if want := []string{"head", "tail", "short"}; !slices.Equal(log, want) {
		t.Errorf("order %v, want %v", log, want)
	}
}

func TestFailureStopsDependentsAndSaysWhy(t *testing.T) {
	boom := errors.New("boom")
	ran := map[string]bool{}
	var mu sync.Mutex
	ok := func(id string) func(context.Context, *budget.Lease) error {
		return func(context.Context, *budget.Lease) error { mu.Lock(); ran[id] = true; mu.Unlock(); return nil }
	}
	tasks := []Task{
		{ID: "a", Cost: time.Hour, Run: func(context.Context, *budget.Lease) error { return boom }},
		{ID: "b", Needs: []string{"a"}, Run: ok("b")},
		{ID: "c", Needs: []string{"b"}, Run: ok("c")},
		{ID: "z", Run: ok("z")},
	}
	failed := Run(t.Context(), tasks, Options{Jobs: 1})
	var need *NeedFailedError
	if !errors.Is(failed["a"], boom) || !errors.As(failed["b"], &need) || need.Need != "a" || !errors.As(failed["c"], &need) {
		t.Errorf("failed = %v", failed)
	}
	if !errors.Is(failed["z"], ErrNotStarted) || ran["z"] {
		t.Errorf("z: %v, ran %v", failed["z"], ran["z"])
	}
	if failed := Run(t.Context(), tasks, Options{Jobs: 1, KeepGoing: true}); failed["z"] != nil || !ran["z"] {
		t.Errorf("with KeepGoing z: %v", failed["z"])
	}
}

func TestCancelledContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	failed := Run(ctx, []Task{{ID: "a", Run: func(context.Context, *budget.Lease) error { t.Error("ran"); return nil }}}, Options{Jobs: 1})
	if !errors.Is(failed["a"], context.Canceled) {
		t.Error(failed)
	}
}
