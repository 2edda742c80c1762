package sdk

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// Files of LLVM's source that say what libc++ holds.
const (
	abiFolder     = "libcxx/lib/abi"
	abiList       = abiFolder + "/arm64-apple-darwin.libcxxabi.v1.stable.exceptions.nonew.abilist"
	abiChanges    = abiFolder + "/CHANGELOG.TXT"
	availability  = "libcxx/include/__configuration/availability.h"
	weakList      = "libcxx/lib/weak.exp"
	operatorList  = "libcxxabi/lib/new-delete.exp"
	notReexported = "libcxxabi/lib/symbols-not-reexported.exp"
)

// never is the macOS that has what no macOS has yet.
var never = Version{Major: 1 << 20}

// libcxx is what is known about macOS's libc++.1.dylib.
type libcxx struct {
	own      []string // defined in libc++
	reexport []string // of libc++abi, re-exported by libc++
	abi      []string // of libc++abi
	weak     map[string]bool
	// since is the macOS that each symbol came with; what is not in it was in
	// macOS 14.0 or before.
	since map[string]Version
}

// readLibcxx reads LLVM's lists of symbols and works out which macOS brought
// each (see docs/sdk.md).
func readLibcxx(llvm fs.FS) (*libcxx, error) {
	c := &libcxx{weak: map[string]bool{}, since: map[string]Version{}}
	if err := c.readSymbols(llvm); err != nil {
		return nil, err
	}
	releases, err := readAvailability(llvm)
	if err != nil {
		return nil, err
	}
	added, err := readChanges(llvm)
	if err != nil {
		return nil, err
	}
	old, silent := baseline(), unlisted()
	for _, name := range slices.Concat(c.own, c.reexport, c.abi) {
		switch llvm := max(added[bare(name)], silent[name]); {
		case llvm > 0:
			c.since[name] = releases.macOS(llvm)
		case !old[name]:
			c.since[name] = never
		}
	}
	return c, nil
}

// readSymbols reads the ABI list, libc++abi's lists of exports, and which of
// them are weak.
func (c *libcxx) readSymbols(llvm fs.FS) error {
	line := regexp.MustCompile(`^\{'is_defined': (True|False), 'name': '([^']+)',(?: 'size': \d+,)? 'type': '([A-Z]+)'\}$`)
	err := lines(llvm, abiList, func(text string) error {
		m := line.FindStringSubmatch(text)
		switch {
		case m == nil:
			return fmt.Errorf("%.80q is no line of an ABI list", text)
		case m[1] == "False":
		case m[3] == "I":
			c.reexport = append(c.reexport, m[2])
		default:
			c.own = append(c.own, m[2])
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(c.own) == 0 || len(c.reexport) == 0 {
		return fmt.Errorf("%s lists no symbol", abiList)
	}
	names := func(file string, take func(string)) error {
		return lines(llvm, file, func(text string) error {
			if text = strings.TrimSpace(text); text != "" && !strings.HasPrefix(text, "#") {
				take(text)
			}
			return nil
		})
	}
	for _, file := range []string{weakList, operatorList} {
		if err := names(file, func(s string) { c.weak[s] = true }); err != nil {
			return err
		}
	}
	c.abi = slices.Clone(c.reexport)
	if err := names(notReexported, func(s string) { c.abi = append(c.abi, s) }); err != nil {
		return err
	}
	for _, list := range []*[]string{&c.own, &c.reexport, &c.abi} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return nil
}

// releases maps a release of LLVM to the first macOS whose libc++ was made of
// it.
type releases map[int]Version

// macOS is the first macOS with the libc++ of an LLVM, or of a newer one: what
// came between two that Apple shipped arrived with the second.
func (r releases) macOS(llvm int) Version {
	best := never
	for release, version := range r {
		if release >= llvm && version.Less(best) {
			best = version
		}
	}
	return best
}

// readAvailability reads libc++'s table of the systems that each LLVM was
// shipped in:
//
//	#  define _LIBCPP_INTRODUCED_IN_LLVM_16_ATTRIBUTE  \
//	    __attribute__((availability(macos, strict, introduced = 14.0))) \
//
// A release without a macOS (unavailable) is in none, and one that is defined
// as another came with that.
func readAvailability(llvm fs.FS) (releases, error) {
	name := regexp.MustCompile(`^#\s*define _LIBCPP_INTRODUCED_IN_LLVM_(\d+)_ATTRIBUTE\s*(.*)$`)
	macos := regexp.MustCompile(`availability\(macos, strict, introduced = ([0-9.]+)\)`)
	same := regexp.MustCompile(`^_LIBCPP_INTRODUCED_IN_LLVM_(\d+)_ATTRIBUTE$`)
	r, aliases := releases{}, map[int]int{}
	current := 0
	err := lines(llvm, availability, func(text string) error {
		continued := strings.HasSuffix(text, `\`)
		text = strings.TrimSpace(strings.TrimSuffix(text, `\`))
		if m := name.FindStringSubmatch(text); m != nil {
			current, _ = strconv.Atoi(m[1])
			text = m[2]
		}
		if current == 0 {
			return nil
		}
		if m := macos.FindStringSubmatch(text); m != nil {
			v, err := ParseVersion(m[1])
			if err != nil {
				return err
			}
			r[current] = v
		} else if m := same.FindStringSubmatch(text); m != nil {
			aliases[current], _ = strconv.Atoi(m[1])
		} else if strings.Contains(text, "unavailable") {
			r[current] = never
		}
		if !continued {
			current = 0
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w (libc++ of LLVM 19 or newer is needed)", err)
	}
	for release, other := range aliases {
		if v, ok := r[other]; ok {
			r[release] = v
		}
	}
	if len(r) == 0 {
		return nil, fmt.Errorf("%s names no release of macOS", availability)
	}
	return r, nil
}

// readChanges reads which LLVM added or re-exported which symbol, by its bare
// name: the newest one of those that the change log names, whatever the
// platform.
func readChanges(llvm fs.FS) (map[string]int, error) {
	version := regexp.MustCompile(`^Version (\d+)\.\d+$`)
	added := regexp.MustCompile(`^\s+Symbol (?:added|reexported): (\S+)$`)
	out, current := map[string]int{}, 0
	err := lines(llvm, abiChanges, func(text string) error {
		text = strings.TrimRight(text, " \t")
		if m := version.FindStringSubmatch(text); m != nil {
			current, _ = strconv.Atoi(m[1])
		} else if m := added.FindStringSubmatch(text); m != nil {
			if current == 0 {
				return fmt.Errorf("%.80q stands before any version", m[1])
			}
			out[bare(m[1])] = max(out[bare(m[1])], current)
		}
		return nil
	})
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s names no symbol", abiChanges)
	}
	return out, err
}

// bare is a symbol's name without what the object format puts before it (the
// change log writes ELF's names or Mach-O's) and with libc++'s own namespace
// (Android's stands in one entry).
func bare(name string) string {
	return strings.ReplaceAll(strings.TrimLeft(name, "_"), "St6__ndk1", "St3__1")
}

// stubs are the text stubs of libc++ and libc++abi for a deployment target.
// libc++.tbd is what -lc++ finds: on macOS libc++.1.dylib re-exports what a
// program needs of libc++abi one by one.
func (c *libcxx) stubs(target Version, targets []string) (cxx, abi *tbd.File) {
	section := func(names []string) []tbd.Section {
		s := tbd.Section{Targets: targets}
		for _, name := range names {
			if target.Less(c.since[name]) {
				continue
			}
			if c.weak[name] {
				s.Weak = append(s.Weak, name)
			} else {
				s.Symbols = append(s.Symbols, name)
			}
		}
		return []tbd.Section{s}
	}
	library := func(name string) *tbd.Library {
		return &tbd.Library{Targets: targets, InstallName: path.Join("/usr/lib", name)}
	}
	one, two := library("libc++.1.dylib"), library("libc++abi.dylib")
	one.Exports, one.Reexports = section(c.own), section(c.reexport)
	two.Exports = section(c.abi)
	return &tbd.File{Libraries: []*tbd.Library{one}}, &tbd.File{Libraries: []*tbd.Library{two}}
}
