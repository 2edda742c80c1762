package isa

import (
	"encoding/binary"
	"strings"
	"testing"
)

// What has another name on RDNA is the same operation; the names that are listed
// one by one are of the tables, on both sides.
func TestRenamedOperationsAreShared(t *testing.T) {
	tab, err := load()
	if err != nil {
		t.Fatal(err)
	}
	mnemonics := map[string]bool{}
	tab.all(func(r *row) { mnemonics[bare(r.mnemonic)] = true })
	for _, line := range strings.Split(strings.TrimSpace(renamings), "\n") {
		fresh, before, _ := strings.Cut(line, " ")
		if !mnemonics[fresh] || !mnemonics[before] {
			t.Errorf("%s: in the tables: %v, %v", line, mnemonics[fresh], mnemonics[before])
		}
	}
	for fresh, before := range renamed() {
		if mnemonics[fresh] && !mnemonics[before] {
			t.Errorf("%s was never called %s", fresh, before)
		}
		if mnemonics[fresh] && tab.ops[before] == 0 {
			t.Errorf("%s has no operation", before)
		}
	}
}

// An instruction of two operations decodes to both, each as if alone; the mask
// that v_cndmask reads is there although it is not written; and masks are as wide
// as the wave.
func TestOperandsOfRDNA(t *testing.T) {
	decode := func(processor string, wave64 bool, words ...uint32) Inst {
		t.Helper()
		d, err := newDecoder(processor, wave64)
		if err != nil {
			t.Fatal(err)
		}
		var code []byte
		for _, w := range words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		i, err := d.Decode(code)
		if err != nil {
			t.Fatalf("%x: %v", words, err)
		}
		return i
	}
	names, err := Ops()
	if err != nil {
		t.Fatal(err)
	}
	i := decode("gfx1100", false, 0xc9060702, 0x01020b04)
	if want := "v_dual_add_f32 v1, v2, v3 :: v_dual_mul_f32 v2, v4, v5"; i.String() != want || i.Dual == nil {
		t.Fatalf("%s, want %s", &i, want)
	}
	if names[i.Op] != "v_add_f32" || names[i.Dual.Op] != "v_mul_f32" || i.Dual.Operands[0].Value&1 == i.Operands[0].Value&1 {
		t.Errorf("%s and %s: %v, %v", i.Name(), i.Dual.Name(), i.Args(), i.Dual.Args())
	}
	for _, wave64 := range []bool{false, true} {
		width := uint8(1)
		if wave64 {
			width = 2
		}
		i = decode("gfx1100", wave64, 0x7d240501) // v_cmpx_eq_f32_e32 v1, v2
		if o := i.Operands[0]; i.N != 3 || o.Kind != SGPR || o.Value != Exec || o.Width != width {
			t.Errorf("%s writes %+v", &i, o)
		}
		i = decode("gfx1030", wave64, 0x7c040501) // v_cmp_eq_f32_e32 vcc_lo, v1, v2
		if o := i.Operands[0]; o.Value != VCC || o.Width != width {
			t.Errorf("%s writes %+v", &i, o)
		}
	}
	i = decode("gfx1100", false, 0x64020782) // v_add_f16_e32 v1.l, v2.h, v3.l
	if a := i.Args(); a[0].Half != Lower || a[1].Half != Upper || a[1].Value != 2 || a[2].Half != Lower {
		t.Errorf("%s: %+v", &i, a)
	}
	i = decode("gfx1201", false, 0xee05007c, 0x00000001, 0x00001002) // global_load_b32 v1, v[2:3], off offset:16
	if i.Name() != "global_load_dword" || i.Size != 12 || i.Offset() != 16 || i.Segment() != 2 || i.Generation() != 12 {
		t.Errorf("%s is %s of %d bytes, offset %d", &i, i.Name(), i.Size, i.Offset())
	}
}
