package macho

import (
	"encoding/binary"
	"fmt"
)

// Bytes are the whole new file. For an edit that changes nothing they are the
// old one's.
func (p *Plan) Bytes() ([]byte, error) {
	f := p.file
	if !p.Changed() {
		return f.src.at(0, f.Size)
	}
	images := make([][]byte, len(p.Slices))
	for k := range p.Slices {
		var err error
		if images[k], err = p.Slices[k].bytes(); err != nil {
			return nil, err
		}
	}
	if !f.Universal {
		return images[0], nil
	}
	return f.fat.write(images)
}

// bytes is the new image.
func (s *SlicePlan) bytes() ([]byte, error) {
	img := s.image
	if !s.Changed {
		return img.bytes("image", 0, uint64(img.Size))
	}
	size := s.dataEnd
	begin := size
	if s.sign != nil {
		// An image that ends anywhere is filled up with zeros, which are
		// signed too.
		begin = align(s.dataEnd, signatureAlign)
		size = begin + s.sign.size(begin)
	}
	old, err := img.bytes("image", 0, uint64(s.dataEnd))
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	copy(b, old)
	clear(b[headerSize : headerSize+img.CommandsSize])
	le := binary.LittleEndian
	le.PutUint32(b[16:], uint32(len(s.commands)))
	le.PutUint32(b[20:], uint32(s.Need))
	at, grown := b[headerSize:], false
	for _, c := range s.commands {
		copy(at, c)
		switch le.Uint32(c) {
		case LCCodeSignature:
			if s.sign != nil {
				le.PutUint32(at[8:], uint32(begin))
				le.PutUint32(at[12:], uint32(size-begin))
			}
		case LCSegment64:
			if !grown && cstring(c[8:24]) == "__LINKEDIT" && size != img.Size {
				grow(at, uint64(size), img.pageSize())
				grown = true
			}
		}
		at = at[len(c):]
	}
	if begin > 1<<32-1 {
		return nil, fmt.Errorf("a signature at %#x is beyond what LC_CODE_SIGNATURE can name", begin)
	}
	if s.sign != nil {
		s.sign.write(b, begin)
	}
	return b, nil
}

// pageSize is the unit that segments are mapped in.
func (i *Image) pageSize() uint64 {
	if i.CPU == CPUARM64 {
		return 0x4000
	}
	return 0x1000
}

// grow makes __LINKEDIT end with the file. Its size in memory is that in the
// file in whole pages, as the linkers make it; an odd one that is enough stays.
func grow(segment []byte, end, page uint64) {
	le := binary.LittleEndian
	size := end - le.Uint64(segment[40:])
	le.PutUint64(segment[48:], size)
	if whole := (size + page - 1) / page * page; le.Uint64(segment[32:]) < size || le.Uint64(segment[32:])%page == 0 {
		le.PutUint64(segment[32:], whole)
	}
}

// checkTail refuses universal files with bytes behind their last slice, which
// writing the slices again would lose.
func (f *File) checkTail() error {
	var end uint64
	for _, a := range f.fat.slices {
		end = max(end, a.offset+a.size)
	}
	if end != uint64(f.Size) {
		return fmt.Errorf("%w: %d bytes behind its last slice belong to none", ErrNotEditable, uint64(f.Size)-end)
	}
	return nil
}

// write lays the slices out one behind the other, in the order of the header
// and with its alignments.
func (h *fatHeader) write(images [][]byte) ([]byte, error) {
	be := binary.BigEndian
	end := uint64(fatHeaderSize + len(images)*h.entrySize())
	offsets := make([]uint64, len(images))
	for k, img := range images {
		offsets[k] = (end + 1<<h.slices[k].align - 1) >> h.slices[k].align << h.slices[k].align
		end = offsets[k] + uint64(len(img))
	}
	if end > 1<<32-1 && !h.wide {
		return nil, fmt.Errorf("the new file would have %d bytes, more than its fat header can name", end)
	}
	b := make([]byte, end)
	be.PutUint32(b, magicFat)
	if h.wide {
		be.PutUint32(b, magicFat6)
	}
	be.PutUint32(b[4:], uint32(len(images)))
	for k, img := range images {
		a := h.slices[k]
		e := b[fatHeaderSize+k*h.entrySize():]
		be.PutUint32(e, uint32(a.cpu))
		be.PutUint32(e[4:], a.subtype)
		if h.wide {
			be.PutUint64(e[8:], offsets[k])
			be.PutUint64(e[16:], uint64(len(img)))
			be.PutUint32(e[24:], a.align)
			be.PutUint32(e[28:], a.reserved)
		} else {
			be.PutUint32(e[8:], uint32(offsets[k]))
			be.PutUint32(e[12:], uint32(len(img)))
			be.PutUint32(e[16:], a.align)
		}
		copy(b[offsets[k]:], img)
	}
	return b, nil
}
