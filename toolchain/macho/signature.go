package macho

import (
	"bytes"
	"crypto"
	_ "crypto/sha1" // Old directories still have them beside SHA-256.
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/binary"
	"fmt"
)

// Magic numbers of blobs (cs_blobs.h), which are big-endian throughout.
const (
	blobSuper         = 0xfade0cc0
	blobDirectory     = 0xfade0c02
	blobRequirements  = 0xfade0c01
	blobEntitlements  = 0xfade7171
	blobEntitleDER    = 0xfade7172
	blobWrapper       = 0xfade0b01
	blobLaunch        = 0xfade8181
	blobHeader        = 8
	superHeader       = 12
	superIndex        = 8
	directorySmallest = 44
)

// Slots of a signature (cs_blobs.h, CSSLOT_*). Those below 0x1000 have a hash
// in the code directory.
const (
	SlotDirectory       = 0
	SlotInfoPlist       = 1
	SlotRequirements    = 2
	SlotResources       = 3
	SlotEntitlements    = 5
	SlotEntitlementsDER = 7
	slotAlternate       = 0x1000
	slotAlternateEnd    = 0x1005
	SlotCMS             = 0x10000
)

// Flags of a code directory and of its executable segment (cs_blobs.h).
const (
	CSAdHoc          = 0x2
	CSRuntime        = 0x10000
	CSLinkerSigned   = 0x20000
	ExecMainBinary   = 0x1
	versionTeam      = 0x20200
	versionLimit64   = 0x20300
	versionExecSeg   = 0x20400
	versionRuntime   = 0x20500
	maxBlobs         = 64
	maxSpecialSlots  = 64
	maxIdentifier    = 4096
	largestPageShift = 24
)

// Signature is an embedded code signature as it stands in the file; whether it
// is true is for Verify to say.
type Signature struct {
	// Offset and Size are LC_CODE_SIGNATURE's; Length is what the SuperBlob
	// itself claims, and the rest is padding.
	Offset, Size int64
	Length       uint32
	// Blobs are the SuperBlob's index, in order.
	Blobs []Blob
	// Directories are the code directories, the one in slot 0 first.
	Directories []CodeDirectory
	// Requirements, EntitlementsXML, EntitlementsDER and CMS are what the
	// blobs hold behind their header of 8 bytes; nil without the blob.
	Requirements, EntitlementsXML, EntitlementsDER, CMS []byte
}

// Blob is one entry of a signature.
type Blob struct {
	Slot, Magic uint32
	// Offset counts from the beginning of the SuperBlob.
	Offset uint32
	// Data are all bytes, magic and length included.
	Data []byte
}

// CodeDirectory holds the hashes of an image.
type CodeDirectory struct {
	Slot           uint32
	Version, Flags uint32
	Identifier     string
	// Team is the Apple team id, "" without one.
	Team string
	// HashType: 1 SHA-1, 2 SHA-256, 3 SHA-256 cut to 20 bytes, 4 SHA-384.
	HashType, HashSize, Platform uint8
	// PageSize is in bytes, 0 for one hash over everything.
	PageSize  int64
	CodeLimit int64
	// ExecSeg* are there from version 0x20400 on.
	ExecSegBase, ExecSegLimit, ExecSegFlags uint64
	// Runtime is the version of the hardened runtime, from 0x20500 on.
	Runtime Version
	// Special are the hashes of slots 1, 2, …: Special[n-1] is slot n's.
	Special [][]byte
	// Pages are the hashes of the pages in order, HashSize bytes each.
	Pages []byte
}

// AdHoc reports whether nobody vouches for the signature.
func (s *Signature) AdHoc() bool {
	if len(s.CMS) > 0 {
		return false
	}
	for k := range s.Directories {
		if s.Directories[k].Team != "" {
			return false
		}
	}
	return true
}

// LinkerSigned reports whether a linker made it, which codesign may replace
// without being forced to.
func (s *Signature) LinkerSigned() bool {
	return len(s.Directories) > 0 && s.Directories[0].Flags&CSLinkerSigned != 0
}

// hash is the directory's hash function, and false for unknown ones.
func (d *CodeDirectory) hash() (crypto.Hash, bool) {
	h := map[uint8]crypto.Hash{1: crypto.SHA1, 2: crypto.SHA256, 3: crypto.SHA256, 4: crypto.SHA384}[d.HashType]
	size := map[uint8]uint8{1: 20, 2: 32, 3: 20, 4: 48}[d.HashType]
	return h, h != 0 && d.HashSize == size
}

// Signature reads LC_CODE_SIGNATURE; nil without one.
func (i *Image) Signature() (*Signature, error) {
	if !i.data.hasSignature {
		return nil, nil
	}
	r := i.data.signature
	b, err := i.bytes("code signature", r.off, r.size)
	if err != nil {
		return nil, err
	}
	s, err := parseSignature(b)
	if err != nil {
		return nil, damaged("code signature: %w", err)
	}
	s.Offset, s.Size = int64(r.off), int64(r.size)
	return s, nil
}

func parseSignature(b []byte) (*Signature, error) {
	be := binary.BigEndian
	if len(b) < superHeader {
		return nil, fmt.Errorf("%d bytes are too few", len(b))
	}
	s := &Signature{Length: be.Uint32(b[4:])}
	count := be.Uint32(b[8:])
	switch {
	case be.Uint32(b) != blobSuper:
		return nil, fmt.Errorf("magic %#x in place of %#x", be.Uint32(b), uint32(blobSuper))
	case uint64(s.Length) > uint64(len(b)):
		return nil, fmt.Errorf("it claims %d bytes of %d", s.Length, len(b))
	case count > maxBlobs || superHeader+uint64(count)*superIndex > uint64(s.Length):
		return nil, fmt.Errorf("an index of %d blobs in %d bytes, at most %d are read", count, s.Length, maxBlobs)
	}
	b = b[:s.Length]
	used := map[uint32]bool{}
	for k := range int(count) {
		e := b[superHeader+superIndex*k:]
		blob := Blob{Slot: be.Uint32(e), Offset: be.Uint32(e[4:])}
		if uint64(blob.Offset) < superHeader+uint64(count)*superIndex || uint64(blob.Offset)+blobHeader > uint64(len(b)) {
			return nil, fmt.Errorf("slot %#x lies at %#x, outside its %d bytes", blob.Slot, blob.Offset, len(b))
		}
		rest := b[blob.Offset:]
		size := be.Uint32(rest[4:])
		if size < blobHeader || uint64(size) > uint64(len(rest)) {
			return nil, fmt.Errorf("slot %#x claims %d bytes of %d", blob.Slot, size, len(rest))
		}
		if used[blob.Slot] {
			return nil, fmt.Errorf("slot %#x is there twice", blob.Slot)
		}
		used[blob.Slot] = true
		blob.Magic, blob.Data = be.Uint32(rest), rest[:size:size]
		s.Blobs = append(s.Blobs, blob)
		if err := s.take(blob); err != nil {
			return nil, fmt.Errorf("slot %#x: %w", blob.Slot, err)
		}
	}
	if len(s.Directories) == 0 {
		return nil, fmt.Errorf("no code directory among its %d blobs", count)
	}
	return s, nil
}

func (s *Signature) take(blob Blob) error {
	switch {
	case blob.Slot == SlotDirectory || blob.Slot >= slotAlternate && blob.Slot < slotAlternateEnd:
		d, err := parseDirectory(blob.Data)
		if err != nil {
			return err
		}
		d.Slot = blob.Slot
		if blob.Slot == SlotDirectory {
			s.Directories = append([]CodeDirectory{d}, s.Directories...)
		} else {
			s.Directories = append(s.Directories, d)
		}
	case blob.Slot == SlotRequirements:
		s.Requirements = blob.Data[blobHeader:]
	case blob.Slot == SlotEntitlements:
		s.EntitlementsXML = blob.Data[blobHeader:]
	case blob.Slot == SlotEntitlementsDER:
		s.EntitlementsDER = blob.Data[blobHeader:]
	case blob.Slot == SlotCMS:
		s.CMS = blob.Data[blobHeader:]
	}
	return nil
}

// parseDirectory reads a CS_CodeDirectory, whose fields came in with versions:
// scatter 0x20100, team 0x20200, 64-bit limit 0x20300, executable segment
// 0x20400, runtime 0x20500.
func parseDirectory(b []byte) (CodeDirectory, error) {
	be := binary.BigEndian
	var d CodeDirectory
	if len(b) < directorySmallest {
		return d, fmt.Errorf("%d bytes are too few for a code directory", len(b))
	}
	if be.Uint32(b) != blobDirectory {
		return d, fmt.Errorf("magic %#x is no code directory's", be.Uint32(b))
	}
	d.Version, d.Flags = be.Uint32(b[8:]), be.Uint32(b[12:])
	hashes, ident, special, pages := be.Uint32(b[16:]), be.Uint32(b[20:]), be.Uint32(b[24:]), be.Uint32(b[28:])
	d.CodeLimit = int64(be.Uint32(b[32:]))
	d.HashSize, d.HashType, d.Platform = b[36], b[37], b[38]
	if shift := b[39]; shift > largestPageShift {
		return d, fmt.Errorf("pages of 2^%d bytes", shift)
	} else if shift > 0 {
		d.PageSize = 1 << shift
	}
	for _, v := range []struct{ version, size uint32 }{{versionTeam, 52}, {versionLimit64, 64}, {versionExecSeg, 88}, {versionRuntime, 96}} {
		if d.Version >= v.version && uint32(len(b)) < v.size {
			return d, fmt.Errorf("%d bytes are too few for version %#x", len(b), d.Version)
		}
	}
	var err error
	if d.Identifier, err = blobString(b, ident); err != nil {
		return d, fmt.Errorf("identifier: %w", err)
	}
	if d.Version >= versionTeam {
		if team := be.Uint32(b[48:]); team != 0 {
			if d.Team, err = blobString(b, team); err != nil {
				return d, fmt.Errorf("team: %w", err)
			}
		}
	}
	if d.Version >= versionLimit64 {
		if limit := be.Uint64(b[56:]); limit > 1<<62 {
			return d, fmt.Errorf("a code limit of %#x", limit)
		} else if limit != 0 {
			d.CodeLimit = int64(limit)
		}
	}
	if d.Version >= versionExecSeg {
		d.ExecSegBase, d.ExecSegLimit, d.ExecSegFlags = be.Uint64(b[64:]), be.Uint64(b[72:]), be.Uint64(b[80:])
	}
	if d.Version >= versionRuntime {
		d.Runtime = Version(be.Uint32(b[88:]))
	}
	size := uint64(d.HashSize)
	if special > maxSpecialSlots || uint64(special)*size+directorySmallest > uint64(hashes) ||
		uint64(hashes) > uint64(len(b)) || uint64(pages)*size > uint64(len(b))-uint64(hashes) {
		return d, fmt.Errorf("%d and %d hashes of %d bytes around %#x do not fit its %d bytes", special, pages, size, hashes, len(b))
	}
	for k := range uint64(special) {
		off := uint64(hashes) - (k+1)*size
		d.Special = append(d.Special, b[off:off+size])
	}
	d.Pages = b[hashes:][:uint64(pages)*size]
	return d, nil
}

func blobString(b []byte, off uint32) (string, error) {
	if off < directorySmallest || uint64(off) >= uint64(len(b)) {
		return "", fmt.Errorf("at %#x, outside its %d bytes", off, len(b))
	}
	rest := b[off:]
	end := bytes.IndexByte(rest[:min(len(rest), maxIdentifier)], 0)
	if end < 0 {
		return "", fmt.Errorf("no end within %d bytes", maxIdentifier)
	}
	return string(rest[:end]), nil
}
