package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// The graph is drawn in layers from left to right, as Sugiyama, Tagawa and
// Toda do it (IEEE Trans. SMC 11(2), 1981): every node one layer behind the
// last thing that it needs, long edges through a dummy in every layer between,
// the order inside a layer by the mean place of its neighbours.

// Sizes in CSS pixels.
const (
	boxHeight   = 42
	boxGap      = 14
	dummyHeight = 6
	layerGap    = 56
	boxPadding  = 24
	charWidth   = 7.4 // of the 13 px font of a box, at most, on average
	maxLabel    = 30  // characters
	margin      = 8
	sweeps      = 12
)

// A larger graph than this is not drawn, and nobody could read it. Beyond so
// many dummies long edges go straight.
const (
	maxBoxes   = 1500
	maxLines   = 20000
	maxDummies = 20000
)

// drawing is a graph with its places.
type drawing struct {
	Width, Height float64
	Boxes         []box
	Lines         []curve
}

type box struct {
	ID, Label, Detail string
	Outcome           trace.Outcome
	X, Y, W, H        float64
	Critical          bool
}

type curve struct {
	Path     string
	From, To string
	Critical bool
}

// vertex is a node, or a dummy of an edge (node == nil).
type vertex struct {
	node     *Node
	layer    int
	y, h     float64
	up, down []*vertex // in the layer before and the layer behind
}

// draw places the nodes that are part of the build.
func (r *Report) draw() drawing {
	var nodes []*Node
	for _, n := range r.Nodes {
		if n.Outcome != trace.Skipped {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 || len(nodes) > maxBoxes {
		return drawing{}
	}
	layer, order := layers(r, nodes)
	vertices := map[*Node]*vertex{}
	var columns [][]*vertex
	put := func(v *vertex) *vertex {
		for len(columns) <= v.layer {
			columns = append(columns, nil)
		}
		columns[v.layer] = append(columns[v.layer], v)
		return v
	}
	for _, n := range order {
		vertices[n] = put(&vertex{node: n, layer: layer[n], h: boxHeight})
	}
	chains := map[[2]*Node][]*vertex{}
	dummies := 0
	for _, n := range order {
		for _, id := range slices.Concat(n.Needs, n.Beside) {
			need := r.byID[id]
			if vertices[need] == nil || layer[need] >= layer[n] || len(chains) == maxLines {
				continue
			}
			chain := []*vertex{vertices[need]}
			for l := layer[need] + 1; l < layer[n] && dummies < maxDummies; l++ {
				dummies++
				chain = append(chain, put(&vertex{layer: l, h: dummyHeight}))
			}
			chain = append(chain, vertices[n])
			for i := 1; i < len(chain); i++ {
				chain[i-1].down = append(chain[i-1].down, chain[i])
				chain[i].up = append(chain[i].up, chain[i-1])
			}
			chains[[2]*Node{need, n}] = chain
		}
	}
	arrange(columns)
	return r.coordinates(columns, order, chains)
}

// layers gives every node its layer, and an order in which needs come first.
// Needs that would close a cycle are passed over.
func layers(r *Report, nodes []*Node) (layer map[*Node]int, order []*Node) {
	layer = map[*Node]int{}
	wanted, state := map[*Node]bool{}, map[*Node]int{}
	for _, n := range nodes {
		wanted[n] = true
	}
	var visit func(n *Node)
	visit = func(n *Node) {
		state[n] = 1
		for _, id := range slices.Concat(n.Needs, n.Beside) {
			need := r.byID[id]
			if need == nil || !wanted[need] || state[need] == 1 {
				continue
			}
			if state[need] == 0 {
				visit(need)
			}
			layer[n] = max(layer[n], layer[need]+1)
		}
		state[n] = 2
		order = append(order, n)
	}
	for _, n := range nodes {
		if state[n] == 0 {
			visit(n)
		}
	}
	return layer, order
}

// arrange orders every column and gives its vertices their heights.
func arrange(columns [][]*vertex) {
	for _, c := range columns {
		stack(c)
	}
	for i := range sweeps {
		if i%2 == 0 {
			for _, c := range columns {
				settle(c, func(v *vertex) []*vertex { return v.up })
			}
		} else {
			for _, c := range slices.Backward(columns) {
				settle(c, func(v *vertex) []*vertex { return v.down })
			}
		}
	}
	least := 0.0
	for i, c := range columns {
		if i == 0 || c[0].y < least {
			least = c[0].y
		}
	}
	for _, c := range columns {
		for _, v := range c {
			v.y += margin - least
		}
	}
}

// stack puts a column's vertices below each other.
func stack(column []*vertex) {
	y := 0.0
	for _, v := range column {
		v.y = y
		y += v.h + boxGap
	}
}

// settle moves a column's vertices to where their neighbours are, as near as
// they fit below each other.
func settle(column []*vertex, neighbours func(*vertex) []*vertex) {
	want := map[*vertex]float64{}
	for _, v := range column {
		want[v] = v.y + v.h/2
		if near := neighbours(v); len(near) > 0 {
			sum := 0.0
			for _, o := range near {
				sum += o.y + o.h/2
			}
			want[v] = sum / float64(len(near))
		}
	}
	slices.SortStableFunc(column, func(a, b *vertex) int { return cmp.Compare(want[a], want[b]) })
	// Pushed down where they overlap, then all moved back by the mean push.
	end, push := 0.0, 0.0
	for i, v := range column {
		v.y = want[v] - v.h/2
		if i > 0 && v.y < end {
			v.y = end
		}
		push += v.y - (want[v] - v.h/2)
		end = v.y + v.h + boxGap
	}
	for _, v := range column {
		v.y -= push / float64(len(column))
	}
}

func (r *Report) coordinates(columns [][]*vertex, order []*Node, chains map[[2]*Node][]*vertex) drawing {
	critical, bound := map[string]bool{}, map[[2]string]bool{}
	for _, l := range r.Path {
		critical[l.Node] = true
		if l.For == ForNeed {
			bound[[2]string{l.On, l.Node}] = true
		}
	}
	var d drawing
	left, width := make([]float64, len(columns)), make([]float64, len(columns))
	x := float64(margin)
	for i, column := range columns {
		w := 60.0
		for _, v := range column {
			if v.node != nil {
				longer := max(utf8.RuneCountInString(clip(v.node.Component)), utf8.RuneCountInString(detail(v.node)))
				w = max(w, float64(longer)*charWidth+boxPadding)
			}
			d.Height = max(d.Height, v.y+v.h+margin)
		}
		left[i], width[i] = x, w
		x += w + layerGap
	}
	d.Width = x - layerGap + margin
	for i, column := range columns {
		for _, v := range column {
			if n := v.node; n != nil {
				d.Boxes = append(d.Boxes, box{
					ID: n.ID, Label: clip(n.Component), Detail: detail(n), Outcome: n.Outcome,
					X: left[i], Y: v.y, W: width[i], H: v.h, Critical: critical[n.ID],
				})
			}
		}
	}
	for _, n := range order {
		for _, id := range slices.Concat(n.Needs, n.Beside) {
			chain := chains[[2]*Node{r.byID[id], n}]
			if chain == nil {
				continue
			}
			var b strings.Builder
			first := chain[0]
			px, py := left[first.layer]+width[first.layer], first.y+first.h/2
			b.WriteString("M" + num(px) + " " + num(py))
			for _, v := range chain[1:] {
				nx, ny := left[v.layer], v.y+v.h/2
				mid := (px + nx) / 2
				b.WriteString("C" + num(mid) + " " + num(py) + " " + num(mid) + " " + num(ny) + " " + num(nx) + " " + num(ny))
				if v.node == nil {
					nx += width[v.layer]
					b.WriteString("H" + num(nx))
				}
				px, py = nx, ny
			}
			d.Lines = append(d.Lines, curve{Path: b.String(), From: id, To: n.ID, Critical: bound[[2]string{id, n.ID}]})
		}
	}
	return d
}

func num(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

func clip(s string) string {
	if r := []rune(s); len(r) > maxLabel {
		return string(r[:maxLabel-1]) + "…"
	}
	return s
}

func detail(n *Node) string {
	if d := n.Duration(); d >= time.Millisecond {
		return string(n.Outcome) + " · " + ui.Duration(d)
	}
	return string(n.Outcome)
}
