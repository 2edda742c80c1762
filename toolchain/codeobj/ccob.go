package codeobj

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// The compressed form of an offload bundle (clang's CompressedOffloadBundle);
// numbers are little-endian:
//
//	version 1: magic[4] version u16 method u16                plain size u32 hash u64
//	version 2: magic[4] version u16 method u16 file size u32  plain size u32 hash u64
//	version 3: magic[4] version u16 method u16 file size u64  plain size u64 hash u64
//
// The file size counts the header too. The hash is the first eight bytes of the
// MD5 of the plain bundle, as a little-endian number: against damage, not
// against intent.
const compressedMagic = "CCOB"

// Method is how a bundle is compressed (llvm::compression::Format).
type Method uint16

// The methods.
const (
	MethodZlib Method = 0
	MethodZstd Method = 1
)

// String names the method.
func (m Method) String() string {
	switch m {
	case MethodZlib:
		return "zlib"
	case MethodZstd:
		return "zstd"
	}
	return fmt.Sprintf("method %d", uint16(m))
}

// Compression is the header of a compressed bundle.
type Compression struct {
	Version   int    // 1, 2 or 3
	Method    Method // zlib or zstd
	FileSize  uint64 // header and compressed bytes; version 1 does not record it: 0
	PlainSize uint64 // size of the plain bundle
	Hash      uint64 // first eight bytes of the plain bundle's MD5
	header    uint64 // bytes of the header
}

func parseCompression(data []byte) (*Compression, error) {
	le := binary.LittleEndian
	common, err := slice(data, 0, 8, "header")
	if err != nil {
		return nil, err
	}
	c := &Compression{Version: int(le.Uint16(common[4:])), Method: Method(le.Uint16(common[6:]))}
	switch c.Version {
	case 1:
		c.header = 20
	case 2:
		c.header = 24
	case 3:
		c.header = 32
	default:
		return nil, fmt.Errorf("version %d: only 1, 2 and 3 are read", c.Version)
	}
	h, err := slice(data, 0, c.header, "header")
	if err != nil {
		return nil, err
	}
	switch c.Version {
	case 1:
		c.PlainSize = uint64(le.Uint32(h[8:]))
	case 2:
		c.FileSize, c.PlainSize = uint64(le.Uint32(h[8:])), uint64(le.Uint32(h[12:]))
	case 3:
		c.FileSize, c.PlainSize = le.Uint64(h[8:]), le.Uint64(h[16:])
	}
	c.Hash = le.Uint64(h[c.header-8:])
	if c.Method != MethodZlib && c.Method != MethodZstd {
		return nil, fmt.Errorf("compressed by %s: only zlib (0) and zstd (1) are read", c.Method)
	}
	if c.Version > 1 && (c.FileSize < c.header || c.FileSize > uint64(len(data))) {
		return nil, fmt.Errorf("its header says %d bytes, there are %d", c.FileSize, len(data))
	}
	return c, nil
}

func parseCompressed(data []byte, limits Limits) (*Bundle, error) {
	c, err := parseCompression(data)
	if err != nil {
		return nil, err
	}
	if c.PlainSize > limits.MaxUncompressed {
		return nil, fmt.Errorf("%d bytes uncompressed: at most %d are allowed", c.PlainSize, limits.MaxUncompressed)
	}
	size := uint64(len(data))
	if c.FileSize != 0 {
		size = c.FileSize
	}
	plain, err := c.inflate(data[c.header:size])
	if err != nil {
		return nil, err
	}
	sum := md5.Sum(plain)
	if got := binary.LittleEndian.Uint64(sum[:]); got != c.Hash {
		return nil, fmt.Errorf("the hash of its content is %016x, the header says %016x: it is damaged", got, c.Hash)
	}
	if !bytes.HasPrefix(plain, []byte(bundleMagic)) {
		return nil, errors.New("its content is not an offload bundle")
	}
	b, err := parsePlain(plain)
	if err != nil {
		return nil, err
	}
	b.Compressed, b.Plain, b.Size = c, plain, size
	return b, nil
}

// inflate unpacks exactly PlainSize bytes. Memory grows with what is unpacked,
// not with what the header announces.
func (c *Compression) inflate(packed []byte) ([]byte, error) {
	var from io.Reader
	switch c.Method {
	case MethodZlib:
		z, err := zlib.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, fmt.Errorf("zlib: %w", err)
		}
		defer z.Close()
		from = z
	case MethodZstd:
		// No window need be larger than the content.
		z, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(max(c.PlainSize, 1)), zstd.WithDecoderMaxWindow(max(c.PlainSize, 1<<20)))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		defer z.Close()
		from = z
	}
	// One byte more than announced is enough to see that there is more. Version
	// 1 does not say where the packed bytes end, so padding may follow them.
	most := int64(c.PlainSize)
	if c.Version > 1 {
		most++
	}
	var plain bytes.Buffer
	if _, err := io.Copy(&plain, io.LimitReader(from, most)); err != nil {
		return nil, fmt.Errorf("%s: after %d of %d bytes: %w", c.Method, plain.Len(), c.PlainSize, err)
	}
	if uint64(plain.Len()) != c.PlainSize {
		return nil, fmt.Errorf("%s: gives %d bytes, or more, its header says %d", c.Method, plain.Len(), c.PlainSize)
	}
	return plain.Bytes(), nil
}
