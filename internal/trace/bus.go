package trace

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// maxPending bounds how many output lines, warnings and remarks wait for one
// slow live sink.
const maxPending = 4096

// Bus hands every event to one durable sink and to any number of live ones.
//
// The durable sink (the log file) is called by Emit itself, one event after
// the other, and never misses one. Every live sink (the terminal, a progress
// API) has a queue and a goroutine of its own, so that a stopped terminal
// never stops the build. When a live sink is slower than the events:
//   - an event that says what runs or has ended is never dropped; there are at
//     most a few of these for each step of the plan;
//   - progress is coalesced: of one step only the newest value waits;
//   - of output lines, warnings and remarks the newest 4096 wait; the oldest
//     are dropped and one Info event tells the sink how many.
//
// All sinks see the events in the same order.
type Bus struct {
	mu      sync.Mutex
	durable Sink
	live    []*queue
	sinks   []Sink
	failed  bool // the durable sink has reported an error
	closed  bool
	wg      sync.WaitGroup
}

// NewBus starts a bus. durable may be nil.
func NewBus(durable Sink, live ...Sink) *Bus {
	b := &Bus{durable: durable, sinks: live}
	for _, s := range live {
		q := newQueue()
		b.live = append(b.live, q)
		b.wg.Add(1)
		go func() {
			defer b.wg.Done()
			for {
				e, ok := q.pop()
				if !ok {
					return
				}
				s.Emit(e)
			}
		}()
	}
	return b
}

// Emit hands e on, with the present time when it has none. It may wait for the
// disk, never for a live sink. After Close it does nothing.
func (b *Bus) Emit(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	if b.durable != nil {
		b.durable.Emit(e)
		if d, ok := b.durable.(interface{ Err() error }); ok && !b.failed {
			if err := d.Err(); err != nil {
				b.failed = true
				b.feed(Event{Time: e.Time, Kind: Warn, Msg: fmt.Sprintf("%v; the build goes on, its log has gaps", err)})
			}
		}
	}
	b.feed(e)
}

func (b *Bus) feed(e Event) {
	for _, q := range b.live {
		q.push(e)
	}
}

// Close waits until the live sinks have taken what is pending, closes every
// sink that is an io.Closer, and returns their errors. The terminal is closed
// before the log, so that its last words can still point to it.
func (b *Bus) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	b.mu.Unlock()
	for _, q := range b.live {
		q.close()
	}
	b.wg.Wait()
	var errs []error
	for _, s := range append(append([]Sink(nil), b.sinks...), b.durable) {
		if c, ok := s.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

// slot is one pending event and its place in the order of all events.
type slot struct {
	seq uint64
	e   Event
}

// progressKey names what progress is coalesced by.
type progressKey struct {
	kind             Kind
	host, node, step string
	what             string
}

func keyOf(e Event) progressKey {
	k := progressKey{kind: e.Kind, host: e.Host, node: e.Node, step: e.Step}
	if e.Kind == FetchProgress {
		k.what = e.Msg
	}
	return k
}

// queue keeps three lists, each in order: what may not be dropped, what may
// (a ring of the newest), and the newest progress of each step.
type queue struct {
	mu       sync.Mutex
	ready    *sync.Cond
	seq      uint64
	state    []slot
	chatter  []slot
	dropped  int64
	progress map[progressKey]slot
	closed   bool
}

func newQueue() *queue {
	q := &queue{progress: map[progressKey]slot{}}
	q.ready = sync.NewCond(&q.mu)
	return q
}

func (q *queue) push(e Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.seq++
	s := slot{q.seq, e}
	switch {
	case e.Kind.state():
		q.state = append(q.state, s)
	case e.Kind == StepProgress || e.Kind == FetchProgress:
		// A key is (host, node, step) or a file being fetched: as many as
		// there are in the plan, which bounds the map.
		q.progress[keyOf(e)] = s
	default:
		if len(q.chatter) == maxPending {
			q.chatter = q.chatter[1:]
			q.dropped++
		}
		q.chatter = append(q.chatter, s)
	}
	q.ready.Signal()
}

// pop waits for the oldest pending event. It returns false when the queue is
// closed and empty.
func (q *queue) pop() (Event, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if e, ok := q.oldest(); ok {
			return e, true
		}
		if q.closed {
			return Event{}, false
		}
		q.ready.Wait()
	}
}

func (q *queue) oldest() (Event, bool) {
	const none = ^uint64(0)
	state, chatter, prog := none, none, none
	var key progressKey
	if len(q.state) > 0 {
		state = q.state[0].seq
	}
	if len(q.chatter) > 0 {
		chatter = q.chatter[0].seq
	}
	for k, s := range q.progress {
		if s.seq < prog {
			prog, key = s.seq, k
		}
	}
	switch first := min(state, chatter, prog); {
	case first == none:
		return Event{}, false
	case first == prog:
		e := q.progress[key].e
		delete(q.progress, key)
		return e, true
	case first == state:
		e := q.state[0].e
		q.state[0] = slot{}
		q.state = q.state[1:]
		return e, true
	}
	if q.dropped > 0 {
		e := Event{Time: q.chatter[0].e.Time, Kind: Info,
			Msg: fmt.Sprintf("%d lines were too fast to show; the log has them", q.dropped)}
		q.dropped = 0
		return e, true
	}
	e := q.chatter[0].e
	q.chatter[0] = slot{}
	q.chatter = q.chatter[1:]
	return e, true
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.ready.Signal()
	q.mu.Unlock()
}
