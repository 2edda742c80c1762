package treehash

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tick is longer than a step of the clock that file systems use here, so that
// tests need not wait for statcache.Slack.
const tick = 25 * time.Millisecond

// repository makes a git workspace with something of every kind in it.
func repository(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "work")
	write(t, root, "src/a.c one", "src/deep/b.c two", "src/gone.c x", "run* go", "link -> src/a.c", "docs/readme text",
		".gitignore build/\n*.o\n", "src/.gitignore *.tmp\n")
	gitIn(t, root, "init", "-q")
	gitIn(t, root, "add", "-A")
	gitIn(t, root, "commit", "-qm", "first")
	write(t, root, "build/out/x ignored", "src/a.o ignored", "src/a.tmp ignored", "src/new.c untracked", "empty/", "onlyignored/x.o x")
	check(t, os.Remove(filepath.Join(root, "src/gone.c")))
	write(t, root, "sub/mod/f nested", "sub/mod/.gitignore *.tmp", "sub/mod/x.tmp x")
	gitIn(t, filepath.Join(root, "sub/mod"), "init", "-q")
	gitIn(t, filepath.Join(root, "sub/mod"), "add", "f")
	gitIn(t, filepath.Join(root, "sub/mod"), "commit", "-qm", "nested")
	gitIn(t, root, "add", "sub/mod")
	return root
}

// follow compares a workspace that remembers with one that does not.
func follow(t *testing.T, w *Workspace, what string) way {
	t.Helper()
	want, wantStats, err := HashGitWorkspace(t.Context(), w.Dir, w.Options)
	check(t, err)
	v, s, how, err := w.current(t.Context())
	check(t, err)
	var got string
	var stats Stats
	if s != nil {
		got, stats = s.ID, s.Stats
	} else {
		got, stats = v.ID, v.Stats
	}
	if got != want || stats != wantStats {
		full, err := ListGitWorkspace(t.Context(), w.Dir, w.Options)
		check(t, err)
		mine, err := w.List(t.Context())
		check(t, err)
		t.Fatalf("%s (%s): id %s, %+v; in full %s, %+v\nfrom full to remembered:\n%s",
			what, how, got, stats, want, wantStats, strings.Join(Diff(full, mine), "\n"))
	}
	return how
}

// settle brings a workspace to the state in which nothing is to do.
func settle(t *testing.T, w *Workspace) {
	t.Helper()
	for range 4 {
		time.Sleep(2 * tick)
		if follow(t, w, "nothing changed") == unchanged {
			return
		}
	}
	t.Fatal("a workspace in which nothing changes is never recognised")
}

func TestWorkspaceFollows(t *testing.T) {
	type edit struct {
		name string
		how  way
		edit func(t *testing.T, root string)
		// unsettled: git is asked from now on each time.
		unsettled bool
	}
	remove := func(t *testing.T, path string) { t.Helper(); check(t, os.RemoveAll(path)) }
	edits := []edit{
		{name: "nothing", how: unchanged, edit: func(*testing.T, string) {}},
		{name: "tracked file written", how: refreshed, edit: func(t *testing.T, root string) { write(t, root, "src/a.c three") }},
		{name: "untracked file written", how: refreshed, edit: func(t *testing.T, root string) { write(t, root, "src/new.c four") }},
		{name: "ignored file written", how: unchanged, edit: func(t *testing.T, root string) { write(t, root, "src/a.o five", "build/out/x six") }},
		{name: "new ignored file in an ignored folder", how: unchanged, edit: func(t *testing.T, root string) { write(t, root, "build/out/y six", "build/more/z seven") }},
		{name: "file of the same size, dated as before, replaced", how: refreshed, edit: func(t *testing.T, root string) {
			name := filepath.Join(root, "src/a.c")
			info, err := os.Stat(name)
			check(t, err)
			check(t, os.WriteFile(name+".new", []byte("eno"), 0o644))
			check(t, os.Rename(name+".new", name))
			check(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
		}},
		{name: "file of the same size, dated as before, written", how: refreshed, edit: func(t *testing.T, root string) {
			name := filepath.Join(root, "src/a.c")
			info, err := os.Stat(name)
			check(t, err)
			check(t, os.WriteFile(name, []byte("eno"), 0o644))
			check(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
		}},
		{name: "mode", how: refreshed, edit: func(t *testing.T, root string) { check(t, os.Chmod(filepath.Join(root, "src/a.c"), 0o755)) }},
		{name: "link target", how: refreshed, edit: func(t *testing.T, root string) {
			remove(t, filepath.Join(root, "link"))
			write(t, root, "link -> run")
		}},
		{name: "link became a file", how: relisted, edit: func(t *testing.T, root string) {
			remove(t, filepath.Join(root, "link"))
			write(t, root, "link one")
		}},
		{name: "file became a folder", how: relisted, edit: func(t *testing.T, root string) {
			remove(t, filepath.Join(root, "src/a.c"))
			write(t, root, "src/a.c/x one")
		}},
		{name: "folder became a link to its like", how: relisted, edit: func(t *testing.T, root string) {
			check(t, os.Rename(filepath.Join(root, "src"), filepath.Join(root, "build/src")))
			write(t, root, "src -> build/src")
		}},
		{name: "tracked file removed", how: relisted, edit: func(t *testing.T, root string) { remove(t, filepath.Join(root, "docs/readme")) }},
		{name: "removed tracked file is back", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "src/gone.c back") }},
		{name: "new file", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "src/deep/new x") }},
		{name: "new file in a new folder", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "fresh/er/new x") }},
		{name: "new file in an empty folder", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "empty/new x") }},
		{name: "new file beside ignored ones", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "onlyignored/y.c x") }},
		{name: ".gitignore edited", how: relisted, edit: func(t *testing.T, root string) { write(t, root, ".gitignore *.c\n") }},
		{name: ".gitignore below edited", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "src/.gitignore *.none\n") }},
		{name: ".gitignore removed", how: relisted, edit: func(t *testing.T, root string) { remove(t, filepath.Join(root, "src/.gitignore")) }},
		{name: ".gitignore that ignores itself", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "docs/.gitignore *\n") }},
		{name: "info/exclude", how: relisted, edit: func(t *testing.T, root string) { write(t, root, ".git/info/exclude new.c\n") }},
		{name: "core.excludesFile", how: relisted, edit: func(t *testing.T, root string) {
			write(t, root, ".git/mine new.c\n")
			gitIn(t, root, "config", "core.excludesFile", filepath.Join(root, ".git/mine"))
		}},
		{name: "index", how: relisted, edit: func(t *testing.T, root string) { gitIn(t, root, "add", "-f", "src/a.o") }},
		{name: "out of the index", how: relisted, edit: func(t *testing.T, root string) {
			gitIn(t, root, "rm", "-q", "--cached", "docs/readme")
			write(t, root, ".git/info/exclude readme\n")
		}},
		{name: "submodule written", how: refreshed, edit: func(t *testing.T, root string) { write(t, root, "sub/mod/f changed") }},
		{name: "new file in a submodule", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "sub/mod/g new") }},
		{name: "ignored file in a submodule", how: relisted, edit: func(t *testing.T, root string) { write(t, root, "sub/mod/y.tmp new") }},
		{name: "index of a submodule", how: relisted, edit: func(t *testing.T, root string) {
			gitIn(t, filepath.Join(root, "sub/mod"), "add", "-f", "x.tmp")
		}},
		{name: "submodule is a repository no more", how: relisted, edit: func(t *testing.T, root string) { remove(t, filepath.Join(root, "sub/mod/.git")) }},
		{name: "folder became a repository", how: relisted, edit: func(t *testing.T, root string) { gitIn(t, filepath.Join(root, "docs"), "init", "-q") }, unsettled: true},
		{name: "no repository any more", how: relisted, edit: func(t *testing.T, root string) { remove(t, filepath.Join(root, ".git")) }},
		{name: "a repository around it", how: unchanged, edit: func(t *testing.T, root string) { gitIn(t, filepath.Dir(root), "init", "-q") }},
	}
	template := repository(t)
	for _, e := range edits {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "work")
			if out, err := exec.Command("cp", "-a", template, root).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			w := &Workspace{Dir: root, Cache: t.TempDir(), slack: tick}
			settle(t, w)
			e.edit(t, root)
			if how := follow(t, w, e.name); how != e.how {
				t.Errorf("found by: %s, want %s", how, e.how)
			}
			if !e.unsettled {
				settle(t, w)
			}
		})
	}
}

// What counts in a folder without git, and in one that git ignores.
func TestWorkspaceWithoutGitFollows(t *testing.T) {
	ignored := repository(t)
	plain := t.TempDir()
	write(t, plain, "a/b/c x", "run* y", "l -> a", "empty/", ".hidden/.gitignore *")
	for _, root := range []string{plain, filepath.Join(ignored, "build"), filepath.Join(ignored, "src")} {
		w := &Workspace{Dir: root, Cache: t.TempDir(), slack: tick, Options: Options{Exclude: []string{"skip"}}}
		settle(t, w)
		for _, line := range []string{"a/b/c changed", "new/file x", "skip/it x", "a/skip x", "other/", ".gitignore *"} {
			write(t, root, line)
			follow(t, w, line)
		}
		settle(t, w)
	}
	// The rules of the repository around it count for a folder in it.
	w := &Workspace{Dir: filepath.Join(ignored, "src"), Cache: t.TempDir(), slack: tick}
	settle(t, w)
	write(t, ignored, ".gitignore src\n")
	follow(t, w, "ignored from above")
	settle(t, w)
	gitIn(t, filepath.Dir(filepath.Dir(plain)), "init", "-q", filepath.Base(filepath.Dir(plain)))
	w = &Workspace{Dir: plain, Cache: t.TempDir(), slack: tick}
	follow(t, w, "a repository around it")
}

// Hundreds of random edits, some with a moment after them and some without.
// Whatever happened, what is remembered gives the id that a full look gives.
func TestWorkspaceFollowsAnything(t *testing.T) {
	t.Parallel()
	root := repository(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	w := &Workspace{Dir: root, Cache: t.TempDir(), slack: tick}
	names := []string{"a.c", "b.o", "c.tmp", "d", "e.c"}
	dirs := []string{".", "src", "src/deep", "docs", "build", "build/out", "sub/mod", "sub", "empty", "x", "x/y", "onlyignored"}
	pick := func(list []string) string { return list[random.IntN(len(list))] }
	anywhere := func() string { return filepath.Join(root, pick(dirs), pick(names)) }
	// What an edit cannot do in the state it meets is left undone.
	steps := []struct {
		name string
		do   func()
	}{
		{"write", func() {
			name := anywhere()
			_ = os.MkdirAll(filepath.Dir(name), 0o755)
			_ = os.WriteFile(name, fmt.Appendf(nil, "%d", random.IntN(9)), 0o644)
		}},
		{"write and date back", func() {
			name := anywhere()
			if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
				check(t, os.WriteFile(name, fmt.Appendf(nil, "%d", random.IntN(9)), 0o644))
				check(t, os.Chtimes(name, info.ModTime(), info.ModTime()))
			}
		}},
		{"replace", func() {
			name := anywhere()
			if os.WriteFile(filepath.Join(root, ".git/tmp"), fmt.Appendf(nil, "%d", random.IntN(9)), 0o644) == nil {
				_ = os.Rename(filepath.Join(root, ".git/tmp"), name)
			}
		}},
		{"remove", func() { _ = os.RemoveAll(anywhere()) }},
		{"remove folder", func() {
			if dir := pick(dirs); dir != "." && random.IntN(4) == 0 {
				_ = os.RemoveAll(filepath.Join(root, dir))
			}
		}},
		{"rename", func() { _ = os.Rename(anywhere(), anywhere()) }},
		{"rename folder", func() {
			if a, b := pick(dirs), pick(dirs); a != "." && b != "." {
				_ = os.Rename(filepath.Join(root, a), filepath.Join(root, b))
			}
		}},
		{"mode", func() { _ = os.Chmod(anywhere(), os.FileMode(0o644|random.IntN(2)*0o111)) }},
		{"link", func() { _ = os.Symlink(pick(names), anywhere()) }},
		{"folder", func() { _ = os.MkdirAll(anywhere(), 0o755) }},
		{"ignore", func() {
			_ = os.WriteFile(filepath.Join(root, pick(dirs), ".gitignore"), []byte(pick([]string{"*.o\n", "build/\n*.tmp\n", "d\n", "!a.c\n*\n", ""})), 0o644)
		}},
		{"exclude", func() {
			_ = os.WriteFile(filepath.Join(root, ".git/info/exclude"), []byte(pick([]string{"e.c\n", "docs\n", ""})), 0o644)
		}},
		{"add", func() { _ = exec.Command("git", "-C", root, "add", "-A", "--", "docs", "src").Run() }},
	}
	// Where the edits above lead to folders that are all ignored, few of them
	// change a file that counts; this one always does, when nothing else moves.
	rewrite := func() {
		list, err := ListGitWorkspace(t.Context(), root, Options{})
		check(t, err)
		list = slices.DeleteFunc(list, func(e Entry) bool { return e.Type != File })
		if len(list) == 0 {
			return
		}
		name := filepath.Join(root, list[random.IntN(len(list))].Path)
		check(t, os.WriteFile(name, fmt.Appendf(nil, "%d", 10+random.IntN(90)), 0o644))
	}
	ways := map[way]int{}
	for i := range 300 {
		step := steps[random.IntN(len(steps))]
		step.do()
		if i%6 == 0 {
			for range 2 { // at the second look everything has been still for long enough
				time.Sleep(2 * tick)
				ways[follow(t, w, fmt.Sprintf("step %d: %s, settling", i, step.name))]++
			}
			rewrite()
			step.name += ", rewrite"
		}
		// Now and then nothing happens for long enough to be sure of what is
		// there, so that the quick ways are gone too.
		switch random.IntN(4) {
		case 0:
			time.Sleep(2 * tick)
		case 1:
			time.Sleep(2 * tick)
			ways[follow(t, w, fmt.Sprintf("step %d: %s", i, step.name))]++
		}
		ways[follow(t, w, fmt.Sprintf("step %d: %s", i, step.name))]++
	}
	t.Logf("%v", ways)
	for _, how := range []way{unchanged, refreshed, relisted} {
		if ways[how] < 10 {
			t.Errorf("the %s way was gone %d times: the test tests nothing", how, ways[how])
		}
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// A damaged snapshot is ignored, and so is one of another workspace.
func TestSnapshotIsHostile(t *testing.T) {
	root, cache := repository(t), t.TempDir()
	w := &Workspace{Dir: root, Cache: cache, slack: tick}
	settle(t, w)
	files, err := filepath.Glob(filepath.Join(cache, "*"))
	check(t, err)
	if len(files) != 1 {
		t.Fatalf("snapshot files: %v", files)
	}
	good, err := os.ReadFile(files[0])
	check(t, err)
	v, err := parseView(good)
	check(t, err)
	back, err := v.decode().encode()
	check(t, err)
	if string(back) != string(good) {
		t.Error("what is read and written again is not the same")
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if _, err := parseView(bad); err == nil {
			t.Fatalf("a flipped bit in byte %d is not noticed", i)
		}
		if _, err := parseView(good[:i]); err == nil {
			t.Fatalf("the first %d bytes pass for all", i)
		}
	}
	check(t, os.WriteFile(files[0], good[:len(good)/2], 0o644))
	if how := follow(t, w, "damaged"); how != relisted {
		t.Errorf("half a snapshot was taken for %s", how)
	}
	settle(t, w)
	// Of the same name, but about another folder.
	other := repository(t)
	write(t, other, "src/a.c other")
	check(t, os.Rename(root, root+".away"))
	check(t, os.Rename(other, root))
	follow(t, w, "another folder of the same name")
	// The folder holds a few snapshots, the newest.
	for i := range 2 * maxSnapshots {
		name := filepath.Join(cache, fmt.Sprint("old", i))
		check(t, os.WriteFile(name, nil, 0o644))
		check(t, os.Chtimes(name, time.Unix(1, 0), time.Unix(1, 0)))
	}
	write(t, root, "src/a.c third")
	follow(t, w, "among many")
	if left, err := os.ReadDir(cache); err != nil || len(left) != maxSnapshots {
		t.Errorf("%d snapshots are left, %v", len(left), err)
	}
	if how := follow(t, w, "after pruning"); how == relisted && !exists(files[0]) {
		t.Error("the newest snapshot was removed")
	}
	// A cache that cannot be written costs nothing but time.
	w = &Workspace{Dir: root, Cache: files[0]}
	follow(t, w, "no place for the snapshot")
}

// Any bytes with a right checksum are refused or can be compared: no offset
// leads out of them.
func FuzzSnapshot(f *testing.F) {
	s := &snapshot{
		meta:    meta{Dir: "/nowhere", Exclude: []string{".git"}, ID: "sha256:0"},
		folders: []folder{{path: "", listed: true}, {path: "d", listed: true}},
		leaves: []leaf{
			{Entry: Entry{Path: "d/f", Type: File, SHA256: strings.Repeat("0", 64)}},
			{Entry: Entry{Path: "l", Type: Symlink, Target: "d"}},
		},
	}
	good, err := s.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good[:len(good)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		v, err := parseView(sealed(body))
		if err != nil {
			return
		}
		v.decode().entries()
		v.Dir = "/"
		if _, err := v.compare(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestWorkspaceRefusesSpecialFiles(t *testing.T) {
	root := t.TempDir()
	write(t, root, "f x")
	w := &Workspace{Dir: root, Cache: t.TempDir(), slack: tick}
	settle(t, w)
	check(t, unix.Mkfifo(filepath.Join(root, "pipe"), 0o600))
	if _, _, err := w.Hash(t.Context()); err == nil || !strings.Contains(err.Error(), "named pipe") {
		t.Errorf("a pipe: %v", err)
	}
}

// What a snapshot holds of a file that had been written just before is not
// trusted, be the file the same to all that the kernel says: it may have been
// written twice within one step of the clock. Here the snapshot is made to hold
// something else of such a file.
func TestWhatIsNotSettledIsReadAgain(t *testing.T) {
	for _, more := range []bool{false, true} { // looked at, and listed anew
		root := t.TempDir()
		write := func(name string) {
			if err := os.WriteFile(filepath.Join(root, name), []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("a.c")
		w := &Workspace{Dir: root, Cache: t.TempDir(), slack: time.Nanosecond}
		if _, _, err := w.Hash(t.Context()); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(w.Cache, "*"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%v, %v", files, err)
		}
		v, err := readView(files[0])
		if err != nil {
			t.Fatal(err)
		}
		s := v.decode()
		s.leaves[0].settled, s.leaves[0].SHA256, s.ID = false, strings.Repeat("0", 64), "forged"
		data, err := s.encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(files[0], data, 0o644); err != nil {
			t.Fatal(err)
		}
		if more {
			write("b.c")
		}
		want, _, err := (&Workspace{Dir: root}).Hash(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := w.Hash(t.Context()); err != nil || got != want {
			t.Errorf("more files %v: %s, want %s, %v", more, got, want, err)
		}
	}
}
