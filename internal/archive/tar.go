package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
)

// untarStream unpacks a tar that may be compressed.
func (s *sink) untarStream(src *io.SectionReader) (Format, error) {
	r, format, err := decompress(s.ctx, src)
	if err != nil {
		return "", err
	}
	defer r.Close()
	name := Format("tar")
	if format != formatPlain && format != formatTar {
		name += "." + format
	}
	most, _ := s.most()
	limited := &limitReader{r: r, max: most, over: func() error { return s.tooMuch("") }}
	// io.ReadFull would not tell a stream that was cut off from a short one.
	head, err := io.ReadAll(io.LimitReader(limited, 512))
	if err != nil {
		return name, err
	}
	if !isTarHeader(head) {
		return name, refuse("", RuleFormat, "%s", notTar(format, len(head)))
	}
	if err := s.untar(tar.NewReader(io.MultiReader(newBytes(head), limited))); err != nil {
		return name, err
	}
	// The checksum of a compressed stream comes after its last byte.
	if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, limited, s.buf); err != nil {
		return name, blame("", err)
	}
	return name, nil
}

func notTar(format Format, n int) string {
	const known = "tar, tar.gz, tar.xz, tar.zst, zip and deb are known"
	switch {
	case format == formatPlain && n == 0:
		return "the file is empty"
	case format == formatPlain:
		return "no archive by its first bytes; " + known
	}
	return fmt.Sprintf("a %s stream that holds no tar; %s", format, known)
}

// newBytes reads p once; it lets the first block be looked at and then parsed.
func newBytes(p []byte) io.Reader { return &onceReader{p} }

type onceReader struct{ p []byte }

// Read implements io.Reader.
func (r *onceReader) Read(p []byte) (int, error) {
	if len(r.p) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.p)
	r.p = r.p[n:]
	return n, nil
}

func (s *sink) untar(tr *tar.Reader) error {
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return blame("", err)
		}
		if err := s.count(h.Name); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
			err = s.file(h.Name, h.Mode&0o100 != 0, h.Size, h.ModTime, func() (io.ReadCloser, error) {
				return io.NopCloser(tr), nil
			})
		case tar.TypeDir:
			err = s.dir(h.Name, h.ModTime)
		case tar.TypeSymlink:
			err = s.symlink(h.Name, h.Linkname)
		case tar.TypeLink:
			err = s.hardlink(h.Name, h.Linkname)
		case tar.TypeXGlobalHeader:
			// A comment, such as the commit that git archive writes.
		case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
			err = refuse(h.Name, RuleKind, "a device or pipe (tar type %q)", h.Typeflag)
		default:
			err = refuse(h.Name, RuleFormat, "tar type %q", h.Typeflag)
		}
		if err != nil {
			return err
		}
	}
}
