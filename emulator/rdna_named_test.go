package emulator

import (
	"errors"
	"strings"
	"testing"
)

// Barriers with names, by the builtins that clang has for them.
const namedSource = `
#define BARRIER __shared__ __amdgpu_named_workgroup_barrier_t
#define INIT(b, n) __builtin_amdgcn_s_barrier_init(&b, n)
#define JOIN(b) __builtin_amdgcn_s_barrier_join(&b)
#define SIGNAL(b, n) __builtin_amdgcn_s_barrier_signal_var(&b, n)
#define WAIT __builtin_amdgcn_s_barrier_wait(1)
#define STATE(b) __builtin_amdgcn_s_get_named_barrier_state(&b)
#define ALL __builtin_amdgcn_s_barrier_signal(-1); __builtin_amdgcn_s_barrier_wait(-1)
#define RELEASE __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup")
#define ACQUIRE __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#define WAVE (__builtin_amdgcn_readfirstlane(TID / 32))
// Of eight waves one pair fills a ring of two slots, another empties it: four barriers, full and
// free of each slot. The other waves never hear of it.
BARRIER full0, full1, free0, free1;
KERNEL ring(u32 *out) { __shared__ u32 slot[2][64]; u32 w = WAVE, l = TID % 64;
  if (w == 0) { INIT(full0, 4); INIT(full1, 4); INIT(free0, 4); INIT(free1, 4); }
  ALL;
  if (w < 2) {
    for (u32 n = 0; n < 6; n += 2) {
      if (n) { JOIN(free0); SIGNAL(free0, 4); WAIT; ACQUIRE; }
      slot[0][l] = n * 1000 + l; RELEASE; SIGNAL(full0, 4);
      if (n) { JOIN(free1); SIGNAL(free1, 4); WAIT; ACQUIRE; }
      slot[1][l] = n * 1000 + 1000 + l; RELEASE; SIGNAL(full1, 4);
    }
  } else if (w < 4) {
    for (u32 n = 0; n < 6; n += 2) {
      JOIN(full0); SIGNAL(full0, 4); WAIT; ACQUIRE; out[n * 64 + l] = slot[0][63 - l]; RELEASE; if (n < 4) SIGNAL(free0, 4);
      JOIN(full1); SIGNAL(full1, 4); WAIT; ACQUIRE; out[(n + 1) * 64 + l] = slot[1][63 - l]; RELEASE; if (n < 4) SIGNAL(free1, 4);
    }
  } }
// The same without waiting for a slot to be free.
KERNEL racing(u32 *out) { __shared__ u32 slot[64]; u32 w = WAVE, l = TID % 64;
  if (w == 0) INIT(full0, 4);
  ALL;
  if (w < 2) { slot[l] = 1; RELEASE; SIGNAL(full0, 4); slot[l] = 2; }
  else if (w < 4) { JOIN(full0); SIGNAL(full0, 4); WAIT; ACQUIRE; out[l] = slot[63 - l]; } }
KERNEL states(u32 *out) { u32 w = WAVE;
  if (w == 0) { INIT(full0, 9); out[0] = STATE(full0); SIGNAL(full0, 0); SIGNAL(full0, 7); out[1] = STATE(full0); JOIN(full0); __builtin_amdgcn_s_barrier_leave(0); out[2] = STATE(full0);
    INIT(full0, 3); out[3] = STATE(full0); out[4] = STATE(full1); out[5] = __builtin_amdgcn_s_get_barrier_state(-1); __builtin_amdgcn_s_barrier_signal(-1); out[6] = __builtin_amdgcn_s_get_barrier_state(-1); out[7] = 1; __builtin_amdgcn_s_barrier_wait(-1); }
  else { while (!__hip_atomic_load(out + 7, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) __builtin_amdgcn_s_sleep(1); ALL; } }
// To leave is to be missed no more: seven waves wait for the eighth, which leaves.
KERNEL leaves(u32 *out) { u32 w = WAVE; if (w == 0) INIT(full0, 8); ALL; JOIN(full0); ALL;
  if (w == 7) { out[8] = 5; __builtin_amdgcn_s_barrier_leave(0); return; }
  SIGNAL(full0, 0); WAIT; out[w] = out[8]; }
KERNEL first(u32 *out) { u32 w = WAVE; if (w == 0) INIT(full0, 8); ALL; JOIN(full0); ALL; u32 one;
  asm volatile("s_mov_b32 m0, 1\ns_barrier_signal_isfirst m0\ns_wait_kmcnt 0\ns_cselect_b32 %0, 1, 0" : "=s"(one) :: "scc", "memory"); WAIT; if (one && TID % 32 == 0) __hip_atomic_fetch_add(out, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
KERNEL fresh(u32 *out) { if (BID == 0) INIT(full0, 3); else out[BID] = STATE(full0) + 1; }
// Both kinds at once: half the waves wait at a named barrier while the others meet at the work-group's twice.
KERNEL mixed(u32 *out) { u32 w = WAVE; if (w == 0) INIT(full0, 4); ALL;
  if (w < 4) { JOIN(full0); ALL; SIGNAL(full0, 0); WAIT; ALL; } else { ALL; ALL; }
  out[w] = 1; }
// The work-group's barrier opens while half the waves, which have signalled it, wait at a named one.
KERNEL apart(u32 *out) { u32 w = WAVE; if (w == 0) INIT(full0, 5); ALL; if (w < 4) JOIN(full0); ALL;
  __builtin_amdgcn_s_barrier_signal(-1);
  if (w < 4) { SIGNAL(full0, 0); WAIT; ACQUIRE; out[w] = out[9]; }
  __builtin_amdgcn_s_barrier_wait(-1);
  if (w == 4) { out[9] = 1; RELEASE; SIGNAL(full0, 0); } }
// That a barrier has opened says nothing of the one that is joined next.
KERNEL rejoins(u32 *out) { u32 w = WAVE; if (w == 0) { INIT(full0, 1); INIT(full1, 2); } ALL;
  if (w == 0) { JOIN(full0); SIGNAL(full0, 0); JOIN(full1); SIGNAL(full1, 0); WAIT; ACQUIRE; out[0] = out[9]; }
  if (w == 1) { for (u32 k = 0; k < 9; k++) __builtin_amdgcn_s_sleep(1); out[9] = 1; RELEASE; SIGNAL(full1, 0); } }
KERNEL null(u32 *out) { asm volatile("s_barrier_join 0\ns_barrier_signal 0\ns_barrier_wait 0\ns_barrier_leave\ns_mov_b32 m0, 0x50000\ns_barrier_init m0\ns_barrier_signal -2\ns_barrier_wait -2" ::: "memory"); out[WAVE] = STATE(full1) + 3; }
KERNEL misses(u32 *out) { if (WAVE == 0) INIT(full0, 9); ALL; JOIN(full0); SIGNAL(full0, 0); WAIT; out[0] = 1; }
KERNEL unset(u32 *out) { SIGNAL(full1, 0); }
KERNEL alone(u32 *out) { WAIT; }
KERNEL leftnone(u32 *out) { __builtin_amdgcn_s_barrier_leave(0); }
KERNEL toomany(u32 *out) { if (WAVE == 0) { INIT(full0, 2); SIGNAL(full0, 0); SIGNAL(full0, 1); } }
KERNEL nobody(u32 *out) { INIT(full0, 0); }
KERNEL number(u32 *out) { asm volatile("s_mov_b32 m0, 0x1001f\ns_barrier_signal m0" ::: "memory"); }
KERNEL early(u32 *out) { u32 v; asm volatile("s_get_barrier_state s20, -1\ns_mov_b32 %0, s20\ns_wait_kmcnt 0" : "=s"(v) :: "s20"); out[0] = v; }
KERNEL cluster(u32 *out) { asm volatile("s_barrier_signal -3" ::: "memory"); }
KERNEL joinsall(u32 *out) { asm volatile("s_barrier_join -1" ::: "memory"); }
`

func TestNamedBarriers(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O2", namedSource)
	for _, c := range []struct {
		kernel, fails string
		check         Check
		want          func(i int) uint32
		n             int
	}{
		{"ring", "", CheckRace | CheckWait, func(i int) uint32 { return uint32(i/64*1000 + 63 - i%64) }, 6 * 64},
		{"racing", "nothing orders this", CheckRace, nil, 0},
		{"states", "", CheckWait, func(i int) uint32 {
			return []uint32{1 | 9<<4, 1 | 7<<4 | 2<<16, 1 | 6<<4 | 2<<16, 1 | 3<<4, 0, 1 | 8<<4, 1 | 8<<4 | 1<<16}[i]
		}, 7},
		{"leaves", "", CheckRace, func(i int) uint32 { return 5 * bit32(i < 7) }, 8},
		{"first", "", 0, func(i int) uint32 { return 1 }, 1},
		{"fresh", "", 0, func(i int) uint32 { return bit32(i > 0) }, 3},
		{"mixed", "", CheckRace, func(i int) uint32 { return 1 }, 8},
		{"apart", "", CheckRace, func(i int) uint32 { return 1 }, 4},
		{"rejoins", "", CheckRace, func(i int) uint32 { return 1 }, 1},
		{"null", "", 0, func(i int) uint32 { return 3 }, 8},
		{"misses", "nobody signals", 0, nil, 0},
		{"unset", "was it set up", 0, nil, 0},
		{"alone", "joined none", 0, nil, 0},
		{"leftnone", "joined none", 0, nil, 0},
		{"toomany", "1 waves, and 1 have signalled", 0, nil, 0},
		{"nobody", "of 0 waves cannot be set up", 0, nil, 0},
		{"number", "barrier 31", 0, nil, 0},
		{"early", "s20 is still being loaded", CheckWait, nil, 0},
		{"cluster", "barrier -3", 0, nil, 0},
		{"joinsall", "barrier -1 has all waves", 0, nil, 0},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			for seed := range uint64(4) {
				po, out := alloc(t, m, 2048)
				groups := map[string]uint32{"fresh": 3}[c.kernel]
				_, err := m.Launch(t.Context(), c.kernel, Dim3{max(groups, 1), 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{Budget: 1e6, Check: c.check, Deterministic: true, Seed: seed})
				if c.fails != "" {
					var f *Fault
					if !errors.As(err, &f) || !strings.Contains(f.Reason, c.fails) || f.Instruction == "" {
						t.Fatalf("%v, want %q", err, c.fails)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				for i := range c.n {
					if got, want := load32(out, uint64(4*i)), c.want(i); got != want {
						t.Fatalf("seed %d: %d: %d (0x%x), want %d", seed, i, got, got, want)
					}
				}
			}
		})
	}
}
