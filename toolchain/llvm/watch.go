package llvm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// What was found is remembered for as long as the folders that were looked
// into stay as they are, and the tools, with the libraries that they load and
// the configuration files that they may read. A clang that is a script is
// asked each time: nobody knows what it runs.

// probeVersion changes with the meaning of an answer.
const probeVersion = 1

// question names what is asked, with all that decides it but files.
func (o Options) question() string {
	return fmt.Sprintf("llvm %d of %s: root %q, prefixes %q, from %d, tools %q", probeVersion, platform.Native(), o.Root, o.ExtraPrefixes, o.MinMajor, o.Required)
}

// question names a digest by everything that the digest asks of in.
func (i Install) question() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d %q %q %q", i.root, i.Prefix, i.Version, i.Major, i.LibDir, i.ResourceDir, toolList(i.Tools)))
	return fmt.Sprintf("llvm digest %d.%d of %s: %x", probeVersion, layoutVersion, platform.Native(), sum[:16])
}

func toolList(tools map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		list = append(list, name, tools[name])
	}
	return list
}

// found is an Install as it is remembered: JSON for people leaves the tools
// out.
type found struct {
	Install
	Tools map[string]string `json:"tools"`
}

func (o Options) recall(question string) ([]Install, bool) {
	var list []found
	if _, ok := o.Cache.Recall(question, &list); !ok {
		return nil, false
	}
	var installs []Install
	for _, f := range list {
		in := f.Install
		in.Tools, in.root = f.Tools, o.Root
		// A cache file that was made by hand gives no name that leads nowhere.
		if !filepath.IsAbs(in.Prefix) || in.Usable() && !filepath.IsAbs(in.Tools["clang"]) {
			return nil, false
		}
		installs = append(installs, in)
	}
	return installs, true
}

func (o Options) remember(question string, installs []Install, asked time.Time) error {
	list := []found{}
	for _, in := range installs {
		list = append(list, found{in, in.Tools})
	}
	return o.Cache.Remember(question, list, asked, 0, o.watch)
}

// watchPrefix watches a folder that may hold an installation, with the tools
// in it and the files that were looked for.
func (o Options) watchPrefix(in *Install) {
	if o.watch == nil {
		return
	}
	o.watch.AddLinked(in.Prefix, in.BinDir)
	o.watch.Add(filepath.Join(in.Prefix, "lib64/cmake/llvm"),
		filepath.Join(in.LibDir, "cmake/llvm/LLVMConfig.cmake"), filepath.Join(in.LibDir, "cmake/clang/ClangConfig.cmake"))
	for _, path := range in.Tools {
		o.watch.Add(path)
	}
}

// watchClang watches a program that was asked, what it loads, and where its
// banner says that it looks for its configuration.
func (o Options) watchClang(program, banner string) {
	if o.watch == nil {
		return
	}
	o.watch.AddLinked(program)
	for line := range strings.Lines(banner) {
		if name, path, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.Contains(strings.ToLower(name), "configuration file") && filepath.IsAbs(path) {
			o.watch.Add(path)
		}
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil || isScript(real) {
		o.watch.Never()
		return
	}
	o.watch.Add(filepath.Dir(real))
	if platform.Native().OS != "linux" {
		return
	}
	linker, err := elf.NewLinker("/", platform.Native())
	if err != nil {
		o.watch.Never()
		return
	}
	closure, err := linker.Closure([]string{real})
	if err != nil {
		o.watch.Never()
		return
	}
	o.watch.Add("/etc/ld.so.cache", "/etc/ld.so.preload")
	for _, lib := range closure.Libraries {
		o.watch.AddLinked(lib.Path)
		o.watch.Add(filepath.Dir(lib.Path))
	}
}

// watchFiles watches what a digest is made of: the tools by their names, the
// files that they lead to, and the folders in which more could turn up.
func (i Install) watchFiles(watch *statcache.Watch, files []string) {
	if watch == nil {
		return
	}
	watch.AddLinked(i.BinDir, i.ResourceDir)
	for _, sub := range []string{"include", "lib"} {
		watch.AddLinked(filepath.Join(i.ResourceDir, sub))
		top, err := filepath.EvalSymlinks(filepath.Join(i.ResourceDir, sub))
		if err != nil {
			continue // it is not there, which is watched
		}
		err = filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				watch.Add(name)
			}
			return err
		})
		if err != nil {
			watch.Never()
		}
	}
	watch.Add(filepath.Join(i.root, "etc/ld.so.cache"))
	for _, path := range i.Tools {
		watch.AddLinked(path)
	}
	for _, path := range files {
		watch.Add(path)
	}
}

func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err != nil || string(head[:]) == "#!"
}

func isDigest(s string) bool {
	sum, err := hex.DecodeString(s)
	return err == nil && len(sum) == sha256.Size
}
