package sdk

import (
	"os"
	"path"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// Stubs answers what the libraries of macOS export, by the text stubs of one
// SDK. A stub is read when it is first asked for, once. Safe for concurrent use.
type Stubs struct {
	root string

	mu    sync.Mutex
	known map[string]stub // By install name.
}

// stub is what was found of one library; ok is false where the SDK has none.
type stub struct {
	exports tbd.Exports
	ok      bool
}

// NewStubs is about the SDK in a folder.
func NewStubs(dir string) *Stubs { return &Stubs{root: dir, known: map[string]stub{}} }

// SystemLibrary looks up a library by its install name
// ("/usr/lib/libSystem.B.dylib", "/System/Library/Frameworks/Metal.framework/Versions/A/Metal")
// as an arm64 image finds it. ok is false when the SDK has no stub that can be
// read, and then nothing is known. What is not exported by any stub of the SDK
// is missing on the macOS that it describes and on all before it; that is why
// minos is not looked at. A library re-exported by one that has no stub may
// export anything.
func (s *Stubs) SystemLibrary(name string, minos macho.Version) (exports func(symbol string) bool, ok bool) {
	if !s.library(name).ok {
		return nil, false
	}
	return func(symbol string) bool { return s.has(name, symbol, map[string]bool{}) }, true
}

func (s *Stubs) has(name, symbol string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	lib := s.library(name)
	if !lib.ok || lib.exports.Has(symbol) {
		return true
	}
	for _, other := range lib.exports.Elsewhere {
		if s.has(other, symbol, seen) {
			return true
		}
	}
	return false
}

func (s *Stubs) library(name string) stub {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.known[name]; ok {
		return found
	}
	var found stub
	found.exports, found.ok = s.read(name)
	s.known[name] = found
	return found
}

// read reads a stub. Names come out of images that nobody vouches for, and the
// SDK is a folder that a user may have named: none leads out of it.
func (s *Stubs) read(name string) (tbd.Exports, bool) {
	if !path.IsAbs(name) || path.Clean(name) != name {
		return tbd.Exports{}, false
	}
	root, err := os.OpenRoot(s.root)
	if err != nil {
		return tbd.Exports{}, false
	}
	defer root.Close()
	file, err := tbd.Open(root.FS(), strings.TrimSuffix(name[1:], ".dylib")+".tbd")
	if err != nil {
		return tbd.Exports{}, false
	}
	return file.Exports(Target)
}
