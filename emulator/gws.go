package emulator

import (
	"math/bits"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// globalSync is the global wave sync of a launch: barriers and semaphores that waves of
// all work-groups wait at ("Vega" ISA, DS_GWS_INIT and what follows it). The device
// libraries use one barrier for the whole grid, on processors before gfx942.
type globalSync struct {
	mu        sync.Mutex
	resources map[uint32]*gridBarrier
	waiting   map[*wave]uint64 // the round that a wave waits for the end of
}

type gridBarrier struct {
	missing uint64 // waves, until all are there
	round   uint64
	count   uint64    // of a semaphore: waves that may go on
	waiting uint64    // of a semaphore
	known   clockView // of a launch that is checked
}

// The argument hidden_multigrid_sync_arg points to what the device libraries count in
// at barriers of the whole grid, from gfx942 and RDNA 3 on, and of several grids: mg_info
// in ockl/src/cg.cl of ROCm's device libraries. A launch here is a grid alone.
const (
	gridInfoSize   = 48
	gridInfoGroups = 40 // num_wg: uint32
)

// globalSyncOps are its operations.
func globalSyncOps() map[string]*operation {
	ops := map[string]*operation{
		"ds_gws_init":    {run: func(w *wave, i *instr) { w.syncGrid(i, true) }},
		"ds_gws_barrier": {run: func(w *wave, i *instr) { w.syncGrid(i, false) }},
	}
	for name, f := range map[string]func(w *wave, i *instr, b *gridBarrier){
		"v":           func(_ *wave, _ *instr, b *gridBarrier) { b.count++ },
		"release_all": func(_ *wave, _ *instr, b *gridBarrier) { b.count = b.waiting },
		"br": func(w *wave, i *instr, b *gridBarrier) {
			if n, ok := w.syncValue(i); ok {
				b.count += n
			}
		},
	} {
		ops["ds_gws_sema_"+name] = &operation{run: func(w *wave, i *instr) {
			g := &w.group.launch.gws
			g.mu.Lock()
			defer g.mu.Unlock()
			b := g.resource(w, i, 0)
			f(w, i, b)
			w.group.launch.still.changed()
			if k := w.group.launch.watch; k != nil {
				k.give(w, b.known)
			}
		}}
	}
	ops["ds_gws_sema_p"] = &operation{run: semaphoreWait}
	return ops
}

// semaphoreWait takes one from a semaphore. Until there is one, the instruction is run
// again and again.
func semaphoreWait(w *wave, i *instr) {
	g := &w.group.launch.gws
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.resource(w, i, 0)
	_, waits := g.waiting[w]
	if b.count == 0 {
		if !waits {
			g.waiting[w] = 0
			b.waiting++
			w.group.launch.still.changed()
		}
		w.pc -= int32(i.size)
		w.state = asleep
		return
	}
	b.count--
	w.group.launch.still.changed()
	if waits {
		b.waiting--
		delete(g.waiting, w)
	}
	if k := w.group.launch.watch; k != nil {
		k.take(w, b.known)
	}
}

// resource returns what an instruction is about: the offset and M0 name it. One that
// nobody has set up begins with that many waves missing.
func (g *globalSync) resource(w *wave, i *instr, all uint64) *gridBarrier {
	if g.resources == nil {
		g.resources, g.waiting = map[uint32]*gridBarrier{}, map[*wave]uint64{}
	}
	id := (w.s[isa.M0]>>16 + uint32(i.inst.Offset())) & 63
	if g.resources[id] == nil {
		g.resources[id] = &gridBarrier{missing: all, known: clockView{}}
	}
	return g.resources[id]
}

// syncValue is the value of the first active lane.
func (w *wave) syncValue(i *instr) (uint64, bool) {
	data := -1
	for _, o := range i.inst.Args() {
		if o.Kind == isa.VGPR || o.Kind == isa.AGPR {
			data = int(register(o))
		}
	}
	if data < 0 {
		w.fail(i, "this form of a global barrier is not supported")
		return 0, false
	}
	lane := 0
	if e := w.exec(); e != 0 {
		lane = bits.TrailingZeros64(e)
	}
	return uint64(w.v[data%vregs][lane]), true
}

// syncGrid sets a barrier up for one wave more than the value of the first active
// lane says, or waits at it. One that nobody has set up is what it would be if the
// runtime had, which does so before each cooperative launch.
func (w *wave) syncGrid(i *instr, init bool) {
	n, ok := w.syncValue(i)
	if !ok {
		return
	}
	all := n + 1
	l := w.group.launch
	if l.grid.count() > l.resident {
		w.fail(i, "a barrier of the whole grid: of %d work-groups the largest %s holds %d at a time", l.grid.count(), l.module.dev.target.Processor, l.resident)
		return
	}
	g := &l.gws
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.resource(w, i, all)
	if init { // what is ordered by then stays so
		b.missing, b.count = all, n
		l.still.changed()
		return
	}
	round, waits := g.waiting[w]
	if !waits {
		if l.watch != nil {
			l.watch.give(w, b.known)
		}
		b.missing--
		round = b.round
		l.still.changed()
	}
	switch {
	case b.missing == 0:
		b.round++
		b.missing = all
	case round == b.round: // until all are there, the instruction is run again and again
		g.waiting[w] = round
		w.pc -= int32(i.size)
		w.state = asleep
		return
	}
	delete(g.waiting, w)
	if l.watch != nil {
		l.watch.take(w, b.known)
	}
}

// give and take order what waves do before and behind a barrier of the grid.
func (k *watcher) give(w *wave, all clockView) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock(w.id()).release(w.id(), all)
}

func (k *watcher) take(w *wave, all clockView) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.clock(w.id()).seen.join(all)
}
