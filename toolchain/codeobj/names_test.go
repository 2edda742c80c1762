package codeobj

import (
	"slices"
	"strings"
	"testing"
)

func TestSignatureOf(t *testing.T) {
	for _, c := range []struct {
		name, full, short string
		params            []string
	}{
		{"_Z5saxpyfPKfPfj", "saxpy(float, float const*, float*, unsigned int)", "saxpy", []string{"float", "float const*", "float*", "unsigned int"}},
		{"_Z9transformIf6AffineIfEEvPKT_PS2_jT0_", "void transform<float, Affine<float>>(float const*, float*, unsigned int, Affine<float>)",
			"transform<float, Affine<float>>", []string{"float const*", "float*", "unsigned int", "Affine<float>"}},
		{"_Z7stencilIiLi4EEvPKT_PS0_i", "void stencil<int, 4>(int const*, int*, int)", "stencil<int, 4>", []string{"int const*", "int*", "int"}},
		{"_Z5emptyv", "empty()", "empty", nil},
		{"_ZN1a1b1cEPx", "a::b::c(long long*)", "a::b::c", []string{"long long*"}},
	} {
		s := SignatureOf(c.name)
		if !s.Mangled || s.Full != c.full || s.Name != c.short || !slices.Equal(s.Params, c.params) {
			t.Errorf("%s: %+v", c.name, s)
		}
	}
	// Each substitution doubles what is there.
	bomb := "_Z1fI" + strings.Repeat("St4pairIS_S_E", 4) + "E"
	for _, name := range []string{"main", "", "_Z", "_Z3fooPK", bomb, "_Z1f" + strings.Repeat("P", 1<<15) + "i", strings.Repeat("_Z", 1<<14)} {
		if s := SignatureOf(name); s.Mangled && len(s.Full) > 1<<(maxDemangled+1) {
			t.Errorf("%.20s: %d bytes", name, len(s.Full))
		}
	}
	if s := SignatureOf("saxpy"); s.Mangled || s.Name != "saxpy" || s.Full != "saxpy" {
		t.Errorf("%+v", s)
	}
}

func TestFindKernel(t *testing.T) {
	o := &Object{}
	for _, name := range []string{"_Z9transformIiiEvPKT_PS0_j", "_Z9transformIffEvPKT_PS0_j", "_Z5saxpyfPKfPfj", "plain"} {
		o.Kernels = append(o.Kernels, LoadedKernel{Kernel: &Kernel{Name: name}})
	}
	for name, want := range map[string]string{
		"saxpy": "_Z5saxpyfPKfPfj", "_Z5saxpyfPKfPfj": "_Z5saxpyfPKfPfj", "saxpy(float,float const*,float*,unsigned int)": "_Z5saxpyfPKfPfj",
		"transform<float,float>": "_Z9transformIffEvPKT_PS0_j", "plain": "plain",
	} {
		if k, err := o.FindKernel(name); err != nil || k.Name != want {
			t.Errorf("%s: %v, %v; want %s", name, k, err, want)
		}
	}
	for name, want := range map[string]string{
		"": "which kernel? There are", "saxpi": `did you mean "saxpy"?`, "transform": "2 kernels are called transform", "nothing_alike": "it has ",
	} {
		if _, err := o.FindKernel(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", name, err, want)
		}
	}
	if _, err := (&Object{}).FindKernel(""); err == nil {
		t.Error("a kernel of nothing")
	}
	o.Kernels = o.Kernels[3:]
	if k, err := o.FindKernel(""); err != nil || k.Name != "plain" {
		t.Errorf("the only one: %v, %v", k, err)
	}
}
