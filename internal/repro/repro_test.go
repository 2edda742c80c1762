package repro

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write puts files into a tree, folders included.
func write(t testing.TB, root, path, data string) string {
	t.Helper()
	file := filepath.Join(root, path)
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check(t, os.WriteFile(file, []byte(data), 0o644))
	return file
}

func compare(t testing.TB, c Comparer, a, b string) *Difference {
	t.Helper()
	d, err := c.Compare(t.Context(), a, b)
	check(t, err)
	return d
}

// differ compares two trees of one file each.
func differ(t testing.TB, a, b string) *Difference {
	t.Helper()
	treeA, treeB := t.TempDir(), t.TempDir()
	write(t, treeA, "f", a)
	write(t, treeB, "f", b)
	d := compare(t, Comparer{}, treeA, treeB)
	if d == nil {
		t.Fatal("no difference was found")
	}
	return d
}

func hinted(d *Difference, kind string) bool {
	return slices.ContainsFunc(d.Hints, func(h Hint) bool { return h.Kind == kind })
}

func where(d *Difference) string {
	if d.Place == nil {
		return ""
	}
	return strings.Join(d.Place.Within, " > ")
}

func TestEqual(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	for _, root := range []string{a, b} {
		write(t, root, "bin/x", "same")
		check(t, os.Symlink("x", filepath.Join(root, "bin/y")))
	}
	// Times and the modes that no artifact keeps do not count.
	check(t, os.Chtimes(filepath.Join(a, "bin/x"), time.Unix(1, 0), time.Unix(1, 0)))
	check(t, os.Chmod(filepath.Join(a, "bin/x"), 0o600))
	if d := compare(t, Comparer{}, a, b); d != nil {
		t.Errorf("%v", d)
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b func(root string)
		want Difference
	}{
		"only in the first": {
			func(r string) { write(t, r, "b", "x") }, func(string) {},
			Difference{Path: "b", Kind: OnlyA, A: "file"},
		},
		"only in the second": {
			func(string) {}, func(r string) { check(t, os.Symlink("a", filepath.Join(r, "b"))) },
			Difference{Path: "b", Kind: OnlyB, B: "link to a"},
		},
		"kind": {
			func(r string) { write(t, r, "b", "x") }, func(r string) { check(t, os.Mkdir(filepath.Join(r, "b"), 0o755)) },
			Difference{Path: "b", Kind: Type, A: "file", B: "folder"},
		},
		"mode": {
			func(r string) { check(t, os.Chmod(write(t, r, "b", "x"), 0o755)) }, func(r string) { write(t, r, "b", "x") },
			Difference{Path: "b", Kind: Mode, A: "executable", B: "not executable"},
		},
		"target": {
			func(r string) { check(t, os.Symlink("a", filepath.Join(r, "b"))) },
			func(r string) { check(t, os.Symlink("a\x1b[2J", filepath.Join(r, "b"))) },
			Difference{Path: "b", Kind: Target, A: "a", B: `a\x1b[2J`},
		},
	} {
		a, b := t.TempDir(), t.TempDir()
		for _, root := range []string{a, b} {
			write(t, root, "a", "same")
			write(t, root, "c", root) // a further difference
		}
		c.a(a)
		c.b(b)
		d := compare(t, Comparer{}, a, b)
		c.want.Further, c.want.FurtherPaths = 1, []string{"c"}
		got, err := json.Marshal(d)
		check(t, err)
		want, err := json.Marshal(c.want)
		check(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestFurther(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	for i := range 30 {
		write(t, a, string(rune('A'+i)), "1")
		write(t, b, string(rune('A'+i)), "2")
	}
	d := compare(t, Comparer{}, a, b)
	if d.Path != "A" || d.Further != 29 || len(d.FurtherPaths) != 20 || d.FurtherPaths[0] != "B" {
		t.Errorf("%+v", d)
	}
	if text := d.String(); !strings.Contains(text, "29 further: B, C") || !strings.HasSuffix(text, ", …") {
		t.Errorf("%s", text)
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	d := differ(t, "one\nzwölf at 12:30:01\n", "one\nzwölf at 12:30:02\n")
	if p := d.Place; p.Line != 2 || p.Column != 17 || p.A != `"zwölf at 12:30:01"` || p.B != `"zwölf at 12:30:02"` || !hinted(d, "time") {
		t.Errorf("%+v %v", p, d.Hints)
	}
	d = differ(t, "one\n", "one\ntwo\n")
	if p := d.Place; p.Line != 2 || p.Column != 1 || p.A != "(ends)" || p.B != `"two"` || d.A != "4 bytes" || d.B != "8 bytes" {
		t.Errorf("%+v", d)
	}
	// A long line is clipped around the column, and nothing of it reaches a
	// terminal as it is.
	long := strings.Repeat("x", 5000)
	d = differ(t, long+"\x1b]0;a", long+"\x1b]0;b")
	if p := d.Place; p.Line != 1 || p.Column != 5005 || strings.Contains(p.A, "\x1b") || len(p.A) > 200 {
		t.Errorf("%+v", p)
	}
	d = differ(t, "id=0123456789abcdef01", "id=0123456789abcdeff1")
	if !hinted(d, "id") {
		t.Errorf("%+v", d)
	}
	d = differ(t, "see /tmp/one/x.c", "see /tmp/two/x.c")
	if !hinted(d, "path") {
		t.Errorf("%+v", d)
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	var a, b [600000]byte
	b[500000] = 7
	d := differ(t, string(a[:]), string(b[:]))
	if p := d.Place; p.Offset != 500000 || p.A != strings.Repeat("00", 16) || p.B != "07"+strings.Repeat("00", 15) || p.Line != 0 {
		t.Errorf("%+v", p)
	}
	d = differ(t, string(a[:]), string(a[:599999]))
	if p := d.Place; p.Offset != 599999 || p.A != "00" || p.B != "(ends)" {
		t.Errorf("%+v", p)
	}
}

// A number that is a time is known only when the times of the builds are.
func TestBinaryTime(t *testing.T) {
	t.Parallel()
	first, second := time.Unix(1_700_000_000, 0), time.Unix(1_700_000_100, 0)
	a, b := t.TempDir(), t.TempDir()
	write(t, a, "f", "\x00\x01"+string(binary.LittleEndian.AppendUint32(nil, uint32(first.Unix())))+"\x00")
	write(t, b, "f", "\x00\x01"+string(binary.LittleEndian.AppendUint32(nil, uint32(second.Unix())))+"\x00")
	c := Comparer{A: Build{Begun: first.Add(-time.Second), Ended: first.Add(time.Second)}, B: Build{Begun: second.Add(-time.Second), Ended: second.Add(time.Second)}}
	if d := compare(t, c, a, b); !hinted(d, "time") {
		t.Errorf("%v", d)
	}
	if d := compare(t, Comparer{}, a, b); hinted(d, "time") {
		t.Errorf("%v", d)
	}
}

// object compiles a C source in a folder of its own.
func object(t testing.TB, target, source, out string, env func(), flags ...string) {
	t.Helper()
	if env != nil {
		env()
	}
	dir := t.TempDir()
	in := write(t, dir, "in.c", source)
	llvmtest.Run(t, "clang", append([]string{"-target", target, "-c", in, "-o", out}, flags...)...)
}

const (
	linux = "x86_64-linux-gnu"
	mac   = "arm64-apple-macos14"
)

// A test of __TIME__ sets the time by the environment and so cannot run beside
// others.
func TestTimeInObject(t *testing.T) {
	for _, c := range []struct{ target, section string }{{linux, "section .rodata.str1.1"}, {mac, "section __TEXT,__cstring"}} {
		a, b := t.TempDir(), t.TempDir()
		source := "const char *when(void) { return \"built at \" __TIME__; }\n"
		object(t, c.target, source, filepath.Join(a, "x.o"), func() { t.Setenv("SOURCE_DATE_EPOCH", "1000000000") }, "-O1")
		object(t, c.target, source, filepath.Join(b, "x.o"), func() { t.Setenv("SOURCE_DATE_EPOCH", "1000000001") }, "-O1")
		d := compare(t, Comparer{}, a, b)
		if where(d) != c.section || d.Place.TextA != "built at 01:46:40" || d.Place.TextB != "built at 01:46:41" || d.Place.Offset != 17-1 || !hinted(d, "time") {
			t.Errorf("%s: %v", c.target, d)
		}
	}
}

func TestPathInObject(t *testing.T) {
	t.Parallel()
	a, b := t.TempDir(), t.TempDir()
	source := "const char *where(void) { return __FILE__; }\n"
	object(t, linux, source, filepath.Join(a, "x.o"), nil)
	object(t, linux, source, filepath.Join(b, "x.o"), nil)
	d := compare(t, Comparer{A: Build{Paths: []string{os.TempDir()}}, B: Build{Paths: []string{os.TempDir()}}}, a, b)
	if where(d) != "section .rodata.str1.1" || !hinted(d, "path") || !strings.Contains(d.Hints[0].Text, os.TempDir()) {
		t.Errorf("%v", d)
	}
	// Another length of the path moves what follows; the string is named all
	// the same.
	if p := d.Place; !strings.HasSuffix(p.TextA, "/in.c") || !strings.HasSuffix(p.TextB, "/in.c") {
		t.Errorf("%+v", p)
	}
}

// Where code differs, what follows from it is not named first: the build id
// comes before all other sections in the file.
func TestConsequences(t *testing.T) {
	t.Parallel()
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	link := func(root, source, id string) {
		o := filepath.Join(t.TempDir(), "x.o")
		object(t, linux, source, o, nil, "-fPIC")
		llvmtest.Run(t, "ld.lld", "-shared", "-Bsymbolic", "--build-id="+id, "-o", filepath.Join(root, "libx.so"), o)
	}
	link(a, "static int h; int f(void) { return h; } int g(void) { return 3; }", "uuid")
	link(b, "static int h; int f(void) { return h; } int g(void) { return h + h * f() + 777; }", "uuid")
	link(c, "static int h; int f(void) { return h; } int g(void) { return 3; }", "uuid")
	d := compare(t, Comparer{}, a, b)
	if where(d) != "section .text" || len(d.Place.Parts) < 3 {
		t.Errorf("%v", d)
	}
	d = compare(t, Comparer{}, a, c)
	if where(d) != "section .note.gnu.build-id" || !hinted(d, "id") || len(d.Place.Parts) != 1 {
		t.Errorf("%v", d)
	}
	// A difference between the sections, in no part.
	data, err := os.ReadFile(filepath.Join(a, "libx.so"))
	check(t, err)
	other := bytes.Clone(data)
	other = append(other, 1)
	d = differ(t, string(data), string(other))
	if d.Place.Offset != int64(len(data)) || where(d) != "" {
		t.Errorf("%v", d)
	}
}

func TestMachO(t *testing.T) {
	t.Parallel()
	build := func(target, source string) string {
		o := filepath.Join(t.TempDir(), "x.o")
		object(t, target, source, o, nil)
		return o
	}
	one, two := build(mac, "int f(void) { return 1; }"), build(mac, "int f(void) { return 2; }")
	intel := build("x86_64-apple-macos14", "int f(void) { return 1; }")
	dylib := func(o, uuid string) string {
		root := t.TempDir()
		llvmtest.Run(t, "ld64.lld", "-dylib", "-arch", "arm64", "-platform_version", "macos", "14.0", "14.0", uuid, "-o", filepath.Join(root, "x.dylib"), o)
		return root
	}
	d := compare(t, Comparer{}, dylib(one, "-random_uuid"), dylib(two, "-random_uuid"))
	if where(d) != "section __TEXT,__text" || d.Place.Offset != 0 {
		t.Errorf("%v", d)
	}
	d = compare(t, Comparer{}, dylib(one, "-random_uuid"), dylib(one, "-no_uuid"))
	if !strings.Contains(d.String(), "LC_UUID") {
		t.Errorf("%v", d)
	}
	a, b := t.TempDir(), t.TempDir()
	llvmtest.Run(t, "llvm-lipo", "-create", intel, one, "-output", filepath.Join(a, "x.o"))
	llvmtest.Run(t, "llvm-lipo", "-create", intel, two, "-output", filepath.Join(b, "x.o"))
	d = compare(t, Comparer{}, a, b)
	if !strings.HasPrefix(where(d), "architecture CpuArm64/0x0 > section __TEXT,__text") {
		t.Errorf("%v", d)
	}
}

// Archives of ar(1): times are kept unless it is told not to, and a differing
// object is looked into.
func TestAr(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"gnu", "bsd"} {
		dir := t.TempDir()
		o := filepath.Join(dir, "a_name_longer_than_sixteen.o")
		p := filepath.Join(dir, "b.o")
		object(t, linux, "int f(void) { return 1; }", o, nil)
		object(t, linux, "int g(void) { return 1; }", p, nil)
		archive := func(mode string, files ...string) string {
			root := t.TempDir()
			llvmtest.Run(t, "llvm-ar", append([]string{mode, "--format=" + format, filepath.Join(root, "libx.a")}, files...)...)
			return root
		}
		stamps := archive("rcU", o, p)
		plain := archive("rcD", o, p)
		check(t, os.Chtimes(p, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_000, 0)))
		if d := compare(t, Comparer{}, plain, archive("rcD", o, p)); d != nil {
			t.Errorf("%s: %v", format, d)
		}
		d := compare(t, Comparer{}, stamps, archive("rcU", o, p))
		if where(d) != "member b.o" || d.Place.Field != "time" || d.Place.B != "1000000000" || !hinted(d, "time") {
			t.Errorf("%s: %v", format, d)
		}
		d = compare(t, Comparer{}, plain, archive("rcD", p, o))
		if d.Place.Field != "order" || !hinted(d, "order") {
			t.Errorf("%s: %v", format, d)
		}
		d = compare(t, Comparer{}, plain, archive("rcD", o))
		if d.Place.Field != "member b.o" || d.Place.A != "is there" {
			t.Errorf("%s: %v", format, d)
		}
		object(t, linux, "int f(void) { return 2; }", o, nil)
		d = compare(t, Comparer{}, plain, archive("rcD", o, p))
		if where(d) != "member a_name_longer_than_sixteen.o > section .text" {
			t.Errorf("%s: %v", format, d)
		}
	}
}

func tarOf(t testing.TB, when int64, body string) string {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, name := range []string{"a", strings.Repeat("long/", 40) + "b"} {
		check(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(body)), ModTime: time.Unix(when, 0)}))
		_, err := w.Write([]byte(body))
		check(t, err)
	}
	check(t, w.Close())
	return buf.String()
}

func gz(t testing.TB, when int64, body string) string {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.ModTime = time.Unix(when, 0)
	_, err := w.Write([]byte(body))
	check(t, err)
	check(t, w.Close())
	return buf.String()
}

func zipOf(t testing.TB, when int64, names ...string) string {
	t.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for _, name := range names {
		name, body, _ := strings.Cut(name, "=")
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Unix(when, 0)})
		check(t, err)
		_, err = f.Write([]byte(body))
		check(t, err)
	}
	check(t, w.Close())
	return buf.String()
}

func TestContainers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ a, b, within, field, hint string }{
		"tar time":     {tarOf(t, 1000, "x"), tarOf(t, 2000, "x"), "entry a", "time", "time"},
		"tar body":     {tarOf(t, 1000, "one\ntwo"), tarOf(t, 1000, "one\ntoo"), "entry a", "", ""},
		"gzip time":    {gz(t, 1000, "x"), gz(t, 2000, "x"), "uncompressed", "time", "time"},
		"tar.gz":       {gz(t, 0, tarOf(t, 1, "one\n")), gz(t, 0, tarOf(t, 1, "two\n")), "uncompressed > entry a", "", ""},
		"zip time":     {zipOf(t, 1e9, "a=1"), zipOf(t, 2e9, "a=1"), "entry a", "time", "time"},
		"zip body":     {zipOf(t, 1e9, "a=1", "b=2"), zipOf(t, 1e9, "a=1", "b=3"), "entry b", "", ""},
		"zip order":    {zipOf(t, 1e9, "a=1", "b=2"), zipOf(t, 1e9, "b=2", "a=1"), "", "order", "order"},
		"zip twins":    {zipOf(t, 1e9, "a=1", "a=2"), zipOf(t, 1e9, "a=1", "a=3"), "entry a (no. 2)", "", ""},
		"zip, one end": {zipOf(t, 1e9, "a=1", "b=2"), zipOf(t, 1e9, "a=1"), "", "entry b", ""},
	} {
		d := differ(t, c.a, c.b)
		if where(d) != c.within || d.Place.Field != c.field || c.hint != "" && !hinted(d, c.hint) {
			t.Errorf("%s: %v", name, d)
		}
	}
}

// What a container hides is bounded: a bomb is compared by its bytes.
func TestBombs(t *testing.T) {
	t.Parallel()
	bomb := func(last string) string {
		var buf bytes.Buffer
		w := gzip.NewWriter(&buf)
		zeros := make([]byte, 1<<20)
		for range maxMember>>20 + 1 {
			_, err := w.Write(zeros)
			check(t, err)
		}
		_, err := w.Write([]byte(last))
		check(t, err)
		check(t, w.Close())
		return buf.String()
	}
	if d := differ(t, bomb("a"), bomb("b")); where(d) != "" || d.Place.Offset == 0 {
		t.Errorf("%v", d)
	}
	// Containers in containers end.
	a, b := "a", "b"
	for range maxDepth + 2 {
		a, b = gz(t, 0, a), gz(t, 0, b)
	}
	if d := differ(t, a, b); len(d.Place.Within) != maxDepth {
		t.Errorf("%v", d)
	}
}

// A file that says that it is an ELF file and is none is compared by bytes.
func TestBrokenContainers(t *testing.T) {
	t.Parallel()
	for _, head := range []string{"\x7fELF", "!<arch>\n", "PK\x03\x04", "\x1f\x8b\x08", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe\x00\x00\x00\x02"} {
		d := differ(t, head+"\x00broken1", head+"\x00broken2")
		if where(d) != "" || d.Place.Offset != int64(len(head))+7 {
			t.Errorf("%q: %v", head, d)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	a := t.TempDir()
	if _, err := Compare(t.Context(), a, filepath.Join(a, "none")); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "compare: ") {
		t.Errorf("%v", err)
	}
	b := t.TempDir()
	write(t, a, "f", "1")
	write(t, b, "f", "2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Compare(ctx, a, b); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Whatever two different files hold, a place is found, in bounded memory, and
// nothing in it disturbs a terminal.
func FuzzLocate(f *testing.F) {
	f.Add([]byte("!<arch>\na/              0           0     0     100644  2         `\nxx"), []byte("!<arch>\na/              1           0     0     100644  2         `\nxx"))
	f.Add([]byte(tarOf(f, 1, "x")), []byte(tarOf(f, 2, "x")))
	f.Add([]byte(gz(f, 1, "x")), []byte(gz(f, 1, "y")))
	f.Add([]byte(zipOf(f, 1e9, "a=1")), []byte(zipOf(f, 1e9, "a=2")))
	f.Add([]byte("a\xffb\n"), []byte("a\xfe\x1b\n"))
	if exe, err := os.Executable(); err == nil && runtime.GOOS == "linux" {
		file, err := os.Open(exe)
		check(f, err)
		head := make([]byte, 4096)
		_, err = file.Read(head)
		check(f, err)
		f.Add(head, append(bytes.Clone(head[:100]), head[101:]...))
	}
	dir := f.TempDir()
	for i, target := range []string{linux, mac} {
		o := filepath.Join(dir, string(rune('a'+i)))
		object(f, target, "int x = 1; int f(void) { return x; }", o, nil)
		data, err := os.ReadFile(o)
		check(f, err)
		other := bytes.Clone(data)
		other[len(other)/2] ^= 1
		f.Add(data, other)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		l := &locator{ctx: t.Context(), budget: 1 << 22}
		p, err := l.locate(content{bytes.NewReader(a), int64(len(a))}, content{bytes.NewReader(b), int64(len(b))}, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if (p == nil) != bytes.Equal(a, b) {
			t.Fatalf("place %v of %q and %q", p, a, b)
		}
		if p == nil {
			return
		}
		if text := p.String(); strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' || r == 0x7f }) {
			t.Fatalf("%q", text)
		}
	})
}
