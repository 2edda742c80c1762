package statcache

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(file), 0o755))
	check(t, os.WriteFile(file, []byte(text), 0o644))
}

// settle waits until what was written is old enough to be trusted.
func settle() { time.Sleep(Slack + 100*time.Millisecond) }

const lie = "0000000000000000000000000000000000000000000000000000000000000000"

// A digest is remembered of a file that was not written just before, and
// forgotten by whatever could have changed the content, be it hidden behind the
// same size and time.
func TestDigest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	names := []string{"same", "written", "dated back", "replaced", "mode", "linked"}
	for _, name := range names {
		write(t, filepath.Join(dir, name), "content of "+name)
	}
	check(t, os.Symlink("linked", filepath.Join(dir, "link")))
	settle()
	file := filepath.Join(t.TempDir(), "state", "cache")
	c := Open(file)
	for _, name := range append(names, "link") {
		sum, err := c.Digest(filepath.Join(dir, name))
		if err != nil || !isDigest(sum) {
			t.Fatalf("%s: %q, %v", name, sum, err)
		}
	}
	check(t, c.Save())
	c = Open(file)
	if len(c.files) != len(names)+1 {
		t.Fatalf("%d digests came back", len(c.files))
	}
	for path, k := range c.files { // so that it shows where one comes from
		c.files[path] = known{k.identity, lie}
	}
	info, err := os.Stat(filepath.Join(dir, "dated back"))
	check(t, err)
	for _, name := range []string{"dated back", "replaced"} {
		path, was := filepath.Join(dir, name), "CONTENT of "+name
		if name == "replaced" {
			write(t, path+".new", was)
			check(t, os.Rename(path+".new", path))
		} else {
			write(t, path, was)
		}
		check(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	}
	write(t, filepath.Join(dir, "written"), "other")
	check(t, os.Chmod(filepath.Join(dir, "mode"), 0o755))
	write(t, filepath.Join(dir, "other"), "other")
	check(t, os.Remove(filepath.Join(dir, "link")))
	check(t, os.Symlink("other", filepath.Join(dir, "link")))
	for _, name := range append(names, "link") {
		sum, err := c.Digest(filepath.Join(dir, name))
		check(t, err)
		want, _, err := hashFile(filepath.Join(dir, name))
		check(t, err)
		if name == "same" || name == "linked" {
			want = lie
		}
		if sum != want {
			t.Errorf("%s: digest %.8s, want %.8s", name, sum, want)
		}
	}
	// All that changed was written just now: nothing of it is kept.
	if len(c.files) != 2 {
		t.Errorf("%d digests are kept, of files written just now too", len(c.files))
	}
	if _, err := c.Digest(filepath.Join(dir, "absent")); err == nil {
		t.Error("the digest of no file")
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program, absent, link := filepath.Join(dir, "bin", "cc"), filepath.Join(dir, "absent"), filepath.Join(dir, "link")
	write(t, program, "x")
	write(t, filepath.Join(dir, "other", "cc"), "y")
	check(t, os.Link(program, filepath.Join(dir, "twin")))
	check(t, os.Symlink("bin/cc", link))
	settle()
	for _, e := range []struct {
		name string
		edit func()
		keep bool
	}{
		{"nothing", func() {}, true},
		{"another link to the same file", func() {
			check(t, os.Remove(link))
			check(t, os.Symlink("twin", link))
			check(t, os.Rename(filepath.Join(dir, "bin"), filepath.Join(dir, "away")))
			check(t, os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "bin")))
		}, false},
		{"what was not there is there", func() { write(t, absent, "") }, false},
		{"a name more in a folder", func() { write(t, filepath.Join(dir, "other", "gcc"), "") }, false},
	} {
		settle()
		c := Open("")
		var watch Watch
		watch.Add(program, absent, filepath.Join(dir, "other"))
		watch.AddLinked(link)
		check(t, c.Remember("what", map[string]int{"n": 7}, time.Now(), 0, &watch))
		var got map[string]int
		if asked, ok := c.Recall("what", &got); !ok || got["n"] != 7 || !asked.IsZero() {
			t.Errorf("before %s: %v, %v", e.name, got, ok)
		}
		e.edit()
		if _, ok := c.Recall("what", &got); ok != e.keep {
			t.Errorf("%s: remembered %v, want %v", e.name, ok, e.keep)
		}
	}
	c := Open("")
	for name, watch := range map[string]*Watch{
		"a relative path": {paths: map[string]bool{}}, "never": {}, "written just now": {},
	} {
		switch name {
		case "never":
			watch.Never()
		case "a relative path":
			watch.Add("cc")
		default:
			write(t, program, "z")
			watch.Add(program)
		}
		check(t, c.Remember(name, 1, time.Now(), 0, watch))
		if _, ok := c.Recall(name, new(int)); ok {
			t.Errorf("%s: an answer is kept", name)
		}
	}
}

// An answer with a life ends with it, and a clock that is set back does not
// make it longer.
func TestAnswerEnds(t *testing.T) {
	t.Parallel()
	for _, a := range []struct {
		ago, life time.Duration
		keep      bool
	}{
		{9 * time.Minute, 10 * time.Minute, true}, {10 * time.Minute, 10 * time.Minute, false},
		{11 * time.Minute, 10 * time.Minute, false}, {-time.Minute, 10 * time.Minute, false}, {1000 * time.Hour, 0, true},
	} {
		file := filepath.Join(t.TempDir(), "cache")
		c := Open(file)
		check(t, c.Remember("q", true, time.Now().Add(-a.ago), a.life, nil))
		check(t, c.Save())
		asked, ok := Open(file).Recall("q", new(bool))
		if ok != a.keep || ok && time.Since(asked)-a.ago > time.Minute {
			t.Errorf("asked %v ago for %v: remembered %v", a.ago, a.life, ok)
		}
	}
}

// sample is a cache file with something of everything in it.
func sample(t testing.TB) []byte {
	file := filepath.Join(t.TempDir(), "cache")
	c := Open(file)
	c.files["/odd \"name\"\n"] = known{"1.2.3.4.5.6", lie}
	var watch Watch
	watch.Add("/nowhere/one")
	watch.AddLinked("/")
	if err := c.Remember("a\nquestion", []string{"x\ny"}, time.Now(), time.Hour, nil); err != nil {
		t.Fatal(err)
	}
	c.answers["a\nquestion"].witnesses = []witness{{"-", "/nowhere/one", ""}, {"1.2", "/", "/re al"}}
	if err := c.Save(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A damaged cache file is an empty one.
func TestDamagedCacheIsEmpty(t *testing.T) {
	t.Parallel()
	good := sample(t)
	whole := Open("")
	if err := whole.parse(good); err != nil || len(whole.files) != 1 || len(whole.answers["a\nquestion"].witnesses) != 2 {
		t.Fatalf("%+v, %v\n%s", whole, err, good)
	}
	file := filepath.Join(t.TempDir(), "cache")
	for i := range good {
		bad := append([]byte{}, good...)
		bad[i] ^= 4
		for _, data := range [][]byte{bad, good[:i], append(good[:len(good):len(good)], good[:i+1]...)} {
			check(t, os.WriteFile(file, data, 0o644))
			if c := Open(file); len(c.files)+len(c.answers) != 0 {
				t.Fatalf("damage at byte %d is not noticed", i)
			}
		}
	}
	for _, text := range []string{"", "stonemason-statcache 2\n", heading + "file 1 2 3\n", heading + "witness - \"/x\"\n",
		heading + "answer 1 1 \"q\"\nvalue 1\nvalue 2\n", heading + "answer x 1 \"q\"\n", heading + "nonsense\n"} {
		check(t, os.WriteFile(file, fmt.Appendf([]byte(text), "end %08x\n", checksum([]byte(text))), 0o644))
		if c := Open(file); len(c.files)+len(c.answers) != 0 {
			t.Errorf("%q is taken for a cache", text)
		}
	}
	check(t, os.Remove(file))
	check(t, os.Mkdir(file, 0o755))
	c := Open(file)
	check(t, c.Remember("q", 1, time.Now(), 0, nil))
	if err := c.Save(); err == nil {
		t.Error("a cache was written over a folder")
	}
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cache")
	c := Open(file)
	for i := range maxFiles + 1 {
		c.files[fmt.Sprint("/", i)] = known{"-", lie}
	}
	for i := range maxAnswers + 1 {
		check(t, c.Remember(fmt.Sprint(i), i, time.Now(), 0, nil))
	}
	check(t, c.Save())
	if c = Open(file); len(c.files) > maxFiles || len(c.answers) > maxAnswers {
		t.Errorf("%d files, %d answers", len(c.files), len(c.answers))
	}
	check(t, os.Truncate(file, maxBytes+1))
	if c = Open(file); len(c.files)+len(c.answers) != 0 {
		t.Error("a file of any size is read")
	}
}

// Who has no cache is answered too.
func TestNoCache(t *testing.T) {
	var c *Cache
	if _, ok := c.Recall("q", new(int)); ok {
		t.Error("no cache remembers")
	}
	check(t, c.Remember("q", 1, time.Now(), 0, nil))
	check(t, c.Save())
	file := filepath.Join(t.TempDir(), "f")
	write(t, file, "abc")
	sums, err := c.Digests(t.Context(), []string{file})
	if err != nil || !strings.HasPrefix(sums[file], "ba7816bf") {
		t.Errorf("%v, %v", sums, err)
	}
}

// Any bytes with a right checksum are refused, or give answers that are checked
// like others.
func FuzzParse(f *testing.F) {
	good := sample(f)
	f.Add(good[:strings.LastIndex(string(good), "end ")])
	f.Fuzz(func(t *testing.T, body []byte) {
		c := Open("")
		if c.parse(fmt.Appendf(body[:len(body):len(body)], "end %08x\n", checksum(body))) != nil {
			return
		}
		for question := range c.answers {
			c.Recall(question, new(any))
		}
	})
}
