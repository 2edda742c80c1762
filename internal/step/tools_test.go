package step

import (
	"slices"
	"testing"
)

// Every program that a step type uses has a name that a component could write.
func TestToolsHaveNames(t *testing.T) {
	for _, typ := range Types() {
		s := typ.New()
		if f, ok := s.(*Fixup); ok {
			f.Runpaths = []Runpath{{Globs: []string{"bin/*"}}}
		}
		for _, tool := range Tools(s) {
			if !slices.Contains(ToolNames(), tool) {
				t.Errorf("step %s uses %s, which is no name of a tool", typ.Name, tool)
			}
		}
	}
}

// A project that lies elsewhere on the machine would be in no key.
func TestCMakeConfiguresOnlyWhatIsKeyed(t *testing.T) {
	for source, ok := range map[string]bool{
		"${source}": true, "${source}/.": true, "${source}/llvm": true, "${dep.x}/src": true, "${build}/y": true,
		"/usr/src/x": false, "${source}/../x": false, "${llvm}/x": false, "${sourcery}": false, "relative": false, "": false,
	} {
		if err := (&CMake{Source: source}).Validate(); (err == nil) != ok {
			t.Errorf("source %q: %v", source, err)
		}
	}
}

// What is adopted from packages is the same whatever LLVM the machine has.
func TestAdoptingPackagesUsesNoLLVMOfTheMachine(t *testing.T) {
	if got := Tools(&AdoptLLVM{Root: "${source}"}); !slices.Equal(got, []string{"patchelf"}) {
		t.Errorf("from packages: %q", got)
	}
	if got := Tools(&AdoptLLVM{}); !slices.Equal(got, []string{"llvm", "patchelf"}) {
		t.Errorf("from the machine: %q", got)
	}
}
