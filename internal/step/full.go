package step

import (
	"bytes"
	"io"
)

// noSpace is what programs print of ENOSPC, in the language that Environment
// gives them (strerror(3) of glibc and of macOS).
var noSpace = []byte("No space left on device")

// output passes on what a program prints, and notices when that is that the
// disk is full: such a program ends like one that found a mistake, and often
// removes what it had written, so that afterwards nothing shows it.
type output struct {
	io.Writer
	tail []byte // the end of what came, shorter than noSpace
	full bool
}

func (o *output) Write(p []byte) (int, error) {
	if !o.full {
		seam := append(o.tail, p[:min(len(p), len(noSpace)-1)]...)
		o.full = bytes.Contains(seam, noSpace) || bytes.Contains(p, noSpace)
		all := append(o.tail, p[max(0, len(p)-len(noSpace)+1):]...)
		o.tail = append([]byte(nil), all[max(0, len(all)-len(noSpace)+1):]...)
	}
	return o.Writer.Write(p)
}
