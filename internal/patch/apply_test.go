package patch

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestApply applies small patches and compares with what git makes of them.
func TestApply(t *testing.T) {
	for _, tt := range []struct {
		name   string
		before files
		patch  string
		after  files
		oneWay bool // cannot be told from what the source had
	}{
		{
			name:   "change with CRLF kept",
			before: files{"f": "one\r\ntwo\nthree\r\n"},
			patch:  "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\r\n-two\n+2\r\n three\r\n",
			after:  files{"f": "one\r\n2\r\nthree\r\n"},
		},
		{
			name:   "no line feed at the end",
			before: files{"f": "one\ntwo"},
			patch:  "diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+2\n\\ No newline at end of file\n",
			after:  files{"f": "one\n2"},
		},
		{
			name:   "new file in a new folder, executable",
			before: files{"f": "x\n"},
			patch:  "diff --git a/d/e/n b/d/e/n\nnew file mode 100755\n--- /dev/null\n+++ b/d/e/n\n@@ -0,0 +1,2 @@\n+a\n+b\n",
			after:  files{"f": "x\n", "x:d/e/n": "a\nb\n"},
		},
		{
			name:   "new empty file",
			before: files{"f": "x\n"},
			patch:  "diff --git a/n b/n\nnew file mode 100644\nindex 0000000000000000000000000000000000000000..e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
			after:  files{"f": "x\n", "n": ""},
		},
		{
			name:   "deletion takes the empty folders with it",
			before: files{"f": "x\n", "d/e/n": "a\n"},
			patch:  "diff --git a/d/e/n b/d/e/n\ndeleted file mode 100644\n--- a/d/e/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
			after:  files{"f": "x\n"},
		},
		{
			name:   "rename with a change",
			before: files{"d/old": "1\n2\n3\n4\n5\n"},
			patch:  "diff --git a/d/old b/new\nsimilarity index 80%\nrename from d/old\nrename to new\n--- a/d/old\n+++ b/new\n@@ -2,3 +2,3 @@\n 2\n-3\n+drei\n 4\n",
			after:  files{"new": "1\n2\ndrei\n4\n5\n"},
		},
		{
			name:   "copy",
			before: files{"x:f": "1\n"},
			patch:  "diff --git a/f b/g\nsimilarity index 100%\ncopy from f\ncopy to g\n",
			after:  files{"x:f": "1\n", "x:g": "1\n"},
			oneWay: true,
		},
		{
			name:   "mode alone",
			before: files{"f": "1\n", "x:g": "2\n"},
			patch:  "diff --git a/f b/f\nold mode 100644\nnew mode 100755\ndiff --git a/g b/g\nold mode 100755\nnew mode 100644\n",
			after:  files{"x:f": "1\n", "g": "2\n"},
		},
		{
			name:   "message and signature",
			before: files{"f": "1\n"},
			patch:  "From 0 Mon Sep 17 00:00:00 2001\nFrom: A <a@b>\nSubject: x\n\n- a list\n+ more\n---\n f | 2 +-\n\ndiff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@ in a function\n-1\n+2\n-- \n2.39.5\n\n",
			after:  files{"f": "2\n"},
		},
		{
			name:   "names with spaces and other letters",
			before: files{"a b": "1\n", "ä": "1\n"},
			patch:  "diff --git a/a b b/a b\n--- a/a b\t\n+++ b/a b\t\n@@ -1 +1 @@\n-1\n+2\ndiff --git \"a/\\303\\244\" \"b/\\303\\244\"\n--- \"a/\\303\\244\"\n+++ \"b/\\303\\244\"\n@@ -1 +1 @@\n-1\n+2\n",
			after:  files{"a b": "2\n", "ä": "2\n"},
		},
		{
			name:   "a file takes another's place in one patch",
			before: files{"a": "1\n"},
			patch:  "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\ndiff --git a/a/b b/a/b\nnew file mode 100644\n--- /dev/null\n+++ b/a/b\n@@ -0,0 +1 @@\n+2\n",
			after:  files{"a/b": "2\n"},
			oneWay: true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, oracle := write(t, t.TempDir(), tt.before), write(t, t.TempDir(), tt.before)
			patches := selected(t, files{"0001-a.patch": tt.patch})
			if err := Apply(t.Context(), dir, patches); err != nil {
				t.Fatal(err)
			}
			same(t, read(t, dir), tt.after)
			file := filepath.Join(t.TempDir(), "p")
			if err := os.WriteFile(file, []byte(tt.patch), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := gitApply(t, oracle, file); err != nil {
				t.Errorf("git does not take this patch: %v", err)
			}
			same(t, read(t, oracle), tt.after)

			if tt.oneWay {
				return
			}
			if err := Apply(t.Context(), dir, patches); !errors.Is(err, ErrAlreadyApplied) {
				t.Errorf("applied a second time: %v, want ErrAlreadyApplied", err)
			}
			same(t, read(t, dir), tt.after)
		})
	}
}

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

// twoHunks changes lines 2 and 9 of tenLines.
const twoHunks = "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n@@ -8,3 +8,3 @@\n 8\n-9\n+nine\n 10\n"

func TestConflict(t *testing.T) {
	for _, tt := range []struct {
		name   string
		source string
		patch  string
		want   ConflictError
		text   string
	}{
		{
			name: "another line", source: strings.Replace(tenLines, "9", "neun", 1), patch: twoHunks,
			want: ConflictError{File: "d/f", Hunk: 2, Hunks: 2, Line: 9, Want: "9", Got: "neun"},
			text: `patch 0001-a.patch does not apply: d/f:9: hunk 2 of 2: the patch expects "9", the source has "neun"`,
		},
		{
			name: "moved by a line", source: "0\n" + tenLines, patch: twoHunks,
			want: ConflictError{File: "d/f", Hunk: 1, Hunks: 2, Line: 1, Want: "1", Got: "0", Elsewhere: 2},
			text: "stands at line 2",
		},
		{
			name: "too short", source: "1\n2\n3\n4\n", patch: twoHunks,
			want: ConflictError{File: "d/f", Hunk: 2, Hunks: 2, Line: 5, PastEnd: true},
			text: "d/f:5: hunk 2 of 2: the source ends before this line",
		},
		{
			name: "white space counts", source: strings.Replace(tenLines, "1\n2", "1 \n2", 1), patch: twoHunks,
			want: ConflictError{File: "d/f", Hunk: 1, Hunks: 2, Line: 1, Want: "1", Got: "1 "},
		},
		{
			name: "line ends count", source: strings.Replace(tenLines, "3\n", "3\r\n", 1), patch: twoHunks,
			want: ConflictError{File: "d/f", Hunk: 1, Hunks: 2, Line: 3, Want: "3", Got: "3\r"},
			text: `the source has "3\r"`,
		},
		{
			name: "missing file", source: tenLines, patch: strings.ReplaceAll(twoHunks, "d/f", "d/g"),
			want: ConflictError{File: "d/g", Problem: "the source has no such file"},
		},
		{
			name: "file in the way", source: tenLines, patch: "diff --git a/d/f b/d/f\nnew file mode 100644\n--- /dev/null\n+++ b/d/f\n@@ -0,0 +1 @@\n+x\n",
			want: ConflictError{File: "d/f", Problem: "the source has a file of that name already"},
		},
		{
			name: "file where a folder should be", source: tenLines, patch: "diff --git a/d/f/g b/d/f/g\nnew file mode 100644\n--- /dev/null\n+++ b/d/f/g\n@@ -0,0 +1 @@\n+x\n",
			want: ConflictError{File: "d/f/g", Problem: "d/f is a file, not a folder"},
		},
		{
			name: "folder in the way", source: tenLines, patch: "diff --git a/d b/d\nnew file mode 100644\n--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n",
			want: ConflictError{File: "d", Problem: "it is a folder in the source"},
		},
		{
			name: "more to delete", source: tenLines, patch: "diff --git a/d/f b/d/f\ndeleted file mode 100644\n--- a/d/f\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n",
			want: ConflictError{File: "d/f", Hunk: 1, Hunks: 1, Line: 3},
		},
		{
			name: "another mode", source: tenLines, patch: "diff --git a/d/f b/d/f\nold mode 100755\nnew mode 100644\ndiff --git a/d/g b/d/g\nnew file mode 100644\n",
			want: ConflictError{File: "d/f", Problem: "the patch changes the file's mode from 100755 to 100644, but the source has another"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := files{"d/f": tt.source}
			dir := write(t, t.TempDir(), before)
			// The first patch would apply, so that something must be taken back.
			err := Apply(t.Context(), dir, selected(t, files{
				"0000-b.patch": "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n",
				"0001-a.patch": tt.patch,
			}))
			var c *ConflictError
			if !errors.As(err, &c) {
				t.Fatalf("Apply: %v, want a conflict", err)
			}
			if tt.want.Problem == "" {
				c.Problem = ""
			}
			tt.want.Patch = "0001-a.patch"
			if *c != tt.want {
				t.Errorf("conflict %+v\nwant     %+v", *c, tt.want)
			}
			if !strings.Contains(err.Error(), tt.text) {
				t.Errorf("error %q\nwant  %q in it", err, tt.text)
			}
			same(t, read(t, dir), before)
		})
	}
}

func TestAppliedAlready(t *testing.T) {
	dir := write(t, t.TempDir(), files{"d/f": tenLines})
	patches := selected(t, files{"0001-a.patch": twoHunks})
	if err := Apply(t.Context(), dir, patches); err != nil {
		t.Fatal(err)
	}
	err := Apply(t.Context(), dir, patches)
	if !errors.Is(err, ErrAlreadyApplied) || !strings.Contains(err.Error(), "0001-a.patch") {
		t.Errorf("a second time: %v, want ErrAlreadyApplied with the patch's name", err)
	}

	// So is a whole series whose patches move each other's lines.
	dir = write(t, t.TempDir(), files{"d/f": tenLines})
	patches = selected(t, files{
		"0001-a.patch": twoHunks,
		"0002-b.patch": "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,4 @@\n+a\n+b\n 1\n two\n",
	})
	if err := Apply(t.Context(), dir, patches); err != nil {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), dir, patches); !errors.Is(err, ErrAlreadyApplied) {
		t.Errorf("a series a second time: %v, want ErrAlreadyApplied", err)
	}

	// The same change under another name, with another message and other
	// object names, is refused before anything else happens.
	dir = write(t, t.TempDir(), files{"d/f": tenLines})
	err = Apply(t.Context(), dir, selected(t, files{
		"0001-a.patch": twoHunks,
		"0002-b.patch": "another message\n" + strings.Replace(twoHunks, "--- a", "index 12..34 100644\n--- a", 1),
	}))
	if err == nil || !strings.Contains(err.Error(), "0002-b.patch makes the same change as 0001-a.patch") {
		t.Errorf("the same change twice: %v", err)
	}
	same(t, read(t, dir), files{"d/f": tenLines})
}

// TestEscape tries every way out of the source that a patch could take.
func TestEscape(t *testing.T) {
	newFile := func(name string) string {
		return "diff --git a/" + name + " b/" + name + "\nnew file mode 100644\n--- /dev/null\n+++ b/" + name + "\n@@ -0,0 +1 @@\n+x\n"
	}
	for _, tt := range []struct{ name, patch, want string }{
		{"parent", newFile("../outside"), "leads out of the source"},
		{"parent in between", newFile("d/../../outside"), "leads out of the source"},
		{"not in its shortest form", newFile("d/./f"), "shortest form"},
		{"absolute", newFile("/etc/passwd"), "malformed"},
		{"rename to an absolute path", "diff --git a/d/f b//etc/passwd\nrename from d/f\nrename to /etc/passwd\n", "leads out of the source"},
		{"git's folder", newFile(".git/hooks/post-checkout"), "git's own folder"},
		{"git's folder in capitals", newFile("d/.GIT/config"), "git's own folder"},
		{"backslash", newFile(`d\..\..\f`), "backslash"},
		{"rename out", "diff --git a/d/f b/../f\nrename from d/f\nrename to ../f\n", "leads out of the source"},
		{"rename in", "diff --git a/../f b/f\nrename from ../f\nrename to f\n", "leads out of the source"},
		{"symbolic link", "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n", "mode 120000"},
		{"file becomes a link", "diff --git a/d/f b/d/f\nold mode 100644\nnew mode 120000\n", "mode 120000"},
		{"submodule", "diff --git a/s b/s\nnew file mode 160000\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+Subproject commit 0\n", "mode 160000"},
		{"set-user-id", "diff --git a/s b/s\nnew file mode 104755\n--- /dev/null\n+++ b/s\n@@ -0,0 +1 @@\n+x\n", "mode 104755"},
		{"no prefixes", "diff --git x/d/f x/d/f\n--- x/d/f\n+++ x/d/f\n@@ -1 +1 @@\n-1\n+2\n", "without the prefix a/"},
		{"no prefix in the header", "diff --git a/d/f b/d/f\n--- d/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-1\n+2\n", "without the prefix a/"},
		{"two names", "diff --git a/d/f b/d/g\n--- a/d/f\n+++ b/d/g\n@@ -1 +1 @@\n-1\n+2\n", "two files"},
		{"no diff", "a message\n", "no diff in git's format"},
		{"not git's format", "--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-1\n+2\n", "no diff in git's format"},
		{"uncounted line", "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-1\n+2\n+3\n", "line 7: no hunk header counts this line"},
		{"short hunk", "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,2 @@\n-1\n+2\n", "ends before its header says"},
		{"text in a hunk", "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -1,2 +1,2 @@\n-1\n+2\nxx\n", "line 7: a hunk ends before its header says"},
		{"hunks out of order", "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -5 +5 @@\n-5\n+x\n@@ -1 +1 @@\n-1\n+2\n", "order"},
		{"binary without content", "diff --git a/d/f b/d/f\nindex 1234567..89abcde 100644\nBinary files a/d/f and b/d/f differ\n", "binary"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseBody([]byte(tt.patch)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parseBody: %v, want an error with %q", err, tt.want)
			}
		})
	}

	// Links that are in the source are no way either.
	outside := write(t, t.TempDir(), files{"f": "1\n"})
	for _, tt := range []struct {
		name, patch string
		links       files
	}{
		{"through a folder", newFile("l/n"), files{"l": "->" + outside}},
		{"through a folder inside", newFile("l/n"), files{"l": "->d", "d/f": "1\n"}},
		{"into a file", "diff --git a/l b/l\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-1\n+2\n", files{"l": "->" + outside + "/f"}},
		{"into a file inside", "diff --git a/l b/l\n--- a/l\n+++ b/l\n@@ -1 +1 @@\n-1\n+2\n", files{"l": "->d", "d": "1\n"}},
		{"onto a dangling link", newFile("l"), files{"l": "->" + outside + "/n"}},
		{"deletion of a link", "diff --git a/l b/l\ndeleted file mode 100644\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", files{"l": "->" + outside + "/f"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, t.TempDir(), tt.links)
			err := Apply(t.Context(), dir, selected(t, files{"0001-a.patch": tt.patch}))
			if err == nil || !strings.Contains(err.Error(), "symbolic link") {
				t.Errorf("Apply: %v, want an error about the symbolic link", err)
			}
			same(t, read(t, dir), tt.links)
			same(t, read(t, outside), files{"f": "1\n"})
		})
	}
}

// TestHardLinks checks that a copy made of hard links keeps its original.
func TestHardLinks(t *testing.T) {
	original := write(t, t.TempDir(), files{"f": tenLines})
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(filepath.Join(original, "f"), filepath.Join(dir, "d", "f")); err != nil {
		t.Fatal(err)
	}
	if err := Apply(t.Context(), dir, selected(t, files{"0001-a.patch": twoHunks})); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, original), files{"f": tenLines})
	same(t, read(t, dir), files{"d/f": strings.NewReplacer("2", "two", "9", "nine").Replace(tenLines)})
}

func TestApplyLater(t *testing.T) {
	dir := write(t, t.TempDir(), files{"d/f": tenLines})
	// The second patch builds on the first one's result.
	second := "diff --git a/d/f b/d/f\n--- a/d/f\n+++ b/d/f\n@@ -1,3 +1,3 @@\n 1\n-two\n+zwei\n 3\n"
	if err := Apply(t.Context(), dir, selected(t, files{"0001-a.patch": twoHunks, "0002-b.patch": second})); err != nil {
		t.Fatal(err)
	}
	same(t, read(t, dir), files{"d/f": strings.NewReplacer("2", "zwei", "9", "nine").Replace(tenLines)})

	if err := Apply(t.Context(), filepath.Join(dir, "missing"), selected(t, files{"0001-a.patch": twoHunks})); err == nil {
		t.Error("applied to a folder that is not there")
	}
	if err := Apply(t.Context(), dir, []Selected{{Patch: Patch{File: "0001-a.patch"}}}); err == nil {
		t.Error("applied a patch without content")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir = write(t, t.TempDir(), files{"d/f": tenLines})
	if err := Apply(ctx, dir, selected(t, files{"0001-a.patch": twoHunks})); !errors.Is(err, context.Canceled) {
		t.Errorf("with a cancelled context: %v", err)
	}
	same(t, read(t, dir), files{"d/f": tenLines})
}

// FuzzParse feeds anything to the reader of patches: it must end in an error or
// in a patch that applies to nothing outside, without a panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(twoHunks))
	f.Add([]byte(smallDiff))
	f.Add([]byte("diff --git a/n b/n\nnew file mode 100755\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"))
	f.Add([]byte("diff --git a/d/old b/new\nsimilarity index 80%\nrename from d/old\nrename to new\n"))
	f.Add([]byte("diff --git a/f b/f\nindex e69de29bb2d1d6434b8b29ae775ad8c2e48c5391..8baef1b4abc478178b004d62031cf7fe6db6f903 100644\nGIT binary patch\nliteral 3\nKcmWFv;Nk)R01tuzxd9$m\n\nliteral 0\nHcmV?d00001\n\n"))
	f.Add([]byte("diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -99999999,1 +1 @@\n-1\n+2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBody(data)
		if err != nil {
			return
		}
		for _, d := range b.files {
			for _, n := range []string{d.OldName, d.NewName} {
				if n != "" && (strings.Contains(n, "..") && checkName(n) != nil || strings.HasPrefix(n, "/")) {
					t.Fatalf("accepted the name %q", n)
				}
			}
			if out, err := applyContent(d.File, []byte(tenLines)); err == nil && len(out) > len(tenLines)+len(data)+maxFileBytes {
				t.Fatal("grew without bound")
			}
			if r, ok := reverse(d.File); ok {
				_, _ = applyContent(r, bytes.Repeat([]byte("1\n"), 10))
			}
		}
	})
}
