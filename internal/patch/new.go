package patch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"github.com/google/renameio/v2"
)

// ErrNoChange is returned by [New] when both folders have the same files.
var ErrNoChange = errors.New("the edited copy does not differ from the source")

// Stat says how much a patch changes.
type Stat struct {
	Files, Added, Deleted int // files, and lines of text
}

// New makes a patch out of what differs between two copies of a source and
// lists it in series.yaml beside it.
//
// pristine is the source as it is before the new patch: with the series so far
// applied to it, if there is one. edited is a copy of it that was worked on;
// a .git in the root of either is left out, everything else that was added
// counts as part of the change. outFile is where the patch goes, in the
// component's folder under a name that sorts behind the patches that are there
// (see [NextName]); that folder is made if it is missing. meta is the new entry
// of series.yaml; its File is taken from outFile.
//
// The diff is git's, with the prefixes a/ and b/, full object names and binary
// content, and without any setting of the person or the machine. It is applied
// to pristine in memory before it is written, and must give edited back byte
// for byte. Both files are written atomically; comments and layout of
// series.yaml are kept.
func New(ctx context.Context, pristine, edited, outFile string, meta Patch) (Stat, error) {
	dir, file := filepath.Split(outFile)
	meta.File = file
	if dir == "" {
		dir = "."
	}
	changes, err := compare(ctx, pristine, edited)
	if err != nil {
		return Stat{}, err
	}
	if len(changes) == 0 {
		return Stat{}, fmt.Errorf("%w: compared %s with %s", ErrNoChange, edited, pristine)
	}
	diff, err := gitDiff(ctx, changes)
	if err != nil {
		return Stat{}, err
	}
	data := append([]byte(message(meta)), diff...)
	b, err := parseBody(data)
	if err != nil {
		return Stat{}, fmt.Errorf("git made a patch that cannot be read back: %w", err)
	}
	if err := prove(ctx, pristine, edited, b, changes); err != nil {
		return Stat{}, err
	}

	if err := os.MkdirAll(dir, 0o755); err != nil {
		return Stat{}, fmt.Errorf("make the folder of the patch: %w", err)
	}
	if _, err := os.Lstat(outFile); err == nil {
		return Stat{}, fmt.Errorf("%s exists already: give the new patch another name", outFile)
	}
	if _, err := Load(os.DirFS(dir), "."); err != nil {
		return Stat{}, fmt.Errorf("the series in %s must be in order before a patch is added: %w", dir, err)
	}
	listFile := filepath.Join(dir, SeriesFile)
	list, err := os.ReadFile(listFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Stat{}, err
	}
	list, err = appendEntry(listFile, list, meta)
	if err != nil {
		return Stat{}, err
	}
	if err := renameio.WriteFile(outFile, data, 0o644); err != nil {
		return Stat{}, fmt.Errorf("write the patch: %w", err)
	}
	if err := renameio.WriteFile(listFile, list, 0o644); err != nil {
		return Stat{}, errors.Join(fmt.Errorf("list the patch: %w", err), os.Remove(outFile))
	}
	return stat(b), nil
}

// NextName returns the file name for a patch behind those in dir: the next
// number and the words of title, such as 0003-name-the-feature.patch.
func NextName(dir, title string) (string, error) {
	s, err := Load(os.DirFS(dir), ".")
	if err != nil {
		return "", err
	}
	number := 0
	if n := len(s.Patches); n > 0 {
		if _, err := fmt.Sscanf(s.Patches[n-1].File, "%04d-", &number); err != nil {
			return "", fmt.Errorf("%s has no number: %w", s.Patches[n-1].File, err)
		}
	}
	if number >= 9999 {
		return "", fmt.Errorf("no number is left behind %s", s.Patches[len(s.Patches)-1].File)
	}
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := ""
	for _, w := range words {
		if slug != "" && len(slug)+1+len(w) > 48 {
			break
		}
		slug = strings.TrimPrefix(slug+"-"+w, "-")
	}
	if slug == "" {
		slug = "change"
	}
	return fmt.Sprintf("%04d-%.60s.patch", number+1, slug), nil
}

// message is the text above the diff: title and reason, in lines of at most 78
// characters where words allow it. A line that would read as the beginning of a
// diff is set in.
func message(meta Patch) string {
	var b, line strings.Builder
	flush := func() {
		text := line.String()
		line.Reset()
		for _, mark := range []string{"diff --git", "--- ", "+++ ", "@@ "} {
			if strings.HasPrefix(text, mark) {
				b.WriteString("  ")
			}
		}
		b.WriteString(text + "\n")
	}
	line.WriteString(oneLine(meta.Title))
	flush()
	flush()
	for _, w := range strings.Fields(meta.Why) {
		if line.Len() > 0 {
			if line.Len()+1+len(w) > 78 {
				flush()
			} else {
				line.WriteByte(' ')
			}
		}
		line.WriteString(w)
	}
	flush()
	flush()
	return b.String()
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// prove applies b to the pristine source in memory and compares the result
// with the edited copy.
func prove(ctx context.Context, pristine, edited string, b *body, changes []change) error {
	root, err := os.OpenRoot(pristine)
	if err != nil {
		return err
	}
	defer root.Close()
	want, err := os.OpenRoot(edited)
	if err != nil {
		return err
	}
	defer want.Close()
	t, w := newTree(root), newTree(want)
	if err := t.apply(ctx, b.files); err != nil {
		return fmt.Errorf("the new patch does not apply to the source that it was made from: %w", err)
	}
	for _, c := range changes {
		got, err := t.read(c.name)
		if err != nil {
			return err
		}
		should, err := w.read(c.name)
		if err != nil {
			return err
		}
		if got.exists != should.exists || got.exists && (!bytes.Equal(got.data, should.data) || got.exec() != should.exec()) {
			return fmt.Errorf("the new patch does not give %s back as it was edited; was it changed meanwhile?", c.name)
		}
	}
	return nil
}

func stat(b *body) Stat {
	s := Stat{Files: len(b.files)}
	for _, f := range b.files {
		for _, frag := range f.TextFragments {
			for _, l := range frag.Lines {
				switch l.Op {
				case gitdiff.OpAdd:
					s.Added++
				case gitdiff.OpDelete:
					s.Deleted++
				}
			}
		}
	}
	return s
}
