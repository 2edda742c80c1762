package macho

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotMachO marks files that do not begin with a Mach-O or universal magic,
// Java classes (which share the universal one) among them.
var ErrNotMachO = errors.New("not a Mach-O file")

// ErrUnsupported marks images that are recognised but not read: 32-bit and
// big-endian ones.
var ErrUnsupported = errors.New("not a 64-bit little-endian Mach-O image")

// ErrArchive marks universal files whose slices are static libraries.
var ErrArchive = errors.New("a universal static library, which holds objects and no image")

// File is one Mach-O file as it was when it was read.
type File struct {
	// Universal tells a file with a fat header, be it around one slice, from a
	// thin one.
	Universal bool
	// Size is the file's size in bytes.
	Size int64
	// Images are the slices in the order of the fat header; one for a thin
	// file. There is always at least one.
	Images []*Image

	src source
	fat fatHeader
}

// Image is one Mach-O image: a thin file, or a slice of a universal one. All
// its offsets count from the image's own beginning.
type Image struct {
	// Offset and Size are the image's place in the file, in bytes.
	Offset, Size int64

	CPU CPU
	// Subtype is the whole cpusubtype, capability bits included.
	Subtype uint32
	Type    FileType
	Flags   uint32

	// Commands are all load commands in order; CommandsSize is sizeofcmds, so
	// that 32+CommandsSize is where they end.
	Commands     []Command
	CommandsSize int64
	// Slack is the number of bytes between the end of the load commands and
	// the first byte that anything else in the image uses: the room that an
	// edit has. It is negative where they overlap.
	Slack int64

	// Builds are LC_BUILD_VERSION and LC_VERSION_MIN_*, in order; images for
	// macOS and Mac Catalyst at once have two.
	Builds []Build
	// ID is LC_ID_DYLIB, nil without one.
	ID *Dylib
	// Dylibs are the dependencies in order. Ordinal n of a symbol or import is
	// Dylibs[n-1].
	Dylibs []Dylib
	// Rpaths are the run paths in order, as they stand there, doubles included.
	Rpaths []string
	// Dylinker is LC_LOAD_DYLINKER's path, "" without one.
	Dylinker string
	// DyldEnvironment are the LC_DYLD_ENVIRONMENT strings ("DYLD_…=…").
	DyldEnvironment []string
	Segments        []Segment
	// UUID is LC_UUID, nil without one.
	UUID *[16]byte
	// Entry is the place of main() in the file by LC_MAIN, nil without one.
	Entry *uint64
	// Encrypted is set when LC_ENCRYPTION_INFO names a cipher.
	Encrypted bool

	src  source
	data linkedit
}

// Command is one load command.
type Command struct {
	Cmd uint32
	// Offset is its place in the image.
	Offset int64
	// Data are all its bytes, cmd and cmdsize included; not to be changed.
	Data []byte
}

// Build is what an image was built for.
type Build struct {
	Platform Platform
	MinOS    Version
	// SDK is 0 where the linker did not know it.
	SDK   Version
	Tools []Tool
	// Legacy tells LC_VERSION_MIN_* from LC_BUILD_VERSION.
	Legacy bool
}

// Tool is one tool of LC_BUILD_VERSION: 1 clang, 2 swift, 3 ld, 4 lld.
type Tool struct {
	ID      uint32
	Version Version
}

// Kind is how an image depends on a dylib.
type Kind string

// Kinds of dependencies.
const (
	Load     Kind = "load"
	Weak     Kind = "weak"
	Reexport Kind = "reexport"
	Upward   Kind = "upward"
	Lazy     Kind = "lazy"
	// Delayed is DYLIB_USE_DELAYED_INIT of a dylib_use_command, macOS 15.
	Delayed Kind = "delayed"
)

// Dylib is an install name with its versions.
type Dylib struct {
	Name string
	// Kind is "" for an image's own id.
	Kind                   Kind
	Current, Compatibility Version
}

// Segment is one LC_SEGMENT_64.
type Segment struct {
	Name string
	// Addr and Size are in memory, Offset and FileSize in the image.
	Addr, Size, Offset, FileSize uint64
	// MaxProt and InitProt are VM_PROT bits: 1 read, 2 write, 4 execute.
	MaxProt, InitProt uint32
	Flags             uint32
	Sections          []Section
}

// Section is one section of a segment. In object files, Segment differs from
// the name of the segment that it lies in, which has none.
type Section struct {
	Name, Segment string
	Addr, Size    uint64
	Offset        uint32
	// Align is an exponent of two.
	Align                   uint32
	RelocOffset, RelocCount uint32
	// Flags hold the type in the low byte and attributes above it.
	Flags                uint32
	Reserved1, Reserved2 uint32
}

// Zerofill reports whether the section occupies no bytes of the file:
// S_ZEROFILL, S_GB_ZEROFILL, S_THREAD_LOCAL_ZEROFILL.
func (s *Section) Zerofill() bool {
	switch s.Flags & 0xff {
	case 0x1, 0xc, 0x12:
		return true
	}
	return false
}

// Arch is the image's architecture as lipo and -arch spell it ("arm64").
func (i *Image) Arch() string { return archName(i.CPU, i.Subtype) }

func archName(cpu CPU, subtype uint32) string {
	sub := subtype & subtypeMask
	switch {
	case cpu == CPUARM64 && sub == 2:
		return "arm64e"
	case cpu == CPUARM64:
		return "arm64"
	case cpu == CPUX86_64 && sub == 8:
		return "x86_64h"
	case cpu == CPUX86_64:
		return "x86_64"
	}
	return fmt.Sprintf("cpu %#x", uint32(cpu))
}

// Build is the first LC_BUILD_VERSION or LC_VERSION_MIN_*, and false without one.
func (i *Image) Build() (Build, bool) {
	if len(i.Builds) == 0 {
		return Build{}, false
	}
	return i.Builds[0], true
}

// Linked reports whether dyld or the kernel loads the image: a program, a
// dylib or a bundle. Those must be signed on arm64, objects and dSYMs are not.
func (i *Image) Linked() bool {
	switch i.Type {
	case TypeExecute, TypeDylib, TypeBundle, TypeDylinker:
		return true
	}
	return false
}

// DebugCompanion reports whether the image is the DWARF half of a .dSYM, which
// has the segments of the image it belongs to, but none of their bytes.
func (i *Image) DebugCompanion() bool { return i.Type == TypeDSYM }

// Segment is the first segment of that name, nil without one.
func (i *Image) Segment(name string) *Segment {
	for k := range i.Segments {
		if i.Segments[k].Name == name {
			return &i.Segments[k]
		}
	}
	return nil
}

// Section is the first section of that segment and name, nil without one.
func (i *Image) Section(segment, name string) *Section {
	for k := range i.Segments {
		for l := range i.Segments[k].Sections {
			if s := &i.Segments[k].Sections[l]; s.Segment == segment && s.Name == name {
				return s
			}
		}
	}
	return nil
}

// SectionData are the bytes of a section, none for a zero-filled one. They may
// be shared with the file's and are not to be changed.
func (i *Image) SectionData(s *Section) ([]byte, error) {
	if s.Zerofill() || s.Offset == 0 {
		return nil, nil
	}
	return i.bytes("section "+s.Segment+","+s.Name, uint64(s.Offset), s.Size)
}

// Library is the install name that an ordinal stands for, "" for the special
// ones and for those that are not there.
func (i *Image) Library(ordinal int) string {
	if ordinal < 1 || ordinal > len(i.Dylibs) {
		return ""
	}
	return i.Dylibs[ordinal-1].Name
}

// source is where a file's bytes come from.
type source interface {
	// at returns n bytes at off. The caller has checked that they are there.
	at(off, n int64) ([]byte, error)
}

// memory is a file that lies in memory: nothing is copied.
type memory []byte

func (m memory) at(off, n int64) ([]byte, error) { return m[off : off+n : off+n], nil }

type readerAt struct{ r io.ReaderAt }

func (s readerAt) at(off, n int64) ([]byte, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(s.r, off, n), b); err != nil {
		return nil, err
	}
	return b, nil
}

// bytes are n bytes at off of the image, which the file names.
func (i *Image) bytes(what string, off, n uint64) ([]byte, error) {
	if off > uint64(i.Size) || n > uint64(i.Size)-off {
		return nil, fmt.Errorf("%s: %d bytes at %#x lie beyond the end of the image (%d bytes)", what, n, off, i.Size)
	}
	b, err := i.src.at(i.Offset+int64(off), int64(n))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return b, nil
}

// maxFile bounds what Open takes into memory: the largest images there are
// (a debug build of clang) have about 2 GiB.
const maxFile = 8 << 30

// Open reads the whole file at path into memory, once, and parses it. Its
// errors name the path.
func Open(path string) (*File, error) {
	b, err := readWhole(path)
	if err != nil {
		return nil, err
	}
	f, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return f, nil
}

func readWhole(path string) ([]byte, error) {
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
	if info.Size() > maxFile {
		return nil, fmt.Errorf("read %s: %d bytes, at most %d are read", path, info.Size(), int64(maxFile))
	}
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(f, b); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return b, nil
}

// Parse reads a file that is in memory. The result shares b, which must not
// change as long as it is used.
func Parse(b []byte) (*File, error) { return read(memory(b), int64(len(b))) }

// Read reads a file of size bytes through r: the headers and load commands
// now, the rest when it is asked for, so that r must stay readable. A file
// without a Mach-O magic gives ErrNotMachO, one of another kind ErrUnsupported
// or ErrArchive; every other error means that the file is damaged.
func Read(r io.ReaderAt, size int64) (*File, error) { return read(readerAt{r}, size) }
