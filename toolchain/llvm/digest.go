package llvm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/google/renameio/v2"
	"golang.org/x/sync/errgroup"
)

// layoutVersion changes whenever equal installations would be adopted
// differently, so that earlier adoptions are not taken for current ones.
const layoutVersion = 1

// maxDigestCache bounds the cache file that is read.
const maxDigestCache = 32 << 20

// Digest is the identity of an installation by content: the sha256, in hex, of
// a sorted list of everything that an adoption of all of its tools would copy,
// of LLVM's CMake packages, and of this package's layout version. The prefix
// plays no part, so equal packages on two machines have equal digests.
//
// Hashes of single files are kept in the JSON file cache, keyed by path, size,
// time and inode; "" keeps none. A damaged cache is rebuilt.
func Digest(ctx context.Context, in Install, cache string) (string, error) {
	tools := slices.Collect(maps.Keys(in.Tools))
	// What cannot be adopted (scripts like git-clang-format) has no identity
	// that matters.
	tools = slices.DeleteFunc(tools, func(name string) bool { return !isELFProgram(in.Tools[name]) })
	l, err := arrange(ctx, in, tools, nil, nil)
	if err != nil {
		return "", fmt.Errorf("digest of %s: %w", in, err)
	}
	for _, pattern := range []string{"llvm/*.cmake", "clang/*.cmake", "lld/*.cmake"} {
		matches, err := filepath.Glob(filepath.Join(in.LibDir, "cmake", pattern))
		if err != nil {
			return "", err
		}
		for _, m := range matches {
			rel, err := filepath.Rel(in.LibDir, m)
			if err != nil {
				return "", err
			}
			if err := l.add(file{dest: "dev/" + filepath.ToSlash(rel), source: m}); err != nil {
				return "", err
			}
		}
	}
	files := l.sorted()
	var copied []string
	for _, f := range files {
		if f.source != "" {
			copied = append(copied, f.source)
		}
	}
	sums, err := hashFiles(ctx, copied, cache)
	if err != nil {
		return "", fmt.Errorf("digest of %s: %w", in, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "adoption %d\nversion %s\n", layoutVersion, in.Version)
	for _, f := range files {
		if f.source != "" {
			fmt.Fprintf(h, "file %q %s %q\n", f.dest, sums[f.source], f.runpath)
		} else {
			fmt.Fprintf(h, "link %q %q\n", f.dest, f.link)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func isELFProgram(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [4]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "\x7fELF"
}

// digestCache is the layout of the cache file.
type digestCache struct {
	Version int                    `json:"version"`
	Files   map[string]digestEntry `json:"files"`
}

type digestEntry struct {
	Size   int64  `json:"size"`
	Time   int64  `json:"mtime_ns"`
	Inode  uint64 `json:"inode"`
	SHA256 string `json:"sha256"`
}

func (e digestEntry) same(o digestEntry) bool {
	return e.Size == o.Size && e.Time == o.Time && e.Inode == o.Inode
}

const digestCacheVersion = 1

func readDigestCache(path string) digestCache {
	c := digestCache{Version: digestCacheVersion, Files: map[string]digestEntry{}}
	info, err := os.Stat(path)
	if path == "" || err != nil || info.Size() > maxDigestCache {
		return c
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return c
	}
	var read digestCache
	if json.Unmarshal(b, &read) != nil || read.Version != digestCacheVersion || read.Files == nil {
		return c
	}
	return read
}

// hashFiles gives the sha256 of each file, in hex.
func hashFiles(ctx context.Context, paths []string, cache string) (map[string]string, error) {
	known := readDigestCache(cache)
	fresh := digestCache{Version: digestCacheVersion, Files: map[string]digestEntry{}}
	sums := map[string]string{}
	var mu sync.Mutex
	hashed := false
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, path := range paths {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			e, err := entryOf(path)
			if err != nil {
				return err
			}
			mu.Lock()
			old, ok := known.Files[path]
			mu.Unlock()
			if ok && old.same(e) && len(old.SHA256) == hex.EncodedLen(sha256.Size) && strings.Trim(old.SHA256, "0123456789abcdef") == "" {
				e.SHA256 = old.SHA256
			} else if e.SHA256, err = hashFile(path); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			hashed = hashed || e != old
			fresh.Files[path], sums[path] = e, e.SHA256
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if !hashed || cache == "" {
		return sums, nil
	}
	// Entries of other installations stay, so that two can take turns.
	for path, e := range known.Files {
		if _, ok := fresh.Files[path]; !ok {
			fresh.Files[path] = e
		}
	}
	b, err := json.Marshal(fresh)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(cache), 0o755); err != nil {
		return nil, err
	}
	return sums, renameio.WriteFile(cache, b, 0o644)
}

func entryOf(path string) (digestEntry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return digestEntry{}, err
	}
	e := digestEntry{Size: info.Size(), Time: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.Inode = st.Ino
	}
	return e, nil
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
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
