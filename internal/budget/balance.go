package budget

import "slices"

// balance moves tokens to where they are wanted: first to work that waits to
// begin, then to the outlets that are empty, those of the leases with the
// fewest tokens first. It is called with the lock held.
func (b *Budget) balance() {
	outlets := b.outlets()
	waiting := b.helpable()
	short := len(waiting) > 0 && (b.free < len(waiting) || !b.fits(waiting[0]))
	starving := slices.ContainsFunc(outlets, func(o open) bool { return b.starving(o) })
	for i := range outlets {
		o := &outlets[i]
		back := 0
		if short {
			back = o.unread
		} else if starving && b.free == 0 {
			back = (o.unread + 1) / 2
		}
		if back > 0 {
			back = o.outlet.TakeBack(back)
			o.unread -= back
			b.grow(o.Lease, -back)
		}
	}
	if len(waiting) > 0 && b.free > 0 && b.fits(waiting[0]) {
		b.signal()
	}
	b.deal(outlets)
	// What was called back may do.
	short = len(waiting) > 0 && (b.free < len(waiting) || !b.fits(waiting[0]))
	b.compete(outlets, short)
}

// open is a lease with an outlet, and how many tokens lie in that.
type open struct {
	*Lease
	unread int
}

// put is how many tokens were put into a lease's outlet and are in it or with a
// program.
func (l *Lease) put() int { return l.tokens - 1 - l.taken }

// outlets are the leases with an outlet. What a program has put into it too
// much is removed.
func (b *Budget) outlets() []open {
	var all []open
	for _, l := range b.leases {
		if l.outlet == nil {
			continue
		}
		n := l.outlet.Unread()
		if extra := n - l.put(); extra > 0 {
			n -= l.outlet.TakeBack(extra)
		}
		all = append(all, open{l, n})
	}
	return all
}

// starving reports whether a lease could use more tokens, so far as one can
// see: its outlet is empty.
func (b *Budget) starving(o open) bool {
	return o.unread == 0 && !o.alone && o.tokens < b.jobs && (b.memory == 0 || int64(o.tokens+1)*o.perJob <= b.memory)
}

// helpable is the memory of those works that wait to begin and could, if every
// lease had no more in its outlet.
func (b *Budget) helpable() []int64 {
	tokens, used := 0, int64(0)
	for _, l := range b.leases {
		if l.alone {
			return nil
		}
		tokens += 1 + l.taken
		used += int64(1+l.taken) * l.perJob
	}
	var fit []int64
	for _, m := range b.wanted {
		m = max(0, m)
		if tokens == b.jobs {
			break
		}
		if b.memory > 0 && used+m > b.memory {
			continue
		}
		tokens++
		used += m
		fit = append(fit, m)
	}
	return fit
}

// deal gives what is free to the outlets: one at a time, to the one in which
// the fewest lie, and among those to the lease with the fewest.
func (b *Budget) deal(outlets []open) {
	given := make([]int, len(outlets))
	for {
		best := -1
		for i, o := range outlets {
			if b.room(o.Lease) == 0 {
				continue
			}
			if best < 0 || o.unread < outlets[best].unread || o.unread == outlets[best].unread && o.tokens < outlets[best].tokens {
				best = i
			}
		}
		if best < 0 {
			break
		}
		outlets[best].unread++
		given[best]++
		b.grow(outlets[best].Lease, 1)
	}
	for i, n := range given {
		if n > 0 && outlets[i].outlet.Put(n) != nil {
			b.grow(outlets[i].Lease, -n)
		}
	}
}

// compete lets the budget compete for the next token that a program gives back:
// while work waits to begin, with the leases that have the most, and while an
// outlet is empty, with those that have more than their part.
func (b *Budget) compete(outlets []open, short bool) {
	pool, most := b.free, 0
	for _, o := range outlets {
		pool += o.tokens
		if o.put() > 0 {
			most = max(most, o.tokens)
		}
	}
	part := pool / max(1, len(outlets))
	wanted := slices.ContainsFunc(outlets, func(o open) bool { return o.tokens < part && b.starving(o) })
	if short {
		wanted, part = true, most-1
	}
	for _, o := range outlets {
		l, outlet := o.Lease, o.outlet
		if !wanted || l.put() == 0 || l.tokens <= part {
			outlet.StopReclaim()
			continue
		}
		outlet.Reclaim(func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			if l.outlet == outlet { // else all was given back when it was closed
				b.grow(l, -1)
				b.balance()
			}
		})
	}
}
