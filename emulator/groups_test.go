package emulator

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/emulator/isa/isatest"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

const groupSource = `
__device__ u32 counter;
__device__ u32 table[64];
__constant__ u32 constants[4] = {3, 5, 7, 11};
__device__ const u32 *where = table + 5;

KERNEL reverse(const u32 *a, const u32 *b, u32 *out, u32 n) {
  __shared__ u32 tile[256];
  tile[TID] = a[GID];
  SYNC;
  out[GID] = tile[255 - TID];
}
KERNEL sum(const u32 *a, const u32 *b, u32 *out, u32 n) {
  __shared__ u32 part[256];
  part[TID] = GID < n ? a[GID] : 0;
  for (u32 s = 128; s; s >>= 1) { SYNC; if (TID < s) part[TID] += part[TID + s]; }
  if (TID == 0) __hip_atomic_fetch_add(out, part[0], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL late(const u32 *a, const u32 *b, u32 *out, u32 n) {
  __shared__ u32 v;
  if (TID == 0) { u32 s = 0; for (u32 k = 0; k < 3000; k++) s = s * 3 + a[k & 511]; v = s; }
  SYNC;
  out[GID] = v;
}
extern __shared__ u32 dynamic[];
KERNEL histogram(const u32 *a, const u32 *b, u32 *out, u32 n) {
  if (TID < 64) dynamic[TID] = 0;
  SYNC;
  if (GID < n) __hip_atomic_fetch_add(&dynamic[a[GID] & 63], 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
  SYNC;
  if (TID < 64) __hip_atomic_fetch_add(&out[TID], dynamic[TID], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
KERNEL collatz(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  u32 v = i + 1, steps = 0;
  while (v != 1) { v = v & 1 ? 3 * v + 1 : v >> 1; steps++; }
  out[i] = steps;
}
KERNEL stack(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  volatile u32 v[40];
  for (u32 k = 0; k < 40; k++) v[k] = a[i] + k * k;
  volatile unsigned char *p = (volatile unsigned char *)v;
  out[i] = v[b[i] % 40] + p[a[i] % 160];
}
__device__ __attribute__((noinline)) u32 fib(u32 n, u32 *depth) { ++*depth; return n < 2 ? n : fib(n - 1, depth) + fib(n - 2, depth); }
KERNEL recurse(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  u32 depth = 0;
  out[i] = fib(i % 10, &depth) * 1000 + depth;
}
struct Shape { __device__ virtual u32 area(u32 x) { return x; } };
struct Square : Shape { __device__ u32 area(u32 x) override { return x * x; } };
__device__ __attribute__((noinline)) u32 areaOf(Shape *s, u32 x) { return s->area(x); }
KERNEL dispatch(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  Shape plain; Square square;
  out[i] = areaOf(i & 1 ? &square : &plain, a[i]);
}
KERNEL globals(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  __hip_atomic_fetch_add(&counter, constants[i & 3], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  out[i] = table[i & 63] + *where;
}
KERNEL lanes(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 v = a[GID];
  u32 up = __builtin_amdgcn_ds_bpermute(((TID + 3) & 63) << 2, v);
  u32 quad = __builtin_amdgcn_mov_dpp(v, 0x1b, 0xf, 0xf, true);
  u32 shr = __builtin_amdgcn_update_dpp(7, v, 0x111, 0xf, 0xf, false);
  u32 swz = __builtin_amdgcn_ds_swizzle(v, 0x041f);
  u64 odd = __builtin_amdgcn_ballot_w64(v & 1);
  u32 below = __builtin_amdgcn_mbcnt_hi((u32)(odd >> 32), __builtin_amdgcn_mbcnt_lo((u32)odd, 0));
  out[GID] = up ^ quad * 3 ^ shr * 5 ^ swz * 7 ^ below ^ __builtin_amdgcn_readlane(v, 5) ^ __builtin_amdgcn_readfirstlane(v);
}
KERNEL atomics(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  __hip_atomic_fetch_max(&out[0], a[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_min((int *)&out[1], (int)a[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_xor(&out[2], a[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add((u64 *)&out[4], (u64)a[i] << 8, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  __hip_atomic_fetch_add((float *)&out[6], 1.0f, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  u32 seen = out[7];
  while (!__hip_atomic_compare_exchange_strong(&out[7], &seen, seen + 2, __ATOMIC_RELAXED, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
}
KERNEL bytes(const u32 *a, const u32 *b, u32 *out, u32 n) {
  u32 i = GID; if (i >= n) return;
  const signed char *p = (const signed char *)a;
  const unsigned short *h = (const unsigned short *)b;
  ((short *)out)[i] = (short)(p[i] * 3 + h[i]);
}
KERNEL wild(const u32 *a, const u32 *b, u32 *out, u32 n) { if (GID == 77) out[1000000] = 1; }
KERNEL edge(char *p, u64 at, u32 store, u32 *out) { if (store) *(u64 *)(p + at) = 1; else { u64 v = *(u64 *)(p + at); *out = (u32)(v ^ v >> 32); } }
KERNEL local(u32 *out, u32 at) { __shared__ u32 t[64]; t[TID & 63] = TID; SYNC; *out = *(t + at); }
KERNEL forever(const u32 *a, const u32 *b, u32 *out, u32 n) { for (u32 k = TID; *(volatile u32 *)a + 1; k++) out[TID] = k; }
KERNEL wait(const u32 *a, const u32 *b, u32 *out, u32 n) {
  if (BID == 0 && TID == 0) while (!__hip_atomic_load(out, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT)) {}
  if (BID == 3 && TID == 0) __hip_atomic_store(out, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
`

func TestGroups(t *testing.T) {
	modes(t, func(t *testing.T, arch, opt string) {
		m := loadHIP(t, arch, opt, groupSource)
		table, size, err := m.Symbol("table")
		if err != nil || size != 256 {
			t.Fatalf("table: %d bytes, %v", size, err)
		}
		words, err := m.dev.Bytes(table, size)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 64 {
			binary.LittleEndian.PutUint32(words[4*i:], uint32(1000+i))
		}
		each := func(name string, n int, want func(r *run, i int) uint32) {
			t.Run(name, func(t *testing.T) {
				r := launchTest(t, m, name, random)
				for i := range n {
					if w := want(r, i); r.got(i) != w {
						t.Fatalf("%d: 0x%x, want 0x%x", i, r.got(i), w)
					}
				}
			})
		}
		each("reverse", 1024, func(r *run, i int) uint32 { return r.inA(i&^255 + 255 - i&255) })
		each("sum", 1, func(r *run, _ int) (s uint32) {
			for i := range r.n {
				s += r.inA(i)
			}
			return s
		})
		each("late", 1024, func(r *run, _ int) (s uint32) { // one wave needs many turns before the barrier
			for k := range 3000 {
				s = s*3 + r.inA(k&511)
			}
			return s
		})
		each("collatz", items, func(_ *run, i int) (steps uint32) {
			for v := uint32(i + 1); v != 1; steps++ {
				if v&1 != 0 {
					v = 3*v + 1
				} else {
					v >>= 1
				}
			}
			return steps
		})
		each("stack", items, func(r *run, i int) uint32 {
			v := func(k uint32) uint32 { return r.inA(i) + k*k }
			at := r.inA(i) % 160
			return v(r.inB(i)%40) + v(at/4)>>(8*(at%4))&255
		})
		each("recurse", items, func(_ *run, i int) uint32 {
			depth := uint32(0)
			var fib func(n uint32) uint32
			fib = func(n uint32) uint32 {
				depth++
				if n < 2 {
					return n
				}
				return fib(n-1) + fib(n-2)
			}
			v := fib(uint32(i % 10))
			return v*1000 + depth
		})
		each("dispatch", items, func(r *run, i int) uint32 {
			if i&1 != 0 {
				return r.inA(i) * r.inA(i)
			}
			return r.inA(i)
		})
		each("globals", items, func(_ *run, i int) uint32 { return 1000 + uint32(i&63) + 1005 })
		t.Run("counter", func(t *testing.T) {
			p, _, err := m.Symbol("counter")
			if err != nil {
				t.Fatal(err)
			}
			b, err := m.dev.Bytes(p, 4)
			if err != nil {
				t.Fatal(err)
			}
			if got := binary.LittleEndian.Uint32(b); got != items/4*(3+5+7+11) {
				t.Errorf("counter = %d", got)
			}
		})
		lanes := each
		if !strings.HasPrefix(arch, "gfx9") { // the kernel is for 64 lanes, and crosses halves of them
			lanes = func(string, int, func(*run, int) uint32) {}
		}
		lanes("lanes", 1024, func(r *run, i int) uint32 {
			wave, l := i&^63, i&63
			v := func(lane int) uint32 { return r.inA(wave + lane) }
			shr := uint32(7)
			if l&15 != 0 {
				shr = v(l - 1)
			}
			below := uint32(0)
			for k := range l {
				below += v(k) & 1
			}
			return v((l+3)&63) ^ v(l&^3|3-l&3)*3 ^ shr*5 ^ v(l^1)*7 ^ below ^ v(5) ^ v(0)
		})
		each("atomics", 8, func(r *run, word int) uint32 {
			var sum uint64
			var most, xor uint32
			least := int32(0)
			for i := range r.n {
				most, least, xor, sum = max(most, r.inA(i)), min(least, int32(r.inA(i))), xor^r.inA(i), sum+uint64(r.inA(i))<<8
			}
			return [...]uint32{most, uint32(least), xor, 0, uint32(sum), uint32(sum >> 32), u32(items), 2 * items}[word]
		})
		each("bytes", items/2, func(r *run, i int) uint32 {
			at := func(i int) uint32 {
				return uint32(uint16(int16(int8(r.a[i]))*3 + int16(binary.LittleEndian.Uint16(r.b[2*i:]))))
			}
			return at(2*i) | at(2*i+1)<<16
		})
		t.Run("histogram", func(t *testing.T) {
			pa, a := alloc(t, m, 4*items)
			po, out := alloc(t, m, 256)
			random(a, nil)
			_, err := m.Launch(t.Context(), "histogram", Dim3{4, 1, 1}, Dim3{256, 1, 1},
				[][]byte{u64arg(uint64(pa)), u64arg(0), u64arg(uint64(po)), u32arg(items)}, Options{DynamicLDS: 256})
			if err != nil {
				t.Fatal(err)
			}
			want := [64]uint32{}
			for i := range items {
				want[a[4*i]&63]++
			}
			for i, w := range want {
				if got := binary.LittleEndian.Uint32(out[4*i:]); got != w {
					t.Fatalf("bin %d: %d, want %d", i, got, w)
				}
			}
		})
		t.Run("work-groups that wait for each other", func(t *testing.T) {
			r := launchWith(t, m, "wait", Options{Deterministic: true, Seed: 7, Budget: 50e6})
			if r != nil {
				t.Fatal(r)
			}
		})
	})
}

// launchWith runs a kernel of the common signature on empty buffers.
func launchWith(t *testing.T, m *Module, kernel string, opts Options) error {
	t.Helper()
	p, _ := alloc(t, m, 4*1024)
	_, err := m.Launch(t.Context(), kernel, Dim3{4, 1, 1}, Dim3{256, 1, 1},
		[][]byte{u64arg(uint64(p)), u64arg(uint64(p)), u64arg(uint64(p)), u32arg(items)}, opts)
	return err
}

// What a kernel must not do ends its launch, and the error says where.
func TestFaults(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O3", groupSource)
	err := launchWith(t, m, "wild", Options{})
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("wild: %v", err)
	}
	if f.Kernel != "wild" || f.Lane != 77-64 || f.Wave != 1 || f.Group != (Dim3{}) || !strings.HasPrefix(f.Instruction, "global_store_dword") ||
		!strings.Contains(err.Error(), "nothing is allocated there") {
		t.Errorf("%v", err)
	}
	if err := launchWith(t, m, "forever", Options{Budget: 1e6}); !errors.Is(err, ErrBudget) {
		t.Errorf("forever: %v", err)
	}
	// Accesses that begin inside of an allocation and end outside, and those at its
	// very ends.
	for _, c := range []struct {
		at   int64
		want string
	}{{92, ""}, {0, ""}, {93, "ends at"}, {99, "ends at"}, {100, "nothing is allocated"}, {-8, "nothing is allocated"}, {-1, "nothing is allocated"}} {
		for store := range uint32(2) {
			p, _ := alloc(t, m, 100)
			po, _ := alloc(t, m, 4)
			_, err := m.Launch(t.Context(), "edge", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(c.at)), u32arg(store), u64arg(uint64(po))}, Options{})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("8 bytes at %d of 100 (store: %d): %v", c.at, store, err)
			}
		}
	}
	for at, ok := range map[uint32]bool{0: true, 63: true, 64: false, 1 << 20: false} {
		po, _ := alloc(t, m, 4)
		_, err := m.Launch(t.Context(), "local", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(po)), u32arg(at)}, Options{})
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "local bytes") {
			t.Errorf("word %d of 64 in local memory: %v", at, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	p, _ := alloc(t, m, 4+4*64)
	args := [][]byte{u64arg(uint64(p)), u64arg(0), u64arg(uint64(p) + 4), u32arg(1)}
	if _, err := m.Launch(ctx, "forever", Dim3{1, 1, 1}, Dim3{64, 1, 1}, args, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("forever with a deadline: %v", err)
	}
	for _, c := range []struct {
		kernel, want string
		block        Dim3
		args         [][]byte
	}{
		{"nothing", "no kernel", Dim3{64, 1, 1}, args},
		{"wild", "is missing", Dim3{64, 1, 1}, args[:2]},
		{"wild", "want 4", Dim3{64, 1, 1}, append(args[:4:4], nil)},
		{"wild", "8 bytes, want 4", Dim3{64, 1, 1}, [][]byte{args[0], args[1], args[2], u64arg(1)}},
		{"wild", "empty", Dim3{0, 1, 1}, args},
		{"wild", "2048 work-items", Dim3{2048, 1, 1}, args},
	} {
		if _, err := m.Launch(t.Context(), c.kernel, Dim3{1, 1, 1}, c.block, c.args, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", c.kernel, err, c.want)
		}
	}
}

// Code that is not for the device, or not whole, is not loaded.
func TestCodeOfOthers(t *testing.T) {
	d, err := NewDevice("gfx900")
	if err != nil {
		t.Fatal(err)
	}
	path := llvmtest.HIP(t, prelude+benchSource, "gfx900")
	isatest.Agrees(t, path, "gfx900")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.dev.Load(data[:100]); err == nil {
		t.Error("a cut code object was loaded")
	}
	other, err := NewDevice("gfx942")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Load(data); err == nil || !strings.Contains(err.Error(), "gfx900") {
		t.Errorf("code of gfx900 on gfx942: %v", err)
	}
}

// An instruction that is not supported is named with its address and its target.
func TestUnsupportedInstruction(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O3", `KERNEL message(u32 *o) { __builtin_amdgcn_s_sendmsg(10, 0); *o = 1; }`)
	p, _ := alloc(t, m, 64)
	_, err := m.Launch(t.Context(), "message", Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(p))}, Options{})
	var f *Fault
	if !errors.As(err, &f) || f.Instruction != "s_sendmsg sendmsg(MSG_GET_DOORBELL)" || f.Target != "gfx942" || !strings.Contains(f.Reason, "not supported") {
		t.Fatal(err)
	}
	if k, _ := m.Object().Kernel("message"); f.PC < k.Entry || f.PC >= k.Entry+k.CodeSize {
		t.Errorf("pc 0x%x is outside of the kernel at 0x%x", f.PC, k.Entry)
	}
}

// The same seed gives the same schedule, and so the same order of atomics.
func TestDeterministic(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O3", `
KERNEL order(u32 *next, u32 *out) { out[GID] = (u32)__builtin_readcyclecounter() * 31 + (u32)__builtin_readsteadycounter() + __hip_atomic_fetch_add(next, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }`)
	var first []byte
	for range 3 {
		p, _ := alloc(t, m, 4)
		po, out := alloc(t, m, 4096)
		_, err := m.Launch(t.Context(), "order", Dim3{4, 1, 1}, Dim3{256, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po))}, Options{Deterministic: true, Seed: 42})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = append([]byte{}, out...)
		} else if string(first) != string(out) {
			t.Fatal("two runs of one seed differ")
		}
	}
}

// Work-items and work-groups in three dimensions, and the sizes that the kernel
// is told.
func TestDimensions(t *testing.T) {
	const source = `
KERNEL dims(u32 *out) {
  u32 x = __builtin_amdgcn_workgroup_id_x() * __builtin_amdgcn_workgroup_size_x() + __builtin_amdgcn_workitem_id_x();
  u32 y = __builtin_amdgcn_workgroup_id_y() * __builtin_amdgcn_workgroup_size_y() + __builtin_amdgcn_workitem_id_y();
  u32 z = __builtin_amdgcn_workgroup_id_z() * __builtin_amdgcn_workgroup_size_z() + __builtin_amdgcn_workitem_id_z();
  u32 w = __builtin_amdgcn_grid_size_x(), h = __builtin_amdgcn_grid_size_y();
  out[(z * h + y) * w + x] = x | y << 8 | z << 16 | __builtin_amdgcn_workitem_id_y() << 24;
}`
	modes(t, func(t *testing.T, arch, opt string) {
		m := loadHIP(t, arch, opt, source)
		const w, h, d = 3 * 5, 2 * 7, 4 * 3
		p, out := alloc(t, m, 4*w*h*d)
		if _, err := m.Launch(t.Context(), "dims", Dim3{3, 2, 4}, Dim3{5, 7, 3}, [][]byte{u64arg(uint64(p))}, Options{}); err != nil {
			t.Fatal(err)
		}
		for i := range uint32(w * h * d) {
			x, y, z := i%w, i/w%h, i/w/h
			if got, want := binary.LittleEndian.Uint32(out[4*i:]), x|y<<8|z<<16|y%7<<24; got != want {
				t.Fatalf("%d,%d,%d: 0x%x, want 0x%x", x, y, z, got, want)
			}
		}
	})
}

// Arguments that are in registers when a kernel starts.
func TestPreloadedArguments(t *testing.T) {
	m := loadHIP(t, "gfx942", "-O3", `KERNEL add(u32 *out, u32 x, u32 y, u64 z) { out[TID] = TID * x + y + (u32)(z >> 32); }`, "-mllvm", "-amdgpu-kernarg-preload-count=8")
	k, ok := m.Object().Kernel("add")
	if !ok || k.Descriptor.KernargPreloadLength() == 0 {
		t.Fatal("nothing is preloaded")
	}
	p, out := alloc(t, m, 256)
	if _, err := m.Launch(t.Context(), "add", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(7), u32arg(5), u64arg(9 << 32)}, Options{}); err != nil {
		t.Fatal(err)
	}
	for i := range uint32(64) {
		if got := binary.LittleEndian.Uint32(out[4*i:]); got != i*7+14 {
			t.Fatalf("%d: %d, want %d", i, got, i*7+14)
		}
	}
}
