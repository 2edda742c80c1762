package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"time"
)

const (
	maxNameBytes  = 4096 // PATH_MAX on Linux
	maxPartBytes  = 255  // NAME_MAX on Linux and macOS
	maxNameParts  = 256
	maxLinkTarget = 4096
)

// kind is what a path of the destination became.
type kind byte

const (
	isDir kind = iota + 1
	isFile
	isLink
)

// sink writes entries below one root and holds every rule about them. It knows
// every path that it made; nobody else writes below the root meanwhile, and if
// somebody did, the os.Root would still keep every write inside.
type sink struct {
	ctx   context.Context
	root  *os.Root
	opts  Options
	lim   Limits
	size  int64 // of the archive
	stats Stats

	entries  int
	written  int64
	kinds    map[string]kind
	folded   map[string]string // lower-case path → path; nil when case may collide
	matched  []bool            // one for each of opts.Subdirs
	dirTimes []dirTime
	through  []string // symlinks whose target must resolve, see symlink

	// The directory of the last entry stays open: archives list a directory's
	// files together, and each os.Root call walks its whole path.
	cur     *os.Root
	curName string
	buf     []byte
}

type dirTime struct {
	name string
	time time.Time
}

func newSink(ctx context.Context, root *os.Root, opts Options, size int64) *sink {
	s := &sink{
		ctx: ctx, root: root, opts: opts, lim: opts.Limits.filled(), size: size,
		kinds: map[string]kind{}, matched: make([]bool, len(opts.Subdirs)),
		buf: make([]byte, 256<<10),
	}
	if opts.Case == CaseRefuse || opts.Case == CaseAuto && runtime.GOOS == "darwin" {
		s.folded = map[string]string{}
	}
	return s
}

func refuse(entry string, rule Rule, format string, args ...any) error {
	return &Error{Entry: entry, Rule: rule, Err: fmt.Errorf(format, args...)}
}

// writeFailed wraps what the file system said.
func writeFailed(entry string, err error) error {
	return &Error{Entry: entry, Rule: RuleWrite, Err: err}
}

// count admits one more entry.
func (s *sink) count(entry string) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if s.entries++; s.entries > s.lim.Entries {
		return refuse(entry, RuleEntries, "more than %d entries", s.lim.Entries)
	}
	return nil
}

// most is how many bytes may come out of the archive, and the rule that says so.
func (s *sink) most() (int64, Rule) {
	byRatio := s.lim.RatioFloor
	if s.size > byRatio/s.lim.Ratio {
		byRatio = s.size * s.lim.Ratio
		if byRatio/s.lim.Ratio != s.size { // overflow: no archive is that large
			byRatio = s.lim.TotalBytes
		}
	}
	if byRatio < s.lim.TotalBytes {
		return byRatio, RuleRatio
	}
	return s.lim.TotalBytes, RuleTotalBytes
}

func (s *sink) tooMuch(entry string) error {
	most, rule := s.most()
	if rule == RuleRatio {
		return refuse(entry, rule, "more than %d bytes out of %d: over %d to 1", most, s.size, s.lim.Ratio)
	}
	return refuse(entry, rule, "more than %d bytes", most)
}

// cleanName checks a name of the archive and returns it as a clean relative
// slash path, "." for the root.
func cleanName(raw string) (string, error) {
	switch {
	case raw == "":
		return "", refuse(raw, RuleName, "empty name")
	case len(raw) > maxNameBytes:
		return "", refuse(raw, RuleName, "name of %d bytes", len(raw))
	case strings.ContainsRune(raw, 0):
		return "", refuse(raw, RuleName, "NUL in the name")
	case strings.ContainsRune(raw, '\\'):
		return "", refuse(raw, RuleName, "backslash in the name")
	case raw[0] == '/':
		return "", refuse(raw, RuleName, "absolute path")
	}
	parts := 0
	for part := range strings.SplitSeq(raw, "/") {
		switch {
		case part == "..":
			return "", refuse(raw, RuleName, "leads upwards")
		case len(part) > maxPartBytes:
			return "", refuse(raw, RuleName, "component of %d bytes", len(part))
		case part != "" && part != ".":
			parts++
		}
	}
	if parts > maxNameParts {
		return "", refuse(raw, RuleName, "%d directories deep", parts)
	}
	return path.Clean(raw), nil
}

// place returns where an entry goes, or "" when it is left out.
func (s *sink) place(raw string) (string, error) {
	name, err := cleanName(raw)
	if err != nil {
		return "", err
	}
	name = s.strip(name)
	if name == "" || len(s.opts.Subdirs) == 0 {
		return name, nil
	}
	for i, dir := range s.opts.Subdirs {
		if name == dir || strings.HasPrefix(name, dir+"/") {
			s.matched[i] = true
			return name, nil
		}
	}
	return "", nil
}

func (s *sink) strip(name string) string {
	for range s.opts.StripComponents {
		_, rest, ok := strings.Cut(name, "/")
		if !ok {
			return ""
		}
		name = rest
	}
	if name == "." {
		return ""
	}
	return name
}

// claim records that name becomes a k, after its parents exist as directories.
func (s *sink) claim(raw, name string, k kind) error {
	dir := path.Dir(name)
	if dir != "." && s.kinds[dir] != isDir {
		if err := s.makeDirs(raw, dir); err != nil {
			return err
		}
	}
	if was, ok := s.kinds[name]; ok {
		if was == isLink && k != isLink {
			return refuse(raw, RuleThrough, "%q is a symlink already", name)
		}
		return refuse(raw, RuleDuplicate, "the archive has this path twice")
	}
	return s.record(raw, name, k)
}

func (s *sink) record(raw, name string, k kind) error {
	if s.folded != nil {
		low := strings.ToLower(name)
		if other, ok := s.folded[low]; ok && other != name {
			return refuse(raw, RuleCase, "%q and %q differ in case only: unpack on a case-sensitive file system", other, name)
		}
		s.folded[low] = name
	}
	s.kinds[name] = k
	return nil
}

// makeDirs makes the directory at name and those above it.
func (s *sink) makeDirs(raw, name string) error {
	switch s.kinds[name] {
	case isDir:
		return nil
	case isLink:
		return refuse(raw, RuleThrough, "%q is a symlink", name)
	case isFile:
		return refuse(raw, RuleDuplicate, "%q is a file", name)
	}
	if up := path.Dir(name); up != "." {
		if err := s.makeDirs(raw, up); err != nil {
			return err
		}
	}
	if err := s.record(raw, name, isDir); err != nil {
		return err
	}
	if err := s.root.Mkdir(name, 0o755); err != nil {
		return writeFailed(raw, err)
	}
	// The umask may have taken bits away.
	if err := s.root.Chmod(name, 0o755); err != nil {
		return writeFailed(raw, err)
	}
	s.stats.Dirs++
	if !s.opts.ModTime.IsZero() {
		s.dirTimes = append(s.dirTimes, dirTime{name, s.opts.ModTime})
	}
	return nil
}

// dir takes a directory entry. A directory may be named again, for its time.
func (s *sink) dir(raw string, mod time.Time) error {
	name, err := s.place(raw)
	if err != nil {
		return err
	}
	if name == "" {
		s.stats.Skipped++
		return nil
	}
	if err := s.makeDirs(raw, name); err != nil {
		return err
	}
	if s.opts.ModTime.IsZero() {
		s.dirTimes = append(s.dirTimes, dirTime{name, mod})
	}
	return nil
}

// parent opens the directory of name.
func (s *sink) parent(name string) (*os.Root, error) {
	dir := path.Dir(name)
	if s.cur != nil && s.curName == dir {
		return s.cur, nil
	}
	next, err := s.root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if s.cur != nil {
		s.cur.Close()
	}
	s.cur, s.curName = next, dir
	return next, nil
}

// file takes a regular file of the given size; open gives its content.
func (s *sink) file(raw string, exec bool, size int64, mod time.Time, open func() (io.ReadCloser, error)) error {
	name, err := s.place(raw)
	if err != nil {
		return err
	}
	if name == "" {
		s.stats.Skipped++
		return nil
	}
	if size < 0 || size > s.lim.FileBytes {
		return refuse(raw, RuleFileBytes, "%d bytes, at most %d are taken", size, s.lim.FileBytes)
	}
	// What is written has its own account: a sparse tar entry writes bytes that
	// no stream ever held.
	if most, _ := s.most(); size > most-s.written {
		return s.tooMuch(raw)
	}
	if err := s.claim(raw, name, isFile); err != nil {
		return err
	}
	in, err := open()
	if err != nil {
		return err
	}
	defer in.Close()
	parent, err := s.parent(name)
	if err != nil {
		return writeFailed(raw, err)
	}
	mode := fs.FileMode(0o644)
	if exec {
		mode = 0o755
	}
	base := path.Base(name)
	out, err := parent.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return writeFailed(raw, err)
	}
	n, err := s.copy(out, in, size)
	s.written += n
	if err == nil && n != size {
		err = refuse(raw, RuleCorrupt, "%d bytes of %d", n, size)
	}
	if err == nil {
		err = out.Chmod(mode)
	}
	if closeErr := out.Close(); err == nil && closeErr != nil {
		err = writeFailed(raw, closeErr)
	}
	if err != nil {
		return blame(raw, err)
	}
	if !s.opts.ModTime.IsZero() {
		mod = s.opts.ModTime
	}
	mod = saneTime(mod)
	if err := parent.Chtimes(base, mod, mod); err != nil {
		return writeFailed(raw, err)
	}
	s.stats.Files++
	s.stats.Bytes += n
	return nil
}

// blame gives an error that came out of an entry's content that entry's name.
func blame(raw string, err error) error {
	var e *Error
	switch {
	case errors.As(err, &e):
		if e.Entry == "" {
			e.Entry = raw
		}
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	return &Error{Entry: raw, Rule: RuleCorrupt, Err: err}
}

// copy moves at most size bytes, one more being an error.
func (s *sink) copy(out io.Writer, in io.Reader, size int64) (int64, error) {
	var n int64
	for {
		if err := s.ctx.Err(); err != nil {
			return n, err
		}
		m, err := in.Read(s.buf)
		if int64(m) > size-n {
			return n, &Error{Rule: RuleCorrupt, Err: fmt.Errorf("more than the %d bytes that its header says", size)}
		}
		if m > 0 {
			if _, err := out.Write(s.buf[:m]); err != nil {
				return n, &Error{Rule: RuleWrite, Err: err}
			}
			n += int64(m)
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// symlink takes a symlink. Its target must stay inside lexically: relative, and
// never above the destination when counted from the link's own directory. That
// counting is only true while ".." comes first, since the directories above the
// link are real ones; in "name/../x" the name could be a symlink that leads
// elsewhere, so such a target must also resolve, inside, once all is unpacked.
func (s *sink) symlink(raw, target string) error {
	name, err := s.place(raw)
	if err != nil {
		return err
	}
	if name == "" {
		s.stats.Skipped++
		return nil
	}
	switch {
	case target == "":
		return refuse(raw, RuleSymlink, "empty target")
	case len(target) > maxLinkTarget:
		return refuse(raw, RuleSymlink, "target of %d bytes", len(target))
	case strings.ContainsAny(target, "\x00\\"):
		return refuse(raw, RuleSymlink, "NUL or backslash in the target %q", clip(target))
	case path.IsAbs(target):
		return refuse(raw, RuleSymlink, "absolute target %q", clip(target))
	}
	depth := strings.Count(name, "/")
	named, mixed := false, false
	for part := range strings.SplitSeq(target, "/") {
		switch part {
		case "", ".":
		case "..":
			mixed = mixed || named
			if depth--; depth < 0 {
				return refuse(raw, RuleSymlink, "target %q leads out of the destination", clip(target))
			}
		default:
			named = true
			depth++
		}
	}
	if err := s.claim(raw, name, isLink); err != nil {
		return err
	}
	parent, err := s.parent(name)
	if err != nil {
		return writeFailed(raw, err)
	}
	if err := parent.Symlink(target, path.Base(name)); err != nil {
		return writeFailed(raw, err)
	}
	if mixed {
		s.through = append(s.through, name)
	}
	s.stats.Symlinks++
	return nil
}

// hardlink takes a hard link; target is a name of the archive.
func (s *sink) hardlink(raw, target string) error {
	name, err := s.place(raw)
	if err != nil {
		return err
	}
	if name == "" {
		s.stats.Skipped++
		return nil
	}
	old, err := cleanName(target)
	if err != nil {
		return refuse(raw, RuleHardLink, "target %q is no plain relative path", clip(target))
	}
	if old = s.strip(old); s.kinds[old] != isFile {
		return refuse(raw, RuleHardLink, "target %q is no file unpacked before", clip(target))
	}
	if err := s.claim(raw, name, isFile); err != nil {
		return err
	}
	if err := s.root.Link(old, name); err != nil {
		return writeFailed(raw, err)
	}
	s.stats.Links++
	return nil
}

// finish checks what can only be checked at the end, and sets the times of the
// directories, which later entries would have changed.
func (s *sink) finish() error {
	if s.cur != nil {
		s.cur.Close()
		s.cur = nil
	}
	for i, dir := range s.opts.Subdirs {
		if !s.matched[i] {
			return refuse("", RuleMissing, "no entry is at or below %q", dir)
		}
	}
	for _, name := range s.through {
		if _, err := s.root.Stat(name); err != nil {
			return refuse(name, RuleSymlink, "target goes up through a symlink and does not resolve inside: %v", err)
		}
	}
	for i := len(s.dirTimes) - 1; i >= 0; i-- {
		d := s.dirTimes[i]
		mod := saneTime(d.time)
		if err := s.root.Chtimes(d.name, mod, mod); err != nil {
			return writeFailed(d.name, err)
		}
	}
	return nil
}

// saneTime keeps absurd times out of the file system: before 1970 or after 2242
// becomes 1970.
func saneTime(t time.Time) time.Time {
	if sec := t.Unix(); sec < 0 || sec > 1<<33 {
		return time.Unix(0, 0)
	}
	return t
}
