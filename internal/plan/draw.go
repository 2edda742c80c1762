package plan

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Dot writes the graph for Graphviz. Switched-off nodes are dashed, edges that
// are needed only at run time are dotted.
func Dot(w io.Writer, g *Graph) error {
	var b strings.Builder
	b.WriteString("digraph toolchain {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		style := "solid"
		if !n.Enabled {
			style = "dashed"
		}
		fmt.Fprintf(&b, "  %q [label=%q, style=%s];\n", n.ID, label(n, "\n"), style)
	}
	eachEdge(g, func(from, to string, runtime bool) {
		style := "solid"
		if runtime {
			style = "dotted"
		}
		fmt.Fprintf(&b, "  %q -> %q [style=%s];\n", from, to, style)
	})
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// Mermaid writes the graph as a Mermaid flowchart.
func Mermaid(w io.Writer, g *Graph) error {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	name := map[string]string{}
	for i, n := range g.Nodes {
		name[n.ID] = fmt.Sprintf("n%d", i)
		fmt.Fprintf(&b, "  n%d[\"%s\"]\n", i, label(n, "<br/>"))
		if !n.Enabled {
			fmt.Fprintf(&b, "  style n%d stroke-dasharray: 4 4\n", i)
		}
	}
	eachEdge(g, func(from, to string, runtime bool) {
		arrow := "-->"
		if runtime {
			arrow = "-.->"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", name[from], arrow, name[to])
	})
	_, err := io.WriteString(w, b.String())
	return err
}

func label(n *Node, newline string) string {
	text := n.Component + newline + n.Host
	if n.Enabled {
		return text + newline + string(n.Provider)
	}
	return text + newline + "off"
}

// eachEdge calls f for every edge between nodes of the graph, from what is
// needed to what needs it.
func eachEdge(g *Graph, f func(from, to string, runtime bool)) {
	for _, n := range g.Nodes {
		for _, id := range n.Build {
			if g.Node(id) != nil {
				f(id, n.ID, false)
			}
		}
		for _, id := range n.Runtime {
			if g.Node(id) != nil && !slices.Contains(n.Build, id) {
				f(id, n.ID, true)
			}
		}
	}
}
