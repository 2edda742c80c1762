package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

// chain makes an image of one data segment whose fixups are given as raw links,
// in a format that no linker here writes. Layouts: mach-o/fixup-chains.h.
func chain(t testing.TB, pointerFormat uint16, importFormat uint32, imports []byte, links map[uint64]uint64) *Image {
	t.Helper()
	le := binary.LittleEndian
	data := make([]byte, 0x4000)
	first := uint64(pageStartNone)
	for off, v := range links {
		le.PutUint64(data[off:], v)
		first = min(first, off)
	}
	names := "\x00_one\x00_two\x00"
	header := make([]byte, 32)
	starts := le.AppendUint32(nil, 2) // Segments: __TEXT without, __DATA with.
	starts = le.AppendUint32(le.AppendUint32(starts, 0), 12)
	starts = le.AppendUint32(starts, 24)
	starts = le.AppendUint16(starts, 0x4000)
	starts = le.AppendUint16(starts, pointerFormat)
	starts = le.AppendUint64(starts, 0x4000)
	starts = le.AppendUint32(starts, 0)
	starts = le.AppendUint16(starts, 1)
	starts = le.AppendUint16(starts, uint16(first))
	for len(starts)%8 != 0 {
		starts = append(starts, 0)
	}
	size := map[uint32]int{importPlain: 4, importAddend: 8, importAddend64: 16}[importFormat]
	for k, v := range []uint32{0, 32, uint32(32 + len(starts)), uint32(32 + len(starts) + len(imports)), uint32(len(imports) / size), importFormat, 0} {
		le.PutUint32(header[4*k:], v)
	}
	table := slices.Concat(header, starts, imports, []byte(names))
	b := slices.Concat(make([]byte, 0x4000), data, table)
	img := &Image{Size: int64(len(b)), src: memory(b), Segments: []Segment{
		{Name: "__TEXT", Addr: 0x1_0000_0000, Size: 0x4000, FileSize: 0x4000},
		{Name: "__DATA", Addr: 0x1_0000_4000, Size: 0x4000, Offset: 0x4000, FileSize: 0x4000},
	}}
	img.data.chained = fileRange{"chained fixups", 0x8000, uint64(len(table))}
	return img
}

func TestPointerFormats(t *testing.T) {
	le := binary.LittleEndian
	// _one of library 1, weak, and _two by flat lookup.
	plain := le.AppendUint32(le.AppendUint32(nil, 1|1<<8|1<<9), 0xfe|6<<9)
	addend := le.AppendUint32(nil, 1|1<<8|1<<9)
	addend = le.AppendUint32(addend, 0xfffffff0) // -16
	addend = le.AppendUint32(le.AppendUint32(addend, 0xfe|6<<9), 5)
	addend64 := le.AppendUint64(nil, 1|1<<16|1<<32)
	addend64 = le.AppendUint64(addend64, 1<<40)
	addend64 = le.AppendUint64(le.AppendUint64(addend64, 0xfffe|6<<32), ^uint64(0))
	const text = 0x1_0000_0000
	bind := uint64(1) << 63
	for _, c := range []struct {
		name         string
		pointer      uint16
		format       uint32
		imports      []byte
		links        map[uint64]uint64
		want, wanted string
	}{
		{"64", ptr64, importPlain, plain, map[uint64]uint64{8: bind | 4<<51 | 3<<24, 24: 0x1_0000_4010 | 0x80<<36},
			"[{Addr:4294983688 Import:0 Addend:3 Source:chained}]", fmt.Sprintf("[{Addr:%d Target:%d}]", text+0x4018, 0x80<<56|uint64(text+0x4010))},
		{"64 by offset", ptr64Offset, importAddend, addend, map[uint64]uint64{0: bind | 2<<51 | 1, 8: 0x4010},
			"[{Addr:4294983680 Import:1 Addend:5 Source:chained}]", fmt.Sprintf("[{Addr:%d Target:%d}]", text+0x4008, text+0x4010)},
		{"arm64e", ptrARM64E, importAddend, addend, map[uint64]uint64{0: 1<<62 | 2<<51 | 0x7ffff<<32, 16: 0x1_0000_4010, 8: 0},
			"[{Addr:4294983680 Import:0 Addend:-17 Source:chained}]", fmt.Sprintf("[{Addr:%d Target:%d}]", text+0x4010, text+0x4010)},
		{"arm64e, authenticated", ptrARM64EUserland, importAddend64, addend64, map[uint64]uint64{0: 1<<63 | 1<<62 | 1<<51 | 1, 8: 1<<63 | 0xabcd<<32 | 0x4020},
			"[{Addr:4294983680 Import:1 Addend:-1 Source:chained}]", fmt.Sprintf("[{Addr:%d Target:%d}]", text+0x4008, text+0x4020)},
		{"arm64e with 24 bits", ptrARM64EUserland24, importAddend64, addend64, map[uint64]uint64{0: 1<<62 | 1<<51, 8: 0x4020},
			"[{Addr:4294983680 Import:0 Addend:1099511627776 Source:chained}]", fmt.Sprintf("[{Addr:%d Target:%d}]", text+0x4008, text+0x4020)},
	} {
		f, err := chain(t, c.pointer, c.format, c.imports, c.links).Fixups()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if f.Imports[0].Name != "_one" || f.Imports[0].Ordinal != 1 || !f.Imports[0].Weak ||
			f.Imports[1].Name != "_two" || f.Imports[1].Ordinal != OrdinalFlatLookup || f.Imports[1].Weak {
			t.Errorf("%s: %+v", c.name, f.Imports)
		}
		if got := fmt.Sprintf("%+v", f.Binds); got != c.want {
			t.Errorf("%s: binds %s, want %s", c.name, got, c.want)
		}
		if got := fmt.Sprintf("%+v", f.Rebases); got != c.wanted {
			t.Errorf("%s: rebases %s, want %s", c.name, got, c.wanted)
		}
	}
	for name, c := range map[string]struct {
		img  *Image
		want error
	}{
		"a kernel's format":      {chain(t, 7, importPlain, plain, map[uint64]uint64{0: 0}), ErrUnsupported},
		"out of the page":        {chain(t, ptr64, importPlain, plain, map[uint64]uint64{0x3ff8: 0x10 | 2<<51}), nil},
		"out of the imports":     {chain(t, ptr64, importPlain, plain, map[uint64]uint64{0: bind | 2}), nil},
		"beyond the last import": {chain(t, ptrARM64E, importPlain, plain, map[uint64]uint64{0: 1<<62 | 0xffff}), nil},
	} {
		if f, err := c.img.Fixups(); err == nil || f != nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

func TestVersions(t *testing.T) {
	for s, v := range map[string]Version{"14": 0xe0000, "14.2": 0xe0200, "1.2.3": 0x10203, "65535.255.255": 0xffffffff} {
		got, err := ParseVersion(s)
		if err != nil || got != v {
			t.Errorf("%s: %#x, %v", s, uint32(got), err)
		}
		if back, err := ParseVersion(got.String()); err != nil || back != v {
			t.Errorf("%s came back as %s", s, got)
		}
	}
	for _, s := range []string{"", "14.", "1.2.3.4", "65536", "1.256", "-1", "a"} {
		if v, err := ParseVersion(s); err == nil {
			t.Errorf("%q is %v", s, v)
		}
	}
}

func TestNormalizeRpath(t *testing.T) {
	for in, want := range map[string]string{
		"@loader_path": "@loader_path", "@loader_path/": "@loader_path", "@loader_path/.": "@loader_path", "@loader_path//x/": "@loader_path/x",
		"@loader_path/../lib": "@loader_path/../lib", "@loader_path/..": "@loader_path/..", "@loader_path/a/../..": "@loader_path/..",
		"@rpath/a/./b": "@rpath/a/b", "/a//b/../c/": "/a/c", "libx.dylib": "libx.dylib", "": "",
	} {
		if got := NormalizeRpath(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestReadAt reads through an io.ReaderAt what Parse reads from memory.
func TestReadAt(t *testing.T) {
	path := dylibAt(t, filepath.Join(t.TempDir(), "liba.dylib"), "arm64", "@rpath/liba.dylib")
	b := contents(t, path)
	f, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	img, same := f.Images[0], open(t, path).Images[0]
	a, err1 := img.Symbols()
	c, err2 := same.Symbols()
	if err1 != nil || err2 != nil || !slices.Equal(a, c) || !bytes.Equal(commandsOf(f), commandsOf(open(t, path))) {
		t.Error("they differ", err1, err2)
	}
	s := img.Section("__TEXT", "__text")
	d, err := img.SectionData(s)
	if err != nil || !bytes.Equal(d, b[s.Offset:uint64(s.Offset)+s.Size]) {
		t.Error("the code differs", err)
	}
	if z := img.Section("__DATA", "__bss"); z == nil || !z.Zerofill() {
		t.Errorf("%+v", z)
	} else if d, err := img.SectionData(z); d != nil || err != nil {
		t.Error(d, err)
	}
	if build, ok := img.Build(); !ok || build.Platform != PlatformMacOS || build.MinOS != 0xe0000 || build.SDK != 0xe0200 || build.Tools[0].ID != 4 {
		t.Errorf("%+v", build)
	}
}

// TestKinds reads the ways to depend on a library, as lld writes them and as a
// dylib_use_command of macOS 15 does, which lld does not write.
func TestKinds(t *testing.T) {
	dir := t.TempDir()
	lib := dylibAt(t, filepath.Join(dir, "liba.dylib"), "arm64", "@rpath/liba.dylib")
	for flag, want := range map[string]Kind{"-weak_library": Weak, "-reexport_library": Reexport, "-needed_library": Load} {
		img := open(t, link(t, filepath.Join(dir, "libb.dylib"), "arm64", symbolSource("b"), "-dylib", "-install_name", "b", flag, lib)).Images[0]
		if k := slices.IndexFunc(img.Dylibs, func(d Dylib) bool { return d.Name == "@rpath/liba.dylib" }); k < 0 || img.Dylibs[k].Kind != want {
			t.Errorf("%s: %+v", flag, img.Dylibs)
		}
	}
	for flags, want := range map[uint32]Kind{0: Load, 1: Weak, 2: Reexport, 4: Upward, 8: Delayed} {
		head := make([]byte, 28)
		le := binary.LittleEndian
		le.PutUint32(head, LCLoadDylib)
		le.PutUint32(head[8:], 28)
		le.PutUint32(head[12:], dylibUseMarker)
		le.PutUint32(head[24:], flags)
		b := nameCommand(head, "@rpath/libx.dylib")
		if d, err := dylib(b, Load); err != nil || d.Kind != want || d.Name != "@rpath/libx.dylib" {
			t.Errorf("flags %d: %+v, %v", flags, d, err)
		}
		if d, err := dylib(rename(b, "y"), Load); err != nil || d.Kind != want || d.Name != "y" {
			t.Errorf("flags %d, renamed: %+v, %v", flags, d, err)
		}
	}
}

// TestExportKinds reads what lld's tries do not have: a re-export by another
// name, and a symbol with a resolver.
func TestExportKinds(t *testing.T) {
	b := []byte("\x00\x02_a\x00\x0a_r\x00\x11" + // The root, with children at 10 and 17.
		"\x05\x08\x02_b\x00\x00" + "\x03\x10\x20\x30\x00")
	img := &Image{Size: int64(len(b)), src: memory(b)}
	img.data.exports = fileRange{"exports trie", 0, uint64(len(b))}
	got, err := img.Exports()
	want := []Export{{Name: "_a", Flags: ExportReexport, Ordinal: 2, ImportName: "_b"}, {Name: "_r", Flags: ExportStubResolver, Address: 0x20, Resolver: 0x30}}
	if err != nil || !slices.Equal(got, want) || !got[0].Reexport() {
		t.Errorf("%+v, %v", got, err)
	}
}
