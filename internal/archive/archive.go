// Package archive unpacks source archives that nobody vouches for.
//
// It reads plain tar, tar in gzip, xz or zstd, zip, and the data member of a
// Debian binary package, told apart by their first bytes and never by their
// name. Everything is written through an os.Root opened on the destination, and
// everything that the archive says is checked first: names, links, kinds,
// collisions, and the number, size and compression ratio of the entries. What
// is refused is refused by a named Rule; nothing is silently repaired, and a
// failed unpacking leaves nothing behind.
//
// Kept: file content, the owner's executable bit (as mode 0755 against 0644),
// symlinks, hard links, times. Dropped: owners, set-id bits, extended
// attributes, the times of symlinks.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Rule names what an archive violated. The values are stable: tests and
// scripts may compare them.
type Rule string

// The rules.
const (
	RuleFormat     Rule = "unknown-format"   // not one of the formats, or a feature of one that is not taken
	RuleCorrupt    Rule = "corrupt"          // truncated, a wrong checksum, a malformed header
	RuleName       Rule = "bad-name"         // absolute, with "..", NUL or backslash, too long or too deep
	RuleDuplicate  Rule = "duplicate"        // one path twice, or a path below a file
	RuleCase       Rule = "case-collision"   // two paths that differ in case only
	RuleSymlink    Rule = "symlink-escapes"  // a symlink that is absolute or leads out of the destination
	RuleThrough    Rule = "through-symlink"  // a path that passes through a symlink
	RuleHardLink   Rule = "bad-hard-link"    // a hard link to anything but a file unpacked before
	RuleKind       Rule = "special-file"     // a device, pipe or socket
	RuleEntries    Rule = "too-many-entries" // Limits.Entries
	RuleTotalBytes Rule = "too-many-bytes"   // Limits.TotalBytes
	RuleFileBytes  Rule = "file-too-large"   // Limits.FileBytes
	RuleRatio      Rule = "ratio-too-high"   // Limits.Ratio: a decompression bomb
	RuleMemory     Rule = "needs-too-much-memory"
	RuleMissing    Rule = "nothing-found"         // a folder of Options.Subdirs has no entry
	RuleDest       Rule = "destination-not-empty" // the destination is in use, or no directory
	RuleWrite      Rule = "write-failed"          // the file system said no
)

// Error says which rule an archive broke, and where.
type Error struct {
	Archive string // base name of the archive
	Entry   string // name of the entry as the archive gives it; "" when no single entry is to blame
	Rule    Rule
	Err     error // what was found
}

// Error says what is wrong with which entry.
func (e *Error) Error() string {
	text := "unpack " + e.Archive + ": "
	if e.Entry != "" {
		text += fmt.Sprintf("entry %q: ", clip(e.Entry))
	}
	text += string(e.Rule)
	if e.Err == io.ErrUnexpectedEOF {
		text += ": it ends early"
	} else if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap gives the error of reading or writing that was met, if there is one.
func (e *Error) Unwrap() error { return e.Err }

// clip keeps a hostile name from filling the terminal.
func clip(name string) string {
	const most = 200
	if len(name) > most {
		return name[:most] + "…"
	}
	return name
}

// Limits bounds what an archive may hold. A zero field means its default.
type Limits struct {
	// Entries bounds the headers, unpacked or not. Default 300,000; the largest
	// archive in use, LLVM 22, has about 175,000.
	Entries int
	// TotalBytes bounds what decompressing yields (tar framing included) and,
	// apart from that, what is written. Default 8 GiB; LLVM 22 has 2.1 GB.
	TotalBytes int64
	// FileBytes bounds one file. Default 2 GiB.
	FileBytes int64
	// Ratio bounds decompressed to compressed bytes. Default 200; source
	// tarballs reach 15. Output below RatioFloor is never questioned, so that a
	// small archive of blank files passes.
	Ratio int64
	// RatioFloor, default 64 MiB.
	RatioFloor int64
}

func (l Limits) filled() Limits {
	set := func(field *int64, value int64) {
		if *field <= 0 {
			*field = value
		}
	}
	if l.Entries <= 0 {
		l.Entries = 300_000
	}
	set(&l.TotalBytes, 8<<30)
	set(&l.FileBytes, 2<<30)
	set(&l.Ratio, 200)
	set(&l.RatioFloor, 64<<20)
	return l
}

// CasePolicy says what to do about paths that differ in case only.
type CasePolicy int

// The policies. CaseAuto refuses on macOS, whose file system usually folds
// case, and allows elsewhere.
const (
	CaseAuto CasePolicy = iota
	CaseAllow
	CaseRefuse
)

// Options shapes an unpacking. The zero value unpacks everything with the
// default limits and the times of the archive.
type Options struct {
	// StripComponents drops that many leading path components of every name and
	// of every hard link's target. Entries with no more components than that are
	// left out. Symlink targets stay as they are, and are judged at their new
	// place.
	StripComponents int
	// Subdirs, when not empty, keeps only these folders (or files): slash paths
	// as they are after stripping. Their place in the tree is kept. Each must
	// match something.
	Subdirs []string
	Limits  Limits
	Case    CasePolicy
	// ModTime, when not zero, becomes the time of every file and directory.
	ModTime time.Time
}

func (o Options) check() error {
	if o.StripComponents < 0 {
		return fmt.Errorf("unpack: cannot strip %d components", o.StripComponents)
	}
	for _, dir := range o.Subdirs {
		if !fs.ValidPath(dir) || dir == "." {
			return fmt.Errorf("unpack: folder %q to unpack is no clean relative slash path", dir)
		}
	}
	return nil
}

// Stats says what was unpacked.
type Stats struct {
	Format   Format // the outer format: "tar.xz", "zip", "deb"
	Files    int    // regular files
	Dirs     int    // directories, those only implied by a file's path included
	Symlinks int
	Links    int   // hard links
	Skipped  int   // entries that stripping or Subdirs left out
	Bytes    int64 // content of the files
}

// Unpack writes the content of the archive at file below dest, which must be
// absent or an empty directory. On any error dest is left as it was before:
// absent, or empty. Every error about the archive is an *Error; a cancelled
// context gives an error that wraps ctx.Err().
func Unpack(ctx context.Context, file, dest string, opts Options) (Stats, error) {
	if err := opts.check(); err != nil {
		return Stats{}, err
	}
	name := filepath.Base(file)
	f, err := os.Open(file)
	if err != nil {
		return Stats{}, fmt.Errorf("unpack: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Stats{}, fmt.Errorf("unpack: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Stats{}, &Error{Archive: name, Rule: RuleFormat, Err: errors.New("not a regular file")}
	}
	root, undo, err := openDest(dest)
	if err != nil {
		return Stats{}, &Error{Archive: name, Rule: RuleDest, Err: err}
	}
	s := newSink(ctx, root, opts, info.Size())
	if err := s.unpack(io.NewSectionReader(f, 0, info.Size())); err != nil {
		undo()
		var e *Error
		switch {
		case ctx.Err() != nil:
			err = fmt.Errorf("unpack %s: %w", name, ctx.Err())
		case errors.As(err, &e):
			e.Archive = name
		default:
			err = &Error{Archive: name, Rule: RuleCorrupt, Err: err}
		}
		return Stats{}, err
	}
	if err := root.Close(); err != nil {
		return Stats{}, fmt.Errorf("unpack: %w", err)
	}
	return s.stats, nil
}

// openDest opens the destination, making it when it is absent. The returned
// function closes it and takes back what was done.
func openDest(dest string) (*os.Root, func(), error) {
	made := false
	info, err := os.Lstat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dest, 0o755); err != nil {
			return nil, nil, err
		}
		made = true
	case err != nil:
		return nil, nil, err
	case !info.IsDir():
		return nil, nil, fmt.Errorf("%s is not a directory", dest)
	}
	root, err := os.OpenRoot(dest)
	if err != nil {
		return nil, nil, err
	}
	undo := func() {
		clear, err := fs.ReadDir(root.FS(), ".")
		for _, d := range clear {
			err = errors.Join(err, root.RemoveAll(d.Name()))
		}
		root.Close()
		if made && err == nil {
			os.Remove(dest)
		}
	}
	d, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	defer d.Close()
	if names, err := d.Readdirnames(1); !errors.Is(err, io.EOF) || len(names) > 0 {
		root.Close()
		return nil, nil, fmt.Errorf("%s is not empty: unpack into a new directory", dest)
	}
	return root, undo, nil
}

// unpack recognises the format and walks the entries.
func (s *sink) unpack(src *io.SectionReader) error {
	head := make([]byte, 512)
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch outer := sniff(head[:n]); outer {
	case formatZip:
		s.stats.Format = "zip"
		err = s.unzip(src)
	case formatAr:
		s.stats.Format = "deb"
		err = s.undeb(src)
	default:
		var format Format
		format, err = s.untarStream(src)
		s.stats.Format = format
	}
	if err != nil {
		return err
	}
	return s.finish()
}
