package devicelib

import (
	"regexp"
	"slices"
	"strings"
)

// Covered lists the functions of the libraries (ocml.bc, ockl.bc) that Functions, OCML
// and OCKL call.
func Covered() []string {
	var names []string
	for _, fn := range Functions() {
		for _, f := range fn.forms() {
			base := f.OCML
			if name, _, _ := strings.Cut(strings.TrimPrefix(f.Name, "__ocml_"), ":"); base == "" {
				base = name
			}
			names = append(names, "__ocml_"+base+"_"+f.name())
			if f.packed {
				names = append(names, "__ocml_"+base+"_2f16")
			}
		}
	}
	for _, e := range append(OCML(), OCKL()...) {
		if e.Covers == nil {
			names = append(names, e.Name)
		}
		names = append(names, e.Covers...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Left are functions that are not tried, by a pattern of their names, and why.
type Left struct{ Pattern, Why string }

// LeftOut says which of the libraries' functions are not tried.
func LeftOut() []Left {
	return []Left{
		{`^__ockl_image_|^__llvm_amdgcn_(image|struct)_`, "images: MIMG is graphics, and is not decoded"},
		{`^__ockl_gws_|^__ockl_(multi_)?grid_`, "cooperative launches over several GPUs, and the global data share"},
		{`^__ockl_(hostcall|call_host|devmem|sanitizer|hsa_|dm_(init|trim|hinfo|nna))`, "below malloc, printf and assert, or signals of a runtime that is not there"},
		{`^__ockl_f?printf_`, "under printf and assert, which the tests of the emulator run"},
		{`^__ocml_(fract|frexp|modf|remquo2?|sincos|sincospi|lgamma_r|ilogb|is[a-z]*|signbit|nan|scalb|rootn|powr)_2f16$`, "the packed form of what is tried in f16"},
		{`^__ocmlpriv_|^__ocmltbl_|^__get_scratch_lds$|^__scratch_lds$|^__printf_alloc$`, "inner parts"},
	}
}

// Missing returns those of the symbols of a library that are neither tried nor left out.
func Missing(symbols []string) []string {
	covered := Covered()
	var missing []string
	for _, s := range symbols {
		if _, ok := slices.BinarySearch(covered, s); ok {
			continue
		}
		left := slices.ContainsFunc(LeftOut(), func(l Left) bool { return regexp.MustCompile(l.Pattern).MatchString(s) })
		if !left {
			missing = append(missing, s)
		}
	}
	return missing
}
