// Package bench measures what this program does beside what a person would do
// without it, in one run, so that both meet the same machine in the same state.
package bench

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Work is what is measured.
type Work func(ctx context.Context) error

// Case is one thing to measure.
type Case struct {
	// What is measured, as a table's row names it.
	What string
	// Before prepares every run of either side; its time does not count.
	Before Work
	Ours   Work
	// Theirs does the same in the other way; nil when there is none.
	Theirs Work
	// Alternative says what Theirs does, for people.
	Alternative string
	Runs        int
	Bound       Bound
}

// Bound is what is asked of a result. The zero value asks nothing.
type Bound struct {
	// Ratio is the most that our time may be of theirs.
	Ratio float64
	// Most is the longest that ours may take.
	Most time.Duration
}

// Row is a line of the table.
type Row struct {
	What, Ours, Alternative, Bound string
	Met                            Verdict
	Runs                           int
}

// Verdict says whether a bound is met.
type Verdict string

// The verdicts.
const (
	Met    Verdict = "yes"
	Missed Verdict = "**no**"
	Open   Verdict = "" // nothing was asked
)

// Of is the verdict of a comparison.
func Of(ok bool) Verdict {
	if ok {
		return Met
	}
	return Missed
}

// Result holds the times of a case, in the order of the runs.
type Result struct {
	Case   Case
	Ours   []time.Duration
	Theirs []time.Duration // empty when there is no alternative
}

// Measure runs a case. Ours and theirs take turns, and who begins changes too,
// so that what the machine does besides meets both alike.
func Measure(ctx context.Context, c Case) (Result, error) {
	r := Result{Case: c}
	for i := range max(1, c.Runs) {
		sides := []struct {
			work Work
			took *[]time.Duration
		}{{c.Ours, &r.Ours}, {c.Theirs, &r.Theirs}}
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		for _, s := range sides {
			if s.work == nil {
				continue
			}
			if c.Before != nil {
				if err := c.Before(ctx); err != nil {
					return r, fmt.Errorf("%s: before it: %w", c.What, err)
				}
			}
			begun := time.Now()
			if err := s.work(ctx); err != nil {
				return r, fmt.Errorf("%s: %w", c.What, err)
			}
			*s.took = append(*s.took, time.Since(begun))
		}
	}
	return r, nil
}

// Median of some times; of an even number the mean of the two in the middle.
func Median(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	t := slices.Sorted(slices.Values(times))
	return (t[(len(t)-1)/2] + t[len(t)/2]) / 2
}

// Ratio is our median in terms of theirs, or 0 without an alternative.
func (r Result) Ratio() float64 {
	theirs := Median(r.Theirs)
	if theirs == 0 {
		return 0
	}
	return float64(Median(r.Ours)) / float64(theirs)
}

// Row says what came out.
func (r Result) Row() Row {
	ours := Median(r.Ours)
	row := Row{What: r.Case.What, Ours: spread(r.Ours), Alternative: "-", Runs: len(r.Ours)}
	ok := true
	if len(r.Theirs) > 0 {
		row.Alternative = spread(r.Theirs) + " " + r.Case.Alternative
		row.Ours += fmt.Sprintf(", %.2f×", r.Ratio())
	}
	var asked []string
	if most := r.Case.Bound.Most; most > 0 {
		asked = append(asked, "≤ "+short(most))
		ok = ok && ours <= most
	}
	if ratio := r.Case.Bound.Ratio; ratio > 0 {
		asked = append(asked, fmt.Sprintf("≤ %g×", ratio))
		ok = ok && r.Ratio() <= ratio
	}
	if len(asked) > 0 {
		row.Met = Of(ok)
	}
	for i, a := range asked {
		if i > 0 {
			row.Bound += ", "
		}
		row.Bound += a
	}
	return row
}

// spread is the median, with the quickest and the slowest run where there are
// several.
func spread(times []time.Duration) string {
	if len(times) < 2 {
		return short(Median(times))
	}
	return fmt.Sprintf("%s (%s–%s)", short(Median(times)), short(slices.Min(times)), short(slices.Max(times)))
}

// short writes a time with three digits.
func short(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
