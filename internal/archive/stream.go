package archive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Format names a file format: "tar", "tar.gz", "tar.xz", "tar.zst", "zip", "deb"
// for archives; "plain", "gz", "xz", "zst" for compressed streams.
type Format string

const (
	formatPlain Format = "plain"
	formatGzip  Format = "gz"
	formatXZ    Format = "xz"
	formatZstd  Format = "zst"
	formatZip   Format = "zip"
	formatAr    Format = "ar"
	formatTar   Format = "tar"
)

// maxDictionary bounds the window that a compressed stream may ask for. xz -9
// uses 64 MiB; zstd's own tool refuses more than 128 MiB unless it is told to.
const maxDictionary = 128 << 20

// sniff tells a format by the first bytes (up to 512) of a file. The magic
// numbers: gzip RFC 1952 2.3.1; zstd RFC 8878 3.1.1; xz file format 1.2.1
// section 2.1.1.1; zip APPNOTE 4.3.7 and 4.3.16 (an archive with no entry);
// ar(5). A tar has no magic that every writer sets, so its header checksum is
// recomputed (POSIX ustar, chksum).
func sniff(head []byte) Format {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return formatGzip
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return formatXZ
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return formatZstd
	case bytes.HasPrefix(head, []byte("PK\x03\x04")), bytes.HasPrefix(head, []byte("PK\x05\x06")):
		return formatZip
	case bytes.HasPrefix(head, []byte("!<arch>\n")):
		return formatAr
	case isTarHeader(head):
		return formatTar
	}
	return formatPlain
}

func isTarHeader(head []byte) bool {
	if len(head) < 512 {
		return false
	}
	// The sum is over all bytes with the checksum field taken as blanks.
	sum := int64(8 * ' ')
	blank := true
	for i, b := range head[:512] {
		blank = blank && b == 0
		if i < 148 || i >= 156 {
			sum += int64(b)
		}
	}
	if blank {
		return true // the end mark: a tar with no entry
	}
	field := bytes.Trim(head[148:156], " \x00")
	want, err := strconv.ParseInt(string(field), 8, 64)
	return err == nil && want == sum
}

// Open decompresses the file at name (gzip, xz or zstd by its first bytes,
// anything else as it is) and refuses to yield more than limit bytes. xz files
// made of several blocks are decoded on all cores. Close releases the decoder
// and the file.
func Open(ctx context.Context, name string, limit int64) (io.ReadCloser, Format, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, "", fmt.Errorf("decompress: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, "", fmt.Errorf("decompress: %w", err)
	}
	r, format, err := decompress(ctx, io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		f.Close()
		return nil, "", fmt.Errorf("decompress %s: %w", name, err)
	}
	lr := &limitReader{r: r, max: limit, over: func() error {
		return fmt.Errorf("decompress %s: more than %d bytes come out", name, limit)
	}}
	return &stream{Reader: lr, close: func() error { return errors.Join(r.Close(), f.Close()) }}, format, nil
}

// stream is a reader with a close of its own.
type stream struct {
	io.Reader
	close func() error
}

func (s *stream) Close() error { return s.close() }

// decompress opens the compressed stream in src. The caller closes the result
// before src goes away.
func decompress(ctx context.Context, src *io.SectionReader) (io.ReadCloser, Format, error) {
	head := make([]byte, 512)
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, "", err
	}
	in := bufio.NewReaderSize(&ctxReader{ctx, src}, 1<<18)
	switch format := sniff(head[:n]); format {
	case formatGzip:
		zr, err := gzip.NewReader(in)
		if err != nil {
			return nil, "", &Error{Rule: RuleCorrupt, Err: err}
		}
		return newReadAhead(zr), format, nil
	case formatZstd:
		zr, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(maxDictionary), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, "", &Error{Rule: RuleCorrupt, Err: err}
		}
		return zr.IOReadCloser(), format, nil
	case formatXZ:
		r, err := openXZ(ctx, src)
		return r, format, err
	default:
		return io.NopCloser(in), format, nil
	}
}

// ctxReader ends a read when the context does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// limitReader yields at most max bytes, and the error of over after that.
// Unlike io.LimitReader it tells a full budget from an end.
type limitReader struct {
	r    io.Reader
	n    int64
	max  int64
	over func() error
}

func (l *limitReader) Read(p []byte) (int, error) {
	if l.n > l.max {
		return 0, l.over()
	}
	if room := l.max - l.n + 1; int64(len(p)) > room {
		p = p[:room]
	}
	n, err := l.r.Read(p)
	l.n += int64(n)
	if l.n > l.max {
		return n - int(l.n-l.max), l.over()
	}
	return n, err
}

// readAhead decodes on one core while the caller writes files on another.
type readAhead struct {
	full chan chunk
	free chan []byte
	stop chan struct{}
	done chan struct{}
	cur  []byte
	buf  []byte
	err  error
}

type chunk struct {
	data []byte
	err  error
}

func newReadAhead(r io.Reader) *readAhead {
	const count, size = 4, 256 << 10
	a := &readAhead{
		full: make(chan chunk, count), free: make(chan []byte, count),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range count {
		a.free <- make([]byte, size)
	}
	go func() {
		defer close(a.done)
		defer close(a.full)
		for {
			var buf []byte
			select {
			case buf = <-a.free:
			case <-a.stop:
				return
			}
			var n int
			var err error
			for n < len(buf) && err == nil {
				var m int
				m, err = r.Read(buf[n:])
				n += m
			}
			select {
			case a.full <- chunk{buf[:n], err}:
			case <-a.stop:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return a
}

func (a *readAhead) Read(p []byte) (int, error) {
	for len(a.cur) == 0 {
		if a.err != nil {
			return 0, a.err
		}
		if a.buf != nil {
			a.free <- a.buf[:cap(a.buf)]
			a.buf = nil
		}
		c, ok := <-a.full
		if !ok {
			a.err = io.ErrClosedPipe
			continue
		}
		a.cur, a.buf, a.err = c.data, c.data, c.err
	}
	n := copy(p, a.cur)
	a.cur = a.cur[n:]
	return n, nil
}

// Close stops the decoder and waits until it has let go of its input.
func (a *readAhead) Close() error {
	select {
	case <-a.stop:
	default:
		close(a.stop)
	}
	<-a.done
	return nil
}
