package emulator

import (
	"math/bits"
	"sync"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// globalSync is the global wave sync of a launch: barriers that waves of all
// work-groups wait at ("Vega" ISA, DS_GWS_INIT and DS_GWS_BARRIER). The device
// libraries use one for the whole grid, on processors before gfx942.
type globalSync struct {
	mu        sync.Mutex
	resources map[uint32]*gridBarrier
	waiting   map[*wave]uint64 // the round that a wave waits for the end of

	semaphores map[uint32]*semaphore
}

type gridBarrier struct {
	missing uint64 // waves, until all are there
	round   uint64
	known   clockView // of a launch that is checked
}

// The argument hidden_multigrid_sync_arg points to what the device libraries count in
// at barriers of the whole grid, from gfx942 and RDNA 3 on, and of several grids: mg_info
// in ockl/src/cg.cl of ROCm's device libraries. A launch here is a grid alone.
const (
	gridInfoSize   = 48
	gridInfoGroups = 40 // num_wg: uint32
)

// globalSyncOps are its operations, but for semaphores.
func globalSyncOps() map[string]*operation {
	return map[string]*operation{
		"ds_gws_init":    {run: func(w *wave, i *instr) { w.syncGrid(i, true) }},
		"ds_gws_barrier": {run: func(w *wave, i *instr) { w.syncGrid(i, false) }},
	}
}

// syncGrid sets a barrier up for one wave more than the value of the first active
// lane says, or waits at it. One that nobody has set up is what it would be if the
// runtime had, which does so before each cooperative launch.
func (w *wave) syncGrid(i *instr, init bool) {
	data := -1
	for _, o := range i.inst.Args() {
		if o.Kind == isa.VGPR || o.Kind == isa.AGPR {
			data = int(register(o))
		}
	}
	if data < 0 {
		w.fail(i, "this form of a global barrier is not supported")
		return
	}
	lane := 0
	if e := w.exec(); e != 0 {
		lane = bits.TrailingZeros64(e)
	}
	all := uint64(w.v[data%vregs][lane]) + 1
	id := w.resource(i)
	l := w.group.launch
	if most := uint64(maxActive * l.workers()); l.grid.count() > most {
		w.fail(i, "a barrier of the whole grid: of %d work-groups %d run at a time", l.grid.count(), most)
		return
	}
	g := &l.gws
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.resources == nil {
		g.resources, g.waiting = map[uint32]*gridBarrier{}, map[*wave]uint64{}
	}
	b := g.resources[id]
	if b == nil || init {
		b = &gridBarrier{missing: all, known: clockView{}}
		g.resources[id] = b
	}
	if init {
		g.semaphore(id).count = all - 1
		return
	}
	round, waits := g.waiting[w]
	if !waits {
		if l.watch != nil {
			l.watch.give(w, b.known)
		}
		b.missing--
		round = b.round
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
