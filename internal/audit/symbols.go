package audit

import (
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
)

// maxSymbols bounds the names in one finding.
const maxSymbols = 3

// symbols checks that what an image imports is there, library by library. Not
// looked for are weak imports, which may be missing, and those that are not
// bound to one library: flat and weak lookups, and a program's own symbols.
func (d *dyld) symbols(u *dyldUnit) {
	// Of each library, and of the image itself at 0, the missing names.
	missing := make([][]string, len(u.needs)+1)
	for _, i := range u.imports {
		if i.Weak || i.Ordinal < 0 || i.Ordinal > len(u.needs) {
			continue
		}
		if i.Ordinal == macho.OrdinalSelf {
			if u.Type == macho.TypeDylib && !d.has(u, i.Name, nil) {
				missing[0] = append(missing[0], i.Name)
			}
		} else if !d.provides(u, u.needs[i.Ordinal-1], i.Name, nil) {
			missing[i.Ordinal] = append(missing[i.Ordinal], i.Name)
		}
	}
	for k, names := range missing {
		if len(names) == 0 {
			continue
		}
		from := "itself"
		if k > 0 {
			if from = u.needs[k-1].Name; len(u.needs[k-1].all) > 0 {
				from = u.needs[k-1].all[0].name
			}
		}
		shown := names[:min(len(names), maxSymbols)]
		what := fmt.Sprintf("imports %s from %s, which does not export it", shown[0], from)
		if len(names) > 1 {
			what = fmt.Sprintf("imports %d symbols from %s, which does not export them: %s", len(names), from, strings.Join(shown, ", "))
			if len(names) > len(shown) {
				what += ", …"
			}
		}
		fix := "link it with the library that is in the bundle"
		if k > 0 && u.needs[k-1].system {
			fix = "build it for the macOS that it is to run on: " + u.minOS().String()
		}
		d.add(u, ruleMachOSymbol, what, fix)
	}
}

// provides reports whether every library that a need may be bound to exports a
// symbol. What is not known, or was told to be missing, is not told again.
func (d *dyld) provides(u *dyldUnit, n *dyldNeed, symbol string, seen map[*dyldUnit]bool) bool {
	if n.system {
		// The stubs are those of arm64.
		if d.system == nil || u.Arch() != "arm64" {
			return true
		}
		exports, ok := d.system.SystemLibrary(n.at, u.minOS())
		return !ok || exports(symbol)
	}
	for _, lib := range n.all {
		if !d.has(lib, symbol, seen) {
			return false
		}
	}
	return true
}

// has reports whether a library exports a symbol, by itself or by one that it
// re-exports whole.
func (d *dyld) has(u *dyldUnit, symbol string, seen map[*dyldUnit]bool) bool {
	if u.offers == nil {
		u.offers = make(map[string]bool, len(u.exports))
		for _, name := range u.exports {
			u.offers[name] = true
		}
	}
	if u.offers[symbol] {
		return true
	}
	for _, n := range u.needs {
		if n.Kind != macho.Reexport {
			continue
		}
		if seen == nil {
			seen = map[*dyldUnit]bool{}
		}
		if seen[u] {
			return false
		}
		seen[u] = true
		if d.provides(u, n, symbol, seen) {
			return true
		}
	}
	return false
}
