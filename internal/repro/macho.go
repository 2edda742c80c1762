package repro

import (
	"bytes"
	"debug/macho"
	"encoding/binary"
	"fmt"
)

func isMachO(head []byte) bool {
	for _, magic := range []uint32{macho.Magic32, macho.Magic64} {
		if bytes.HasPrefix(head, binary.BigEndian.AppendUint32(nil, magic)) || bytes.HasPrefix(head, binary.LittleEndian.AppendUint32(nil, magic)) {
			return true
		}
	}
	return false
}

// isFat knows universal files. Java's class files have the same magic, and a
// version where universal files have their number of architectures.
func isFat(head []byte) bool {
	return len(head) >= 8 && binary.BigEndian.Uint32(head) == macho.MagicFat && binary.BigEndian.Uint32(head[4:]) < 32
}

func fatParts(c content) ([]part, error) {
	f, err := macho.NewFatFile(c)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var parts []part
	for _, a := range f.Arches {
		parts = append(parts, part{
			kind: "architecture", name: fmt.Sprintf("%v/%#x", a.Cpu, a.SubCpu), body: whole(c.part(int64(a.Offset), int64(a.Size))),
		})
	}
	return parts, nil
}

// Load commands and section types of Mach-O that matter here (Apple's
// mach-o/loader.h).
const (
	lcUUID          = 0x1b
	lcCodeSignature = 0x1d
	sectionType     = 0xff
	zeroFill        = 0x1
	zeroFillLarge   = 0xc
	zeroFillThread  = 0x12
)

// machoParts are the sections of a Mach-O file, then what the linker adds:
// load commands and the segment __LINKEDIT, in which symbols and signature lie.
func machoParts(c content) ([]part, error) {
	f, err := macho.NewFile(c)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if len(f.Sections)+len(f.Loads) > maxParts {
		return nil, errTooLarge
	}
	var parts []part
	for _, s := range f.Sections {
		p := part{kind: "section", name: clean(s.Seg) + "," + clean(s.Name), body: whole(c.part(int64(s.Offset), int64(s.Size)))}
		switch s.Flags & sectionType {
		case zeroFill, zeroFillLarge, zeroFillThread:
			p.fields = []field{{"size", fmt.Sprint(s.Size)}}
			p.body = whole(c.part(0, 0))
		}
		parts = append(parts, p)
	}
	for i, load := range f.Loads {
		raw := load.Raw()
		var cmd uint32
		if len(raw) >= 4 {
			cmd = f.ByteOrder.Uint32(raw)
		}
		p := part{kind: "load command", name: fmt.Sprintf("%d (%s)", i, loadName(cmd)), rank: 1, body: whole(content{bytes.NewReader(raw), int64(len(raw))})}
		if cmd == lcUUID {
			p.rank = 2
		}
		parts = append(parts, p)
		if seg, ok := load.(*macho.Segment); ok && seg.Name == "__LINKEDIT" {
			parts = append(parts, part{kind: "segment", name: "__LINKEDIT", rank: 1, body: whole(c.part(int64(seg.Offset), int64(seg.Filesz)))})
		}
	}
	return parts, nil
}

func loadName(cmd uint32) string {
	switch cmd {
	case lcUUID:
		return "LC_UUID"
	case lcCodeSignature:
		return "LC_CODE_SIGNATURE"
	}
	return macho.LoadCmd(cmd).String()
}
