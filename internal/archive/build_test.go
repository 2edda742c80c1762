package archive

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// entry is one hand-made archive entry.
type entry struct {
	name, body string
	kind       byte // a tar type; 0 is a file
	link       string
	mode       int64
	pax        map[string]string
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode, Size: int64(len(e.body)), PAXRecords: e.pax}
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		check(t, w.WriteHeader(h))
		_, err := w.Write([]byte(e.body))
		check(t, err)
	}
	check(t, w.Close())
	return b.Bytes()
}

func zipOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		mode, body := fs.FileMode(0o644), e.body
		switch e.kind {
		case tar.TypeSymlink:
			mode, body = fs.ModeSymlink|0o777, e.link
		case tar.TypeFifo:
			mode = fs.ModeNamedPipe | 0o644
		case tar.TypeDir:
			mode = fs.ModeDir | 0o755
		}
		h.SetMode(mode)
		f, err := w.CreateHeader(h)
		check(t, err)
		_, err = f.Write([]byte(body))
		check(t, err)
	}
	check(t, w.Close())
	return b.Bytes()
}

func arOf(members ...string) []byte {
	b := bytes.NewBufferString(arMagic)
	for i := 0; i+1 < len(members); i += 2 {
		fmt.Fprintf(b, "%-16s%-12s%-6s%-6s%-8s%-10d`\n", members[i], "0", "0", "0", "100644", len(members[i+1]))
		b.WriteString(members[i+1])
		if b.Len()%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

func debOf(data string, body []byte) []byte {
	return arOf("debian-binary", "2.0\n", "control.tar", "not read", data, string(body))
}

func gz(t testing.TB, p []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(p)
	check(t, err)
	check(t, w.Close())
	return b.Bytes()
}

func xzOf(t testing.TB, p []byte) []byte {
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	check(t, err)
	_, err = w.Write(p)
	check(t, err)
	check(t, w.Close())
	return b.Bytes()
}

func zst(t testing.TB, p []byte) []byte {
	w, err := zstd.NewWriter(nil)
	check(t, err)
	return w.EncodeAll(p, nil)
}

// put writes an archive to a file.
func put(t testing.TB, data []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.bin")
	check(t, os.WriteFile(name, data, 0o644))
	return name
}

// tree lists a directory: "d name", "f mode name content", "l name -> target".
func tree(t testing.TB, root string) string {
	t.Helper()
	var lines []string
	check(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == root {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			lines = append(lines, fmt.Sprintf("d %o %s", info.Mode().Perm(), rel))
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(p)
			if err != nil {
				return err
			}
			lines = append(lines, "l "+rel+" -> "+target)
		default:
			body, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			lines = append(lines, fmt.Sprintf("f %o %s %s", info.Mode().Perm(), rel, body))
		}
		return nil
	}))
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
