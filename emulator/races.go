package emulator

import (
	"fmt"
	"strings"
	"sync"
)

// watcher keeps, for a launch that is checked, who has touched which word of
// memory, and who knows of whom.
//
// The order that it goes by is that of happens-before, with a wave as thread:
// what a wave did before a barrier happens before what the others of its
// work-group do behind it; an atomic operation happens before the next one on
// the same word, and what was before the one is before what is behind the other.
// A load past the caches (glc, sc1), which is what an atomic load is made of,
// takes the order from whoever has written the word. Each word remembers its
// last store and two loads: an older one can be missed, but what is reported is
// unordered.
type watcher struct {
	checks Check
	waves  int // of a work-group
	mu     sync.Mutex
	clocks []clockVector        // by wave
	sync   map[uint64]clockView // by word that was the subject of an atomic operation
	pages  map[uint64]*page
	stamp  uint32 // of an instruction

	doubts   map[doubted]doubt
	number   int // of doubts, ever
	findings Findings
	known    map[[2]int32]bool // instructions that are among them, two by two
}

// clockView says up to which step of which wave somebody knows.
type clockView map[int32]uint32

// clockVector is the step that a wave is in, and what it knows of others.
type clockVector struct {
	now  uint32
	seen clockView
}

const pageWords = 1024

type page [pageWords]cell

// cell is what is known of a word of 32 bits.
type cell struct {
	write mark
	reads [2]mark
	bytes uint8 // that were written
}

// mark is one access. A clock of zero is none.
type mark struct {
	clock  uint32
	wave   int32
	pc     int32
	bytes  uint8 // a bit for each
	lane   int8
	atomic bool
	stamp  uint32
	value  uint32 // of a store
}

func newWatcher(l *launch) *watcher {
	waves := int(l.waves())
	return &watcher{checks: l.opts.Check, waves: waves, sync: map[uint64]clockView{}, pages: map[uint64]*page{}}
}

// id numbers the waves of a launch.
func (w *wave) id() int32 {
	l, g := w.group.launch, w.group.id
	n := (uint64(g.Z)*uint64(l.grid.Y)+uint64(g.Y))*uint64(l.grid.X) + uint64(g.X)
	return int32(n)*int32(l.watch.waves) + int32(w.number)
}

func (k *watcher) clock(id int32) *clockVector {
	for int(id) >= len(k.clocks) {
		k.clocks = append(k.clocks, make([]clockVector, int(id)+1-len(k.clocks))...)
	}
	c := &k.clocks[id]
	if c.seen == nil {
		c.now, c.seen = 1, clockView{}
	}
	return c
}

func (v clockView) join(o clockView) {
	for id, n := range o {
		v[id] = max(v[id], n)
	}
}

// release gives what a wave knows, itself included, and begins its next step.
func (c *clockVector) release(id int32, to clockView) {
	to.join(c.seen)
	to[id] = max(to[id], c.now)
	c.now++
}

// barrier orders the waves of a work-group.
func (k *watcher) barrier(g *group) {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := clockView{}
	for _, w := range g.waves {
		if w.state == atBarrier || w.state == ended {
			id := w.id()
			k.clock(id).release(id, all)
		}
	}
	for _, w := range g.waves {
		k.clock(w.id()).seen.join(all)
	}
}

// cellAt finds the cell of a word. A work-group keeps those of its own memory.
func (k *watcher) cellAt(t *touch, w *wave, addr uint64) *cell {
	key, pages := addr/4, k.pages
	if t.space != inGlobal {
		own := &w.group.own
		if own.pages == nil {
			own.pages, own.sync = map[uint64]*page{}, map[uint64]clockView{}
		}
		pages = own.pages
	}
	if t.space == inPrivate {
		key |= 1<<63 | uint64(w.number)<<36 | uint64(t.lane)<<28
	}
	p := pages[key/pageWords]
	if p == nil {
		p = new(page)
		pages[key/pageWords] = p
	}
	return &p[key%pageWords]
}

// ownMemory is what a watcher knows of a work-group's local and private memory.
type ownMemory struct {
	pages map[uint64]*page
	sync  map[uint64]clockView
}

// run looks at the accesses of an instruction and runs it, with no other wave's in
// between: or a load would see what another wave stored of which it was not known yet.
func (k *watcher) run(w *wave, i *instr, n *notes, list []touch) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if w.state == running {
		k.check(w, i, n, list)
	}
	if w.state == running {
		i.run(w, i)
	}
}

// check looks at the accesses of an instruction before it runs.
func (k *watcher) check(w *wave, i *instr, n *notes, list []touch) {
	id := w.id()
	c := k.clock(id)
	k.stamp++
	if n.kind == updates {
		for t := range list {
			if view := (*k.synced(w, &list[t]))[list[t].addr/4]; view != nil {
				c.seen.join(view)
			}
		}
	}
	for t := range list {
		t := &list[t]
		for at := t.addr &^ 3; at < t.addr+t.bytes; at += 4 {
			mask := uint8(15)
			if at < t.addr {
				mask = mask << (t.addr - at) & 15
			}
			if end := t.addr + t.bytes; at+4 > end {
				mask &= 15 >> (at + 4 - end)
			}
			k.word(w, i, n, t, at, mask, id, c)
			if w.state != running {
				return
			}
		}
	}
	if n.kind == updates {
		for t := range list {
			views := *k.synced(w, &list[t])
			key := list[t].addr / 4
			if views[key] == nil {
				views[key] = clockView{}
			}
			views[key].join(c.seen)
			views[key][id] = c.now
		}
		c.now++
	}
}

// synced returns the views of the words of the memory that an access is to.
func (k *watcher) synced(w *wave, t *touch) *map[uint64]clockView {
	if t.space == inGlobal {
		return &k.sync
	}
	if w.group.own.sync == nil {
		w.group.own.pages, w.group.own.sync = map[uint64]*page{}, map[uint64]clockView{}
	}
	return &w.group.own.sync
}

// word looks at one word of an access, and remembers it.
func (k *watcher) word(w *wave, i *instr, n *notes, t *touch, at uint64, mask uint8, id int32, c *clockVector) {
	if k.checks&CheckInit != 0 && !k.written(w, n, t, at, mask) && !(t.space == inPrivate && frameSlot(i.inst)) {
		k.report(w, k.finding(w, i, t, nil, "%s of %d %sbytes at 0x%x%s: nobody has written there", n.kind, t.bytes, t.space, t.addr, t.within()))
		if w.state != running {
			return
		}
	}
	if k.checks&CheckRace == 0 || t.space == inPrivate || t.space == inGlobal && (t.region.quiet || t.region.heap) {
		return
	}
	m := mark{clock: c.now, wave: id, pc: w.pc - int32(i.size), bytes: mask, lane: int8(t.lane), atomic: n.kind == updates || n.coherent, stamp: k.stamp, value: t.value}
	x := k.cellAt(t, w, at)
	if n.kind == loads && n.coherent && x.write.clock != 0 && x.write.wave != id {
		c.seen.join(k.clock(x.write.wave).seen)
		c.seen[x.write.wave] = max(c.seen[x.write.wave], x.write.clock)
	}
	unordered := func(o *mark) bool {
		return o.clock != 0 && o.wave != id && o.bytes&mask != 0 && !(o.atomic && m.atomic) && c.seen[o.wave] < o.clock
	}
	k.clear(n, i, doubted{x, id})
	switch {
	case unordered(&x.write):
		f := k.race(w, i, n, t, &x.write, stores)
		if x.write.atomic && n.kind == loads && k.keep(f, doubted{x, id}) {
			break
		}
		k.report(w, f)
	case n.kind == loads:
	case n.kind == stores && at == t.addr&^3 && x.write.stamp == k.stamp && x.write.bytes&mask != 0 && x.write.value != m.value:
		k.report(w, k.finding(w, i, t, &x.write, "race: lane %d of the same instruction stores another value at %saddress 0x%x%s", x.write.lane, t.space, t.addr, t.within()))
	case !x.reads[0].atomic && unordered(&x.reads[0]):
		f := k.race(w, i, n, t, &x.reads[0], loads)
		if n.kind == updates && k.keep(f, doubted{x, x.reads[0].wave}) {
			break
		}
		k.report(w, f)
	case !x.reads[1].atomic && unordered(&x.reads[1]):
		f := k.race(w, i, n, t, &x.reads[1], loads)
		if n.kind == updates && k.keep(f, doubted{x, x.reads[1].wave}) {
			break
		}
		k.report(w, f)
	}
	switch {
	case n.kind != loads:
		x.write = m
	case x.reads[0].wave == id || x.reads[0].clock == 0:
		x.reads[0] = m
	default:
		x.reads[1] = m
	}
}

// race is the finding of an access and the earlier one that nothing orders with it.
func (k *watcher) race(w *wave, i *instr, n *notes, t *touch, o *mark, what kind) finding {
	l := w.group.launch
	inst := l.program.code[o.pc].inst
	group := uint64(o.wave) / uint64(k.waves)
	x, y := uint64(l.grid.X), uint64(l.grid.Y)
	lane := ""
	if o.lane >= 0 {
		lane = fmt.Sprintf(" lane %d,", o.lane)
	}
	if o.atomic && what == stores {
		what = updates
	}
	return k.finding(w, i, t, o, "race: nothing orders this %s of %d bytes at %saddress 0x%x%s with the %s at 0x%x: %s (work-group %d,%d,%d, wave %d,%s)",
		n.kind, t.bytes, t.space, t.addr, t.within(), what, l.program.base+uint64(o.pc)*4, inst, group%x, group/x%y, group/x/y, int(o.wave)%k.waves, strings.TrimSuffix(lane, ","))
}

// written tells whether a word may be read, and remembers that it is written.
func (k *watcher) written(w *wave, n *notes, t *touch, at uint64, mask uint8) bool {
	bytes := &k.cellAt(t, w, at).bytes
	if t.space == inGlobal {
		if t.region.known.Load() {
			return true
		}
		mem := w.mem
		mem.mu.Lock()
		defer mem.mu.Unlock()
		bytes = t.region.writtenAt(at / 4)
	}
	if n.kind == loads {
		return *bytes&mask != 0
	}
	before := *bytes
	*bytes |= mask
	return n.kind == stores || before&mask != 0
}

// writtenAt returns the bits of the bytes of a word that kernels have written.
func (r *region) writtenAt(word uint64) *uint8 {
	if r.words == nil {
		r.words = map[uint64]*[pageWords]uint8{}
	}
	p := r.words[word/pageWords]
	if p == nil {
		p = new([pageWords]uint8)
		r.words[word/pageWords] = p
	}
	return &p[word%pageWords]
}
