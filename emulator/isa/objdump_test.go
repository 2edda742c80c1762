package isa

import (
	"strings"
	"testing"
)

// Any bytes give an instruction with a text, or an error.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x01, 0x05, 0x04, 0x02})
	f.Add([]byte{0xf9, 0x04, 0x00, 0x7e, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0, 0, 0xac, 0xd3, 0x18, 0x33, 0x02, 0, 0, 8, 0xad, 0xd3, 4, 0x19, 0x52, 4})
	var decoders []*Decoder
	t, err := load()
	if err != nil {
		f.Fatal(err)
	}
	for _, c := range t.columns {
		d, err := newDecoder(c.processors[0], c.wave64)
		if err != nil {
			f.Fatal(err)
		}
		decoders = append(decoders, d)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, d := range decoders {
			inst, err := d.Decode(code)
			if err != nil {
				continue
			}
			if int(inst.Size) > len(code) || inst.Op == 0 || inst.String() == "" || inst.Name() == "" {
				t.Fatalf("%x: %q of %d bytes", code, inst.String(), inst.Size)
			}
		}
	})
}

// A decoder exists for the targets of the table alone.
func TestUnknownTarget(t *testing.T) {
	if _, err := NewDecoder("gfx803"); err == nil || !strings.Contains(err.Error(), "gfx942, gfx950") {
		t.Errorf("gfx803: %v", err)
	}
}
