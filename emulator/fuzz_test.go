package emulator

import (
	"os"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// A kernel whose descriptor and code are anything at all ends, with an error or
// without; the emulator goes on.
func FuzzLaunch(f *testing.F) {
	type object struct {
		data             []byte
		descriptor, code uint64 // offsets
	}
	objects := map[string]object{}
	targets := []string{"gfx900", "gfx90a", "gfx950"}
	for n, target := range targets {
		data, err := os.ReadFile(llvmtest.HIP(f, prelude+"KERNEL k(u32 *p) { __shared__ u32 t[64]; t[TID] = p[TID]; SYNC; p[TID] = t[63 - TID] * p[64]; }", target))
		if err != nil {
			f.Fatal(err)
		}
		obj, err := codeobj.Parse(data)
		if err != nil {
			f.Fatal(err)
		}
		k, ok := obj.Kernel("k")
		if !ok {
			f.Fatal("no kernel")
		}
		o := object{data: data}
		for _, s := range obj.Segments {
			if s.Type == codeobj.SegmentLoad && k.DescriptorAddr-s.Addr < uint64(len(s.Data)) {
				o.descriptor = s.Offset + k.DescriptorAddr - s.Addr
			}
			if s.Type == codeobj.SegmentLoad && k.Entry-s.Addr < uint64(len(s.Data)) {
				o.code = s.Offset + k.Entry - s.Addr
			}
		}
		objects[target] = o
		f.Add(uint8(n), data[o.descriptor:o.descriptor+codeobj.DescriptorSize], data[o.code:o.code+128])
		f.Add(uint8(n), data[o.descriptor:o.descriptor+codeobj.DescriptorSize], []byte{0, 0, 0xac, 0xd3, 0x18, 0x33, 0x02, 0, 0, 8, 0xad, 0xd3, 4, 0x19, 0x52, 4, 0, 0, 0x81, 0xbf})
	}
	f.Fuzz(func(t *testing.T, target uint8, descriptor, code []byte) {
		name := targets[int(target)%len(targets)]
		o := objects[name]
		data := append([]byte(nil), o.data...)
		if len(descriptor) == codeobj.DescriptorSize {
			copy(data[o.descriptor:], descriptor[:16]) // where the code begins stays
			copy(data[o.descriptor+24:], descriptor[24:])
		}
		if len(code) > 256 {
			code = code[:256]
		}
		copy(data[o.code:], code)
		d, err := NewDevice(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.Load(data)
		if err != nil {
			return
		}
		if k, ok := m.obj.Kernel("k"); !ok || k.Descriptor.PrivateSegmentFixedSize > 1<<14 {
			return // it would be most of the time
		}
		p, err := d.Alloc(1024)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = m.Launch(t.Context(), "k", Dim3{2, 1, 1}, Dim3{64, 1, 1}, [][]byte{u64arg(uint64(p))},
			Options{Budget: 2000, Deterministic: true, Check: CheckRace | CheckInit | CheckWait, Count: true}) // only its panics count
	})
}

// A code object that is damaged anywhere is loaded or refused: its tables, notes,
// relocations and segments.
func FuzzLoad(f *testing.F) {
	var objects [][]byte
	for _, flags := range [][]string{nil, {"-Xoffload-linker", "--pack-dyn-relocs=relr"}} {
		data, err := os.ReadFile(llvmtest.HIP(f, prelude+relocatedSource, "gfx942", flags...))
		if err != nil {
			f.Fatal(err)
		}
		obj, err := codeobj.Parse(data)
		if err != nil {
			f.Fatal(err)
		}
		n := len(objects)
		objects = append(objects, data)
		for _, s := range obj.Sections {
			f.Add(uint8(n), uint32(s.Offset), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
			f.Add(uint8(n), uint32(s.Offset+8), []byte{9, 0, 0, 0, 1, 0, 0, 0})
		}
		for at := uint32(64); at < 64+9*56; at += 8 { // the program headers
			f.Add(uint8(n), at, []byte{0, 0, 0, 0x30, 0, 0, 0, 0})
			f.Add(uint8(n), at, []byte{7})
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, at uint32, change []byte) {
		data := append([]byte(nil), objects[int(n)%len(objects)]...)
		if uint64(at) >= uint64(len(data)) {
			return
		}
		copy(data[at:], change)
		d, err := NewDevice("gfx942")
		if err != nil {
			t.Fatal(err)
		}
		if m, err := d.Load(data); err == nil && m == nil {
			t.Error("neither a module nor an error")
		}
	})
}
