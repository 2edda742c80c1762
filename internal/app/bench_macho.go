package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/internal/audit"
	"github.com/stonemason-hip/stonemason/internal/bench"
	"github.com/stonemason-hip/stonemason/internal/treehash/treebench"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// What the generated bundle for a Mac has.
const (
	benchImages    = 500
	benchImageData = 256 << 10 // bytes of data in each
	benchFunctions = 300       // and as many symbols that others can use
)

// macBundle is a folder of images as a linker leaves them: ids and run paths
// name the stage.
type macBundle struct {
	dir, stage string
	names      []string // of the images, in dir/lib
	tools      string   // LLVM's folder of programs
}

// mac measures what is done with a bundle of images for macOS.
func (b *benches) mac(ctx context.Context) error {
	fix := fmt.Sprintf("fix up, sign and audit %d macOS images", benchImages)
	prove := fmt.Sprintf("audit %d macOS images", benchImages)
	if !b.wanted(fix) && !b.wanted(prove) {
		return nil
	}
	if b.builder.Machine.LLVM == nil {
		return errors.New("no LLVM to generate images for macOS with")
	}
	m, err := newMacBundle(ctx, filepath.Join(b.tmp, "mac"), b.builder.Machine.LLVM, benchImages)
	if err != nil {
		return err
	}
	defer os.RemoveAll(m.dir)
	// Both sides change the images, so that each run has fresh ones.
	fresh := macBundle{dir: m.dir + "-run", stage: m.stage, names: m.names, tools: m.tools}
	defer os.RemoveAll(fresh.dir)
	err = b.measure(ctx, bench.Case{
		What: fix, Runs: 3, Bound: bench.Bound{Ratio: 0.1},
		Before: func(ctx context.Context) error {
			if err := os.RemoveAll(fresh.dir); err != nil {
				return err
			}
			return b.run(b.tmp, nil, "cp", "-r", m.dir, fresh.dir)(ctx)
		},
		Ours: fresh.fix, Theirs: fresh.fixByTools, Alternative: "`llvm-install-name-tool` and `llvm-objdump` for each, on all cores",
	})
	if err != nil {
		return err
	}
	if err := m.fix(ctx); err != nil {
		return err
	}
	return b.measure(ctx, bench.Case{
		What: prove, Runs: 9, Bound: bench.Bound{Ratio: 2}, Ours: m.audit,
		Theirs: func(ctx context.Context) error { return treebench.SHA256Sum(ctx, m.dir) }, Alternative: "`sha256sum` on all cores",
	})
}

// newMacBundle makes a bundle of some images: one that all others need, and
// copies of another, each with an id of its own.
func newMacBundle(ctx context.Context, dir string, in *llvm.Install, images int) (*macBundle, error) {
	m := &macBundle{dir: dir, stage: "/stonemason-stage", tools: in.BinDir}
	lib, work := filepath.Join(dir, "lib"), dir+"-work"
	defer os.RemoveAll(work)
	if err := errors.Join(os.MkdirAll(lib, 0o755), os.MkdirAll(work, 0o755)); err != nil {
		return nil, err
	}
	var core, unit strings.Builder
	for k := range benchFunctions {
		fmt.Fprintf(&core, "int core_function_with_a_long_name_%d(void) { return %d; }\n", k, k)
		fmt.Fprintf(&unit, "int core_function_with_a_long_name_%d(void);\nint unit_function_with_a_long_name_%d(void) { return core_function_with_a_long_name_%d(); }\n", k, k, k)
	}
	data := make([]byte, benchImageData)
	seed := [32]byte{1}
	rand.NewChaCha8(seed).Read(data)
	for name, text := range map[string]string{
		"core.c": core.String(), "unit.c": unit.String(), "data": string(data),
		"libSystem.tbd": "--- !tapi-tbd\ntbd-version: 4\ntargets: [ arm64-macos ]\ninstall-name: /usr/lib/libSystem.B.dylib\nexports:\n  - targets: [ arm64-macos ]\n    symbols: [ dyld_stub_binder ]\n...\n",
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	link := func(source, to string, args ...string) error {
		return run(ctx, append([]string{filepath.Join(m.tools, "clang"), "--target=" + macPlatform().Triple(), "-ffreestanding", "-nostdlib", "-nostdinc", "-O1",
			"-fuse-ld=lld", "--ld-path=" + filepath.Join(m.tools, "ld64.lld"), "-dynamiclib", "-install_name", m.stage + "/lib/" + filepath.Base(to),
			"-Wl,-headerpad_max_install_names", "-Wl,-rpath," + m.stage + "/lib", "-Wl,-sectcreate,__DATA,__data2," + filepath.Join(work, "data"),
			filepath.Join(work, source), filepath.Join(work, "libSystem.tbd"), "-o", to}, args...)...)
	}
	if err := link("core.c", filepath.Join(lib, "libcore.dylib")); err != nil {
		return nil, err
	}
	template := filepath.Join(work, "libunit.dylib")
	if err := link("unit.c", template, filepath.Join(lib, "libcore.dylib")); err != nil {
		return nil, err
	}
	m.names = []string{"libcore.dylib"}
	image, err := os.ReadFile(template)
	if err != nil {
		return nil, err
	}
	for k := 1; k < images; k++ {
		name := fmt.Sprintf("libunit%03d.dylib", k)
		file := filepath.Join(lib, name)
		if err := os.WriteFile(file, image, 0o755); err != nil {
			return nil, err
		}
		if _, err := macho.Apply(file, macho.Edit{ID: m.stage + "/lib/" + name, Identifier: name}); err != nil {
			return nil, err
		}
		m.names = append(m.names, name)
	}
	return m, nil
}

func macPlatform() platform.Platform { return platform.Platform{OS: "darwin", Arch: "arm64"} }

// fix makes the bundle relocatable and proves it.
func (m *macBundle) fix(ctx context.Context) error {
	if _, err := macho.Fix(ctx, m.dir, macho.FixOptions{Prefixes: []string{m.stage}, Jobs: runtime.NumCPU()}); err != nil {
		return err
	}
	return m.audit(ctx)
}

// audit proves a bundle that is fixed up.
func (m *macBundle) audit(ctx context.Context) error {
	r, err := audit.Run(ctx, m.dir, audit.Options{Platform: macPlatform(), BuildPaths: []string{m.stage, m.dir, "/stonemason-store", "/stonemason-home"}})
	if err != nil {
		return err
	}
	if len(r.Findings) > 0 || r.Images != len(m.names) {
		return fmt.Errorf("%d images and %d findings, the first %+v", r.Images, len(r.Findings), r.Findings[:min(1, len(r.Findings))])
	}
	return nil
}

// fixByTools does to each image what fix does, and reads it again.
func (m *macBundle) fixByTools(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for _, name := range m.names {
		g.Go(func() error {
			file := filepath.Join(m.dir, "lib", name)
			argv := []string{"-id", "@rpath/" + name, "-delete_rpath", m.stage + "/lib", file}
			if name != m.names[0] {
				argv = append([]string{"-change", m.stage + "/lib/" + m.names[0], "@rpath/" + m.names[0], "-add_rpath", "@loader_path"}, argv...)
			}
			if err := run(ctx, append([]string{filepath.Join(m.tools, "llvm-install-name-tool")}, argv...)...); err != nil {
				return err
			}
			return run(ctx, filepath.Join(m.tools, "llvm-objdump"), "--macho", "--private-headers", "--chained-fixups", "--exports-trie", file)
		})
	}
	return g.Wait()
}

func run(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.500s", filepath.Base(argv[0]), err, said.String())
	}
	return nil
}
