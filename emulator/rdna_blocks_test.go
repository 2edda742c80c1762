package emulator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// blockAsm makes a kernel that sets registers 40 to 71 and M0 up, runs text, and stores
// what they are then.
func blockAsm(name, text string) string {
	var set, store, clobbered strings.Builder
	for n := range 32 {
		fmt.Fprintf(&set, `v_add_nc_u32 v%d, %d, %%3\n`, 40+n, n)
		fmt.Fprintf(&store, `global_store_b32 %%1, v%d, off offset:%d\n`, 40+n, 4*n)
		fmt.Fprintf(&clobbered, `, "v%d"`, 40+n)
	}
	return fmt.Sprintf(`KERNEL %s(u32 *p, u32 *out, u32 mask) { volatile u32 t[36]; t[(TID & 1) + 4] = 77; u32 *q = p + 32 * TID, *o = out + 32 * TID; u32 i = TID * 128, one = TID * 1000, own = (u32)(u64)(__attribute__((address_space(5))) u32 *)t;
asm volatile("%ss_mov_b32 m0, %%4\n%s\n%s" :: "v"(q), "v"(o), "v"(i), "v"(one), "s"(mask), "s"(p), "v"(own) : "memory"%s); }
`, name, &set, text, &store, &clobbered)
}

// Blocks of registers, at the address of a register or of a pair, with those that M0
// leaves out, which memory leaves out too.
func TestBlocksOfRegisters(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O2", blockAsm("loads", `global_load_block v[40:71], %0, off offset:8\ns_wait_loadcnt 0`)+
		blockAsm("based", `global_load_block v[40:71], %2, %5\ns_wait_loadcnt 0`)+
		blockAsm("stores", `global_store_block %0, v[40:71], off`)+
		blockAsm("own", `scratch_store_block %6, v[40:71], off offset:4\nv_mov_b32 v40, 7\nv_mov_b32 v71, 8\nscratch_load_block v[40:71], %6, off offset:4\ns_mov_b32 m0, 8\nscratch_load_block v[40:71], %6, off offset:4\ns_wait_loadcnt 0`)+
		blockAsm("early", `global_load_block v[40:71], %0, off\nv_mov_b32 %2, v45\ns_wait_loadcnt 0`)+
		blockAsm("far", `global_load_block v[40:71], %0, off offset:72\ns_wait_loadcnt 0`)+
		blockAsm("outside", `v_mov_b32 %6, 0x10000\nscratch_load_block v[40:71], %6, off\ns_wait_loadcnt 0`)+
		blockAsm("spare", `global_load_block v[40:71], %0, off\nv_mov_b32 %2, v46\nglobal_store_block %0, v[41:72], off\ns_wait_loadcnt 0`))
	const mask, size = 0x80000125, 32 * 32 * 4
	in := func(n int) bool { return mask>>n&1 != 0 }
	for _, c := range []struct {
		kernel string
		check  Check
		fails  string
		want   func(lane, n int) uint32 // of registers
		memory func(lane, n int) uint32
	}{
		{"loads", CheckWait | CheckRace, "", func(lane, n int) uint32 { return uint32(5000 + 32*lane + n + 2) }, nil},
		{"based", CheckWait, "", func(lane, n int) uint32 { return uint32(5000 + 32*lane + n) }, nil},
		{"stores", CheckWait, "", nil, func(lane, n int) uint32 { return uint32(1000*lane + n) }},
		{"own", CheckWait, "", func(lane, n int) uint32 {
			return uint32(1000*lane + n)
		}, nil},
		{"far", 0, "load of 4 bytes", nil, nil},
		{"outside", 0, "private bytes", nil, nil},
		{"early", CheckWait, "v[40:71] is still being loaded", nil, nil},
		{"spare", CheckWait, "", func(lane, n int) uint32 { return uint32(5000 + 32*lane + n) }, nil},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			pp, p := alloc(t, m, size+64)
			po, out := alloc(t, m, size)
			for i := range len(p) / 4 {
				putWord(p, i, uint32(5000+i))
			}
			before := slices.Clone(p)
			run := uint32(mask)
			_, err := m.Launch(t.Context(), c.kernel, Dim3{1, 1, 1}, Dim3{32, 1, 1}, [][]byte{u64arg(uint64(pp)), u64arg(uint64(po)), u32arg(run)}, Options{Check: c.check, Count: true})
			if c.fails != "" {
				if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Fatalf("%v, want %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for lane := range 32 {
				for n := range 32 {
					want := uint32(1000*lane + n)
					switch {
					case c.want != nil && in(n):
						want = c.want(lane, n)
					case c.kernel == "own" && n == 3: // what lies between is not stored
						want = map[int]uint32{0: 77}[lane%2]
					}
					if got := load32(out, uint64(4*(32*lane+n))); got != want {
						t.Fatalf("lane %d, v%d: %d, want %d", lane, 40+n, got, want)
					}
					want = load32(before, uint64(4*(32*lane+n)))
					if c.memory != nil && in(n) {
						want = c.memory(lane, n)
					}
					if got := load32(p, uint64(4*(32*lane+n))); c.kernel != "spare" && got != want {
						t.Fatalf("lane %d, word %d of memory: %d, want %d", lane, n, got, want)
					}
				}
			}
		})
	}
}

// What a block stores counts as written, and what it leaves out does not.
func TestBlocksOfWhatNobodyWrote(t *testing.T) {
	m := loadHIP(t, "gfx1201", "-O2", blockAsm("stores", `global_store_block %0, v[40:71], off`)+blockAsm("loads", `global_load_block v[40:71], %0, off\ns_wait_loadcnt 0`)+`
KERNEL plain(u32 *p, u32 *out, u32 n) { out[TID] = p[32 * TID + n]; }`)
	p, err := m.dev.Alloc(32 * 32 * 4)
	if err != nil {
		t.Fatal(err)
	}
	po, _ := alloc(t, m, 32*32*4)
	for _, c := range []struct {
		kernel string
		mask   uint32
		fails  string
	}{{"loads", 0x80000125, "nobody has written"}, {"stores", 0x80000125, ""}, {"loads", 0x80000125, ""}, {"loads", 0x80000121, ""}, {"loads", 0x80000127, "nobody has written"}, {"plain", 0, ""}, {"plain", 8, ""}, {"plain", 1, "nobody has written"}, {"stores", 2, ""}, {"loads", 0x80000127, ""}} {
		_, err := m.Launch(t.Context(), c.kernel, Dim3{1, 1, 1}, Dim3{32, 1, 1}, [][]byte{u64arg(uint64(p)), u64arg(uint64(po)), u32arg(c.mask)}, Options{Check: CheckInit})
		if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
			t.Fatalf("%s with 0x%x: %v, want %q", c.kernel, c.mask, err, c.fails)
		}
	}
}

// Functions that keep their callers' registers with block-vgpr-csr, as clang compiles them.
func TestSavedRegistersInBlocks(t *testing.T) {
	const source = `
#define DEVICE __attribute__((device, noinline)) u32
DEVICE leaf(u32 x) { asm volatile("v_xor_b32 v41, 5, v41\nv_mov_b32 v43, 9\nv_mov_b32 v59, 0" ::: "v41", "v43", "v59"); return x * 3 + 1; }
DEVICE middle(const u32 *p, u32 n) { u32 t[24], s = 0;
#pragma unroll
  for (u32 i = 0; i < 24; i++) t[i] = p[i] * (i + 1);
  for (u32 i = 0; i < n; i++) s = leaf(s + i);
#pragma unroll
  for (u32 i = 0; i < 24; i++) s = s * 31 + t[i];
  return s; }
KERNEL saves(const u32 *p, u32 *out, u32 n) { u32 t[20], i = TID;
#pragma unroll
  for (u32 j = 0; j < 20; j++) t[j] = p[i + j] + j;
  u32 s = middle(p + i, n);
#pragma unroll
  for (u32 j = 0; j < 20; j++) s = s * 17 + t[j];
  out[i] = s; }
`
	for _, flags := range [][]string{nil, {"-mwavefrontsize64"}} {
		m := loadHIP(t, "gfx1201", "-O2", source, append(flags, "-Xclang", "-target-feature", "-Xclang", "+block-vgpr-csr")...)
		blocks := 0
		for _, p := range m.programs {
			if p == nil {
				continue
			}
			for n := range p.code {
				if inst := p.code[n].inst; inst != nil && p.code[n].op != nil && isBlock(inst.Name()) {
					blocks++
				}
			}
		}
		if blocks < 4 {
			t.Fatalf("clang made %d blocks", blocks)
		}
		pp, p := alloc(t, m, 4*128)
		po, out := alloc(t, m, 4*64)
		for i := range 128 {
			putWord(p, i, uint32(i*i+3))
		}
		if _, err := m.Launch(t.Context(), "saves", Dim3{1, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(pp)), u64arg(uint64(po)), u32arg(5)}, Options{Check: CheckInit | CheckWait, Count: true}); err != nil {
			t.Fatal(err)
		}
		for i := range uint32(64) {
			word := func(at uint32) uint32 { return at*at + 3 }
			var s uint32
			for k := range uint32(5) {
				s = (s+k)*3 + 1
			}
			for k := range uint32(24) {
				s = s*31 + word(i+k)*(k+1)
			}
			for k := range uint32(20) {
				s = s*17 + word(i+k) + k
			}
			if got := load32(out, uint64(4*i)); got != s {
				t.Fatalf("%v: %d: %d, want %d", flags, i, got, s)
			}
		}
	}
}
