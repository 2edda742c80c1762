package macho

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// FixOptions say how a tree is fixed up.
type FixOptions struct {
	// Prefixes are absolute folders that the tree was built or staged in:
	// /stage/lib/libx.dylib means lib/libx.dylib of the tree.
	Prefixes []string
	// Rpaths give files their run paths in place of the computed ones; the
	// first rule whose Glob fits counts.
	Rpaths []RpathRule
	// System are prefixes of install names that every Mac has; nil for
	// /usr/lib/ and /System/Library/.
	System []string
	// Editor makes the edits; its zero value is our own code.
	Editor Editor
	// Resign lets certificates' signatures be replaced by ad-hoc ones.
	Resign bool
	// Jobs is how many files are edited at a time, 1 if it is less.
	Jobs int
}

// RpathRule gives run paths to the files that Glob fits (path.Match on the
// path within the tree, with slashes).
type RpathRule struct {
	Glob   string
	Rpaths []string
}

// FixReport is what a fix-up did. Paths are relative to the tree, with slashes.
type FixReport struct {
	// Images is the number of files with programs, dylibs and bundles.
	Images int
	// Files are those that changed, by path.
	Files []FileFix
	// Unresolved are dependencies that neither the system nor the tree has.
	// They stay as they were.
	Unresolved []Unresolved
	// Skipped are Mach-O files that cannot be read here, 32-bit ones and the
	// like, with the reason.
	Skipped map[string]string
}

// FileFix is what changed in one file.
type FileFix struct {
	// Path is the first of Names, which are all hard links to the file.
	Path  string
	Names []string
	// OldID and ID are install names, "" for what is no dylib.
	OldID, ID string
	// Changed are the dependencies' new names by their old ones.
	Changed map[string]string
	// OldRpaths are the first slice's run paths before.
	OldRpaths, Rpaths []string
	// Dropped are the parts of a certificate's signature that went.
	Dropped []string
}

// Unresolved is a dependency that nothing in the tree fulfils.
type Unresolved struct {
	Path, Name string
	Kind       Kind
}

// Fix makes a tree of images relocatable:
//
//   - the id of each dylib becomes @rpath/<leaf>, the leaf being the name that
//     its dependents use (libzstd.1.dylib, where that leads to
//     libzstd.1.5.7.dylib);
//   - whatever depends on it, be it by an old absolute path, by an old id, by
//     its bare leaf or by a link to it, depends on that name;
//   - run paths become the @loader_path-relative folders in which an image's
//     dependencies lie, each once and no others;
//   - what changed, or was not signed, or not rightly, is signed ad hoc.
//
// Everything is worked out before the first file is written, so that a header
// without room or a name of two meanings changes nothing. Symbolic links stay
// links, and hard links stay one file. A tree that is as it should be is not
// touched.
func Fix(ctx context.Context, root string, opts FixOptions) (*FixReport, error) {
	t, err := newTree(root, opts)
	if err != nil {
		return nil, fmt.Errorf("fix up %s: %w", root, err)
	}
	if err := t.walk(ctx); err != nil {
		return nil, fmt.Errorf("fix up %s: %w", root, err)
	}
	if err := t.plan(); err != nil {
		return nil, fmt.Errorf("fix up %s: %w", root, err)
	}
	if err := t.apply(ctx); err != nil {
		return nil, fmt.Errorf("fix up %s: %w", root, err)
	}
	return &t.report, nil
}

// tree is one fix-up.
type tree struct {
	root   string // Without symbolic links.
	opts   FixOptions
	system []string
	report FixReport

	files []*treeFile
	// byInode finds the file behind a path, byTail and byID the dylibs behind
	// what install names end in, or are.
	byInode map[inode]*treeFile
	byTail  map[string][]*treeFile
	byID    map[string][]*treeFile
}

type inode struct{ dev, ino uint64 }

func inodeOf(info os.FileInfo) inode {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return inode{}
	}
	return inode{uint64(st.Dev), uint64(st.Ino)}
}

// treeFile is one file with images, under all its names.
type treeFile struct {
	names   []string // Regular names within the tree, sorted.
	aliases []string // Symbolic links that lead to it, sorted.
	info    os.FileInfo
	file    *File
	dylib   bool
	oldID   string
	// tail is what follows @rpath/ in its id.
	tail string
	// needs are the files it depends on, in order.
	needs []*treeFile
	edit  Edit
	done  *FileFix
}

func newTree(root string, opts FixOptions) (*tree, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return nil, err
	}
	t := &tree{root: real, opts: opts, system: opts.System, byInode: map[inode]*treeFile{}, byTail: map[string][]*treeFile{}, byID: map[string][]*treeFile{}}
	if t.system == nil {
		t.system = []string{"/usr/lib/", "/System/Library/"}
	}
	t.report.Skipped = map[string]string{}
	// The tree's own place counts too, and the longest prefix first, for one
	// may lie in another.
	prefixes := append([]string{real}, opts.Prefixes...)
	if abs, err := filepath.Abs(root); err == nil {
		prefixes = append(prefixes, abs)
	}
	t.opts.Prefixes = nil
	for _, p := range prefixes {
		if !path.IsAbs(p) || path.Clean(p) == "/" {
			return nil, fmt.Errorf("prefix %q is not an absolute folder below /", p)
		}
		if p = path.Clean(p); !slices.Contains(t.opts.Prefixes, p) {
			t.opts.Prefixes = append(t.opts.Prefixes, p)
		}
	}
	slices.SortStableFunc(t.opts.Prefixes, func(a, b string) int { return len(b) - len(a) })
	for _, r := range opts.Rpaths {
		if _, err := path.Match(r.Glob, ""); err != nil {
			return nil, fmt.Errorf("rule for run paths %q: %w", r.Glob, err)
		}
	}
	return t, nil
}

// walk reads the load commands of all images, and where the links lead.
func (t *tree) walk(ctx context.Context) error {
	var links []string
	err := filepath.WalkDir(t.root, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(t.root, name)
		if err != nil {
			return err
		}
		switch rel = filepath.ToSlash(rel); {
		case e.Type()&fs.ModeSymlink != 0:
			links = append(links, rel)
		case e.Type().IsRegular():
			return t.add(rel)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, link := range links {
		// A link that leads nowhere, in a circle or out is for the audit.
		if f := t.at(link); f != nil {
			f.aliases = append(f.aliases, link)
		}
	}
	for _, f := range t.files {
		t.index(f)
	}
	return nil
}

// at is the image behind a path of the tree, nil for none.
func (t *tree) at(rel string) *treeFile {
	name := filepath.Join(t.root, filepath.FromSlash(rel))
	info, err := os.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	return t.byInode[inodeOf(info)]
}

// add takes in one regular file.
func (t *tree) add(rel string) error {
	name := filepath.Join(t.root, filepath.FromSlash(rel))
	h, err := os.Open(name)
	if err != nil {
		return err
	}
	defer h.Close()
	var head [8]byte
	if n, err := h.ReadAt(head[:], 0); err != nil && n < len(head) || !IsMachO(head[:]) {
		return nil
	}
	info, err := h.Stat()
	if err != nil {
		return err
	}
	key := inodeOf(info)
	if f := t.byInode[key]; f != nil {
		f.names = append(f.names, rel)
		return nil
	}
	file, err := Read(h, info.Size())
	switch {
	case errors.Is(err, ErrArchive):
		return nil
	case errors.Is(err, ErrUnsupported), errors.Is(err, ErrNotMachO):
		t.report.Skipped[rel] = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("read %s: %w", rel, err)
	}
	if !file.Images[0].Linked() {
		return nil // Objects and dSYMs.
	}
	file.reopen(name)
	f := &treeFile{names: []string{rel}, info: info, file: file}
	for _, img := range file.Images {
		if img.ID != nil && !f.dylib {
			f.dylib, f.oldID = true, img.ID.Name
		}
	}
	t.files = append(t.files, f)
	t.byInode[key] = f
	t.report.Images++
	return nil
}

// onDemand opens a file for each read, so that a tree of thousands of images
// needs no thousands of open files.
type onDemand struct{ path string }

func (s onDemand) at(off, n int64) ([]byte, error) {
	f, err := os.Open(s.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readerAt{f}.at(off, n)
}

func (f *File) reopen(path string) {
	f.src = onDemand{path}
	for _, img := range f.Images {
		img.src = f.src
	}
}

// plan works out all edits, and whether they can be made.
func (t *tree) plan() error {
	t.choose()
	for _, f := range t.files {
		if err := t.depend(f); err != nil {
			return fmt.Errorf("%s: %w", f.names[0], err)
		}
	}
	for _, f := range t.files {
		if err := t.rpaths(f); err != nil {
			return fmt.Errorf("%s: %w", f.names[0], err)
		}
		// The signature of what need not change is looked at as it is edited.
		edit := f.edit
		edit.Sign = SignAsBefore
		if slices.ContainsFunc(f.file.Images, func(i *Image) bool { return !i.data.hasSignature }) {
			edit.Sign = SignAnew
		}
		plan, err := f.file.Plan(edit)
		if err == nil && plan.Changed() {
			err = checkLinks(f.info, len(f.names))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.names[0], err)
		}
	}
	return nil
}

// apply makes the edits, several at a time.
func (t *tree) apply(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan *treeFile)
	var wg sync.WaitGroup
	for range max(t.opts.Jobs, 1) {
		wg.Go(func() {
			for f := range work {
				if err := t.applyOne(ctx, f); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, f := range t.files {
		if ctx.Err() != nil {
			break
		}
		work <- f
	}
	close(work)
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	for _, f := range t.files {
		if f.done != nil {
			t.report.Files = append(t.report.Files, *f.done)
		}
	}
	slices.SortFunc(t.report.Files, func(a, b FileFix) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

func (t *tree) applyOne(ctx context.Context, f *treeFile) error {
	names := make([]string, len(f.names))
	for k, n := range f.names {
		names[k] = filepath.Join(t.root, filepath.FromSlash(n))
	}
	done, err := t.opts.Editor.Apply(ctx, names, f.edit)
	if err != nil || !done.Changed {
		return err
	}
	f.done = &FileFix{Path: f.names[0], Names: f.names, OldID: f.oldID, ID: f.edit.ID, Changed: f.edit.Change,
		OldRpaths: f.file.Images[0].Rpaths, Rpaths: f.edit.Rpaths, Dropped: done.Dropped}
	return nil
}
