package archive

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/klauspost/compress/flate"
)

// directoryBytesPerEntry is what reading a zip's directory may cost for each
// entry that the limits allow. The library reads the whole directory into
// memory; a record takes 46 bytes and its name.
const directoryBytesPerEntry = 256

// budgetReaderAt lets only so many bytes be read while the budget is not off.
type budgetReaderAt struct {
	r    io.ReaderAt
	left int64
	off  bool
}

var errBudget = errors.New("the directory is larger than its entries could need")

func (b *budgetReaderAt) ReadAt(p []byte, at int64) (int, error) {
	if !b.off {
		if b.left -= int64(len(p)); b.left < 0 {
			return 0, errBudget
		}
	}
	return b.r.ReadAt(p, at)
}

func (s *sink) unzip(src *io.SectionReader) error {
	in := &budgetReaderAt{r: src, left: int64(s.lim.Entries)*directoryBytesPerEntry + 1<<20}
	zr, err := zip.NewReader(in, src.Size())
	if errors.Is(err, errBudget) {
		return refuse("", RuleEntries, "%v; at most %d are taken", err, s.lim.Entries)
	}
	if err != nil {
		return refuse("", RuleCorrupt, "%w", err)
	}
	in.off = true
	zr.RegisterDecompressor(zip.Deflate, func(r io.Reader) io.ReadCloser { return flate.NewReader(r) })
	for _, f := range zr.File {
		if err := s.count(f.Name); err != nil {
			return err
		}
		if err := s.zipEntry(f); err != nil {
			return err
		}
	}
	return nil
}

func (s *sink) zipEntry(f *zip.File) error {
	const encrypted = 0x1 // general purpose bit flag, APPNOTE 4.4.4
	if f.Flags&encrypted != 0 {
		return refuse(f.Name, RuleFormat, "encrypted")
	}
	if f.UncompressedSize64 > 1<<62 {
		return refuse(f.Name, RuleFileBytes, "%d bytes", f.UncompressedSize64)
	}
	open := func() (io.ReadCloser, error) {
		r, err := f.Open()
		if err != nil {
			return nil, refuse(f.Name, RuleCorrupt, "%w", err)
		}
		return r, nil
	}
	mode := f.Mode()
	switch {
	case strings.HasSuffix(f.Name, "/"):
		if f.UncompressedSize64 != 0 {
			return refuse(f.Name, RuleCorrupt, "a directory with %d bytes of content", f.UncompressedSize64)
		}
		return s.dir(f.Name, f.Modified)
	case mode.IsRegular():
		return s.file(f.Name, mode&0o100 != 0, int64(f.UncompressedSize64), f.Modified, open)
	case mode&fs.ModeSymlink != 0:
		if f.UncompressedSize64 > maxLinkTarget {
			return refuse(f.Name, RuleSymlink, "target of %d bytes", f.UncompressedSize64)
		}
		r, err := open()
		if err != nil {
			return err
		}
		defer r.Close()
		target, err := io.ReadAll(io.LimitReader(r, maxLinkTarget+1))
		if err != nil {
			return refuse(f.Name, RuleCorrupt, "%w", err)
		}
		return s.symlink(f.Name, string(target))
	case mode.IsDir():
		return s.dir(f.Name, f.Modified)
	}
	return refuse(f.Name, RuleKind, "%s", fmt.Sprintf("mode %v", mode))
}
