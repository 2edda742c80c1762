// Package cmake writes the CMake toolchain file that every configure step
// uses, so that what CMake would otherwise guess from the machine is said.
package cmake

import (
	"maps"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Toolchain is what a toolchain file says.
type Toolchain struct {
	// Build is where CMake runs, Host where the result will run.
	Build, Host platform.Platform
	// CC and CXX are the compilers' absolute paths.
	CC, CXX string
	// Flags are added to the C and C++ flags.
	Flags []string
	// PrefixMaps turns folders of this build into neutral names in debug
	// information and __FILE__, so that the same source gives the same bytes
	// wherever it is built.
	PrefixMaps map[string]string
	// Prefixes are searched by find_package, and nothing else besides the
	// compiler's own system folders.
	Prefixes []string
	// Programs are folders that find_program searches besides the system's:
	// those of PATH are not, since CMake takes the folder above one for a
	// prefix with packages.
	Programs []string
	// Cross is what makes programs for Host when that is not Build; CC and CXX
	// are its own then.
	Cross *cross.Toolchain
	// Sysroot is the macOS SDK, for a host that is a Mac; Archiver and Ranlib
	// take the place of Apple's on one.
	Sysroot, Archiver, Ranlib string
	// Launcher is put in front of each call of a compiler, such as ccache; ""
	// for none. It changes no result.
	Launcher string
	// Meant are prefixes that a component names by itself, an LLVM for instance.
	// They may lie where nothing is to be found otherwise.
	Meant []string
}

// foreign keeps what else is installed on the machine out of find_package and
// its like, also where a project names the place itself (PATHS /opt/rocm), as
// many of ROCm's do. CMAKE_IGNORE_PREFIX_PATH knows prefixes that CMake adds by
// itself, and /opt is one of them; CMAKE_IGNORE_PATH knows single folders, so
// those that hold libraries, headers, programs and package files are listed,
// but for prefixes that are meant and folders of programs that were chosen.
const foreign = `set(CMAKE_IGNORE_PREFIX_PATH "/opt")
set(CMAKE_IGNORE_PATH "")
file(GLOB stonemason_foreign LIST_DIRECTORIES true
  "/opt/rocm*" "/opt/rocm*/llvm" "/opt/rocm*/hip" /usr/local /opt/homebrew /opt/local /home/linuxbrew/.linuxbrew)
foreach(stonemason_prefix IN LISTS stonemason_foreign)
  list(APPEND CMAKE_IGNORE_PREFIX_PATH "${stonemason_prefix}")
  set(stonemason_at -1)
  foreach(stonemason_path IN LISTS stonemason_meant)
    string(FIND "${stonemason_path}/" "${stonemason_prefix}/" stonemason_at)
    if(stonemason_at EQUAL 0)
      break()
    endif()
  endforeach()
  if(stonemason_at EQUAL 0)
    continue()
  endif()
  file(GLOB stonemason_folders LIST_DIRECTORIES true
    "${stonemason_prefix}/bin" "${stonemason_prefix}/sbin" "${stonemason_prefix}/include" "${stonemason_prefix}/cmake"
    "${stonemason_prefix}/lib*" "${stonemason_prefix}/lib*/cmake" "${stonemason_prefix}/lib*/cmake/*"
    "${stonemason_prefix}/share" "${stonemason_prefix}/share/cmake" "${stonemason_prefix}/share/cmake/*" "${stonemason_prefix}/share/*/cmake")
  list(APPEND CMAKE_IGNORE_PATH "${stonemason_prefix}" ${stonemason_folders})
endforeach()
list(REMOVE_ITEM CMAKE_IGNORE_PATH ${CMAKE_PROGRAM_PATH})
`

// pkgConfig is the search path of pkg-config without /usr/local: what is built
// into it differs by distribution, so this is what Debian and Fedora have.
// (pkg-config(1), PKG_CONFIG_LIBDIR; what CMake adds comes before it.)
const pkgConfig = `file(GLOB stonemason_pkgconfig /usr/lib/*-linux-gnu/pkgconfig /usr/lib64/pkgconfig /usr/lib/pkgconfig /usr/share/pkgconfig)
string(REPLACE ";" ":" stonemason_pkgconfig "${stonemason_pkgconfig}")
set(ENV{PKG_CONFIG_LIBDIR} "${stonemason_pkgconfig}")
`

// Text is the toolchain file (cmake-toolchains(7)).
func (t Toolchain) Text() string { return string(t.Append(nil)) }

// Append appends the toolchain file to a buffer.
func (t Toolchain) Append(b []byte) []byte {
	add := func(text string) { b = append(b, text...) }
	set := func(name, value string) {
		add("set(")
		add(name)
		add(" ")
		b = quote(b, value)
		add(")\n")
	}
	add("# Written by stonemason; a configure step reads it.\n")
	flags := slices.Clone(t.Flags)
	if t.Host != t.Build {
		t.host(set, add)
	}
	if t.Host.OS == "darwin" {
		t.macOS(set)
	}
	set("CMAKE_C_COMPILER", t.CC)
	set("CMAKE_CXX_COMPILER", t.CXX)
	if t.Launcher != "" {
		set("CMAKE_C_COMPILER_LAUNCHER", t.Launcher)
		set("CMAKE_CXX_COMPILER_LAUNCHER", t.Launcher)
	}
	if t.Cross != nil {
		flags = append(flags, t.Cross.Flags...)
	}
	for _, from := range slices.Sorted(maps.Keys(t.PrefixMaps)) {
		flags = append(flags, "-ffile-prefix-map="+from+"="+t.PrefixMaps[from])
	}
	for i, f := range flags {
		flags[i] = shellWord(f)
	}
	joined := strings.Join(flags, " ")
	set("CMAKE_C_FLAGS_INIT", joined)
	set("CMAKE_CXX_FLAGS_INIT", joined)
	if t.Cross != nil && len(t.Cross.LinkFlags) > 0 {
		words := make([]string, len(t.Cross.LinkFlags))
		for i, f := range t.Cross.LinkFlags {
			words[i] = shellWord(f)
		}
		for _, kind := range []string{"EXE", "MODULE", "SHARED"} {
			set("CMAKE_"+kind+"_LINKER_FLAGS_INIT", strings.Join(words, " "))
		}
	}

	add("# Nothing is found by accident: no package registries, no environment, no\n")
	add("# prefix of a package manager (cmake-packages(7), CMAKE_FIND_USE_*).\n")
	for _, off := range []string{
		"CMAKE_FIND_USE_PACKAGE_REGISTRY", "CMAKE_FIND_USE_SYSTEM_PACKAGE_REGISTRY",
		"CMAKE_EXPORT_PACKAGE_REGISTRY", "CMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH",
		"CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH", "CMAKE_FIND_USE_INSTALL_PREFIX",
	} {
		set(off, "OFF")
	}
	set("CMAKE_PROGRAM_PATH", list(slices.Concat(t.Programs, []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"})))
	set("stonemason_meant", list(slices.Concat(t.Prefixes, t.Meant)))
	add(foreign)
	switch {
	case t.Host != t.Build:
		// What pkg-config knows is for this machine.
		add("set(ENV{PKG_CONFIG_LIBDIR} \"\")\n")
	case t.Host.OS == "linux":
		add(pkgConfig)
	}
	if len(t.Prefixes) > 0 {
		set("CMAKE_PREFIX_PATH", list(t.Prefixes))
	}
	return b
}

// host says what CMake cannot find out about a machine that is not this one
// (cmake-toolchains(7), "Cross Compiling"; the CMAKE_OSX_ variables). Programs
// are this machine's; headers, libraries and packages are the host's alone, of
// which there are those of the sysroot and of the components that are needed.
func (t Toolchain) host(set func(name, value string), add func(text string)) {
	set("CMAKE_SYSTEM_NAME", systemName(t.Host))
	set("CMAKE_SYSTEM_PROCESSOR", processor(t.Host))
	if t.Host.OS == "darwin" {
		set("CMAKE_SYSTEM_VERSION", platform.DarwinFloor)
		// CMake's own file for Darwin asks sw_vers, a program of Macs, whether
		// there are run paths, and takes back what was said before it. It reads
		// this one once more behind that (CMAKE_USER_MAKE_RULES_OVERRIDE).
		for _, language := range []string{"C", "CXX"} {
			set("CMAKE_SHARED_LIBRARY_RUNTIME_"+language+"_FLAG", "-Wl,-rpath,")
			set("CMAKE_SHARED_LIBRARY_RUNTIME_"+language+"_FLAG_SEP", "")
		}
		add("set(CMAKE_USER_MAKE_RULES_OVERRIDE \"${CMAKE_CURRENT_LIST_FILE}\")\n")
	}
	if t.Cross == nil {
		return
	}
	c := t.Cross
	if c.Triple != "" {
		set("CMAKE_C_COMPILER_TARGET", c.Triple)
		set("CMAKE_CXX_COMPILER_TARGET", c.Triple)
		set("CMAKE_ASM_COMPILER_TARGET", c.Triple)
	}
	roots := slices.Clone(t.Prefixes)
	switch {
	case c.Sysroot != "" && t.Host.OS == "darwin":
		roots = append(roots, c.Sysroot)
	case c.Sysroot != "":
		set("CMAKE_SYSROOT", c.Sysroot)
		roots = append(roots, c.Sysroot)
	default:
		// Where Debian's and Fedora's cross compilers have what is theirs.
		roots = append(roots, "/usr/"+cross.GNUTriple(t.Host))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		set("CMAKE_"+name, c.Programs[name])
	}
	set("CMAKE_FIND_ROOT_PATH", list(append(roots, t.Meant...)))
	set("CMAKE_FIND_ROOT_PATH_MODE_PROGRAM", "NEVER")
	for _, what := range []string{"LIBRARY", "INCLUDE", "PACKAGE"} {
		set("CMAKE_FIND_ROOT_PATH_MODE_"+what, "ONLY")
	}
}

// macOS says what is compiled for, on a Mac and elsewhere: without it CMake takes
// the processor and the version of the Mac that it runs on, and what comes out
// does not start on an older one. Apple's ar knows no response files, and LLVM's
// libraries have more members than a command line holds.
func (t Toolchain) macOS(set func(name, value string)) {
	set("CMAKE_OSX_ARCHITECTURES", processor(t.Host))
	set("CMAKE_OSX_DEPLOYMENT_TARGET", platform.MacOSFloor)
	if sysroot := t.Sysroot; sysroot != "" {
		set("CMAKE_OSX_SYSROOT", sysroot)
	}
	if t.Cross == nil && t.Archiver != "" {
		set("CMAKE_AR", t.Archiver)
		set("CMAKE_RANLIB", t.Ranlib)
	}
}

// Quote writes a CMake quoted argument (cmake-language(7), "Quoted Argument").
// The sign @ is escaped too: a project with the policies of CMake 3.0 and older
// would take @x@ for a variable (CMP0053).
func Quote(s string) string { return string(quote(nil, s)) }

func quote(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		if strings.IndexByte("\\\"$@", s[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '"')
}

// list joins the elements of a CMake list (cmake-language(7), "Lists").
func list(elements []string) string {
	var escaped []string
	for _, e := range elements {
		escaped = append(escaped, strings.ReplaceAll(e, ";", `\;`))
	}
	return strings.Join(escaped, ";")
}

// shellWord quotes one flag: CMake writes flags into build.ninja as they are
// (CMAKE_<LANG>_FLAGS is a command line fragment), where $ begins a variable,
// and ninja hands them to a shell.
func shellWord(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:=,+@%^-", r)
	}
	if s != "" && strings.TrimFunc(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", `'\''`), "$", "$$") + "'"
}

func systemName(p platform.Platform) string {
	if p.OS == "darwin" {
		return "Darwin"
	}
	return "Linux"
}

func processor(p platform.Platform) string {
	switch {
	case p.Arch == "amd64":
		return "x86_64"
	case p.OS == "darwin":
		return "arm64"
	}
	return "aarch64"
}
