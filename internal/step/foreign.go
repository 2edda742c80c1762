package step

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxCache bounds CMakeCache.txt; LLVM's has 400 kB.
const maxCache = 64 << 20

// foreign looks through what CMake has found when it configured for another
// machine: a library, a header or a package of this one must not be among it.
// The error names each.
func (r *Run) foreign() error {
	if r.Cross == nil {
		return nil
	}
	f, err := os.Open(filepath.Join(r.BuildDir, "CMakeCache.txt"))
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.Size() > maxCache {
		return fmt.Errorf("CMakeCache.txt cannot be checked: it has more than %d bytes", maxCache)
	}
	own := []string{r.Work, r.Cross.Sysroot}
	for _, tree := range r.Deps {
		own = append(own, tree)
	}
	if r.LLVM != nil {
		own = append(own, r.LLVM.Prefix)
	}
	var found []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, ok := cacheEntry(lines.Text())
		if !ok {
			continue
		}
		for _, path := range strings.Split(value, ";") {
			if filepath.IsAbs(path) && ofThisMachine(path, own) {
				found = append(found, name+"="+path)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("CMakeCache.txt: %w", err)
	}
	if len(found) > 0 {
		slices.Sort(found)
		return fmt.Errorf("configured for %s with what belongs to this machine: %s: say in defines that it is not used, or add a component that has it to needs.build",
			r.Host, strings.Join(found, ", "))
	}
	return nil
}

// cacheEntry splits an entry of CMakeCache.txt (NAME:TYPE=VALUE) that says where a
// library, a folder of headers or a package was found.
func cacheEntry(line string) (name, value string, ok bool) {
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") {
		return "", "", false
	}
	head, value, ok := strings.Cut(line, "=")
	if !ok {
		return "", "", false
	}
	name, kind, ok := strings.Cut(head, ":")
	if !ok || kind != "FILEPATH" && kind != "PATH" || strings.HasPrefix(name, "CMAKE_") {
		return "", "", false
	}
	upper := strings.ToUpper(name)
	for _, end := range []string{"_LIBRARY", "_LIBRARIES", "_INCLUDE_DIR", "_INCLUDE_DIRS", "_DIR", "_ROOT"} {
		for _, kind := range []string{"", "_DEBUG", "_RELEASE"} {
			if strings.HasSuffix(upper, end+kind) {
				return name, value, true
			}
		}
	}
	return "", "", false
}

// ofThisMachine reports whether a path lies in the system's folders for headers
// and libraries.
func ofThisMachine(path string, own []string) bool {
	inside := func(dir string) bool {
		return dir != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
	}
	if slices.ContainsFunc(own, inside) {
		return false
	}
	return slices.ContainsFunc([]string{"/usr/include", "/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/share", "/usr/local", "/opt", "/home"}, inside)
}
