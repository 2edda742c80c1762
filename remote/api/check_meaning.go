package api

import "fmt"

// meaning checks what is said of a pointer, beside its peers: the parameters of
// the same call or the fields of the same record.
func (c *checker) meaning(path string, declared Type, m *Meaning, peers map[string]Type) {
	t := c.resolve(declared)
	t.Lengths = nil // an array of pointers means them all
	if !c.pointer(t) {
		if m.As != "" || m.Of != "" || m.Dir != "" || !m.Count.IsZero() || !m.Bytes.IsZero() || m.By != "" {
			c.errorf(path, "%s is no pointer: nothing is to be said of what it points to", declared)
		}
		return
	}
	target := t.Pointee()
	nested := c.pointer(target)
	_, _, sized := c.extent(target)
	reads := m.As == One || m.As == Array || m.As == Either
	switch {
	case m.As == "":
		c.errorf(path, "as is missing: what %s stands for (%q when nobody has decided)", declared, Undecided)
	case reads && m.Dir == "":
		c.errorf(path, "dir is missing: who writes what it points to")
	case m.Dir != "" && m.Dir != In && target.IsConst():
		c.errorf(path, "dir is %s, but %s cannot be written through", m.Dir, declared)
	case m.As == One && !sized:
		c.errorf(path, "%s has no size: it cannot point to one", target)
	case m.As == Array && m.Count.IsZero() == m.Bytes.IsZero():
		c.errorf(path, "an array has either a count or bytes")
	case !m.Count.IsZero() && !sized:
		c.errorf(path, "%s has no size to count in: say bytes", target)
	case m.As == Text && (target.Base != "char" || nested):
		c.errorf(path, "%s is no string", declared)
	case nested && reads && m.Of == "":
		c.errorf(path, "of is missing: what the pointers stand for that it points to")
	case !nested && m.Of != "":
		c.errorf(path, "of is said of pointers to pointers")
	case (m.As == Either || m.Of == Either) && m.By == "":
		c.errorf(path, "by is missing: what decides whether it points to the host or the device")
	}
	if m.By != "" {
		c.decides(path+".by", m.By, peers)
	}
	for key, e := range map[string]Expr{"count": m.Count, "bytes": m.Bytes} {
		for _, name := range e.Names() {
			if _, ok := peers[name]; !ok {
				c.unknown(path+"."+key, "parameter", name, keysOf(peers))
			}
		}
		e.walk(func(n *node) {
			if err := c.operand(n, peers); err != nil {
				c.errs = append(c.errs, c.src.Errorf(path+"."+key, "length %q: %v", e, err))
			}
		})
	}
}

// decides checks what an either is decided by: name, or handle.state.
func (c *checker) decides(path, by string, peers map[string]Type) {
	name, state, has := by, "", false
	for i := range by {
		if by[i] == '.' {
			name, state, has = by[:i], by[i+1:], true
			break
		}
	}
	t, ok := peers[name]
	if !ok {
		c.unknown(path, "parameter", name, keysOf(peers))
		return
	}
	if t.Equal(wrongType) {
		return
	}
	if !has {
		if !c.number(t) {
			c.errorf(path, "%s is no number and no enumeration", name)
		}
		return
	}
	h := c.handles[c.resolve(t).Base]
	if h == nil {
		c.errorf(path, "%s is no handle", name)
	} else if _, ok := h.States.Get(state); !ok {
		c.unknown(path, "state of "+t.Base, state, h.States.Keys())
	}
}

// operand checks one part of a length.
func (c *checker) operand(n *node, peers map[string]Type) error {
	switch n.op {
	case opName, opDeref, opSizes:
	case opSizeof:
		t, err := ParseType(n.text)
		if err != nil {
			return err
		}
		if _, _, ok := c.extent(t); !ok {
			return fmt.Errorf("%s has no size", n.text)
		}
		return nil
	default:
		return nil
	}
	declared, ok := peers[n.text]
	if !ok || declared.Equal(wrongType) {
		return nil
	}
	t := c.resolve(declared)
	switch {
	case n.op == opSizes:
		if e := c.enums[t.Base]; e == nil || len(e.Sizes) == 0 || len(t.Pointers) > 0 {
			return fmt.Errorf("%s is no enumeration with sizes", n.text)
		}
	case n.op == opDeref:
		if !t.IsPointer() || !c.number(t.Pointee()) {
			return fmt.Errorf("%s does not point to a number", n.text)
		}
	case n.field != "":
		r := c.records[t.Base]
		if r == nil || len(t.Pointers) > 1 {
			return fmt.Errorf("%s is no record", n.text)
		}
		for i := range r.Fields {
			if r.Fields[i].Name == n.field && c.number(r.Fields[i].Type) {
				return nil
			}
		}
		return fmt.Errorf("%s has no field %s that is a number", t.Base, n.field)
	case !c.number(t):
		return fmt.Errorf("%s is no number", n.text)
	}
	return nil
}
