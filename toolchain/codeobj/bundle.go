package codeobj

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// The plain form of an offload bundle (ClangOffloadBundler, "Bundled Binary
// File Layout"); numbers are little-endian:
//
//	magic[24]  count u64  count × { offset u64, size u64, id length u64, id }
//
// Offsets count from the magic.
const (
	bundleMagic     = "__CLANG_OFFLOAD_BUNDLE__"
	maxEntries      = 4096
	maxEntryID      = 1024
	maxBundles      = 1 << 16
	defaultMaxPlain = 1 << 30
)

// Limits bounds what reading a bundle may cost. The zero value means the
// defaults.
type Limits struct {
	MaxUncompressed uint64 // of one compressed bundle, in bytes; 1 GiB by default
}

// Entry is one code object of a bundle.
type Entry struct {
	ID string // as the bundle spells it
	EntryID
	Offset uint64 // from the start of the plain bundle
	Data   []byte // empty for the host entry of an embedded bundle
}

// Bundle is an offload bundle: code objects for several targets in one file.
type Bundle struct {
	Entries    []Entry
	Compressed *Compression // nil for a plain bundle
	Plain      []byte       // the bundle in its plain form
	// Size is how many bytes of the input the bundle takes. A compressed
	// bundle of version 1 does not say: then it is all that was given.
	Size uint64
}

// IsBundle reports whether the data begins like an offload bundle, plain or
// compressed.
func IsBundle(data []byte) bool {
	return bytes.HasPrefix(data, []byte(bundleMagic)) || bytes.HasPrefix(data, []byte(compressedMagic))
}

// ParseBundle reads an offload bundle at the start of the data, plain or
// compressed. Entry IDs must be unique, and entries lie inside of the data and
// behind the table. Data after the bundle is left alone.
func ParseBundle(data []byte, limits Limits) (*Bundle, error) {
	if limits.MaxUncompressed == 0 {
		limits.MaxUncompressed = defaultMaxPlain
	}
	switch {
	case bytes.HasPrefix(data, []byte(bundleMagic)):
		b, err := parsePlain(data)
		if err != nil {
			return nil, fmt.Errorf("offload bundle: %w", err)
		}
		return b, nil
	case bytes.HasPrefix(data, []byte(compressedMagic)):
		b, err := parseCompressed(data, limits)
		if err != nil {
			return nil, fmt.Errorf("compressed offload bundle: %w", err)
		}
		return b, nil
	}
	return nil, errors.New("not an offload bundle: it begins with neither " + bundleMagic + " nor " + compressedMagic)
}

func parsePlain(data []byte) (*Bundle, error) {
	pos := uint64(len(bundleMagic))
	number := func(what string) (uint64, error) {
		b, err := slice(data, pos, 8, what)
		if err != nil {
			return 0, err
		}
		pos += 8
		return binary.LittleEndian.Uint64(b), nil
	}
	count, err := number("number of entries")
	if err != nil {
		return nil, err
	}
	if count > maxEntries {
		return nil, fmt.Errorf("%d entries: at most %d are read", count, maxEntries)
	}
	type extent struct{ off, size uint64 }
	b := &Bundle{}
	var extents []extent
	seen := map[string]bool{}
	for i := range count {
		what := fmt.Sprintf("entry %d of %d", i, count)
		var field [3]uint64
		for j := range field {
			if field[j], err = number(what); err != nil {
				return nil, err
			}
		}
		if field[2] > maxEntryID {
			return nil, fmt.Errorf("%s: an id of %d bytes: at most %d are read", what, field[2], maxEntryID)
		}
		id, err := slice(data, pos, field[2], what)
		if err != nil {
			return nil, err
		}
		pos += field[2]
		e := Entry{ID: string(id), Offset: field[0]}
		if e.EntryID, err = ParseEntryID(e.ID); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		if seen[e.ID] {
			return nil, fmt.Errorf("%s: %q is there twice", what, e.ID)
		}
		seen[e.ID] = true
		b.Entries = append(b.Entries, e)
		extents = append(extents, extent{field[0], field[1]})
	}
	end := pos
	for i, x := range extents {
		if x.size > 0 && x.off < pos {
			return nil, fmt.Errorf("entry %q begins at 0x%x, inside of the table of 0x%x bytes", b.Entries[i].ID, x.off, pos)
		}
		if b.Entries[i].Data, err = slice(data, x.off, x.size, fmt.Sprintf("entry %q", b.Entries[i].ID)); err != nil {
			return nil, err
		}
		end = max(end, x.off+x.size)
	}
	b.Plain, b.Size = data[:end:end], end
	return b, nil
}

// ParseBundles reads all the bundles of a section: linkers lay those of several
// objects one behind the other, with zero bytes between for alignment.
func ParseBundles(section []byte, limits Limits) ([]*Bundle, error) {
	var list []*Bundle
	for off := uint64(0); ; {
		for off < uint64(len(section)) && section[off] == 0 {
			off++
		}
		if off == uint64(len(section)) {
			return list, nil
		}
		if len(list) == maxBundles {
			return nil, fmt.Errorf("more than %d offload bundles", maxBundles)
		}
		b, err := ParseBundle(section[off:], limits)
		if err != nil {
			return nil, fmt.Errorf("at 0x%x of 0x%x bytes: %w", off, len(section), err)
		}
		// The bytes of compressed bundles add up while all are held.
		if b.Compressed != nil {
			limits = limits.less(uint64(len(b.Plain)))
			if limits.MaxUncompressed == 0 {
				return nil, errors.New("the compressed bundles together are larger than allowed")
			}
		}
		list = append(list, b)
		off += b.Size
	}
}

func (l Limits) less(n uint64) Limits {
	if l.MaxUncompressed == 0 {
		l.MaxUncompressed = defaultMaxPlain
	}
	l.MaxUncompressed -= min(n, l.MaxUncompressed)
	return l
}
