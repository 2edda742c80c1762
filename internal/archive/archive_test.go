package archive

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ulikunitz/xz"
)

var good = []entry{
	{name: "top/", kind: tar.TypeDir, mode: 0o700},
	{name: "./top/bin/tool", body: "run", mode: 0o4755},
	{name: "top/lib/a.txt", body: "hello", mode: 0o600},
	{name: "top/lib/link", kind: tar.TypeSymlink, link: "../bin/tool"},
	{name: "top/lib/hard", kind: tar.TypeLink, link: "top/lib/a.txt"},
	{name: "top/empty/", kind: tar.TypeDir},
}

const goodTree = `d 755 top
d 755 top/bin
d 755 top/empty
d 755 top/lib
f 644 top/lib/a.txt hello
f 644 top/lib/hard hello
f 755 top/bin/tool run
l top/lib/link -> ../bin/tool`

func TestFormats(t *testing.T) {
	plain := tarOf(t, good...)
	for want, data := range map[Format][]byte{
		"tar": plain, "tar.gz": gz(t, plain), "tar.xz": xzOf(t, plain), "tar.zst": zst(t, plain),
		"deb": debOf("data.tar.zst", zst(t, plain)),
	} {
		dest := filepath.Join(t.TempDir(), "new", "dest")
		stats, err := Unpack(t.Context(), put(t, data), dest, Options{})
		check(t, err)
		if got := tree(t, dest); got != goodTree {
			t.Errorf("%s unpacked as\n%s\nwant\n%s", want, got, goodTree)
		}
		if want := (Stats{Format: want, Files: 2, Dirs: 4, Symlinks: 1, Links: 1, Bytes: 8}); stats != want {
			t.Errorf("stats %+v, want %+v", stats, want)
		}
		a, err := os.Stat(filepath.Join(dest, "top/lib/a.txt"))
		check(t, err)
		b, err := os.Stat(filepath.Join(dest, "top/lib/hard"))
		check(t, err)
		if !os.SameFile(a, b) {
			t.Errorf("%s: the hard link became a copy", want)
		}
	}
}

// The archives of the tools that make real ones.
func TestRealTools(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	_, err := Unpack(t.Context(), put(t, tarOf(t, good...)), src, Options{})
	check(t, err)
	random := make([]byte, 1<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range random {
		random[i] = byte(rng.UintN(16))
	}
	check(t, os.WriteFile(filepath.Join(src, "top/big"), random, 0o644))
	long := filepath.Join(src, "top", strings.Repeat("long/", 40)+strings.Repeat("n", 120))
	check(t, os.MkdirAll(filepath.Dir(long), 0o755))
	check(t, os.WriteFile(long, []byte("deep"), 0o644))
	want := tree(t, src)
	pkg := t.TempDir()
	check(t, os.MkdirAll(filepath.Join(pkg, "DEBIAN"), 0o755))
	check(t, os.WriteFile(filepath.Join(pkg, "DEBIAN/control"), []byte("Package: p\nVersion: 1\nArchitecture: all\nMaintainer: m <m@example.org>\nDescription: d\n"), 0o644))
	run(t, "cp", "-a", filepath.Join(src, "top"), pkg)

	out := t.TempDir()
	file := func(name string) string { return filepath.Join(out, name) }
	run(t, "tar", "-C", src, "--format=gnu", "-cf", file("gnu.tar"), "top")
	run(t, "tar", "-C", src, "--format=posix", "-czf", file("posix.tar.gz"), "top")
	cmakeTar(t, src, file("one.tar.xz"), "cfJ", "top")
	compress(t, file("gnu.tar"), 32768) // many blocks: the parallel decoder
	cmakeTar(t, src, file("z.tar.zst"), "cf", "--zstd", "top")
	run(t, "dpkg-deb", "--root-owner-group", "-Zxz", "-b", pkg, file("x.deb"))
	run(t, "dpkg-deb", "--root-owner-group", "-Zgzip", "-b", pkg, file("g.deb"))
	// Two xz files in a row, with padding, are one.
	head, tail := file("head"), file("tail")
	data, err := os.ReadFile(file("gnu.tar"))
	check(t, err)
	check(t, os.WriteFile(head, data[:1<<19], 0o644))
	check(t, os.WriteFile(tail, data[1<<19:], 0o644))
	compress(t, head, 0)
	compress(t, tail, 0)
	h, err := os.ReadFile(head + ".xz")
	check(t, err)
	tl, err := os.ReadFile(tail + ".xz")
	check(t, err)
	check(t, os.WriteFile(file("two.tar.xz"), append(append(h, make([]byte, 8)...), tl...), 0o644))

	for _, name := range []string{"gnu.tar", "posix.tar.gz", "one.tar.xz", "gnu.tar.xz", "z.tar.zst", "x.deb", "g.deb", "two.tar.xz"} {
		dest := t.TempDir()
		if _, err := Unpack(t.Context(), file(name), dest, Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := tree(t, dest); got != want {
			t.Errorf("%s unpacked differently", name)
		}
	}
	blocks, err := os.Open(file("gnu.tar.xz"))
	check(t, err)
	defer blocks.Close()
	info, err := blocks.Stat()
	check(t, err)
	if list, err := xzBlocks(io.NewSectionReader(blocks, 0, info.Size())); err != nil || len(list) < 10 {
		t.Errorf("xz -T2 gave %d blocks (%v): the parallel decoder was not tested", len(list), err)
	}
}

// cmakeTar makes an archive with libarchive, which is in every CMake; tar
// itself needs programs for xz and zstd that a small machine lacks.
func cmakeTar(t *testing.T, dir, out, mode string, more ...string) {
	t.Helper()
	cmd := exec.Command("cmake", slices.Concat([]string{"-E", "tar", mode, out, "--format=gnutar"}, more)...)
	cmd.Dir = dir
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, msg)
	}
}

// compress makes name.xz: with xz(1) where it is installed, else with the
// library's writer, in blocks of that many bytes (0: one block).
func compress(t *testing.T, name string, block int64) {
	t.Helper()
	if _, err := exec.LookPath("xz"); err == nil {
		run(t, "xz", "-k", "-T2", fmt.Sprintf("--block-size=%d", block), name)
		return
	}
	data, err := os.ReadFile(name)
	check(t, err)
	out, err := os.Create(name + ".xz")
	check(t, err)
	w, err := xz.WriterConfig{BlockSize: block}.NewWriter(out)
	check(t, err)
	_, err = w.Write(data)
	check(t, err)
	check(t, w.Close())
	check(t, out.Close())
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

func TestZip(t *testing.T) {
	data := zipOf(t,
		entry{name: "d/", kind: tar.TypeDir},
		entry{name: "d/f", body: "x"},
		entry{name: "d/l", kind: tar.TypeSymlink, link: "f"})
	dest := t.TempDir()
	stats, err := Unpack(t.Context(), put(t, data), dest, Options{})
	check(t, err)
	if got, want := tree(t, dest), "d 755 d\nf 644 d/f x\nl d/l -> f"; got != want || stats.Format != "zip" {
		t.Errorf("%s: %s\nwant %s", stats.Format, got, want)
	}
}

func TestStripAndSubdirs(t *testing.T) {
	data := put(t, tarOf(t, good...))
	dest := t.TempDir()
	stats, err := Unpack(t.Context(), data, dest, Options{StripComponents: 1, Subdirs: []string{"lib"}})
	check(t, err)
	want := "d 755 lib\nf 644 lib/a.txt hello\nf 644 lib/hard hello\nl lib/link -> ../bin/tool"
	if got := tree(t, dest); got != want || stats.Skipped != 3 {
		t.Errorf("got %s, %d skipped\nwant %s", got, stats.Skipped, want)
	}
	_, err = Unpack(t.Context(), data, t.TempDir(), Options{StripComponents: 1, Subdirs: []string{"lib", "li"}})
	wantRule(t, err, RuleMissing, "")
	if _, err := Unpack(t.Context(), data, t.TempDir(), Options{Subdirs: []string{"../x"}}); err == nil {
		t.Error("a folder above the root was taken")
	}
}

func wantRule(t *testing.T, err error, rule Rule, entry string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Errorf("got %v, want rule %s", err, rule)
		return
	}
	if e.Rule != rule || e.Entry != entry || e.Archive == "" {
		t.Errorf("got rule %s at %q of %q (%v), want %s at %q", e.Rule, e.Entry, e.Archive, err, rule, entry)
	}
}

func TestHostile(t *testing.T) {
	dirLink := entry{name: "d", kind: tar.TypeSymlink, link: "."}
	for _, tc := range []struct {
		name    string
		rule    Rule
		at      string
		entries []entry
	}{
		{"absolute", RuleName, "/etc/x", []entry{{name: "/etc/x"}}},
		{"upwards", RuleName, "a/../../x", []entry{{name: "a/../../x"}}},
		{"upwards but inside", RuleName, "a/../x", []entry{{name: "a/../x"}}},
		{"backslash", RuleName, `..\x`, []entry{{name: `..\x`}}},
		{"long part", RuleName, strings.Repeat("x", 256), []entry{{name: strings.Repeat("x", 256)}}},
		{"deep", RuleName, strings.Repeat("x/", 300) + "y", []entry{{name: strings.Repeat("x/", 300) + "y"}}},
		{"link absolute", RuleSymlink, "l", []entry{{name: "l", kind: tar.TypeSymlink, link: "/etc"}}},
		{"link upwards", RuleSymlink, "a/l", []entry{{name: "a/l", kind: tar.TypeSymlink, link: "../../x"}}},
		{"link upwards later", RuleSymlink, "a/l", []entry{{name: "a/l", kind: tar.TypeSymlink, link: "b/../../../x"}}},
		{"link backslash", RuleSymlink, "l", []entry{{name: "l", kind: tar.TypeSymlink, link: `..\x`}}},
		// Inside by its letters, outside once p/q/up is followed.
		{"link through a link", RuleSymlink, "p/q/out", []entry{
			{name: "p/q/up", kind: tar.TypeSymlink, link: "../.."},
			{name: "p/q/out", kind: tar.TypeSymlink, link: "up/../x"}}},
		{"write through a link", RuleThrough, "d/f", []entry{dirLink, {name: "d/f", body: "x"}}},
		{"directory over a link", RuleThrough, "d/", []entry{dirLink, {name: "d/", kind: tar.TypeDir}}},
		{"file over a link", RuleThrough, "d", []entry{dirLink, {name: "d", body: "x"}}},
		{"file twice", RuleDuplicate, "./f", []entry{{name: "f"}, {name: "./f"}}},
		{"below a file", RuleDuplicate, "f/g", []entry{{name: "f"}, {name: "f/g"}}},
		{"hard link outside", RuleHardLink, "h", []entry{{name: "h", kind: tar.TypeLink, link: "../../etc/passwd"}}},
		{"hard link absent", RuleHardLink, "h", []entry{{name: "h", kind: tar.TypeLink, link: "f"}, {name: "f"}}},
		{"hard link to a link", RuleHardLink, "h", []entry{dirLink, {name: "h", kind: tar.TypeLink, link: "d"}}},
		{"pipe", RuleKind, "p", []entry{{name: "p", kind: tar.TypeFifo}}},
		{"device", RuleKind, "p", []entry{{name: "p", kind: tar.TypeChar}}},
		{"case", RuleCase, "A/f", []entry{{name: "a/f"}, {name: "A/f"}}},
		{"unknown type", RuleFormat, "v", []entry{{name: "v", kind: 'V'}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			up := t.TempDir()
			dest := filepath.Join(up, "dest")
			before := entry{name: "fine/before", body: "x"}
			data := put(t, tarOf(t, append([]entry{before}, tc.entries...)...))
			_, err := Unpack(t.Context(), data, dest, Options{Case: CaseRefuse})
			wantRule(t, err, tc.rule, tc.at)
			if got := tree(t, up); got != "" {
				t.Errorf("left behind:\n%s", got)
			}
			check(t, os.Mkdir(dest, 0o755))
			_, err = Unpack(t.Context(), data, dest, Options{Case: CaseRefuse})
			wantRule(t, err, tc.rule, tc.at)
			if got := tree(t, up); got != "d 755 dest" {
				t.Errorf("left behind:\n%s", got)
			}
		})
	}
	zips := map[Rule][]entry{
		RuleName:    {{name: "../x"}},
		RuleSymlink: {{name: "l", kind: tar.TypeSymlink, link: "/etc"}},
		RuleKind:    {{name: "p", kind: tar.TypeFifo}},
		RuleThrough: {dirLink, {name: "d/f"}},
	}
	for rule, entries := range zips {
		_, err := Unpack(t.Context(), put(t, zipOf(t, entries...)), t.TempDir(), Options{})
		wantRule(t, err, rule, entries[len(entries)-1].name)
	}
}

// A target with ".." after a name is kept when it really stays inside.
func TestHarmlessMixedLink(t *testing.T) {
	dest := t.TempDir()
	_, err := Unpack(t.Context(), put(t, tarOf(t,
		entry{name: "a/b/l", kind: tar.TypeSymlink, link: "../c/../f"},
		entry{name: "a/c/g", body: "g"}, entry{name: "a/f", body: "f"})), dest, Options{})
	check(t, err)
	if body, err := os.ReadFile(filepath.Join(dest, "a/b/l")); err != nil || string(body) != "f" {
		t.Errorf("%q, %v", body, err)
	}
}

func TestLimits(t *testing.T) {
	blank := strings.Repeat("\x00", 1<<20)
	bomb := tarOf(t, entry{name: "z", body: blank}, entry{name: "y", body: blank})
	skipped := tarOf(t, entry{name: "skip/z", body: blank}, entry{name: "keep/y", body: "y"})
	// The writer makes no sparse entries itself; the records of an extended
	// header have no checksum, so their names can be put in afterwards.
	sparse := bytes.ReplaceAll(tarOf(t, entry{name: "s", body: "1\n0\n1000000000000\n" + strings.Repeat("\x00", 494), pax: map[string]string{
		"XXX.sparse.major": "1", "XXX.sparse.minor": "0", "XXX.sparse.name": "s", "XXX.sparse.realsize": "1000000000000",
	}}), []byte("XXX.sparse"), []byte("GNU.sparse"))
	for _, tc := range []struct {
		name string
		data []byte
		opts Options
		rule Rule
		at   string
	}{
		{"ratio", gz(t, bomb), Options{Limits: Limits{RatioFloor: 1 << 19}}, RuleRatio, "z"},
		{"ratio of what is skipped", gz(t, skipped), Options{Subdirs: []string{"keep"}, Limits: Limits{RatioFloor: 1 << 19}}, RuleRatio, ""},
		{"ratio in a zip", zipOf(t, entry{name: "z", body: blank}), Options{Limits: Limits{RatioFloor: 1 << 19}}, RuleRatio, "z"},
		{"below the floor", gz(t, bomb), Options{}, "", ""},
		{"total", bomb, Options{Limits: Limits{TotalBytes: 3 << 19}}, RuleTotalBytes, "y"},
		{"file", bomb, Options{Limits: Limits{FileBytes: 1<<20 - 1}}, RuleFileBytes, "z"},
		{"file just fits", bomb, Options{Limits: Limits{FileBytes: 1 << 20}}, "", ""},
		{"entries", bomb, Options{Limits: Limits{Entries: 1}}, RuleEntries, "y"},
		{"entries just fit", bomb, Options{Limits: Limits{Entries: 2}}, "", ""},
		{"sparse file", sparse, Options{Limits: Limits{FileBytes: 1 << 50}}, RuleRatio, "s"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Unpack(t.Context(), put(t, tc.data), t.TempDir(), tc.opts)
			if tc.rule == "" {
				check(t, err)
				return
			}
			wantRule(t, err, tc.rule, tc.at)
		})
	}
	many := make([]entry, 6000)
	for i := range many {
		many[i].name = strings.Repeat("n", 200) + string(rune('a'+i%26)) + strings.Repeat("m", i%50)
	}
	_, err := Unpack(t.Context(), put(t, zipOf(t, many...)), t.TempDir(), Options{Limits: Limits{Entries: 10}})
	wantRule(t, err, RuleEntries, "")
}

// An xz header that asks for a 4 GiB dictionary is refused before a decoder
// allocates it. The header is made after section 3.1 of the format.
func TestXZDictionaryBomb(t *testing.T) {
	data := xzOf(t, tarOf(t, good...))
	size := (int(data[12]) + 1) * 4
	header := data[12 : 12+size]
	at := bytes.Index(header, []byte{0x21, 0x01}) + 2
	header[at] = 40
	binary.LittleEndian.PutUint32(header[size-4:], crc32.ChecksumIEEE(header[:size-4]))
	_, err := Unpack(t.Context(), put(t, data), t.TempDir(), Options{})
	wantRule(t, err, RuleMemory, "")
}

// Every truncation and every flipped byte is an error or the same tree; never a
// panic, never something left behind on error.
func TestDamage(t *testing.T) {
	plain := tarOf(t, good...)
	for name, data := range map[string][]byte{"gz": gz(t, plain), "xz": xzOf(t, plain), "zst": zst(t, plain), "deb": debOf("data.tar.xz", xzOf(t, plain))} {
		for i := 0; i < len(data); i += 1 + len(data)/150 {
			bad := bytes.Clone(data)
			bad[i] ^= 0x20
			for _, cut := range [][]byte{bad, data[:i]} {
				dest := t.TempDir()
				_, err := Unpack(t.Context(), put(t, cut), dest, Options{})
				got := tree(t, dest)
				if err == nil && got != goodTree {
					t.Errorf("%s, byte %d: other content without an error:\n%s", name, i, got)
				}
				if err != nil && got != "" {
					t.Errorf("%s, byte %d: left behind:\n%s", name, i, got)
				}
				if err == nil && len(cut) < len(data) && name != "deb" {
					t.Errorf("%s cut after %d bytes passes", name, i)
				}
			}
		}
	}
}

func TestNoArchive(t *testing.T) {
	for name, data := range map[string][]byte{
		"empty": nil, "text": []byte("<html>not found</html>"), "gz of text": gz(t, []byte("text")), "ar": arOf("x", "y"),
	} {
		_, err := Unpack(t.Context(), put(t, data), t.TempDir(), Options{})
		var e *Error
		if !errors.As(err, &e) || e.Rule != RuleFormat {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDestination(t *testing.T) {
	data := put(t, tarOf(t, good...))
	dest := t.TempDir()
	check(t, os.WriteFile(filepath.Join(dest, "mine"), nil, 0o644))
	_, err := Unpack(t.Context(), data, dest, Options{})
	wantRule(t, err, RuleDest, "")
	if got := tree(t, dest); got != "f 644 mine " {
		t.Errorf("the destination changed: %s", got)
	}
	link := filepath.Join(t.TempDir(), "l")
	check(t, os.Symlink(t.TempDir(), link))
	_, err = Unpack(t.Context(), data, link, Options{})
	wantRule(t, err, RuleDest, "")
}

func TestTimes(t *testing.T) {
	fixed := time.Unix(1_700_000_000, 0)
	dest := t.TempDir()
	_, err := Unpack(t.Context(), put(t, tarOf(t, good...)), dest, Options{ModTime: fixed})
	check(t, err)
	for _, name := range []string{"top", "top/bin", "top/bin/tool", "top/lib"} {
		info, err := os.Stat(filepath.Join(dest, name))
		check(t, err)
		if !info.ModTime().Equal(fixed) {
			t.Errorf("%s has the time %v", name, info.ModTime())
		}
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dest := t.TempDir()
	for _, data := range [][]byte{tarOf(t, good...), xzOf(t, tarOf(t, good...)), zipOf(t, entry{name: "f"})} {
		if _, err := Unpack(ctx, put(t, data), dest, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	if got := tree(t, dest); got != "" {
		t.Errorf("left behind: %s", got)
	}
}

func TestOpen(t *testing.T) {
	for format, data := range map[Format][]byte{"plain": []byte("text"), "gz": gz(t, []byte("text")), "xz": xzOf(t, []byte("text")), "zst": zst(t, []byte("text"))} {
		r, got, err := Open(t.Context(), put(t, data), 4)
		check(t, err)
		body, err := io.ReadAll(r)
		if err != nil || string(body) != "text" || got != format {
			t.Errorf("%s: %q, %s, %v", format, body, got, err)
		}
		check(t, r.Close())
		r, _, err = Open(t.Context(), put(t, data), 3)
		check(t, err)
		if body, err := io.ReadAll(r); err == nil || string(body) != "tex" {
			t.Errorf("%s: limit of 3 gave %q, %v", format, body, err)
		}
		check(t, r.Close())
	}
}

func fuzz(f *testing.F, seeds ...[]byte) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		up := t.TempDir()
		dest := filepath.Join(up, "dest")
		lim := Limits{Entries: 50, TotalBytes: 1 << 20, FileBytes: 1 << 18}
		_, err := Unpack(t.Context(), put(t, data), dest, Options{Limits: lim, Case: CaseRefuse})
		var e *Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("an error without a rule: %v", err)
		}
		names, _ := os.ReadDir(up)
		if err != nil && len(names) != 0 || len(names) > 1 {
			t.Errorf("left behind after %v: %v", err, names)
		}
		if err != nil {
			return
		}
		// Nothing that was unpacked leads out.
		root, err := os.OpenRoot(dest)
		check(t, err)
		defer root.Close()
		check(t, filepath.WalkDir(dest, func(p string, d os.DirEntry, err error) error {
			if err == nil && d.Type()&os.ModeSymlink != 0 {
				rel, _ := filepath.Rel(dest, p)
				if _, err := root.Stat(rel); err != nil && strings.Contains(err.Error(), "escapes") {
					t.Errorf("%s leads out", rel)
				}
			}
			return err
		}))
	})
}

func FuzzTar(f *testing.F) {
	plain := tarOf(f, good...)
	fuzz(f, plain, gz(f, plain), xzOf(f, plain), zst(f, plain),
		tarOf(f, entry{name: "p/q/up", kind: tar.TypeSymlink, link: "../.."}, entry{name: "p/q/out", kind: tar.TypeSymlink, link: "up/../x"}))
}

func FuzzZip(f *testing.F) {
	fuzz(f, zipOf(f, entry{name: "d/", kind: tar.TypeDir}, entry{name: "d/f", body: "x"}, entry{name: "d/l", kind: tar.TypeSymlink, link: "f"}))
}

func FuzzDeb(f *testing.F) {
	plain := tarOf(f, good...)
	fuzz(f, debOf("data.tar", plain), debOf("data.tar.gz", gz(f, plain)), arOf("debian-binary", "2.0\n"))
}
