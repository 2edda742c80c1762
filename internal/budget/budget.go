// Package budget is the one account of what a build may use of the machine:
// tokens, of which each stands for one process at work, and memory.
//
// Whoever works holds a Lease with at least one token. What more a lease holds
// is either taken for a time (Take, for a ninja that must be told its number of
// jobs when it starts) or lies in an Outlet, a jobserver, from which the
// program takes and to which it gives back as it goes along. An outlet is one
// lease's alone: what a program that crashed has kept is then known, and comes
// back when its outlet is closed, and a lease can be held to the jobs that
// memory admits. The budget moves tokens between outlets: those that lie unused
// go to where all are in use.
package budget

import (
	"sync"
	"time"
)

// Budget is shared by all leases.
type Budget struct {
	jobs   int
	memory int64 // 0 is no bound

	mu     sync.Mutex
	free   int
	used   int64
	leases []*Lease
	// wanted is the memory of each work that waits to begin: a token and this
	// memory are kept from those who only want more.
	wanted  []int64
	changed chan struct{}
	ticking bool
}

// Lease is one work's part of the budget.
type Lease struct {
	b      *Budget
	perJob int64
	tokens int
	// alone says that even one job exceeds the memory.
	alone bool
	share func() int
	// taken are those of the tokens that Take took; what is more than these
	// and one was put into the outlet.
	taken  int
	outlet Outlet
	ended  bool
}

// Outlet is a pool of tokens of one lease, which programs take from and give
// back to without asking: a jobserver.
type Outlet interface {
	// Unread is how many tokens lie in it.
	Unread() int
	// Put adds tokens.
	Put(n int) error
	// TakeBack removes up to n tokens and says how many.
	TakeBack(n int) int
	// Reclaim begins to wait for the next token that is given back, in
	// competition with the program, and calls got when it has it. A second call
	// before that changes nothing.
	Reclaim(got func())
	// StopReclaim ends the waiting.
	StopReclaim()
	// Close removes it and says how many tokens were left.
	Close() int
}

// New makes a budget of so many processes at once, at least one, and bytes of
// memory, 0 being no bound.
func New(jobs int, memory int64) *Budget {
	jobs = max(1, jobs)
	return &Budget{jobs: jobs, memory: memory, free: jobs, changed: make(chan struct{}, 1)}
}

// Jobs is the number of processes at once.
func (b *Budget) Jobs() int { return b.jobs }

// Memory is the memory in bytes, 0 being no bound.
func (b *Budget) Memory() int64 { return b.memory }

// Usable is what a build may use of a machine's memory in bytes: an eighth, at
// least half a GiB and at most 2 GiB, is left to all else. Of an unknown memory,
// 0, it is 0.
func Usable(total int64) int64 {
	const gib = 1 << 30
	if total <= 0 {
		return 0
	}
	return max(total/2, total-min(max(total/8, gib/2), 2*gib))
}

// Changed receives something when a token or memory may have become free.
func (b *Budget) Changed() <-chan struct{} { return b.changed }

// Begin gives a lease with one token to work whose processes need so many bytes
// each, or says no: when no token is free, or no memory beside what runs. Work
// that would never fit gets its lease when there is no other, and is then alone.
// share, if there is one, says how many tokens the lease may Take by right.
func (b *Budget) Begin(perJob int64, share func() int) (*Lease, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.free == 0 || !b.admits(perJob) {
		return nil, false
	}
	l := &Lease{b: b, perJob: max(0, perJob), tokens: 1, share: share, alone: b.Exceeds(perJob)}
	b.free--
	b.used += l.perJob
	b.leases = append(b.leases, l)
	return l, true
}

// Exceeds reports whether one process of that size is more than the memory.
func (b *Budget) Exceeds(perJob int64) bool { return b.memory > 0 && perJob > b.memory }

func (b *Budget) admits(perJob int64) bool {
	if len(b.leases) == 0 {
		return true
	}
	return !b.leases[0].alone && !b.Exceeds(perJob) && b.fits(perJob)
}

func (b *Budget) fits(more int64) bool {
	return b.memory == 0 || more <= 0 || b.used+more <= b.memory
}

// Await says which works wait to begin, by the memory of one process of each.
// Tokens and memory that become free are kept for them, and tokens in outlets
// are called back.
func (b *Budget) Await(perJob []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wanted = perJob
	b.balance()
}

// room is how many tokens more a lease may get, as of now: what is kept for
// those who wait to begin is not for it.
func (b *Budget) room(l *Lease) int {
	if l.alone {
		return 0
	}
	room, free := b.free, b.memory-b.used
	for _, m := range b.helpable() {
		room--
		free -= m
	}
	if b.memory > 0 && l.perJob > 0 {
		room = min(room, int(free/l.perJob))
	}
	return max(0, room)
}

// grow gives a lease more tokens, or takes some from it when n is negative.
func (b *Budget) grow(l *Lease, n int) {
	l.tokens += n
	b.free -= n
	b.used += int64(n) * l.perJob
}

func (b *Budget) signal() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Budget is the budget that the lease is of.
func (l *Lease) Budget() *Budget { return l.b }

// Take takes up to n tokens more, for a time: as many as are free, or unused in
// outlets, and fit into memory, and no more in all than the lease's share. Give
// gives them back.
func (l *Lease) Take(n int) int {
	share := l.byRight()
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	n = max(0, min(n, l.spare(share)))
	l.taken += n
	l.b.grow(l, n)
	l.b.balance()
	return n
}

// Spare is how many tokens Take would give now.
func (l *Lease) Spare() int {
	share := l.byRight()
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	n := l.spare(share)
	l.b.balance()
	return max(0, n)
}

// spare calls unused tokens back from outlets and says how many a lease with
// that share may have of what is free. It is called with the lock held.
func (l *Lease) spare(share int) int {
	for _, o := range l.b.outlets() {
		l.b.grow(o.Lease, -o.outlet.TakeBack(o.unread))
	}
	return min(l.b.room(l), share-l.tokens)
}

// byRight is the lease's share. It is asked for without the lock.
func (l *Lease) byRight() int {
	if l.share == nil {
		return l.b.jobs
	}
	return l.share()
}

// Give gives tokens back that were taken.
func (l *Lease) Give(n int) {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	n = min(n, l.taken)
	l.taken -= n
	l.b.grow(l, -n)
	l.b.balance()
}

// Jobs is how many processes the lease's share is, as of now: at least one, and
// no more than memory admits.
func (l *Lease) Jobs() int {
	share := l.byRight()
	if l.alone {
		return 1
	}
	if l.b.memory > 0 && l.perJob > 0 {
		share = min(share, int(l.b.memory/l.perJob))
	}
	return max(1, share)
}

// Fit is how many processes of so many bytes fit into the lease's share of
// memory, and no more than its share of jobs: at least one.
func (l *Lease) Fit(bytes int64) int {
	jobs := l.Jobs()
	if l.b.memory <= 0 || bytes <= 0 {
		return jobs
	}
	memory := l.b.memory * int64(jobs) / int64(l.b.jobs)
	return max(1, min(jobs, int(memory/bytes)))
}

// Open lets programs take more tokens than the lease's one from an outlet.
func (l *Lease) Open(o Outlet) {
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	l.outlet = o
	l.b.balance()
	if !l.b.ticking {
		l.b.ticking = true
		go l.b.tick()
	}
}

// Close takes the outlet away. All tokens that were put into it come back,
// whether the programs gave them back or were killed with them.
func (l *Lease) Close() {
	l.b.mu.Lock()
	o := l.outlet
	l.outlet = nil
	l.b.mu.Unlock()
	if o == nil {
		return
	}
	o.StopReclaim()
	o.Close()
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	l.b.grow(l, -l.put())
	l.b.balance()
}

// End gives everything back.
func (l *Lease) End() {
	l.Close()
	l.b.mu.Lock()
	defer l.b.mu.Unlock()
	if l.ended {
		return
	}
	l.ended = true
	l.b.grow(l, -l.tokens)
	l.taken = 0
	for i, other := range l.b.leases {
		if other == l {
			l.b.leases = append(l.b.leases[:i:i], l.b.leases[i+1:]...)
			break
		}
	}
	l.b.balance()
}

// period is how often tokens are moved between outlets, and calm how often when
// nobody else wants any: who begins or waits, and who ends, has them moved at
// once, and looking costs a busy machine a hundredth of its time.
const (
	period = 10 * time.Millisecond
	calm   = 100 * time.Millisecond
)

// tick balances as long as there are outlets: nobody tells when a program takes
// a token or gives it back.
func (b *Budget) tick() {
	pause := period
	for {
		time.Sleep(pause)
		b.mu.Lock()
		b.balance()
		open := 0
		for _, l := range b.leases {
			if l.outlet != nil {
				open++
			}
		}
		b.ticking = open > 0
		if pause = period; open == 1 && len(b.wanted) == 0 {
			pause = calm
		}
		b.mu.Unlock()
		if open == 0 {
			return
		}
	}
}
