// Package sdk knows the SDKs that programs for macOS are compiled with: what
// Apple installs on a Mac, a folder that somebody names, and one assembled
// from free sources, for machines that are no Mac. What that one holds, and
// why it can be trusted with a deployment target, is told in docs/sdk.md.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// Arch and Target are what the assembled SDK is for: Apple Silicon alone.
const Target = "arm64-macos"

// Sources are the folders that an SDK is assembled from.
type Sources struct {
	// Darwin is the folder lib/libc of zig's source: macOS's headers in
	// include/any-macos-any, and libSystem's stub in darwin.
	Darwin fs.FS
	// LLVM is LLVM's source: libcxx and libcxxabi.
	LLVM fs.FS
}

// Summary is what an assembled SDK holds.
type Summary struct {
	Version Version // of the SDK that the headers are from
	Target  Version // the deployment target
	Headers int
	// LeftOut are headers of libraries that the SDK has no stub of, sorted.
	LeftOut []string
	// Symbols are those of libc++ that the deployment target has, TooNew
	// those that it has not, sorted.
	Symbols int
	TooNew  []string
}

// withoutStub are headers, and folders of headers, of libraries that the
// sources describe no stub of. With the header alone a search such as CMake's
// find_package(ZLIB) would succeed and the link fail.
var withoutStub = []string{"zlib.h", "zconf.h", "iconv.h", "objc/objc-load.h"}

// systemAliases are the names under which macOS's linker finds libSystem: its
// SDKs have symbolic links of these names (-lm, -lpthread).
var systemAliases = []string{"System", "c", "dbm", "dl", "info", "m", "poll", "proc", "pthread", "rpcsvc", "util"}

// Assemble makes an SDK in an empty folder: usr/include, usr/lib and
// SDKSettings.json at its top. A program linked with it for the deployment
// target finds every symbol of libc++ on a Mac of that version. The same
// sources and target give the same bytes.
func Assemble(ctx context.Context, from Sources, to *os.Root, target Version) (Summary, error) {
	sum := Summary{Target: target}
	system, err := readSystem(from.Darwin)
	if err != nil {
		return sum, fmt.Errorf("assemble the macOS SDK: libSystem: %w", err)
	}
	cxx, err := readLibcxx(from.LLVM)
	if err != nil {
		return sum, fmt.Errorf("assemble the macOS SDK: libc++: %w", err)
	}
	if sum.Version, err = readVersion(from.Darwin); err != nil {
		return sum, fmt.Errorf("assemble the macOS SDK: %w", err)
	}
	if sum.Version.Less(target) {
		sum.Version = target
	}
	w := &writer{ctx: ctx, root: to}
	if err := w.headers(from, &sum); err != nil {
		return sum, fmt.Errorf("assemble the macOS SDK: headers: %w", err)
	}
	stub, abi := cxx.stubs(target, []string{Target})
	for _, name := range slices.Concat(cxx.own, cxx.reexport) {
		if target.Less(cxx.since[name]) {
			sum.TooNew = append(sum.TooNew, name)
		} else {
			sum.Symbols++
		}
	}
	slices.Sort(sum.TooNew)
	w.file("usr/lib/libSystem.B.tbd", system)
	for _, name := range systemAliases {
		w.link("usr/lib/lib"+name+".tbd", "libSystem.B.tbd")
	}
	w.file("usr/lib/libc++.1.tbd", stub.Bytes())
	w.link("usr/lib/libc++.tbd", "libc++.1.tbd")
	w.file("usr/lib/libc++abi.tbd", abi.Bytes())
	w.file("SDKSettings.json", settings(sum.Version))
	if w.err != nil {
		return sum, fmt.Errorf("assemble the macOS SDK: %w", w.err)
	}
	return sum, nil
}

// readSystem reads libSystem's stub, checks that it is one, and gives its
// bytes.
func readSystem(darwin fs.FS) ([]byte, error) {
	f, err := tbd.Open(darwin, "darwin/libSystem.tbd")
	if err != nil {
		return nil, err
	}
	e, ok := f.Exports(Target)
	switch {
	case !ok:
		return nil, fmt.Errorf("its stub is not for %s", Target)
	case e.InstallName != "/usr/lib/libSystem.B.dylib" || !e.Has("_malloc") || !e.Has("_pthread_create"):
		return nil, fmt.Errorf("its stub describes %s and not the C library", e.InstallName)
	}
	return fs.ReadFile(darwin, "darwin/libSystem.tbd")
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

// headers copies the headers of the C library, and those of libc++ and
// libc++abi with what a build would generate.
func (w *writer) headers(from Sources, sum *Summary) error {
	generated, err := libcxxHeaders(from.LLVM)
	if err != nil {
		return err
	}
	copied, err := w.tree(from.Darwin, "include/any-macos-any", "usr/include", func(name string) bool {
		for _, skip := range withoutStub {
			if name == skip || strings.HasPrefix(name, skip+"/") {
				sum.LeftOut = append(sum.LeftOut, name)
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	slices.Sort(sum.LeftOut)
	sum.Headers += copied
	for _, folder := range []string{"libcxx/include", "libcxxabi/include"} {
		copied, err := w.tree(from.LLVM, folder, "usr/include/c++/v1", func(name string) bool {
			_, made := generated[name]
			return !made && path.Base(name) != "CMakeLists.txt" && path.Ext(name) != ".in"
		})
		if err != nil {
			return err
		}
		sum.Headers += copied
	}
	for _, name := range slices.Sorted(maps.Keys(generated)) {
		w.file("usr/include/c++/v1/"+name, generated[name])
		sum.Headers++
	}
	return w.err
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
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxSourceFile+1))
		if err != nil {
			return err
		}
		if len(data) > maxSourceFile {
			return fmt.Errorf("%s has more than %d MiB", name, maxSourceFile>>20)
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
