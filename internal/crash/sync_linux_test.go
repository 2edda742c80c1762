package crash

import (
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A power cut cannot be made here, but what it needs can be seen: whatever gets
// its name in the store has been synced before, all of it, and the folder that
// holds the name is synced after; an action gets its name when the names that it
// speaks of are durable.
func TestNamesAreGivenToWhatIsSynced(t *testing.T) {
	p := newProject(t, t.TempDir(), "small.txtar")
	synced := map[string]bool{}  // since it was made, or since a name in it changed
	pending := map[string]bool{} // folders in which a name is new
	named := map[string]int{}
	s := p.supervise(t)
	err := s.each(t, func(c call) unix.Errno {
		verb, files, _ := strings.Cut(c.what, " ")
		switch verb {
		case "fsync", "fdatasync":
			synced[files] = true
			delete(pending, files)
		case "mkdir":
			if kind := p.inStore(files); kind != "" {
				pending[filepath.Dir(files)] = true
			}
		case "rename":
			from, to, _ := strings.Cut(files, " → ")
			kind := p.inStore(to)
			if kind == "" {
				return 0
			}
			named[kind]++
			check(t, filepath.WalkDir(from, func(file string, d fs.DirEntry, err error) error {
				if err == nil && (d.IsDir() || d.Type().IsRegular()) && !synced[file] {
					t.Errorf("%s gets its name, and %s was not synced", to, file)
				}
				return err
			}))
			if kind == "actions" {
				for dir := range pending {
					t.Errorf("%s gets its name, and the names in %s are not durable", to, dir)
				}
			}
			pending[filepath.Dir(to)] = true
		}
		return 0
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, &s.out)
	}
	for dir := range pending {
		t.Errorf("the build has ended, and the names in %s are not durable", dir)
	}
	for _, kind := range []string{"objects", "actions", "roots"} {
		if named[kind] == 0 {
			t.Errorf("nothing got a name in %s: %v", kind, named)
		}
	}
}

// inStore is the folder of the store that holds the final name of a path, or "".
func (p *project) inStore(path string) string {
	for _, kind := range []string{"objects", "actions", "roots"} {
		if strings.HasPrefix(path, filepath.Join(p.store, kind)+"/") {
			return kind
		}
	}
	return ""
}
