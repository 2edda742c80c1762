package macho

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// linkedit is where the tables of __LINKEDIT lie. Sizes are in bytes, and a
// table that is not there has size 0.
type linkedit struct {
	ranges []fileRange

	symbols, strings      fileRange
	exports, oldExports   fileRange
	bind, weak, lazy      fileRange
	chained               fileRange
	functionStarts        fileRange
	dataInCode            fileRange
	signature             fileRange
	hasSignature, hasDyld bool
}

type fileRange struct {
	what      string
	off, size uint64
}

// errTwice marks load commands that may be there once.
var errTwice = errors.New("it is there twice")

// command takes in one load command. Those that are not known are kept as
// bytes only.
func (i *Image) command(c Command) error {
	le := binary.LittleEndian
	b := c.Data
	need := func(n int) error {
		if len(b) < n {
			return fmt.Errorf("%d bytes are too few, it has %d", len(b), n)
		}
		return nil
	}
	var err error
	switch c.Cmd {
	case LCSegment:
		return errors.New("a 32-bit segment in a 64-bit image")
	case LCSegment64:
		return i.segment(b)
	case LCIDDylib:
		if i.ID != nil {
			return errTwice
		}
		d, err := dylib(b, "")
		i.ID = &d
		return err
	case LCLoadDylib, LCLoadWeakDylib, LCReexportDylib, LCLoadUpwardDylib, LCLazyLoadDylib:
		kinds := map[uint32]Kind{LCLoadDylib: Load, LCLoadWeakDylib: Weak, LCReexportDylib: Reexport, LCLoadUpwardDylib: Upward, LCLazyLoadDylib: Lazy}
		d, err := dylib(b, kinds[c.Cmd])
		i.Dylibs = append(i.Dylibs, d)
		return err
	case LCRpath:
		s, err := lcString(b, 8, 12)
		i.Rpaths = append(i.Rpaths, s)
		return err
	case LCLoadDylinker:
		i.Dylinker, err = lcString(b, 8, 12)
		return err
	case LCDyldEnvironment:
		s, err := lcString(b, 8, 12)
		i.DyldEnvironment = append(i.DyldEnvironment, s)
		return err
	case LCUUID:
		if err := need(24); err != nil {
			return err
		}
		if i.UUID != nil {
			return errTwice
		}
		i.UUID = (*[16]byte)(append([]byte(nil), b[8:24]...))
	case LCMain:
		if err := need(24); err != nil {
			return err
		}
		if i.Entry != nil {
			return errTwice
		}
		entry := le.Uint64(b[8:])
		i.Entry = &entry
	case LCBuildVersion:
		return i.buildVersion(b)
	case LCVersionMinMacOSX, LCVersionMinIPhoneOS, LCVersionMinTVOS, LCVersionMinWatchOS:
		if err := need(16); err != nil {
			return err
		}
		platforms := map[uint32]Platform{LCVersionMinMacOSX: PlatformMacOS, LCVersionMinIPhoneOS: PlatformIOS,
			LCVersionMinTVOS: PlatformTVOS, LCVersionMinWatchOS: PlatformWatchOS}
		i.Builds = append(i.Builds, Build{Platform: platforms[c.Cmd], MinOS: Version(le.Uint32(b[8:])), SDK: Version(le.Uint32(b[12:])), Legacy: true})
	case LCEncryptionInfo, LCEncryptionInfo64:
		if err := need(20); err != nil {
			return err
		}
		i.Encrypted = i.Encrypted || le.Uint32(b[16:]) != 0
		i.data.add("encrypted bytes", le.Uint32(b[8:]), le.Uint32(b[12:]))
	case LCNote:
		if err := need(40); err != nil {
			return err
		}
		i.data.ranges = append(i.data.ranges, fileRange{"note", le.Uint64(b[24:]), le.Uint64(b[32:])})
	default:
		return i.data.command(c)
	}
	return nil
}

// add notes a table.
func (l *linkedit) add(what string, off, size uint32) fileRange {
	r := fileRange{what, uint64(off), uint64(size)}
	l.ranges = append(l.ranges, r)
	return r
}

// command takes in the commands that name tables of __LINKEDIT.
func (l *linkedit) command(c Command) error {
	le := binary.LittleEndian
	b := c.Data
	word := func(off int) uint32 { return le.Uint32(b[off:]) }
	size := map[uint32]int{LCSymtab: 24, LCDysymtab: 80, LCDyldInfo: 48, LCDyldInfoOnly: 48, LCTwoLevelHints: 16,
		LCCodeSignature: 16, LCSegmentSplitInfo: 16, LCFunctionStarts: 16, LCDataInCode: 16, LCDylibCodeSignDRs: 16,
		LCLinkerOptimization: 16, LCDyldExportsTrie: 16, LCDyldChainedFixups: 16, LCAtomInfo: 16,
		LCFunctionVariants: 16, LCFunctionVariantFix: 16}[c.Cmd]
	if len(b) < size {
		return fmt.Errorf("%d bytes are too few, it has %d", len(b), size)
	}
	switch c.Cmd {
	case LCSymtab:
		if l.symbols.what != "" {
			return errTwice
		}
		l.symbols = fileRange{"symbol table", uint64(word(8)), uint64(word(12)) * nlistSize}
		l.ranges = append(l.ranges, l.symbols)
		l.strings = l.add("string table", word(16), word(20))
	case LCDysymtab:
		for _, t := range []struct {
			what  string
			field int
			entry uint64
		}{{"table of contents", 32, 8}, {"module table", 40, 56}, {"referenced symbols", 48, 4},
			{"indirect symbols", 56, 4}, {"external relocations", 64, 8}, {"local relocations", 72, 8}} {
			l.ranges = append(l.ranges, fileRange{t.what, uint64(word(t.field)), uint64(word(t.field+4)) * t.entry})
		}
	case LCTwoLevelHints:
		l.ranges = append(l.ranges, fileRange{"two-level hints", uint64(word(8)), uint64(word(12)) * 4})
	case LCDyldInfo, LCDyldInfoOnly:
		if l.hasDyld {
			return errTwice
		}
		l.hasDyld = true
		l.add("rebase opcodes", word(8), word(12))
		l.bind = l.add("bind opcodes", word(16), word(20))
		l.weak = l.add("weak bind opcodes", word(24), word(28))
		l.lazy = l.add("lazy bind opcodes", word(32), word(36))
		l.oldExports = l.add("exports", word(40), word(44))
	case LCCodeSignature:
		if l.hasSignature {
			return errTwice
		}
		l.hasSignature = true
		l.signature = l.add("code signature", word(8), word(12))
	case LCFunctionStarts:
		l.functionStarts = l.add("function starts", word(8), word(12))
	case LCDataInCode:
		l.dataInCode = l.add("data in code", word(8), word(12))
	case LCDyldExportsTrie:
		if l.exports.what != "" {
			return errTwice
		}
		l.exports = l.add("exports trie", word(8), word(12))
	case LCDyldChainedFixups:
		if l.chained.what != "" {
			return errTwice
		}
		l.chained = l.add("chained fixups", word(8), word(12))
	case LCSegmentSplitInfo, LCDylibCodeSignDRs, LCLinkerOptimization, LCAtomInfo, LCFunctionVariants, LCFunctionVariantFix:
		l.add(fmt.Sprintf("data of load command %#x", c.Cmd), word(8), word(12))
	}
	return nil
}

// dylibUseMarker stands in the timestamp of a dylib_use_command (mach-o/loader.h,
// macOS 15), whose name begins behind a word of flags.
const dylibUseMarker = 0x1a741800

func dylib(b []byte, kind Kind) (Dylib, error) {
	name, err := lcString(b, 8, 24)
	if err != nil {
		return Dylib{}, err
	}
	le := binary.LittleEndian
	d := Dylib{Name: name, Kind: kind, Current: Version(le.Uint32(b[16:])), Compatibility: Version(le.Uint32(b[20:]))}
	if kind != "" && le.Uint32(b[12:]) == dylibUseMarker && le.Uint32(b[8:]) >= 28 && len(b) >= 28 {
		switch flags := le.Uint32(b[24:]); {
		case flags&0x8 != 0:
			d.Kind = Delayed
		case flags&0x4 != 0:
			d.Kind = Upward
		case flags&0x2 != 0:
			d.Kind = Reexport
		case flags&0x1 != 0:
			d.Kind = Weak
		}
	}
	return d, nil
}

// buildVersion reads a build_version_command: 24 bytes, then tools of 8.
func (i *Image) buildVersion(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 24 {
		return fmt.Errorf("%d bytes are too few, it has 24", len(b))
	}
	v := Build{Platform: Platform(le.Uint32(b[8:])), MinOS: Version(le.Uint32(b[12:])), SDK: Version(le.Uint32(b[16:]))}
	n := le.Uint32(b[20:])
	if uint64(n)*8 > uint64(len(b)-24) {
		return fmt.Errorf("%d tools do not fit its %d bytes", n, len(b))
	}
	for k := range int(n) {
		v.Tools = append(v.Tools, Tool{le.Uint32(b[24+8*k:]), Version(le.Uint32(b[28+8*k:]))})
	}
	i.Builds = append(i.Builds, v)
	return nil
}

// segment reads a segment_command_64: 72 bytes, then sections of 80.
func (i *Image) segment(b []byte) error {
	le := binary.LittleEndian
	if len(b) < 72 {
		return fmt.Errorf("%d bytes are too few, it has 72", len(b))
	}
	n := le.Uint32(b[64:])
	if uint64(n)*80 > uint64(len(b)-72) {
		return fmt.Errorf("%d sections do not fit its %d bytes", n, len(b))
	}
	total := int(n)
	for k := range i.Segments {
		total += len(i.Segments[k].Sections)
	}
	if total > maxSections {
		return fmt.Errorf("more than %d sections", maxSections)
	}
	s := Segment{Name: cstring(b[8:24]), Addr: le.Uint64(b[24:]), Size: le.Uint64(b[32:]), Offset: le.Uint64(b[40:]),
		FileSize: le.Uint64(b[48:]), MaxProt: le.Uint32(b[56:]), InitProt: le.Uint32(b[60:]), Flags: le.Uint32(b[68:])}
	if n > 0 {
		s.Sections = make([]Section, n)
	}
	for k := range s.Sections {
		e := b[72+80*k:]
		s.Sections[k] = Section{Name: cstring(e[:16]), Segment: cstring(e[16:32]), Addr: le.Uint64(e[32:]), Size: le.Uint64(e[40:]),
			Offset: le.Uint32(e[48:]), Align: le.Uint32(e[52:]), RelocOffset: le.Uint32(e[56:]), RelocCount: le.Uint32(e[60:]),
			Flags: le.Uint32(e[64:]), Reserved1: le.Uint32(e[68:]), Reserved2: le.Uint32(e[72:])}
	}
	i.Segments = append(i.Segments, s)
	return nil
}
