package plan

import (
	"strings"
	"testing"
)

func drawing(t *testing.T) *Graph {
	return files{}.component("a", "presets: [compiler]", "needs: {build: [b], runtime: [b, c]}").
		component("b").component("c").component("d", "planned: later", "needs: {build: [c]}").resolve(t)
}

func TestDot(t *testing.T) {
	var b strings.Builder
	if err := Dot(&b, drawing(t)); err != nil {
		t.Fatal(err)
	}
	want := `digraph toolchain {
  rankdir=LR;
  node [shape=box, fontname="sans-serif"];
  "b@linux-amd64" [label="b\nlinux-amd64\nsource", style=solid];
  "c@linux-amd64" [label="c\nlinux-amd64\nsource", style=solid];
  "a@linux-amd64" [label="a\nlinux-amd64\nsource", style=solid];
  "d@linux-amd64" [label="d\nlinux-amd64\noff", style=dashed];
  "b@linux-amd64" -> "a@linux-amd64" [style=solid];
  "c@linux-amd64" -> "a@linux-amd64" [style=dotted];
}
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestMermaid(t *testing.T) {
	var b strings.Builder
	if err := Mermaid(&b, drawing(t)); err != nil {
		t.Fatal(err)
	}
	want := `flowchart LR
  n0["b<br/>linux-amd64<br/>source"]
  n1["c<br/>linux-amd64<br/>source"]
  n2["a<br/>linux-amd64<br/>source"]
  n3["d<br/>linux-amd64<br/>off"]
  style n3 stroke-dasharray: 4 4
  n0 --> n2
  n1 -.-> n2
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
