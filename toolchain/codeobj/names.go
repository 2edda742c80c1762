package codeobj

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ianlancetaylor/demangle"

	"github.com/stonemason-hip/stonemason/internal/suggest"
)

// maxDemangled bounds a demangled name, in bytes as a power of two: substitutions
// make short names grow without end.
const maxDemangled = 13

// Signature is what the mangled name of a kernel says (Itanium C++ ABI, "External
// Names").
type Signature struct {
	Full   string   // void transform<int>(int const*, int*), or the name itself when it is not mangled
	Name   string   // transform<int>
	Params []string // the types of the parameters, references to template arguments resolved
	// Mangled is false for a name that says no types: that of an extern "C" kernel.
	Mangled bool
}

// SignatureOf demangles a name.
func SignatureOf(name string) Signature {
	options := []demangle.Option{demangle.LLVMStyle, demangle.NoClones, demangle.MaxLength(maxDemangled)}
	plain := Signature{Full: name, Name: name}
	if len(name) > 1<<maxDemangled {
		return plain
	}
	tree, err := demangle.ToAST(name, options...)
	if err != nil {
		return plain
	}
	typed, ok := tree.(*demangle.Typed)
	if !ok {
		return plain
	}
	function, ok := typed.Type.(*demangle.FunctionType)
	if !ok {
		return plain
	}
	text := func(a demangle.AST) string { return demangle.ASTToString(a, options...) }
	s := Signature{Full: text(tree), Name: text(typed.Name), Mangled: true}
	for _, arg := range function.Args {
		s.Params = append(s.Params, text(arg))
	}
	if len(s.Params) == 1 && s.Params[0] == "void" {
		s.Params = nil
	}
	return s
}

// FindKernel returns the kernel that a person means: by its mangled name, by the
// whole of its signature, or by its name without result and parameters. Spaces do
// not count. An empty name means the only one. The error lists what there is.
func (o *Object) FindKernel(name string) (*LoadedKernel, error) {
	if len(o.Kernels) == 0 {
		return nil, fmt.Errorf("the code object has no kernel")
	}
	if name == "" {
		if len(o.Kernels) == 1 {
			return &o.Kernels[0], nil
		}
		return nil, fmt.Errorf("which kernel? There are %s", suggest.List(o.kernelNames(), 16))
	}
	if k, ok := o.Kernel(name); ok {
		return k, nil
	}
	dense := func(s string) string { return strings.Join(strings.Fields(s), "") }
	want := dense(name)
	var found []*LoadedKernel
	var full []string
	for i := range o.Kernels {
		s := SignatureOf(o.Kernels[i].Name)
		base, _, _ := strings.Cut(s.Name, "<")
		switch want {
		case dense(s.Full), dense(strings.TrimPrefix(s.Full, "void ")):
			return &o.Kernels[i], nil
		case dense(s.Name), dense(base):
			found, full = append(found, &o.Kernels[i]), append(full, s.Full)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		names := o.kernelNames()
		if near, ok := suggest.Nearest(name, names); ok {
			return nil, fmt.Errorf("no kernel %q in the code object: did you mean %q?", name, near)
		}
		return nil, fmt.Errorf("no kernel %q in the code object: it has %s", name, suggest.List(names, 16))
	}
	return nil, fmt.Errorf("%d kernels are called %s: %s", len(found), name, suggest.List(full, 16))
}

func (o *Object) kernelNames() []string {
	var names []string
	for i := range o.Kernels {
		names = append(names, SignatureOf(o.Kernels[i].Name).Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
