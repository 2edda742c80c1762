// Package aptindex finds where a Debian file is, and what it must contain,
// without running apt.
//
// The addresses come from the machine's own apt configuration, so that a
// machine behind a company's mirror uses that mirror, and from a list that the
// caller gives for machines without apt. The content is found through the chain
// that apt itself trusts: InRelease (signed) names the SHA-256 of the Sources
// or Packages index, and that names size and SHA-256 of the file. The caller
// pins the result in its lock, and from then on needs no index: URLs turns the
// pinned pool path into addresses.
//
// Nothing of the machine's apt is touched: indexes go to a private folder.
package aptindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/archive"
	"github.com/stonemason-hip/stonemason/internal/fetch"
)

// DefaultAptRoot is where apt keeps its configuration.
const DefaultAptRoot = "/etc/apt"

// maxIndex bounds a decompressed index; Debian's largest has 70 MB.
const maxIndex = 1 << 30

// Config says where to look.
type Config struct {
	// ListsDir is the private folder for indexes. Required.
	ListsDir string
	// AptConfRoot is apt's configuration; "" means DefaultAptRoot.
	AptConfRoot string
	// Fallback lists more bases, asked after the machine's own: public mirrors,
	// and snapshots that still have what a mirror dropped.
	Fallback []string
	// Keyrings lists files with the keys of Debian's archive, besides those that
	// the configuration names; nil means where the debian-archive-keyring
	// package installs them.
	Keyrings []string
	// Gpgv is the verifier to run; "" means gpgv from the PATH. When there is
	// none, releases count as unsigned.
	Gpgv string
	// Fetcher carries the downloads; nil means one with its store in ListsDir.
	Fetcher *fetch.Fetcher
}

// File is a file of the archive.
type File struct {
	Name   string   // "rocm-llvm_7.0.2+dfsg.orig.tar.xz"
	Path   string   // below a mirror's base: "pool/main/r/rocm-llvm/…"
	Size   int64    // bytes
	SHA256 string   // lower-case hex
	URLs   []string // every mirror's address of it
	// Package and Version are what the index calls it.
	Package, Version string
}

// Client answers questions about one machine's mirrors. It reads an index once.
type Client struct {
	cfg     Config
	mirrors Mirrors

	mu       sync.Mutex
	releases map[string]*Release
	indexes  map[string]string // "<suite> <path>" → decompressed file
}

// New reads the machine's configuration.
func New(cfg Config) (*Client, error) {
	if cfg.ListsDir == "" {
		return nil, errors.New("debian index: no folder for the lists given")
	}
	if cfg.AptConfRoot == "" {
		cfg.AptConfRoot = DefaultAptRoot
	}
	if cfg.Fetcher == nil {
		cfg.Fetcher = &fetch.Fetcher{Dir: cfg.ListsDir}
	}
	m, err := ReadMirrors(cfg.AptConfRoot)
	if err != nil {
		return nil, err
	}
	if cfg.Keyrings == nil {
		cfg.Keyrings = []string{
			"/usr/share/keyrings/debian-archive-keyring.gpg",
			"/usr/share/keyrings/debian-archive-keyring.pgp", // its name since trixie
		}
	}
	for _, name := range m.Keyrings {
		cfg.Keyrings = addOnce(slices.Clone(cfg.Keyrings), name)
	}
	for i, base := range cfg.Fallback {
		u, err := url.Parse(base)
		if err != nil || u.Scheme == "" {
			return nil, fmt.Errorf("debian index: fallback mirror %d is no address", i+1)
		}
	}
	return &Client{cfg: cfg, mirrors: m, releases: map[string]*Release{}, indexes: map[string]string{}}, nil
}

// Mirrors returns what the machine's own configuration names.
func (c *Client) Mirrors() Mirrors { return c.mirrors }

// bases returns the mirrors for a path: pool/updates and the -security suites
// lie in the security archive.
func (c *Client) bases(security bool) []string {
	own := c.mirrors.Main
	if security {
		own = c.mirrors.Security
	}
	var list []string
	for _, base := range slices.Concat(own, c.cfg.Fallback) {
		base = strings.TrimRight(base, "/")
		if isSecurity := strings.Contains(path.Base(base), "security") || strings.Contains(base, "/debian-security/"); isSecurity == security || slices.Contains(own, base) {
			list = addOnce(list, base)
		}
	}
	return list
}

// URLs returns the address of a pool path on every mirror: the machine's own,
// in the order of its configuration, then the fallbacks.
func (c *Client) URLs(poolPath string) []string {
	var list []string
	for _, base := range c.bases(strings.HasPrefix(poolPath, "pool/updates/")) {
		list = append(list, join(base, poolPath))
	}
	return list
}

// join escapes what a path may hold and a URL may not; "+" and "~", which are
// common in Debian's names, may stay.
func join(base, rel string) string {
	return base + "/" + (&url.URL{Path: rel}).EscapedPath()
}

// Source returns the files of a source package, as the suite's index lists
// them: the .dsc, the tarballs, signatures. Version "" means the newest there.
// A file that is listed may still be absent from a mirror.
func (c *Client) Source(ctx context.Context, suite, pkg, version string) ([]File, error) {
	p, err := c.find(ctx, suite, "main/source/Sources", pkg, version)
	if err != nil {
		return nil, err
	}
	files, err := c.sourceFiles(p)
	if err != nil {
		return nil, fmt.Errorf("debian index: source package %s in %s: %w", pkg, suite, err)
	}
	return files, nil
}

func (c *Client) sourceFiles(p paragraph) ([]File, error) {
	dir, err := cleanPath(p["directory"])
	if err != nil {
		return nil, err
	}
	var files []File
	for _, line := range p.lines("checksums-sha256") {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			return nil, fmt.Errorf("malformed checksum line %q", clip([]byte(line)))
		}
		f, err := c.file(p, path.Join(dir, fields[2]), fields[1], fields[0])
		if err != nil {
			return nil, err
		}
		if f.Name != fields[2] {
			return nil, fmt.Errorf("file name %q is a path", fields[2])
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, errors.New("no file with a SHA-256 is listed")
	}
	return files, nil
}

// Binary returns the .deb of a package for an architecture, also when it is one
// for all architectures. Version "" means the newest.
func (c *Client) Binary(ctx context.Context, suite, arch, pkg, version string) (File, error) {
	if arch == "" || strings.ContainsAny(arch, "/ .") {
		return File{}, fmt.Errorf("debian index: %q is no architecture", arch)
	}
	p, err := c.find(ctx, suite, "main/binary-"+arch+"/Packages", pkg, version)
	if err != nil {
		return File{}, err
	}
	rel, err := cleanPath(p["filename"])
	var f File
	if err == nil {
		f, err = c.file(p, rel, p["size"], p["sha256"])
	}
	if err != nil {
		return File{}, fmt.Errorf("debian index: package %s in %s: %w", pkg, suite, err)
	}
	return f, nil
}

func (c *Client) file(p paragraph, rel, size, sum string) (File, error) {
	n, err := strconv.ParseInt(size, 10, 64)
	if err != nil || n <= 0 {
		return File{}, fmt.Errorf("%s has the size %q", path.Base(rel), clip([]byte(size)))
	}
	if !isHash(sum) {
		return File{}, fmt.Errorf("%s has no SHA-256", path.Base(rel))
	}
	return File{
		Name: path.Base(rel), Path: rel, Size: n, SHA256: sum, URLs: c.URLs(rel),
		Package: p["package"], Version: p["version"],
	}, nil
}

// cleanPath takes a path of an index that stays below the mirror's base.
func cleanPath(rel string) (string, error) {
	clean := path.Clean("/" + rel)[1:]
	if clean != strings.TrimSuffix(rel, "/") || clean == "" || len(clean) > 1024 || strings.ContainsAny(clean, "\\?#") {
		return "", fmt.Errorf("the index has the path %q", clip([]byte(rel)))
	}
	return clean, nil
}

func isHash(sum string) bool {
	return len(sum) == 64 && strings.Trim(sum, "0123456789abcdef") == ""
}

// NotFoundError says that an index has no such package or version.
type NotFoundError struct {
	Suite, Index, Package, Version string
	Have                           []string // the versions that are there
}

// Error names the package that was looked for, where, and the versions there.
func (e *NotFoundError) Error() string {
	if len(e.Have) == 0 {
		return fmt.Sprintf("debian index: no package %s in %s (%s)", e.Package, e.Suite, e.Index)
	}
	return fmt.Sprintf("debian index: %s has %s %s, not %s", e.Suite, e.Package, strings.Join(e.Have, ", "), e.Version)
}

// find returns the paragraph of one version of a package.
func (c *Client) find(ctx context.Context, suite, index, pkg, version string) (paragraph, error) {
	name, err := c.index(ctx, suite, index)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("debian index: %w", err)
	}
	defer f.Close()
	var best paragraph
	var have []string
	s := newStanzas(f)
	for {
		p, err := s.find("Package: " + pkg)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("debian index: %s of %s: %w", index, suite, err)
		}
		v := p["version"]
		if len(have) < 100 {
			have = append(have, v)
		}
		if version != "" && v == version || version == "" && (best == nil || Compare(v, best["version"]) > 0) {
			best = p
		}
	}
	if best == nil {
		slices.SortFunc(have, Compare)
		return nil, &NotFoundError{suite, index, pkg, version, have}
	}
	return best, nil
}

// index downloads an index of a suite, unless it is there, and returns the name
// of the decompressed file. Its content is as the release says.
func (c *Client) index(ctx context.Context, suite, index string) (string, error) {
	rel, err := c.Release(ctx, suite)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := suite + " " + index
	if name, ok := c.indexes[key]; ok {
		return name, nil
	}
	wrap := func(err error) (string, error) {
		return "", fmt.Errorf("debian index: %s of %s: %w", index, suite, err)
	}
	plain, ok := rel.files[index]
	if !ok {
		return wrap(errors.New("the release does not list it"))
	}
	if plain.size == 0 {
		return os.DevNull, nil // a suite with no package of that kind
	}
	store := &fetch.Fetcher{Dir: filepath.Join(c.cfg.ListsDir, "plain")}
	want := fetch.Request{Name: index, SHA256: plain.sum, Size: plain.size}
	if name, err := store.Get(ctx, want); err == nil {
		c.indexes[key] = name
		return name, nil
	}
	var packed string
	var entry listed
	for _, ext := range []string{".xz", ".gz", ""} {
		if entry, ok = rel.files[index+ext]; ok {
			packed = index + ext
			break
		}
	}
	var urls []string
	for _, base := range c.bases(strings.HasSuffix(suite, "-security")) {
		dir := base + "/dists/" + suite + "/"
		if rel.ByHash {
			urls = append(urls, dir+path.Dir(packed)+"/by-hash/SHA256/"+entry.sum)
		}
		urls = append(urls, dir+packed)
	}
	got, err := c.cfg.Fetcher.Get(ctx, fetch.Request{Name: suite + "/" + packed, URLs: urls, SHA256: entry.sum, Size: entry.size})
	if err != nil {
		return wrap(err)
	}
	// Through the store once more: its hash check is the chain's next link, and
	// its rename keeps a half-written file from being found later.
	tmp, err := unpackIndex(ctx, got, c.cfg.ListsDir, plain.size)
	if err != nil {
		return wrap(err)
	}
	defer os.Remove(tmp)
	want.URLs = []string{(&url.URL{Scheme: "file", Path: tmp}).String()}
	name, err := store.Get(ctx, want)
	if err != nil {
		return wrap(err)
	}
	c.indexes[key] = name
	return name, nil
}

// unpackIndex decompresses to a new temporary file of at most size bytes.
func unpackIndex(ctx context.Context, name, dir string, size int64) (tmp string, err error) {
	if size > maxIndex {
		return "", fmt.Errorf("%d bytes, at most %d are taken", size, maxIndex)
	}
	r, _, err := archive.Open(ctx, name, size)
	if err != nil {
		return "", err
	}
	defer r.Close()
	if dir, err = filepath.Abs(dir); err != nil {
		return "", err
	}
	out, err := os.CreateTemp(dir, "index-*")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(out, r)
	if err = errors.Join(err, out.Close()); err != nil {
		os.Remove(out.Name())
		return "", err
	}
	return out.Name(), nil
}
