package macho

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gomacho "github.com/blacktop/go-macho"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// oracle compares what we read of a file with what go-macho reads.
func oracle(t testing.TB, path string) {
	t.Helper()
	b := contents(t, path)
	f := open(t, path)
	for _, img := range f.Images {
		g, err := gomacho.NewFile(bytes.NewReader(b[img.Offset : img.Offset+img.Size]))
		if err != nil {
			t.Fatalf("go-macho of %s: %v", path, err)
		}
		compare(t, path, img, g)
		g.Close()
	}
}

func compare(t testing.TB, path string, img *Image, g *gomacho.File) {
	t.Helper()
	same := func(what string, ours, theirs any) {
		t.Helper()
		if a, b := fmt.Sprintf("%+v", ours), fmt.Sprintf("%+v", theirs); a != b {
			t.Errorf("%s (%s): %s: ours %.300s, go-macho's %.300s", path, img.Arch(), what, a, b)
		}
	}
	same("commands", len(img.Commands), len(g.Loads))
	var dylibs, rpaths []string
	for _, d := range img.Dylibs {
		dylibs = append(dylibs, d.Name)
	}
	for _, l := range g.Loads {
		if r, ok := l.(*gomacho.Rpath); ok {
			rpaths = append(rpaths, r.Path)
		}
	}
	same("dependencies", dylibs, g.ImportedLibraries())
	same("run paths", img.Rpaths, rpaths)
	if id := g.DylibID(); (id != nil) != (img.ID != nil) {
		t.Errorf("%s: id %v and %v", path, img.ID, id)
	} else if id != nil {
		same("id", img.ID.Name, id.Name)
	}
	if u := g.UUID(); u != nil {
		same("uuid", fmt.Sprintf("%X", *img.UUID), strings.ReplaceAll(u.UUID.String(), "-", ""))
	}
	var segments, theirs []string
	for k := range img.Segments {
		s := &img.Segments[k]
		segments = append(segments, fmt.Sprintf("%s %#x %#x %#x %#x %d", s.Name, s.Addr, s.Size, s.Offset, s.FileSize, len(s.Sections)))
	}
	for _, s := range g.Segments() {
		theirs = append(theirs, fmt.Sprintf("%s %#x %#x %#x %#x %d", s.Name, s.Addr, s.Memsz, s.Offset, s.Filesz, s.Nsect))
	}
	same("segments", segments, theirs)

	exports, err := img.Exports()
	if err != nil {
		t.Fatal(err)
	}
	if len(exports) > 0 {
		ours, theirs := map[string]uint64{}, map[string]uint64{}
		var base uint64
		if text := img.Segment("__TEXT"); text != nil {
			base = text.Addr
		}
		for _, e := range exports {
			ours[e.Name] = e.Address + base
		}
		list, err := g.DyldExports()
		if img.data.exports.size == 0 {
			list, err = g.GetExports()
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			theirs[e.Name] = e.Address
		}
		if !maps.Equal(ours, theirs) {
			t.Errorf("%s: exports %v and %v", path, ours, theirs)
		}
	}
	if img.data.chained.size > 0 {
		imports, err := img.Imports()
		if err != nil {
			t.Fatal(err)
		}
		chained, err := g.DyldChainedFixups()
		if err != nil {
			t.Fatal(err)
		}
		var ours, theirs []string
		for _, i := range imports {
			ours = append(ours, fmt.Sprint(i.Name, i.Ordinal, i.Weak, i.Addend))
		}
		for _, i := range chained.Imports {
			theirs = append(theirs, fmt.Sprint(i.Name, i.LibOrdinal(), i.WeakImport(), i.Addend()))
		}
		same("imports", ours, theirs)
	}
	compareSignature(t, path, img, g)
}

func compareSignature(t testing.TB, path string, img *Image, g *gomacho.File) {
	t.Helper()
	sig, err := img.Signature()
	if err != nil {
		t.Fatal(err)
	}
	cs := g.CodeSignature()
	if (cs != nil) != (sig != nil) {
		t.Fatalf("%s: signature %v and %v", path, sig, cs)
	}
	if cs == nil {
		return
	}
	if len(cs.Errors) > 0 || len(cs.CodeDirectories) != len(sig.Directories) || cs.Entitlements != string(sig.EntitlementsXML) {
		t.Errorf("%s: signature by go-macho: %v, %d directories, entitlements %q", path, cs.Errors, len(cs.CodeDirectories), cs.Entitlements)
	}
	for k, d := range cs.CodeDirectories {
		o := sig.Directories[k]
		var pages []byte
		for _, s := range d.CodeSlots {
			pages = append(pages, s.Hash...)
		}
		if d.ID != o.Identifier || d.TeamID != o.Team || int64(d.CodeLimit) != o.CodeLimit || uint32(d.Header.Flags) != o.Flags ||
			uint32(d.Header.Version) != o.Version || len(d.SpecialSlots) != len(o.Special) || !bytes.Equal(pages, o.Pages) {
			t.Errorf("%s: code directory %d of go-macho: %q %q limit %d flags %#x, %d special slots, %d pages", path, k, d.ID, d.TeamID,
				d.CodeLimit, d.Header.Flags, len(d.SpecialSlots), len(d.CodeSlots))
		}
	}
}

// TestAgainstLLVM compares symbols, exports, binds and tables with what LLVM's
// tools print of files of three generations: dyld info, and chained fixups in
// two sizes of pointer chain, by lld and by Go's linker.
func TestAgainstLLVM(t *testing.T) {
	dir := t.TempDir()
	lib := dylibAt(t, dir+"/chained.dylib", "arm64", "@rpath/liba.1.dylib")
	files := []string{
		lib,
		dylibAt(t, dir+"/intel.dylib", "x86_64", "@rpath/liba.1.dylib"),
		dylibAt(t, dir+"/opcodes.dylib", "arm64", "@rpath/liba.1.dylib", "-no_fixup_chains"),
		dylibAt(t, dir+"/reexport.dylib", "arm64", "@rpath/libr.dylib", "-reexport_library", lib),
		link(t, dir+"/flat.dylib", "arm64", librarySource, "-dylib", "-flat_namespace", "-undefined", "dynamic_lookup", "-data_in_code_info"),
		programAt(t, dir+"/exe", "arm64", lib),
		goProgram(t, "arm64"),
		goProgram(t, "amd64"),
	}
	for _, path := range files {
		good(t, path)
		img := open(t, path).Images[0]
		if d := difference(objdump(t, path, "--exports-trie"), ourExports(t, img)); d != "" {
			t.Errorf("%s: exports: %s", path, d)
		}
		if d := difference(llvmBinds(t, path, img), ourBinds(t, img)); d != "" {
			t.Errorf("%s: binds: %s", path, d)
		}
		if d := difference(llvmSymbols(t, path), ourSymbols(t, img)); d != "" {
			t.Errorf("%s: symbols: %s", path, d)
		}
		starts, err := img.FunctionStarts()
		if err != nil {
			t.Fatal(err)
		}
		var ours []string
		for _, s := range starts {
			ours = append(ours, fmt.Sprintf("%016x", s))
		}
		if d := difference(objdump(t, path, "--function-starts=addrs"), ours); d != "" {
			t.Errorf("%s: function starts: %s", path, d)
		}
	}
}

// objdump are the lines of a table without headings, white space folded.
func objdump(t testing.TB, path string, flags ...string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(llvmtest.Run(t, "llvm-objdump", append(append([]string{"--macho"}, flags...), path)...)) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || strings.HasSuffix(line, ":") || strings.HasPrefix(line, "segment ") {
			continue
		}
		out = append(out, line)
	}
	return out
}

func difference(theirs, ours []string) string {
	slices.Sort(theirs)
	slices.Sort(ours)
	for k := range max(len(theirs), len(ours)) {
		if k >= len(theirs) || k >= len(ours) || theirs[k] != ours[k] {
			return fmt.Sprintf("%d and %d lines, line %d: LLVM's %q, ours %q", len(theirs), len(ours), k, at(theirs, k), at(ours, k))
		}
	}
	return ""
}

func at(list []string, k int) string {
	if k < len(list) {
		return list[k]
	}
	return ""
}

func ourExports(t testing.TB, img *Image) []string {
	t.Helper()
	exports, err := img.Exports()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range exports {
		// LLVM adds where __TEXT is linked.
		line := fmt.Sprintf("0x%08X %s", e.Address+img.Segment("__TEXT").Addr, e.Name)
		if e.Flags&ExportWeakDefinition != 0 {
			line += " [weak_def]"
		}
		if e.Flags&ExportKindMask == ExportAbsolute {
			line += " [absolute]"
		}
		out = append(out, line)
	}
	return out
}

// llvmBinds reduces LLVM's tables to address, library and symbol.
func llvmBinds(t testing.TB, path string, img *Image) []string {
	t.Helper()
	var out []string
	if img.data.chained.size > 0 {
		for _, line := range objdump(t, path, "--dyld-info") {
			f := strings.Fields(line)
			if len(f) > 6 && f[4] == "bind" { // segment section address pointer type addend dylib symbol
				out = append(out, bindLine(f[2], f[6], f[7], len(f) > 8))
			} else if len(f) == 6 && f[4] == "rebase" {
				out = append(out, f[2]+" rebase "+f[5])
			}
		}
		return out
	}
	for _, line := range objdump(t, path, "--bind") { // segment section address type addend dylib symbol
		f := strings.Fields(line)
		out = append(out, bindLine(f[2], f[5], f[6], len(f) > 7))
	}
	for _, line := range objdump(t, path, "--lazy-bind") { // segment section address dylib symbol, and never whether it is weak
		f := strings.Fields(line)
		out = append(out, bindLine(f[2], f[3], f[4], len(f) > 5))
	}
	for _, line := range objdump(t, path, "--weak-bind") { // segment section address type addend symbol
		f := strings.Fields(line)
		out = append(out, bindLine(f[2], "weak", f[5], false))
	}
	return out
}

func bindLine(addr, library, name string, weak bool) string {
	addr = strings.ToLower(strings.TrimLeft(strings.TrimPrefix(addr, "0x"), "0"))
	return fmt.Sprintf("0x%s %s %s %v", addr, library, name, weak)
}

func ourBinds(t testing.TB, img *Image) []string {
	t.Helper()
	f, err := img.Fixups()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range f.Binds {
		imp := f.Imports[b.Import]
		library := map[int]string{OrdinalSelf: "this-image", OrdinalFlatLookup: "flat-namespace", OrdinalWeakLookup: "weak"}[imp.Ordinal]
		if name := img.Library(imp.Ordinal); name != "" {
			library, _, _ = strings.Cut(name[strings.LastIndex(name, "/")+1:], ".")
		}
		out = append(out, bindLine(fmt.Sprintf("%#x", b.Addr), library, imp.Name, imp.Weak && b.Source != sourceLazy))
	}
	for _, r := range f.Rebases {
		out = append(out, fmt.Sprintf("%#x rebase 0x%X", r.Addr, r.Target))
	}
	return out
}

// llvmSymbols are name, kind in one letter and value, of all but stabs.
func llvmSymbols(t testing.TB, path string) []string {
	t.Helper()
	var out []string
	for line := range strings.Lines(llvmtest.Run(t, "llvm-nm", "--format=posix", path)) {
		f := strings.Fields(line)
		kind := "D"
		switch {
		case f[1] == "U" || f[1] == "w":
			kind = "U"
		case strings.ToLower(f[1]) == f[1]:
			kind = "d"
		}
		out = append(out, f[0]+" "+kind+" "+f[2])
	}
	return out
}

func ourSymbols(t testing.TB, img *Image) []string {
	t.Helper()
	symbols, err := img.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for k := range symbols {
		s := &symbols[k]
		if s.Stab() || s.Name == "" {
			continue
		}
		kind := "d"
		switch {
		case s.Undefined():
			kind = "U"
		case s.Exported():
			kind = "D"
		}
		out = append(out, fmt.Sprintf("%s %s %x", s.Name, kind, s.Value))
	}
	return out
}
