package scripts

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/ulikunitz/xz"
)

// pin FILE URL writes toolchain/releases.yaml from releases.in, with @URL@, and
// with FILE's hash and size for @SUM@ and @SIZE@.
func pin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pin file url")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	text, err := os.ReadFile(ts.MkAbs("releases.in"))
	ts.Check(err)
	h := sha256.Sum256(data)
	out := strings.NewReplacer("@URL@", args[1], "@SUM@", hex.EncodeToString(h[:]), "@SIZE@", strconv.Itoa(len(data))).Replace(string(text))
	ts.Check(os.WriteFile(ts.MkAbs("toolchain/releases.yaml"), []byte(out), 0o644))
}

const (
	folder = "tree-1.0/"
	big    = 10 << 30 // of zeros
	piece  = 64 << 20 // what is compressed once and repeated
)

// bad are the entries of hostile archives, behind the file tree-1.0/a.txt.
var bad = map[string][]tar.Header{
	"absolute":     {{Name: "/tmp/stonemason-absolute"}},
	"upwards":      {{Name: folder + "../../upwards"}},
	"symlink-out":  {{Name: folder + "out", Typeflag: tar.TypeSymlink, Linkname: "../../.."}, {Name: folder + "out/through"}},
	"symlink-root": {{Name: folder + "out", Typeflag: tar.TypeSymlink, Linkname: "/tmp"}, {Name: folder + "out/through"}},
	"through":      {{Name: folder + "in", Typeflag: tar.TypeSymlink, Linkname: "."}, {Name: folder + "in/through"}},
	"over":         {{Name: folder + "in", Typeflag: tar.TypeSymlink, Linkname: "a.txt"}, {Name: folder + "in"}},
	"hardlink-out": {{Name: folder + "passwd", Typeflag: tar.TypeLink, Linkname: "../../../../../../etc/passwd"}},
	"hardlink":     {{Name: folder + "passwd", Typeflag: tar.TypeLink, Linkname: folder + "not-there"}},
	"device":       {{Name: folder + "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}},
	"pipe":         {{Name: folder + "pipe", Typeflag: tar.TypeFifo}},
	"twice":        {{Name: folder + "a.txt"}},
	"long":         {{Name: folder + strings.Repeat("n", 300)}},
	"deep":         {{Name: folder + strings.Repeat("d/", 400)}},
	"zeros":        {{Name: folder + "zeros", Size: big}},
	"zeros-many":   nil,
	"zeros-behind": nil,
}

// hostile KIND FILE makes an archive that ought to be refused, compressed as
// the end of its name says.
func hostile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: hostile kind file")
	}
	headers, ok := bad[args[0]]
	if !ok {
		ts.Fatalf("unknown kind %q", args[0])
	}
	out, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	defer out.Close()
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	add := func(h tar.Header, body string) {
		h.Mode, h.Size = 0o644, max(h.Size, int64(len(body)))
		ts.Check(w.WriteHeader(&h))
		_, err := io.WriteString(w, body)
		ts.Check(err)
	}
	add(tar.Header{Name: folder + "a.txt"}, "a\n")
	for _, h := range headers {
		add(h, "")
	}
	var zeros []byte
	if strings.HasPrefix(args[0], "zeros") {
		zeros = compressed(ts, args[1], make([]byte, piece))
	}
	write := func(data []byte) {
		_, err := out.Write(data)
		ts.Check(err)
	}
	switch args[0] {
	case "zeros-many":
		// Files as large as a piece: each ends where a stream does.
		for i := range big / piece {
			add(tar.Header{Name: folder + strconv.Itoa(i), Size: piece}, "")
			write(compressed(ts, args[1], plain.Bytes()))
			write(zeros)
			plain.Reset()
			w = tar.NewWriter(&plain) // the old one waits for the zeros
		}
		ts.Check(w.Close())
		write(compressed(ts, args[1], plain.Bytes()))
	case "zeros-behind":
		ts.Check(w.Close())
		fallthrough
	case "zeros":
		write(compressed(ts, args[1], plain.Bytes()))
		for range big / piece {
			write(zeros)
		}
	default:
		ts.Check(w.Close())
		write(compressed(ts, args[1], plain.Bytes()))
	}
}

// compressed gives one stream, of which a file may hold several in a row.
func compressed(ts *testscript.TestScript, name string, data []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	var err error
	switch {
	case strings.HasSuffix(name, ".gz"):
		w = gzip.NewWriter(&out)
	case strings.HasSuffix(name, ".xz"):
		w, err = xz.NewWriter(&out)
	case strings.HasSuffix(name, ".zst"):
		w, err = zstd.NewWriter(&out)
	default:
		return data
	}
	ts.Check(err)
	_, err = w.Write(data)
	ts.Check(err)
	ts.Check(w.Close())
	return out.Bytes()
}
