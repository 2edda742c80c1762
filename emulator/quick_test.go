package emulator

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/emulator/isa"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// forms are operands to try each mnemonic with; what the assembler does not take
// is left out.
func forms(name string) (list []string) {
	operands := []string{
		"v1, v2", "v1, a2", "a1, v2", "a1, a2", "v1, s4", "v1, 0x12345678", "v1, -v2", "v1, |v2|", "v1, -|s4|",
		"v1, v2, v3", "v1, s4, v3", "v1, 1.0, v3", "v1, -7, v3", "v1, v1, v3", "v3, v2, v3", "v1, -v2, |v3|", "v1, v2, s5", "v1, -|v1|, v1", "v1, 0x12345678, v3",
		"v1, v2, v3, v4", "v1, v1, s4, v4", "v4, v2, 7, v4", "v1, -v2, |v3|, -v4", "v1, s4, v3, -1.0", "v1, v2, 0x3f800001, v3", "v1, v2, v3, 0x3f800001",
		"v1, vcc, v2, v3", "v1, s[10:11], v2, v3", "v2, vcc, s4, v2", "v1, vcc, v2, v3, vcc", "v1, s[10:11], s4, v3, s[6:7]", "v3, vcc, 5, v3, vcc",
		"v[6:7], s[10:11], v2, v3, v[4:5]", "v[4:5], vcc, v2, s4, v[4:5]", "v[6:7], vcc, v2, 9, 0", "v[6:7], vcc, v2, s4, s[4:5]",
		"v[6:7], v[2:3]", "v[6:7], s[4:5]", "v[6:7], -1.0", "v[2:3], -v[2:3]", "v[6:7], |s[4:5]|", "v[6:7], v2", "v[6:7], -v2", "v[6:7], s4", "v1, v[2:3]", "v1, -v[2:3]", "v1, s[4:5]",
		"v[6:7], v[2:3], v4", "v[6:7], -v[2:3], 3", "v[2:3], s[4:5], s4", "v[6:7], v[2:3], v[4:5]", "v[2:3], s[4:5], v[2:3]", "v[6:7], -v[2:3], |v[4:5]|", "v[6:7], 0.5, v[4:5]", "v[6:7], v[2:3], s[4:5]",
		"v[6:7], v2, v[4:5]", "v[4:5], 3, v[4:5]", "v[6:7], s4, v[4:5]", "v[6:7], v2, 1.0", "v[2:3], v2, s[4:5]",
		"v[6:7], v[2:3], v[4:5], v[0:1]", "v[2:3], -v[2:3], v[4:5], -v[6:7]", "v[6:7], s[4:5], v[4:5], 1.0", "v[6:7], v[2:3], -|v[4:5]|, v[6:7]",
		"v[6:7], v[2:3], 2, v[4:5]", "v[4:5], s[4:5], v1, v[4:5]", "v[6:7], v[2:3], s4, -1",
		"vcc, v2, v3", "vcc, s4, v3", "vcc, 1.0, v3", "s[10:11], v2, s5", "s[10:11], -v2, |v3|", "vcc, v[2:3], v[4:5]", "vcc, s[4:5], v[4:5]", "s[10:11], -v[2:3], |v[4:5]|", "s[10:11], v[2:3], -1",
		"v1, v2, v3, vcc", "v1, 0, v3, vcc", "v1, v2, v3, 0x3c01", "v1, v2, 0x3c01, v3", "v1, 0, 1.0, s[10:11]", "v2, s4, v2, vcc",
	}
	if strings.HasPrefix(name, "v_pk_") {
		operands = nil
		for _, s := range []string{"v[6:7], v[2:3], v[4:5]", "v[2:3], v[2:3], v[4:5]", "v[6:7], s[4:5], v[4:5]", "v[6:7], v[2:3], 1.0", "v6, v2, v4", "v2, v2, s4", "v4, v2, 1.0"} {
			for _, tail := range []string{"", " op_sel:[1,0]", " op_sel:[1,0] op_sel_hi:[0,1]", " op_sel_hi:[0,0]", " neg_lo:[1,0] neg_hi:[0,1]"} {
				operands = append(operands, s+tail, s+", v[0:1]"+strings.ReplaceAll(tail, "]", ",0]"), s+", v0"+strings.ReplaceAll(tail, "]", ",0]"), s+", v4"+strings.ReplaceAll(tail, "]", ",1]"), s+", v[4:5]"+strings.ReplaceAll(tail, "]", ",1]"))
			}
		}
	}
	for _, o := range []string{"v1, v2", "v1, v1", "v1, -v2", "v1, v2, v3", "v2, v2, v3", "v1, |v2|, -v3"} {
		for _, lanes := range []string{"quad_perm:[3,0,2,1]", "row_shl:3", "row_shr:1", "row_ror:5", "wave_shl:1", "wave_rol:1", "wave_shr:1", "wave_ror:1", "row_mirror", "row_half_mirror", "row_bcast:15", "row_bcast:31", "row_newbcast:5", "row_share:9", "row_xmask:6"} {
			for _, tail := range []string{" row_mask:0xf bank_mask:0xf", " row_mask:0xf bank_mask:0xf bound_ctrl:0", " row_mask:0xa bank_mask:0xf", " row_mask:0xf bank_mask:0x3 bound_ctrl:0"} {
				if name == "v_mov_b32" || name == "v_add_f32" || name == "v_fmac_f32" || name == "v_lshlrev_b32" || name == "v_cmp_lt_f32" || name == "v_cmpx_ge_u32" {
					list = append(list, name+" "+o+" "+lanes+tail, name+"_dpp "+o+" "+lanes+tail+" fi:1")
				}
			}
		}
		for _, tail := range []string{"", " fi:1"} {
			list = append(list, name+"_dpp "+o+" dpp8:[7,0,2,1,5,5,3,6]"+tail)
		}
	}
	if strings.HasSuffix(name, "16") || strings.HasPrefix(name, "v_cvt_f32_f16") { // halves of registers
		for _, o := range []string{"v1.h, v2.l", "v1.l, v2.h", "v1.h, -v2.h", "v1, v2.h", "v1.h, v2", "v1.l, s4", "v1.h, v2.l, v3.h", "v1.l, v1.h, v3.l", "v1.h, v1.h, v1.l", "v1.l, -v2.h, |v3.l|", "v1.h, s4, v3.h", "v2.h, 1.0, v2.h",
			"v1.l, v2.h, v3.l, v4.h", "v1.h, v1.l, -v1.h, |v1.h|", "v4.h, s4, v3.l, v4.h", "v1.l, v2.l, 0x3c01, v3.l", "v1.l, v2.l, v3.l, 0x3c01"} {
			list = append(list, name+" "+o, name+"_e64 "+o)
		}
		for _, o := range []string{"v1, v2 op_sel:[1,0]", "v1, v2 op_sel:[0,1]", "v1, v2, v3 op_sel:[1,0,0]", "v1, v2, v3 op_sel:[0,1,1]", "v1, v1, -s4 op_sel:[1,1,1]", "v1, v2, v3, v1 op_sel:[1,0,1,0]", "v1, v2, v3, v1 op_sel:[0,1,0,1]"} {
			list = append(list, name+"_e64 "+o)
		}
	}
	for _, o := range operands {
		list = append(list, name+" "+o)
		if strings.HasPrefix(name, "v_cmp") {
			list = append(list, name+"_e64 "+o)
		}
	}
	return list
}

// assembled returns the instructions among the lines that the assembler knows.
func assembled(t *testing.T, arch string, lines []string) map[string]*instr {
	t.Helper()
	dec, err := isa.NewDecoder(arch)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), llvmtest.Tool(t, "llvm-mc"), "--triple=amdgcn-amd-amdhsa", "--mcpu="+arch, "--show-encoding")
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	out, _ := cmd.Output() // most of the lines are nonsense
	list := map[string]*instr{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		text, code, ok := strings.Cut(sc.Text(), "; encoding: [")
		if !ok {
			continue
		}
		raw, err := hex.DecodeString(strings.NewReplacer("0x", "", ",", "", "]", "").Replace(strings.TrimSpace(code)))
		if err != nil {
			t.Fatalf("%s: %v", sc.Text(), err)
		}
		inst, err := dec.Decode(append(raw, 0, 0, 0, 0, 0, 0, 0, 0))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		i := &instr{inst: &inst, size: inst.Size / 4}
		resolve(i, 0)
		list[strings.TrimSpace(text)] = i
	}
	return list
}

// slow returns the instruction without its quick way.
func slow(i *instr) *instr {
	other := &instr{inst: i.inst, size: i.size}
	resolve(other, 0)
	op := *other.op
	op.quick = nil
	op.moved = nil
	other.op = &op
	other.bind()
	return other
}

// hurries reports an instruction that has a quicker way.
func (i *instr) hurries() bool {
	if i.inst.Generation() > 9 && (i.inst.IsDPP() || i.inst.IsDPP8()) {
		return i.quickMoved() != nil || i.inner.op.quick != nil && i.inner.op.quick(i.inner) != nil
	}
	return i.op.quick != nil && i.op.quick(i) != nil
}

// numbers are those with which operations go wrong.
var numbers = []uint32{0, 1 << 31, 1, 0x80000001, 0x7fffff, 0x800000, 0x80800000, 0x3f800000, 0xbf800000, 0x3f000000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7fa00001,
	0x4effffff, 0x4f000000, 0xcf000000, 0x4f7fffff, 0x4f800000, 0x4b800001, 31, 32, 63, 64, 0xffff, 0xffffff, 0x7fffffff, ^uint32(0), 0x3ff00000, 0x7ff00000, 0xfff80000, 0x40000000, 0x33800000, 0x00400000}

func randomWord(rng *rand.Rand) uint32 {
	switch rng.IntN(5) {
	case 0:
		return numbers[rng.IntN(len(numbers))]
	case 1:
		return u32(float32(rng.NormFloat64() * 1000))
	case 2:
		return rng.Uint32N(70)
	case 3:
		return uint32(toHalf(rng.NormFloat64()*100)) | uint32(toHalf(rng.NormFloat64()/1e4))<<16
	}
	return rng.Uint32()
}

func randomMask(rng *rand.Rand) uint64 {
	switch rng.IntN(6) {
	case 0, 1:
		return allLanes
	case 2:
		return lowLanes
	case 3:
		return uint64(rng.Uint32())
	case 4:
		return 0
	}
	return rng.Uint64()
}

// randomWave is a wave with anything in its registers.
func randomWave(rng *rand.Rand, l *launch, v *[vregs]vec) *wave {
	w := &wave{v: v, mode: modeUsual, group: &group{launch: l}, size: lanes}
	for r := range w.s {
		w.s[r] = randomWord(rng)
	}
	for _, r := range []uint16{4, 6, 8, 10, isa.VCC} {
		if rng.IntN(2) == 0 {
			w.setPair(r, randomMask(rng))
		}
	}
	for r := range 16 {
		for l := range w.v[r] {
			w.v[r][l] = randomWord(rng)
		}
	}
	w.setPair(isa.Exec, randomMask(rng))
	return w
}

// copied is the wave with registers of its own, of which only the first sixteen count.
func (w *wave) copied(v *[vregs]vec) *wave {
	c := *w
	c.v = v
	copy(v[:16], w.v[:16])
	return &c
}

// alike compares results; of two that are NaN what they carry does not count, for
// Go does not say which source's a sum has.
func alike(i *instr, a, b *[vregs]vec, r, l int) bool {
	x, y := a[r][l], b[r][l]
	if x == y {
		return true
	}
	nan := func(v uint32) bool { return v&0x7f800000 == 0x7f800000 && v<<9 != 0 }
	first := int(i.dst)
	if resultFloat(i.inst.Name(), i.op.float) == 64 {
		d := func(v *[vregs]vec) float64 { return f64(uint64(v[first][l]) | uint64(v[first+1][l])<<32) }
		return (r == first || r == first+1) && d(a) != d(a) && d(b) != d(b)
	}
	if resultFloat(i.inst.Name(), i.op.float) == 16 {
		same := func(x, y uint16) bool { return x == y || fromHalf(x) != fromHalf(x) && fromHalf(y) != fromHalf(y) }
		return r == first && same(uint16(x), uint16(y)) && same(uint16(x>>16), uint16(y>>16))
	}
	return resultFloat(i.inst.Name(), i.op.float) == 32 && (r == first || i.width == 2 && r == first+1) && nan(x) && nan(y)
}

// Whatever runs in a quicker way has the same result: all operations with one,
// with all kinds of operands, masks and numbers.
func TestQuick(t *testing.T) {
	tried, registers := map[string]bool{}, new([3][vregs]vec)
	rng := rand.New(rand.NewPCG(1, 2))
	waves := 6
	if testing.Short() {
		waves = 2
	}
	// What waves of 32 lanes call otherwise, and their masks of one register.
	narrow := strings.NewReplacer("vcc", "vcc_lo", "s[10:11]", "s10", "s[6:7]", "s6",
		"v_addc_co_", "v_add_co_ci_", "v_subb_co_", "v_sub_co_ci_", "v_subbrev_co_", "v_subrev_co_ci_")
	for _, arch := range []string{"gfx900", "gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		small := arch >= "gfx10" && arch < "gfx9"
		var lines []string
		for name, op := range operations() {
			if op.quick != nil && strings.HasPrefix(name, "v_") {
				lines = append(lines, forms(name)...)
			}
		}
		if small {
			for _, l := range lines {
				if other := narrow.Replace(l); other != l {
					lines = append(lines, other)
				}
			}
		}
		for text, i := range assembled(t, arch, lines) {
			if i.op == nil || !i.hurries() {
				continue
			}
			tried[i.inst.Name()] = true
			plain := slow(i)
			for range waves {
				w := randomWave(rng, nil, &registers[0])
				if small {
					w.small, w.size = true, lanes/2
					w.setPair(isa.Exec, w.exec()&lowLanes)
				}
				a, b := w.copied(&registers[1]), w.copied(&registers[2])
				i.run(a, i)
				plain.run(b, plain)
				if a.s != b.s || a.scc != b.scc {
					for r := range a.s {
						if a.s[r] != b.s[r] {
							t.Errorf("%s %s: s%d is 0x%x, want 0x%x", arch, text, r, a.s[r], b.s[r])
						}
					}
				}
				bad := 0
				for r := range 16 {
					for l := range lanes {
						if !alike(i, a.v, b.v, r, l) && bad < 3 {
							bad++
							t.Errorf("%s %s: v%d of lane %d is 0x%x, want 0x%x; exec 0x%x, before: %x %x %x %x %x %x %x", arch, text, r, l, a.v[r][l], b.v[r][l], w.exec(),
								w.v[1][l], w.v[2][l], w.v[3][l], w.v[4][l], w.v[5][l], w.v[6][l], w.v[7][l])
						}
					}
				}
				if t.Failed() {
					return
				}
			}
		}
	}
	for name, op := range operations() {
		if op.quick != nil && strings.HasPrefix(name, "v_") && !tried[name] {
			t.Errorf("%s was not tried", name)
		}
	}
}

// Loads and stores too: where all lanes lie in memory, where some do not, and
// where they are not aligned.
func TestQuickMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var lines []string
	for name := range accesses("load_", "store_") {
		for _, o := range []string{"v[8:9], v[2:3], off", "v[8:9], v[2:3], off offset:16", "v8, v[2:3], off", "v[8:11], v[2:3], off", "v[8:10], v[2:3], off offset:-8", "v[2:3], v[2:3], off",
			"v8, v4, s[4:5]", "v[8:11], v4, s[4:5] offset:4", "v[8:10], v4, s[4:5]", "v[8:9], v4, s[4:5]"} {
			d, rest, _ := strings.Cut(o, ", ")
			lines = append(lines, "global_"+name+" "+o)
			addr, tail, _ := strings.Cut(rest, ", ")
			lines = append(lines, "global_"+name+" "+addr+", "+d+", "+tail, "flat_"+name+" "+d+", v[2:3]", "flat_"+name+" v[2:3], "+d)
		}
	}
	for name, a := range pairAccesses() {
		for _, o := range []string{"v4, v8, v9", "v4, v4, v8", "v4, v[8:9], v[10:11]", "v4, v[2:3], v[2:3]", "v[8:9], v4", "v[8:11], v4", "v[4:5], v4", "v[2:5], v4"} {
			if a.store == strings.HasPrefix(o, "v4,") {
				lines = append(lines, name+" "+o+" offset0:3", name+" "+o+" offset1:7", name+" "+o+" offset0:255 offset1:1")
			}
		}
	}
	for name := range localAccesses() {
		for _, d := range []string{"v8", "v[8:9]", "v[8:10]", "v[8:11]"} {
			for _, tail := range []string{"", " offset:4", " offset:65532"} {
				lines = append(lines, name+" "+d+", v4"+tail, name+" v4, "+d+tail)
			}
		}
	}
	for _, arch := range []string{"gfx942", "gfx1030", "gfx1100", "gfx1201"} {
		quickMemory(t, rng, arch, lines)
	}
}

func quickMemory(t *testing.T, rng *rand.Rand, arch string, lines []string) {
	registers := new([3][vregs]vec)
	dev, err := NewDevice(arch)
	if err != nil {
		t.Fatal(err)
	}
	l := &launch{kernel: &codeobj.LoadedKernel{Kernel: &codeobj.Kernel{}}, module: &Module{dev: dev, programs: [2]*program{{}}}, program: &program{}}
	quick, all := 0, assembled(t, arch, lines)
	for text, i := range all {
		if i.hurries() {
			quick++
		}
		plain := slow(i)
		for n := range 30 {
			var mem memory
			var list [2]*region
			for k := range list {
				r, err := mem.alloc(1<<12, "memory", k == 0 || n%5 > 0)
				if err != nil {
					t.Fatal(err)
				}
				for b := range r.data {
					r.data[b] = byte(rng.Uint32())
				}
				list[k] = r
			}
			w := randomWave(rng, l, &registers[0])
			w.mem, w.tmp = &mem, [8]vec{}
			w.group.size, w.group.lds = 1<<12, make([]byte, 1<<12+8)
			for b := range w.group.lds {
				w.group.lds[b] = byte(rng.Uint32())
			}
			if arch != "gfx942" && n%2 == 0 {
				w.small, w.size = true, lanes/2
				w.setPair(isa.Exec, w.exec()&lowLanes)
			}
			r := list[rng.IntN(2)]
			w.setPair(4, r.base+16)
			step, room := uint64(4*rng.IntN(5)), r.size-64
			for l := range uint64(lanes) {
				off := 16 + step*l
				switch n % 6 {
				case 1:
					off = uint64(rng.Uint32N(uint32(room))) &^ 3
				case 2:
					if l == 40 {
						off = uint64(rng.Uint32N(1 << 13))
					}
				case 3:
					off += 1
				case 4:
					off = r.size - 16 - 4*l
				}
				w.v[2][l], w.v[3][l], w.v[4][l] = uint32(r.base+off), uint32((r.base+off)>>32), uint32(off)
			}
			if n%3 == 0 {
				w.last = list[0]
			}
			type result struct {
				wave   *wave
				memory [2]string
				lds    string
			}
			var got [2]result
			before := [3][]byte{bytes.Clone(list[0].data), bytes.Clone(list[1].data), bytes.Clone(w.group.lds)}
			for k, j := range []*instr{i, plain} {
				copy(list[0].data, before[0])
				copy(list[1].data, before[1])
				copy(w.group.lds, before[2])
				c := w.copied(&registers[k+1])
				j.run(c, j)
				got[k] = result{c, [2]string{string(list[0].data), string(list[1].data)}, string(c.group.lds)}
			}
			a, b := got[0], got[1]
			switch {
			case a.memory != b.memory || a.lds != b.lds:
				t.Errorf("%s %s: other memory than the long way leaves", arch, text)
			case [16]vec(a.wave.v[:16]) != [16]vec(b.wave.v[:16]):
				t.Errorf("%s %s: other registers than the long way leaves, exec 0x%x", arch, text, w.exec())
			case a.wave.state != b.wave.state || a.wave.fault != nil && a.wave.fault.Error() != b.wave.fault.Error():
				t.Errorf("%s %s: %v, want %v", arch, text, a.wave.fault, b.wave.fault)
			}
			if t.Failed() {
				return
			}
		}
	}
	if quick < 80 || len(all) < 160 {
		t.Errorf("%s: %d instructions, %d of them quick", arch, len(all), quick)
	}
}
