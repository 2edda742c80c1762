package emulator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const watchSource = `
#define RELAXED __ATOMIC_RELAXED
#define AGENT __HIP_MEMORY_SCOPE_AGENT
KERNEL nobarrier(u32 *a, u32 *out) { __shared__ u32 t[256]; t[TID] = a[TID]; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_wave_barrier(); out[GID] = t[255 - TID]; }
KERNEL barrier(u32 *a, u32 *out) { __shared__ u32 t[256]; for (u32 k = 0; k < 3; k++) { t[TID] = a[TID] + k; SYNC; out[GID] += t[255 - TID]; SYNC; } }
KERNEL halfbarrier(u32 *a, u32 *out) { __shared__ u32 t[256]; for (u32 k = 0; k < 3; k++) { t[TID] = a[TID] + k; SYNC; out[GID] += t[255 - TID]; } }
KERNEL lost(u32 *a, u32 *out) { out[0] += a[TID & 3]; }
KERNEL counted(u32 *a, u32 *out) { __hip_atomic_fetch_add(out, 1u, RELAXED, AGENT); }
KERNEL mixed(u32 *a, u32 *out) { if (BID == 0) out[0] = 5; else __hip_atomic_fetch_add(out, 1u, RELAXED, AGENT); }
KERNEL peek(u32 *a, u32 *out) { if (BID == 0) out[8] = *(volatile u32 *)out; else __hip_atomic_fetch_add(out, 1u, RELAXED, AGENT); }
KERNEL swapped(u32 *a, u32 *out) { u32 v = out[0]; while (!__hip_atomic_compare_exchange_strong(out, &v, v * 3 + 1, RELAXED, RELAXED, AGENT)) {} }
KERNEL halfswapped(u32 *a, u32 *out) { u32 v = out[0]; if (BID < 3) while (!__hip_atomic_compare_exchange_strong(out, &v, v * 3 + 1, RELAXED, RELAXED, AGENT)) {} else out[16 + TID] = v; }
KERNEL localswapped(u32 *a, u32 *out) { __shared__ u32 t; if (TID == 0) t = 0; SYNC; u32 v = *(volatile u32 *)&t; while (!__hip_atomic_compare_exchange_strong(&t, &v, v + 2, RELAXED, RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP)) {} SYNC; out[GID] = t; }
KERNEL samewave(u32 *a, u32 *out) { if (BID == 0 && TID < 64) out[TID >> 1] = TID; }
KERNEL sameword(u32 *a, u32 *out) { out[0] = 1; }
KERNEL bytes(u32 *a, unsigned char *out) { out[GID] = (unsigned char)TID; }
KERNEL last(u32 *a, u32 *out) { /* the last work-group reads what the others have written */
  if (TID == 0) out[16 + BID] = BID * 3; __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  __shared__ u32 n; if (TID == 0) n = __hip_atomic_fetch_add(out, 1u, __ATOMIC_ACQ_REL, AGENT); SYNC;
  if (n == 3 && TID == 0) { u32 s = 0; for (u32 k = 0; k < 4; k++) s += out[16 + k]; out[1] = s; } }
KERNEL flag(u32 *a, u32 *out) {
  if (BID == 0) { if (TID == 0) { out[8] = 77; __hip_atomic_store(out, 1u, __ATOMIC_RELEASE, AGENT); } }
  else if (BID == 1 && TID == 0) { while (!__hip_atomic_load(out, __ATOMIC_ACQUIRE, AGENT)) __builtin_amdgcn_s_sleep(1); out[1] = out[8]; } }
KERNEL lds(u32 *a, u32 *out) { __shared__ u32 t[64]; if (TID < 32) t[TID] = 1; SYNC; if (TID < 64) out[GID] = *(volatile u32 *)&t[TID ^ a[0]]; }
KERNEL tally(u32 *a, u32 *out) { __shared__ u32 n; if (a[0]) { if (TID == 0) n = 0; SYNC; } __hip_atomic_fetch_add(&n, 1u, RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP); SYNC; out[GID] = n; }
KERNEL fresh(u32 *a, u32 *out, u32 *p) { if (TID == 0 && BID == 0) out[0] = p[a[0]]; }
KERNEL fill(u32 *a, u32 *out, u32 *p) { if (GID < 8) p[GID] = GID; }
KERNEL stack(u32 *a, u32 *out) { volatile u32 v[20]; for (u32 k = 0; k < 19; k++) v[k] = k; out[GID] = v[a[0]]; }
`

// waitSource is what waits, or does not: in the words of a family of processors.
func waitSource(arch string) string {
	words := []string{"LOAD", "global_load_dword", "STORE", "global_store_dword", "SLOAD", "s_load_dword", "ADD", "v_add_u32", "VM", "s_waitcnt vmcnt", "KM", "s_waitcnt lgkmcnt"}
	switch arch {
	case "gfx1100":
		words = []string{"LOAD", "global_load_b32", "STORE", "global_store_b32", "SLOAD", "s_load_b32", "ADD", "v_add_nc_u32", "VM", "s_waitcnt vmcnt", "KM", "s_waitcnt lgkmcnt"}
	case "gfx1030":
		words[7] = "v_add_nc_u32"
	case "gfx1201":
		words = []string{"LOAD", "global_load_b32", "STORE", "global_store_b32", "SLOAD", "s_load_b32", "ADD", "v_add_nc_u32", "VM", "s_wait_loadcnt ", "KM", "s_wait_kmcnt "}
	}
	return strings.NewReplacer(words...).Replace(`
KERNEL early(u32 *a, u32 *out) { u32 v, w; asm volatile("LOAD %0, %2, off\nADD %1, 1, %0\nVM(0)" : "=&v"(v), "=&v"(w) : "v"(a)); out[GID] = v + w; }
KERNEL second(u32 *a, u32 *out) { u32 v, w; asm volatile("LOAD %0, %2, off\nLOAD %1, %2, off offset:4\nVM(1)\nADD %0, %0, %0\nADD %1, 1, %1\nVM(0)" : "=&v"(v), "=&v"(w) : "v"(a)); out[GID] = v + w; }
KERNEL scalar(u32 *a, u32 *out) { u32 v; asm volatile("SLOAD s6, %1, 0x0\nSLOAD s7, %1, 0x4\nKM(1)\ns_mov_b32 %0, s6\nKM(0)" : "=s"(v) : "s"(a) : "s6", "s7"); out[GID] = v; }
KERNEL stored(u32 *a, u32 *out) { u32 v, w; asm volatile("LOAD %0, %2, off\nSTORE %2, %3, off\nVM(1)\nADD %1, 1, %0\nVM(0)" : "=&v"(v), "=&v"(w) : "v"(a + TID), "v"(5)); out[GID] = v + w; }
`)
}

// Each kernel does one thing that is found, or is nearly wrong and is not.
func TestChecks(t *testing.T) {
	const all = CheckRace | CheckInit | CheckWait
	for _, arch := range []string{"gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", watchSource+waitSource(arch))
		stored := "missing s_waitcnt: v" // RDNA counts stores apart
		if strings.HasPrefix(arch, "gfx9") {
			stored = ""
		}
		for _, c := range []struct {
			kernel string
			check  Check
			first  uint32 // a[0]
			want   string // of the reason, and what is named of the other side
			other  string
		}{
			{"nobarrier", CheckRace, 0, "of 4 bytes at local address", "ds_"},
			{"barrier", all, 0, "", ""},
			{"halfbarrier", CheckRace, 0, "of 4 bytes at local address", "ds_"},
			{"lost", CheckRace, 0, "race: nothing orders this", "global_"},
			{"counted", all, 0, "", ""},
			{"mixed", CheckRace, 0, "race: nothing orders this", "global_"},
			{"peek", CheckRace, 0, "race: nothing orders this", "global_"},
			{"swapped", all, 0, "", ""},
			{"halfswapped", CheckRace, 0, "race: nothing orders this", ""},
			{"localswapped", all, 0, "", ""},
			{"samewave", CheckRace, 0, "lane 0 of the same instruction stores another value", ""},
			{"bytes", all, 0, "", ""},
			{"last", all, 0, "", ""},
			{"flag", all, 0, "", ""},
			{"lds", CheckInit, 32, "load of 4 local bytes at 0x80: nobody has written there", ""},
			{"lds", CheckRace | CheckWait, 32, "", ""},
			{"tally", CheckInit, 0, "atomic operation of 4 local bytes at 0x0: nobody has written there", ""},
			{"tally", all, 1, "", ""},
			{"stack", CheckInit, 19, "load of 4 private bytes", ""},
			{"stack", all, 18, "", ""},
			{"early", CheckWait, 0, "missing s_waitcnt: v", ""},
			{"early", CheckRace | CheckInit, 0, "", ""},
			{"second", CheckWait, 0, "missing s_waitcnt: v", ""},
			{"scalar", CheckWait, 0, "missing s_waitcnt: s6", ""},
			{"stored", CheckWait, 0, stored, ""},
		} {
			t.Run(fmt.Sprint(arch, " ", c.kernel, " ", c.first), func(t *testing.T) {
				pa, a := alloc(t, m, 4*256)
				po, _ := alloc(t, m, 4*1024)
				binary.LittleEndian.PutUint32(a, c.first)
				_, err := m.Launch(t.Context(), c.kernel, Dim3{4, 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(po))}, Options{Check: c.check, Budget: 10e6})
				if c.want == "" {
					if err != nil {
						t.Fatal(err)
					}
					return
				}
				var f *Fault
				if !errors.As(err, &f) || !strings.Contains(f.Reason, c.want) || !strings.Contains(f.Reason, c.other) {
					t.Fatalf("%v, want %q", err, c.want)
				}
				if strings.HasPrefix(c.want, "race: nothing") && !strings.Contains(f.Reason, "wave ") {
					t.Errorf("the other side is not named: %v", err)
				}
			})
		}
		// Different work-groups may store the same value: one instruction, no order,
		// but lanes of one wave agree.
		t.Run(arch+" one value", func(t *testing.T) {
			po, _ := alloc(t, m, 64)
			if _, err := m.Launch(t.Context(), "sameword", Dim3{1, 1, 1}, Dim3{32, 1, 1}, [][]byte{u64arg(0), u64arg(uint64(po))}, Options{Check: CheckRace}); err != nil {
				t.Error(err)
			}
		})
		t.Run(arch+" fresh memory", func(t *testing.T) {
			pa, a := alloc(t, m, 64)
			po, _ := alloc(t, m, 64)
			p, err := m.dev.Alloc(64) // the host never looks at it
			if err != nil {
				t.Fatal(err)
			}
			launch := func(kernel string, at uint32, check Check) error {
				binary.LittleEndian.PutUint32(a, at)
				_, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(po)), u64arg(uint64(p))}, Options{Check: check})
				return err
			}
			if err := launch("fresh", 3, CheckInit); err == nil || !strings.Contains(err.Error(), "nobody has written") {
				t.Errorf("fresh memory: %v", err)
			}
			if err := launch("fill", 0, CheckInit); err != nil {
				t.Error(err)
			}
			if err := launch("fresh", 7, CheckInit); err != nil {
				t.Errorf("a launch before has written it: %v", err)
			}
			if err := launch("fresh", 8, CheckInit); err == nil {
				t.Error("behind what a launch before has written: no error")
			}
			if err := errors.Join(launch("fill", 0, 0), launch("fresh", 8, CheckInit)); err != nil {
				t.Errorf("a launch that was not checked may have written it: %v", err)
			}
		})
	}
}

// Programs that are right stay right under all checks, and compute the same.
func TestChecksOfGroups(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O2", groupSource)
	for _, kernel := range []string{"reverse", "sum", "collatz", "recurse", "dispatch", "lanes"} {
		p, a := alloc(t, m, 8*1024)
		random(a, nil)
		var outs [2][]byte
		for n, check := range []Check{0, CheckRace | CheckInit | CheckWait} {
			po, out := alloc(t, m, 4*1024)
			if _, err := m.Launch(t.Context(), kernel, Dim3{4, 1, 1}, Dim3{256, 1, 1},
				[][]byte{u64arg(uint64(p)), u64arg(uint64(p)), u64arg(uint64(po)), u32arg(items)}, Options{Check: check}); err != nil {
				t.Fatalf("%s: %v", kernel, err)
			}
			outs[n] = out
		}
		if string(outs[0]) != string(outs[1]) {
			t.Errorf("%s: another result when it is checked", kernel)
		}
	}
}

// What is counted is what the source says.
func TestCounters(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O2", `
KERNEL copy(const u32 *a, u32 *out) { out[GID] = a[GID]; }
KERNEL odd(const u32 *a, u32 *out) { if (TID & 1) out[GID] = a[GID] * 3; }
KERNEL banks(const u32 *a, u32 *out, u32 stride) { extern __shared__ u32 t[]; t[TID * stride] = TID; SYNC; out[GID] = *(volatile u32 *)&t[TID * stride]; }
KERNEL bump(const u32 *a, u32 *out) { __hip_atomic_fetch_add(out, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }`)
	pa, _ := alloc(t, m, 4*1024)
	po, _ := alloc(t, m, 4*1024)
	launch := func(kernel string, opts Options, extra ...[]byte) Counters {
		t.Helper()
		opts.DynamicLDS = 1 << 15
		c, err := m.Launch(t.Context(), kernel, Dim3{4, 1, 1}, Dim3{64, 1, 1}, append([][]byte{u64arg(uint64(pa)), u64arg(uint64(po))}, extra...), opts)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := launch("copy", Options{}); c.Vector != 0 || c.BytesLoaded != 0 || c.Instructions == 0 {
		t.Errorf("nobody asked: %+v", c)
	}
	c := launch("copy", Options{Count: true})
	// Each wave loads its arguments and its part of the dispatch packet too.
	if loaded := c.BytesLoaded - 4*256; c.BytesStored != 4*256 || loaded <= 0 || loaded > 4*128 || c.Active() != 1 || c.VectorMemory != 2*4 || c.Matrix != 0 {
		t.Errorf("copy: %+v", c)
	}
	if sum := c.Control + c.Scalar + c.Vector + c.Matrix + c.ScalarMemory + c.VectorMemory + c.LocalMemory; sum != c.Instructions {
		t.Errorf("classes sum up to %d of %d", sum, c.Instructions)
	}
	if c := launch("odd", Options{Count: true}); c.BytesStored != 2*256 || c.Active() >= 1 || c.Active() <= 0.5 {
		t.Errorf("odd: %+v, active %g", c, c.Active())
	}
	for stride, want := range map[uint32]int64{1: 0, 2: 2 * 1, 32: 2 * 31, 33: 0} {
		if c := launch("banks", Options{Count: true}, u32arg(stride)); c.BankConflicts != 2*4*want || c.LocalBytes != 2*4*256 {
			t.Errorf("stride %d: %d bank conflicts, want %d; %d bytes", stride, c.BankConflicts, 2*4*want, c.LocalBytes)
		}
	}
	if c := launch("bump", Options{Count: true}); c.BytesStored < 4*4 || c.Groups != 4 || c.Waves != 4 {
		t.Errorf("bump: %+v", c)
	}
}
