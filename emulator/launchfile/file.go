package launchfile

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// Bounds on a launch file: bytes of all its buffers together, and of a file that
// fills one.
const (
	MaxBuffers = 4 << 30
	maxArgs    = 256
)

// File is a launch file. Read makes one.
type File struct {
	Schema   int      `yaml:"schema" sm:"required,min=1,max=1" doc:"1"`
	Device   string   `yaml:"device" doc:"target id of the GPU, unless -gpu says another"`
	Launches []Launch `yaml:"launches" sm:"required,min=1,max=256" doc:"performed in this order"`

	dir string // relative paths begin here
}

// Launch is one launch of a kernel.
type Launch struct {
	Pos    yamlx.Pos   `yaml:",pos"`
	Kernel *yamlx.Node `yaml:"kernel" doc:"name, mangled or as in the source; needed when there are several"`
	Grid   Dims        `yaml:"grid" sm:"required" doc:"work-groups: x, or [x, y, z]"`
	Block  Dims        `yaml:"block" sm:"required" doc:"work-items of a work-group: x, or [x, y, z]"`
	LDS    uint32      `yaml:"lds" doc:"bytes of dynamic local memory"`
	Args   Args        `yaml:"args" doc:"a list in the order of the source, or a mapping by name"`
}

// Dims is a size in up to three dimensions; those that are not said are 1.
type Dims struct {
	emulator.Dim3
	node *yamlx.Node
}

// UnmarshalYAMLX reads x, or [x], [x, y] or [x, y, z].
func (d *Dims) UnmarshalYAMLX(n *yamlx.Node) error {
	d.Dim3, d.node = emulator.Dim3{X: 1, Y: 1, Z: 1}, n
	items := n.Items()
	switch {
	case n.Kind() == yamlx.Number:
		items = []*yamlx.Node{n}
	case n.Kind() != yamlx.List || len(items) == 0 || len(items) > 3:
		return n.Want("x, or [x, y, z]")
	}
	for i, to := range []*uint32{&d.X, &d.Y, &d.Z}[:len(items)] {
		if err := items[i].Decode(to); err != nil {
			return err
		}
		if *to == 0 {
			return items[i].Errorf("found 0, expected at least 1")
		}
	}
	return nil
}

// Args are the arguments of a launch.
type Args struct {
	List  []*Arg
	Named bool // given by name, so that their order means nothing
	pos   yamlx.Pos
}

// Arg is an argument: a value, or a buffer to whose beginning it points.
type Arg struct {
	Pos  yamlx.Pos `yaml:",pos"`
	Name string    `yaml:"name" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" doc:"by which expressions know it"`
	Type Type      `yaml:"type" doc:"of the value or the elements, where the kernel's name does not say it"`

	Value *yamlx.Node `yaml:"value" doc:"a number, or a list of numbers for an aggregate of one type"`
	Bytes *yamlx.Node `yaml:"bytes" doc:"the value's bytes in hexadecimal, first to last"`

	Count    uint64      `yaml:"count" doc:"elements of a buffer"`
	Values   *yamlx.Node `yaml:"values" doc:"its elements, one by one"`
	Constant *yamlx.Node `yaml:"constant" doc:"all its elements"`
	Range    *Range      `yaml:"range" doc:"its elements in even steps"`
	Random   *Random     `yaml:"random" doc:"its elements by chance"`
	Expr     *yamlx.Node `yaml:"expr" doc:"an expression for each element"`
	File     *Extern     `yaml:"file" doc:"a file with its elements"`

	Expect *Expect `yaml:"expect" doc:"what the buffer holds after the launch"`

	node *yamlx.Node
	expr *expression
}

// Range is from, from+step, from+2*step, …
type Range struct {
	From *yamlx.Node `yaml:"from"`
	Step *yamlx.Node `yaml:"step"`
}

// Random is numbers that are evenly spread over from to to: by PCG, the same for
// the same seed. Whole ones may be to, others are below it.
type Random struct {
	From *yamlx.Node `yaml:"from" sm:"required"`
	To   *yamlx.Node `yaml:"to" sm:"required"`
	Seed uint64      `yaml:"seed"`
}

// Extern is part of a file. Its elements are little-endian.
type Extern struct {
	Path   string `yaml:"path" sm:"required,min=1" doc:"relative to the launch file"`
	Offset uint64 `yaml:"offset" doc:"in bytes"`

	node *yamlx.Node
}

// Expect is what a buffer must hold. A difference of at most ulp units in the last
// place, or of at most abs, is none.
type Expect struct {
	Values   *yamlx.Node `yaml:"values"`
	Constant *yamlx.Node `yaml:"constant"`
	File     *Extern     `yaml:"file"`
	Expr     *yamlx.Node `yaml:"expr"`
	ULP      float64     `yaml:"ulp" sm:"min=0" doc:"0 when absent"`
	Abs      float64     `yaml:"abs" sm:"min=0" doc:"0 when absent"`

	node *yamlx.Node
	expr *expression
}

type (
	plainArg    Arg
	plainExtern Extern
	plainExpect Expect
)

// UnmarshalYAMLX reads a list or a mapping of arguments.
func (a *Args) UnmarshalYAMLX(n *yamlx.Node) error {
	a.pos = n.Pos()
	nodes := n.Items()
	switch n.Kind() {
	case yamlx.Map:
		nodes, a.Named = n.Entries(), true
	case yamlx.List:
	default:
		return n.Want("a list of arguments, or a mapping by name")
	}
	if len(nodes) > maxArgs {
		return n.Errorf("%d arguments: at most %d", len(nodes), maxArgs)
	}
	var errs []error
	seen := map[string]*yamlx.Node{}
	for _, item := range nodes {
		arg := &Arg{Pos: item.Pos(), node: item}
		if err := arg.read(item); err != nil {
			errs = append(errs, err)
			continue
		}
		if a.Named {
			if arg.Name != "" {
				errs = append(errs, item.Get("name").Errorf("the argument has its name already: %s", item.Key()))
			}
			arg.Name = item.Key()
		}
		if arg.Name != "" && seen[arg.Name] != nil {
			errs = append(errs, item.Errorf("the name %s stands on line %d already", arg.Name, seen[arg.Name].Pos().Line))
		}
		seen[arg.Name] = item
		a.List = append(a.List, arg)
	}
	for _, arg := range a.List {
		errs = append(errs, arg.checkNames(a.List))
	}
	return yamlx.Join(errs...)
}

func (a *Arg) read(n *yamlx.Node) error {
	if n.IsScalar() {
		a.Value = n
		return checkNumber(n)
	}
	if n.Kind() != yamlx.Map {
		return n.Want("a number, or a mapping that says more")
	}
	if err := n.Decode((*plainArg)(a)); err != nil {
		return err
	}
	a.node = n
	return a.check(n)
}

// checkNumber sees to it that a scalar is some number; its type is known later.
func checkNumber(n *yamlx.Node) error {
	if n.IsScalar() && n.Kind() != yamlx.Bool {
		if _, err := parseFloat(n.Text()); err == nil || errors.Is(err, strconv.ErrRange) {
			return nil
		}
	}
	return n.Want("a number")
}

// sources are the keys that say what a buffer holds at the beginning.
func (a *Arg) sources() []string {
	var keys []string
	for _, s := range []struct {
		key   string
		there bool
	}{{"values", a.Values != nil}, {"constant", a.Constant != nil}, {"range", a.Range != nil},
		{"random", a.Random != nil}, {"expr", a.Expr != nil}, {"file", a.File != nil}} {
		if s.there {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// Buffer reports an argument that points to a buffer.
func (a *Arg) Buffer() bool { return a.Value == nil && a.Bytes == nil }

func (a *Arg) check(n *yamlx.Node) error {
	keys := a.sources()
	if a.Value != nil || a.Bytes != nil {
		for _, key := range append(keys, "count", "expect") {
			if at := n.Get(key); at != nil {
				return at.Errorf("a buffer has this, and this argument is a value")
			}
		}
		if a.Value != nil && a.Bytes != nil {
			return a.Bytes.Errorf("the argument has a value already")
		}
	}
	switch {
	case a.Value != nil && a.Value.IsScalar():
		return checkNumber(a.Value)
	case a.Value != nil:
		return checkNumbers(a.Value)
	case a.Bytes != nil:
		if _, err := hex.DecodeString(a.Bytes.Text()); err != nil || !a.Bytes.IsScalar() || a.Bytes.Text() == "" {
			return a.Bytes.Want("bytes in hexadecimal, two digits each")
		}
		return nil
	case len(keys) > 1:
		return n.Get(keys[1]).Errorf("the buffer is filled by %s already", keys[0])
	case a.Values != nil:
		if err := checkNumbers(a.Values); err != nil {
			return err
		}
		if n := uint64(len(a.Values.Items())); a.Count == 0 {
			a.Count = n
		} else if a.Count != n {
			return a.Values.Errorf("%d elements, and count says %d", n, a.Count)
		}
	case n.Get("count") == nil && a.File == nil:
		return n.Errorf("how large is the buffer? count is missing, or value")
	}
	if at := n.Get("count"); at != nil && a.Count == 0 {
		return at.Errorf("found 0, expected at least one element")
	}
	for _, x := range []*yamlx.Node{a.Constant, a.Range.from(), a.Range.step(), a.Random.from(), a.Random.to()} {
		if x != nil {
			if err := checkNumber(x); err != nil {
				return err
			}
		}
	}
	var err error
	a.expr, err = readExpression(a.Expr)
	return err
}

func (r *Range) from() *yamlx.Node {
	if r == nil {
		return nil
	}
	return r.From
}

func (r *Range) step() *yamlx.Node {
	if r == nil {
		return nil
	}
	return r.Step
}

func (r *Random) from() *yamlx.Node {
	if r == nil {
		return nil
	}
	return r.From
}

func (r *Random) to() *yamlx.Node {
	if r == nil {
		return nil
	}
	return r.To
}

func checkNumbers(n *yamlx.Node) error {
	if n.Kind() != yamlx.List || len(n.Items()) == 0 {
		return n.Want("a list of numbers")
	}
	for _, item := range n.Items() {
		if err := checkNumber(item); err != nil {
			return err
		}
	}
	return nil
}

func readExpression(n *yamlx.Node) (*expression, error) {
	if n == nil {
		return nil, nil
	}
	if !n.IsScalar() {
		return nil, n.Want("an expression")
	}
	x, err := compileExpression(n.Text())
	if err != nil {
		return nil, n.Errorf("%v", err)
	}
	return x, nil
}

// UnmarshalYAMLX reads part of a file, or its path alone.
func (x *Extern) UnmarshalYAMLX(n *yamlx.Node) error {
	x.node = n
	if n.Kind() == yamlx.String && n.Text() != "" {
		x.Path = n.Text()
		return nil
	}
	return n.Decode((*plainExtern)(x))
}

// UnmarshalYAMLX reads what is expected, or an expression alone.
func (x *Expect) UnmarshalYAMLX(n *yamlx.Node) error {
	if n.IsScalar() {
		x.Expr = n
	} else if err := n.Decode((*plainExpect)(x)); err != nil {
		return err
	}
	x.node = n
	given := 0
	for _, there := range []bool{x.Values != nil, x.Constant != nil, x.File != nil, x.Expr != nil} {
		if there {
			given++
		}
	}
	if given != 1 {
		return n.Errorf("expected one of values, constant, file and expr, found %d", given)
	}
	if math.IsInf(x.ULP, 0) || math.IsInf(x.Abs, 0) {
		return n.Errorf("a tolerance without end")
	}
	if x.Values != nil {
		if err := checkNumbers(x.Values); err != nil {
			return err
		}
	}
	if x.Constant != nil {
		if err := checkNumber(x.Constant); err != nil {
			return err
		}
	}
	var err error
	x.expr, err = readExpression(x.Expr)
	return err
}

// checkNames sees to it that the names in the expressions are those of arguments,
// and that a buffer is made of ones before it.
func (a *Arg) checkNames(list []*Arg) error {
	var all, before []string
	seen := false
	for _, other := range list {
		seen = seen || other == a
		if other.Name == "" {
			continue
		}
		all = append(all, other.Name)
		if !seen || !other.Buffer() {
			before = append(before, other.Name)
		}
	}
	check := func(n *yamlx.Node, x *expression, known []string) error {
		if x == nil {
			return nil
		}
		for _, name := range x.uses {
			switch {
			case slices.Contains(known, name):
			case slices.Contains(all, name):
				return n.Errorf("%s is filled later than this buffer: put it first", name)
			default:
				e := n.WantOneOf(append(slices.Clone(all), "i", "n"))
				e.Msg = fmt.Sprintf("%s: no argument has the name %q", n.Path(), name)
				e.Suggestion = ""
				e.Hint = "name one so: {name: " + name + ", …}"
				return e
			}
		}
		return nil
	}
	err := check(a.Expr, a.expr, before)
	if err == nil && a.Expect != nil {
		err = check(a.Expect.Expr, a.Expect.expr, all)
	}
	return err
}

// Read reads a launch file. The error is a yamlx.Errors, or that of the system.
func Read(path string) (*File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	const most = 1 << 20 // as yamlx has it
	if st.Size() > most {
		return nil, fmt.Errorf("%s: %d bytes: at most %d are read", path, st.Size(), most)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, data)
}

// Parse decodes the text of a launch file; path serves for messages, and for the
// paths within it.
func Parse(path string, data []byte) (*File, error) {
	f := &File{dir: filepath.Dir(path)}
	src, err := yamlx.DecodeSource(path, data, f)
	if err != nil {
		return nil, err
	}
	if f.Device == "" {
		return f, nil
	}
	table, err := gpu.Load()
	if err != nil {
		return nil, err
	}
	if _, err := table.Target(f.Device); err != nil {
		var unknown *gpu.UnknownError
		e := src.Errorf("device", "device: %v", err)
		if errors.As(err, &unknown) {
			e.Msg, e.Suggestion = fmt.Sprintf("device: unknown gpu %q", unknown.Name), unknown.Suggestion
		}
		return nil, yamlx.Join(e)
	}
	return f, nil
}
