package stub

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/stonemason-hip/stonemason/internal/bounded"
)

// Listed is the file of a folder of [Replace] that names what was written there,
// in the form of sha256sum(1): a hash in hex, two spaces, a name with slashes.
const Listed = "generated.sha256"

// maxListed bounds that file in bytes: some ten thousand names.
const maxListed = 1 << 20

// Replaced says what became of files that an earlier Replace wrote and that are
// not among those written now. The names are relative, with slashes.
type Replaced struct {
	Removed []string
	// Kept were changed since, so they are somebody's.
	Kept []string
}

// Replace puts files below a folder, which is made where there is none, in place
// of those that an earlier Replace put there: what of them is no longer among the
// files goes, and with it folders that are empty then. Files of others stay where
// they are. One that has the name of a file to write is an error, before anything
// is written; in a folder of [Write], which has no list, it is written over.
func Replace(ctx context.Context, dir string, files []File) (Replaced, error) {
	var done Replaced
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return done, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return done, err
	}
	defer root.Close()
	before, err := readListed(root)
	if err != nil {
		return done, fmt.Errorf("%s: %w", dir, err)
	}
	now := map[string]string{}
	for _, f := range files {
		now[f.Name] = hash(f.Data)
	}
	if before != nil {
		for _, f := range files {
			if _, err := root.Lstat(filepath.FromSlash(f.Name)); err == nil && before[f.Name] == "" {
				return done, fmt.Errorf("%s is not of the stubs that were written there, and has the name of one: move it away", filepath.Join(dir, filepath.FromSlash(f.Name)))
			}
		}
	}
	// Both, until one of them is all there is: who is killed in between leaves
	// nothing that the next one does not know.
	both := maps.Clone(now)
	for name, sum := range before {
		if both[name] == "" {
			both[name] = sum
		}
	}
	if err := writeListed(root, both); err != nil {
		return done, err
	}
	if err := Write(ctx, dir, files); err != nil {
		return done, err
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if now[name] != "" {
			continue
		}
		switch gone, err := take(root, name, before[name]); {
		case err != nil:
			return done, err
		case gone:
			done.Removed = append(done.Removed, name)
		default:
			done.Kept = append(done.Kept, name)
		}
	}
	return done, writeListed(root, now)
}

// take removes a file that is as it was written, and the folders around it that
// have become empty. One that is not there any more counts as removed.
func take(root *os.Root, name, sum string) (gone bool, err error) {
	file := filepath.FromSlash(name)
	info, err := root.Lstat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return true, nil
	case err != nil:
		return false, err
	case !info.Mode().IsRegular():
		return false, nil
	}
	if have, err := hashFile(root, file); err != nil || have != sum {
		return false, err
	}
	if err := root.Remove(file); err != nil {
		return false, err
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if root.Remove(filepath.FromSlash(dir)) != nil {
			break // something else is in it
		}
	}
	return true, nil
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hashFile(root *os.Root, name string) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// readListed reads the list of a folder: hashes by name, nil where there is none.
func readListed(root *os.Root) (map[string]string, error) {
	data, err := bounded.ReadFile(root.FS(), Listed, maxListed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if raw, err := hex.DecodeString(sum); !ok || err != nil || len(raw) != sha256.Size || !fs.ValidPath(name) || name == "." {
			return nil, fmt.Errorf("%s:%d: found %.60q, expected a hash, two spaces and a name: name a new folder", Listed, number, line)
		}
		all[name] = sum
	}
	return all, nil
}

func writeListed(root *os.Root, all map[string]string) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "%s  %s\n", all[name], name)
	}
	const part = Listed + ".part"
	if err := root.WriteFile(part, []byte(b.String()), 0o644); err != nil {
		return err
	}
	return root.Rename(part, Listed)
}
