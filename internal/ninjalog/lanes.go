package ninjalog

import (
	"cmp"
	"container/heap"
	"slices"
	"time"
)

// Span is a stretch of time: anything that has a beginning and an end.
type Span struct{ Start, End time.Duration }

// Lanes gives every span a lane such that no two spans of one lane overlap,
// with as few lanes as there are spans at once: the lowest lane that is free
// when a span begins. For ninja's edges that is how -j would have placed them,
// as ninja starts the next command when one ends. The spans may come in any
// order.
func Lanes(spans []Span) (lanes []int, count int) {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := spans[a], spans[b]
		// Of two that begin together the longer one goes first.
		return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
	})
	lanes = make([]int, len(spans))
	var busy byEnd
	var free lowest
	for _, i := range order {
		for len(busy) > 0 && busy[0].end <= spans[i].Start {
			heap.Push(&free, heap.Pop(&busy).(occupied).lane)
		}
		lane := count
		if len(free) > 0 {
			lane = heap.Pop(&free).(int)
		} else {
			count++
		}
		lanes[i] = lane
		heap.Push(&busy, occupied{max(spans[i].End, spans[i].Start), lane})
	}
	return lanes, count
}

type occupied struct {
	end  time.Duration
	lane int
}

type byEnd []occupied

func (h byEnd) Len() int           { return len(h) }
func (h byEnd) Less(i, j int) bool { return h[i].end < h[j].end }
func (h byEnd) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *byEnd) Push(x any)        { *h = append(*h, x.(occupied)) }
func (h *byEnd) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

type lowest []int

func (h lowest) Len() int           { return len(h) }
func (h lowest) Less(i, j int) bool { return h[i] < h[j] }
func (h lowest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lowest) Push(x any)        { *h = append(*h, x.(int)) }
func (h *lowest) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
