package api

import "fmt"

// meaning checks what is said of a pointer, beside its peers: the parameters of
// the same call or the fields of the same record. Conditional is a field that
// is meant only where By says so.
func (c *checker) meaning(path string, declared Type, m *Meaning, peers map[string]Type, conditional bool) {
	t := c.resolve(declared)
	t.Lengths = nil // an array of pointers means them all
	union := c.records[t.Base]
	if union != nil && (!union.Union || len(t.Pointers) > 1) {
		union = nil
	}
	if m.Calls != nil && (c.callbacks[t.Base] == nil || len(t.Pointers) > 0) {
		c.errorf(path+".calls", "%s is no callback", declared)
	}
	if m.By != "" && union != nil {
		c.chosen(path+".by", m.By, union, peers)
	}
	if !c.pointer(t) {
		if m.As != "" || m.Of != "" || m.Dir != "" || !m.Count.IsZero() || !m.Bytes.IsZero() || m.Each != "" || m.Through != "" || m.Kept || m.By != "" && union == nil && !conditional {
			c.errorf(path, "%s is no pointer: nothing is to be said of what it points to", declared)
		} else if m.By != "" && union == nil {
			c.decides(path+".by", m.By, peers)
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
	case m.Through != "" && (!nested || m.Of == Device || m.Of == ""):
		c.errorf(path, "through is said of what pointers point to that it points to")
	case nested && m.Through != "" && m.Through != In && target.Pointee().IsConst():
		c.errorf(path, "through is %s, but what %s points to in the end cannot be written", m.Through, declared)
	case (m.As == Either || m.Of == Either) && m.By == "":
		c.errorf(path, "by is missing: what decides whether it points to the host or the device")
	}
	if _, named := peers[ByItself]; m.By == ByItself && !named {
		if m.As != Either && m.Of != Either {
			c.errorf(path+".by", "only of what points to either side the address itself can say to which")
		}
	} else if m.By != "" && union == nil {
		c.decides(path+".by", m.By, peers)
	}
	if m.Each != "" {
		c.each(path+".each", m, nested, peers)
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

// each checks the sizes of what the pointers of an array point to.
func (c *checker) each(path string, m *Meaning, nested bool, peers map[string]Type) {
	t, ok := peers[m.Each]
	switch {
	case !ok:
		c.unknown(path, "parameter", m.Each, keysOf(peers))
	case m.As != Array || !nested:
		c.errorf(path, "only an array of pointers points to more than one thing")
	case !t.Equal(wrongType) && (!c.resolve(t).IsPointer() || !c.number(c.resolve(t).Pointee())):
		c.errorf(path, "%s is no array of numbers", m.Each)
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
	} else if of, ok := h.States.Get(state); !ok {
		c.unknown(path, "state of "+t.Base, state, h.States.Keys())
	} else if st, ok := c.stateType(of); ok && !c.number(st) {
		c.errorf(path, "%s is a %s, and decides nothing", by, of)
	}
}

// chosen checks what decides which field of a union is meant.
func (c *checker) chosen(path, by string, union *Record, peers map[string]Type) {
	t, ok := peers[by]
	if !ok {
		c.unknown(path, "parameter", by, keysOf(peers))
	} else if !t.Equal(wrongType) {
		c.choose(path, t, union)
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
	case n.field != "" && c.handles[t.Base] != nil && len(t.Pointers) == 0:
		state, ok := c.handles[t.Base].States.Get(n.field)
		if st, known := c.stateType(state); !ok || !known || !c.number(st) {
			return fmt.Errorf("%s has no state %s that is a number", t.Base, n.field)
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
