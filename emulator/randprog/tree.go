package randprog

import (
	"slices"
	"strings"
)

// node is a piece of a program: an expression of a type, or a statement. Its text is
// parts with the nodes below between them.
type node struct {
	typ   string // "" of a statement
	parts []string
	kids  []*node
	short *node  // what stands in its place, once it has been reduced
	leaf  string // what stands in its place when short is nil and cut is set
	cut   bool
}

func (n *node) write(b *strings.Builder) {
	switch {
	case n.short != nil:
		n.short.write(b)
		return
	case n.cut:
		b.WriteString(n.leaf)
		return
	}
	for i, p := range n.parts {
		b.WriteString(p)
		if i < len(n.kids) {
			n.kids[i].write(b)
		}
	}
}

// String is the C++ that the node and those below it stand for.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

// text is a statement that says just this.
func text(s string) *node { return &node{parts: []string{s}} }

// list is statements one after the other.
func list(kids ...*node) *node {
	n := &node{kids: kids}
	for range len(kids) + 1 {
		n.parts = append(n.parts, "\n")
	}
	return n
}

// alive calls f for the nodes that are still part of the text, those above first.
func (n *node) alive(f func(*node)) {
	if n.short != nil {
		n.short.alive(f)
		return
	}
	if n.cut {
		return
	}
	f(n)
	for _, k := range n.kids {
		k.alive(f)
	}
}

// Reduce makes a kernel shorter for as long as fails says that what is wrong with it
// still is: statements go, expressions give way to a number or to one of their
// operands. It returns how often it asked.
func (k *Kernel) Reduce(fails func() bool) int {
	r := reducer{fails: fails}
	for r.changed = true; r.changed; {
		r.changed = false
		r.runs(k.alive(func(n *node) bool { return n.typ == "" && n.leaf != keep }))
		r.runs(k.alive(func(n *node) bool { return n.typ != "" && n.String() != n.leaf }))
		for _, n := range k.alive(func(n *node) bool { return n.typ != "" && len(n.kids) > 0 }) {
			r.operand(n)
		}
	}
	return r.asked
}

type reducer struct {
	fails   func() bool
	asked   int
	changed bool
}

func (r *reducer) keeps() bool {
	r.asked++
	kept := r.fails()
	r.changed = r.changed || kept
	return kept
}

// runs cuts runs of nodes out, long ones first.
func (r *reducer) runs(nodes []*node) {
	for size := len(nodes); size > 0; size /= 2 {
		for part := range slices.Chunk(nodes, size) {
			var cut []*node
			for _, n := range part {
				if !n.cut {
					n.cut = true
					cut = append(cut, n)
				}
			}
			if len(cut) > 0 && !r.keeps() {
				for _, n := range cut {
					n.cut = false
				}
			}
		}
	}
}

// operand puts one of the operands in the place of an expression.
func (r *reducer) operand(n *node) {
	if n.short != nil || n.cut {
		return
	}
	var below []*node
	for _, kid := range n.kids {
		kid.alive(func(d *node) {
			if d.typ == n.typ {
				below = append(below, d)
			}
		})
	}
	for _, d := range slices.Backward(below) {
		if n.short = d; r.keeps() {
			return
		}
		n.short = nil
	}
}

// alive lists the nodes of a kernel that are still part of its text.
func (k *Kernel) alive(wanted func(*node) bool) (list []*node) {
	k.root.alive(func(n *node) {
		if wanted(n) {
			list = append(list, n)
		}
	})
	return list
}

// keep marks a statement that others depend on.
const keep = "\x00"
