package spec

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Bounds of the cache file: a project of 1000 components makes 2 MB of it.
const (
	maxCacheBytes = 256 << 20
	maxCacheFiles = 100_000
)

// memory holds the parsed files of a project from one process to the next, each
// for as long as the kernel says that it is the same file and unwritten since
// (package statcache). Only the parsing is spared: types, rules and limits are
// checked as of a file that was read.
//
// The cache file is the heading, which names the formats and the parser, and
// the project's folder, each ended by a line break; then, with numbers as
// unsigned varints, the number of files and for each: its name, the six numbers
// of its identity, and its frozen document, name and document after their
// lengths in bytes. The last four bytes are the CRC-32C of all before them,
// little-endian. A file that is damaged, of another heading or another folder
// counts as empty, and is written anew.
type memory struct {
	file, heading string
	slack         time.Duration // statcache.Slack; tests are in a hurry

	files map[string]remembered // as read; not written to

	mu     sync.Mutex
	learnt map[string]remembered
}

type remembered struct {
	is     statcache.Identity
	frozen string
}

// remember reads a cache file. "" remembers nothing.
func remember(file, root string) *memory {
	m := &memory{file: file, heading: heading(root), slack: statcache.Slack, learnt: map[string]remembered{}}
	if file == "" {
		return m
	}
	if data, ok := readText(file); ok {
		m.files = parseCache(data, m.heading)
	}
	return m
}

// heading is what a cache file must begin with. A parser of another version
// could read a file differently.
func heading(root string) string {
	parser := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "go.yaml.in/yaml/v3" {
				parser = m.Version
				if m.Replace != nil {
					parser += " " + m.Replace.Path + " " + m.Replace.Version
				}
			}
		}
	}
	return "stonemason-project 1." + strconv.Itoa(yamlx.FrozenVersion) + " " + parser + "\n" + strconv.Quote(root) + "\n"
}

// readText reads a cache file into a string, of which the documents' texts will
// be parts.
func readText(file string) (string, bool) {
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxCacheBytes {
		return "", false
	}
	var b strings.Builder
	b.Grow(int(info.Size()))
	if _, err := io.CopyBuffer(struct{ io.Writer }{&b}, struct{ io.Reader }{io.LimitReader(f, info.Size())}, make([]byte, 64<<10)); err != nil {
		return "", false
	}
	return b.String(), true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parseCache reads the bytes of a cache file; nil when they are not whole.
func parseCache(data, heading string) map[string]remembered {
	if len(data) < len(heading)+4 || !strings.HasPrefix(data, heading) {
		return nil
	}
	body, sum := data[:len(data)-4], data[len(data)-4:]
	crc := uint32(0)
	for rest := body; rest != ""; { // in pieces: a copy of all would cost as much as the rest
		var piece [4 << 10]byte
		n := copy(piece[:], rest)
		crc, rest = crc32.Update(crc, castagnoli, piece[:n]), rest[n:]
	}
	if crc != binary.LittleEndian.Uint32([]byte(sum)) {
		return nil
	}
	body = body[len(heading):]
	bad := false
	number := func() uint64 {
		var n uint64
		for i := range min(len(body), binary.MaxVarintLen64) {
			c := body[i]
			n |= uint64(c&0x7f) << (7 * i)
			if c < 0x80 {
				body = body[i+1:]
				return n
			}
		}
		bad, body = true, ""
		return 0
	}
	text := func() string {
		n := number()
		if n > uint64(len(body)) {
			bad, body = true, ""
			return ""
		}
		s := body[:n]
		body = body[n:]
		return s
	}
	count := number()
	if count > maxCacheFiles {
		return nil
	}
	files := make(map[string]remembered, min(count, uint64(len(body))))
	for range count {
		name := text()
		is := statcache.Identity{
			Dev: number(), Ino: number(), Mode: uint32(number()), Size: int64(number()), Mtime: int64(number()), Ctime: int64(number()),
		}
		files[name] = remembered{is, text()}
		if bad {
			return nil
		}
	}
	if body != "" {
		return nil
	}
	return files
}

// known decodes a file that is unchanged since it was remembered. ok is false
// when it must be read.
func (m *memory) known(path, file string, out any, types *yamlx.Types) (src *yamlx.Source, ok bool, err error) {
	r, ok := m.files[file]
	if !ok {
		return nil, false, nil
	}
	now, err := statcache.Stat(path)
	if err != nil || now != r.is || !readable(now) {
		return nil, false, nil
	}
	src, err = yamlx.Thaw(file, r.frozen, out, yamlx.Shared(types))
	if errors.Is(err, yamlx.ErrFrozen) {
		return nil, false, nil
	}
	return src, true, err
}

// readable reports whether a file is one that decode reads.
func readable(is statcache.Identity) bool {
	return is.Mode&unix.S_IFMT == unix.S_IFREG && is.Size <= yamlx.DefaultMaxBytes
}

// read reads a file, and says which one it was: the zero identity when that is
// not certain, or nothing is to be remembered of it.
func (m *memory) read(path string) ([]byte, statcache.Identity, error) {
	if m.file == "" {
		data, err := os.ReadFile(path)
		return data, statcache.Identity{}, err
	}
	limit := time.Now().Add(-m.slack)
	f, err := os.Open(path)
	if err != nil {
		return nil, statcache.Identity{}, err
	}
	defer f.Close()
	var before, after unix.Stat_t
	begun := unix.Fstat(int(f.Fd()), &before)
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, statcache.Identity{}, err
	}
	ended := unix.Fstat(int(f.Fd()), &after)
	is := statcache.Of(&before)
	if begun != nil || ended != nil || is != statcache.Of(&after) || !is.SettledBy(limit) || int64(len(data)) != is.Size || !readable(is) {
		is = statcache.Identity{}
	}
	return data, is, nil
}

// learn keeps what a file that was read holds.
func (m *memory) learn(file string, is statcache.Identity, src *yamlx.Source) {
	if !is.Exists() || src == nil {
		return
	}
	frozen := string(yamlx.Freeze(nil, src))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.learnt[file] = remembered{is, frozen}
}

// save writes the cache file when something was learnt: of the named files, for
// others are no more. That it cannot be written costs time at the next start,
// and nothing else.
func (m *memory) save(files []string) {
	if len(m.learnt) == 0 {
		return
	}
	var names []string
	for _, name := range files {
		_, old := m.files[name]
		if _, fresh := m.learnt[name]; old || fresh {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > maxCacheFiles {
		return
	}
	var b bytes.Buffer
	number := func(n uint64) { b.Write(binary.AppendUvarint(b.AvailableBuffer(), n)) }
	text := func(s string) {
		number(uint64(len(s)))
		b.WriteString(s)
	}
	b.WriteString(m.heading)
	number(uint64(len(names)))
	for _, name := range names {
		r, fresh := m.learnt[name]
		if !fresh {
			r = m.files[name]
		}
		text(name)
		for _, n := range []uint64{r.is.Dev, r.is.Ino, uint64(r.is.Mode), uint64(r.is.Size), uint64(r.is.Mtime), uint64(r.is.Ctime)} {
			number(n)
		}
		text(r.frozen)
	}
	b.Write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b.Bytes(), castagnoli)))
	_ = statcache.WriteFile(m.file, b.Bytes())
}
