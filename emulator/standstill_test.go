package emulator

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// gridSource has kernels whose work-groups wait for all others: by a load, by an atomic
// operation that changes nothing, asleep, and with a counter of tries.
const gridSource = `
#define ADD(p, v) __hip_atomic_fetch_add(p, v, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT)
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)
#define GRID(wait) SYNC; if (TID == 0) { u32 all = n * (k + 1); ADD(count, 1u); wait; } SYNC
#define TURNS(name, wait) KERNEL name(u32 *count, u32 *p, u32 n) { \
  for (u32 k = 0; k < 3; k++) { u32 v = LOAD(p + k % 2 * n + (BID + 1) % n); GRID(wait); if (TID == 0) p[(k + 1) % 2 * n + BID] = v + 1; count += 1; GRID(wait); count -= 1; } }
TURNS(byLoad, while (LOAD(count) < all) {})
TURNS(byAdd, while (ADD(count, 0u) < all) {})
TURNS(asleep, do __builtin_amdgcn_s_sleep(2); while (LOAD(count) < all))
KERNEL nobody(u32 *count, u32 *p, u32 n) { if (BID == n - 1 && TID == 3) while (!LOAD(count)) {} else p[GID] = 1; }
KERNEL locked(u32 *count, u32 *p, u32 n) { u32 no = 0; while (!__hip_atomic_compare_exchange_strong(count, &no, 1u, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) no = 0; p[GID] = 1; }
KERNEL local(u32 *count, u32 *p, u32 n) { __shared__ u32 flag; if (TID == 0) flag = 0; SYNC; if (TID < 64) while (!__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP)) {} SYNC; p[GID] = 1; }
KERNEL turn(u32 *count, u32 *p, u32 n) { if (TID == 0) { while (LOAD(count) != BID) {} p[BID] = BID + 7; ADD(count, 1u); } }
KERNEL counts(u32 *count, u32 *p, u32 n) { __shared__ volatile u32 t[128]; volatile u32 k = 0; t[TID] = 0; do k = k + 1; while (k < 9000); do t[TID] = t[TID] + 1; while (t[TID] < 9000); p[GID] = 1; }
KERNEL late(u32 *count, u32 *p, u32 n) { if (BID == 0) { volatile u32 k = 0; do k = k + 1; while (k < 60000); if (TID == 0) __hip_atomic_store(count, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); } else if (TID == 0) while (!LOAD(count)) {} p[GID] = 1; }
KERNEL swapped(u32 *count, u32 *p, u32 n) { while (__hip_atomic_exchange(count, BID, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT) != n) {} }
`

// Work-groups that wait for all of their grid in a loop make progress, however many
// they are: as long as the GPU would hold them all.
func TestWaitingGrids(t *testing.T) {
	for _, on := range []struct{ arch, opt string }{{"gfx942", "-O3"}, {"gfx90a", "-O0"}, {"gfx1100", "-O2"}, {"gfx1201", "-O0"}} {
		m := loadHIP(t, on.arch, on.opt, gridSource)
		seeded := int64(0)
		for _, c := range []struct {
			kernel string
			groups uint32
			opts   Options
		}{
			{"byLoad", 200, Options{}}, {"byAdd", 140, Options{Workers: 2}}, {"asleep", 140, Options{Workers: 1}},
			{"byLoad", 100, Options{Deterministic: true, Seed: 5}}, {"byLoad", 100, Options{Deterministic: true, Seed: 5}}, {"byLoad", 90, Options{Workers: 1, Check: CheckRace | CheckInit}},
		} {
			c.opts.Budget = 400e6
			pc, _ := alloc(t, m, 64)
			p, mem := alloc(t, m, 8*uint64(c.groups))
			for i := range c.groups {
				binary.LittleEndian.PutUint32(mem[4*i:], 100*i)
			}
			counters, err := m.Launch(t.Context(), c.kernel, Dim3{c.groups, 1, 1}, Dim3{96, 1, 1}, [][]byte{u64arg(uint64(pc)), u64arg(uint64(p)), u32arg(c.groups)}, c.opts)
			if err != nil {
				t.Fatalf("%s %s, %s, %d work-groups: %v", on.arch, on.opt, c.kernel, c.groups, err)
			}
			if c.opts.Deterministic {
				if seeded != 0 && seeded != counters.Instructions {
					t.Errorf("%s %s: %d instructions, then %d", on.arch, on.opt, seeded, counters.Instructions)
				}
				seeded = counters.Instructions
			}
			for i := range c.groups {
				if got, want := binary.LittleEndian.Uint32(mem[4*(c.groups+i):]), 100*((i+3)%c.groups)+3; got != want {
					t.Fatalf("%s %s, %s: work-group %d: %d, want %d", on.arch, on.opt, c.kernel, i, got, want)
				}
			}
		}
	}
}

// A launch in which all waves wait is over as soon as that is known, and the error says
// for what one of them waits.
func TestStandstill(t *testing.T) {
	for _, on := range []struct{ arch, opt string }{{"gfx942", "-O3"}, {"gfx1100", "-O0"}} {
		m := loadHIP(t, on.arch, on.opt, gridSource)
		launch := func(kernel string, groups uint32, opts Options) ([]byte, error) {
			pc, _ := alloc(t, m, 64)
			p, mem := alloc(t, m, 4*128*uint64(groups))
			_, err := m.Launch(t.Context(), kernel, Dim3{groups, 1, 1}, Dim3{128, 1, 1}, [][]byte{u64arg(uint64(pc)), u64arg(uint64(p)), u32arg(groups)}, opts)
			return mem, err
		}
		for _, kernel := range []string{"nobody", "locked", "local"} {
			for _, opts := range []Options{{Workers: 1}, {Workers: 3}, {Deterministic: true, Seed: 9, Check: CheckWait}} {
				mem, err := launch(kernel, 5, opts)
				var f *Fault
				if !errors.As(err, &f) || !strings.Contains(f.Reason, "waits in a loop for a change at ") || !strings.Contains(f.Reason, "nothing will change") || f.Instruction == "" {
					t.Fatalf("%s %s, %s, %+v: %v", on.arch, on.opt, kernel, opts, err)
				}
				if kernel == "nobody" {
					if f.Group.X != 4 || f.Wave != 0 {
						t.Errorf("%v", f)
					}
					for i := range 4 * 128 { // the others have ended before
						if mem[4*i] != 1 {
							t.Fatalf("item %d has not run", i)
						}
					}
				}
			}
		}
		// One after the other, the last first: nobody waits for ever.
		if mem, err := launch("turn", 400, Options{Budget: 200e6}); err != nil || mem[4*399] != (399+7)&255 {
			t.Errorf("%s %s: work-groups in turn: %v", on.arch, on.opt, err)
		}
		// What changes in local and private memory alone is a change; a work-group on
		// another core may take its time.
		for _, kernel := range []string{"counts", "late"} {
			for _, opts := range []Options{{Workers: 1}, {Workers: 3}} {
				opts.Budget = 100e6
				mem, err := launch(kernel, 6, opts)
				for i := 0; err == nil && i < len(mem); i += 4 {
					if mem[i] != 1 {
						err = errors.New("some work-item has not run")
					}
				}
				if err != nil {
					t.Errorf("%s %s, %s, %+v: %v", on.arch, on.opt, kernel, opts, err)
				}
			}
		}
		// Each changes what all see: nobody stands still, whatever the registers say.
		if _, err := launch("swapped", 3, Options{Budget: 3e6}); !errors.Is(err, ErrBudget) {
			t.Errorf("%s %s: work-groups that write in turn: %v", on.arch, on.opt, err)
		}
	}
}

// More work-groups than a GPU holds at a time wait for ever there, and here that is an
// error; unless somebody else may change the memory.
func TestResident(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O3", gridSource)
	const groups = 64/2*2*16*2 + 1 // one wave each: as many as the SIMDs of the largest GPU hold, and one
	pc, count := alloc(t, m, 64)
	p, _ := alloc(t, m, 8*groups)
	args := [][]byte{u64arg(uint64(pc)), u64arg(uint64(p)), u32arg(groups)}
	_, err := m.Launch(t.Context(), "byLoad", Dim3{groups, 1, 1}, Dim3{32, 1, 1}, args, Options{Workers: 1})
	if err == nil || !strings.Contains(err.Error(), "2048 of 2049 work-groups have begun, as many as the largest gfx1201 holds at a time") {
		t.Fatal(err)
	}
	clear(count)
	args[2] = u32arg(groups - 1)
	if _, err := m.Launch(t.Context(), "byLoad", Dim3{groups - 1, 1, 1}, Dim3{32, 1, 1}, args, Options{Workers: 1}); err != nil {
		t.Errorf("as many as it holds: %v", err)
	}
}

// The clock goes on, even where nothing in the registers says so most of the time.
func TestWaitingForTheClock(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O3", `
KERNEL clock(u32 *p) {
  u32 begin = (u32)__builtin_readcyclecounter(), done;
  do asm volatile("s_memtime s[20:21]\n s_waitcnt lgkmcnt(0)\n s_sub_u32 s20, s20, %1\n s_cmp_gt_u32 s20, %2\n s_cselect_b32 %0, 1, 0\n s_mov_b32 s20, 0\n s_mov_b32 s21, 0\n .rept 40\n s_nop 0\n .endr"
    : "=s"(done) : "s"(begin), "s"(400000) : "s20", "s21", "scc");
  while (!done);
  *p = 5;
}`)
	p, mem := alloc(t, m, 4)
	if _, err := m.Launch(t.Context(), "clock", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p))}, Options{Deterministic: true, Budget: 1e6}); err != nil || mem[0] != 5 {
		t.Error(mem, err)
	}
}

// All workers must have looked since the last change, or have left.
func TestAllStandStill(t *testing.T) {
	s := newStandstill(3)
	v := s.version.Load()
	if s.say(0, v) || s.say(1, v) {
		t.Error("one worker has said nothing")
	}
	s.changed()
	if s.say(2, v) {
		t.Error("something has changed since")
	}
	v = s.version.Load()
	if s.say(2, v) || s.say(1, v) {
		t.Error("the first has looked before the change")
	}
	if s.say(0, workerLeft) {
		t.Error("it has left")
	}
	if !s.say(1, v) {
		t.Error("all have looked, or left")
	}
}
