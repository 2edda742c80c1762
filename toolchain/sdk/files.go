package sdk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/bounded"
)

// maxSourceFile bounds one file that an SDK is assembled from; the largest
// has 330 kB.
const maxSourceFile = 16 << 20

// readFile reads a regular file of bounded size.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	return bounded.ReadFile(fsys, name, maxSourceFile)
}

// lines calls take with every line of a file.
func lines(fsys fs.FS, name string, take func(string) error) error {
	data, err := readFile(fsys, name)
	if err != nil {
		return err
	}
	s := bufio.NewScanner(bytes.NewReader(data))
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		if err := take(s.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writer writes files below a folder until something fails.
type writer struct {
	ctx  context.Context
	root *os.Root
	err  error
}

func (w *writer) file(name string, data []byte) {
	if w.err != nil {
		return
	}
	if w.err = w.ctx.Err(); w.err != nil {
		return
	}
	if w.err = w.root.MkdirAll(path.Dir(name), 0o755); w.err != nil {
		return
	}
	f, err := w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		w.err = err
		return
	}
	_, err = f.Write(data)
	w.err = errors.Join(err, f.Close())
}

func (w *writer) link(name, target string) {
	if w.err == nil {
		w.err = w.root.Symlink(target, name)
	}
}

// tree copies the regular files of a folder that take wants; what is neither a
// file nor a folder is refused.
func (w *writer) tree(fsys fs.FS, folder, to string, take func(name string) bool) (int, error) {
	n := 0
	err := fs.WalkDir(fsys, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel := strings.TrimPrefix(name, folder+"/")
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", name)
		}
		if !take(rel) {
			return nil
		}
		data, err := readFile(fsys, name)
		if err != nil {
			return err
		}
		w.file(path.Join(to, rel), data)
		n++
		return w.err
	})
	if err == nil && n == 0 {
		err = fmt.Errorf("%s holds no file", folder)
	}
	return n, err
}
