package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A Debian binary package, after deb(5) and ar(5): the magic "!<arch>\n", then
// members, each a 60-byte header and its data padded to an even offset. The
// first member is "debian-binary" and says the format's version; the files lie
// in "data.tar", plain or compressed. Only those are unpacked: the control
// member holds scripts for a package manager.

const (
	arMagic      = "!<arch>\n"
	arHeaderSize = 60
	maxArMembers = 64 // a package has three
)

// arMember is one member of an ar archive.
type arMember struct {
	name string
	data *io.SectionReader
}

// arNext reads the member whose header is at offset at, and returns where the
// next one begins. At the end the error is io.EOF.
func arNext(src *io.SectionReader, at int64) (arMember, int64, error) {
	if at >= src.Size() {
		return arMember{}, 0, io.EOF
	}
	var h [arHeaderSize]byte
	if _, err := src.ReadAt(h[:], at); err != nil {
		return arMember{}, 0, fmt.Errorf("ar: truncated header at byte %d", at)
	}
	if string(h[58:60]) != "`\n" {
		return arMember{}, 0, fmt.Errorf("ar: no header at byte %d", at)
	}
	// The name is ended by blanks, and by a slash when GNU ar wrote it.
	name := strings.TrimSuffix(strings.TrimRight(string(h[:16]), " "), "/")
	size, err := strconv.ParseInt(strings.TrimRight(string(h[48:58]), " "), 10, 64)
	if err != nil || size < 0 {
		return arMember{}, 0, fmt.Errorf("ar: member %q has the size %q", name, h[48:58])
	}
	at += arHeaderSize
	if size > src.Size()-at {
		return arMember{}, 0, fmt.Errorf("ar: member %q of %d bytes is truncated", name, size)
	}
	return arMember{name, io.NewSectionReader(src, at, size)}, at + size + size%2, nil
}

func (s *sink) undeb(src *io.SectionReader) error {
	var data *io.SectionReader
	at := int64(len(arMagic))
	for i := 0; ; i++ {
		m, next, err := arNext(src, at)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return refuse("", RuleCorrupt, "%w", err)
		}
		if i == maxArMembers {
			return refuse("", RuleEntries, "more than %d ar members", maxArMembers)
		}
		switch {
		case i == 0:
			version := make([]byte, 4)
			n, _ := m.data.ReadAt(version, 0)
			if m.name != "debian-binary" || !bytes.HasPrefix(version[:n], []byte("2.")) {
				return refuse(m.name, RuleFormat, "an ar archive that is no Debian package of format 2")
			}
		case m.name == "data.tar" || strings.HasPrefix(m.name, "data.tar."):
			if data != nil {
				return refuse(m.name, RuleDuplicate, "two data members")
			}
			data = m.data
		}
		at = next
	}
	if data == nil {
		return refuse("", RuleCorrupt, "a Debian package without a data.tar member")
	}
	_, err := s.untarStream(data)
	return err
}
