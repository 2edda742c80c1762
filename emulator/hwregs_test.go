package emulator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const trapSource = `
KERNEL debug(u32 *out) { __builtin_debugtrap(); out[GID] = 1; }
KERNEL trap(u32 *out) { out[GID] = 1; if (GID == 70) __builtin_trap(); }
KERNEL halt(u32 *out) { asm volatile("s_sethalt 1"); out[GID] = 1; }
KERNEL unhalt(u32 *out) { asm volatile("s_sethalt 0"); out[GID] = 1; }
KERNEL message(u32 *out) { __builtin_amdgcn_s_sendmsg(1, 0); out[GID] = 1; }
KERNEL messagehalt(u32 *out) { __builtin_amdgcn_s_sendmsghalt(1, 0); out[GID] = 1; }
KERNEL leaves(u32 *out) { if (TID & 1) asm volatile("s_endpgm"); out[GID] = 1; }
KERNEL half(u32 *out) { if (TID < 64) asm volatile("s_endpgm"); SYNC; out[GID] = 1; }
KERNEL sleeps(u32 *out) { for (u32 k = 0; k < 100; k++) __builtin_amdgcn_s_sleep(127); out[GID] = 1; }
`

// What stops a wave, what only might, and what ends it while others go on.
func TestTraps(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", trapSource)
		for _, c := range []struct {
			kernel, fails string
			ones          int // of 256 words
		}{
			{"debug", "", 256}, {"trap", "the kernel stopped itself (trap 2)", -1}, {"halt", "the wave halts itself", 0}, {"unhalt", "", 256},
			{"message", "", 256}, {"messagehalt", "sends a message and halts itself", 0}, {"leaves", "", 0}, {"half", "", 128}, {"sleeps", "", 256},
		} {
			po, out := alloc(t, m, 4*256)
			_, err := m.Launch(t.Context(), c.kernel, Dim3{2, 1, 1}, Dim3{128, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{Budget: 1e6})
			var f *Fault
			if c.fails == "" && err != nil || c.fails != "" && (!errors.As(err, &f) || !strings.Contains(f.Reason, c.fails) || f.Instruction == "") {
				t.Errorf("%s: %s: %v, want %q", arch, c.kernel, err, c.fails)
			}
			if c.kernel == "trap" && f != nil && f.Wave != map[bool]int{true: 1, false: 2}[strings.HasPrefix(arch, "gfx9")] {
				t.Errorf("%s: wave %d stopped itself", arch, f.Wave)
			}
			ones := 0
			for n := range 256 {
				ones += int(load32(out, uint64(4*n)))
			}
			if c.ones >= 0 && ones != c.ones {
				t.Errorf("%s: %s: %d of 256 words are written, want %d", arch, c.kernel, ones, c.ones)
			}
		}
	}
}

// getreg is the operand of s_getreg_b32 and s_setreg_b32.
func getreg(id, offset, width uint32) uint32 { return id | offset<<6 | (width-1)<<11 }

// Hardware registers that a kernel may look at, and those that nobody knows.
func TestHardwareRegisters(t *testing.T) {
	type want struct {
		id, offset, width uint32
		value             uint32
		fails             string
	}
	const any = 0xdeadbeef
	common := []want{{id: hwMode, width: 8, value: 0xf0}, {id: hwRegisters, width: 32, value: any}, {id: hwLocal, offset: 12, width: 9, value: 4096 / 512}, {id: hwCounts, width: 32}, {id: 13, width: 32, fails: "hardware register 13 is not known"}}
	status := want{id: hwStatus, offset: 9, width: 8, value: 1 | 1<<2 | 1<<7} // no lane is on, there are two waves, and this one is there
	flags := "which exceptions floats have raised is not recorded"
	older := append([]want{{id: hwMode, offset: 8, width: 2, value: 3}, {id: hwTraps, width: 9, fails: flags}, {id: hwTraps, offset: 10, width: 1}, {id: hwTrapFirst, width: 32}, status}, common...)
	gfx9 := append([]want{{id: hwPlace, width: 6, value: 1 << 4}, {id: hwBases, width: 16, value: privateAperture >> 48}, {id: hwBases, offset: 16, width: 16, value: sharedAperture >> 48}, {id: hwPlace1, width: 32, fails: "not known"}}, older...)
	rdna := append([]want{{id: hwPlace1, width: 10, value: 3 << 8}, {id: hwPlace2, width: 32}, {id: hwCycles, width: 20, value: any}, {id: hwBases, width: 32, fails: "not known"}}, older...)
	for arch, list := range map[string][]want{
		"gfx900": append(gfx9, want{id: hwChip, width: 4, fails: "not known on gfx900"}), "gfx942": append(gfx9, want{id: hwChip, width: 4}),
		"gfx1030": append(rdna, want{id: hwScratchLo, width: 32}), "gfx1100": rdna,
		"gfx1201": append([]want{{id: hwStatus, offset: 9, width: 1, value: 1}, {id: hwPlace, offset: 9, width: 1}, {id: hwUserFlags, width: 4, fails: flags}, {id: hwPlace1, width: 10, value: 3 << 8}, {id: hwTrapCtrl, width: 32}, {id: hwCyclesHigh, width: 32, value: any}}, common...),
	} {
		var source strings.Builder
		for n, r := range list {
			// Lanes are off where the register is read, and SCC is zero.
			fmt.Fprintf(&source, `KERNEL get%d(u32 *out) { __shared__ volatile char t[4096]; t[TID] = 1; u32 v; asm volatile("s_mov_b64 s[6:7], exec\ns_mov_b64 exec, 0\ns_mov_b64 vcc, 1\ns_cmp_eq_u32 0, 1\ns_getreg_b32 %%0, 0x%x\ns_mov_b64 exec, s[6:7]" : "=s"(v) : : "s6", "s7", "scc", "vcc"); if (TID == 127) *out = v; }
`, n, getreg(r.id, r.offset, r.width))
		}
		m := loadHIP(t, arch, "-O2", source.String())
		for n, r := range list {
			po, out := alloc(t, m, 4)
			_, err := m.Launch(t.Context(), fmt.Sprint("get", n), Dim3{1, 1, 1}, Dim3{128, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{})
			got := load32(out, 0)
			switch {
			case r.fails == "" && err != nil, r.fails != "" && (err == nil || !strings.Contains(err.Error(), r.fails)):
				t.Errorf("%s: register %d: %v, want %q", arch, r.id, err, r.fails)
			case r.fails == "" && r.value != any && got != r.value:
				t.Errorf("%s: register %d from bit %d on: 0x%x, want 0x%x", arch, r.id, r.offset, got, r.value)
			}
		}
	}
}

// MODE can be written, but for what nobody would act upon.
func TestModeIsWritten(t *testing.T) {
	for _, arch := range []string{"gfx900", "gfx1100", "gfx1201"} {
		m := loadHIP(t, arch, "-O2", fmt.Sprintf(`
KERNEL round(u32 *out) { __builtin_amdgcn_s_setreg(%d, 3); u32 v = __builtin_amdgcn_s_getreg(%d); __builtin_amdgcn_s_setreg(%d, 0); out[0] = v; }
KERNEL raise(u32 *out) { __builtin_amdgcn_s_setreg(%d, 1); out[0] = 1; }
KERNEL other(u32 *out) { __builtin_amdgcn_s_setreg(%d, 1); out[0] = 1; }
`, getreg(hwMode, 0, 2), getreg(hwMode, 0, 4), getreg(hwMode, 0, 2), getreg(hwMode, 12, 1), getreg(hwLocal, 12, 1)))
		for kernel, want := range map[string]string{"round": "", "raise": "exceptions of floats are not supported", "other": "hardware register 6 cannot be written"} {
			if arch == "gfx1201" && kernel == "raise" {
				continue // these bits mean nothing there
			}
			po, out := alloc(t, m, 4)
			_, err := m.Launch(t.Context(), kernel, Dim3{1, 1, 1}, Dim3{1, 1, 1}, [][]byte{u64arg(uint64(po))}, Options{})
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: %v, want %q", arch, kernel, err, want)
			}
			if got := load32(out, 0); kernel == "round" && got != 3 {
				t.Errorf("%s: rounding is %d, want 3", arch, got)
			}
		}
	}
}
