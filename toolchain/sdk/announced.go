package sdk

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// unannounced are symbols of libSystem that its headers declare as if every
// macOS had them. The macOS of each is the SDK's that first listed it: what the
// stubs of macOS 13 (in zig 0.11) lack.
func unannounced() map[string]Version {
	return map[string]Version{
		"_at_quick_exit": {Major: 15}, "_quick_exit": {Major: 15},
		"_proc_signal_delegate": {Major: 15}, "_proc_signal_with_audittoken": {Major: 15},
		"_proc_terminate_delegate": {Major: 15}, "_proc_terminate_with_audittoken": {Major: 15},
	}
}

var (
	remarks    = regexp.MustCompile(`(?s)/\*.*?\*/|//[^\n]*|\\\n`)
	directives = regexp.MustCompile(`(?m)^[ \t]*#.*$`)
	// API_AVAILABLE(macos(15.0), …), __OSX_AVAILABLE(15.0) and
	// __attribute__((availability(macos, introduced=15.0))).
	introduced = regexp.MustCompile(`\bmacosx?\s*\(\s*([0-9._]+)|OSX_AVAILABLE\s*\(\s*([0-9._]+)|availability\(macosx?,[^)]*introduced\s*=\s*([0-9._]+)`)
	identifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// announced reads from the headers which symbols came after a macOS: the names
// in each declaration with an availability newer than it. The names of macros
// and types among them are harmless, for no library exports such symbols.
//
// It reads text and no C. A declaration whose availability hides in a macro
// stays, and the compiler then warns of its use (-Wunguarded-availability-new).
func announced(headers fs.FS, folder string, target Version) (map[string]bool, error) {
	late := map[string]bool{}
	for name, since := range unannounced() {
		if target.Less(since) {
			late[name] = true
		}
	}
	err := fs.WalkDir(headers, folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || path.Ext(name) != ".h" || strings.HasPrefix(path.Base(name), "Availability") {
			return err
		}
		data, err := readFile(headers, name)
		if err != nil {
			return err
		}
		text := directives.ReplaceAllString(remarks.ReplaceAllString(string(data), " "), ";")
		for _, declaration := range strings.FieldsFunc(text, func(c rune) bool { return c == ';' || c == '{' || c == '}' }) {
			if !newer(declaration, target) {
				continue
			}
			for _, word := range identifier.FindAllString(declaration, -1) {
				late["_"+word] = true
			}
		}
		return nil
	})
	return late, err
}

// newer reports whether a declaration says that it came after a macOS.
func newer(declaration string, target Version) bool {
	for _, m := range introduced.FindAllStringSubmatch(declaration, -1) {
		text := strings.Trim(strings.ReplaceAll(m[1]+m[2]+m[3], "_", "."), ".")
		if v, err := ParseVersion(text); err == nil && target.Less(v) {
			return true
		}
	}
	return false
}

// without takes symbols out of a stub and counts them. The linker's orders
// ($ld$…) go with the symbol that they speak of.
func without(f *tbd.File, late map[string]bool) (removed int) {
	filter := func(list []string) []string {
		return slices.DeleteFunc(list, func(name string) bool {
			plain := name
			if strings.HasPrefix(name, "$ld$") {
				plain = name[strings.LastIndex(name, "$")+1:]
			}
			if late[plain] {
				removed++
			}
			return late[plain]
		})
	}
	for _, l := range f.Libraries {
		for _, sections := range [][]tbd.Section{l.Exports, l.Reexports} {
			for i := range sections {
				s := &sections[i]
				s.Symbols, s.Weak, s.ThreadLocal = filter(s.Symbols), filter(s.Weak), filter(s.ThreadLocal)
			}
		}
	}
	return removed
}
