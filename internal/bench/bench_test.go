package bench

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func sleep(d time.Duration, log *[]string, what string) Work {
	return func(context.Context) error {
		*log = append(*log, what)
		time.Sleep(d)
		return nil
	}
}

// Both sides are prepared and run as often, in turns, and what prepares them
// does not count.
func TestMeasureTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log []string
		r, err := Measure(t.Context(), Case{
			What: "x", Runs: 3, Before: sleep(time.Hour, &log, "before"),
			Ours: sleep(time.Second, &log, "ours"), Theirs: sleep(2*time.Second, &log, "theirs"), Alternative: "`them`",
			Bound: Bound{Ratio: 0.5, Most: time.Second},
		})
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Fields("before ours before theirs before theirs before ours before ours before theirs")
		if !slices.Equal(log, want) {
			t.Errorf("ran %v", log)
		}
		row := r.Row()
		if want := (Row{What: "x", Ours: "1 s (1 s–1 s), 0.50×", Alternative: "2 s (2 s–2 s) `them`", Bound: "≤ 1 s, ≤ 0.5×", Met: Met, Runs: 3}); row != want {
			t.Errorf("got  %+v\nwant %+v", row, want)
		}
		if r.Case.Bound.Ratio = 0.49; r.Row().Met != Missed {
			t.Error("a missed ratio is said to be met")
		}
		if r.Case.Bound = (Bound{Most: time.Second - 1}); r.Row().Met != Missed {
			t.Error("a missed time is said to be met")
		}
	})
}

func TestMeasureStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	_, err := Measure(t.Context(), Case{What: "x", Runs: 2, Ours: func(context.Context) error { return broken }})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "x: ") {
		t.Error(err)
	}
}

func TestMedian(t *testing.T) {
	for want, times := range map[time.Duration][]time.Duration{0: {}, 3: {3}, 2: {3, 1}, 5: {9, 1, 5}, 4: {9, 1, 5, 3}} {
		if got := Median(times); got != want {
			t.Errorf("Median(%v) = %d, want %d", times, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	got := Table([]Row{{What: "a", Ours: "1 s", Alternative: "-", Runs: 1}})
	if want := "| a | 1 s | - |  |  | 1 |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
}
