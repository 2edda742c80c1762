package elf

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"strings"
)

// maxSymbols bounds the dynamic symbols that are looked at for a shared
// string; libLLVM has about 60,000.
const maxSymbols = 1 << 22

// RewriteRunpathInPlace overwrites the RUNPATH string of a file where the new
// value fits, and reports whether it did. It does nothing (false, nil) when
// there is no RUNPATH, a DT_RPATH beside it, too little room, or another name
// of the file shares the string's bytes, as linkers let a string be the tail
// of a longer one (ld -O2). Prefer Editor.SetRunpath, which falls back to
// patchelf, works on a copy and checks the result.
func RewriteRunpathInPlace(file string, runpath []string) (bool, error) {
	for _, entry := range runpath {
		if err := checkEntry(entry); err != nil {
			return false, fmt.Errorf("rewrite runpath of %s: %w", file, err)
		}
	}
	state, err := rewriteRunpath(file, runpath)
	if err != nil {
		return false, fmt.Errorf("rewrite runpath of %s: %w", file, err)
	}
	return state == rewritten, nil
}

// rewrite is what became of an attempt to overwrite a RUNPATH.
type rewrite int

const (
	rewritten rewrite = iota
	// noRoom: nothing was done; the old value, if any, stands alone.
	noRoom
	// notAlone: nothing was done, since the old value shares its bytes with
	// another name, or may do so.
	notAlone
)

func rewriteRunpath(file string, runpath []string) (rewrite, error) {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	d, err := newReader(f, info.Size())
	if err != nil {
		return 0, err
	}
	tag := elf.DT_RUNPATH
	index, has := d.value(tag)
	legacy, hasLegacy := d.value(elf.DT_RPATH)
	switch {
	case has && hasLegacy:
		return notAlone, nil // Two values: patchelf must not wipe either.
	case hasLegacy:
		tag, index = elf.DT_RPATH, legacy
	case !has:
		return noRoom, nil
	}
	old, err := d.str("search path", index)
	if err != nil {
		return 0, err
	}
	alone, err := d.standsAlone(tag, index, uint64(len(old)))
	if err != nil {
		return 0, err
	}
	if !alone {
		return notAlone, nil
	}
	value := strings.Join(runpath, ":")
	if tag != elf.DT_RUNPATH || len(runpath) == 0 || len(value) > len(old) {
		return noRoom, nil
	}
	table, _, err := d.stringTable()
	if err != nil {
		return 0, err
	}
	// Zeros to the old end: no byte of the old value stays behind, so the
	// result does not depend on it.
	padded := make([]byte, len(old))
	copy(padded, value)
	if _, err := f.WriteAt(padded, int64(table+index)); err != nil {
		return 0, err
	}
	return rewritten, f.Close()
}

// standsAlone reports whether the string of n bytes at index, the value of
// tag, is part of no other string of the table.
func (d *reader) standsAlone(tag elf.DynTag, index, n uint64) (bool, error) {
	table, _, err := d.stringTable()
	if err != nil || index == 0 {
		return false, err
	}
	// Without a zero before it, the value is the tail of another string.
	before, err := d.bytes("search path", table+index-1, 1)
	if err != nil || before[0] != 0 {
		return false, err
	}
	shared, err := d.sharesString(tag, index, n)
	return !shared, err
}

// sharesString reports whether anything but one entry of that tag refers into
// the string of n bytes at index of the string table, its terminating zero
// included. It says yes when it cannot know.
func (d *reader) sharesString(tag elf.DynTag, index, n uint64) (bool, error) {
	within := func(i uint64) bool { return i >= index && i <= index+n }
	owners := 0
	for _, e := range d.dyn {
		switch e.tag {
		case tag:
			if owners++; owners > 1 {
				return true, nil
			}
		// The tags whose value is a string, by gABI and the Solaris and GNU
		// extensions that glibc knows (elf.h).
		case elf.DT_NEEDED, elf.DT_SONAME, elf.DT_AUXILIARY, elf.DT_FILTER,
			elf.DT_CONFIG, elf.DT_DEPAUDIT, elf.DT_AUDIT:
			if within(e.val) {
				return true, nil
			}
		case elf.DT_VERDEF:
			defs, err := d.definitions(e.val)
			if err != nil {
				return false, err
			}
			for _, name := range defs {
				if within(name) {
					return true, nil
				}
			}
		}
	}
	shared := false
	err := d.walkVersions(func(file uint64, names []uint64) error {
		for _, name := range append(names, file) {
			shared = shared || within(name)
		}
		return nil
	})
	if err != nil || shared {
		return shared, err
	}
	return d.symbolsShare(within)
}

// definitions are the string indexes of the version definitions (LSB: Verdef
// of 20 bytes, Verdaux of 8).
func (d *reader) definitions(addr uint64) ([]uint64, error) {
	count, _ := d.value(elf.DT_VERDEFNUM)
	off, ok := d.offset(addr)
	if !ok || count > maxVersions {
		return nil, errors.New("version definitions are not in the file, or are too many")
	}
	var names []uint64
	for range count {
		b, err := d.bytes("version definitions", off, 20)
		if err != nil {
			return nil, err
		}
		at := off + uint64(d.order.Uint32(b[12:]))
		for range d.order.Uint16(b[6:]) {
			if len(names) > maxVersions {
				return nil, errors.New("version definitions: too many names")
			}
			v, err := d.bytes("version definitions", at, 8)
			if err != nil {
				return nil, err
			}
			names = append(names, uint64(d.order.Uint32(v)))
			next := uint64(d.order.Uint32(v[4:]))
			if next == 0 {
				break
			}
			at += next
		}
		next := uint64(d.order.Uint32(b[16:]))
		if next == 0 {
			break
		}
		off += next
	}
	return names, nil
}

// symbolsShare looks at the names of the dynamic symbols. Their number stands
// only in the section headers; without those the answer is yes.
func (d *reader) symbolsShare(within func(uint64) bool) (bool, error) {
	sec := d.f.SectionByType(elf.SHT_DYNSYM)
	addr, ok := d.value(elf.DT_SYMTAB)
	if !ok {
		return false, nil
	}
	if sec == nil || sec.Addr != addr {
		return true, nil
	}
	entry := uint64(elf.Sym64Size)
	if d.f.Class == elf.ELFCLASS32 {
		entry = elf.Sym32Size
	}
	if sec.FileSize/entry > maxSymbols {
		return true, nil
	}
	b, err := d.bytes("dynamic symbols", sec.Offset, sec.FileSize)
	if err != nil {
		return false, err
	}
	// st_name is the first field in both classes.
	for ; uint64(len(b)) >= entry; b = b[entry:] {
		if within(uint64(d.order.Uint32(b))) {
			return true, nil
		}
	}
	return false, nil
}
