package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// ErrAlreadyApplied is in the chain of the error for a patch whose changes the
// source has already.
var ErrAlreadyApplied = errors.New("the source has this change already")

// Apply puts patches, in their order, into the folder dir, a fresh copy of the
// source: files that it changes are replaced, never written into, so that
// copies made of hard links stay whole. A patch may add, change, rename, copy
// and delete regular files inside dir and change whether they can be executed;
// it never writes through a symbolic link.
//
// All patches apply or none: the results are worked out in memory, and a
// conflict ([ConflictError]) leaves dir as it was. Only when writing itself
// fails is dir half changed; it is left like that to be looked at, and must not
// be built. The same change listed twice is an error, and so is a source that
// has a change already ([ErrAlreadyApplied]).
func Apply(ctx context.Context, dir string, patches []Selected) error {
	if len(patches) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("apply patches: %w", err)
	}
	defer root.Close()
	t := newTree(root)
	seen := map[string]string{}
	for i, p := range patches {
		if p.body == nil {
			return fmt.Errorf("patch %s was not loaded: take it from Series.Select", p.File)
		}
		if other, twice := seen[p.body.change]; twice {
			return fmt.Errorf("patch %s makes the same change as %s: remove one of them", p.File, other)
		}
		seen[p.body.change] = p.File
		before := t.fork()
		if err := t.apply(ctx, p.body.files); err != nil {
			if ctx.Err() == nil && before.hasOneOrAll(ctx, patches[i:]) {
				return fmt.Errorf("patch %s: %w: it is in this version, or the copy is not fresh; narrow the versions in %s or start from a fresh copy", p.File, ErrAlreadyApplied, SeriesFile)
			}
			if c, ok := errors.AsType[*ConflictError](err); ok {
				c.Patch = p.File
				return c
			}
			return fmt.Errorf("patch %s: %w", p.File, err)
		}
	}
	if err := t.write(ctx); err != nil {
		return fmt.Errorf("apply patches to %s: %w", dir, err)
	}
	return nil
}

// apply changes the tree in memory.
func (t *tree) apply(ctx context.Context, files []fileDiff) error {
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := t.applyFile(f.File); err != nil {
			return err
		}
	}
	return nil
}

// hasOneOrAll says whether the first of patches, or all of them on top of each
// other, are in the tree: whether they can be taken back.
func (t *tree) hasOneOrAll(ctx context.Context, patches []Selected) bool {
	return t.fork().takeBack(ctx, patches[:1]) || len(patches) > 1 && t.fork().takeBack(ctx, patches)
}

// takeBack applies patches in reverse and says whether that went well.
func (t *tree) takeBack(ctx context.Context, patches []Selected) bool {
	for _, p := range slices.Backward(patches) {
		if p.body == nil {
			return false
		}
		for _, f := range slices.Backward(p.body.files) {
			r, ok := reverse(f.File)
			if !ok || ctx.Err() != nil || t.applyFile(r) != nil {
				return false
			}
		}
	}
	return true
}

func (t *tree) applyFile(f *gitdiff.File) error {
	from, to := f.OldName, f.NewName
	var old *node
	var err error
	if f.IsNew {
		old = &node{perm: 0o644}
	} else {
		if old, err = t.read(from); err != nil {
			return err
		}
		if !old.exists {
			return &ConflictError{File: from, Problem: "the source has no such file"}
		}
	}
	if f.IsNew || f.IsRename || f.IsCopy {
		there, err := t.read(to)
		if err != nil {
			return err
		}
		if there.exists {
			return &ConflictError{File: to, Problem: "the source has a file of that name already"}
		}
	}
	result := &node{perm: old.perm, exists: true, changed: true}
	if result.data, err = applyContent(f, old.data); err != nil {
		return err
	}
	switch {
	case f.IsNew:
		result.setExec(f.NewMode == modeExec)
	case f.IsDelete:
		if len(result.data) > 0 {
			return &ConflictError{File: from, Problem: "the patch deletes the file, but the source has more in it than the patch says"}
		}
		t.nodes[from] = &node{changed: true}
		return nil
	case f.OldMode != 0 && f.NewMode != 0 && f.OldMode != f.NewMode:
		if old.exec() != (f.OldMode == modeExec) {
			return &ConflictError{File: from, Problem: fmt.Sprintf("the patch changes the file's mode from %o to %o, but the source has another", f.OldMode, f.NewMode)}
		}
		result.setExec(f.NewMode == modeExec)
	}
	if f.IsRename {
		t.nodes[from] = &node{changed: true}
	}
	t.nodes[to] = result
	return nil
}

// applyContent returns what f makes of the content src.
func applyContent(f *gitdiff.File, src []byte) ([]byte, error) {
	if f.IsBinary && f.BinaryFragment != nil {
		return applyBinary(f, src)
	}
	var dst bytes.Buffer
	err := gitdiff.Apply(&dst, bytes.NewReader(src), f)
	if err == nil {
		if dst.Len() > maxFileBytes {
			return nil, fmt.Errorf("%s would grow larger than %d bytes", name(f), maxFileBytes)
		}
		return dst.Bytes(), nil
	}
	if e, ok := errors.AsType[*gitdiff.ApplyError](err); ok && e.Fragment > 0 {
		return nil, hunkConflict(f, src, e)
	}
	return nil, fmt.Errorf("%s: %w", name(f), err)
}

// applyBinary applies a binary patch, which holds no context to compare: that
// the source is the right one shows in its object name alone.
func applyBinary(f *gitdiff.File, src []byte) ([]byte, error) {
	if id := f.OldOIDPrefix; !f.IsNew && id != gitBlobID(src) {
		return nil, &ConflictError{File: name(f), Problem: fmt.Sprintf("the binary patch is for content with the object name %q, and the source has %s; the patch must hold full names (git diff --full-index)", cut(id), gitBlobID(src))}
	}
	if f.BinaryFragment.Size < 0 || f.BinaryFragment.Size > maxFileBytes {
		return nil, fmt.Errorf("%s would grow larger than %d bytes", name(f), maxFileBytes)
	}
	dst := limitedBuffer{left: maxFileBytes}
	if err := gitdiff.Apply(&dst, bytes.NewReader(src), f, gitdiff.WithMaxBinaryFragmentBytes(maxFileBytes)); err != nil {
		return nil, fmt.Errorf("%s: %w", name(f), err)
	}
	return dst.Bytes(), nil
}

// limitedBuffer is a buffer that refuses to grow beyond a bound: a packed
// binary patch may stand for far more than it holds.
type limitedBuffer struct {
	bytes.Buffer
	left int
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if len(p) > b.left {
		return 0, errors.New("the result is too large")
	}
	b.left -= len(p)
	return b.Buffer.Write(p)
}

// ReadFrom keeps io.Copy from going around Write.
func (b *limitedBuffer) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{b}, r)
}

// reverse returns the diff that takes f back. It cannot for a copy and for a
// binary diff that holds one direction only.
func reverse(f *gitdiff.File) (*gitdiff.File, bool) {
	if f.IsCopy || f.IsBinary && f.ReverseBinaryFragment == nil {
		return nil, false
	}
	r := *f
	r.OldName, r.NewName = f.NewName, f.OldName
	r.IsNew, r.IsDelete = f.IsDelete, f.IsNew
	r.OldMode, r.NewMode = f.NewMode, f.OldMode
	r.OldOIDPrefix, r.NewOIDPrefix = f.NewOIDPrefix, f.OldOIDPrefix
	r.BinaryFragment, r.ReverseBinaryFragment = f.ReverseBinaryFragment, f.BinaryFragment
	r.TextFragments = nil
	for _, frag := range f.TextFragments {
		b := *frag
		b.OldPosition, b.NewPosition = frag.NewPosition, frag.OldPosition
		b.OldLines, b.NewLines = frag.NewLines, frag.OldLines
		b.LinesAdded, b.LinesDeleted = frag.LinesDeleted, frag.LinesAdded
		b.Lines = slices.Clone(frag.Lines)
		for i := range b.Lines {
			switch b.Lines[i].Op {
			case gitdiff.OpAdd:
				b.Lines[i].Op = gitdiff.OpDelete
			case gitdiff.OpDelete:
				b.Lines[i].Op = gitdiff.OpAdd
			}
		}
		r.TextFragments = append(r.TextFragments, &b)
	}
	return &r, true
}
