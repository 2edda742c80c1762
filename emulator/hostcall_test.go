package emulator

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// clientSource is the device's side of hostcalls, written anew from the protocol:
// what the device libraries bring in a bundle.
const clientSource = macros + stacksClient + calledSource

const macros = `
#define IMPLICIT(n) (((__attribute__((address_space(4))) u64 *)__builtin_amdgcn_implicitarg_ptr())[n])
#define LOAD(p) __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM)
#define SWAP(p, old, v) __hip_atomic_compare_exchange_strong(p, old, v, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)
`

// stacksClient is the part of ROCm 5.3 to 7.0, phasesClient that of later ones.
const stacksClient = `
struct Packet { u64 next, active; u32 service, control; };
struct Buffer { Packet *packets; u64 (*slots)[64][8]; u64 bell, free, ready, mask; };
__device__ u64 uniform(u64 v) { u32 lo = __builtin_amdgcn_readfirstlane((u32)v), hi = __builtin_amdgcn_readfirstlane((u32)(v >> 32)); return (u64)hi << 32 | lo; }
__device__ void push(Buffer *b, u64 *top, u64 p) {
  u64 f = LOAD(top);
  do b->packets[p & b->mask].next = f; while (!SWAP(top, &f, p));
}
__device__ __attribute__((noinline)) u64 call(u32 service, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7) {
  Buffer *b = (Buffer *)IMPLICIT(10);
  u32 me = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)), low = __builtin_amdgcn_readfirstlane(me);
  u64 p = 0, active = __builtin_amdgcn_read_exec();
  if (me == low) { p = LOAD(&b->free); while (!SWAP(&b->free, &p, LOAD(&b->packets[p & b->mask].next))) {} }
  p = uniform(p);
  Packet *k = &b->packets[p & b->mask];
  u64 *s = b->slots[p & b->mask][me];
  if (me == low) { k->service = service; k->active = active; k->control = 1; }
  s[0] = a0; s[1] = a1; s[2] = a2; s[3] = a3; s[4] = a4; s[5] = a5; s[6] = a6; s[7] = a7;
  if (me == low) push(b, &b->ready, p);
  for (;;) {
    u32 busy = 1;
    if (me == low) busy = LOAD(&k->control) & 1;
    if (!__builtin_amdgcn_readfirstlane(busy)) break;
    __builtin_amdgcn_s_sleep(1);
  }
  u64 v = LOAD(&s[0]);
  if (me == low) push(b, &b->free, p + b->mask + 1);
  return v;
}
`

const phasesClient = `
struct Header { u64 active; u32 service; };
struct Buffer { u32 *device, *host, *occupied; Header *headers; u64 (*slots)[64][8]; u64 bell; u32 count; };
static __device__ u64 last_signal_time __asm__("last_signal_time");
__device__ __attribute__((noinline)) u64 call(u32 service, u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7) {
  Buffer *b = (Buffer *)IMPLICIT(10);
  u32 me = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0)), low = __builtin_amdgcn_readfirstlane(me), i = 0;
  u64 active = __builtin_amdgcn_read_exec();
  if (me == low) for (;; i++) {
    if (i >= b->count) i = 0;
    u32 bit = 1u << i % 32;
    if (__hip_atomic_fetch_or(&b->occupied[i / 32], bit, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) & bit) { __builtin_amdgcn_s_sleep(1); continue; }
    if (LOAD(&b->device[i]) == LOAD(&b->host[i])) break;
    __hip_atomic_fetch_and(&b->occupied[i / 32], ~bit, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  i = __builtin_amdgcn_readfirstlane(i);
  u64 *s = b->slots[i][me];
  if (me == low) { b->headers[i].service = service; b->headers[i].active = active; }
  s[0] = a0; s[1] = a1; s[2] = a2; s[3] = a3; s[4] = a4; s[5] = a5; s[6] = a6; s[7] = a7;
  if (me == low) {
    __hip_atomic_store(&b->device[i], b->device[i] ^ 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    u64 now = __builtin_readsteadycounter();
    if (now - __hip_atomic_exchange(&last_signal_time, now, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) > 1000) __hip_atomic_fetch_add((u64 *)(b->bell + 8), 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  }
  for (;;) {
    u32 busy = 1;
    if (me == low) busy = LOAD(&b->device[i]) != LOAD(&b->host[i]);
    if (!__builtin_amdgcn_readfirstlane(busy)) break;
    __builtin_amdgcn_s_sleep(1);
  }
  u64 v = LOAD(&s[0]);
  if (me == low) __hip_atomic_fetch_and(&b->occupied[i / 32], ~(1u << i % 32), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  return v;
}
`

const calledSource = `
extern "C" {
__device__ int printf(const char *, ...);
__device__ u64 begin(u64 stream) { return call(2, 1 | 1 << 5, stream, 0, 0, 0, 0, 0, 0); }
__device__ u64 __ockl_printf_begin(u64) { return begin(0); }
__device__ u64 __ockl_printf_append_args(u64 d, u32 n, u64 a, u64 b, u64 c, u64 e, u64 f, u64 g, u64 h, u32 last) {
  return call(2, (d & ~(u64)0xe0) | n << 5 | (last ? 2 : 0), a, b, c, e, f, g, h);
}
__device__ u64 __ockl_printf_append_string_n(u64 d, const char *s, u64 n, u32 last) {
  if (!s) return __ockl_printf_append_args(d, 1, 0, 0, 0, 0, 0, 0, 0, last);
  for (;;) {
    u64 w[7] = {}; u32 k = 0;
    for (; k < 56 && k < n; k++) w[k / 8] |= (u64)(unsigned char)s[k] << (k % 8 * 8);
    bool end = n <= 56;
    d = __ockl_printf_append_args(d, (k + 7) / 8, w[0], w[1], w[2], w[3], w[4], w[5], w[6], last && end);
    if (end) return d;
    s += 56; n -= 56;
  }
}
__device__ __attribute__((address_space(1))) char *__printf_alloc(u32 n) {
  __attribute__((address_space(1))) char *p = (__attribute__((address_space(1))) char *)IMPLICIT(9);
  u32 *at = (u32 *)p, old = LOAD(at), size = at[1];
  do if (old + n + 8 > size) return 0; while (!SWAP(at, &old, old + n));
  return p + 8 + old;
}
}
KERNEL talk(const char *name, u32 n) {
  u32 i = GID;
  if (i % 3 == 0 || i >= n) return;
  printf("%d of %s has %.2f, %lld and %s%%\n", i, name, i * 0.25, (long long)i << 33, i & 1 ? "text that is longer than the fifty-six bytes of one packet, much longer" : "");
}
`

const hostcallSource = clientSource + requestsSource + `
KERNEL ring() { Buffer *b = (Buffer *)IMPLICIT(10); b->packets[1].next = 1; b->packets[1].service = 2; b->packets[1].active = 0; __hip_atomic_store(&b->ready, 1ull, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM); }
`

const requestsSource = `
KERNEL fails(const char *text) {
  if (GID != 70) return;
  u64 d = begin(1);
  __ockl_printf_append_string_n(d, text, 11, 1);
  __builtin_trap();
}
KERNEL heap(u32 *out, u64 bytes) {
  u32 *p = (u32 *)call(3, 0, bytes, 0, 0, 0, 0, 0, 0);
  if (!p) { out[GID] = 0; return; }
  p[0] = GID * 7; p[bytes / 4 - 1] += 5;
  out[GID] = p[0] + p[bytes / 4 - 1];
  call(3, (u64)p, 0, 0, 0, 0, 0, 0, 0);
}
KERNEL gone(u32 *out) {
  u32 *p = (u32 *)call(3, 0, 64, 0, 0, 0, 0, 0, 0);
  *p = 1; out[0] = *p;
  call(3, (u64)p, 0, 0, 0, 0, 0, 0, 0);
  out[1] = *(volatile u32 *)p;
}
KERNEL stale(u32 *out) { __shared__ u32 *q;
  if (TID == 0) { q = (u32 *)call(3, 0, 64, 0, 0, 0, 0, 0, 0); *q = 7; } SYNC; volatile u32 *p = q; u32 v = 0;
  if (TID >= 64) v = *p; SYNC; if (TID == 0) call(3, (u64)p, 0, 0, 0, 0, 0, 0, 0); SYNC;
  if (TID >= 64) v += *p; out[TID] = v; }
KERNEL strange(u32 service) { call(service, 64, 0, 0, 0, 0, 0, 0, 0); }
KERNEL unknown() { call(2, 5 << 8 | 1 << 5, 0, 0, 0, 0, 0, 0, 0); }
`

func wantTalk(n int) (lines []string) {
	for i := range n {
		if i%3 != 0 {
			text := ""
			if i&1 != 0 {
				text = "text that is longer than the fifty-six bytes of one packet, much longer"
			}
			lines = append(lines, fmt.Sprintf("%d of the kernel has %.2f, %d and %s%%", i, float64(i)*0.25, i<<33, text))
		}
	}
	slices.Sort(lines)
	return lines
}

func talk(t *testing.T, m *Module) {
	t.Helper()
	p, name := alloc(t, m, 16)
	copy(name, "the kernel")
	var out bytes.Buffer
	_, err := m.Launch(t.Context(), "talk", Dim3{3, 1, 1}, Dim3{96, 1, 1}, [][]byte{u64arg(uint64(p)), u32arg(250)}, Options{Output: &out, Budget: 50e6})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	slices.Sort(got)
	if want := wantTalk(250); !slices.Equal(got, want) {
		t.Errorf("%d lines, want %d: %q", len(got), len(want), got)
	}
}

// Printf through packets and through the buffer of records, from all lanes of
// several waves.
func TestPrintf(t *testing.T) {
	modes(t, func(t *testing.T, arch, opt string) {
		talk(t, loadHIP(t, arch, opt, clientSource))
		talk(t, loadHIP(t, arch, opt, clientSource, "-mprintf-kind=buffered"))
	})
}

func TestHostcalls(t *testing.T) {
	modes(t, func(t *testing.T, arch, opt string) { testHostcalls(t, loadHIP(t, arch, opt, hostcallSource)) })
}

// The same by the protocol of later device libraries.
func TestHostcallsByPhases(t *testing.T) {
	source := macros + phasesClient + calledSource
	modes(t, func(t *testing.T, arch, opt string) {
		talk(t, loadHIP(t, arch, opt, source))
		testHostcalls(t, loadHIP(t, arch, opt, source+requestsSource))
	})
}

func testHostcalls(t *testing.T, m *Module) {
	t.Helper()
	launch := func(kernel string, opts Options, args ...[]byte) error {
		opts.Budget = 10e6
		_, err := m.Launch(t.Context(), kernel, Dim3{2, 1, 1}, Dim3{64, 1, 1}, args, opts)
		return err
	}
	p, text := alloc(t, m, 16)
	copy(text, "a reason\n")
	var out, errs bytes.Buffer
	err := launch("fails", Options{Output: &out, ErrorOutput: &errs}, u64arg(uint64(p)))
	var f *Fault
	if !errors.As(err, &f) || !strings.Contains(f.Reason, "stopped itself") || out.Len() > 0 || errs.String() != "a reason\n" {
		t.Errorf("a failed assertion: %v, output %q, errors %q", err, out.String(), errs.String())
	}
	if err := launch("fails", Options{Output: &out}, u64arg(uint64(p))); err == nil || out.String() != "a reason\n" {
		t.Errorf("errors go to the output: %v, %q", err, out.String())
	}

	po, b := alloc(t, m, 4*128)
	for _, bytes := range []uint64{4096, 1 << 21} {
		if err := launch("heap", Options{}, u64arg(uint64(po)), u64arg(bytes)); err != nil {
			t.Fatal(err)
		}
		for i := range 128 {
			if got := binary.LittleEndian.Uint32(b[4*i:]); got != uint32(i*7+5) {
				t.Fatalf("lane %d: %d bytes of its own: %d, want %d", i, bytes, got, i*7+5)
			}
		}
	}
	if slab := m.dev.mem.malloc(1 << 21); slab&(1<<21-1) != 0 {
		t.Errorf("a slab at 0x%x is not aligned", slab)
	} else {
		m.dev.mem.mfree(slab)
	}
	if m.dev.mem.heap != 0 {
		t.Errorf("%d bytes are left on the heap", m.dev.mem.heap)
	}
	if err := launch("heap", Options{}, u64arg(uint64(po)), u64arg(heapLimit+1)); err != nil || binary.LittleEndian.Uint32(b) != 0 {
		t.Errorf("more than the heap has: %v, %d", err, binary.LittleEndian.Uint32(b))
	}
	if err := launch("gone", Options{}, u64arg(uint64(po))); !errors.As(err, &f) || !strings.Contains(f.Reason, "nothing is allocated there") {
		t.Errorf("use after free: %v", err)
	}
	// One wave frees what another one has at hand.
	_, err = m.Launch(t.Context(), "stale", Dim3{1, 1, 1}, Dim3{128, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{Budget: 1e7})
	if !errors.As(err, &f) || !strings.Contains(f.Reason, "nothing is allocated there") {
		t.Errorf("use after another wave's free: %v", err)
	}
	if err := launch("strange", Options{}, u32arg(1)); err == nil || !strings.Contains(err.Error(), "a function of the host at 0x40") {
		t.Errorf("a call of the host: %v", err)
	}
	if err := launch("strange", Options{}, u32arg(77)); err == nil || !strings.Contains(err.Error(), "service 77") {
		t.Errorf("service 77: %v", err)
	}
	if _, ok := m.obj.Kernel("ring"); !ok {
		// of the other protocol
	} else if err := launch("ring", Options{}); err != nil {
		t.Errorf("a ring of packets: %v", err)
	}
	if err := launch("unknown", Options{}); err == nil || !strings.Contains(err.Error(), "no message 5") {
		t.Errorf("an unknown message: %v", err)
	}
	full := fullWriter{}
	if err := launch("talk", Options{Output: full}, u64arg(uint64(p)), u32arg(9)); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
}

type fullWriter struct{}

func (fullWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// What a kernel cannot have written is refused.
func TestDamagedPrintfBuffer(t *testing.T) {
	h := &host{}
	for name, words := range map[string][]uint32{
		"no size": {4, 0, 0}, "beyond the end": {8, 0, 100 << 2, 0}, "unknown format": {12, 0, 12<<2 | 2, 1, 2},
	} {
		r := newRegion(0, 64, "", true)
		for i, w := range words {
			binary.LittleEndian.PutUint32(r.data[4*i:], w)
		}
		if err := h.printBuffered(r, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r := newRegion(0, 64, "", true)
	binary.LittleEndian.PutUint32(r.data, ^uint32(0)) // more than there is
	if err := h.printBuffered(r, nil); err == nil {
		t.Error("a buffer that says it is larger than it is: no error")
	}
}

// The formats are compared with those of this machine's C library.
func TestFormatsOfC(t *testing.T) {
	cases := []struct{ format, args string }{
		{"%d %i %5d|%-5d|%05d|%+d|% d", "1,-2,3,4,-5,6,7"}, {"%.3d|%8.3d|%-8.3d|%08.3d", "5,-6,7,8"}, {"%u %x %X %o %#x %#o", "0xffffffffu,255,255,8,255,8"},
		{"%hd %hhd %hu %hhu", "70000,300,70000,300"}, {"%ld %lld %lu %lx", "-5000000000l,1ll<<62,~0ul,1ul<<40"}, {"%c|%5c|%-3c|", "65,66,67"},
		{"%s|%10s|%-10s|%.2s|", `"abc","def","ghi","jklm"`}, {"%f %.0f %.3f %10.2f|%-10.2f|%+.1f|%010.3f", "1.5,2.5,3.14159,-4.0,5.0,6.0,-7.25"},
		{"%e %E %.2e %g %g %g %G %g", "12345.678,0.00001,1e100,1e6,100000.0,0.0001,1e-10,0.1"}, {"%#g %#.0f %.0e", "1.0,2.0,3.0"},
		{"%f %F %5f %e", "1.0/z,-1.0/z,-1.0/z,z"}, {"%a %A %.2a %a", "1.0,-10.5,3.14159,z"}, {"%*d|%-*d|%.*f|%*.*f", "5,1,6,2,2,3.14159,9,3,2.71828"},
		{"%*d|", "-5,1"}, {"%p %p", "(void*)4096,(void*)0x7f0000000000"}, {"%%%d%%", "3"}, {"%.0d|%5.0d|", "0,0"}, {"%zu %td %jd", "(unsigned long)5,6l,7l"}, {"%#X|%#08x", "255,255"},
	}
	var src strings.Builder
	src.WriteString("int printf(const char *, ...); int main(void) { volatile double z = 0;\n")
	for _, c := range cases {
		fmt.Fprintf(&src, "printf(\"%s\\n\", %s);\n", c.format, c.args)
	}
	src.WriteString("return 0; }\n")
	dir := t.TempDir()
	in, exe := filepath.Join(dir, "f.c"), filepath.Join(dir, "f")
	if err := os.WriteFile(in, []byte(src.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	llvmtest.Run(t, "clang", "-w", in, "-o", exe)
	want, err := exec.CommandContext(t.Context(), exe).Output()
	if err != nil {
		t.Fatal(err)
	}

	// The same arguments for us: compiled as a kernel, on one lane.
	var kernel strings.Builder
	kernel.WriteString("KERNEL formats() { volatile double z = 0;\n")
	for _, c := range cases {
		fmt.Fprintf(&kernel, "printf(\"%s\\n\", %s);\n", c.format, c.args)
	}
	kernel.WriteString("}\n")
	m := loadHIP(t, "gfx942", "-O1", clientSource+kernel.String(), "-w")
	var out bytes.Buffer
	if _, err := m.Launch(t.Context(), "formats", Dim3{1, 1, 1}, Dim3{1, 1, 1}, nil, Options{Output: &out}); err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i, line := range lines {
		if i >= len(got) || got[i] != line {
			t.Errorf("%q of (%s): %q, want %q", cases[i].format, cases[i].args, got[min(i, len(got)-1)], line)
		}
	}
	// What C leaves open must not take us down.
	for _, format := range []string{"%", "%5", "%q", "%.", "%-", "%ll", "%d%d%d", "%s", "%n%n", "%1000000000d", "%*.*f"} {
		if n := len(formatC(format, binary.LittleEndian.AppendUint64(nil, ^uint64(0)))); n > 2*maxField {
			t.Errorf("%q: %d bytes", format, n)
		}
	}
}
