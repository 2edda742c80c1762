package report

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/ninjalog"
)

const (
	maxEdges = 200000 // of one report
	maxSlow  = 30
	// slack is how far the clocks of two processes, ninja's times in whole
	// milliseconds, and a file system's time stamps may be apart.
	slack = 2 * time.Second
)

// attach reads the edges of every step that ran ninja.
func (r *Report) attach(logs string) {
	root, err := os.OpenRoot(logs)
	if err != nil {
		for _, n := range r.Nodes {
			for _, s := range n.Steps {
				if s.ninja != "" {
					r.note("no ninja log is there: %v", err)
					return
				}
			}
		}
		return
	}
	defer root.Close()
	for _, n := range r.Nodes {
		for i, s := range n.Steps {
			if s.ninja == "" {
				continue
			}
			// A later step of the same build folder goes on with the same log.
			var to int64
			ended := s.ended
			for _, later := range n.Steps[i+1:] {
				if later.ninja == s.ninja {
					if to == 0 {
						to = later.offset
					}
					ended = later.ended
				}
			}
			if err := r.edges(root, logs, s, to, ended); err != nil {
				r.note("%s, step %s: its edges are not shown: %s", n.ID, s.Name, text(err.Error()))
			}
		}
	}
}

// inside gives the name of a kept log below the folder of logs. The log may
// name it absolutely; only where it lies below that folder it is one of ours.
func inside(logs, name string) (string, error) {
	if filepath.IsAbs(name) {
		abs, err := filepath.Abs(logs)
		if err != nil {
			return "", err
		}
		if name, err = filepath.Rel(abs, name); err != nil {
			return "", err
		}
	}
	if !filepath.IsLocal(name) || !strings.HasSuffix(name, ".ninja_log") {
		return "", fmt.Errorf("%q is no ninja log of this project", name)
	}
	return name, nil
}

func (r *Report) edges(root *os.Root, logs string, s *Step, to int64, ended time.Time) error {
	name, err := inside(logs, s.ninja)
	if err != nil {
		return err
	}
	// Looked at before it is opened: to open a pipe would wait for a writer.
	st, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s: %w: no regular file", name, fs.ErrInvalid)
	}
	if st.ModTime().After(ended.Add(slack)) {
		return fmt.Errorf("a later build has replaced %s", name)
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	log, err := ninjalog.Read(f, st.Size(), max(0, s.offset), to)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range log.Edges {
		if r.EdgeCount == maxEdges {
			return fmt.Errorf("more than %d edges", maxEdges)
		}
		if e.End > s.Duration()+slack {
			continue // of another run
		}
		edge := Edge{Start: s.Start + e.Start, End: min(s.Start+e.End, s.End), Output: text(e.Output), Outputs: e.Outputs}
		edge.Start = min(edge.Start, edge.End)
		s.Edges = append(s.Edges, edge)
		r.EdgeCount++
	}
	return nil
}

// place packs everything that ran into lanes, as many as there were things
// running at once: ninja's edges, and the steps that had none.
func (r *Report) place() {
	var spans []ninjalog.Span
	var lane []*int
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if len(s.Edges) == 0 {
				spans, lane = append(spans, ninjalog.Span{Start: s.Start, End: s.End}), append(lane, &s.Lane)
				r.Occupied += s.Duration()
			}
			for i := range s.Edges {
				e := &s.Edges[i]
				spans, lane = append(spans, ninjalog.Span{Start: e.Start, End: e.End}), append(lane, &e.Lane)
				r.Occupied += e.End - e.Start
			}
		}
	}
	places, n := ninjalog.Lanes(spans)
	for i, p := range places {
		*lane[i] = p
	}
	r.Lanes = n
}

// slowest keeps the edges that took longest.
func (r *Report) slowest() {
	var all []Slow
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			for _, e := range s.Edges {
				all = append(all, Slow{n.ID, s.Name, e.Output, e.Start, e.End - e.Start})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Slow) int { return cmp.Compare(b.Duration, a.Duration) })
	r.Slowest = slices.Clone(all[:min(len(all), maxSlow)])
}
