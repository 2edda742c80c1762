package repro

import (
	"bytes"
	"debug/elf"
	"fmt"
)

func isELF(head []byte) bool { return bytes.HasPrefix(head, []byte(elf.ELFMAG)) }

// elfParts are the sections of an ELF file, then its headers. Sections are
// taken as they lie in the file, compressed ones too.
func elfParts(c content) ([]part, error) {
	f, err := elf.NewFile(c)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if len(f.Sections) > maxParts {
		return nil, errTooLarge
	}
	var parts []part
	for i, s := range f.Sections {
		if i == 0 && s.Type == elf.SHT_NULL {
			continue
		}
		p := part{kind: "section", name: clean(s.Name), rank: elfRank(s)}
		p.fields = []field{{"type", s.Type.String()}, {"flags", s.Flags.String()}}
		body := c.part(0, 0)
		if s.Type == elf.SHT_NOBITS {
			p.fields = append(p.fields, field{"size", fmt.Sprint(s.Size)})
		} else {
			body = c.part(int64(s.Offset), int64(s.FileSize))
		}
		p.body = whole(body)
		parts = append(parts, p)
	}
	size := int64(64)
	if f.Class == elf.ELFCLASS32 {
		size = 52
	}
	parts = append(parts, part{kind: "ELF header", rank: 1, body: whole(c.part(0, size))})
	for i, prog := range f.Progs {
		parts = append(parts, part{
			kind: "program header", name: fmt.Sprint(i), rank: 1, fields: []field{{"values", fmt.Sprintf("%+v", prog.ProgHeader)}},
			body: whole(c.part(0, 0)),
		})
	}
	return parts, nil
}

// elfRank tells what a section's difference is worth: tables of addresses
// follow what they point at, and an id or a checksum follows everything.
func elfRank(s *elf.Section) int {
	switch s.Name {
	case ".note.gnu.build-id", ".gnu_debuglink", ".gnu_debugaltlink":
		return 2
	case ".eh_frame", ".eh_frame_hdr":
		return 1
	}
	switch s.Type {
	case elf.SHT_SYMTAB, elf.SHT_DYNSYM, elf.SHT_HASH, elf.SHT_GNU_HASH, elf.SHT_REL, elf.SHT_RELA,
		elf.SHT_DYNAMIC, elf.SHT_GNU_VERSYM, elf.SHT_GROUP, elf.SHT_SYMTAB_SHNDX:
		return 1
	}
	return 0
}
