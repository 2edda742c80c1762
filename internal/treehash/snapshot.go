package treehash

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// A snapshot file holds what was learnt of a workspace, in a form that is
// checked against the disk as it lies there, without being taken apart:
//
//	heading, then four little-endian uint32: bytes of meta, number of folders,
//	number of leaves, bytes of names
//	meta    JSON (see meta)
//	folders folderSize bytes each, sorted by path
//	leaves  leafSize bytes each, by folder
//	names   paths of folders, base names of leaves and targets of links, each
//	        ended by a zero byte
//	CRC-32C of all before it
//
// Another heading is another format: the file is ignored.
const snapshotHeading = "stonemason-workspace 1\n"

const (
	folderSize = 80 // path 4+4, first leaf 4, leaves 4, flags 4, mode 4, dev, ino, size, mtime, ctime 8 each, names 16
	leafSize   = 88 // name 4+2, flags 2, dev 8, mode 4, target 4, ino, size, mtime, ctime 8 each, sha256 32
)

// maxSnapshot bounds the file that is read: two million entries with names of
// a hundred bytes.
const maxSnapshot = 512 << 20

// Flags of folders and leaves.
const (
	flagSettled = 1 << iota // the identity vouches for what was learnt
	flagListed              // folders: it is an entry itself
	flagLink                // leaves: a symlink
)

// meta is the part of a snapshot that is small.
type meta struct {
	// Dir and Exclude say which workspace it is.
	Dir     string   `json:"dir"`
	Exclude []string `json:"exclude"`
	// Top is the repository around it, Git the program that listed it; "" for
	// none.
	Top string `json:"top"`
	Git string `json:"git"`
	// Rules are the files that decide what git lists.
	Rules []rule `json:"rules"`
	// Ask means that git's listing depends on more than Rules.
	Ask   bool   `json:"ask"`
	ID    string `json:"id"`
	Stats Stats  `json:"stats"`
}

// rule is a file as it was before git read it.
type rule struct {
	Path    string             `json:"path"`
	Is      statcache.Identity `json:"is"`
	Settled bool               `json:"settled"`
}

// folder is a watched folder. names is a hash over the names and kinds of all
// that is in it; only a settled listing gives one that can be relied on.
type folder struct {
	path            string
	is              statcache.Identity
	names           [16]byte
	settled, listed bool
}

// leaf is a file or symlink with what its id was made of.
type leaf struct {
	Entry
	is      statcache.Identity
	settled bool
}

type snapshot struct {
	meta
	folders []folder
	leaves  []leaf
}

// entries are all entries, sorted by path.
func (s *snapshot) entries() []Entry {
	list := make([]Entry, 0, len(s.folders)+len(s.leaves))
	for _, f := range s.folders {
		if f.listed && f.path != "" {
			list = append(list, Entry{Path: f.path, Type: Dir})
		}
	}
	for _, l := range s.leaves {
		list = append(list, l.Entry)
	}
	slices.SortFunc(list, byPath)
	return list
}

// parent is the folder of a path; "" is the workspace itself.
func parent(p string) string {
	if dir := path.Dir(p); dir != "." {
		return dir
	}
	return ""
}

// encode writes the snapshot file's bytes.
func (s *snapshot) encode() ([]byte, error) {
	slices.SortFunc(s.folders, func(a, b folder) int { return bytes.Compare([]byte(a.path), []byte(b.path)) })
	at := make(map[string]int, len(s.folders))
	for i, f := range s.folders {
		at[f.path] = i
	}
	var missing string
	byFolder := func(l leaf) int {
		i, ok := at[parent(l.Path)]
		if !ok {
			missing = l.Path
		}
		return i
	}
	order := make([]int, len(s.leaves))
	home := make([]int, len(s.leaves))
	for i, l := range s.leaves {
		order[i], home[i] = i, byFolder(l)
	}
	if missing != "" {
		return nil, fmt.Errorf("the folder of %s is not watched", missing)
	}
	slices.SortStableFunc(order, func(a, b int) int { return home[a] - home[b] })
	metaJSON, err := json.Marshal(s.meta)
	if err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	names := make([]byte, 0, 16*(len(s.folders)+len(s.leaves)))
	put := func(name string) uint32 {
		offset := uint32(len(names))
		names = append(append(names, name...), 0)
		return offset
	}
	size := len(snapshotHeading) + 16 + len(metaJSON) + len(s.folders)*folderSize + len(s.leaves)*leafSize
	b := make([]byte, 0, size+cap(names)+4)
	b = append(b, snapshotHeading...)
	sizes := len(b)
	b = append(b, make([]byte, 16)...)
	b = append(b, metaJSON...)
	next := 0
	for i, f := range s.folders {
		first := next
		for next < len(order) && home[order[next]] == i {
			next++
		}
		var flags uint32
		if f.settled {
			flags |= flagSettled
		}
		if f.listed {
			flags |= flagListed
		}
		for _, n := range []uint32{put(f.path), uint32(len(f.path)), uint32(first), uint32(next - first), flags, f.is.Mode} {
			b = le.AppendUint32(b, n)
		}
		for _, n := range []uint64{f.is.Dev, f.is.Ino, uint64(f.is.Size), uint64(f.is.Mtime), uint64(f.is.Ctime)} {
			b = le.AppendUint64(b, n)
		}
		b = append(b, f.names[:]...)
	}
	for _, i := range order {
		l := &s.leaves[i]
		name := path.Base(l.Path)
		var flags uint16
		if l.settled {
			flags |= flagSettled
		}
		var target uint32
		b = le.AppendUint32(b, put(name))
		b = le.AppendUint16(b, uint16(len(name)))
		if l.Type == Symlink {
			flags |= flagLink
			target = put(l.Target)
		}
		b = le.AppendUint16(b, flags)
		b = le.AppendUint64(b, l.is.Dev)
		b = le.AppendUint32(b, l.is.Mode)
		b = le.AppendUint32(b, target)
		for _, n := range []uint64{l.is.Ino, uint64(l.is.Size), uint64(l.is.Mtime), uint64(l.is.Ctime)} {
			b = le.AppendUint64(b, n)
		}
		var sum [32]byte
		if l.Type == File {
			if n, err := hex.Decode(sum[:], []byte(l.SHA256)); err != nil || n != len(sum) {
				return nil, fmt.Errorf("%s has no hash", l.Path)
			}
		}
		b = append(b, sum[:]...)
	}
	b = append(b, names...)
	for i, n := range []int{len(metaJSON), len(s.folders), len(s.leaves), len(names)} {
		le.PutUint32(b[sizes+4*i:], uint32(n))
	}
	if len(b)+4 > maxSnapshot {
		return nil, errors.New("too many entries to remember")
	}
	return sealed(b), nil
}

// sealed adds the checksum.
func sealed(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

// view is a snapshot file in memory. All offsets have been checked.
type view struct {
	meta
	folders, leaves, names []byte
}

var errDamaged = errors.New("the snapshot of the workspace is damaged")

// readView reads a snapshot file and checks every bound in it.
func readView(file string) (*view, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSnapshot {
		return nil, errDamaged
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	return parseView(data)
}

func parseView(data []byte) (*view, error) {
	le := binary.LittleEndian
	rest, ok := bytes.CutPrefix(data, []byte(snapshotHeading))
	if !ok || len(rest) < 16+4 {
		return nil, errDamaged
	}
	body := data[:len(data)-4]
	if crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)) != le.Uint32(data[len(body):]) {
		return nil, errDamaged
	}
	var sizes [4]uint64
	for i := range sizes {
		sizes[i] = uint64(le.Uint32(rest[4*i:]))
	}
	sizes[1] *= folderSize
	sizes[2] *= leafSize
	rest = rest[16 : len(rest)-4]
	if sizes[0]+sizes[1]+sizes[2]+sizes[3] != uint64(len(rest)) {
		return nil, errDamaged
	}
	v := &view{}
	part := func(i int) (p []byte) {
		p, rest = rest[:sizes[i]], rest[sizes[i]:]
		return p
	}
	if err := json.Unmarshal(part(0), &v.meta); err != nil {
		return nil, errDamaged
	}
	v.folders, v.leaves, v.names = part(1), part(2), part(3)
	return v, v.check()
}

// check looks at every offset and name, so that nothing after it needs to.
func (v *view) check() error {
	le := binary.LittleEndian
	next := uint32(0)
	for i := range v.folderCount() {
		r := v.folders[i*folderSize:]
		at, length := le.Uint32(r), le.Uint32(r[4:])
		if !v.hasName(at, length) || le.Uint32(r[8:]) != next {
			return errDamaged
		}
		if length > 0 && !filepath.IsLocal(string(v.names[at:at+length])) {
			return errDamaged
		}
		count := le.Uint32(r[12:])
		if uint64(next)+uint64(count) > uint64(v.leafCount()) {
			return errDamaged
		}
		next += count
	}
	if int(next) != v.leafCount() || v.folderCount() == 0 || le.Uint32(v.folders[4:]) != 0 {
		return errDamaged // the first folder is the workspace itself
	}
	for i := range v.leafCount() {
		r := v.leaves[i*leafSize:]
		at, length := le.Uint32(r), uint32(le.Uint16(r[4:]))
		if length == 0 || !v.hasName(at, length) || bytes.IndexByte(v.names[at:at+length], '/') >= 0 {
			return errDamaged
		}
		if length <= 2 && strings.Trim(string(v.names[at:at+length]), ".") == "" {
			return errDamaged
		}
		if le.Uint16(r[6:])&flagLink != 0 && uint64(le.Uint32(r[20:])) >= uint64(len(v.names)) {
			return errDamaged
		}
	}
	if n := len(v.names); n == 0 || v.names[n-1] != 0 {
		return errDamaged
	}
	return nil
}

// hasName reports whether a name lies in names and ends there.
func (v *view) hasName(at, length uint32) bool {
	end := uint64(at) + uint64(length)
	return end < uint64(len(v.names)) && v.names[end] == 0 && bytes.IndexByte(v.names[at:end], 0) < 0
}

func (v *view) folderCount() int { return len(v.folders) / folderSize }
func (v *view) leafCount() int   { return len(v.leaves) / leafSize }

// folderAt takes a folder apart; count is the number of leaves from first on.
func (v *view) folderAt(i int) (f folder, first, count int) {
	le := binary.LittleEndian
	r := v.folders[i*folderSize : (i+1)*folderSize]
	at := le.Uint32(r)
	flags := le.Uint32(r[16:])
	f = folder{
		path: string(v.names[at : at+le.Uint32(r[4:])]), settled: flags&flagSettled != 0, listed: flags&flagListed != 0,
		is: statcache.Identity{
			Mode: le.Uint32(r[20:]), Dev: le.Uint64(r[24:]), Ino: le.Uint64(r[32:]),
			Size: int64(le.Uint64(r[40:])), Mtime: int64(le.Uint64(r[48:])), Ctime: int64(le.Uint64(r[56:])),
		},
		names: [16]byte(r[64:80]),
	}
	return f, int(le.Uint32(r[8:])), int(le.Uint32(r[12:]))
}

// leafIs is the identity of a leaf, its name with the zero byte, and whether
// the identity can be relied on.
func (v *view) leafIs(i int) (name []byte, is statcache.Identity, settled bool) {
	le := binary.LittleEndian
	r := v.leaves[i*leafSize : (i+1)*leafSize]
	at := le.Uint32(r)
	return v.names[at : at+uint32(le.Uint16(r[4:]))+1], statcache.Identity{
		Dev: le.Uint64(r[8:]), Mode: le.Uint32(r[16:]), Ino: le.Uint64(r[24:]),
		Size: int64(le.Uint64(r[32:])), Mtime: int64(le.Uint64(r[40:])), Ctime: int64(le.Uint64(r[48:])),
	}, le.Uint16(r[6:])&flagSettled != 0
}

// leafAt takes a leaf of a folder apart.
func (v *view) leafAt(dir string, i int) leaf {
	le := binary.LittleEndian
	name, is, settled := v.leafIs(i)
	r := v.leaves[i*leafSize : (i+1)*leafSize]
	l := leaf{is: is, settled: settled, Entry: Entry{Path: path.Join(dir, string(name[:len(name)-1]))}}
	if le.Uint16(r[6:])&flagLink != 0 {
		target := v.names[le.Uint32(r[20:]):]
		l.Type, l.Target = Symlink, string(target[:bytes.IndexByte(target, 0)])
	} else {
		l.Type, l.Size, l.Exec, l.SHA256 = File, is.Size, is.Mode&0o100 != 0, hex.EncodeToString(r[56:88])
	}
	return l
}

// decode takes the whole view apart.
func (v *view) decode() *snapshot {
	s := &snapshot{meta: v.meta, folders: make([]folder, v.folderCount()), leaves: make([]leaf, 0, v.leafCount())}
	for i := range s.folders {
		f, first, count := v.folderAt(i)
		s.folders[i] = f
		for j := first; j < first+count; j++ {
			s.leaves = append(s.leaves, v.leafAt(f.path, j))
		}
	}
	return s
}
