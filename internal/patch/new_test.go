package patch

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var meta = Patch{
	Title:    "change what must change",
	Why:      "Without it nothing builds: the one thing that was there is gone, and what took its place has another name.",
	Upstream: "none (a test)",
	Versions: ">=7.0.0 <7.1.0",
	Hosts:    []string{"linux", "darwin"},
	LLVM:     ">=22.0.0",
}

// TestRoundTrip makes patches out of random edits: applied by this package and
// by git they give the edited copy, and taken back the source.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			before := randomTree(r)
			after := edit(r, before)
			pristine, edited := write(t, t.TempDir(), before), write(t, t.TempDir(), after)
			series := t.TempDir()
			out := filepath.Join(series, "0001-a.patch")
			if _, err := New(t.Context(), pristine, edited, out, meta); err != nil {
				if errors.Is(err, ErrNoChange) && maps.Equal(before, after) {
					return
				}
				t.Fatal(err)
			}
			s, err := Load(os.DirFS(series), ".")
			if err != nil {
				t.Fatal(err)
			}
			patches, _, err := s.Select(Target{Version: "7.0.2", HostOS: "linux", LLVM: "22.1.8"})
			if err != nil || len(patches) != 1 {
				t.Fatal(patches, err)
			}

			dir := write(t, t.TempDir(), before)
			if err := Apply(t.Context(), dir, patches); err != nil {
				t.Fatal(err)
			}
			same(t, read(t, dir), after)

			oracle := write(t, t.TempDir(), before)
			if err := gitApply(t, oracle, out); err != nil {
				t.Errorf("git does not take the patch: %v", err)
			}
			same(t, read(t, oracle), after)

			back := &body{change: "back", sha256: "back"}
			for _, f := range slices.Backward(patches[0].body.files) {
				b, ok := reverse(f.File)
				if !ok {
					t.Fatalf("%s cannot be taken back", name(f.File))
				}
				back.files = append(back.files, fileDiff{File: b})
			}
			if err := Apply(t.Context(), dir, []Selected{{body: back}}); err != nil {
				t.Fatal(err)
			}
			same(t, read(t, dir), before)
		})
	}
}

// randomTree makes a small source with text of all kinds of line ends, binary
// files, executables and names that need quoting.
func randomTree(r *rand.Rand) files {
	tree := files{"keep": "1\n"}
	for range 3 + r.IntN(8) {
		name := randomName(r)
		delete(tree, strings.TrimPrefix(name, "x:"))
		delete(tree, "x:"+name)
		tree[name] = randomText(r)
	}
	return tree
}

func randomName(r *rand.Rand) string {
	parts := []string{"a", "b c", "ünï", "src", "tab\there", `q"uote`, "-dash", "x.cpp", "b", "diff --git"}
	name := parts[r.IntN(len(parts))] + fmt.Sprint(r.IntN(5))
	if r.IntN(2) == 0 {
		name = parts[r.IntN(len(parts))] + ".d/" + name
	}
	if r.IntN(4) == 0 {
		name = "x:" + name
	}
	return name
}

func randomText(r *rand.Rand) string {
	if r.IntN(6) == 0 {
		b := make([]byte, r.IntN(200))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	words := []string{"", "x", "-x", "+x", "@@ -1 +1 @@", "--- a/f", "+++ b/f", "diff --git a/f b/f", "\\ No newline at end of file", "\t", " ", "GIT binary patch", "-- "}
	ends := []string{"\n", "\n", "\n", "\r\n", "\r"}
	var b strings.Builder
	for range r.IntN(60) {
		b.WriteString(words[r.IntN(len(words))] + ends[r.IntN(len(ends))])
	}
	if r.IntN(3) == 0 {
		b.WriteString("no line feed")
	}
	return b.String()
}

// edit changes, adds, removes and moves files and changes modes.
func edit(r *rand.Rand, before files) files {
	after := files{}
	plain := func(name string) string { return strings.TrimPrefix(name, "x:") }
	free := func(name string) bool {
		for n := range after {
			if plain(n) == plain(name) || strings.HasPrefix(plain(n), plain(name)+"/") || strings.HasPrefix(plain(name), plain(n)+"/") {
				return false
			}
		}
		return true
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		content := before[name]
		switch r.IntN(6) {
		case 0: // deleted
			continue
		case 1: // lines changed
			lines := strings.SplitAfter(content, "\n")
			for range 1 + r.IntN(3) {
				i := r.IntN(len(lines))
				lines[i] = randomText(r) + lines[i]
			}
			content = strings.Join(lines, "")
		case 2: // mode changed
			if x, found := strings.CutPrefix(name, "x:"); found {
				name = x
			} else {
				name = "x:" + name
			}
		case 3: // moved
			if to := randomName(r); free(to) {
				name = to
			}
		}
		if free(name) {
			after[name] = content
		}
	}
	if name := randomName(r); free(name) {
		after[name] = randomText(r)
	}
	return after
}

func TestNewDoesNotListenToTheMachine(t *testing.T) {
	home := write(t, t.TempDir(), files{".gitconfig": "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\texternal = false\n\trenames = copies\n[color]\n\tui = always\n[core]\n\tautocrlf = true\n\tquotepath = false\n[user]\n\tname = x\n"})
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", filepath.Join(home, "nowhere"))
	t.Setenv("GIT_EXTERNAL_DIFF", "false")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "diff.noprefix")
	t.Setenv("GIT_CONFIG_VALUE_0", "true")
	before := files{"f": "one\r\ntwo\r\n", ".gitattributes": "* text=auto eol=crlf\n*.bin diff=nothing\n", ".gitignore": "*\n", "d.bin": "\x00"}
	after := files{"f": "one\r\nzwei\r\n", ".gitattributes": "* text eol=lf -diff\n", ".gitignore": "*\n", "d.bin": "\x00\x01", "ignored": "x\n", "ü": "x\n", ".git/config": "of whoever edits\n"}
	pristine, edited, series := write(t, t.TempDir(), before), write(t, t.TempDir(), after), t.TempDir()
	out := filepath.Join(series, "0001-a.patch")
	got, err := New(t.Context(), pristine, edited, out, meta)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Stat{Files: 5, Added: 4, Deleted: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, want := range []string{
		"change what must change\n\nWithout it nothing builds",
		"diff --git a/f b/f\nindex ", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+zwei\r\n",
		"diff --git a/ignored b/ignored\nnew file mode 100644\n",
		"GIT binary patch\n",
		`diff --git "a/\303\274" "b/\303\274"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the patch does not hold %q:\n%s", want, text)
		}
	}
	full := regexp.MustCompile(`^index [0-9a-f]{40}\.\.[0-9a-f]{40}( 100644)?\n$`)
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "index ") && !full.MatchString(line) {
			t.Errorf("the patch shortens the names of objects: %q", line)
		}
	}
	for _, leak := range []string{pristine, edited, home, "\x1b[", "of whoever edits"} {
		if strings.Contains(text, leak) {
			t.Errorf("the patch holds %q", leak)
		}
	}
}

func TestNewErrors(t *testing.T) {
	base := files{"f": "1\n", "l": "->f"}
	for _, tt := range []struct {
		name   string
		after  files
		out    string
		meta   func(*Patch)
		series files
		want   string
	}{
		{name: "no change", after: base, want: "does not differ"},
		{name: "changed link", after: files{"f": "1\n", "l": "->g"}, want: "l differs and is no regular file"},
		{name: "file became a link", after: files{"f": "->l2", "l": "->f", "l2": ""}, want: "f differs and is no regular file"},
		{name: "bad name", after: files{"f": "2\n", "l": "->f"}, out: "fix.patch", want: "file"},
		{name: "no reason", after: files{"f": "2\n", "l": "->f"}, meta: func(p *Patch) { p.Why = "" }, want: "why"},
		{name: "bad range", after: files{"f": "2\n", "l": "->f"}, meta: func(p *Patch) { p.Versions = "seven" }, want: "no range of versions"},
		{name: "name before the others", after: files{"f": "2\n", "l": "->f"},
			series: files{SeriesFile: "schema: 1\npatches:\n" + entry("0005-x.patch"), "0005-x.patch": smallDiff}, want: "does not sort behind 0005-x.patch"},
		{name: "file is there", after: files{"f": "2\n", "l": "->f"},
			series: files{SeriesFile: "schema: 1\npatches:\n" + entry("0001-a.patch"), "0001-a.patch": smallDiff}, want: "exists already"},
		{name: "series is broken", after: files{"f": "2\n", "l": "->f"},
			series: files{SeriesFile: "schema: 1\npatches:\n" + entry("0000-x.patch")}, want: "must be in order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pristine, edited, series := write(t, t.TempDir(), base), write(t, t.TempDir(), tt.after), write(t, t.TempDir(), tt.series)
			m := meta
			if tt.meta != nil {
				tt.meta(&m)
			}
			out := tt.out
			if out == "" {
				out = "0001-a.patch"
			}
			_, err := New(t.Context(), pristine, edited, filepath.Join(series, out), m)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v, want an error with %q", err, tt.want)
			}
			same(t, read(t, series), tt.series)
		})
	}
	if _, err := New(t.Context(), filepath.Join(t.TempDir(), "missing"), t.TempDir(), filepath.Join(t.TempDir(), "0001-a.patch"), meta); err == nil {
		t.Error("New took a source that is not there")
	}
}

// TestSeriesKeepsItsComments adds entries to lists of different layouts.
func TestSeriesKeepsItsComments(t *testing.T) {
	first := "  # about the first\n" + entry("0001-a.patch") + "    # behind the first\n"
	want := "\n  - file: 0002-b.patch\n    title: change what must change\n    why: '" + strings.ReplaceAll(meta.Why, "'", "''") + "'\n    upstream: none (a test)\n    hosts: [linux, darwin]\n    versions: \">=7.0.0 <7.1.0\"\n    llvm: \">=22.0.0\"\n"
	for _, tt := range []struct{ name, list, want string }{
		{"block list", "# head\nschema: 1\n\npatches:\n" + first, "# head\nschema: 1\n\npatches:\n" + first + want},
		{"no line feed at the end", "schema: 1\npatches:\n" + strings.TrimSuffix(entry("0001-a.patch"), "\n"), "schema: 1\npatches:\n" + entry("0001-a.patch") + want},
		{"list in front", "# head\npatches:\n" + first + "schema: 1 # the format\n", ""},
		{"flow", "schema: 1 # the format\n# head\npatches: []\n", ""},
		{"not set in", "schema: 1\npatches:\n" + strings.ReplaceAll(strings.TrimPrefix(entry("0001-a.patch"), "  "), "\n  ", "\n"), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			series := write(t, t.TempDir(), files{SeriesFile: tt.list})
			if strings.Contains(tt.list, "0001-a.patch") {
				write(t, series, files{"0001-a.patch": smallDiff})
			}
			pristine, edited := write(t, t.TempDir(), files{"g": "1\n"}), write(t, t.TempDir(), files{"g": "2\n"})
			if _, err := New(t.Context(), pristine, edited, filepath.Join(series, "0002-b.patch"), meta); err != nil {
				t.Fatal(err)
			}
			got := read(t, series)[SeriesFile]
			if tt.want != "" && got != tt.want {
				t.Errorf("series.yaml is\n%s\nwant\n%s", got, tt.want)
			}
			for _, line := range strings.Split(tt.list, "\n") {
				if _, comment, found := strings.Cut(line, "#"); found && !strings.Contains(got, "#"+comment) {
					t.Errorf("the comment %q is gone:\n%s", comment, got)
				}
			}
			s, err := Load(os.DirFS(series), ".")
			if err != nil {
				t.Fatal(err)
			}
			if last := s.Patches[len(s.Patches)-1]; last.File != "0002-b.patch" || last.Why != meta.Why {
				t.Errorf("the last entry is %+v", last)
			}
		})
	}
}

func TestNextName(t *testing.T) {
	dir := write(t, t.TempDir(), files{SeriesFile: "schema: 1\npatches:\n" + entry("0007-a.patch"), "0007-a.patch": smallDiff})
	for _, tt := range []struct{ dir, title, want string }{
		{dir, "Name the target's features", "0008-name-the-target-s-features.patch"},
		{filepath.Join(dir, "missing"), "build against LLVM 22", "0001-build-against-llvm-22.patch"},
		{dir, "äöü", "0008-change.patch"},
		{dir, strings.Repeat("long words ", 20), "0008-long-words-long-words-long-words-long-words-long.patch"},
		{dir, strings.Repeat("x", 500), "0008-" + strings.Repeat("x", 60) + ".patch"},
	} {
		got, err := NextName(tt.dir, tt.title)
		if err != nil || got != tt.want {
			t.Errorf("NextName(%q) = %q, %v, want %q", tt.title, got, err, tt.want)
		}
	}
}

func TestMessageIsNoDiff(t *testing.T) {
	m := meta
	m.Title, m.Why = "diff --git a/x b/x", strings.Repeat("word ", 15)+"@@ -1 +1 @@ "+strings.Repeat("word ", 14)+"--- a/f +++ b/f"
	b, err := parseBody([]byte(message(m) + smallDiff))
	if err != nil || len(b.files) != 1 {
		t.Errorf("the message reads as a diff: %v\n%s", err, message(m))
	}
	for line := range strings.Lines(message(m)) {
		if len(line) > 81 {
			t.Errorf("a line of %d characters: %q", len(line), line)
		}
	}
}
