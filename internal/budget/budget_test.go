package budget

import (
	"errors"
	"slices"
	"testing"
)

// pool is an outlet without a pipe and without a program: the test is it.
type pool struct {
	tokens int
	got    func()
}

func (p *pool) Unread() int { return p.tokens }
func (p *pool) Put(n int) error {
	p.tokens += n
	return nil
}
func (p *pool) TakeBack(n int) int {
	n = max(0, min(n, p.tokens))
	p.tokens -= n
	return n
}
func (p *pool) Reclaim(got func()) { p.got = got }
func (p *pool) StopReclaim()       { p.got = nil }
func (p *pool) Close() int         { return p.TakeBack(p.tokens) }

// quiet is a budget that balances only when something happens.
func quiet(jobs int, memory int64) *Budget {
	b := New(jobs, memory)
	b.ticking = true
	return b
}

func begin(t *testing.T, b *Budget, perJob int64) *Lease {
	t.Helper()
	l, ok := b.Begin(perJob, nil)
	if !ok {
		t.Fatal("no lease")
	}
	return l
}

func refused(t *testing.T, b *Budget, perJob int64, why string) {
	t.Helper()
	if _, ok := b.Begin(perJob, nil); ok {
		t.Errorf("a lease although %s", why)
	}
}

func TestEveryWorkHoldsOneToken(t *testing.T) {
	b := quiet(2, 0)
	one, two := begin(t, b, 0), begin(t, b, 1<<50)
	refused(t, b, 0, "no token is free")
	one.End()
	one.End() // twice is once
	three := begin(t, b, 0)
	refused(t, b, 0, "no token is free")
	two.End()
	three.End()
	if b.free != 2 || b.used != 0 || len(b.leases) != 0 {
		t.Errorf("%+v", b)
	}
}

func TestMemoryAdmits(t *testing.T) {
	b := quiet(8, 100)
	big := begin(t, b, 60)
	refused(t, b, 50, "it does not fit beside what runs")
	small := begin(t, b, 10)
	if n := small.Take(8); n != 3 || small.tokens != 4 {
		t.Errorf("took %d, room was for 3", n)
	}
	if n := big.Take(8); n != 0 {
		t.Errorf("took %d, there was no memory", n)
	}
	small.Give(2)
	begin(t, b, 20).End()
	small.End()
	big.End()
	if b.free != 8 || b.used != 0 {
		t.Errorf("%+v", b)
	}
	if got := begin(t, b, 30).Jobs(); got != 3 {
		t.Errorf("%d jobs of 30 in 100", got)
	}
}

func TestWhatNeverFitsRunsAlone(t *testing.T) {
	b := quiet(4, 100)
	small := begin(t, b, 10)
	refused(t, b, 101, "it exceeds the memory and something runs")
	small.End()
	big := begin(t, b, 101)
	refused(t, b, 0, "what exceeds the memory must be alone")
	if n := big.Take(4); n != 0 || big.Jobs() != 1 || big.Fit(1) != 1 {
		t.Errorf("it has %d more jobs, %d, %d", n, big.Jobs(), big.Fit(1))
	}
	p := new(pool)
	big.Open(p)
	if p.tokens != 0 {
		t.Errorf("it has %d tokens", p.tokens)
	}
	big.End()
	begin(t, b, 10)
}

// A lease takes no more than its share, and a process of another size is
// counted in the lease's part of memory.
func TestShare(t *testing.T) {
	b := quiet(8, 64)
	l, _ := b.Begin(4, func() int { return 4 })
	if l.Jobs() != 4 || l.Fit(8) != 4 || l.Fit(16) != 2 || l.Fit(1000) != 1 || l.Fit(0) != 4 {
		t.Errorf("jobs %d, fit %d %d %d", l.Jobs(), l.Fit(8), l.Fit(16), l.Fit(1000))
	}
	if n := l.Take(8); n != 3 {
		t.Errorf("took %d, the share was 4", n)
	}
	if quietLease, _ := New(6, 0).Begin(0, nil); quietLease.Fit(1<<60) != 6 {
		t.Error("an unknown memory bounds something")
	}
}

// An outlet alone gets all tokens; when a second is opened, those unused go to
// where all are in use; and what programs keep comes back with the outlet.
func TestTokensMoveBetweenOutlets(t *testing.T) {
	b := quiet(8, 0)
	one, p := begin(t, b, 0), new(pool)
	one.Open(p)
	if p.tokens != 7 {
		t.Fatalf("%d tokens, 7 are free", p.tokens)
	}
	p.tokens -= 2 // a program takes two
	b.Await([]int64{0})
	if p.tokens != 4 || b.free != 1 {
		t.Errorf("%d tokens, %d free: one is kept for what waits", p.tokens, b.free)
	}
	<-b.Changed()
	two, q := begin(t, b, 0), new(pool)
	b.Await(nil)
	two.Open(q)
	if p.tokens+q.tokens != 4 || q.tokens < 2 {
		t.Errorf("%d and %d tokens", p.tokens, q.tokens)
	}
	q.tokens, p.tokens = 0, p.tokens+1 // all of the second's are in use, one of the first's is back
	b.balance()
	if q.tokens == 0 {
		t.Errorf("%d and %d tokens: nothing went to the empty one", p.tokens, q.tokens)
	}
	p.tokens += 20 // a program that gives what it never had
	b.balance()
	if one.tokens+two.tokens+b.free != 8 || p.tokens > one.put() {
		t.Errorf("%d, %d and %d tokens; %d lie in the first", one.tokens, two.tokens, b.free, p.tokens)
	}
	p.tokens = 0 // it is killed, with all its tokens
	one.Close()
	if one.tokens != 1 || one.tokens+two.tokens+b.free != 8 {
		t.Errorf("%d, %d and %d tokens", one.tokens, two.tokens, b.free)
	}
	two.End()
	one.End()
	if b.free != 8 {
		t.Errorf("%d of 8 tokens came back", b.free)
	}
}

// Where all tokens are in use, the budget competes for the next with the lease
// that has the most, until the late one has its part.
func TestTheLateOneDoesNotStarve(t *testing.T) {
	b := quiet(6, 0)
	one, p := begin(t, b, 0), new(pool)
	one.Open(p)
	p.tokens = 0 // all in use
	b.balance()
	if p.got != nil {
		t.Error("it competes although nobody wants anything")
	}
	b.Await([]int64{0})
	if p.got == nil {
		t.Fatal("it does not compete for work that waits")
	}
	p.got()
	<-b.Changed()
	two, q := begin(t, b, 0), new(pool)
	b.Await(nil)
	two.Open(q)
	for i := 0; p.got != nil && i < 9; i++ {
		p.got()
		q.tokens = 0 // at once in use
		b.balance()
	}
	if one.tokens != 3 || two.tokens != 3 {
		t.Errorf("%d and %d tokens", one.tokens, two.tokens)
	}
	b.Await([]int64{0})
	got := p.got
	if got == nil {
		got = q.got
		one, two = two, one
	}
	b.Await(nil)
	one.Close()
	got() // too late: all had come back already
	if one.tokens != 1 || one.tokens+two.tokens+b.free != 6 {
		t.Errorf("%d, %d and %d tokens", one.tokens, two.tokens, b.free)
	}
	two.End()
	one.End()
	if b.free != 6 {
		t.Errorf("%d of 6 tokens", b.free)
	}
}

// broken is an outlet that takes no tokens, as a pipe that was closed.
type broken struct{ pool }

func (*broken) Put(int) error { return errors.New("closed") }

// Tokens that an outlet does not take are not lost with it, and nobody gives
// back more than was taken, or twice.
func TestNoTokenIsLostOrMade(t *testing.T) {
	b := quiet(6, 0)
	one := begin(t, b, 0)
	one.Open(new(broken))
	if one.tokens != 1 || b.free != 5 {
		t.Errorf("%d tokens and %d free, though the outlet took none", one.tokens, b.free)
	}
	two := begin(t, b, 0)
	if n := two.Take(2); n != 2 {
		t.Errorf("took %d", n)
	}
	two.Give(5)
	if two.tokens != 1 || b.free != 4 {
		t.Errorf("%d tokens, %d free", two.tokens, b.free)
	}
	two.Take(2)
	two.End()
	two.Give(2) // too late: all had come back already
	one.End()
	if b.free != 6 || b.used != 0 {
		t.Errorf("%d of 6 tokens", b.free)
	}
}

// For work that waits for memory, what lies in outlets is called back; for what
// could not begin even then, nothing is.
func TestMemoryIsCalledBack(t *testing.T) {
	b := quiet(8, 100)
	one, p := begin(t, b, 20), new(pool)
	one.Open(p)
	if p.tokens != 4 {
		t.Errorf("%d tokens of 20 in 100", p.tokens)
	}
	b.Await([]int64{90})
	if p.tokens != 4 {
		t.Errorf("%d tokens: what waits could not begin anyway", p.tokens)
	}
	p.tokens = 0 // all in use
	b.balance()
	if p.got != nil {
		t.Error("it competes for what could not begin anyway")
	}
	p.tokens = 4
	b.Await([]int64{50})
	if p.tokens != 1 {
		t.Errorf("%d tokens beside 50 in 100", p.tokens)
	}
	begin(t, b, 50)
}

func TestUsable(t *testing.T) {
	const mib = 1 << 20
	var got []int64
	for _, total := range []int64{-1, 0, 100, 512, 4096, 8192, 65536} {
		got = append(got, Usable(total*mib)/mib)
	}
	if want := []int64{0, 0, 50, 256, 3584, 7168, 63488}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
