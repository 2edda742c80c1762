package emulator

import (
	"encoding/binary"
	"fmt"
)

// Instructions of graphics are in no table: what they are is told by the bits that all
// of a format have in common, so that a fault can say more than that there is none.

// graphicsFormat is a format, by its highest bits.
type graphicsFormat struct {
	mask, bits uint32
	what       string
}

const (
	ofImages   = "images, textures and ray tracing"
	ofTyped    = "buffers with the format in the instruction (tbuffer)"
	ofExports  = "exports of graphics"
	ofPixels   = "attributes of pixels"
	sixBits    = 0xfc000000
	eightBits  = 0xff000000
	typedBit12 = 1 << 21 // of the opcode of VBUFFER
)

// graphicsFormats are those of a generation ("Vega", "RDNA 2", "RDNA 3" and "RDNA 4" ISA,
// "Microcode Formats").
func graphicsFormats(generation int) []graphicsFormat {
	before12 := []graphicsFormat{{sixBits, 0xf0000000, ofImages}, {sixBits, 0xe8000000, ofTyped}}
	later := []graphicsFormat{{sixBits, 0xf8000000, ofExports}, {eightBits, 0xcd000000, ofPixels}, {eightBits, 0xce000000, ofPixels}}
	switch generation {
	case 9:
		return append(before12, graphicsFormat{sixBits, 0xc4000000, ofExports}, graphicsFormat{sixBits, 0xd4000000, ofPixels})
	case 10:
		return append(before12, graphicsFormat{sixBits, 0xf8000000, ofExports}, graphicsFormat{sixBits, 0xc8000000, ofPixels})
	case 11:
		return append(before12, later...)
	case 12:
		return append(later, graphicsFormat{sixBits, 0xd0000000, ofImages}, graphicsFormat{sixBits, 0xe4000000, ofImages}, graphicsFormat{sixBits | typedBit12, 0xc4000000 | typedBit12, ofTyped})
	}
	return nil
}

// explained adds to the error of a decoder what is known of such an instruction.
func explained(err error, generation int, code []byte) string {
	if len(code) >= 4 {
		word := binary.LittleEndian.Uint32(code)
		for _, f := range graphicsFormats(generation) {
			if word&f.mask == f.bits {
				return fmt.Sprintf("%v: instructions for %s are not supported", err, f.what)
			}
		}
	}
	return err.Error()
}
