package audit

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// Damaged files have findings of their own, and nothing is done to them.
func macDamagedMachO(t *testing.T, b bundle) {
	whole := []byte(b.read("lib/libdeep.1.2.3.dylib"))
	f, err := macho.Parse(whole)
	b.must(err)
	sig, err := f.Images[0].Signature()
	b.must(err)
	// What is expected of each: a rule, or any error for "".
	want := map[string]string{}
	add := func(name, rule string, content []byte) {
		want[name] = rule
		b.write(name, 0o444, string(content))
	}
	for k := 1; k < 64; k++ {
		add(fmt.Sprintf("lib/cut%02d.dylib", k), ruleMachODamaged, whole[:len(whole)*k/64])
	}
	random := rand.New(rand.NewPCG(4, 14))
	for k := range 200 {
		// Before the signature, every bit is signed; a file without the magic is none.
		at := 4 + random.IntN(int(sig.Offset)-4)
		image := slices.Clone(whole)
		image[at] ^= 1 << random.IntN(8)
		add(fmt.Sprintf("lib/flip%06x.%d.dylib", at, k), "", image)
	}
	for k := range int(sig.Length) {
		image := slices.Clone(whole)
		image[int(sig.Offset)+k] ^= 0x10
		b.write(fmt.Sprintf("lib/signature%04d.dylib", k), 0o444, string(image))
	}
	command := func(name string, change func(image []byte)) {
		image := slices.Clone(whole)
		change(image)
		add(name, ruleMachODamaged, image)
	}
	command("lib/command4g.dylib", func(image []byte) { word(image, 32+4, 0xfffffff8) })
	command("lib/command0.dylib", func(image []byte) { word(image, 32+4, 0) })
	command("lib/commandsover.dylib", func(image []byte) { word(image, 32+4, uint32(f.Images[0].CommandsSize)-8) })
	command("lib/manycommands.dylib", func(image []byte) { word(image, 16, 0xffffffff) })
	command("lib/commands4g.dylib", func(image []byte) { word(image, 20, 0xfffffff8) })
	command("lib/section4g.dylib", func(image []byte) { binary.LittleEndian.PutUint64(image[32+72+40:], 4<<30) })
	fat := func(inner []byte, slices uint32, offset, size uint32) []byte {
		head := binary.BigEndian.AppendUint32(nil, 0xcafebabe)
		for _, v := range []uint32{slices, uint32(macho.CPUARM64), 0, offset, size, 14} {
			head = binary.BigEndian.AppendUint32(head, v)
		}
		return append(append(head, make([]byte, 0x4000-len(head))...), inner...)
	}
	size := uint32(len(whole))
	add("lib/nested.dylib", ruleMachODamaged, fat(fat(whole, 1, 0x4000, size), 1, 0x4000, size+0x4000))
	add("lib/slice4g.dylib", ruleMachODamaged, fat(whole, 1, 0x4000, 0xffffffff))
	add("lib/sliceself.dylib", ruleMachODamaged, fat(whole, 1, 0, size))
	add("lib/noslices.dylib", ruleMachODamaged, fat(whole, 0, 0x4000, size))
	add("lib/manyslices.dylib", ruleMachODamaged, fat(whole, 39, 0x4000, size))
	before := map[string]string{}
	for name := range want {
		before[name] = b.read(name)
	}

	r := b.auditMac(nil)
	got := map[string][]string{}
	for _, f := range r.Findings {
		if f.Severity == Error && !strings.HasPrefix(f.Rule, "macho-id") {
			got[f.File] = append(got[f.File], f.Rule)
		}
	}
	for name, rule := range want {
		if rules := got[name]; len(rules) == 0 || rule != "" && !slices.Equal(rules, []string{rule}) {
			t.Errorf("%s: %v, want %q", name, rules, rule)
		}
		if b.read(name) != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestDamagedELF(t *testing.T) {
	b := good(t)
	whole := b.read("lib/libgreet.so.1.0")
	random := rand.New(rand.NewPCG(4, 14))
	for k := 1; k < 64; k++ {
		b.write(fmt.Sprintf("lib/cut%02d.so", k), 0o755, whole[:len(whole)*k/64])
		image := []byte(whole)
		image[random.IntN(len(image))] ^= 1 << random.IntN(8)
		b.write(fmt.Sprintf("lib/flip%02d.so", k), 0o755, string(image))
	}
	r := b.audit(func(o *Options) { o.Execute = false })
	damaged := 0
	for _, f := range r.Findings {
		if f.Rule == ruleELFDamaged && strings.HasPrefix(f.File, "lib/cut") {
			damaged++
		}
	}
	if damaged != 63 {
		t.Errorf("%d of 63 truncated files are found damaged", damaged)
	}
}
