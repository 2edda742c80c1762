package macho

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds on what is read. Real images have some 30 load commands in a few
// kilobytes, and universal files two or three slices.
const (
	maxSlices       = 32
	maxCommands     = 1 << 14
	maxCommandsSize = 8 << 20
	maxSections     = 1 << 16
	maxAlign        = 20
)

const (
	headerSize    = 32
	fatHeaderSize = 8
)

// fatHeader keeps of a universal file what an edit has to write again.
type fatHeader struct {
	wide   bool // fat_arch_64
	slices []fatArch
}

type fatArch struct {
	cpu          CPU
	subtype      uint32
	offset, size uint64
	align        uint32
	reserved     uint32
}

func (h *fatHeader) entrySize() int {
	if h.wide {
		return 32
	}
	return 20
}

// IsMachO reports whether a file that begins with head (8 bytes are enough) is
// meant to be Mach-O, readable or not. In a Java class the place of the number
// of slices holds the version, 45 or more.
func IsMachO(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch binary.BigEndian.Uint32(head) {
	case magic64LE, magic32LE, magic64BE, magic32BE:
		return true
	case magicFat, magicFat6:
		return len(head) >= 8 && binary.BigEndian.Uint32(head[4:]) < 40
	}
	return false
}

func read(src source, size int64) (*File, error) {
	if size < 8 {
		return nil, ErrNotMachO
	}
	head, err := src.at(0, 8)
	if err != nil {
		return nil, err
	}
	if !IsMachO(head) {
		return nil, ErrNotMachO
	}
	f := &File{Size: size, src: src}
	switch binary.BigEndian.Uint32(head) {
	case magicFat, magicFat6:
		if err := f.universal(head); err != nil {
			return nil, err
		}
		return f, nil
	}
	img := &Image{Size: size, src: src}
	if err := img.read(); err != nil {
		return nil, err
	}
	f.Images = []*Image{img}
	return f, nil
}

// damaged marks an error as the file's own fault.
func damaged(format string, args ...any) error {
	return fmt.Errorf("damaged Mach-O file: "+format, args...)
}

// universal reads the fat header, which is big-endian on every machine, and
// its slices.
func (f *File) universal(head []byte) error {
	f.Universal = true
	f.fat.wide = binary.BigEndian.Uint32(head) == magicFat6
	n := int64(binary.BigEndian.Uint32(head[4:]))
	if n == 0 || n > maxSlices {
		return damaged("%d slices, between 1 and %d are read", n, maxSlices)
	}
	entry := int64(f.fat.entrySize())
	end := fatHeaderSize + n*entry
	if end > f.Size {
		return damaged("the fat header of %d slices does not fit the file (%d bytes)", n, f.Size)
	}
	b, err := f.src.at(fatHeaderSize, n*entry)
	if err != nil {
		return err
	}
	archives := 0
	for k := range int(n) {
		a := f.fat.parse(b[int64(k)*entry:])
		if a.offset < uint64(end) || a.offset > uint64(f.Size) || a.size > uint64(f.Size)-a.offset {
			return damaged("slice %d (%d bytes at %#x) does not lie between the fat header and the end of the file (%d bytes)", k, a.size, a.offset, f.Size)
		}
		if a.align > maxAlign || a.offset&(1<<a.align-1) != 0 {
			return damaged("slice %d at %#x is not aligned to 2^%d", k, a.offset, a.align)
		}
		for l, other := range f.fat.slices {
			if a.offset < other.offset+other.size && other.offset < a.offset+a.size {
				return damaged("slices %d and %d overlap", l, k)
			}
			if a.cpu == other.cpu && a.subtype == other.subtype {
				return damaged("slices %d and %d are both for %s", l, k, archName(a.cpu, a.subtype))
			}
		}
		f.fat.slices = append(f.fat.slices, a)
		if archive, err := f.isArchive(a); err != nil {
			return err
		} else if archive {
			archives++
			continue
		}
		img := &Image{Offset: int64(a.offset), Size: int64(a.size), src: f.src}
		if err := img.read(); err != nil {
			return fmt.Errorf("slice %d: %w", k, err)
		}
		if img.CPU != a.cpu {
			return damaged("slice %d is for %s, and the fat header says %s", k, img.Arch(), archName(a.cpu, a.subtype))
		}
		f.Images = append(f.Images, img)
	}
	if archives > 0 {
		return ErrArchive
	}
	return nil
}

// parse reads a fat_arch or fat_arch_64.
func (h *fatHeader) parse(b []byte) fatArch {
	be := binary.BigEndian
	a := fatArch{cpu: CPU(be.Uint32(b)), subtype: be.Uint32(b[4:])}
	if h.wide {
		a.offset, a.size = be.Uint64(b[8:]), be.Uint64(b[16:])
		a.align, a.reserved = be.Uint32(b[24:]), be.Uint32(b[28:])
	} else {
		a.offset, a.size = uint64(be.Uint32(b[8:])), uint64(be.Uint32(b[12:]))
		a.align = be.Uint32(b[16:])
	}
	return a
}

func (f *File) isArchive(a fatArch) (bool, error) {
	const magic = "!<arch>\n"
	if a.size < uint64(len(magic)) {
		return false, nil
	}
	b, err := f.src.at(int64(a.offset), int64(len(magic)))
	return string(b) == magic, err
}

func (i *Image) read() error {
	if i.Size < headerSize {
		return damaged("%d bytes are too few for a header", i.Size)
	}
	h, err := i.bytes("header", 0, headerSize)
	if err != nil {
		return err
	}
	switch binary.BigEndian.Uint32(h) {
	case magic64LE:
	case magic32LE:
		return fmt.Errorf("%w: it is 32-bit", ErrUnsupported)
	case magic64BE, magic32BE:
		return fmt.Errorf("%w: it is big-endian (PowerPC)", ErrUnsupported)
	case magicFat, magicFat6:
		return damaged("a universal file inside a universal file")
	default:
		return damaged("no Mach-O header (magic %#x)", binary.BigEndian.Uint32(h))
	}
	le := binary.LittleEndian
	i.CPU, i.Subtype = CPU(le.Uint32(h[4:])), le.Uint32(h[8:])
	i.Type, i.Flags = FileType(le.Uint32(h[12:])), le.Uint32(h[24:])
	count, size := le.Uint32(h[16:]), le.Uint32(h[20:])
	if count > maxCommands || size > maxCommandsSize {
		return damaged("%d load commands in %d bytes, at most %d in %d are read", count, size, maxCommands, maxCommandsSize)
	}
	if uint64(count)*8 > uint64(size) {
		return damaged("%d load commands do not fit %d bytes", count, size)
	}
	b, err := i.bytes("load commands", headerSize, uint64(size))
	if err != nil {
		return damaged("%w", err)
	}
	i.CommandsSize = int64(size)
	return i.commands(b, int(count))
}

// commands cuts the load commands apart. They follow one another, so none can
// overlap another, and together they must fill sizeofcmds: bytes that belong to
// no command would be kept by some tools and dropped by others.
func (i *Image) commands(b []byte, count int) error {
	le := binary.LittleEndian
	i.Commands = make([]Command, 0, count)
	off := int64(headerSize)
	for k := range count {
		if len(b) < 8 {
			return damaged("load command %d of %d begins beyond the %d bytes of load commands", k, count, i.CommandsSize)
		}
		cmd, size := le.Uint32(b), le.Uint32(b[4:])
		if size < 8 || size%4 != 0 || int64(size) > int64(len(b)) {
			return damaged("load command %d (%#x) claims %d bytes, and %d are left", k, cmd, size, len(b))
		}
		c := Command{Cmd: cmd, Offset: off, Data: b[:size:size]}
		i.Commands = append(i.Commands, c)
		if err := i.command(c); err != nil {
			return damaged("load command %d (%#x): %w", k, cmd, err)
		}
		b, off = b[size:], off+int64(size)
	}
	if len(b) > 0 {
		return damaged("%d bytes of sizeofcmds belong to no load command", len(b))
	}
	return i.layout()
}

// layout checks that what the load commands name lies in the image, and works
// out the slack.
func (i *Image) layout() error {
	first := uint64(i.Size)
	use := func(what string, off, size uint64) error {
		if size == 0 {
			return nil
		}
		if off > uint64(i.Size) || size > uint64(i.Size)-off {
			return damaged("%s: %d bytes at %#x lie beyond the end of the image (%d bytes)", what, size, off, i.Size)
		}
		first = min(first, off)
		return nil
	}
	for k := range i.Segments {
		seg := &i.Segments[k]
		// A segment that begins at 0 maps the header with it.
		off := seg.Offset
		if seg.FileSize > 0 && (off > uint64(i.Size) || seg.FileSize > uint64(i.Size)-off) {
			return damaged("segment %s: %d bytes at %#x lie beyond the end of the image (%d bytes)", seg.Name, seg.FileSize, off, i.Size)
		}
		if off > 0 && seg.FileSize > 0 {
			first = min(first, off)
		}
		for l := range seg.Sections {
			s := &seg.Sections[l]
			if err := use("relocations of "+s.Name, uint64(s.RelocOffset), uint64(s.RelocCount)*8); err != nil {
				return err
			}
			// A dSYM keeps the sections of its image without their bytes.
			if s.Zerofill() || s.Offset == 0 && i.Type == TypeDSYM || seg.FileSize == 0 && i.Type == TypeDylibStub {
				continue
			}
			if err := use("section "+s.Segment+","+s.Name, uint64(s.Offset), s.Size); err != nil {
				return err
			}
		}
	}
	for _, r := range i.data.ranges {
		if err := use(r.what, r.off, r.size); err != nil {
			return err
		}
	}
	i.Slack = int64(first) - headerSize - i.CommandsSize
	return nil
}

// cstring reads a string in a fixed field, which zeros fill up.
func cstring(b []byte) string {
	if k := bytes.IndexByte(b, 0); k >= 0 {
		b = b[:k]
	}
	return string(b)
}

// lcString reads an lc_str: an offset from the beginning of its command.
func lcString(data []byte, field, smallest int) (string, error) {
	if len(data) < smallest {
		return "", fmt.Errorf("%d bytes are too few", len(data))
	}
	off := binary.LittleEndian.Uint32(data[field:])
	if off < uint32(smallest) || off >= uint32(len(data)) {
		return "", fmt.Errorf("its name at %d lies outside its %d bytes", off, len(data))
	}
	b := data[off:]
	end := bytes.IndexByte(b, 0)
	if end < 0 {
		return "", errors.New("its name has no end")
	}
	return string(b[:end]), nil
}
