package aptindex

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/fetch"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The order of versions, from Debian Policy 5.6.12 and the comparisons of
// dpkg's own test suite (dpkg, lib/dpkg/t/t-version.c). Each entry is older than
// the next.
func TestCompare(t *testing.T) {
	order := []string{
		"0~~", "0~~a", "0~", "0", "0a", "0b", "0+", "0.1~rc1", "0.1", "1a", "1+dfsg", "1.0~beta1~svc1", "1.0~beta1", "1.0", "1.0-1~bpo1", "1.0-1",
		"1.0-1.1", "1.0-2", "1.0.0", "1.0.1", "1.9", "1.10", "6.4.3-5", "7.0.2+dfsg-3", "7.2.4-1~exp2", "7.2.4-1",
		"10.1-1", "22.1.8-1", "1:0.1", "1:22.1.8-1~deb13u4", "1:22.1.8-1", "1:22.1.8-3", "2:0",
	}
	for i, a := range order {
		for j, b := range order {
			if got, want := Compare(a, b), sign(i-j); got != want {
				t.Errorf("Compare(%q, %q) = %d, want %d", a, b, got, want)
			}
		}
	}
	for _, pair := range [][2]string{{"1", "0:1"}, {"1.0", "1.0-0"}, {"1.002", "1.2"}, {"0", ""}, {"1-2-3", "1-2-03"}} {
		if got := Compare(pair[0], pair[1]); got != 0 {
			t.Errorf("Compare(%q, %q) = %d, want 0", pair[0], pair[1], got)
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add("1:1.0~a-1", "1.0+b")
	f.Fuzz(func(t *testing.T, a, b string) {
		if Compare(a, b) != -Compare(b, a) || Compare(a, a) != 0 {
			t.Errorf("%q and %q have no order", a, b)
		}
	})
}

// aptRoot writes an apt configuration.
func aptRoot(t *testing.T, files map[string]string) string {
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		check(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return root
}

func TestReadMirrors(t *testing.T) {
	root := aptRoot(t, map[string]string{
		"sources.list": `# deb http://commented.example/debian bookworm main
deb cdrom:[Debian GNU/Linux 12]/ bookworm main
deb [arch=amd64 signed-by=/k/debian-archive-bookworm.gpg] http://one.example/debian/ bookworm main contrib # tail
deb-src	http://one.example/debian bookworm main
deb http://sec.example/debian-security bookworm-security main
deb https://download.docker.example/linux/debian bookworm stable
deb https://packages.sury.example/php bookworm main
deb http://archive.ubuntu.example/ubuntu noble main
deb [ broken
deb http://short.example/debian
`,
		// As Debian's container images have it.
		"sources.list.d/debian.sources": `Types: deb
# http://snapshot.example/archive/debian/20250520T000000Z
URIs: http://two.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: bookworm
Components: main

Types: deb deb-src
URIs: http://proxy.example/artifactory/remote
 http://user:pw@four.example/debian
Suites: trixie
Components: main non-free
Signed-By: /k/debian-archive-keyring.pgp

Types: deb
URIs: https://nodesource.example/debian
Suites: nodistro
Components: main
`,
		// As Debian's cloud images have it.
		"sources.list.d/cloud.sources":   "Types: deb\nURIs: mirror+file:/etc/apt/mirrors/debian.list\nSuites: trixie trixie-updates\nComponents: main\n",
		"mirrors/debian.list":            "# mirrors\nhttps://five.example/debian\tpriority:1\nhttp://two.example/debian\n",
		"sources.list.d/old.sources.bak": "Types: deb\nURIs: http://bak.example/debian\nSuites: sid\nComponents: main\n",
		"sources.list.d/broken.sources":  "Types deb\nURIs: http://x.example/debian\n",
	})
	got, err := ReadMirrors(root)
	check(t, err)
	want := Mirrors{
		Main: []string{"http://one.example/debian", "https://five.example/debian", "http://two.example/debian",
			"http://proxy.example/artifactory/remote", "http://user:pw@four.example/debian"},
		Security: []string{"http://sec.example/debian-security"},
		Keyrings: []string{"/k/debian-archive-bookworm.gpg", "/usr/share/keyrings/debian-archive-keyring.gpg", "/k/debian-archive-keyring.pgp"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	none, err := ReadMirrors(filepath.Join(root, "absent"))
	if err != nil || len(none.Main) != 0 {
		t.Errorf("no apt: %+v, %v", none, err)
	}
}

func TestURLs(t *testing.T) {
	root := aptRoot(t, map[string]string{"sources.list": "deb http://a.example/debian sid main\ndeb http://a.example/debian-security bookworm-security main\n"})
	c, err := New(Config{ListsDir: t.TempDir(), AptConfRoot: root, Fallback: []string{
		"https://b.example/debian/", "http://a.example/debian", "https://b.example/debian-security", "https://snap.example/archive/debian/20260101T000000Z"}})
	check(t, err)
	got := c.URLs("pool/main/r/rocm-llvm/rocm-llvm_7.0.2+dfsg~1.orig.tar.xz")
	want := []string{
		"http://a.example/debian/pool/main/r/rocm-llvm/rocm-llvm_7.0.2+dfsg~1.orig.tar.xz",
		"https://b.example/debian/pool/main/r/rocm-llvm/rocm-llvm_7.0.2+dfsg~1.orig.tar.xz",
		"https://snap.example/archive/debian/20260101T000000Z/pool/main/r/rocm-llvm/rocm-llvm_7.0.2+dfsg~1.orig.tar.xz",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	got = c.URLs("pool/updates/main/x/x y.deb")
	want = []string{"http://a.example/debian-security/pool/updates/main/x/x%20y.deb", "https://b.example/debian-security/pool/updates/main/x/x%20y.deb"}
	if !slices.Equal(got, want) {
		t.Errorf("security: got %q\nwant %q", got, want)
	}
	if _, err := New(Config{ListsDir: "x", AptConfRoot: root, Fallback: []string{"no address"}}); err == nil {
		t.Error("a fallback that is no address was taken")
	}
}

// testdata/mirror is a small archive with entries copied from Debian's indexes
// of November 2026; its InRelease was clear-signed by gpg 2.2.40 with a key made
// for it, whose public half is testdata/keyring.gpg. Sources exists by its hash
// only, Packages by its name only.
func mirror(t *testing.T, change func(path string, body []byte) []byte) (string, *[]string) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rel := strings.TrimPrefix(r.URL.Path, "/debian/")
		asked = append(asked, rel)
		body, err := os.ReadFile(filepath.Join("testdata/mirror", filepath.FromSlash(rel)))
		if err == nil && change != nil {
			body = change(rel, body)
		}
		if err != nil || body == nil {
			http.NotFound(w, r)
			return
		}
		w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/debian", &asked
}

func newClient(t *testing.T, base string, lists string) *Client {
	c, err := New(Config{
		ListsDir: lists, AptConfRoot: t.TempDir(), Fallback: []string{base}, Keyrings: []string{"testdata/keyring.gpg"},
		Fetcher: &fetch.Fetcher{Dir: lists, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
	})
	check(t, err)
	return c
}

func TestSourceAndBinary(t *testing.T) {
	base, asked := mirror(t, nil)
	lists := t.TempDir()
	c := newClient(t, base, lists)
	files, err := c.Source(t.Context(), "forky", "rocm-llvm", "")
	check(t, err)
	want := File{
		Name: "rocm-llvm_7.0.2+dfsg.orig.tar.xz", Path: "pool/main/r/rocm-llvm/rocm-llvm_7.0.2+dfsg.orig.tar.xz",
		Size: 325280, SHA256: "c0abd0b9d526c6f486a0065edf0e2ab749519f4ad3c8dccfcaea3a545651e5f9",
		URLs:    []string{base + "/pool/main/r/rocm-llvm/rocm-llvm_7.0.2+dfsg.orig.tar.xz"},
		Package: "rocm-llvm", Version: "7.0.2+dfsg-3",
	}
	if len(files) != 3 || !reflect.DeepEqual(files[1], want) {
		t.Errorf("got %+v\nwant %+v second of three", files, want)
	}
	// By codename and by suite it is one release. The newest is not the first.
	deb, err := c.Binary(t.Context(), "forky", "amd64", "libamdhip64-dev", "")
	check(t, err)
	if deb.Version != "7.2.4-1~exp2" || deb.Name != "libamdhip64-dev_7.2.4-1~exp2_amd64.deb" || deb.Size != 262944 {
		t.Errorf("newest: %+v", deb)
	}
	deb, err = c.Binary(t.Context(), "forky", "amd64", "libamdhip64-dev", "6.4.3-5")
	check(t, err)
	if deb.SHA256 != "f2a3a542d41883f87a45e2d0554c1c84ccf350c836b9e8b35473dadbc34ced5e" {
		t.Errorf("pinned: %+v", deb)
	}
	zstd, err := c.Source(t.Context(), "forky", "libzstd", "")
	check(t, err)
	if zstd[0].Version != "1.5.7+dfsg-1" {
		t.Errorf("~bpo1 counts as newer: %+v", zstd)
	}
	// The text "Package: rocm-llvm" inside another field is no package.
	other, err := c.Source(t.Context(), "forky", "aaa", "9")
	check(t, err)
	if other[0].Name != "aaa_9.dsc" {
		t.Errorf("got %+v", other)
	}
	wantAsked := []string{
		"dists/forky/InRelease",
		"dists/forky/main/source/by-hash/SHA256/71ee0cf59f08a2089814c19cef59ed8dc47f2aac921f094665b5bab8ce73b156",
		"dists/forky/main/binary-amd64/by-hash/SHA256/1416de249fe0b3cf3ba1f9a55332b666ed94d37121a501118878d7a80f8ae8fb",
		"dists/forky/main/binary-amd64/Packages.gz",
	}
	if !slices.Equal(*asked, wantAsked) {
		t.Errorf("asked for %q\nwant %q", *asked, wantAsked)
	}
	// A second run asks for the release alone, and leaves no temporary files.
	_, err = newClient(t, base, lists).Source(t.Context(), "forky", "libzstd", "")
	check(t, err)
	if n := len(*asked); n != len(wantAsked)+1 {
		t.Errorf("asked again for %q", (*asked)[len(wantAsked):])
	}
	rest, err := filepath.Glob(filepath.Join(lists, "index-*"))
	if err != nil || len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
}

func TestNotFound(t *testing.T) {
	base, _ := mirror(t, nil)
	c := newClient(t, base, t.TempDir())
	var e *NotFoundError
	_, err := c.Source(t.Context(), "forky", "libzstd", "2")
	if !errors.As(err, &e) || !slices.Equal(e.Have, []string{"1.5.7+dfsg-1~bpo1", "1.5.7+dfsg-1"}) {
		t.Errorf("got %v", err)
	}
	if _, err := c.Source(t.Context(), "forky", "nothing", ""); !errors.As(err, &e) || len(e.Have) != 0 {
		t.Errorf("got %v", err)
	}
	for _, suite := range []string{"", "../x", "a/b", "sid", "FORKY"} {
		if _, err := c.Source(t.Context(), suite, "libzstd", ""); err == nil {
			t.Errorf("suite %q was found", suite)
		}
	}
	if _, err := c.Binary(t.Context(), "forky", "../x", "libzstd", ""); err == nil {
		t.Error("an architecture with a path was taken")
	}
	if _, err := c.Binary(t.Context(), "forky", "arm64", "libzstd", ""); err == nil || !strings.Contains(err.Error(), "does not list it") {
		t.Errorf("got %v", err)
	}
}

func TestSignature(t *testing.T) {
	if _, err := exec.LookPath("gpgv"); err != nil {
		// A machine without GnuPG still works, and says so.
		base, _ := mirror(t, nil)
		rel, err := newClient(t, base, t.TempDir()).Release(t.Context(), "forky")
		check(t, err)
		if rel.Signed || rel.Unsigned != "gpgv is not installed" {
			t.Errorf("got %+v", rel)
		}
		return
	}
	base, _ := mirror(t, nil)
	if _, err := newClient(t, base, t.TempDir()).Release(t.Context(), "testing"); err == nil {
		t.Error("testing/InRelease does not exist")
	}
	c := newClient(t, base, t.TempDir())
	rel, err := c.Release(t.Context(), "forky")
	check(t, err)
	if !rel.Signed || rel.Unsigned != "" || rel.Suite != "testing" || !rel.ByHash || len(rel.files) != 4 {
		t.Errorf("got %+v", rel)
	}
	// Changed on its way.
	bad, _ := mirror(t, func(p string, b []byte) []byte { return bytes.Replace(b, []byte(" 504 "), []byte(" 505 "), 1) })
	if _, err := newClient(t, bad, t.TempDir()).Release(t.Context(), "forky"); err == nil || !strings.Contains(err.Error(), "signature is bad") {
		t.Errorf("got %v", err)
	}
	// What stands outside the signature does not count.
	outside, _ := mirror(t, func(p string, b []byte) []byte {
		if path.Base(p) == "InRelease" {
			return append(b, "\nSHA256:\n x\n"...)
		}
		return b
	})
	if _, err := newClient(t, outside, t.TempDir()).Source(t.Context(), "forky", "libzstd", ""); err != nil {
		t.Error(err)
	}
	// Without the key, or gpgv, it is merely unsigned.
	for name, set := range map[string]func(*Config){
		"are not installed":     func(c *Config) { c.Keyrings = []string{"testdata/absent.gpg"} },
		"gpgv is not installed": func(c *Config) { c.Gpgv = "/absent/gpgv" },
		"none of its signing keys": func(c *Config) {
			empty := filepath.Join(t.TempDir(), "empty.gpg")
			check(t, os.WriteFile(empty, nil, 0o644))
			c.Keyrings = []string{empty}
		},
	} {
		c := newClient(t, base, t.TempDir())
		set(&c.cfg)
		rel, err := c.Release(t.Context(), "forky")
		check(t, err)
		if rel.Signed || !strings.Contains(rel.Unsigned, name) {
			t.Errorf("%s: got %v, %q", name, rel.Signed, rel.Unsigned)
		}
		if _, err := c.Source(t.Context(), "forky", "libzstd", ""); err != nil {
			t.Error(err)
		}
	}
}

func TestChainIsChecked(t *testing.T) {
	// An index that is not what the release says is refused, whatever its name.
	base, _ := mirror(t, func(p string, b []byte) []byte {
		if strings.Contains(p, "source/") {
			return append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1)
		}
		return b
	})
	_, err := newClient(t, base, t.TempDir()).Source(t.Context(), "forky", "libzstd", "")
	var fe *fetch.Error
	if !errors.As(err, &fe) || !strings.Contains(err.Error(), "wrong content") {
		t.Errorf("got %v", err)
	}
	// A release of another suite is refused, signed or not.
	other, _ := mirror(t, nil)
	c := newClient(t, other, t.TempDir())
	name := filepath.Join("testdata", "mirror", "dists", "forky", "InRelease")
	if _, err := c.readRelease(t.Context(), name, "sid"); err == nil || !strings.Contains(err.Error(), "it is the release of forky (testing)") {
		t.Errorf("got %v", err)
	}
	c, err = New(Config{ListsDir: t.TempDir(), AptConfRoot: t.TempDir()})
	check(t, err)
	if _, err := c.Source(t.Context(), "sid", "x", ""); err == nil || !strings.Contains(err.Error(), "no mirror is known") {
		t.Errorf("got %v", err)
	}
}

func TestHostileIndexes(t *testing.T) {
	c, err := New(Config{ListsDir: t.TempDir(), AptConfRoot: t.TempDir()})
	check(t, err)
	sum := strings.Repeat("a", 64)
	for _, text := range []string{
		"Package: x\nDirectory: ../../etc\nChecksums-Sha256:\n " + sum + " 1 x",
		"Package: x\nDirectory: /etc\nChecksums-Sha256:\n " + sum + " 1 x",
		"Package: x\nDirectory: pool\nChecksums-Sha256:\n " + sum + " 1 ../x",
		"Package: x\nDirectory: pool\nChecksums-Sha256:\n " + sum + " 1 a/x",
		"Package: x\nDirectory: pool\nChecksums-Sha256:\n " + sum + " -1 x",
		"Package: x\nDirectory: pool\nChecksums-Sha256:\n " + sum[1:] + " 1 x",
		"Package: x\nDirectory: pool\nChecksums-Sha256:\n " + sum + " 1",
		"Package: x\nDirectory: pool\n",
	} {
		p, err := newStanzas(strings.NewReader(text)).find("")
		check(t, err)
		if files, err := c.sourceFiles(p); err == nil {
			t.Errorf("%q gave %+v", text, files)
		}
	}
	long := "A: " + strings.Repeat("x", maxLine) + "\n"
	twice := "A: 1\nA: 2\n"
	var many strings.Builder
	for range maxParagraph/1000 + 10 {
		many.WriteString(" " + strings.Repeat("x", 1000) + "\n")
	}
	for _, text := range []string{long, twice, " continued\n", "no field\n", "A:\n" + many.String()} {
		if p, err := newStanzas(strings.NewReader(text)).find(""); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%.20q gave %d fields, %v", text, len(p), err)
		}
	}
}

func FuzzStanzas(f *testing.F) {
	f.Add([]byte("Package: a\nX:\n b\n\nPackage: b\r\n"))
	f.Add([]byte(" x\n#c\n\n\nA:b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newStanzas(bytes.NewReader(data))
		for range len(data) + 2 {
			if _, err := s.find(""); err != nil {
				return
			}
		}
		t.Error("more paragraphs than bytes")
	})
}

func FuzzRelease(f *testing.F) {
	raw, err := os.ReadFile("testdata/mirror/dists/forky/InRelease")
	check(f, err)
	f.Add(raw)
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := signedText(data)
		if err == nil {
			_, _ = parseRelease(text)
		}
	})
}
