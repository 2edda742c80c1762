package api

import (
	"math"
	"regexp"
	"slices"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

var (
	cName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// A record inside another that has no name of its own is named by the path
	// to it.
	recordName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_0-9]+)*$`)
)

// checker finds what a description says that cannot be.
type checker struct {
	*scope
	lib  *Library
	src  *yamlx.Source
	errs []error
}

// Check finds everything in the description that contradicts itself. The error
// is a [yamlx.Errors] with the positions of the file that it came from.
func (l *Library) Check() error {
	c := &checker{scope: newScope(l), lib: l, src: l.src}
	c.names()
	c.types()
	c.status()
	for i := range l.Functions {
		c.function(&l.Functions[i])
	}
	for i := range l.Handles {
		c.handle(&l.Handles[i])
	}
	c.threadStates()
	c.lookups()
	c.memory()
	return yamlx.Join(c.errs...)
}

func (c *checker) errorf(path, format string, args ...any) {
	c.errs = append(c.errs, c.src.Errorf(path, format, args...))
}

func (c *checker) unknown(path, kind, found string, known []string) {
	c.errs = append(c.errs, c.src.Unknown(path, kind, found, known))
}

// names checks that nothing is named twice: the reader has found names that
// stand twice in one mapping, not those of two kinds.
func (c *checker) names() {
	of := map[string]string{}
	for _, u := range c.lib.used {
		for _, n := range newScope(u).names {
			of[n] = "a type of " + u.Name
		}
	}
	name := func(section, key string, form *regexp.Regexp) {
		path := yamlx.Field(section, key)
		switch {
		case IsBasic(key):
			c.errorf(path, "%s is a type of C itself", key)
		case !form.MatchString(key) || form == cName && !isWord(key):
			c.errorf(path, "%q is no name of C", key)
		case of[key] != "":
			c.errorf(path, "duplicate name %s: it is %s already", key, of[key])
		}
		of[key] = "one of the " + section
	}
	for _, a := range c.lib.Aliases {
		name("aliases", a.Key, cName)
	}
	for _, e := range c.lib.Enums {
		name("enums", e.Key, cName)
	}
	for _, h := range c.lib.Handles {
		name("handles", h.Key, cName)
	}
	for _, r := range c.lib.Records {
		name("records", r.Key, recordName)
	}
	for _, b := range c.lib.Callbacks {
		name("callbacks", b.Key, recordName)
	}
	symbols := map[string]string{}
	for _, f := range c.lib.Functions {
		name("functions", f.Key, cName)
		if other := symbols[f.Value.Symbol(f.Key)]; other != "" {
			c.errorf(yamlx.Field("functions", f.Key), "duplicate symbol %s: %s has it already", f.Value.Symbol(f.Key), other)
		}
		symbols[f.Value.Symbol(f.Key)] = f.Key
	}
	values := map[string]string{}
	for _, e := range c.lib.Enums {
		path := yamlx.Field("enums", e.Key)
		for _, v := range e.Value.Values {
			at := yamlx.Field(path+".values", v.Key)
			switch low, high := valueRange(&e.Value); {
			case !isWord(v.Key):
				c.errorf(at, "%q is no name of C", v.Key)
			case values[v.Key] != "":
				c.errorf(at, "duplicate name %s: the enumeration %s has it already", v.Key, values[v.Key])
			case of[v.Key] != "":
				c.errorf(at, "duplicate name %s: it is %s already", v.Key, of[v.Key])
			case v.Value < low || v.Value > high:
				c.errorf(at, "%d is not from %d to %d", v.Value, low, high)
			}
			values[v.Key] = e.Key
		}
		for _, t := range e.Value.Texts {
			if _, ok := e.Value.Values.Get(t.Key); !ok {
				c.unknown(yamlx.Field(path+".texts", t.Key), "value", t.Key, e.Value.Values.Keys())
			}
		}
		for _, t := range e.Value.Sizes {
			if _, ok := e.Value.Values.Get(t.Key); !ok {
				c.unknown(yamlx.Field(path+".sizes", t.Key), "value", t.Key, e.Value.Values.Keys())
			}
		}
	}
}

// Symbol is the name that the linker sees on ELF, where name is the function's.
func (f *Function) Symbol(name string) string {
	if f.Link != "" {
		return f.Link
	}
	return name
}

func valueRange(e *Enum) (low, high int64) {
	switch {
	case e.Wide:
		return math.MinInt64, math.MaxInt64
	case e.Unsigned:
		return 0, 1<<32 - 1
	}
	return -1 << 31, 1<<31 - 1
}

// named checks that a type's base is known and, where a value of it is needed,
// complete.
func (c *checker) named(path string, t Type, value bool) {
	if !c.known(t.Base) {
		c.unknown(path, "type", t.Base, c.scope.names)
		return
	}
	r := c.resolve(t)
	if value && len(r.Pointers) == 0 && (c.opaque[r.Base] && c.records[r.Base] == nil || r.Base == "void") {
		c.errorf(path, "%s is incomplete: only pointers to it can be used", t.Base)
	}
}

func (c *checker) types() {
	for _, a := range c.lib.Aliases {
		path := yamlx.Field("aliases", a.Key)
		c.named(path, a.Value, false)
		if _, endless := c.aliases[c.resolve(a.Value).Base]; endless {
			c.errorf(path, "%s is an alias of itself", a.Key)
		}
	}
	for i := range c.lib.Records {
		c.record(c.lib.Records[i].Key, &c.lib.Records[i].Value)
	}
	for i := range c.lib.Callbacks {
		b := &c.lib.Callbacks[i]
		path := yamlx.Field("callbacks", b.Key)
		if b.Value.Returns.String() != "void" {
			c.named(path+".returns", b.Value.Returns, true)
		}
		c.params(path, b.Value.Params)
	}
}

func (c *checker) record(name string, r *Record) {
	path := yamlx.Field("records", name)
	if r.Align&(r.Align-1) != 0 || r.Size%r.Align != 0 {
		c.errorf(path, "size %d and alignment %d do not go together", r.Size, r.Align)
		return
	}
	if r.Packed && r.Align != 1 {
		c.errorf(path, "%s is packed and cannot be aligned to %d", name, r.Align)
	}
	if c.inside(name, name, map[string]bool{}) {
		c.errorf(path, "%s holds itself", name)
		return
	}
	seen := map[string]bool{}
	var end int64 // in bits
	peers := map[string]Type{}
	for _, f := range c.around(name) {
		peers[f.Name] = f.Type
	}
	for _, f := range r.Fields {
		peers[f.Name] = f.Type
	}
	for i := range r.Fields {
		f := &r.Fields[i]
		at := yamlx.Index(path+".fields", i)
		if f.Name != "" && (!isWord(f.Name) || seen[f.Name]) {
			c.errorf(at, "duplicate or impossible name %q", f.Name)
		}
		seen[f.Name] = true
		before := len(c.errs)
		c.named(at+".type", f.Type, true)
		if len(c.errs) > before {
			continue
		}
		size, _, ok := c.extent(f.Type)
		begin, bits := f.Offset*8, size*8
		if f.Bits > 0 {
			begin, bits = begin+int64(f.Bit), int64(f.Bits)
			ok = ok && bits <= size*8 && c.number(f.Type)
		}
		switch {
		case !ok:
			c.errorf(at, "%s has no size", f.Type)
		case begin+bits > r.Size*8:
			c.errorf(at, "%s ends behind the record, which has %d bytes", fieldName(f), r.Size)
		case !r.Union && begin < end:
			c.errorf(at, "%s begins within the field before it", fieldName(f))
		case r.Union && begin > 0:
			c.errorf(at, "%s does not begin where the union does", fieldName(f))
		}
		end = begin + bits
		c.meaning(at, f.Type, &f.Meaning, peers, len(f.When) > 0)
		if f.Calls != nil {
			c.called(at, f.Calls, peers, r.as)
		}
	}
	c.whens(path, r, peers)
}

var unnamedMember = regexp.MustCompile(`\._[0-9]+$`)

// around are the fields of the record to which those of an unnamed member
// belong, in C too.
func (c *checker) around(name string) []Field {
	place := unnamedMember.FindStringIndex(name)
	if place == nil || c.records[name[:place[0]]] == nil {
		return nil
	}
	return c.records[name[:place[0]]].Fields
}

// as is what a field is for.
func (r *Record) as(name string) As {
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return r.Fields[i].As
		}
	}
	return ""
}

func fieldName(f *Field) string {
	if f.Name == "" {
		return "the field without a name"
	}
	return f.Name
}

// inside reports whether a record holds another by value.
func (c *checker) inside(outer, wanted string, seen map[string]bool) bool {
	r := c.records[outer]
	if r == nil || seen[outer] {
		return false
	}
	seen[outer] = true
	for i := range r.Fields {
		if t := c.resolve(r.Fields[i].Type); len(t.Pointers) == 0 && (t.Base == wanted || c.inside(t.Base, wanted, seen)) {
			return true
		}
	}
	return false
}

func (c *checker) status() {
	s := &c.lib.Status
	e := c.enums[s.Type]
	if e == nil {
		c.unknown("status.type", "enumeration", s.Type, keysOf(c.enums))
		return
	}
	for path, name := range map[string]string{"status.success": s.Success, "status.unavailable": s.Unavailable, "status.invalid": s.Invalid} {
		if name == "" {
			continue
		}
		if _, ok := e.Values.Get(name); !ok {
			c.unknown(path, "value of "+s.Type, name, e.Values.Keys())
		}
	}
}

func keysOf[T any](m map[string]T) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (c *checker) function(item *yamlx.Item[Function]) {
	f := &item.Value
	path := yamlx.Field("functions", item.Key)
	switch {
	case len(c.lib.Nodes) > 0 && f.Node == "":
		c.errorf(path, "a version node is missing: the library has %d", len(c.lib.Nodes))
	case f.Node != "" && !slices.Contains(c.lib.Nodes, f.Node):
		c.unknown(path+".node", "version node", f.Node, c.lib.Nodes)
	}
	void := f.Returns.String() == "void"
	if !void {
		c.named(path+".returns", f.Returns, true)
	}
	if f.Sync == "" {
		c.errorf(path, "sync is missing (%q when nobody has decided)", Unsorted)
	}
	c.params(path, f.Params)
	c.conduct(path, f)
	c.result(path+".fails", f, f.Fails)
	if f.Variadic && len(f.Params) == 0 {
		c.errorf(path, "variadic: C wants a parameter before those of which nothing is known")
	}
	status := f.Returns.String() == c.lib.Status.Type || c.enums[c.lib.Status.Type] == nil // said already
	if f.Fails == "" && !void && !status && f.Answer == nil {
		c.errorf(path, "fails is missing: %s is not the library's status, so nothing says what a call that cannot be done returns", f.Returns)
	}
	if f.Answer != nil {
		c.answer(path+".answer", f)
	}
}

// result checks a value that a function returns.
func (c *checker) result(path string, f *Function, value yamlx.Scalar) {
	if value == "" {
		return
	}
	v := string(value)
	if f.Returns.String() == "void" {
		c.errorf(path, "the function returns nothing")
		return
	}
	if enum, ok := c.constants[v]; ok {
		if !c.number(f.Returns) {
			c.errorf(path, "%s is a value of %s, but the function returns %s", v, enum, f.Returns)
		}
		return
	}
	if v != "zero" && !number.MatchString(v) {
		c.unknown(path, "value", v, append([]string{"zero"}, c.values(f.Returns.Base)...))
	}
}

func (c *checker) values(enum string) []string {
	if e := c.enums[enum]; e != nil {
		return e.Values.Keys()
	}
	return nil
}

func (c *checker) answer(path string, f *Function) {
	a := f.Answer
	ways := 0
	for _, used := range []bool{a.NameOf != "", a.TextOf != "", len(a.Set) > 0 || a.Returns != "", a.Own} {
		if used {
			ways++
		}
	}
	if ways != 1 {
		c.errorf(path, "exactly one of name_of, text_of, set (with returns) and own says how to answer, not %d", ways)
		return
	}
	for key, name := range map[string]string{"name_of": a.NameOf, "text_of": a.TextOf} {
		if name != "" {
			c.describes(path, key, name, f)
		}
	}
	c.result(path+".returns", f, a.Returns)
	for _, s := range a.Set {
		at := yamlx.Field(path+".set", s.Key)
		p := f.param(s.Key)
		if p == nil {
			c.unknown(at, "parameter", s.Key, f.names())
			continue
		}
		t := c.resolve(p.Type)
		if p.Dir == In || !t.IsPointer() || t.Pointee().IsConst() {
			c.errorf(at, "nothing can be written through %s", s.Key)
			continue
		}
		if !number.MatchString(string(s.Value)) && s.Value != "zero" && c.constants[string(s.Value)] == "" {
			c.errorf(at, "%q is no number, no value of an enumeration and not zero", s.Value)
		}
	}
}

func (c *checker) describes(path, key, name string, f *Function) {
	p := f.param(name)
	if p == nil {
		c.unknown(path+"."+key, "parameter", name, f.names())
		return
	}
	e := c.enums[c.resolve(p.Type).Base]
	switch {
	case e == nil:
		c.errorf(path+"."+key, "%s is no enumeration", name)
	case key == "text_of" && len(e.Texts) == 0:
		c.errorf(path+"."+key, "the enumeration %s has no texts", p.Type.Base)
	case f.Answer.Otherwise == "":
		c.errorf(path, "otherwise is missing: what is said of a value that %s has not", p.Type.Base)
	default:
		if _, ok := e.Values.Get(f.Answer.Otherwise); !ok {
			c.unknown(path+".otherwise", "value of "+p.Type.Base, f.Answer.Otherwise, e.Values.Keys())
		}
	}
	if f.Returns.String() != "const char *" && f.TextOut() == nil {
		c.errorf(path, "the function returns %s and has no parameter of type const char ** to write a text to", f.Returns)
	}
}

// TextOut is the parameter through which a function gives a text, or nil.
func (f *Function) TextOut() *Param {
	for i := range f.Params {
		if p := &f.Params[i]; p.Type.String() == "const char **" && p.Dir == Out {
			return p
		}
	}
	return nil
}

func (f *Function) param(name string) *Param {
	for i := range f.Params {
		if f.Params[i].Name == name {
			return &f.Params[i]
		}
	}
	return nil
}

func (f *Function) names() []string {
	names := make([]string, len(f.Params))
	for i := range f.Params {
		names[i] = f.Params[i].Name
	}
	return names
}

func (c *checker) handle(item *yamlx.Item[Handle]) {
	h, path := &item.Value, yamlx.Field("handles", item.Key)
	if c.records[h.Of] != nil {
		c.errorf(path+".of", "%s is described: a handle points to what nobody knows", h.Of)
	}
	if h.Owner != "" && (c.handles[h.Owner] == nil || h.Owner == item.Key) {
		c.unknown(path+".owner", "handle", h.Owner, keysOf(c.handles))
	}
	if h.Lasting && (h.Owner != "" || len(h.Destroy) > 0) {
		c.errorf(path+".lasting", "%s ends: its owner or a function ends it", item.Key)
	}
	for _, s := range h.States {
		if _, ok := c.stateType(s.Value); !ok {
			c.unknown(yamlx.Field(path+".states", s.Key), "enumeration, number or handle", s.Value, append(keysOf(c.enums), keysOf(c.handles)...))
		}
	}
	for _, v := range h.Fixed {
		if !cName.MatchString(v.Key) || c.constants[v.Key] != "" || c.known(v.Key) {
			c.errorf(yamlx.Field(path+".fixed", v.Key), "duplicate or impossible name %q", v.Key)
		}
	}
	if len(h.Create) == 0 && !h.Undecided && len(h.Destroy) > 0 {
		c.errorf(path, "it is ended and never made: name who makes one in create, or say undecided: true")
	}
	for key, functions := range map[string][]string{"create": h.Create, "destroy": h.Destroy, "get": h.Get, "retain": h.Retain} {
		c.all(path+"."+key, functions, key+" a "+item.Key, func(f *Function) bool {
			return key != "destroy" && c.deals(f, item.Key, h, true) || (key == "destroy" || key == "retain") && c.deals(f, item.Key, h, false)
		})
	}
	for i, name := range h.Get {
		if slices.Contains(h.Create, name) {
			c.errorf(yamlx.Index(path+".get", i), "%s makes one already, says create", name)
		}
	}
}

// deals reports whether a function makes, or takes, a handle.
func (c *checker) deals(f *Function, name string, h *Handle, makes bool) bool {
	depth := 0
	if makes {
		depth = 1
		if f.Returns.Base == name {
			return true
		}
	}
	for i := range f.Params {
		t := c.resolve(f.Params[i].Type)
		if t.Base == name && (len(t.Pointers) == depth || len(t.Pointers) == depth+1) ||
			h.Of != "void" && t.Base == h.Of && len(t.Pointers) == depth+1 {
			return true
		}
	}
	return false
}

func (c *checker) params(path string, params []Param) {
	peers := map[string]Type{}
	good := make([]bool, len(params))
	for i := range params {
		p := &params[i]
		at := yamlx.Index(path+".params", i)
		before := len(c.errs)
		c.named(at+".type", p.Type, true)
		if len(p.Type.Lengths) > 0 {
			c.errorf(at+".type", "a parameter is no array: write a pointer")
		}
		if good[i] = len(c.errs) == before; !good[i] {
			p = &Param{Name: p.Name, Type: wrongType}
		}
		if !isWord(p.Name) {
			c.errorf(at+".name", "%q is no name of C", p.Name)
		}
		if _, twice := peers[p.Name]; twice {
			c.errorf(at+".name", "duplicate name %s: another parameter has it", p.Name)
			continue
		}
		peers[p.Name] = p.Type
	}
	for i := range params {
		if good[i] {
			at := yamlx.Index(path+".params", i)
			c.meaning(at, params[i].Type, &params[i].Meaning, peers, false)
			if params[i].Calls != nil {
				c.called(at, params[i].Calls, peers, func(name string) As {
					return params[slices.IndexFunc(params, func(p Param) bool { return p.Name == name })].As
				})
			}
		}
	}
}

// wrongType is what a parameter has whose type is wrong: nothing more is said of
// it.
var wrongType = Type{Base: "?"}
