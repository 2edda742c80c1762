package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// readAll reads everything that there is to read of a file, and fails when
// something is returned beside an error.
func readAll(t testing.TB, b []byte) error {
	f, err := Parse(b)
	if err != nil {
		if f != nil {
			t.Fatal("a file beside an error")
		}
		return err
	}
	var errs []error
	for _, img := range f.Images {
		_, err := img.Symbols()
		errs = append(errs, err)
		_, err = img.Exports()
		errs = append(errs, err)
		_, err = img.Imports()
		errs = append(errs, err)
		fixups, err := img.Fixups()
		if fixups != nil {
			for _, b := range fixups.Binds {
				if b.Import >= len(fixups.Imports) {
					t.Fatal("a bind without an import")
				}
				img.Library(fixups.Imports[b.Import].Ordinal)
			}
		}
		errs = append(errs, err)
		_, err = img.SourceFiles()
		errs = append(errs, err)
		_, err = img.FunctionStarts()
		errs = append(errs, err)
		_, err = img.DataInCode()
		errs = append(errs, err)
		_, err = img.Signature()
		errs = append(errs, err)
		for k := range img.Segments {
			for l := range img.Segments[k].Sections {
				_, err = img.SectionData(&img.Segments[k].Sections[l])
				errs = append(errs, err)
			}
		}
	}
	_, err = f.Verify()
	return errors.Join(append(errs, err)...)
}

// editAll edits a readable file in several ways: each either is refused or
// gives a file that reads back and verifies.
func editAll(t testing.TB, b []byte) {
	f, err := Parse(b)
	if err != nil {
		return
	}
	edits := []Edit{
		{SetRpaths: true, Rpaths: []string{"@loader_path/../lib"}, Sign: SignAlways, Leaf: "leaf", Resign: true},
		{SetRpaths: true, Sign: SignAsBefore}, {Sign: SignStrip, Resign: true}, {ID: names(20), Sign: SignAnew, Leaf: "leaf"},
	}
	for _, d := range f.Images[0].Dylibs {
		edits = append(edits, Edit{Change: map[string]string{d.Name: names(30)}, Sign: SignAnew, Resign: true, Leaf: "leaf"})
	}
	for _, e := range edits {
		was := bytes.Clone(b)
		plan, err := f.Plan(e)
		if err != nil {
			continue
		}
		out, err := plan.Bytes()
		if err != nil {
			continue
		}
		if !bytes.Equal(was, b) {
			t.Fatal("an edit wrote into its input")
		}
		if !plan.Changed() {
			continue
		}
		if err := plan.check(out, false); err != nil {
			t.Fatalf("%+v: %v", e, err)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		problems, err := again.Verify()
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plan.Slices {
			if k := slices.IndexFunc(problems, func(p Problem) bool { return p.Arch == s.Arch }); k >= 0 && s.Changed && s.sign != nil {
				t.Fatalf("%+v: %v", e, problems[k])
			}
		}
		if e.Sign == SignAnew {
			continue
		}
		e.Change = nil
		if plan, err := again.Plan(e); err != nil || plan.Changed() {
			t.Fatalf("a second %+v: changed, or %v", e, err)
		}
	}
}

// smallImages are real files that are small enough to be broken everywhere.
func smallImages(t testing.TB) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	lib := dylibAt(t, filepath.Join(dir, "arm.dylib"), "arm64", "@rpath/liba.1.dylib", "-rpath", "@loader_path")
	old := dylibAt(t, filepath.Join(dir, "old.dylib"), "x86_64", "@rpath/liba.1.dylib", "-no_fixup_chains", "-data_in_code_info")
	obj := filepath.Join(dir, "a.o")
	src := filepath.Join(dir, "a.c")
	write(t, src, librarySource)
	llvmtest.Run(t, "clang", "--target=arm64-apple-macos14.0", "-ffreestanding", "-g", "-c", src, "-o", obj)
	return map[string][]byte{
		"dylib":     contents(t, lib),
		"opcodes":   contents(t, old),
		"program":   contents(t, programAt(t, filepath.Join(dir, "exe"), "arm64", lib)),
		"universal": contents(t, fat(t, filepath.Join(dir, "fat.dylib"), lib, old)),
		"object":    contents(t, obj),
	}
}

// TestTruncated cuts a file at every 64th part: one error each, that names the
// damage.
func TestTruncated(t *testing.T) {
	for name, b := range smallImages(t) {
		for k := range 64 {
			cut := b[:len(b)*k/64]
			err := readAll(t, cut)
			if err == nil || len(cut) > 8 && !strings.Contains(err.Error(), "damaged Mach-O file") || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s, %d of 64: %v", name, k, err)
			}
			editAll(t, cut)
		}
	}
}

// TestBitFlips flips one bit in each byte of the headers, and here and there in
// the rest: nothing panics, a signed file says so, and no edit makes a bad one.
func TestBitFlips(t *testing.T) {
	for name, b := range smallImages(t) {
		f, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		img := f.Images[0]
		flips := 0
		for k := range b {
			at := int64(k) - img.Offset
			header := at < 32+img.CommandsSize
			if !header && (at < 0x4000 || k%64 != 0) { // The code itself is of no concern to a reader.
				continue
			}
			flips++
			broken := bytes.Clone(b)
			broken[k] ^= 1 << (k % 8)
			if flips%4 == 0 {
				editAll(t, broken)
			}
			err := readAll(t, broken)
			if name != "dylib" && name != "program" || err != nil {
				continue
			}
			g, _ := Parse(broken)
			if problems, err := g.Verify(); err == nil && len(problems) == 0 && changesSigned(img, at) {
				t.Errorf("%s: a flip at %#x is not noticed", name, k)
			}
		}
	}
}

// changesSigned leaves out what no signature covers: padding within it, and
// fields of the code directory that only the kernel reads.
func changesSigned(img *Image, at int64) bool {
	return at < int64(img.data.signature.off)
}

// TestHostile is a table of files made to be trouble.
func TestHostile(t *testing.T) {
	lib := smallImages(t)
	thin := lib["dylib"]
	img := func() *Image { f, _ := Parse(thin); return f.Images[0] }()
	command := func(cmd uint32) int64 {
		for _, c := range img.Commands {
			if c.Cmd == cmd {
				return c.Offset
			}
		}
		t.Fatalf("no load command %#x", cmd)
		return 0
	}
	put := func(off int64, v uint32) []byte {
		b := bytes.Clone(thin)
		binary.LittleEndian.PutUint32(b[off:], v)
		return b
	}
	be := binary.BigEndian
	fatOf := func(count uint32, entries ...[5]uint32) []byte {
		b := be.AppendUint32(be.AppendUint32(nil, magicFat), count)
		for _, e := range entries {
			for _, v := range e {
				b = be.AppendUint32(b, v)
			}
		}
		b = append(b, make([]byte, 0x4000-len(b))...)
		return append(b, thin...)
	}
	const arm = uint32(CPUARM64)
	size := uint32(len(thin))
	nested := fatOf(1, [5]uint32{arm, 0, 0x4000, size, 14})
	be.PutUint32(nested[0x4000:], magicFat)
	for _, c := range []struct {
		name string
		b    []byte
		want string
		kind error
	}{
		{"nothing", nil, "not a Mach-O file", ErrNotMachO},
		{"text", []byte("#!/bin/sh\necho hello\n"), "not a Mach-O file", ErrNotMachO},
		{"a Java class", []byte("\xca\xfe\xba\xbe\x00\x00\x00\x41\x00\x00\x00\x00"), "not a Mach-O file", ErrNotMachO},
		{"32-bit", append([]byte("\xce\xfa\xed\xfe"), thin[4:]...), "it is 32-bit", ErrUnsupported},
		{"big-endian", append([]byte("\xfe\xed\xfa\xcf"), thin[4:]...), "it is big-endian", ErrUnsupported},
		{"no slices", fatOf(0), "0 slices", nil},
		{"39 slices", fatOf(39), "39 slices, between 1 and 32 are read", nil},
		{"a slice beyond the end", fatOf(1, [5]uint32{arm, 0, 0x4000, size + 1, 14}), "does not lie between the fat header and the end", nil},
		{"a slice of 4 GB", fatOf(1, [5]uint32{arm, 0, 0x4000, 0xffffffff, 14}), "does not lie between", nil},
		{"a slice over the header", fatOf(1, [5]uint32{arm, 0, 0, size, 14}), "does not lie between", nil},
		{"slices that overlap", fatOf(2, [5]uint32{arm, 0, 0x4000, size, 14}, [5]uint32{uint32(CPUX86_64), 3, 0x8000, 100, 14}), "slices 0 and 1 overlap", nil},
		{"two slices for one machine", append(fatOf(2, [5]uint32{arm, 0, 0x4000, size, 14}, [5]uint32{arm, 0, 0x14000, 100, 14}), make([]byte, 0x8000)...),
			"slices 0 and 1 are both for arm64", nil},
		{"a crooked slice", fatOf(1, [5]uint32{arm, 0, 0x4000, size, 15}), "is not aligned to 2^15", nil},
		{"an alignment of 2^200", fatOf(1, [5]uint32{arm, 0, 0x4000, size, 200}), "is not aligned to 2^200", nil},
		{"a slice for another machine", fatOf(1, [5]uint32{uint32(CPUX86_64), 3, 0x4000, size, 14}), "slice 0 is for arm64, and the fat header says x86_64", nil},
		{"fat in fat", nested, "a universal file inside a universal file", nil},
		{"4 GB of load commands", put(20, 0xffffffff), "load commands in 4294967295 bytes", nil},
		{"a million load commands", put(16, 1_000_000), "1000000 load commands", nil},
		{"more commands than bytes", put(16, 1000), "1000 load commands do not fit", nil},
		{"one command too many", put(16, uint32(len(img.Commands)+1)), "begins beyond", nil},
		{"one command too few", put(16, uint32(len(img.Commands)-1)), "belong to no load command", nil},
		{"a command of 4 GB", put(36, 0xfffffff8), "claims 4294967288 bytes", nil},
		{"a command of 0 bytes", put(36, 0), "claims 0 bytes", nil},
		{"a command of 4 bytes", put(36, 4), "claims 4 bytes", nil},
		{"a command that overlaps the next", put(36, binary.LittleEndian.Uint32(thin[36:])+8), "damaged", nil},
		{"sections without end", put(32+64, 0xffffffff), "4294967295 sections do not fit", nil},
		{"a segment beyond the end", put(32+48, 0x7fffffff), "segment __TEXT", nil},
		{"a name before its command", put(command(LCIDDylib)+8, 0), "its name at 0 lies outside", nil},
		{"a name behind its command", put(command(LCIDDylib)+8, 0xffff), "its name at 65535 lies outside", nil},
		{"symbols without end", put(command(LCSymtab)+12, 0xffffffff), "symbol table", nil},
		{"strings without end", put(command(LCSymtab)+20, 0xffffffff), "string table", nil},
		{"a signature beyond the end", put(command(LCCodeSignature)+12, 0x7fffffff), "code signature", nil},
		{"tools without end", put(command(LCBuildVersion)+20, 0xffffffff), "4294967295 tools do not fit", nil},
		{"a 32-bit segment", put(32, LCSegment), "a 32-bit segment", nil},
		{"two signatures", put(command(LCFunctionStarts), LCCodeSignature), "it is there twice", nil},
	} {
		f, err := Parse(c.b)
		if err == nil || f != nil || !strings.Contains(err.Error(), c.want) || c.kind != nil && !errors.Is(err, c.kind) {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		// The same through a file on disk, which an edit leaves as it is.
		path := filepath.Join(t.TempDir(), "image")
		write(t, path, string(c.b))
		if _, err := Apply(path, Edit{ID: "x"}); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: edit: %v", c.name, err)
		}
		if !bytes.Equal(contents(t, path), c.b) {
			t.Errorf("%s: the file changed", c.name)
		}
	}
}

// TestTables breaks the tables of __LINKEDIT that are read on demand.
func TestTables(t *testing.T) {
	files := smallImages(t)
	for _, c := range []struct {
		file  string
		table func(*Image) fileRange
		bytes string
		want  string
	}{
		{"dylib", func(i *Image) fileRange { return i.data.exports }, "\x00\x01a\x00\x00", "outside or there twice"},
		{"dylib", func(i *Image) fileRange { return i.data.exports }, "\x00\x01a\x00\xff\x7f", "outside or there twice"},
		{"dylib", func(i *Image) fileRange { return i.data.exports }, "\x7f\x01a\x00\xff\x7f", "claims 127 bytes"},
		{"dylib", func(i *Image) fileRange { return i.data.exports }, "\x00\x01" + strings.Repeat("a", 300), "ends within an entry|string without an end|outside"},
		{"dylib", func(i *Image) fileRange { return i.data.exports }, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "more than 64 bits"},
		{"dylib", func(i *Image) fileRange { return i.data.chained }, "\x01\x00\x00\x00", "version 1, only 0"},
		{"dylib", func(i *Image) fileRange { return i.data.chained }, "\x00\x00\x00\x00\xff\xff\xff\x7f", "the starts at 0x7fffffff"},
		{"dylib", func(i *Image) fileRange { return i.data.chained }, "\x00\x00\x00\x00\x20\x00\x00\x00\xff\xff\xff\x7f", "imports at 0x7fffffff do not fit"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\x90", "a bind before any segment"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\x71\x00\x90", "a bind without a symbol"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\x7f\x00\x90", "segment 15 of"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\x40a\x00\x71\xff\xff\xff\x7f\x90", "outside segment"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\x40a\x00\x71\x00\xc0\xff\xff\xff\xff\x7f\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01", "more binds than the image has bytes"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\xd0", "opcode 0xd0, which is not read"},
		{"opcodes", func(i *Image) fileRange { return i.data.bind }, "\xe0", "opcode 0xe0, which is not read"},
	} {
		b := bytes.Clone(files[c.file])
		f, err := Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		r := c.table(f.Images[0])
		copy(b[r.off:r.off+r.size], c.bytes)
		_, exports := f.Images[0].Exports()
		_, fixups := f.Images[0].Fixups()
		err = errors.Join(exports, fixups)
		ok := false
		for want := range strings.SplitSeq(c.want, "|") {
			ok = ok || err != nil && strings.Contains(err.Error(), want)
		}
		if !ok {
			t.Errorf("%q: %v", c.bytes, err)
		}
	}
}

// TestSharedStrings makes 4,000 symbols of one string of a megabyte, which
// would be four gigabytes of names.
func TestSharedStrings(t *testing.T) {
	b := bytes.Clone(smallImages(t)["dylib"])
	f, err := Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	img := f.Images[0]
	const long, count = 1 << 20, 4000
	at := align(int64(len(b)), 16)
	b = append(b, make([]byte, at-int64(len(b))+long+1+count*nlistSize)...)
	copy(b[at:], bytes.Repeat([]byte("a"), long))
	for k := range count {
		binary.LittleEndian.PutUint32(b[at+long+1+int64(k)*nlistSize:], 1)
	}
	for _, c := range img.Commands {
		if c.Cmd == LCSymtab {
			le := binary.LittleEndian
			le.PutUint32(b[c.Offset+8:], uint32(at+long+1))
			le.PutUint32(b[c.Offset+12:], count)
			le.PutUint32(b[c.Offset+16:], uint32(at))
			le.PutUint32(b[c.Offset+20:], long+1)
		}
	}
	if f, err = Parse(b); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Images[0].Symbols(); err == nil || !strings.Contains(err.Error(), "share more of the string table") {
		t.Error(err)
	}
}

// TestCompanions recognises what is never edited.
func TestCompanions(t *testing.T) {
	dir := t.TempDir()
	lib := dylibAt(t, filepath.Join(dir, "liba.dylib"), "arm64", "@rpath/liba.dylib")
	// dsymutil wants the object, which link throws away with the test's folder.
	llvmtest.Run(t, "dsymutil", lib, "-o", filepath.Join(dir, "liba.dSYM"))
	dsym := filepath.Join(dir, "liba.dSYM/Contents/Resources/DWARF/liba.dylib")
	f := open(t, dsym)
	img := f.Images[0]
	if !img.DebugCompanion() || img.Type.String() != "dSYM" || img.Linked() || *img.UUID != *open(t, lib).Images[0].UUID {
		t.Errorf("%+v", img)
	}
	if problems, err := f.Verify(); err != nil || problems != nil {
		t.Error(problems, err)
	}
	if _, err := Apply(dsym, Edit{SetRpaths: true}); !errors.Is(err, ErrNotEditable) {
		t.Error(err)
	}
	sources, err := open(t, lib).Images[0].SourceFiles()
	if err != nil || len(sources) == 0 || !strings.HasSuffix(sources[len(sources)-1], "source.o") {
		t.Errorf("%q, %v", sources, err)
	}
	// A universal static library.
	arm, intel := filepath.Join(dir, "arm.o"), filepath.Join(dir, "intel.o")
	src := filepath.Join(dir, "a.c")
	write(t, src, programSource)
	var archives []string
	for arch, obj := range map[string]string{"arm64": arm, "x86_64": intel} {
		llvmtest.Run(t, "clang", "--target="+arch+"-apple-macos14.0", "-ffreestanding", "-c", src, "-o", obj)
		llvmtest.Run(t, "llvm-ar", "rcs", obj+".a", obj)
		archives = append(archives, obj+".a")
	}
	if _, err := Open(fat(t, filepath.Join(dir, "fat.a"), archives...)); !errors.Is(err, ErrArchive) {
		t.Error(err)
	}
	if _, err := os.Stat(arm); err != nil {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	for _, b := range smallImages(f) {
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := readAll(t, b); err != nil && err.Error() == "" {
			t.Fatal("an error without words")
		}
	})
}

// FuzzEdit breaks the load commands and tables of real images: each five bytes
// of patches are a place (2), how to count it (1) and what to write there (2).
func FuzzEdit(f *testing.F) {
	images := smallImages(f)
	var real [][]byte
	for _, name := range slices.Sorted(maps.Keys(images)) {
		real = append(real, images[name])
	}
	for k := range real {
		f.Add(uint8(k), []byte{})
		f.Add(uint8(k), []byte("\x10\x00\x00\x01\x00\x14\x00\x00\xff\xff"))
	}
	f.Fuzz(func(t *testing.T, which uint8, patches []byte) {
		b := bytes.Clone(real[int(which)%len(real)])
		le := binary.LittleEndian
		for ; len(patches) >= 5; patches = patches[5:] {
			at := int(le.Uint16(patches))
			switch patches[2] % 4 {
			case 0:
				at %= min(0x1000, len(b)) // Headers.
			case 1:
				at = len(b) - 2 - at%0x800 // Signatures.
			case 2:
				at = len(b) - 2 - at%0x2000 // The tables before them.
			case 3:
				at %= len(b) - 2
			}
			copy(b[max(at, 0):], patches[3:5])
		}
		_ = readAll(t, b)
		editAll(t, b)
	})
}

// FuzzSignature reads and keeps signatures that nobody made.
func FuzzSignature(f *testing.F) {
	b := smallImages(f)["dylib"]
	file, err := Parse(b)
	if err != nil {
		f.Fatal(err)
	}
	at := file.Images[0].data.signature.off
	f.Add(b[at:])
	f.Fuzz(func(t *testing.T, sig []byte) {
		whole := bytes.Clone(b[:at])
		img := file.Images[0]
		for _, c := range img.Commands {
			switch {
			case c.Cmd == LCCodeSignature:
				binary.LittleEndian.PutUint32(whole[c.Offset+12:], uint32(len(sig)))
			case c.Cmd == LCSegment64 && cstring(c.Data[8:24]) == "__LINKEDIT":
				binary.LittleEndian.PutUint64(whole[c.Offset+48:], uint64(len(whole)+len(sig))-binary.LittleEndian.Uint64(c.Data[40:]))
			}
		}
		whole = append(whole, sig...)
		if err := readAll(t, whole); err != nil && strings.Contains(fmt.Sprint(err), "%!") {
			t.Fatal(err)
		}
		editAll(t, whole)
	})
}
