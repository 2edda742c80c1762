package audit

import (
	"bytes"
	"io"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// machOFormat recognises images of macOS. In a bundle for another system they
// are foreign.
type machOFormat struct{ platform platform.Platform }

// sniff looks at the magic (mach-o/loader.h, mach-o/fat.h).
func (f *machOFormat) sniff(head []byte) bool {
	if len(head) < 8 {
		return false
	}
	for _, magic := range []string{"\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xfe\xed\xfa\xcf", "\xfe\xed\xfa\xce"} {
		if bytes.HasPrefix(head, []byte(magic)) {
			return true
		}
	}
	// A universal binary has few slices; in a Java class the same place holds
	// the version, 45 or more.
	return bytes.HasPrefix(head, []byte("\xca\xfe\xba\xbe\x00\x00\x00")) && head[7] < 40
}

func (f *machOFormat) load(e *entry, _ io.ReaderAt) (bool, []Finding) {
	if f.platform.OS != "darwin" {
		return false, []Finding{finding(e.path, ruleMachOMachine, "is for macOS, in a bundle for "+f.platform.String(), "build it for "+f.platform.String())}
	}
	return false, []Finding{finding(e.path, ruleMachOUnchecked, "is a macOS image, which this version cannot check", "check it with otool and codesign")}
}

func (f *machOFormat) finish(*Report) []Finding { return nil }
