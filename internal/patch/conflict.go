package patch

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// ConflictError says where a patch and the source differ.
type ConflictError struct {
	Patch string // name of the patch file
	File  string // path in the source
	Hunk  int    // counted from 1; 0 when no hunk is meant but the file as such
	Hunks int    // how many hunks the patch has for this file
	Line  int    // in the source, counted from 1

	Want, Got string // what the patch and the source have at that line
	PastEnd   bool   // the source ends before that line
	Elsewhere int    // line at which the source has the hunk's text, if there is exactly one
	Problem   string // in place of all that, what is wrong with the file
}

// Error names patch, file, hunk and line, what was found there, and what to do.
func (e *ConflictError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "patch %s does not apply: %s", e.Patch, e.File)
	switch {
	case e.Problem != "":
		fmt.Fprintf(&b, ": %s", e.Problem)
	case e.PastEnd:
		fmt.Fprintf(&b, ":%d: hunk %d of %d: the source ends before this line", e.Line, e.Hunk, e.Hunks)
	default:
		fmt.Fprintf(&b, ":%d: hunk %d of %d: the patch expects %q, the source has %q", e.Line, e.Hunk, e.Hunks, cut(e.Want), cut(e.Got))
	}
	if e.Elsewhere > 0 {
		fmt.Fprintf(&b, "; the text that the hunk changes stands at line %d", e.Elsewhere)
	}
	b.WriteString("; the patch is for another version of the source: narrow its versions in " + SeriesFile + " or make it anew")
	return b.String()
}

// hunkConflict turns the applier's error into one that shows both sides.
func hunkConflict(f *gitdiff.File, src []byte, e *gitdiff.ApplyError) error {
	c := &ConflictError{File: name(f), Hunk: e.Fragment, Hunks: len(f.TextFragments), Line: int(e.Line)}
	if e.Fragment > len(f.TextFragments) {
		return fmt.Errorf("%s: %w", name(f), e)
	}
	frag := f.TextFragments[e.Fragment-1]
	lines := bytes.SplitAfter(src, []byte("\n"))
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	if at := elsewhere(frag, src); at != int(frag.OldPosition) {
		c.Elsewhere = at
	}
	switch {
	case e.Line < 1:
		// The fragment as such is at fault: it overlaps with the one before.
		c.Problem = fmt.Sprintf("hunk %d of %d: %v", c.Hunk, c.Hunks, e)
	case e.FragmentLine == 0 && int(e.Line) > len(lines):
		c.Line, c.PastEnd = len(lines)+1, true
	case e.FragmentLine == 0 || e.FragmentLine > len(frag.Lines) || int(e.Line) > len(lines):
		c.Problem = fmt.Sprintf("hunk %d of %d, line %d: %v", c.Hunk, c.Hunks, e.Line, e)
	default:
		c.Want = shown([]byte(frag.Lines[e.FragmentLine-1].Line))
		c.Got = shown(lines[e.Line-1])
	}
	return c
}

// shown takes the end of a line off, but not where it is what differs: a
// carriage return stays, and so does the want of a line feed.
func shown(line []byte) string {
	if text, found := bytes.CutSuffix(line, []byte("\n")); found {
		return string(text)
	}
	return string(line) + " (without a line feed)"
}

// elsewhere returns the line at which src holds the text that frag changes, if
// it holds it once.
func elsewhere(frag *gitdiff.TextFragment, src []byte) int {
	var old bytes.Buffer
	for _, l := range frag.Lines {
		if l.Old() {
			old.WriteString(l.Line)
		}
	}
	if old.Len() == 0 {
		return 0
	}
	found, line := 0, 1
	for rest := src; len(rest) > 0; line++ {
		if bytes.HasPrefix(rest, old.Bytes()) {
			if found > 0 {
				return 0
			}
			found = line
		}
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		rest = rest[i+1:]
	}
	return found
}
