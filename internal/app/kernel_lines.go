package app

import (
	"path/filepath"

	"github.com/stonemason-hip/stonemason/emulator/lines"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// maxFound bounds how many instructions of a listing are looked up with the calls
// around them, each of which reads all of the debug information.
const maxFound = 4096

// sourceLines tells of the instructions of a listing where they come from.
type sourceLines struct {
	app   *App
	table *lines.Table
	rows  []lines.Row
	found map[uint64]string // by address, of those within functions that were put into others
}

// sourceLines reads the line table of a code object; without one nothing is known.
func (a *App) sourceLines(obj *codeobj.Object) *sourceLines {
	s := &sourceLines{app: a, found: map[uint64]string{}}
	var err error
	if s.table, err = lines.New(obj); err == nil {
		s.rows, _ = s.table.Rows() // without, a listing has no lines
	}
	return s
}

// at returns file:line:column of an instruction, or nothing. Where it comes from a
// header that lies elsewhere, it is the line below the current folder that called what
// is there, with the other behind it.
func (s *sourceLines) at(pc uint64) string {
	p, ok := lines.At(s.rows, pc)
	if !ok {
		return ""
	}
	near := s.app.nearer(p)
	if filepath.IsLocal(near.File) {
		return near.String()
	}
	if text, ok := s.found[pc]; ok || len(s.found) >= maxFound {
		if text == "" {
			text = near.String()
		}
		return text
	}
	text := near.String()
	chain, err := s.table.Find(pc)
	for n := 1; err == nil && n < len(chain); n++ {
		if outer := s.app.nearer(chain[n]); filepath.IsLocal(outer.File) {
			text = outer.String() + " (" + filepath.Base(near.File) + ")"
			break
		}
	}
	s.found[pc] = text
	return text
}
