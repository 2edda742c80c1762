// Package ninjalog reads the logs that ninja keeps of what it ran, .ninja_log
// in a build folder.
//
// The form is ninja's own (src/build_log.cc): a line "# ninja log vN", then a
// line for every output, "start TAB end TAB mtime TAB output TAB hash", start
// and end in milliseconds since that ninja began. A later ninja appends to the
// log of an earlier one and begins to count anew. When too many lines are out
// of date ninja writes the log anew ("recompaction"), in no particular order.
package ninjalog

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxLine  = 64 << 10  // bytes of one line that are looked at
	maxBytes = 256 << 20 // read of one log
	maxEdges = 200000    // kept of one log
	maxTime  = 1 << 31   // milliseconds: 24 days
)

// ErrVersion is returned for what is no ninja log of a known version. Versions
// 5 (ninja 1.9), 6 (1.12: mtime in nanoseconds) and 7 (1.13: another hash) are
// the same for what is read here.
var ErrVersion = errors.New("not a ninja log of version 5 to 7")

// Edge is one command that ninja ran.
type Edge struct {
	// Start and End are times since the ninja that ran it began.
	Start, End time.Duration
	// Output is the first of the edge's outputs, as ninja's files name it.
	Output string
	// Outputs is how many there are, at least 1.
	Outputs int
}

// Log is what Read found.
type Log struct {
	Version int
	// Edges are those of one run of ninja, in the order in which they began.
	Edges []Edge
	// Rewritten says that ninja has written the log anew since its size was
	// taken, so that the run was told from earlier ones by its times alone.
	Rewritten bool
	// Damaged counts lines that are torn or are no entry, Dropped those beyond
	// the bound.
	Damaged, Dropped int
}

// Read reads the entries of one run of ninja: those that were appended between
// the two sizes of the file, from before the run and to after it. A from of 0
// is the file's beginning, a to of 0 its end.
//
// Within that part the entries behind the last step back in time count: ninja
// writes an entry when a command ends, so an earlier end than the line before
// has is another ninja's (or the same one's after it made build.ninja anew).
func Read(r io.ReaderAt, size, from, to int64) (*Log, error) {
	l := &Log{}
	if size > maxBytes {
		return nil, fmt.Errorf("ninja log of %d bytes: larger than %d", size, int64(maxBytes))
	}
	head, n, err := header(r, size)
	if err != nil {
		return nil, err
	}
	l.Version = head
	if to <= 0 || to > size {
		to = size
	}
	if from < n {
		from = n
	}
	if from > to || from > n && !lineEnds(r, from-1) {
		l.Rewritten = true
		from, to = n, size
	}
	if err := l.entries(io.NewSectionReader(r, from, to-from)); err != nil {
		return nil, err
	}
	return l, nil
}

// header reads the first line and returns the version and the line's length.
func header(r io.ReaderAt, size int64) (version int, n int64, err error) {
	line, err := bufio.NewReaderSize(io.NewSectionReader(r, 0, min(size, 64)), 64).ReadString('\n')
	if err != nil && err != io.EOF {
		return 0, 0, fmt.Errorf("ninja log: %w", err)
	}
	text, ok := strings.CutPrefix(line, "# ninja log v")
	if !ok || err == io.EOF {
		return 0, 0, ErrVersion
	}
	v, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || v < 5 || v > 7 {
		return 0, 0, ErrVersion
	}
	return v, int64(len(line)), nil
}

func lineEnds(r io.ReaderAt, at int64) bool {
	var b [1]byte
	n, _ := r.ReadAt(b[:], at)
	return n == 1 && b[0] == '\n'
}

// command is what lines of one edge have in common.
type command struct {
	start, end time.Duration
	hash       string
}

func (l *Log) entries(r io.Reader) error {
	br := bufio.NewReaderSize(r, maxLine)
	seen := map[command]int{}
	var last time.Duration
	for {
		line, err := br.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			l.Damaged++
			for err == bufio.ErrBufferFull { // the rest of a line too long
				_, err = br.ReadSlice('\n')
			}
			line = nil
		}
		if err != nil && err != io.EOF {
			return fmt.Errorf("ninja log: %w", err)
		}
		if complete := err == nil; complete && len(line) > 1 {
			e, hash, ok := entry(bytes.TrimSuffix(line, []byte("\n")))
			if !ok {
				l.Damaged++
				continue
			}
			if e.End < last {
				l.Edges, l.Dropped = l.Edges[:0], 0
				clear(seen)
			}
			last = e.End
			c := command{e.Start, e.End, hash}
			if i, ok := seen[c]; ok {
				l.Edges[i].Outputs++
			} else if len(l.Edges) == maxEdges {
				l.Dropped++
			} else {
				seen[c] = len(l.Edges)
				l.Edges = append(l.Edges, e)
			}
		} else if !complete && len(line) > 0 {
			l.Damaged++ // torn: ninja ends every line
		}
		if err == io.EOF {
			break
		}
	}
	slices.SortStableFunc(l.Edges, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	return nil
}

// entry reads one line. The output may hold anything but a tab.
func entry(line []byte) (e Edge, hash string, ok bool) {
	f := strings.Split(string(line), "\t")
	if len(f) != 5 || f[3] == "" {
		return e, "", false
	}
	start, err1 := strconv.ParseInt(f[0], 10, 64)
	end, err2 := strconv.ParseInt(f[1], 10, 64)
	if err1 != nil || err2 != nil || start < 0 || end < start || end > maxTime {
		return e, "", false
	}
	if _, err := strconv.ParseUint(f[4], 16, 64); err != nil {
		return e, "", false
	}
	e = Edge{
		Start: time.Duration(start) * time.Millisecond, End: time.Duration(end) * time.Millisecond,
		Output: strings.ToValidUTF8(f[3], "\uFFFD"), Outputs: 1,
	}
	return e, f[4], true
}
