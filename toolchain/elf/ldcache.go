package elf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// maxCache bounds ld.so.cache; a full desktop's has 200 kB.
const maxCache = 64 << 20

// The layout of /etc/ld.so.cache, from glibc's sysdeps/generic/dl-cache.h: a
// header of 48 bytes that starts with the magic and the version, then entries
// of 24 bytes (flags, name, path, OS version, hardware bits), then strings,
// whose offsets count from the start of the header. Older systems put a first,
// libc5-style table before it.
const (
	cacheMagic  = "glibc-ld.so.cache1.1"
	cacheHeader = 48
	cacheEntry  = 24
)

// readCache reads the paths that an ld.so.cache has for each library name, in
// order, for files of p. Entries for special hardware (glibc-hwcaps) are left
// out: what is copied must run on every processor of p.
func readCache(path string, p platform.Platform) (map[string][]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxCache {
		return nil, fmt.Errorf("read %s: %d bytes, at most %d are read", path, info.Size(), maxCache)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	paths, err := parseCache(b, p)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return paths, nil
}

func parseCache(b []byte, p platform.Platform) (map[string][]string, error) {
	at := bytes.Index(b, []byte(cacheMagic))
	if at < 0 || len(b)-at < cacheHeader {
		return nil, errors.New("no cache of glibc's new format (glibc-ld.so.cache1.1)")
	}
	b = b[at:]
	// dl-cache.h, cache_file_new.flags: 2 is little endian, 0 unset (older
	// glibc, the machine's own order), 3 big endian.
	if b[28] == 3 {
		return nil, errors.New("a big-endian cache")
	}
	count := uint64(binary.LittleEndian.Uint32(b[20:]))
	if count > uint64(len(b)-cacheHeader)/cacheEntry {
		return nil, fmt.Errorf("%d entries do not fit into the file", count)
	}
	// ldconfig's flags: 3 is ELF for glibc 2, the second byte the machine
	// (FLAG_X8664_LIB64, FLAG_AARCH64_LIB64).
	want := uint32(0x0303)
	if p.Arch == "arm64" {
		want = 0x0a03
	}
	paths := map[string][]string{}
	for k := range count {
		e := b[cacheHeader+k*cacheEntry:]
		if binary.LittleEndian.Uint32(e) != want || binary.LittleEndian.Uint64(e[16:]) != 0 {
			continue
		}
		name, ok1 := cacheString(b, binary.LittleEndian.Uint32(e[4:]))
		file, ok2 := cacheString(b, binary.LittleEndian.Uint32(e[8:]))
		if !ok1 || !ok2 || !filepath.IsAbs(file) {
			return nil, fmt.Errorf("entry %d has no name or no absolute path", k)
		}
		paths[name] = append(paths[name], file)
	}
	return paths, nil
}

func cacheString(b []byte, off uint32) (string, bool) {
	if uint64(off) >= uint64(len(b)) {
		return "", false
	}
	b = b[off:min(uint64(len(b)), uint64(off)+4096)]
	end := bytes.IndexByte(b, 0)
	if end <= 0 {
		return "", false
	}
	return string(b[:end]), true
}
