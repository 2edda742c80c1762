package stub

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tree lists the files below a folder, with what is in them.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || file == dir || d.Name() == Listed {
			return err
		}
		name, _ := filepath.Rel(dir, file)
		if d.IsDir() {
			name += "/"
		} else if data, err := os.ReadFile(file); err == nil {
			name += "=" + string(data)
		}
		all = append(all, filepath.ToSlash(name))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(all, " ")
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func some(names ...string) (files []File) {
	for _, name := range names {
		files = append(files, File{Name: name, Data: []byte(name)})
	}
	return files
}

// A folder follows the libraries that are named. What it wrote and does not write
// any more goes; what is somebody else's stays, and so does what somebody changed.
func TestReplace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "stubs")
	steps := []struct {
		what          string
		before        func()
		files         []File
		removed, kept string
		want          string
	}{
		{what: "a new folder", files: some("CMakeLists.txt", "a/a.c", "b/b.c", "b/deep/b.h"),
			want: "CMakeLists.txt=CMakeLists.txt a/ a/a.c=a/a.c b/ b/b.c=b/b.c b/deep/ b/deep/b.h=b/deep/b.h"},
		{what: "a library less", files: some("CMakeLists.txt", "a/a.c"), removed: "b/b.c b/deep/b.h",
			want: "CMakeLists.txt=CMakeLists.txt a/ a/a.c=a/a.c"},
		{what: "the same again", files: some("CMakeLists.txt", "a/a.c"),
			want: "CMakeLists.txt=CMakeLists.txt a/ a/a.c=a/a.c"},
		{what: "beside a user's file", files: some("CMakeLists.txt"), removed: "a/a.c",
			before: func() { put(t, dir, "a/notes", "mine"); put(t, dir, "build/x", "mine") },
			want:   "CMakeLists.txt=CMakeLists.txt a/ a/notes=mine build/ build/x=mine"},
		{what: "back again", files: some("CMakeLists.txt", "a/a.c", "a/b.c", "a/c.c", "a/d.c"),
			want: "CMakeLists.txt=CMakeLists.txt a/ a/a.c=a/a.c a/b.c=a/b.c a/c.c=a/c.c a/d.c=a/d.c a/notes=mine build/ build/x=mine"},
		{what: "one edited, one gone, one a link", files: some("CMakeLists.txt", "a/d.c"), removed: "a/c.c", kept: "a/a.c a/b.c",
			before: func() {
				put(t, dir, "a/a.c", "edited")
				put(t, dir, "a/d.c", "edited, and written anew")
				for _, name := range []string{"a/b.c", "a/c.c"} {
					if err := os.Remove(filepath.Join(dir, name)); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink("notes", filepath.Join(dir, "a/b.c")); err != nil {
					t.Fatal(err)
				}
			},
			want: "CMakeLists.txt=CMakeLists.txt a/ a/a.c=edited a/b.c=mine a/d.c=a/d.c a/notes=mine build/ build/x=mine"},
		{what: "what was kept is nobody's but the user's", files: some("CMakeLists.txt"), removed: "a/d.c",
			want: "CMakeLists.txt=CMakeLists.txt a/ a/a.c=edited a/b.c=mine a/notes=mine build/ build/x=mine"},
	}
	for _, c := range steps {
		if c.before != nil {
			c.before()
		}
		got, err := Replace(t.Context(), dir, c.files)
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if strings.Join(got.Removed, " ") != c.removed || strings.Join(got.Kept, " ") != c.kept {
			t.Errorf("%s: removed %v, kept %v", c.what, got.Removed, got.Kept)
		}
		if text := tree(t, dir); text != c.want {
			t.Errorf("%s: there is\n%s, want\n%s", c.what, text, c.want)
		}
	}
	// A user's file is not written over either.
	if _, err := Replace(t.Context(), dir, some("CMakeLists.txt", "a/notes")); err == nil || !strings.Contains(err.Error(), "a/notes is not of the stubs") {
		t.Errorf("%v", err)
	}
	if text := tree(t, dir); text != steps[len(steps)-1].want {
		t.Errorf("there is\n%s", text)
	}
}

// Who is stopped half-way leaves nothing that the next one does not know.
func TestReplaceThatIsStopped(t *testing.T) {
	dir := t.TempDir()
	if _, err := Replace(t.Context(), dir, some("a/a.c", "b/b.c")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Replace(ctx, dir, some("c/c.c")); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "c"), 0o755); err != nil { // it had got so far
		t.Fatal(err)
	}
	put(t, dir, "c/c.c", "c/c.c")
	got, err := Replace(t.Context(), dir, some("d/d.c"))
	if err != nil || !slices.Equal(got.Removed, []string{"a/a.c", "b/b.c", "c/c.c"}) {
		t.Errorf("removed %v, %v", got.Removed, err)
	}
	if text := tree(t, dir); text != "d/ d/d.c=d/d.c" {
		t.Errorf("there is %s", text)
	}
}

// A list is a stranger's file: nothing outside of the folder is touched by it.
func TestListsThatAreNone(t *testing.T) {
	up := t.TempDir()
	put(t, up, "precious", "mine")
	sum := hash([]byte("mine"))
	for _, text := range []string{
		sum + "  ../precious\n", sum + "  " + up + "/precious\n", sum + " one space\n", "12  a\n", sum + "  .\n", sum + "  a//b\n",
		strings.Repeat("0", maxListed+1),
	} {
		dir := filepath.Join(up, "stubs")
		put(t, dir, Listed, text)
		if _, err := Replace(t.Context(), dir, some("a")); err == nil || !strings.Contains(err.Error(), Listed) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
	dir := filepath.Join(up, "link")
	put(t, dir, Listed, sum+"  out/precious\n")
	if err := os.Symlink("..", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := Replace(t.Context(), dir, some("a")); err == nil {
		t.Error("a link leads out of the folder")
	}
	if data, err := os.ReadFile(filepath.Join(up, "precious")); err != nil || string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
}
