package emulator

import (
	"math/bits"

	"github.com/stonemason-hip/stonemason/emulator/isa"
)

// semaphores are those of the global wave sync ("Vega" and "RDNA 2" ISA, DS_GWS_SEMA_V
// and the like): counts that waves of all work-groups add to, and wait for. gfx12 has none.
func semaphores() map[string]*operation {
	one := func(*wave, *instr) uint64 { return 1 }
	lane := func(w *wave, i *instr) uint64 {
		for _, o := range i.inst.Args() {
			if o.Kind == isa.VGPR || o.Kind == isa.AGPR {
				return uint64(w.v[register(o)%vregs][bits.TrailingZeros64(w.exec()|1<<63)])
			}
		}
		return 0
	}
	give := func(count func(*wave, *instr) uint64, all bool) *operation {
		return &operation{run: func(w *wave, i *instr) {
			w.semaphore(i, func(s *semaphore) {
				n := count(w, i)
				if all {
					n = uint64(len(s.waiting))
				}
				s.count += n
				if k := w.group.launch.watch; k != nil {
					k.give(w, s.known)
				}
			})
		}}
	}
	return map[string]*operation{
		"ds_gws_sema_v":           give(one, false),
		"ds_gws_sema_br":          give(lane, false),
		"ds_gws_sema_release_all": give(one, true),
		"ds_gws_sema_p": {run: func(w *wave, i *instr) {
			w.semaphore(i, func(s *semaphore) {
				if s.count == 0 { // until there is one, the instruction is run again and again
					s.waiting[w] = true
					w.pc -= int32(i.size)
					w.state = asleep
					return
				}
				s.count--
				delete(s.waiting, w)
				if k := w.group.launch.watch; k != nil {
					k.take(w, s.known)
				}
			})
		}},
	}
}

// semaphore is the count of a resource.
type semaphore struct {
	count   uint64
	waiting map[*wave]bool
	known   clockView // of a launch that is checked
}

func (w *wave) semaphore(i *instr, f func(s *semaphore)) {
	g := &w.group.launch.gws
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g.semaphore(w.resource(i)))
}

// semaphore returns that of a resource. DS_GWS_INIT sets its count.
func (g *globalSync) semaphore(id uint32) *semaphore {
	if g.semaphores == nil {
		g.semaphores = map[uint32]*semaphore{}
	}
	if g.semaphores[id] == nil {
		g.semaphores[id] = &semaphore{waiting: map[*wave]bool{}, known: clockView{}}
	}
	return g.semaphores[id]
}

// resource is the number of the resource that an instruction means.
func (w *wave) resource(i *instr) uint32 { return (w.s[isa.M0]>>16 + uint32(i.inst.Offset())) & 63 }
