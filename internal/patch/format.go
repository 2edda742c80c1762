package patch

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// File modes as git writes them in a diff. git knows no others for regular
// files; symbolic links are 120000 and submodules 160000 (git-diff(1),
// "Generating patch text with -p").
const (
	modeFile = fs.FileMode(0o100644)
	modeExec = fs.FileMode(0o100755)
)

// maxFiles bounds how many files one patch may change.
const maxFiles = 10000

// fileDiff is what a patch does to one file.
type fileDiff struct {
	*gitdiff.File
	line int // of "diff --git" in the patch file, counted from 1
}

// parseBody reads a patch file: a message of any form, then diffs in git's
// format with the prefixes a/ and b/, then at most the signature that
// git-format-patch adds.
func parseBody(data []byte) (*body, error) {
	heads, change, err := scan(data)
	if err != nil {
		return nil, err
	}
	files, err := parseDiff(data)
	if err != nil {
		return nil, err
	}
	if len(files) != len(heads) {
		return nil, fmt.Errorf("%d files were found where %d lines begin with \"diff --git\"; only git's format is read", len(files), len(heads))
	}
	b := &body{sha256: hexSum(data), change: change}
	for i, f := range files {
		if err := checkFile(f); err != nil {
			return nil, fmt.Errorf("line %d: %w", heads[i], err)
		}
		b.files = append(b.files, fileDiff{f, heads[i]})
	}
	return b, nil
}

// parseDiff parses the diffs. The parser is not ours, so a panic over a
// malformed file ends as an error.
func parseDiff(data []byte) (files []*gitdiff.File, err error) {
	defer func() {
		if r := recover(); r != nil {
			files, err = nil, fmt.Errorf("malformed diff: %v", r)
		}
	}()
	files, _, err = gitdiff.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("malformed diff: %w", err)
	}
	return files, nil
}

// scan walks over the lines of a patch file and returns the numbers of those
// that begin a file, and a digest of the changes. It refuses what a lenient
// parser would pass over without a word: lines that no hunk header counts,
// names without git's prefixes, and a file without any diff.
func scan(data []byte) (heads []int, change string, err error) {
	const (
		inMessage = iota
		inHeader
		inHunk
		afterHunk
		inBinary
		inSignature
	)
	var (
		state    = inMessage
		old, add int64
		kept     bytes.Buffer
		number   int
	)
	for line := range bytes.Lines(data) {
		number++
		text := string(line)
		if state == inHunk && old <= 0 && add <= 0 {
			state = afterHunk
		}
		switch {
		case state == inHunk:
			switch text[0] {
			case ' ', '\n':
				old, add = old-1, add-1
			case '-':
				old--
			case '+':
				add--
			case '\\':
			default:
				return nil, "", fmt.Errorf("line %d: a hunk ends before its header says: %q", number, cut(strings.TrimSpace(text)))
			}
		case strings.HasPrefix(text, "diff --git "):
			if !strings.HasPrefix(text, "diff --git a/") && !strings.HasPrefix(text, `diff --git "a/`) {
				return nil, "", fmt.Errorf("line %d: a file without the prefix a/: %q", number, cut(strings.TrimSpace(text)))
			}
			if heads = append(heads, number); len(heads) > maxFiles {
				return nil, "", fmt.Errorf("more than %d files", maxFiles)
			}
			state = inHeader
		case state == inMessage:
			continue
		case state == inSignature:
			continue
		case strings.HasPrefix(text, "@@ -") && state != inBinary:
			if old, add, err = hunkLines(text); err != nil {
				return nil, "", fmt.Errorf("line %d: %w", number, err)
			}
			state = inHunk
		case state == inHeader:
			if err := checkHeader(text); err != nil {
				return nil, "", fmt.Errorf("line %d: %w", number, err)
			}
			if strings.HasPrefix(text, "index ") {
				continue // names of objects: not part of the change
			}
			if strings.HasPrefix(text, "GIT binary patch") {
				state = inBinary
			}
		case state == inBinary:
		case strings.HasPrefix(text, `\ `):
		case text == "-- \n":
			state = inSignature
			continue
		case strings.TrimSpace(text) == "":
			continue
		default:
			return nil, "", fmt.Errorf("line %d: no hunk header counts this line: %q", number, cut(strings.TrimSpace(text)))
		}
		if state != inMessage {
			kept.Write(line)
		}
	}
	if state == inHunk && (old > 0 || add > 0) {
		return nil, "", errors.New("the last hunk ends before its header says")
	}
	if len(heads) == 0 {
		return nil, "", errors.New("no diff in git's format (a line that begins with \"diff --git a/\") was found")
	}
	return heads, hexSum(kept.Bytes()), nil
}

// hunkLines reads how many old and new lines a hunk has.
func hunkLines(text string) (old, add int64, err error) {
	fields := strings.Fields(text)
	if len(fields) < 4 || fields[0] != "@@" || fields[3] != "@@" || fields[1][0] != '-' || fields[2][0] != '+' {
		return 0, 0, fmt.Errorf("malformed hunk header %q", cut(strings.TrimSpace(text)))
	}
	count := func(field string) (int64, error) {
		start, lines, found := strings.Cut(field[1:], ",")
		if _, err := strconv.ParseUint(start, 10, 31); err != nil {
			return 0, fmt.Errorf("malformed hunk header %q", cut(strings.TrimSpace(text)))
		}
		if !found {
			return 1, nil
		}
		n, err := strconv.ParseUint(lines, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("malformed hunk header %q", cut(strings.TrimSpace(text)))
		}
		return int64(n), nil
	}
	if old, err = count(fields[1]); err != nil {
		return 0, 0, err
	}
	add, err = count(fields[2])
	return old, add, err
}

// checkHeader refuses header lines that name a file without its prefix: the
// parser takes off one folder in any case, so a diff without prefixes would
// change another file than it says.
func checkHeader(text string) error {
	for _, h := range []struct{ key, prefix string }{{"--- ", "a/"}, {"+++ ", "b/"}} {
		name, found := strings.CutPrefix(text, h.key)
		if !found {
			continue
		}
		name = strings.TrimRight(name, "\r\n")
		if name != "/dev/null" && !strings.HasPrefix(name, h.prefix) && !strings.HasPrefix(name, `"`+h.prefix) {
			return fmt.Errorf("a file without the prefix %s: %q", h.prefix, cut(name))
		}
	}
	return nil
}

// checkFile refuses names that lead out of the source and kinds of files that
// a patch must not make.
func checkFile(f *gitdiff.File) error {
	for _, name := range []string{f.OldName, f.NewName} {
		if name == "" {
			continue
		}
		if err := checkName(name); err != nil {
			return err
		}
	}
	if f.OldName == "" && f.NewName == "" {
		return errors.New("a diff without a file name")
	}
	if !f.IsNew && !f.IsDelete && !f.IsRename && !f.IsCopy && f.OldName != f.NewName {
		return fmt.Errorf("the diff names two files, %s and %s, but is no rename", f.OldName, f.NewName)
	}
	for _, mode := range []fs.FileMode{f.OldMode, f.NewMode} {
		if mode != 0 && mode != modeFile && mode != modeExec {
			return fmt.Errorf("%s has mode %o: a patch changes regular files only, no symbolic links and no submodules", name(f), mode)
		}
	}
	if f.IsBinary && f.BinaryFragment == nil {
		return fmt.Errorf("%s is a binary file, and the patch does not hold its content: make it with git diff --binary", name(f))
	}
	if !slices.IsSortedFunc(f.TextFragments, func(a, b *gitdiff.TextFragment) int {
		return int(min(max(a.OldPosition-b.OldPosition, -1), 1))
	}) {
		return fmt.Errorf("%s: the hunks are not in the order of their lines", name(f))
	}
	return nil
}

// checkName accepts a path inside the source and nothing else.
func checkName(name string) error {
	switch {
	case len(name) > 4096:
		return errors.New("a file name of more than 4096 bytes")
	case strings.ContainsAny(name, "\\\x00\n\r"):
		return fmt.Errorf("the file name %q holds a backslash, a line break or a zero byte", cut(name))
	case !filepath.IsLocal(name) || filepath.ToSlash(filepath.Clean(name)) != name || name == ".":
		return fmt.Errorf("the file name %q leads out of the source or is not in its shortest form", cut(name))
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.EqualFold(part, ".git") {
			return fmt.Errorf("the file name %q leads into git's own folder", cut(name))
		}
	}
	return nil
}

// name is the name that a person knows the file by.
func name(f *gitdiff.File) string {
	if f.IsDelete || f.NewName == "" {
		return f.OldName
	}
	return f.NewName
}

// cut shortens foreign text for an error.
func cut(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
