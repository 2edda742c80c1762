// Package treehash names a directory tree by its content.
//
// Two trees get the same id exactly when they hold the same paths, the same
// kinds of entries, the same executable bits, the same symlink targets and the
// same file bytes. Times, owners, and permission bits other than "may the owner
// execute it" do not count, because neither git nor an unpacker keeps them
// alike on two machines.
//
// # Canonical form
//
// The id is "sha256:" and the hex SHA-256 of a text that starts with the line
//
//	stonemason-tree 1
//
// followed by one line an entry, sorted by path bytes, in one of three forms:
//
//	dir <path>
//	file <x|-> <size> <sha256> <path>
//	link <path> <target>
//
// Paths use slashes, are relative to the root, and are written as Go string
// literals (strconv.Quote), so that no name, however odd, can imitate another
// line. Every directory below the root is listed, empty ones and full ones
// alike; the root itself is not.
package treehash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// formatLine heads the canonical text. A change of the form changes this line,
// and with it every id.
const formatLine = "stonemason-tree 1\n"

// DefaultMaxEntries bounds a tree when Options.MaxEntries is 0. The largest
// source tree in use, LLVM, has about 170,000 entries.
const DefaultMaxEntries = 2_000_000

// Type tells what an entry is.
type Type string

// The three kinds of entries a tree may hold.
const (
	File    Type = "file"
	Dir     Type = "dir"
	Symlink Type = "link"
)

// Entry is one path of a tree.
type Entry struct {
	Path   string `json:"path"`             // slash path relative to the root
	Type   Type   `json:"type"`             // file, dir or link
	Exec   bool   `json:"exec,omitempty"`   // files: the owner may execute it
	Target string `json:"target,omitempty"` // links: the target, as stored
	SHA256 string `json:"sha256,omitempty"` // files: lower-case hex of the content
	Size   int64  `json:"size,omitempty"`   // files: bytes
}

// Stats says how much was hashed.
type Stats struct {
	Files, Dirs, Links int
	Bytes              int64 // sum of the file sizes
}

// Options narrows and bounds a walk. The zero value takes everything.
type Options struct {
	// Exclude lists base names that are left out wherever they occur, with all
	// that is below them: ".git".
	Exclude []string
	// MaxEntries bounds the number of entries; 0 means DefaultMaxEntries.
	MaxEntries int
}

func (o Options) maxEntries() int {
	if o.MaxEntries > 0 {
		return o.MaxEntries
	}
	return DefaultMaxEntries
}

// Hash returns the content id of the tree at root.
func Hash(ctx context.Context, root string, opts Options) (string, Stats, error) {
	entries, err := List(ctx, root, opts)
	if err != nil {
		return "", Stats{}, err
	}
	return IDOf(entries), StatsOf(entries), nil
}

// List walks the tree at root, hashes its files on all cores, and returns the
// entries sorted by path. Root may be a symlink to a directory; links below it
// are never followed. Devices, sockets and pipes are an error, and so is a file
// that changes while it is read.
func List(ctx context.Context, root string, opts Options) ([]Entry, error) {
	entries, err := walk(ctx, root, opts)
	if err != nil {
		return nil, err
	}
	return fill(ctx, root, entries)
}

// walk lists the tree at root without reading its files.
func walk(ctx context.Context, root string, opts Options) ([]Entry, error) {
	info, err := os.Stat(root)
	if err != nil {
		return nil, fmt.Errorf("hash tree: %w", err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("hash tree: %s is not a directory", root)
	}
	var entries []Entry
	// With the trailing separator a root that is a symlink is walked into.
	err = filepath.WalkDir(root+string(filepath.Separator), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		if rel == "." {
			return nil
		}
		if slices.Contains(opts.Exclude, d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if len(entries) >= opts.maxEntries() {
			return fmt.Errorf("%s holds more than %d entries", root, opts.maxEntries())
		}
		e, err := describe(name, filepath.ToSlash(rel), d.Type())
		if err != nil {
			return err
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("hash tree: %w", err)
	}
	return entries, nil
}

// describe makes the entry of one path, without the file's content.
func describe(name, rel string, mode fs.FileMode) (Entry, error) {
	e := Entry{Path: rel}
	switch {
	case mode.IsRegular():
		e.Type = File
	case mode.IsDir():
		e.Type = Dir
	case mode&fs.ModeSymlink != 0:
		target, err := os.Readlink(name)
		if err != nil {
			return e, err
		}
		e.Type, e.Target = Symlink, filepath.ToSlash(target)
	default:
		return e, fmt.Errorf("%s is a %s: only files, directories and symlinks have a content id", name, kindName(mode))
	}
	return e, nil
}

func kindName(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// fill hashes the files among entries and sorts all by path.
func fill(ctx context.Context, root string, entries []Entry) ([]Entry, error) {
	slices.SortFunc(entries, byPath)
	is := make([]statcache.Identity, len(entries))
	lookAt(root, len(entries), func(i int) string { return entries[i].Path }, is)
	var jobs []job
	for i := range entries {
		if entries[i].Type == File {
			jobs = append(jobs, job{entry: &entries[i], size: is[i].Size})
		}
	}
	if err := readAll(ctx, root, jobs); err != nil {
		return nil, fmt.Errorf("hash tree: %w", err)
	}
	return entries, nil
}

func byPath(a, b Entry) int { return strings.Compare(a.Path, b.Path) }

// IDOf returns the content id of a listing, in any order. It equals what Hash
// returns for the tree that the listing came from.
func IDOf(entries []Entry) string {
	sorted := entries
	if !slices.IsSortedFunc(entries, byPath) {
		sorted = slices.Clone(entries)
		slices.SortFunc(sorted, byPath)
	}
	h := sha256.New()
	line := append(make([]byte, 0, 512), formatLine...)
	for _, e := range sorted {
		switch e.Type {
		case Dir:
			line = append(line, "dir "...)
			line = strconv.AppendQuote(line, e.Path)
		case Symlink:
			line = append(line, "link "...)
			line = strconv.AppendQuote(line, e.Path)
			line = append(line, ' ')
			line = strconv.AppendQuote(line, e.Target)
		default:
			line = append(line, "file - "...)
			if e.Exec {
				line[len(line)-2] = 'x'
			}
			line = strconv.AppendInt(line, e.Size, 10)
			line = append(line, ' ')
			line = append(line, e.SHA256...)
			line = append(line, ' ')
			line = strconv.AppendQuote(line, e.Path)
		}
		line = append(line, '\n')
		h.Write(line)
		line = line[:0]
	}
	// An empty tree has not written its first line yet.
	h.Write(line)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// StatsOf sums up a listing.
func StatsOf(entries []Entry) Stats {
	var s Stats
	for _, e := range entries {
		switch e.Type {
		case Dir:
			s.Dirs++
		case Symlink:
			s.Links++
		default:
			s.Files++
			s.Bytes += e.Size
		}
	}
	return s
}

// Diff compares two listings and returns one line a difference, sorted by path:
// "+ path" for what only b has, "- path" for what only a has, "~ path" for what
// both have with other content. An empty result means equal ids.
func Diff(a, b []Entry) []string {
	old := make(map[string]Entry, len(a))
	for _, e := range a {
		old[e.Path] = e
	}
	var lines []string
	for _, e := range b {
		was, ok := old[e.Path]
		switch {
		case !ok:
			lines = append(lines, "+ "+e.Path)
		case was != e:
			lines = append(lines, "~ "+e.Path)
		}
		delete(old, e.Path)
	}
	for p := range old {
		lines = append(lines, "- "+p)
	}
	slices.SortFunc(lines, func(x, y string) int { return strings.Compare(x[2:], y[2:]) })
	return lines
}

// withParents adds the directories above every entry, each once.
func withParents(entries []Entry) []Entry {
	seen := make(map[string]bool, len(entries))
	for _, e := range entries {
		if e.Type == Dir {
			seen[e.Path] = true
		}
	}
	for _, e := range slices.Clone(entries) {
		for dir := path.Dir(e.Path); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			entries = append(entries, Entry{Path: dir, Type: Dir})
		}
	}
	return entries
}

// errNotGit says that a folder is to be hashed whole.
var errNotGit = errors.New("not under git")
