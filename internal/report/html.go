package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"time"

	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

//go:embed page/page.html
var pageHTML string

//go:embed page/page.css
var pageCSS string

//go:embed page/page.js
var pageJS string

// maxDrawn is how many edges the page's time line and table hold; of more the
// longest.
const maxDrawn = 20000

// view is what the page's template reads.
type view struct {
	*Report
	CSS    template.CSS
	JS     template.JS
	Data   template.JS
	Policy string
	Graph  drawing
	// Drawn is how many edges the page's data hold.
	Drawn int
	// Memory lists the steps with a known peak, the largest first.
	Memory []peak
	Shares []share
}

type peak struct {
	Node, Step string
	Bytes      int64
	Part       float64 // of the largest, 0 to 100
}

type share struct {
	Outcome trace.Outcome
	Count   int
	Part    float64 // of all, 0 to 100
}

// HTML writes the report as one page that needs nothing beside it: no network,
// no font, no library. Its content security policy allows its own script and
// style, by hash, and nothing else, so that no text of the log can run even if
// it were not escaped.
func (r *Report) HTML(w io.Writer) error {
	data, drawn, err := r.data()
	if err != nil {
		return err
	}
	v := view{
		Report: r, CSS: template.CSS(pageCSS), JS: template.JS(pageJS), Data: template.JS(data),
		Policy: fmt.Sprintf("default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src 'sha256-%s'; script-src 'sha256-%s'", hash(pageCSS), hash(pageJS)),
		Graph:  r.draw(), Drawn: drawn, Memory: r.peaks(),
	}
	for _, o := range outcomes() {
		if n := r.Counts[o]; n > 0 {
			v.Shares = append(v.Shares, share{o, n, 100 * float64(n) / float64(len(r.Nodes))})
		}
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"dur":   ui.Duration,
		"bytes": ui.Bytes,
		"why":   Link.why,
		"px":    num,
		"date":  func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
		"stamp": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"add":   func(a, b float64) float64 { return a + b },
		"part": func(d time.Duration) string {
			return num(100 * min(1, float64(d)/float64(max(1, r.Wall))))
		},
		"title": func() string {
			return map[Result]string{Succeeded: "Build succeeded", Failed: "Build failed", Interrupted: "Build interrupted"}[r.Result]
		},
		"hits": func() []int { h, n := r.Hits(); return []int{h, n} },
		"use": func() string {
			if use, _, ok := r.Use(); ok {
				return fmt.Sprintf("%.0f %%", use*100)
			}
			return ""
		},
		"measured": func() bool { _, m, _ := r.Use(); return m },
		"skipped":  func() int { return r.Counts[trace.Skipped] },
		"ran":      func(n *Node) bool { return n.ran },
		"critical": func(n *Node) bool {
			return slices.ContainsFunc(r.Path, func(l Link) bool { return l.Node == n.ID })
		},
	}).Parse(pageHTML)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, v); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = b.WriteTo(w)
	return err
}

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// The page's data, read by page.js. Times are milliseconds from the build's
// beginning, with one decimal.
type pageData struct {
	Wall  float64      `json:"wall"`
	Cores int          `json:"cores"`
	Lanes int          `json:"lanes"`
	Nodes []pageNode   `json:"nodes"`
	Load  [][2]float64 `json:"load"` // [time, running]
}

type pageNode struct {
	ID       string     `json:"id"`
	Outcome  string     `json:"outcome"`
	Start    float64    `json:"start"`
	End      float64    `json:"end"`
	Critical bool       `json:"critical,omitempty"`
	Steps    []pageStep `json:"steps"`
}

type pageStep struct {
	Name    string  `json:"name"`
	Outcome string  `json:"outcome"`
	Start   float64 `json:"start"`
	End     float64 `json:"end"`
	Lane    int     `json:"lane"`
	// Edges are [start, duration, lane, common, rest]: the output is the first
	// common UTF-16 units of the edge before, and the rest.
	Edges [][5]any `json:"edges,omitempty"`
}

// data is the page's data as JSON in which <, > and & are escaped, so that it
// can stand in a script element, and how many edges it holds.
func (r *Report) data() (string, int, error) {
	shortest := r.drawnFrom()
	critical := map[string]bool{}
	for _, l := range r.Path {
		critical[l.Node] = true
	}
	d := pageData{Wall: ms(r.Wall), Cores: r.Cores, Lanes: r.Lanes, Nodes: []pageNode{}, Load: r.thinned()}
	drawn := 0
	for _, n := range r.Nodes {
		if !n.ran {
			continue
		}
		p := pageNode{ID: n.ID, Outcome: string(n.Outcome), Start: ms(n.Start), End: ms(n.End), Critical: critical[n.ID], Steps: []pageStep{}}
		for _, s := range n.Steps {
			q := pageStep{Name: s.Name, Outcome: string(s.Outcome), Start: ms(s.Start), End: ms(s.End), Lane: s.Lane}
			if len(s.Edges) > 0 {
				q.Lane = -1
			}
			before := ""
			for _, e := range s.Edges {
				if e.End-e.Start < shortest || drawn == maxDrawn {
					continue
				}
				k := common(before, e.Output)
				q.Edges = append(q.Edges, [5]any{ms(e.Start), ms(e.End - e.Start), e.Lane, k, e.Output[k:]})
				before = e.Output
				drawn++
			}
			p.Steps = append(p.Steps, q)
		}
		d.Nodes = append(d.Nodes, p)
	}
	text, err := json.Marshal(d) // escapes <, >, & and U+2028, U+2029
	return string(text), drawn, err
}

// drawnFrom is the duration from which edges are drawn.
func (r *Report) drawnFrom() time.Duration {
	if r.EdgeCount <= maxDrawn {
		return 0
	}
	var all []time.Duration
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			for _, e := range s.Edges {
				all = append(all, e.End-e.Start)
			}
		}
	}
	slices.SortFunc(all, func(a, b time.Duration) int { return cmp.Compare(b, a) })
	return all[maxDrawn-1]
}

// thinned is the load in at most 2,000 points: of those that fall together the
// highest.
func (r *Report) thinned() [][2]float64 {
	const most = 2000
	out := [][2]float64{}
	bucket := r.Wall / most
	for _, p := range r.load() {
		if n := len(out); n > 1 && ms(p.at-bucket) < out[n-1][0] && p.n > 0 {
			out[n-1][1] = max(out[n-1][1], float64(p.n))
			continue
		}
		out = append(out, [2]float64{ms(p.at), float64(p.n)})
	}
	return out
}

// common is the length of what two texts begin with. It is a number of bytes
// and of UTF-16 units alike: only ASCII counts.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] && a[n] < 0x80 {
		n++
	}
	return n
}

func ms(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Millisecond)*10) / 10
}

// peaks lists steps by the memory of their largest process.
func (r *Report) peaks() []peak {
	var all []peak
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if s.MaxRSS > 0 {
				all = append(all, peak{n.ID, s.Name, s.MaxRSS, 100 * float64(s.MaxRSS) / float64(r.MaxRSS)})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b peak) int { return cmp.Compare(b.Bytes, a.Bytes) })
	return all[:min(len(all), maxSlow)]
}
