// Package sdk knows the SDKs that programs for macOS are compiled with: what
// Apple installs on a Mac, a folder that somebody names, and one assembled
// from free sources, for machines that are no Mac. What that one holds, and
// why it can be trusted with a deployment target, is told in docs/sdk.md.
package sdk

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// Target is what the assembled SDK is for: Apple Silicon alone.
const Target = "arm64-macos"

// Revision is a part of the key of an assembled SDK. It changes whenever the
// same sources and deployment target would give other bytes.
const Revision = "2"

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
	// System counts the symbols of libSystem that were left out because they
	// came after the deployment target.
	System int
}

// systemHeaders is where zig's folder has macOS's headers.
const systemHeaders = "include/any-macos-any"

// withoutStub are headers, and folders of headers, of libraries that the
// sources describe no stub of. With the header alone a search such as CMake's
// find_package(ZLIB) would succeed and the link fail.
var withoutStub = []string{"iconv.h", "objc", "zconf.h", "zlib.h"}

// systemAliases are the names under which macOS's linker finds libSystem: its
// SDKs have symbolic links of these names (-lm, -lpthread).
var systemAliases = []string{"System", "c", "dbm", "dl", "info", "m", "poll", "proc", "pthread", "rpcsvc", "util"}

// Assemble makes an SDK in an empty folder: usr/include, usr/lib and
// SDKSettings.json at its top. A program linked with it for the deployment
// target finds every symbol of libc++ on a Mac of that version. The same
// sources and target give the same bytes.
func Assemble(ctx context.Context, from Sources, to *os.Root, target Version) (Summary, error) {
	sum := Summary{Target: target}
	if target.Less(floor) {
		return sum, fmt.Errorf("assemble the macOS SDK: what libc++ of macOS %s holds is not known: the oldest deployment target is %s", target, floor)
	}
	system, removed, err := readSystem(from.Darwin, target)
	if err != nil {
		return sum, fmt.Errorf("assemble the macOS SDK: libSystem: %w", err)
	}
	sum.System = removed
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

// readSystem reads libSystem's stub without what came after the deployment
// target.
func readSystem(darwin fs.FS, target Version) (stub []byte, removed int, err error) {
	f, err := tbd.Open(darwin, "darwin/libSystem.tbd")
	if err != nil {
		return nil, 0, err
	}
	e, ok := f.Exports(Target)
	switch {
	case !ok:
		return nil, 0, fmt.Errorf("its stub is not for %s", Target)
	case e.InstallName != "/usr/lib/libSystem.B.dylib" || !e.Has("_malloc") || !e.Has("_pthread_create"):
		return nil, 0, fmt.Errorf("its stub describes %s and not the C library", e.InstallName)
	}
	late, err := announced(darwin, systemHeaders, target)
	if err != nil {
		return nil, 0, err
	}
	removed = without(f, late)
	return f.Bytes(), removed, nil
}

// headers copies the headers of the C library, and those of libc++ and
// libc++abi with what a build would generate.
func (w *writer) headers(from Sources, sum *Summary) error {
	generated, err := libcxxHeaders(from.LLVM)
	if err != nil {
		return err
	}
	copied, err := w.tree(from.Darwin, systemHeaders, "usr/include", func(name string) bool {
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
