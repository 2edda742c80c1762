package emulator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// Each load goes into a register that is used, and nothing else waits: no store has to be
// seen by somebody else.
const waitedSource = `
KERNEL chain(const u32 *a, const u32 *b, u32 *out) { u32 x = a[TID], y = b[x & 63], z = a[y & 63]; out[TID] = x + 3 * y + 5 * z; }
KERNEL beside(const u32 *a, const u32 *b, u32 *out) { u32 x = a[TID], y = b[TID], z = a[TID + 7]; u32 s = x * x; asm volatile("" : "+v"(s)); s += y; asm volatile("" : "+v"(s)); out[TID] = s + z; }
KERNEL uniform(const u32 *a, const u32 *b, u32 *out) { u32 s = a[3] + b[5]; for (u32 k = 0; k < (s & 3) + 1; k++) s = s * 5 + a[s & 31]; out[TID] = s; }
KERNEL local(const u32 *a, const u32 *b, u32 *out) { __shared__ u32 t[64]; t[TID] = TID * 7; __builtin_amdgcn_wave_barrier(); u32 v = *(volatile __attribute__((address_space(3))) u32 *)((__attribute__((address_space(3))) u32 *)t + (TID ^ 1)); out[TID] = v + *(volatile __attribute__((address_space(3))) u32 *)((__attribute__((address_space(3))) u32 *)t + (v & 63)); }
KERNEL flat(const u32 *a, const u32 *b, u32 *out) { const u32 *p = a + TID; asm volatile("" : "+v"(p)); u32 x = *p; p = b + (x & 63); asm volatile("" : "+v"(p)); out[TID] = *p + x; }
KERNEL returns(const u32 *a, const u32 *b, u32 *out) { u32 v = __hip_atomic_fetch_add(out + 64 + TID, 3u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); out[TID] = v * 5; }
`

// Whatever wait LLVM has put before the use of a register is missed when it is not there,
// on every generation, and none is when all are.
func TestEveryWaitIsMissed(t *testing.T) {
	all := 0
	for _, target := range []string{"gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1030/64", "gfx1100", "gfx1100/64", "gfx1201", "gfx1201/64"} {
		processor, wide, _ := strings.Cut(target, "/")
		flags, decoder := []string{"-Wno-everything"}, isa.NewDecoder
		if wide != "" {
			flags, decoder = append(flags, "-mwavefrontsize64"), isa.NewWave64Decoder
		}
		data, err := os.ReadFile(llvmtest.HIP(t, prelude+waitedSource, processor, flags...))
		if err != nil {
			t.Fatal(err)
		}
		dec, err := decoder(processor)
		if err != nil {
			t.Fatal(err)
		}
		obj, err := codeobj.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		launch := func(data []byte, kernel string) error {
			d, err := NewDevice(processor)
			if err != nil {
				t.Fatal(err)
			}
			m, err := d.Load(data)
			if err != nil {
				t.Fatal(err)
			}
			pa, a := alloc(t, m, 512)
			random(a, nil)
			po, _ := alloc(t, m, 1024)
			_, err = m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pa)), u64arg(uint64(pa)), u64arg(uint64(po))}, Options{Check: CheckWait, Budget: 1e5})
			return err
		}
		for i := range obj.Kernels {
			k := &obj.Kernels[i]
			if err := launch(data, k.Name); err != nil {
				t.Errorf("%s: %s: %v", target, k.Name, err)
			}
			start := fileOffset(t, obj, k.Entry)
			waits := 0
			for at := start; at < start+k.CodeSize; {
				inst, err := dec.Decode(data[at:])
				if err != nil {
					t.Fatal(err)
				}
				size := uint64(inst.Size)
				if name := inst.Name(); strings.HasPrefix(name, "s_wait") && !strings.Contains(name, "alu") && !strings.Contains(name, "depctr") {
					waits++
					without := append([]byte(nil), data...)
					binary.LittleEndian.PutUint32(without[at:], nop)
					err := launch(without, k.Name)
					var f *Fault
					if !errors.As(err, &f) || !strings.Contains(f.Reason, "missing s_waitcnt") {
						t.Errorf("%s: %s without %s at 0x%x: %v", target, k.Name, inst.String(), k.Entry+at-start, err)
					}
				}
				at += size
				if inst.Name() == "s_endpgm" {
					break
				}
			}
			if waits == 0 {
				t.Errorf("%s: %s has no wait", target, k.Name)
			}
			all += waits
		}
	}
	if all < 150 {
		t.Errorf("%d waits are taken out, want 150 at least", all)
	}
	t.Log(fmt.Sprint(all, " waits"))
}

const nop = 0xbf800000 // s_nop 0

func fileOffset(t *testing.T, obj *codeobj.Object, addr uint64) uint64 {
	t.Helper()
	for _, s := range obj.Segments {
		if s.Type == codeobj.SegmentLoad && addr >= s.Addr && addr-s.Addr < uint64(len(s.Data)) {
			return s.Offset + addr - s.Addr
		}
	}
	t.Fatalf("0x%x is in no segment", addr)
	return 0
}

// A flat load may come from either memory: waiting for one of them is half of it.
func TestHalfAWaitIsMissed(t *testing.T) {
	for _, c := range []struct{ wait, want string }{
		{"s_waitcnt vmcnt(0)", "missing s_waitcnt: v2"}, {"s_waitcnt lgkmcnt(0)", "missing s_waitcnt: v2"}, {"s_waitcnt vmcnt(0) lgkmcnt(0)", ""},
		{"s_waitcnt vmcnt(0)\ns_waitcnt lgkmcnt(0)", ""}, {"s_waitcnt vmcnt(0) lgkmcnt(1)", "missing s_waitcnt: v2"},
	} {
		for arch, load := range map[string]string{"gfx90a": "flat_load_dword v2, v[0:1]", "gfx1100": "flat_load_b32 v2, v[0:1]"} {
			directives := smallest
			if arch == "gfx90a" {
				directives += ".amdhsa_accum_offset 16"
			}
			move := map[string]string{"gfx90a": "s_load_dwordx2 s[4:5], s[0:1], 0x0", "gfx1100": "s_load_b64 s[4:5], s[0:1], 0x0"}[arch]
			m := assembledKernel(t, arch, move+"\ns_waitcnt lgkmcnt(0)\nv_mov_b32 v0, s4\nv_mov_b32 v1, s5\n"+load+"\n"+c.wait+"\nv_mov_b32 v3, v2\ns_endpgm", directives, pointers, 16)
			p, _ := alloc(t, m, 64)
			_, err := m.Launch(t.Context(), "k", Dim3{1, 1, 1}, Dim3{32, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(0)}, Options{Check: CheckWait})
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s: %v, want %q", arch, c.wait, err, c.want)
			}
		}
	}
}
