package step

import "slices"

// ToolNames lists the names that tools of a component may have: programs,
// "c++" for the compilers, "llvm" for LLVM's programs and "llvm-dev" for what
// is built against it.
func ToolNames() []string {
	return []string{"c++", "cmake", "git", "llvm", "llvm-dev", "ninja", "patchelf", "perl", "python3"}
}

// Tools lists what a step uses of the build machine, whether its component
// names it or not: the key of a node holds these too.
func Tools(s Step) []string {
	switch s := s.(type) {
	case *Symbols:
		return []string{"c++"}
	case *CMake:
		return []string{"c++", "cmake", "ninja"}
	case *Ninja:
		return []string{"ninja"}
	case *Install:
		return []string{"cmake"}
	case *AdoptLLVM:
		if s.Root != "" {
			return []string{"patchelf"}
		}
		return []string{"llvm", "patchelf"}
	case *Fixup:
		if slices.ContainsFunc(s.Runpaths, func(r Runpath) bool { return len(r.Globs) > 0 }) {
			return []string{"patchelf"}
		}
	}
	return nil
}
