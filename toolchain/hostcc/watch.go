package hostcc

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// What a compiler says of itself is remembered for as long as all that decides
// it stays: the search path and the folders on it, the programs that were
// asked and where symlinks lead to them, the folders in which they look for
// their parts, specs and configuration files, the headers that are read before
// any source, and the libraries that the loader brings. What cannot be seen
// through, a script or a wrapper like ccache, is asked each time.

// probeVersion changes with the meaning of an answer.
const probeVersion = 1

// question names what is asked, with all that decides it but files.
func (o Options) question() string {
	where := ""
	if strings.Contains(o.CC+o.CXX, "/") {
		where, _ = os.Getwd() // a relative name of a compiler starts there
	}
	return fmt.Sprintf("hostcc %d of %s: CC=%q CXX=%q in %q, environment %q", probeVersion, platform.Native(), o.CC, o.CXX, where, o.environment())
}

// plausible guards against a cache file that was made by hand.
func (p Pair) plausible() bool {
	for _, c := range []Compiler{p.C, p.CXX} {
		sum, err := hex.DecodeString(c.Digest)
		if err != nil || len(sum) != 32 || !filepath.IsAbs(c.Path) || check(c) != nil {
			return false
		}
	}
	return p.C.Language == C && p.CXX.Language == CXX
}

// watchSearch watches the folders in which compilers were looked for.
func (o Options) watchSearch() {
	for _, dir := range filepath.SplitList(o.Path) {
		if filepath.IsAbs(dir) {
			o.watch.AddLinked(filepath.Clean(dir))
		}
	}
}

// driverName matches the names of GCC's and Clang's own programs.
var driverName = regexp.MustCompile(`^([a-z0-9_.]+-)*(gcc|g\+\+|cc|c\+\+|clang|clang\+\+|cc1|cc1plus|as|ld|bfd|gold|lld|ld\.[a-z]+)(-[0-9.]+)?$`)

// watchProgram watches a program that answers, or that an answer is made of.
func (o Options) watchProgram(path string) {
	if o.watch == nil {
		return
	}
	o.watch.AddLinked(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || !driverName.MatchString(filepath.Base(real)) || isScript(real) {
		o.watch.Never()
		return
	}
	o.watch.Add(filepath.Dir(path), filepath.Dir(real)) // clang.cfg, and lld beside clang
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

// watchLibraries watches what the loader brings, and where it looks.
func (o Options) watchLibraries(c *elf.Closure) {
	o.watch.Add("/etc/ld.so.cache", "/etc/ld.so.preload")
	for _, lib := range c.Libraries {
		o.watch.AddLinked(lib.Path)
		o.watch.Add(filepath.Dir(lib.Path))
	}
}

// watchInputs asks a compiler where it looks for its parts and its headers. It
// is asked only when there is something to remember.
func (o Options) watchInputs(ctx context.Context, c Compiler) {
	if o.watch == nil {
		return
	}
	language := "c"
	if c.Language == CXX {
		language = "c++"
	}
	folders, err := o.ask(ctx, c.Path, "-print-search-dirs")
	if err != nil {
		o.watch.Never()
		return
	}
	for line := range strings.Lines(folders) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if name != "install" && name != "programs" && name != "libraries" {
			continue
		}
		for _, dir := range filepath.SplitList(strings.TrimPrefix(list, "=")) {
			o.watchFolder(dir)
		}
	}
	// Standard output lists the headers that are read before any source, as a
	// rule for make; standard error tells of folders and configuration files.
	rule, said, err := o.askBoth(ctx, c.Path, "-v", "-M", "-x", language, os.DevNull)
	if err != nil {
		o.watch.Never()
		return
	}
	for _, word := range strings.Fields(rule) {
		if filepath.IsAbs(word) && word != os.DevNull {
			o.watch.AddLinked(word)
		}
	}
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if quoted, ok := strings.CutPrefix(line, "ignoring nonexistent directory "); ok {
			o.watchFolder(strings.Trim(quoted, `"`))
		} else if dir, ok := strings.CutPrefix(line, " /"); ok && !strings.Contains(dir, " ") {
			o.watchFolder("/" + dir)
		} else if name, path, ok := strings.Cut(line, ": "); ok && strings.Contains(strings.ToLower(name), "configuration file") {
			o.watchFolder(path)
		}
	}
	if platform.Native().OS == "darwin" { // which of Apple's tools the shims run
		o.watch.AddLinked("/var/db/xcode_select_link", "/Library/Developer/CommandLineTools")
	}
}

// watchFolder watches a folder or file that a compiler named. The specs of GCC
// and the configuration of Clang may be rewritten in place, which their folder
// does not show.
func (o Options) watchFolder(name string) {
	if !filepath.IsAbs(name) {
		return
	}
	// Not cleaned: behind a symlink, ".." leads elsewhere than the words say.
	o.watch.AddLinked(name)
	o.watch.Add(name + "/specs")
}
