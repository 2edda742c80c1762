package launchfile

import (
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/internal/suggest"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
)

// Plan is a launch file laid beside a code object: what is to be done.
type Plan struct {
	Launches []*Bound
}

// Bound is a launch of a kernel that is there.
type Bound struct {
	Kernel    *codeobj.LoadedKernel
	Signature codeobj.Signature
	Grid      emulator.Dim3
	Block     emulator.Dim3
	LDS       uint32

	args []*bound
}

// bound is an argument with its type settled.
type bound struct {
	arg  *Arg
	name string
	typ  Type
	// value is the bytes of an argument that is no buffer.
	value []byte
	// bytes is the size of a buffer; data and want are read from files or lists,
	// nil where the elements are computed.
	bytes uint64
	data  []byte
	want  []byte
	seeds [2][]byte // from and step of a range, from and to of chance; or the constant
	fill  []byte    // the constant that is expected
}

// Has reports whether a code object has all kernels that are launched.
func (f *File) Has(obj *codeobj.Object) bool {
	for i := range f.Launches {
		if k := f.Launches[i].Kernel; k != nil && k.IsScalar() {
			if _, err := obj.FindKernel(k.Text()); err != nil {
				return false
			}
		}
	}
	return true
}

// Bind lays the file beside a code object. All mistakes are found before anything
// runs; the error is a yamlx.Errors.
func (f *File) Bind(obj *codeobj.Object) (*Plan, error) {
	p := &Plan{}
	var errs []error
	total := uint64(0)
	for i := range f.Launches {
		l := &f.Launches[i]
		b, err := f.bind(l, obj)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, a := range b.args {
			total += a.bytes
		}
		if total > MaxBuffers {
			errs = append(errs, l.errorf("the buffers have %d bytes together: at most %d", total, uint64(MaxBuffers)))
			break
		}
		p.Launches = append(p.Launches, b)
	}
	return p, yamlx.Join(errs...)
}

func (l *Launch) errorf(format string, args ...any) error {
	return &yamlx.Error{File: l.Pos.File, Line: l.Pos.Line, Col: l.Pos.Col, Msg: fmt.Sprintf(format, args...)}
}

func (f *File) bind(l *Launch, obj *codeobj.Object) (*Bound, error) {
	name := ""
	if l.Kernel != nil {
		if name = l.Kernel.Text(); name == "" || !l.Kernel.IsScalar() {
			return nil, l.Kernel.Want("the name of a kernel")
		}
	}
	k, err := obj.FindKernel(name)
	if err != nil {
		if l.Kernel != nil {
			return nil, l.Kernel.Errorf("%v", err)
		}
		return nil, l.errorf("%v", err)
	}
	if err := l.checkSize(k); err != nil {
		return nil, err
	}
	b := &Bound{Kernel: k, Signature: codeobj.SignatureOf(k.Name), Grid: l.Grid.Dim3, Block: l.Block.Dim3, LDS: l.LDS}
	explicit := k.Explicit()
	list, err := l.order(explicit)
	if err != nil {
		return nil, err
	}
	if len(list) != len(explicit) {
		at := l.Pos
		if l.Args.pos.Line > 0 {
			at = l.Args.pos
		}
		return nil, &yamlx.Error{File: at.File, Line: at.Line, Col: at.Col, Msg: fmt.Sprintf("%s has %d arguments, and %d are given", b.Signature.Full, len(explicit), len(list))}
	}
	var errs []error
	for i, a := range list {
		cpp := ""
		if i < len(b.Signature.Params) && len(b.Signature.Params) == len(explicit) {
			cpp = b.Signature.Params[i]
		}
		one, err := f.bindArg(a, explicit[i], cpp)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		b.args = append(b.args, one)
	}
	return b, yamlx.Join(errs...)
}

// checkSize sees to it that a launch can be described: HSA counts the work-items of
// each dimension in 32 bits (hsa_kernel_dispatch_packet_t), and the kernel was compiled
// for work-groups of a size.
func (l *Launch) checkSize(k *codeobj.LoadedKernel) error {
	grid, block := dims(l.Grid.Dim3), dims(l.Block.Dim3)
	items, groups := uint64(1), uint64(1)
	for n := range grid {
		if uint64(grid[n])*uint64(block[n]) > math.MaxUint32 {
			return l.Grid.node.Errorf("%d work-groups of %d are more work-items than a dimension may have: %d", grid[n], block[n], uint32(math.MaxUint32))
		}
		if groups > math.MaxInt64/uint64(grid[n]) {
			return l.Grid.node.Errorf("more work-groups than can be counted")
		}
		groups *= uint64(grid[n])
		items = min(items*uint64(block[n]), 1<<32) // enough to be too many
	}
	if most := min(k.MaxFlatWorkgroupSize, 1024); most > 0 && items > most {
		return l.Block.node.Errorf("%d work-items in a work-group: the kernel allows %d", items, most)
	}
	return nil
}

// order puts arguments that are given by name into the order of the kernel's.
func (l *Launch) order(explicit []codeobj.Arg) ([]*Arg, error) {
	if !l.Args.Named {
		return l.Args.List, nil
	}
	var names []string
	for _, a := range explicit {
		if a.Name == "" {
			return nil, l.errorf("the code object has no names of arguments: compile with -fhip-kernel-arg-name, or list them in order")
		}
		names = append(names, a.Name)
	}
	list := make([]*Arg, len(explicit))
	var errs []error
	for _, a := range l.Args.List {
		i := slices.Index(names, a.Name)
		if i < 0 {
			pos := a.node.KeyPos()
			e := &yamlx.Error{File: pos.File, Line: pos.Line, Col: pos.Col, Msg: fmt.Sprintf("the kernel has no argument %q", a.Name)}
			if e.Suggestion, _ = suggest.Nearest(a.Name, names); e.Suggestion == "" {
				e.Hint = "it has " + suggest.List(names, 16)
			}
			errs = append(errs, e)
			continue
		}
		list[i] = a
	}
	for i, a := range list {
		if a == nil && len(errs) == 0 {
			errs = append(errs, l.errorf("the argument %s is missing", names[i]))
		}
	}
	return list, yamlx.Join(errs...)
}

// bindArg settles the type of an argument and reads what it is made of. cpp is its
// type as C++ names it, or empty.
func (f *File) bindArg(a *Arg, meta codeobj.Arg, cpp string) (*bound, error) {
	b := &bound{arg: a, name: a.Name}
	if b.name == "" {
		b.name = meta.Name
	}
	pointer := meta.ValueKind == "global_buffer"
	if !pointer && meta.ValueKind != "by_value" {
		return nil, a.node.Errorf("the kernel's argument is of kind %s, which cannot be given", meta.ValueKind)
	}
	if a.Buffer() {
		if !pointer && meta.Size != 8 {
			return nil, a.node.Errorf("a buffer for an argument of %d bytes: expected a value%s", meta.Size, isA(cpp))
		}
		to, _ := pointee(cpp)
		if b.typ = a.Type; b.typ == "" {
			b.typ = typeOf(to)
		}
		if b.typ == "" {
			return nil, a.node.Errorf("the type of its elements is not known%s: say type: f32, or another", isA(cpp))
		}
		return b, f.bindBuffer(b)
	}
	return b, b.bindValue(meta, cpp, pointer)
}

func isA(cpp string) string {
	if cpp == "" {
		return ""
	}
	return " (" + cpp + ")"
}

func (b *bound) bindValue(meta codeobj.Arg, cpp string, pointer bool) error {
	a := b.arg
	if a.Bytes != nil {
		b.value, _ = hex.DecodeString(a.Bytes.Text()) // was checked
		if uint64(len(b.value)) != meta.Size {
			return a.Bytes.Errorf("%d bytes for an argument of %d%s", len(b.value), meta.Size, isA(cpp))
		}
		b.typ = U8
		return nil
	}
	b.typ = a.Type
	if b.typ == "" {
		b.typ = typeOf(cpp)
	}
	if pointer && b.typ == "" {
		b.typ = U64
	}
	items := []*yamlx.Node{a.Value}
	if a.Value.Kind() == yamlx.List {
		items = a.Value.Items()
	}
	if b.typ == "" {
		if len(items) > 1 || cpp != "" {
			return a.Value.Errorf("its type is not known%s: say type: f32, or another, or give the bytes", isA(cpp))
		}
		// The kernel's name says nothing: a fraction is for a floating-point argument.
		kind := "i"
		if strings.ContainsAny(strings.ToLower(a.Value.Text()), ".n") || !strings.HasPrefix(a.Value.Text(), "0x") && strings.ContainsAny(a.Value.Text(), "eE") {
			kind = "f"
		}
		if b.typ = Type(fmt.Sprintf("%s%d", kind, meta.Size*8)); b.typ.Size() == 0 {
			return a.Value.Errorf("an argument of %d bytes: say its type, or give the bytes", meta.Size)
		}
	}
	if uint64(len(items)*b.typ.Size()) != meta.Size {
		return a.Value.Errorf("%d × %s has %d bytes, and the argument has %d%s", len(items), b.typ, len(items)*b.typ.Size(), meta.Size, isA(cpp))
	}
	if pointer && a.Type == "" && len(items) == 1 {
		if v, _, err := parseWhole(items[0].Text()); err == nil && v != 0 {
			return items[0].Errorf("found %s for a pointer%s: expected a buffer, {count: …}, or 0, the null pointer", items[0].Text(), isA(cpp))
		}
	}
	for _, n := range items {
		one, err := b.typ.parse(n.Text())
		if err != nil {
			return n.Errorf("%v", err)
		}
		b.value = append(b.value, one...)
	}
	return nil
}

func (f *File) bindBuffer(b *bound) (err error) {
	a, size := b.arg, uint64(b.typ.Size())
	one := func(n *yamlx.Node, otherwise string) []byte {
		text := otherwise
		if n != nil {
			text = n.Text()
		}
		v, parsed := b.typ.parse(text)
		if parsed != nil && err == nil {
			err = n.Errorf("%v", parsed)
		}
		return v
	}
	if a.Count > MaxBuffers/size {
		return a.node.Errorf("%d elements of %d bytes: at most %d bytes", a.Count, size, uint64(MaxBuffers))
	}
	b.bytes = a.Count * size
	switch {
	case a.Values != nil:
		b.data, err = b.list(a.Values)
	case a.File != nil:
		if b.data, err = f.read(a.File, b.bytes, size); err == nil {
			b.bytes = uint64(len(b.data))
		}
	case a.Constant != nil:
		b.seeds[0] = one(a.Constant, "")
	case a.Range != nil:
		b.seeds = [2][]byte{one(a.Range.From, "0"), one(a.Range.Step, "1")}
	case a.Random != nil:
		b.seeds = [2][]byte{one(a.Random.From, ""), one(a.Random.To, "")}
		if err == nil && compares(lessOrSame, b.typ.decode(b.seeds[1]), b.typ.decode(b.seeds[0])) {
			err = a.Random.To.Errorf("%s is not above from: %s", a.Random.To.Text(), a.Random.From.Text())
		}
	}
	if err != nil || a.Expect == nil {
		return err
	}
	x := a.Expect
	switch {
	case x.Values != nil:
		b.want, err = b.list(x.Values)
		if err == nil && uint64(len(b.want)) != b.bytes {
			return x.Values.Errorf("%d elements, and the buffer has %d", len(b.want)/int(size), b.bytes/size)
		}
	case x.File != nil:
		b.want, err = f.read(x.File, b.bytes, size)
	case x.Constant != nil:
		b.fill = one(x.Constant, "")
	}
	return err
}

func (b *bound) list(n *yamlx.Node) ([]byte, error) {
	var data []byte
	for _, item := range n.Items() {
		one, err := b.typ.parse(item.Text())
		if err != nil {
			return nil, item.Errorf("%v", err)
		}
		data = append(data, one...)
	}
	return data, nil
}

// read reads that many bytes of a file, or all that there are.
func (f *File) read(x *Extern, n, size uint64) ([]byte, error) {
	path := filepath.FromSlash(x.Path)
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.dir, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, x.node.Errorf("%v", err)
	}
	defer file.Close()
	st, err := file.Stat()
	if err != nil {
		return nil, x.node.Errorf("%v", err)
	}
	if !st.Mode().IsRegular() {
		return nil, x.node.Errorf("%s is not a file", x.Path)
	}
	have := uint64(st.Size())
	if x.Offset > have {
		return nil, x.node.Errorf("%s has %d bytes: none at %d", x.Path, have, x.Offset)
	}
	have -= x.Offset
	switch {
	case n > have:
		return nil, x.node.Errorf("%s has %d bytes from %d on, and the buffer has %d", x.Path, have, x.Offset, n)
	case n == 0 && have%size != 0:
		return nil, x.node.Errorf("%s has %d bytes from %d on: not a multiple of %d", x.Path, have, x.Offset, size)
	case n == 0:
		n = have
	}
	if n == 0 || n > MaxBuffers {
		return nil, x.node.Errorf("%d bytes of %s: expected at least one element, and at most %d bytes", n, x.Path, uint64(MaxBuffers))
	}
	data := make([]byte, n)
	if _, err := file.ReadAt(data, int64(x.Offset)); err != nil {
		return nil, x.node.Errorf("%s: %v", x.Path, err)
	}
	return data, nil
}
