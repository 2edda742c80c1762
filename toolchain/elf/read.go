package elf

import (
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Bounds on what is read. Each is far above what real files hold: libLLVM's
// dynamic section has about 30 entries, and its needs name 8 libraries.
const (
	maxDynamic  = 1 << 14
	maxString   = 16 << 10
	maxStrings  = 1 << 12
	maxNeeds    = 1 << 10
	maxVersions = 1 << 12
	maxNote     = 1 << 16
	maxProgs    = 1 << 12
)

// ErrNotELF marks files that do not begin with the ELF magic.
var ErrNotELF = errors.New("not an ELF file")

// IsELF reports whether a file that begins with head is meant to be ELF.
func IsELF(head []byte) bool { return strings.HasPrefix(string(head), elf.ELFMAG) }

// Open reads the file at path; see Read.
func Open(path string) (*Image, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %s: not a regular file", path)
	}
	img, err := Read(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return img, nil
}

// Read reads an image of size bytes. A file without the ELF magic gives
// ErrNotELF; every other error means that the file is damaged.
func Read(r io.ReaderAt, size int64) (img *Image, err error) {
	// debug/elf promises errors, not panics, on damaged files, but is not
	// hardened against hostile ones by its own account.
	defer func() {
		if p := recover(); p != nil {
			img, err = nil, fmt.Errorf("damaged ELF file: %v", p)
		}
	}()
	d, err := newReader(r, size)
	if err != nil {
		return nil, err
	}
	return d.image()
}

// reader holds one file while it is read.
type reader struct {
	f     *elf.File
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder
	// dyn is the dynamic section up to DT_NULL, dynOff the place of its
	// entries in the file.
	dyn    []dynEntry
	dynOff int64
}

type dynEntry struct {
	tag elf.DynTag
	val uint64
}

func newReader(r io.ReaderAt, size int64) (*reader, error) {
	var head [elf.EI_NIDENT]byte
	if size < int64(len(head)) {
		return nil, ErrNotELF
	}
	if _, err := r.ReadAt(head[:], 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if !IsELF(head[:]) {
		return nil, ErrNotELF
	}
	// The section reader ends every later read at size, whatever a header says.
	sr := io.NewSectionReader(r, 0, size)
	f, err := elf.NewFile(sr)
	if err != nil {
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	}
	if len(f.Progs) > maxProgs {
		return nil, fmt.Errorf("damaged ELF file: %d program headers, at most %d are read", len(f.Progs), maxProgs)
	}
	d := &reader{f: f, r: sr, size: size, order: f.ByteOrder}
	if err := d.readDynamic(); err != nil {
		return nil, fmt.Errorf("damaged ELF file: %w", err)
	}
	return d, nil
}

func (d *reader) image() (*Image, error) {
	img := &Image{Class: d.f.Class, Machine: d.f.Machine, Type: d.f.Type, OSABI: d.f.OSABI,
		HasDynamic: len(d.dyn) > 0}
	for _, step := range []func(*Image) error{d.interp, d.strings, d.versions, d.buildID} {
		if err := step(img); err != nil {
			return nil, fmt.Errorf("damaged ELF file: %w", err)
		}
	}
	return img, nil
}

// bytes reads n bytes at off, which a header of the file names.
func (d *reader) bytes(what string, off, n uint64) ([]byte, error) {
	if off > uint64(d.size) || n > uint64(d.size)-off {
		return nil, fmt.Errorf("%s: %d bytes at %#x lie beyond the end of the file (%d bytes)", what, n, off, d.size)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(d.r, int64(off), int64(n)), b); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b, nil
}

// prog is the first program header of a type.
func (d *reader) prog(t elf.ProgType) *elf.Prog {
	for _, p := range d.f.Progs {
		if p.Type == t {
			return p
		}
	}
	return nil
}

// offset turns an address into a place in the file, through the loaded
// segments.
func (d *reader) offset(addr uint64) (uint64, bool) {
	for _, p := range d.f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr-p.Vaddr < p.Filesz {
			off := p.Off + (addr - p.Vaddr)
			return off, off >= p.Off
		}
	}
	return 0, false
}

func (d *reader) readDynamic() error {
	p := d.prog(elf.PT_DYNAMIC)
	if p == nil {
		return nil
	}
	entry := uint64(16)
	if d.f.Class == elf.ELFCLASS32 {
		entry = 8
	}
	n := p.Filesz / entry
	if n > maxDynamic {
		return fmt.Errorf("dynamic section: %d entries, at most %d are read", n, maxDynamic)
	}
	b, err := d.bytes("dynamic section", p.Off, n*entry)
	if err != nil {
		return err
	}
	d.dynOff = int64(p.Off)
	for ; len(b) > 0; b = b[entry:] {
		var e dynEntry
		if entry == 16 {
			e = dynEntry{elf.DynTag(int64(d.order.Uint64(b))), d.order.Uint64(b[8:])}
		} else {
			e = dynEntry{elf.DynTag(int32(d.order.Uint32(b))), uint64(d.order.Uint32(b[4:]))}
		}
		if e.tag == elf.DT_NULL {
			break
		}
		d.dyn = append(d.dyn, e)
	}
	return nil
}

// value is the first value of a tag.
func (d *reader) value(tag elf.DynTag) (uint64, bool) {
	for _, e := range d.dyn {
		if e.tag == tag {
			return e.val, true
		}
	}
	return 0, false
}

func (d *reader) interp(img *Image) error {
	p := d.prog(elf.PT_INTERP)
	if p == nil {
		return nil
	}
	if p.Filesz > maxString {
		return fmt.Errorf("interpreter: %d bytes, at most %d are read", p.Filesz, maxString)
	}
	b, err := d.bytes("interpreter", p.Off, p.Filesz)
	if err != nil {
		return err
	}
	img.Interp, _, _ = strings.Cut(string(b), "\x00")
	return nil
}

// stringTable is the place and the size of the dynamic string table.
func (d *reader) stringTable() (off, size uint64, err error) {
	addr, ok := d.value(elf.DT_STRTAB)
	if !ok {
		return 0, 0, errors.New("dynamic section: no string table")
	}
	size, ok = d.value(elf.DT_STRSZ)
	if !ok {
		return 0, 0, errors.New("dynamic section: the string table has no size")
	}
	off, ok = d.offset(addr)
	if !ok || off > uint64(d.size) || size > uint64(d.size)-off {
		return 0, 0, fmt.Errorf("dynamic section: the string table (%d bytes at address %#x) is not in the file", size, addr)
	}
	return off, size, nil
}

// str reads the string at index of the dynamic string table.
func (d *reader) str(what string, index uint64) (string, error) {
	off, size, err := d.stringTable()
	if err != nil {
		return "", err
	}
	if index >= size {
		return "", fmt.Errorf("%s: string %#x lies beyond the string table (%d bytes)", what, index, size)
	}
	b, err := d.bytes(what, off+index, min(size-index, maxString))
	if err != nil {
		return "", err
	}
	s, _, ended := strings.Cut(string(b), "\x00")
	if !ended {
		return "", fmt.Errorf("%s: a string without an end", what)
	}
	return s, nil
}

func (d *reader) strings(img *Image) error {
	count := 0
	for _, e := range d.dyn {
		switch e.tag {
		case elf.DT_FLAGS_1:
			img.PIE = elf.DynFlag1(e.val)&elf.DF_1_PIE != 0
			continue
		case elf.DT_NEEDED, elf.DT_SONAME, elf.DT_RPATH, elf.DT_RUNPATH:
		default:
			continue
		}
		if count++; count > maxStrings {
			return fmt.Errorf("dynamic section: more than %d names", maxStrings)
		}
		s, err := d.str(e.tag.String(), e.val)
		if err != nil {
			return err
		}
		switch e.tag {
		case elf.DT_NEEDED:
			img.Needed = append(img.Needed, s)
		case elf.DT_SONAME:
			img.Soname = s
		case elf.DT_RPATH:
			img.RPath = strings.Split(s, ":")
		case elf.DT_RUNPATH:
			img.RunPath = strings.Split(s, ":")
		}
	}
	return nil
}

// versions walks DT_VERNEED: records of 16 bytes (version, count of names,
// file, offset of the first name, offset of the next record), each with names
// of 16 bytes (hash, flags, other, name, offset of the next), the same in both
// classes.
func (d *reader) versions(img *Image) error {
	return d.walkVersions(func(file uint64, names []uint64) error {
		need := VersionNeed{}
		var err error
		if need.Library, err = d.str("version needs", file); err != nil {
			return err
		}
		for _, index := range names {
			name, err := d.str("version needs", index)
			if err != nil {
				return err
			}
			need.Names = append(need.Names, name)
		}
		img.Versions = append(img.Versions, need)
		return nil
	})
}

func (d *reader) walkVersions(visit func(file uint64, names []uint64) error) error {
	addr, ok := d.value(elf.DT_VERNEED)
	if !ok {
		return nil
	}
	count, _ := d.value(elf.DT_VERNEEDNUM)
	if count > maxNeeds {
		return fmt.Errorf("version needs: %d libraries, at most %d are read", count, maxNeeds)
	}
	off, ok := d.offset(addr)
	if !ok && count > 0 {
		return fmt.Errorf("version needs: address %#x is not in the file", addr)
	}
	total := 0
	for range count {
		b, err := d.bytes("version needs", off, 16)
		if err != nil {
			return err
		}
		var names []uint64
		at := off + uint64(d.order.Uint32(b[8:]))
		for range d.order.Uint16(b[2:]) {
			if total++; total > maxVersions {
				return fmt.Errorf("version needs: more than %d names", maxVersions)
			}
			v, err := d.bytes("version needs", at, 16)
			if err != nil {
				return err
			}
			names = append(names, uint64(d.order.Uint32(v[8:])))
			next := uint64(d.order.Uint32(v[12:]))
			if next == 0 {
				break
			}
			at += next
		}
		if err := visit(uint64(d.order.Uint32(b[4:])), names); err != nil {
			return err
		}
		next := uint64(d.order.Uint32(b[12:]))
		if next == 0 {
			break
		}
		off += next
	}
	return nil
}

// buildID looks for NT_GNU_BUILD_ID (3) of owner "GNU" in the note segments.
func (d *reader) buildID(img *Image) error {
	for _, p := range d.f.Progs {
		if p.Type != elf.PT_NOTE || p.Filesz > maxNote {
			continue
		}
		b, err := d.bytes("notes", p.Off, p.Filesz)
		if err != nil {
			return err
		}
		for len(b) >= 12 {
			name, desc := uint64(d.order.Uint32(b)), uint64(d.order.Uint32(b[4:]))
			kind := d.order.Uint32(b[8:])
			b = b[12:]
			if name > uint64(len(b)) || desc > uint64(len(b)) {
				break
			}
			// Notes that are aligned to 8 carry no build id of ours to miss:
			// binutils and lld align the build id's own segment to 4.
			padded := (name + 3) &^ 3
			end := padded + (desc+3)&^3
			if padded+desc > uint64(len(b)) {
				break
			}
			if kind == 3 && string(b[:name]) == "GNU\x00" {
				img.BuildID = hex.EncodeToString(b[padded : padded+desc])
				return nil
			}
			b = b[min(end, uint64(len(b))):]
		}
	}
	return nil
}
