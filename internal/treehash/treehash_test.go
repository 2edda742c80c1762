package treehash

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// write lays out a tree: "dir/", "name -> target", "name* content" for an
// executable, "name content" for a file.
func write(t *testing.T, root string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		name, content, _ := strings.Cut(line, " ")
		full := filepath.Join(root, filepath.FromSlash(strings.TrimRight(name, "/*")))
		check(t, os.MkdirAll(filepath.Dir(full), 0o755))
		switch {
		case strings.HasSuffix(name, "/"):
			check(t, os.MkdirAll(full, 0o755))
		case strings.HasPrefix(content, "-> "):
			check(t, os.Symlink(content[3:], full))
		default:
			mode := os.FileMode(0o644)
			if strings.HasSuffix(name, "*") {
				mode = 0o755
			}
			check(t, os.WriteFile(full, []byte(content), mode))
			check(t, os.Chmod(full, mode))
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var sample = []string{"bin/tool* run", "lib/a.txt hello", "lib/b.txt", "lib/link -> a.txt", "empty/"}

// The expected text is written out by hand from the package documentation, so a
// change of the canonical form cannot pass unnoticed.
func TestCanonicalForm(t *testing.T) {
	root := t.TempDir()
	write(t, root, sample...)
	sum := func(s string) string { h := sha256.Sum256([]byte(s)); return hex.EncodeToString(h[:]) }
	text := "stonemason-tree 1\n" +
		`dir "bin"` + "\n" +
		"file x 3 " + sum("run") + ` "bin/tool"` + "\n" +
		`dir "empty"` + "\n" +
		`dir "lib"` + "\n" +
		"file - 5 " + sum("hello") + ` "lib/a.txt"` + "\n" +
		"file - 0 " + sum("") + ` "lib/b.txt"` + "\n" +
		`link "lib/link" "a.txt"` + "\n"
	id, stats, err := Hash(t.Context(), root, Options{})
	check(t, err)
	if want := "sha256:" + sum(text); id != want {
		t.Errorf("id %s, want %s", id, want)
	}
	if want := (Stats{Files: 3, Dirs: 3, Links: 1, Bytes: 8}); stats != want {
		t.Errorf("stats %+v, want %+v", stats, want)
	}
	empty, _, err := Hash(t.Context(), t.TempDir(), Options{})
	check(t, err)
	if want := "sha256:" + sum("stonemason-tree 1\n"); empty != want {
		t.Errorf("empty tree %s, want %s", empty, want)
	}
}

func TestWhatChangesTheID(t *testing.T) {
	base := func(t *testing.T) string {
		root := t.TempDir()
		write(t, root, sample...)
		return root
	}
	want, _, err := Hash(t.Context(), base(t), Options{})
	check(t, err)
	for _, tc := range []struct {
		name string
		same bool
		edit func(t *testing.T, root string)
	}{
		{"nothing", true, func(*testing.T, string) {}},
		{"times", true, func(t *testing.T, root string) {
			check(t, os.Chtimes(filepath.Join(root, "lib/a.txt"), time.Unix(1, 0), time.Unix(2, 0)))
		}},
		{"group permission", true, func(t *testing.T, root string) { check(t, os.Chmod(filepath.Join(root, "lib/a.txt"), 0o600)) }},
		{"content of equal size", false, func(t *testing.T, root string) { write(t, root, "lib/a.txt hellO") }},
		{"executable bit", false, func(t *testing.T, root string) { check(t, os.Chmod(filepath.Join(root, "lib/a.txt"), 0o755)) }},
		{"link target", false, func(t *testing.T, root string) {
			check(t, os.Remove(filepath.Join(root, "lib/link")))
			write(t, root, "lib/link -> b.txt")
		}},
		{"link became file", false, func(t *testing.T, root string) {
			check(t, os.Remove(filepath.Join(root, "lib/link")))
			write(t, root, "lib/link hello")
		}},
		{"empty directory gone", false, func(t *testing.T, root string) { check(t, os.Remove(filepath.Join(root, "empty"))) }},
		{"renamed", false, func(t *testing.T, root string) {
			check(t, os.Rename(filepath.Join(root, "lib/b.txt"), filepath.Join(root, "lib/c.txt")))
		}},
		{"file added", false, func(t *testing.T, root string) { write(t, root, "new x") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			root := base(t)
			tc.edit(t, root)
			got, _, err := Hash(t.Context(), root, Options{})
			check(t, err)
			if (got == want) != tc.same {
				t.Errorf("id equal: %v, want %v", got == want, tc.same)
			}
		})
	}
}

func TestOddNamesCannotImitateLines(t *testing.T) {
	a := []Entry{{Path: "a", Type: Dir}, {Path: "b", Type: Dir}}
	b := []Entry{{Path: "a\"\ndir \"b", Type: Dir}}
	if IDOf(a) == IDOf(b) {
		t.Error("two trees share an id")
	}
	if IDOf([]Entry{{Path: "\xff", Type: Dir}}) == IDOf([]Entry{{Path: "\ufffd", Type: Dir}}) {
		t.Error("a broken byte and U+FFFD share an id")
	}
}

func TestListing(t *testing.T) {
	root := t.TempDir()
	write(t, root, append(sample, ".git/config x", "lib/.git/HEAD y")...)
	entries, err := List(t.Context(), root, Options{Exclude: []string{".git"}})
	check(t, err)
	id, _, err := Hash(t.Context(), root, Options{Exclude: []string{".git"}})
	check(t, err)
	for _, e := range entries {
		if strings.Contains(e.Path, ".git") {
			t.Errorf("excluded path listed: %s", e.Path)
		}
	}
	data, err := json.Marshal(entries)
	check(t, err)
	var back []Entry
	check(t, json.Unmarshal(data, &back))
	slices.Reverse(back)
	if IDOf(back) != id {
		t.Error("a stored listing, in another order, has another id")
	}
	slices.Reverse(back)
	back[1].Exec = !back[1].Exec
	back = append(back[:2], back[3:]...)
	back = append(back, Entry{Path: "z", Type: Dir})
	want := []string{"~ " + entries[1].Path, "- " + entries[2].Path, "+ z"}
	if got := Diff(entries, back); !reflect.DeepEqual(got, want) {
		t.Errorf("diff %q, want %q", got, want)
	}
}

func TestRefuses(t *testing.T) {
	root := t.TempDir()
	check(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	if _, _, err := Hash(t.Context(), root, Options{}); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("pipe: %v", err)
	}
	many := t.TempDir()
	write(t, many, "a", "b", "c")
	if _, err := List(t.Context(), many, Options{MaxEntries: 2}); err == nil || !strings.Contains(err.Error(), "more than 2 entries") {
		t.Errorf("too many: %v", err)
	}
	if _, err := List(t.Context(), many, Options{MaxEntries: 3}); err != nil {
		t.Errorf("exactly as many as allowed: %v", err)
	}
	if _, err := List(t.Context(), filepath.Join(many, "a"), Options{}); err == nil {
		t.Error("a file passes for a tree")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := List(ctx, many, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestSymlinkedRoot(t *testing.T) {
	root := t.TempDir()
	write(t, root, sample...)
	link := filepath.Join(t.TempDir(), "l")
	check(t, os.Symlink(root, link))
	a, _, err := Hash(t.Context(), root, Options{})
	check(t, err)
	b, stats, err := Hash(t.Context(), link, Options{})
	check(t, err)
	if a != b || stats.Files == 0 {
		t.Error("a link to the root has another id than the root")
	}
}

func gitIn(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func paths(t *testing.T, dir string) string {
	t.Helper()
	entries, err := ListGitWorkspace(t.Context(), dir, Options{})
	check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Path)
	}
	return strings.Join(names, " ")
}

func TestGitWorkspace(t *testing.T) {
	root := t.TempDir()
	write(t, root, "src/a.c one", "src/gone.c x", "run* go", ".gitignore build/\n*.o\n", "l -> src/a.c")
	gitIn(t, root, "init", "-q")
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-qm", "first")
	write(t, root, "build/out x", "src/a.o x", "src/new.c untracked", "sub/mod/f nested")
	check(t, os.Remove(filepath.Join(root, "src/gone.c")))
	gitIn(t, filepath.Join(root, "sub/mod"), "init", "-q")
	write(t, root, "sub/mod/.gitignore *.tmp", "sub/mod/x.tmp x")

	if got, want := paths(t, root), ".gitignore l run src src/a.c src/new.c sub sub/mod sub/mod/.gitignore sub/mod/f"; got != want {
		t.Errorf("workspace lists %s\nwant %s", got, want)
	}
	if got, want := paths(t, filepath.Join(root, "src")), "a.c new.c"; got != want {
		t.Errorf("subfolder lists %s, want %s", got, want)
	}
	// A folder that the repository ignores is still the person's workspace.
	if got, want := paths(t, filepath.Join(root, "build")), "out"; got != want {
		t.Errorf("ignored folder lists %s, want %s", got, want)
	}
	before, _, err := HashGitWorkspace(t.Context(), root, Options{})
	check(t, err)
	gitIn(t, root, "add", "-A", ":!sub")
	gitIn(t, root, "commit", "-qm", "second")
	after, _, err := HashGitWorkspace(t.Context(), root, Options{})
	check(t, err)
	if before != after {
		t.Error("committing changed the id of unchanged files")
	}
	write(t, root, "src/a.c two")
	changed, _, err := HashGitWorkspace(t.Context(), root, Options{})
	check(t, err)
	if changed == after {
		t.Error("an uncommitted change left the id as it was")
	}
}

// A repository and a plain copy of its files are one tree.
func TestWorkspaceWithoutGit(t *testing.T) {
	plain, repo := t.TempDir(), t.TempDir()
	for _, root := range []string{plain, repo} {
		write(t, root, "a/b/c x", "run* y", "l -> a")
	}
	gitIn(t, repo, "init", "-q")
	gitIn(t, repo, "add", "-A")
	a, _, err := HashGitWorkspace(t.Context(), plain, Options{})
	check(t, err)
	b, _, err := HashGitWorkspace(t.Context(), repo, Options{})
	check(t, err)
	if a != b {
		t.Errorf("plain %s, repository %s", a, b)
	}
}
