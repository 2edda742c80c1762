package step

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/cmake"
)

// ToolchainFile is what a configure step writes into the work folder, beside
// ${build}. Ninja runs CMake again when it changes.
const ToolchainFile = "toolchain.cmake"

// CMake configures a project for Ninja, in ${build}.
type CMake struct {
	// Source is the folder with CMakeLists.txt.
	Source string `yaml:"source"`
	// Defines are cache entries: name (NAME or NAME:TYPE) to value.
	Defines map[string]string `yaml:"defines,omitempty"`
	// More are further entries; they win over Defines.
	More map[string]string `yaml:"more,omitempty"`
	// Prefixes are searched by find_package.
	Prefixes []string `yaml:"prefixes,omitempty"`
	// Flags are added to the C and C++ flags.
	Flags []string `yaml:"flags,omitempty"`
	// CompilerCache has compilers called through ccache, where the machine has
	// it: for what takes hours.
	CompilerCache bool `yaml:"compiler_cache,omitempty"`
}

// Validate implements Step.
func (s *CMake) Validate() error {
	if s.Source == "" {
		return errors.New("source is missing")
	}
	if !keyed(s.Source) {
		return fmt.Errorf("source %q does not lie below ${source}, ${build} or ${dep.name}", s.Source)
	}
	return nil
}

// Key implements Step.
func (s *CMake) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *CMake) Run(ctx context.Context, r *Run) error {
	if r.CC == nil || r.CXX == nil {
		return errors.New("no C and C++ compiler was chosen: add c++ to tools in the component's yaml")
	}
	file, text, argv, err := s.Command(r, r.Expand)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	if err := r.Command(ctx, r.Work, nil, argv...); err != nil {
		return err
	}
	return r.foreign()
}

// Command is what the step runs: the name and text of the toolchain file, and
// the arguments. What the text and the arguments say beyond the step's own
// fields is in the key too, so a node's key is made with them, with folders and
// programs in r, and an expand, that leave every variable as it is.
func (s *CMake) Command(r *Run, expand func(string) (string, error)) (file, text string, argv []string, err error) {
	file, toolchain, argv, err := s.Toolchain(r, expand)
	if err != nil {
		return "", "", nil, err
	}
	return file, toolchain.Text(), argv, nil
}

// Toolchain is [CMake.Command] with what the toolchain file says in place of
// its text.
func (s *CMake) Toolchain(r *Run, expand func(string) (string, error)) (file string, toolchain cmake.Toolchain, argv []string, err error) {
	var failed error
	fill := func(value string) string {
		out, err := expand(value)
		if err != nil && failed == nil {
			failed = err
		}
		return out
	}
	source := fill(s.Source)
	prefixes, flags := slices.Clone(s.Prefixes), slices.Clone(s.Flags)
	for i := range prefixes {
		prefixes[i] = fill(prefixes[i])
	}
	for i := range flags {
		flags[i] = fill(flags[i])
	}
	if failed != nil {
		return "", toolchain, nil, failed
	}
	// The headers of a need lie in the store: where that is must not show.
	neutral := map[string]string{r.Source: "source", r.BuildDir: "build", r.Stage: "prefix"}
	for name, tree := range r.Deps {
		neutral[tree] = name
	}
	var meant []string
	if r.LLVM != nil {
		meant = []string{r.LLVM.Prefix}
	}
	file = filepath.Join(r.Work, ToolchainFile)
	toolchain = cmake.Toolchain{
		Build: r.Build, Host: r.Host, Cross: r.Cross, Launcher: r.Launcher,
		Sysroot: r.Sysroot, Archiver: r.Archiver, Ranlib: r.Ranlib,
		CC: r.CC.Path, CXX: r.CXX.Path, Flags: flags, Prefixes: prefixes, PrefixMaps: neutral,
		Programs: r.programs(), Meant: meant,
	}
	if !s.CompilerCache {
		toolchain.Launcher = ""
	}
	argv = []string{
		// A configure step that was interrupted is not gone on with: checks
		// that were killed with it would count as failed (--fresh, since 3.24).
		"cmake", "--fresh", "-G", "Ninja", "-S", source, "-B", r.BuildDir,
		"-DCMAKE_TOOLCHAIN_FILE=" + file,
		"-DCMAKE_MAKE_PROGRAM=" + r.Tools["ninja"],
		"-DCMAKE_INSTALL_PREFIX=" + r.Stage,
		// Installed under lib on every distribution, so that a bundle has
		// one layout (GNUInstallDirs would say lib64 or lib/<triple>).
		"-DCMAKE_INSTALL_LIBDIR=lib",
	}
	defines := map[string]string{"CMAKE_BUILD_TYPE": "Release"}
	maps.Copy(defines, s.Defines)
	maps.Copy(defines, s.More)
	for _, name := range slices.Sorted(maps.Keys(defines)) {
		value, err := expand(defines[name])
		if err != nil {
			return "", toolchain, nil, fmt.Errorf("defines.%s: %w", name, err)
		}
		argv = append(argv, "-D"+name+"="+value)
	}
	return file, toolchain, argv, nil
}

// programs are the folders of the machine's tools.
func (r *Run) programs() []string {
	var dirs []string
	for _, name := range slices.Sorted(maps.Keys(r.Tools)) {
		if dir := filepath.Dir(r.Tools[name]); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
