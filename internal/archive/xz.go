package archive

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"

	"github.com/ulikunitz/xz"
)

// The xz container, after "The .xz File Format" version 1.2.1: a stream is a
// 12-byte header, blocks, an index of the blocks, and a 12-byte footer that
// tells the index's size. A file holds one or more streams, with padding of
// zeros between them.
//
// The pure Go decoder is about five times slower than the xz tool, so a file
// whose writer cut it in blocks (xz -T, as Debian's tarballs are) is decoded
// block by block on all cores. The index is also what allows to refuse a
// dictionary that would not fit in memory before anything is allocated.

const (
	xzHeaderSize   = 12
	maxXZIndex     = 16 << 20
	maxXZStreams   = 1024
	maxBlockMemory = 32 << 20 // larger blocks are decoded one after the other, streaming
	maxXZWorkers   = 8
)

var xzMagic = []byte("\xfd7zXZ\x00")

// xzBlock is one independently decodable piece.
type xzBlock struct {
	header   [xzHeaderSize]byte // header of its stream: tells the kind of check
	offset   int64
	unpadded int64 // size without the padding to four bytes
	size     int64 // decompressed
}

func (b xzBlock) padded() int64 { return (b.unpadded + 3) &^ 3 }

// openXZ opens the xz file in src.
func openXZ(ctx context.Context, src *io.SectionReader) (io.ReadCloser, error) {
	blocks, err := xzBlocks(src)
	if err != nil {
		return nil, &Error{Rule: RuleCorrupt, Err: err}
	}
	small := len(blocks) > 1
	for _, b := range blocks {
		dict, err := xzDictionary(src, b)
		if err != nil {
			return nil, &Error{Rule: RuleCorrupt, Err: err}
		}
		if dict > maxDictionary {
			return nil, &Error{Rule: RuleMemory, Err: fmt.Errorf("xz dictionary of %d bytes, at most %d are taken", dict, maxDictionary)}
		}
		small = small && b.size <= maxBlockMemory
	}
	if small {
		return newXZBlocks(ctx, src, blocks), nil
	}
	// The decoder reads byte by byte.
	r, err := xz.NewReader(bufio.NewReaderSize(&ctxReader{ctx, io.NewSectionReader(src, 0, src.Size())}, 1<<18))
	if err != nil {
		return nil, &Error{Rule: RuleCorrupt, Err: err}
	}
	return newReadAhead(r), nil
}

// xzBlocks reads the indexes, from the end of the file to its start.
func xzBlocks(src *io.SectionReader) ([]xzBlock, error) {
	var streams [][]xzBlock
	end := src.Size()
	for end > 0 {
		// Stream padding: a multiple of four zero bytes.
		var word [4]byte
		for end >= 4 {
			if _, err := src.ReadAt(word[:], end-4); err != nil {
				return nil, fmt.Errorf("xz: %w", err)
			}
			if word != [4]byte{} {
				break
			}
			end -= 4
		}
		if len(streams) == maxXZStreams {
			return nil, fmt.Errorf("xz: more than %d streams", maxXZStreams)
		}
		blocks, start, err := xzStream(src, end)
		if err != nil {
			return nil, err
		}
		streams = append(streams, blocks)
		end = start
	}
	var all []xzBlock
	for i := len(streams) - 1; i >= 0; i-- {
		all = append(all, streams[i]...)
	}
	return all, nil
}

// xzStream reads the stream that ends at end, and returns where it starts.
func xzStream(src io.ReaderAt, end int64) ([]xzBlock, int64, error) {
	var footer, header [xzHeaderSize]byte
	if end < 2*xzHeaderSize {
		return nil, 0, errors.New("xz: truncated")
	}
	if _, err := src.ReadAt(footer[:], end-xzHeaderSize); err != nil {
		return nil, 0, fmt.Errorf("xz: %w", err)
	}
	if string(footer[10:]) != "YZ" || crc32.ChecksumIEEE(footer[4:10]) != binary.LittleEndian.Uint32(footer[:4]) {
		return nil, 0, errors.New("xz: no stream footer: truncated, or followed by something else")
	}
	indexSize := (int64(binary.LittleEndian.Uint32(footer[4:8])) + 1) * 4
	if indexSize > maxXZIndex || indexSize > end-2*xzHeaderSize {
		return nil, 0, fmt.Errorf("xz: index of %d bytes", indexSize)
	}
	indexAt := end - xzHeaderSize - indexSize
	index := make([]byte, indexSize)
	if _, err := src.ReadAt(index, indexAt); err != nil {
		return nil, 0, fmt.Errorf("xz: %w", err)
	}
	if crc32.ChecksumIEEE(index[:indexSize-4]) != binary.LittleEndian.Uint32(index[indexSize-4:]) || index[0] != 0 {
		return nil, 0, errors.New("xz: index is damaged")
	}
	rest := index[1 : indexSize-4]
	count, rest, ok := uvarint(rest)
	if !ok || count > int64(len(rest))/2 {
		return nil, 0, errors.New("xz: index is damaged")
	}
	blocks := make([]xzBlock, 0, count)
	var total int64
	for range count {
		var b xzBlock
		if b.unpadded, rest, ok = uvarint(rest); ok {
			b.size, rest, ok = uvarint(rest)
		}
		if !ok || b.unpadded == 0 || b.unpadded > indexAt-total {
			return nil, 0, errors.New("xz: index is damaged")
		}
		b.offset = total // from the first block; made absolute below
		total += b.padded()
		blocks = append(blocks, b)
	}
	start := indexAt - total - xzHeaderSize
	if start < 0 {
		return nil, 0, errors.New("xz: index claims more than the file holds")
	}
	if _, err := src.ReadAt(header[:], start); err != nil {
		return nil, 0, fmt.Errorf("xz: %w", err)
	}
	if !bytes.HasPrefix(header[:], xzMagic) || [2]byte(header[6:8]) != [2]byte(footer[8:10]) {
		return nil, 0, errors.New("xz: stream header and footer disagree")
	}
	for i := range blocks {
		blocks[i].header = header
		blocks[i].offset += start + xzHeaderSize
	}
	return blocks, start, nil
}

// uvarint reads a multibyte integer (section 1.2), at most 63 bits.
func uvarint(p []byte) (int64, []byte, bool) {
	v, n := binary.Uvarint(p)
	if n <= 0 || n > 9 || v > 1<<63-1 {
		return 0, p, false
	}
	return int64(v), p[n:], true
}

// xzDictionary returns the dictionary size that a block's header asks for
// (sections 3.1 and 5.3.1).
func xzDictionary(src io.ReaderAt, b xzBlock) (int64, error) {
	bad := errors.New("xz: block header is damaged")
	var first [1]byte
	if _, err := src.ReadAt(first[:], b.offset); err != nil {
		return 0, fmt.Errorf("xz: %w", err)
	}
	size := (int64(first[0]) + 1) * 4
	if first[0] == 0 || size > b.padded() {
		return 0, bad
	}
	head := make([]byte, size)
	if _, err := src.ReadAt(head, b.offset); err != nil {
		return 0, fmt.Errorf("xz: %w", err)
	}
	flags, rest, ok := head[1], head[2:], true
	for _, bit := range []byte{0x40, 0x80} { // compressed size, uncompressed size
		if flags&bit != 0 && ok {
			_, rest, ok = uvarint(rest)
		}
	}
	for range flags&3 + 1 {
		var id, props int64
		if ok {
			id, rest, ok = uvarint(rest)
		}
		if ok {
			props, rest, ok = uvarint(rest)
		}
		if !ok || props > int64(len(rest)) {
			return 0, bad
		}
		const lzma2 = 0x21
		if id == lzma2 && props == 1 {
			bits := rest[0] & 0x3f
			if bits >= 40 {
				return 1<<32 - 1, nil
			}
			return int64(2|bits&1) << (bits/2 + 11), nil
		}
		rest = rest[props:]
	}
	return 0, errors.New("xz: block without the LZMA2 filter")
}

// xzParallel decodes blocks on several cores and hands them out in order.
type xzParallel struct {
	ctx    context.Context // of the workers
	cancel context.CancelFunc
	queue  chan chan chunk
	free   chan []byte
	wait   sync.WaitGroup
	cur    []byte
	buf    []byte
	err    error
}

func newXZBlocks(ctx context.Context, src io.ReaderAt, blocks []xzBlock) *xzParallel {
	workers := min(runtime.GOMAXPROCS(0), maxXZWorkers)
	ctx, cancel := context.WithCancel(ctx)
	p := &xzParallel{
		ctx: ctx, cancel: cancel,
		queue: make(chan chan chunk, workers), free: make(chan []byte, workers+2),
	}
	// A block stays in memory from the start of its decoding until the caller
	// has read it: at most queue + one waiting + one being read.
	p.wait.Go(func() {
		defer close(p.queue)
		slots := make(chan struct{}, workers)
		for _, b := range blocks {
			promise := make(chan chunk, 1)
			select {
			case p.queue <- promise:
			case <-ctx.Done():
				return
			}
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				promise <- chunk{err: ctx.Err()}
				return
			}
			p.wait.Go(func() {
				defer func() { <-slots }()
				data, err := p.decode(src, b)
				promise <- chunk{data, err}
			})
		}
	})
	return p
}

// decode turns one block into a whole stream of one block and decodes that, so
// that the library verifies every size and checksum.
func (p *xzParallel) decode(src io.ReaderAt, b xzBlock) ([]byte, error) {
	index := binary.AppendUvarint([]byte{0, 1}, uint64(b.unpadded))
	index = binary.AppendUvarint(index, uint64(b.size))
	for len(index)%4 != 0 {
		index = append(index, 0)
	}
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
	tail := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1))
	tail = append(tail, b.header[6:8]...)
	footer := binary.LittleEndian.AppendUint32(nil, crc32.ChecksumIEEE(tail))
	footer = append(append(footer, tail...), "YZ"...)

	r, err := xz.ReaderConfig{SingleStream: true}.NewReader(bufio.NewReaderSize(&ctxReader{p.ctx, io.MultiReader(
		bytes.NewReader(b.header[:]),
		io.NewSectionReader(src, b.offset, b.padded()),
		bytes.NewReader(index), bytes.NewReader(footer),
	)}, 1<<17))
	if err != nil {
		return nil, &Error{Rule: RuleCorrupt, Err: err}
	}
	var buf []byte
	select {
	case buf = <-p.free:
	default:
	}
	if int64(cap(buf)) < b.size {
		buf = make([]byte, b.size)
	}
	buf = buf[:b.size]
	if _, err := io.ReadFull(r, buf); err != nil {
		return nil, &Error{Rule: RuleCorrupt, Err: fmt.Errorf("xz block: %w", err)}
	}
	// The checks come after the last byte.
	if n, err := r.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		return nil, &Error{Rule: RuleCorrupt, Err: fmt.Errorf("xz block: longer than its index says, or damaged: %v", err)}
	}
	return buf, nil
}

func (p *xzParallel) Read(out []byte) (int, error) {
	for len(p.cur) == 0 {
		if p.err != nil {
			return 0, p.err
		}
		if p.buf != nil {
			select {
			case p.free <- p.buf:
			default:
			}
			p.buf = nil
		}
		promise, ok := <-p.queue
		if !ok {
			// The workers end early only when they are told to.
			if p.err = p.ctx.Err(); p.err == nil {
				p.err = io.EOF
			}
			continue
		}
		c := <-promise
		p.cur, p.buf, p.err = c.data, c.data, c.err
	}
	n := copy(out, p.cur)
	p.cur = p.cur[n:]
	return n, nil
}

// Close stops the workers and waits for them.
func (p *xzParallel) Close() error {
	p.cancel()
	p.wait.Wait()
	return nil
}
