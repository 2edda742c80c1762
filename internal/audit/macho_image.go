package audit

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// leastSlack is the room in a header below which an edit of names may fail:
// a dozen run paths.
const leastSlack = 1 << 10

// pageSize is the page of arm64 macOS, by which segments are mapped
// (mach/arm/vm_param.h); that of Intel is smaller.
func pageSize(cpu macho.CPU) uint64 {
	if cpu == macho.CPUARM64 {
		return 0x4000
	}
	return 0x1000
}

// image checks what one image says by itself, and reads of it what is needed
// when all are known.
func (f *machOFormat) image(m *machOImage) []Finding {
	var out []Finding
	add := func(rule, format string, args ...any) *Finding {
		out = append(out, m.finding(rule, fmt.Sprintf(format, args...), ""))
		return &out[len(out)-1]
	}
	damaged := func(err error) {
		add(ruleMachODamaged, "cannot be read: %v", err).Fix = "make it again"
	}
	var err error
	if m.imports, err = m.Imports(); err != nil {
		damaged(err)
	}
	if m.Type == macho.TypeDylib {
		exports, err := m.Exports()
		if err != nil {
			damaged(err)
		}
		m.exports = make([]string, len(exports))
		for k := range exports {
			m.exports[k] = exports[k].Name
		}
	}
	for _, i := range m.imports {
		if i.Ordinal > len(m.Dylibs) {
			damaged(fmt.Errorf("it imports %s from library %d of %d", i.Name, i.Ordinal, len(m.Dylibs)))
			break
		}
	}
	if wrong := layout(m.Image); len(wrong) > 0 {
		what := wrong[0]
		if len(wrong) > 1 {
			what += fmt.Sprintf(", and %d more", len(wrong)-1)
		}
		add(ruleMachOLayout, "%s", what).Fix = "link it again, with -headerpad_max_install_names, and edit it with a tool that checks for room"
	} else if m.Slack < leastSlack {
		add(ruleMachOHeaderSpace, "has %d bytes of room for longer names, which is less than %d", m.Slack, leastSlack).Fix = "link it with -headerpad_max_install_names"
	}
	if m.Type == macho.TypeExecute && m.Dylinker != "/usr/lib/dyld" {
		add(ruleMachODylinker, "starts through %q", m.Dylinker).Fix = "link it without -dylinker_install_name"
	}
	if len(m.DyldEnvironment) > 0 {
		add(ruleMachOEnvironment, "sets %q for dyld", m.DyldEnvironment[0]).Fix = "link it without -dyld_env"
	}
	if b := m.macOS(); b.SDK != 0 && b.SDK < b.MinOS {
		add(ruleMachOSDK, "needs macOS %s, and is built with the SDK of %s", b.MinOS, b.SDK).Fix = "build it with a newer SDK"
	}
	sources, err := m.SourceFiles()
	if err != nil {
		damaged(err)
	}
	absolute, first := 0, ""
	for _, name := range sources {
		if path.IsAbs(name) {
			if absolute++; absolute == 1 {
				first = name
			}
		}
	}
	if absolute > 0 {
		add(ruleMachODebugMap, "names %s of the machine that it was built on for debuggers, the first %.200s", count(absolute, "path"), first).Fix =
			"make a dSYM and strip it: dsymutil, strip -S"
	}
	// An unreadable signature is the checker's to report.
	if sig, err := m.Signature(); err == nil && sig != nil {
		for _, d := range sig.Directories {
			if strings.ContainsFunc(d.Identifier, func(r rune) bool { return r == '/' || !unicode.IsPrint(r) }) {
				add(ruleMachOSigIdent, "is signed as %.200q, which is a path", d.Identifier).Fix = "sign it again, with an identifier: codesign -f -s - -i " + path.Base(m.entry.path)
				break
			}
		}
	}
	return out
}

// layout says what is wrong with the places of load commands, segments and
// sections, by the checks of dyld (MachOFile::validSegments) and of the
// kernel's loader (bsd/kern/mach_loader.c).
func layout(img *macho.Image) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if img.Slack < 0 {
		say("the load commands end at %#x, %d bytes behind the beginning of what follows them", 32+img.CommandsSize, -img.Slack)
	}
	for k, c := range img.Commands {
		if len(c.Data)%8 != 0 {
			say("load command %d has %d bytes, no multiple of 8", k, len(c.Data))
			break
		}
	}
	page := pageSize(img.CPU)
	var addr, off uint64
	header, linkedit := false, false
	for k := range img.Segments {
		s := &img.Segments[k]
		if s.Size == 0 {
			// Nothing of it is mapped: debug information, as Go's linker puts it
			// into programs.
			if s.FileSize > 0 && s.Offset < off {
				say("segment %s begins at %#x of the file, before the end of those before it (%#x)", s.Name, s.Offset, off)
			}
			off = max(off, s.Offset+s.FileSize)
			continue
		}
		switch {
		case s.FileSize > s.Size:
			say("segment %s has %#x bytes in the file and %#x in memory", s.Name, s.FileSize, s.Size)
		case s.Addr+s.Size < s.Addr:
			say("segment %s goes round the end of memory", s.Name)
		case s.Addr < addr:
			say("segment %s at %#x begins before the end of those before it (%#x)", s.Name, s.Addr, addr)
		case s.FileSize > 0 && s.Offset < off:
			say("segment %s begins at %#x of the file, before the end of those before it (%#x)", s.Name, s.Offset, off)
		case s.Addr%page != 0 || s.FileSize > 0 && s.Offset%page != 0:
			say("segment %s at %#x and %#x of the file does not begin with a page", s.Name, s.Addr, s.Offset)
		case s.InitProt&^s.MaxProt != 0:
			say("segment %s begins with rights (%d) that it may not have (%d)", s.Name, s.InitProt, s.MaxProt)
		}
		if linkedit && s.FileSize > 0 {
			say("segment %s follows __LINKEDIT", s.Name)
		}
		addr, off = max(addr, s.Addr+s.Size), max(off, s.Offset+s.FileSize)
		linkedit = linkedit || s.Name == "__LINKEDIT"
		if s.Name == "__TEXT" {
			header = s.Offset == 0 && s.FileSize >= uint64(32+img.CommandsSize)
		}
		for l := range s.Sections {
			if what := section(s, &s.Sections[l]); what != "" {
				say("section %s,%s %s", s.Name, s.Sections[l].Name, what)
			}
		}
	}
	if !header {
		say("no segment __TEXT begins with the file and holds the load commands")
	}
	return out
}

func section(seg *macho.Segment, s *macho.Section) string {
	if s.Addr < seg.Addr || s.Size > seg.Size || s.Addr-seg.Addr > seg.Size-s.Size {
		return "lies outside its segment in memory"
	}
	if s.Zerofill() || s.Size == 0 {
		return ""
	}
	if want := seg.Offset + (s.Addr - seg.Addr); uint64(s.Offset) != want {
		return fmt.Sprintf("is at %#x of the file, and its segment has that address at %#x", s.Offset, want)
	}
	if s.Addr-seg.Addr+s.Size > seg.FileSize {
		return "lies outside its segment in the file"
	}
	return ""
}
