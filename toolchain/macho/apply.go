package macho

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"syscall"
	"time"
)

// ErrHardLinks marks files that have names besides the ones that were given.
var ErrHardLinks = errors.New("it has other names (hard links)")

// Editor changes files in place.
//
// Each edit works on a fresh copy beside the file, reads the result back,
// compares it with what was meant, and renames the copy over the file: the
// kernel of macOS remembers signatures by inode and kills programs that were
// changed under it. A failure leaves the file as it was, an edit whose result
// is there already touches nothing, and equal inputs give equal bytes.
type Editor struct {
	// Tool edits the load commands; nil for our own code. Signatures are ours
	// unless the tool makes them.
	Tool EditTool
	// Unsynced leaves out the fsync of each file, for trees that are synced as
	// a whole before they count.
	Unsynced bool
}

// Applied is what an edit did to a file.
type Applied struct {
	Changed bool
	// Dropped are the parts of a certificate's signature that went, in words.
	Dropped []string
}

// Apply edits one file with our own code; see Editor.Apply.
func Apply(path string, e Edit) (Applied, error) {
	return Editor{}.Apply(context.Background(), []string{path}, e)
}

// Apply edits the file that all names lead to. A symbolic link is followed to
// its file and stays a link. A file with hard links is changed only when names
// lists them all, and they all keep sharing the new file: an edit that knows
// one name could only tear it from the others, which would keep the old bytes.
func (ed Editor) Apply(ctx context.Context, names []string, e Edit) (Applied, error) {
	done, err := ed.apply(ctx, names, e)
	if err != nil {
		return Applied{}, fmt.Errorf("edit %s: %w", names[0], err)
	}
	return done, nil
}

func (ed Editor) apply(ctx context.Context, names []string, e Edit) (Applied, error) {
	names, before, err := oneFile(names)
	if err != nil {
		return Applied{}, err
	}
	if e.Leaf == "" {
		e.Leaf = filepath.Base(names[0])
	}
	f, err := Open(names[0])
	if err != nil {
		return Applied{}, unwrapRead(err)
	}
	plan, err := f.Plan(e)
	if err != nil || !plan.Changed() {
		return Applied{}, err
	}
	if err := checkLinks(before, len(names)); err != nil {
		return Applied{}, err
	}
	done := Applied{Changed: true}
	for _, s := range plan.Slices {
		for _, d := range s.Dropped {
			if !slices.Contains(done.Dropped, d) {
				done.Dropped = append(done.Dropped, d)
			}
		}
	}
	var b []byte
	if ed.Tool == nil {
		b, err = plan.Bytes()
	} else {
		b, err = ed.runTool(ctx, names[0], plan)
	}
	if err != nil {
		return Applied{}, err
	}
	if err := plan.check(b, ed.Tool != nil); err != nil {
		return Applied{}, fmt.Errorf("the edited copy is not as it should be, so the file stays as it was: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Applied{}, err
	}
	return done, replace(names, before, b, !ed.Unsynced)
}

// unwrapRead takes the path from a reading error, which the caller names too.
func unwrapRead(err error) error {
	for _, kind := range []error{ErrNotMachO, ErrArchive, ErrUnsupported} {
		if errors.Is(err, kind) {
			return errors.Unwrap(err)
		}
	}
	return err
}

// oneFile follows the names to the one file that they must all lead to.
func oneFile(names []string) ([]string, os.FileInfo, error) {
	if len(names) == 0 {
		return nil, nil, errors.New("no file is named")
	}
	var first os.FileInfo
	var files []string
	for _, name := range names {
		file, err := filepath.EvalSymlinks(name)
		if err != nil {
			return nil, nil, err
		}
		info, err := os.Lstat(file)
		if err != nil {
			return nil, nil, err
		}
		switch {
		case !info.Mode().IsRegular():
			return nil, nil, errors.New("not a regular file")
		case first == nil:
			first = info
		case !os.SameFile(first, info):
			return nil, nil, fmt.Errorf("%s is another file", name)
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files, first, nil
}

// checkLinks refuses a file that has more names than are known.
func checkLinks(info os.FileInfo, known int) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && uint64(st.Nlink) != uint64(known) {
		return fmt.Errorf("%w: %d names, and %d are known here; edit the folder that holds them all, or copy the file first", ErrHardLinks, st.Nlink, known)
	}
	return nil
}

// replace gives all names a new file with these bytes.
func replace(names []string, before os.FileInfo, b []byte, sync bool) (err error) {
	tmp, err := writeBeside(names[0], before, b, sync)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	now, err := os.Lstat(names[0])
	if err != nil {
		return err
	}
	if !os.SameFile(before, now) || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime()) {
		return errors.New("somebody else changed it meanwhile, so it stays as it is")
	}
	// The other names are linked first: when that fails nothing has happened.
	links := make([]string, len(names))
	defer func() {
		for _, link := range links[1:] {
			if link != "" {
				os.Remove(link) // Gone already when it was renamed.
			}
		}
	}()
	for k, name := range names[1:] {
		link := fmt.Sprintf("%s.%d", filepath.Join(filepath.Dir(name), filepath.Base(tmp)), k+1)
		if err := os.Link(tmp, link); err != nil {
			return err
		}
		links[k+1] = link
	}
	for k, name := range names[1:] {
		if err := os.Rename(links[k+1], name); err != nil {
			return err
		}
	}
	return os.Rename(tmp, names[0])
}

// writeBeside writes a file beside another, with that one's mode and
// time of change.
func writeBeside(file string, like os.FileInfo, b []byte, sync bool) (path string, err error) {
	out, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".edit-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if cerr := out.Close(); err == nil {
			err = cerr
		}
		if err == nil {
			err = os.Chtimes(out.Name(), time.Time{}, like.ModTime())
		}
		if err != nil {
			os.Remove(out.Name())
		}
	}()
	if _, err := out.Write(b); err != nil {
		return "", err
	}
	if err := out.Chmod(like.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky)); err != nil {
		return "", err
	}
	if !sync {
		return out.Name(), nil
	}
	return out.Name(), out.Sync()
}

// check reads an edited file back and compares it with the plan: what was to
// change has, what was not has not, and the signature is good. The page hashes
// that our own code has just made of these very bytes are not made again.
func (p *Plan) check(b []byte, byTool bool) error {
	f, err := Parse(b)
	if err != nil {
		return err
	}
	if f.Universal != p.file.Universal || len(f.Images) != len(p.Slices) {
		return fmt.Errorf("it has %d slices, and had %d", len(f.Images), len(p.Slices))
	}
	for k := range p.Slices {
		if err := p.Slices[k].check(p.edit, f.Images[k], byTool); err != nil {
			return fmt.Errorf("%s: %w", p.Slices[k].Arch, err)
		}
	}
	if p.edit.Sign == SignStrip {
		return nil
	}
	problems, err := f.judge(byTool)
	if err != nil {
		return err
	}
	for k := range p.Slices {
		// What the edit left alone, or was not to sign, is as it was.
		if s := &p.Slices[k]; !s.Changed || s.sign == nil {
			continue
		}
		for _, q := range problems {
			if q.Arch == p.Slices[k].Arch {
				return errors.New(q.String())
			}
		}
	}
	return nil
}

// judge verifies the signatures, with or without the hashes of pages.
func (f *File) judge(pages bool) ([]Problem, error) {
	if pages {
		return f.Verify()
	}
	c, err := f.Checker()
	if err != nil {
		return nil, err
	}
	c.covers = nil
	return c.Problems(), nil
}

// check compares one image with what the plan meant.
func (s *SlicePlan) check(e Edit, img *Image, byTool bool) error {
	if img.Arch() != s.Arch || img.Type != s.image.Type || img.Flags != s.image.Flags {
		return fmt.Errorf("the header changed: %s %s %#x", img.Arch(), img.Type, img.Flags)
	}
	if img.Slack < 0 {
		return fmt.Errorf("the load commands overlap what follows by %d bytes", -img.Slack)
	}
	wantID, wantRpaths := "", s.image.Rpaths
	if s.image.ID != nil {
		wantID = s.image.ID.Name
		if e.ID != "" {
			wantID = e.ID
		}
	}
	if got := ""; img.ID != nil {
		if got = img.ID.Name; got != wantID {
			return fmt.Errorf("its install name is %q, and was to be %q", got, wantID)
		}
	} else if wantID != "" {
		return errors.New("its install name is gone")
	}
	want := make([]Dylib, len(s.image.Dylibs))
	for k, d := range s.image.Dylibs {
		if to := e.Change[d.Name]; to != "" {
			d.Name = to
		}
		want[k] = d
	}
	if !slices.Equal(img.Dylibs, want) {
		return fmt.Errorf("its dependencies are %v, and were to be %v", img.Dylibs, want)
	}
	if e.SetRpaths {
		wantRpaths = NormalizeRpaths(e.Rpaths)
	}
	if !slices.Equal(img.Rpaths, wantRpaths) {
		return fmt.Errorf("its run paths are %q, and were to be %q", img.Rpaths, wantRpaths)
	}
	if byTool {
		return s.sameTables(img)
	}
	return s.sameContents(img, s.dataEnd)
}

// sameTables compares what a tool may have written anew in another order or
// size: LLVM's makes __LINKEDIT from scratch.
func (s *SlicePlan) sameTables(img *Image) error {
	le := s.image.Segment("__LINKEDIT")
	if le == nil {
		return s.sameContents(img, s.dataEnd)
	}
	if err := s.sameContents(img, min(int64(le.Offset), s.dataEnd)); err != nil {
		return err
	}
	for _, table := range []struct {
		what string
		read func(*Image) (any, error)
	}{
		{"symbols", func(i *Image) (any, error) { return i.Symbols() }},
		{"exports", func(i *Image) (any, error) { return i.Exports() }},
		{"fixups", func(i *Image) (any, error) { return i.Fixups() }},
		{"function starts", func(i *Image) (any, error) { return i.FunctionStarts() }},
		{"data in code", func(i *Image) (any, error) { return i.DataInCode() }},
	} {
		was, err := table.read(s.image)
		if err != nil {
			return err
		}
		is, err := table.read(img)
		if err != nil {
			return err
		}
		if !reflect.DeepEqual(was, is) {
			return fmt.Errorf("its %s changed", table.what)
		}
	}
	return nil
}

// sameContents compares the bytes between the header's room and end.
func (s *SlicePlan) sameContents(img *Image, end int64) error {
	if len(img.Segments) != len(s.image.Segments) {
		return fmt.Errorf("it has %d segments, and had %d", len(img.Segments), len(s.image.Segments))
	}
	if img.Size < end {
		return fmt.Errorf("it has %d bytes, fewer than the %d that were to stay", img.Size, end)
	}
	from := min(headerSize+s.Room, end)
	was, err := s.image.bytes("image", uint64(from), uint64(end-from))
	if err != nil {
		return err
	}
	is, err := img.bytes("image", uint64(from), uint64(end-from))
	if err != nil {
		return err
	}
	if string(was) != string(is) {
		return errors.New("bytes behind the load commands changed")
	}
	return nil
}
