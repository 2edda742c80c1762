package api

import (
	"slices"
	"strconv"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// threads are the states of threads, of the library and those that it uses.
func threads(l *Library, into map[string]Type) map[string]Type {
	for _, u := range l.used {
		threads(u, into)
	}
	for _, t := range l.Thread {
		into[t.Key] = t.Value
	}
	return into
}

func (c *checker) threadStates() {
	for _, t := range c.lib.Thread {
		path := yamlx.Field("thread", t.Key)
		if !cName.MatchString(t.Key) {
			c.errorf(path, "%q is no name of a state", t.Key)
		}
		c.named(path, t.Value, true)
	}
	s := &c.lib.Status
	if s.Remembered == "" {
		return
	}
	t, ok := c.path("status.remembered", s.Remembered, nil)
	if ok && t.Base != s.Type {
		c.errorf("status.remembered", "%s is of type %s, not %s", s.Remembered, t, s.Type)
	}
}

// path follows a path from a parameter, or the thread, through records and
// handles, and returns the type at its end. The error is said.
func (c *checker) path(at, path string, peers map[string]Type) (Type, bool) {
	name, rest := splitPath(path)
	t, ok := peers[name]
	switch {
	case !ok && name == "thread":
		states := threads(c.lib, map[string]Type{})
		name, rest = splitPath(rest)
		if t, ok = states[name]; !ok {
			c.unknown(at, "state of the thread", name, keysOf(states))
			return t, false
		}
	case !ok:
		c.unknown(at, "parameter", name, append(keysOf(peers), "thread"))
		return t, false
	case t.Equal(wrongType):
		return t, false
	}
	for rest != "" {
		in := c.resolve(t)
		name, rest = splitPath(rest)
		if h := c.handles[in.Base]; h != nil && len(in.Pointers) == 0 {
			state, ok := h.States.Get(name)
			if !ok {
				c.unknown(at, "state of "+t.Base, name, h.States.Keys())
				return t, false
			}
			if t, ok = c.stateType(state); !ok {
				return t, false // said where the state stands
			}
			continue
		}
		r := c.records[in.Base]
		if r == nil || len(in.Pointers) > 1 {
			c.errorf(at, "%s is no record and no handle: it has no %s", t, name)
			return t, false
		}
		i := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == name })
		if i < 0 {
			c.unknown(at, "field of "+in.Base, name, fieldNames(r))
			return t, false
		}
		t = r.Fields[i].Type
	}
	return t, true
}

func fieldNames(r *Record) []string {
	var names []string
	for i := range r.Fields {
		if r.Fields[i].Name != "" {
			names = append(names, r.Fields[i].Name)
		}
	}
	return names
}

// stateType is the type of a handle's state: an enumeration, a number or a
// handle.
func (c *checker) stateType(spelled string) (Type, bool) {
	t, err := ParseType(spelled)
	if err != nil || !c.number(t) && c.handles[c.resolve(t).Base] == nil {
		return t, false
	}
	return t, true
}

// place checks a path to a stream or event; order is what it has to be, "" for
// any of them.
func (c *checker) place(at, path, order string, peers map[string]Type) {
	t, ok := c.path(at, path, peers)
	if !ok {
		return
	}
	r := c.resolve(t)
	h := c.handles[r.Base]
	if h == nil || len(r.Pointers) > 1 || h.Order == "" || order != "" && h.Order != order {
		if order == "" {
			order = "stream or event"
		}
		c.errorf(at, "%s is of type %s: that is no %s", path, t, order)
	}
}

func (c *checker) conduct(path string, f *Function) {
	d := &f.Conduct
	peers := map[string]Type{}
	streams := false
	for i := range f.Params {
		t := f.Params[i].Type
		if !c.known(t.Base) {
			t = wrongType
		}
		peers[f.Params[i].Name] = t
		h := c.handles[c.resolve(t).Base]
		streams = streams || h != nil && h.Order == "stream"
	}
	switch {
	case d.Stream == "":
	case f.Sync != Queue && f.Sync != Drain:
		c.errorf(path+".stream", "a call of class %s works in no stream and waits for none", f.Sync)
	case isStreamWord(d.Stream):
	case f.Sync == Queue:
		c.place(path+".stream", d.Stream, "stream", peers)
	default:
		c.place(path+".stream", d.Stream, "", peers)
	}
	if d.Default != "" && !streams {
		c.errorf(path+".default", "the function takes no stream that could be null")
	}
	for i, p := range d.After {
		c.place(yamlx.Index(path+".after", i), p, "event", peers)
	}
	for i, p := range d.Marks {
		c.place(yamlx.Index(path+".marks", i), p, "event", peers)
	}
	for i, p := range d.Reads {
		c.state(yamlx.Index(path+".reads", i), p, peers)
	}
	for _, s := range d.Sets {
		at := yamlx.Field(path+".sets", s.Key)
		c.state(at, s.Key, peers)
		c.becomes(at, string(s.Value), peers)
	}
}

// state checks a path to what a thread or a handle remembers.
func (c *checker) state(at, path string, peers map[string]Type) {
	if _, rest := splitPath(path); rest == "" {
		c.errorf(at, "%s is no state: name one of the thread (thread.device) or of a handle (handle.stream)", path)
		return
	}
	c.path(at, path, peers)
}

// becomes checks what a state is set to.
func (c *checker) becomes(at, value string, peers map[string]Type) {
	if _, ok := peers[value]; ok || value == SetInside || c.constants[value] != "" {
		return
	}
	if _, err := strconv.ParseInt(value, 0, 64); err != nil {
		c.unknown(at, "parameter, value or number", value, append(keysOf(peers), SetInside))
	}
}

// lookups checks how functions are found by name.
func (c *checker) lookups() {
	finders := false
	seen := map[Instead]string{}
	for i := range c.lib.Functions {
		name, f := c.lib.Functions[i].Key, &c.lib.Functions[i].Value
		path := yamlx.Field("functions", name)
		if f.Lookup != "" {
			finders = true
			c.finder(path+".lookup", f)
		}
	}
	for i := range c.lib.Functions {
		name, in := c.lib.Functions[i].Key, c.lib.Functions[i].Value.Instead
		path := yamlx.Field("functions", name) + ".instead"
		switch {
		case in == nil:
			continue
		case !finders:
			c.errorf(path, "no function of the library looks others up")
		case in.Of == name:
			c.errorf(path, "%s is found by its own name anyway", name)
		case seen[*in] != "":
			c.errorf(path, "%s is found in the same case", seen[*in])
		}
		if _, ok := c.lib.Functions.Get(in.Of); !ok {
			c.unknown(path+".of", "function", in.Of, c.lib.Functions.Keys())
		}
		seen[*in] = name
	}
}

func (c *checker) finder(path string, f *Function) {
	p := f.param(f.Lookup)
	switch {
	case p == nil:
		c.unknown(path, "parameter", f.Lookup, f.names())
	case p.As != Text:
		c.errorf(path, "%s is no string", f.Lookup)
	case !slices.ContainsFunc(f.Params, func(q Param) bool { return q.Dir == Out && q.Type.String() == "void **" }):
		c.errorf(path, "the function has no parameter void ** to write an address to")
	}
}

// called checks what is said of a callback beside its peers.
func (c *checker) called(path string, calls *Calls, peers map[string]Type, as func(name string) As) {
	if calls.With == "" {
		return
	}
	if _, ok := peers[calls.With]; !ok {
		c.unknown(path+".calls.with", "parameter", calls.With, keysOf(peers))
	} else if as(calls.With) != Token {
		c.errorf(path+".calls.with", "%s is no token: a callback is given back what the library does not look into", calls.With)
	}
}

// memory checks who gives and takes back memory.
func (c *checker) memory() {
	for i := range c.lib.Memory {
		path, m := yamlx.Field("memory", c.lib.Memory[i].Key), &c.lib.Memory[i].Value
		if m.Owner != "" && c.handles[m.Owner] == nil {
			c.unknown(path+".owner", "handle", m.Owner, keysOf(c.handles))
		}
		if len(m.Destroy) == 0 && m.Owner == "" && m.Why == "" {
			c.errorf(path, "nothing ends it: name destroy, an owner, or say why")
		}
		c.all(path+".create", m.Create, "give memory", func(f *Function) bool {
			return slices.ContainsFunc(f.Params, func(p Param) bool {
				return isMemory(p.As) || (p.Dir == Out || p.Dir == InOut) && (isMemory(p.Of) || c.points(c.resolve(p.Type).Base, map[string]bool{}))
			})
		})
		c.all(path+".destroy", m.Destroy, "take memory", func(f *Function) bool {
			return slices.ContainsFunc(f.Params, func(p Param) bool { return isMemory(p.As) })
		})
	}
}

func isMemory(a As) bool { return a == Device || a == Host || a == Local || a == Either }

// all checks that functions are there, and that each can do something.
func (c *checker) all(path string, functions []string, what string, can func(*Function) bool) {
	for i, name := range functions {
		at := yamlx.Index(path, i)
		if f, ok := c.lib.Functions.Get(name); !ok {
			c.unknown(at, "function", name, c.lib.Functions.Keys())
		} else if !can(&f) {
			c.errorf(at, "%s has no parameter by which it could %s", name, what)
		}
	}
}

// choose checks that the fields of a union are meant by values of what decides
// it.
func (c *checker) choose(path string, decider Type, union *Record) {
	enum := c.resolve(decider).Base
	if c.enums[enum] == nil {
		c.errorf(path, "%s is no enumeration: its values cannot say which field is meant", decider)
		return
	}
	for i := range union.Fields {
		for _, w := range union.Fields[i].When {
			if of := c.constants[w]; of != "" && of != enum {
				c.errorf(path, "field %s is meant by %s, which is a value of %s, not of %s", fieldName(&union.Fields[i]), w, of, enum)
			}
		}
	}
}

// whens checks for which values the fields of a record are meant.
func (c *checker) whens(path string, r *Record, peers map[string]Type) {
	seen := map[string]string{}
	for i := range r.Fields {
		f := &r.Fields[i]
		at := yamlx.Index(path+".fields", i)
		if len(f.When) > 0 && !r.Union && f.By == "" {
			c.errorf(at+".when", "by is missing: which field has these values")
		}
		for j, w := range f.When {
			enum := c.constants[w]
			switch {
			case enum == "":
				c.unknown(yamlx.Index(at+".when", j), "value", w, c.values(c.resolve(peers[f.By]).Base))
			case r.Union && seen[w] != "":
				c.errorf(yamlx.Index(at+".when", j), "%s means %s already", w, seen[w])
			case !r.Union && f.By != "" && c.resolve(peers[f.By]).Base != enum:
				c.errorf(yamlx.Index(at+".when", j), "%s is a value of %s, not of %s", w, enum, peers[f.By])
			}
			seen[w] = fieldName(f)
		}
	}
	if r.By == "" {
		return
	}
	switch t, ok := peers[r.By]; {
	case !r.Union:
		c.errorf(path+".by", "only a union has a field that says which of them is meant")
	case !ok:
		c.unknown(path+".by", "field", r.By, keysOf(peers))
	default:
		c.choose(path+".by", t, r)
	}
}
