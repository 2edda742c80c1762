package llvm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// layoutVersion changes whenever equal installations would be adopted
// differently, so that earlier adoptions are not taken for current ones.
const layoutVersion = 1

// Digest is the identity of an installation by content: the sha256, in hex, of
// a sorted list of everything that an adoption of all of its tools would copy,
// of LLVM's CMake packages, and of this package's layout version. The prefix
// plays no part, so equal packages on two machines have equal digests.
//
// The cache remembers it, and the hashes of single files; nil reads all files.
func Digest(ctx context.Context, in Install, cache *statcache.Cache) (string, error) {
	question, asked := in.question(), time.Now()
	var digest string
	if _, ok := cache.Recall(question, &digest); ok && isDigest(digest) {
		return digest, nil
	}
	var watch *statcache.Watch
	if cache != nil {
		watch = &statcache.Watch{}
	}
	digest, err := in.digest(ctx, cache, watch)
	if err != nil {
		return "", err
	}
	return digest, cache.Remember(question, digest, asked, 0, watch)
}

func (in Install) digest(ctx context.Context, cache *statcache.Cache, watch *statcache.Watch) (string, error) {
	tools := slices.Collect(maps.Keys(in.Tools))
	// What cannot be adopted (scripts like git-clang-format) has no identity
	// that matters.
	tools = slices.DeleteFunc(tools, func(name string) bool { return !isELFProgram(in.Tools[name]) })
	l, err := arrange(ctx, in, tools, nil, nil)
	if err != nil {
		return "", fmt.Errorf("digest of %s: %w", in, err)
	}
	for _, pattern := range []string{"llvm/*.cmake", "clang/*.cmake", "lld/*.cmake"} {
		watch.AddLinked(filepath.Join(in.LibDir, "cmake", filepath.Dir(pattern)))
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
	in.watchFiles(watch, copied)
	sums, err := cache.Digests(ctx, copied)
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
