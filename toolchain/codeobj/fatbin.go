package codeobj

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Where host files keep their offload bundles: the section of an ELF file, and
// the segment and section of a Mach-O file (clang's HIP code generation).
const (
	elfFatbin      = ".hip_fatbin"
	machoFatbinSeg = "__HIP"
	machoFatbin    = "__hip_fatbin"
)

// ErrNoFatBinary says that a host file embeds no offload bundle.
var ErrNoFatBinary = errors.New("no HIP fat binary: the file has neither an ELF section .hip_fatbin nor a Mach-O section __HIP,__hip_fatbin")

// FatBinary returns the bytes of the section with the offload bundles in a host
// object, library or program: 64-bit little-endian ELF or Mach-O. ParseBundles
// takes them apart. The error is, or wraps, ErrNoFatBinary when there is none.
func FatBinary(data []byte) ([]byte, error) {
	switch {
	case isELF(data):
		f, err := parseELF(data)
		if err != nil {
			return nil, fmt.Errorf("host file: %w", err)
		}
		for _, s := range f.sections {
			if s.Name == elfFatbin {
				return s.Data, nil
			}
		}
		return nil, fmt.Errorf("host file: elf: %w", ErrNoFatBinary)
	case isMachO(data):
		section, err := machoSection(data, machoFatbinSeg, machoFatbin)
		if err != nil {
			return nil, fmt.Errorf("host file: mach-o: %w", err)
		}
		return section, nil
	case len(data) >= 4 && (binary.BigEndian.Uint32(data) == 0xcafebabe || binary.BigEndian.Uint32(data) == 0xcafebabf):
		return nil, errors.New("host file: a universal Mach-O file: take one architecture out of it first (lipo -thin)")
	}
	return nil, errors.New("host file: neither 64-bit ELF nor 64-bit Mach-O")
}

// The parts of 64-bit little-endian Mach-O that lead to a section
// (mach-o/loader.h): mach_header_64, LC_SEGMENT_64, section_64.
const (
	machoMagic64     = 0xfeedfacf
	machoHeader      = 32
	machoCmdHeader   = 8
	machoSegmentCmd  = 0x19 // LC_SEGMENT_64
	machoSegmentSize = 72
	machoSectionSize = 80
	maxMachoCmds     = 4096
	machoZeroFill    = 1 // S_ZEROFILL in the low byte of the flags
)

func isMachO(data []byte) bool {
	return len(data) >= 4 && binary.LittleEndian.Uint32(data) == machoMagic64
}

// machoSection returns the bytes of a section. The standard library's reader
// also loads all symbols and relocations, of which a small hostile file can
// announce far more than it holds; this one looks at nothing else.
func machoSection(data []byte, segment, name string) ([]byte, error) {
	le := binary.LittleEndian
	head, err := slice(data, 0, machoHeader, "header")
	if err != nil {
		return nil, err
	}
	count := le.Uint32(head[16:])
	if count > maxMachoCmds {
		return nil, fmt.Errorf("%d load commands: at most %d are read", count, maxMachoCmds)
	}
	cmds, err := slice(data, machoHeader, uint64(le.Uint32(head[20:])), "load commands")
	if err != nil {
		return nil, err
	}
	for i := range count {
		what := fmt.Sprintf("load command %d of %d", i, count)
		h, err := slice(cmds, 0, machoCmdHeader, what)
		if err != nil {
			return nil, err
		}
		size := uint64(le.Uint32(h[4:]))
		cmd, err := slice(cmds, 0, size, what)
		if err != nil {
			return nil, err
		}
		if size < machoCmdHeader {
			return nil, fmt.Errorf("%s: %d bytes are too few", what, size)
		}
		cmds = cmds[size:]
		if le.Uint32(h) != machoSegmentCmd {
			continue
		}
		if size < machoSegmentSize {
			return nil, fmt.Errorf("%s: a segment of %d bytes", what, size)
		}
		sections, err := slice(cmd, machoSegmentSize, uint64(le.Uint32(cmd[64:]))*machoSectionSize, what)
		if err != nil {
			return nil, err
		}
		for ; len(sections) > 0; sections = sections[machoSectionSize:] {
			if machoName(sections[:16]) != name || machoName(sections[16:32]) != segment || sections[64] == machoZeroFill {
				continue
			}
			return slice(data, uint64(le.Uint32(sections[48:])), le.Uint64(sections[40:]), segment+","+name)
		}
	}
	return nil, ErrNoFatBinary
}

func machoName(b []byte) string {
	name, _, _ := bytes.Cut(b, []byte{0})
	return string(name)
}
