package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/internal/bench"
	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/dev"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/manycomp"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/treehash/treebench"
)

// Sizes of what is generated to be measured on.
const (
	benchFiles      = 100_000 // of the workspace
	benchTree       = 1 << 30 // bytes of the source tree
	benchComponents = 1000
)

// BenchOptions are the options of bench.
type BenchOptions struct {
	// Only is a regular expression of rows; with it nothing is written.
	Only string
}

// benches is what the measurements share.
type benches struct {
	app     *App
	project *spec.Project
	store   *store.Store
	builder *build.Builder
	nodes   []*plan.Node
	dist    string
	therock string
	tmp     string // a folder on the project's file system
	only    *regexp.Regexp
	fresh   int
	rows    []bench.Row
}

// Bench measures the standalone binary against its alternatives and writes
// docs/benchmarks.md. The toolchain must have been built.
func (a *App) Bench(ctx context.Context, o BenchOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	only, err := regexp.Compile(o.Only)
	if err != nil {
		return exit.Withf(exit.Usage, "-only: %w", err)
	}
	b := &benches{app: a, only: only}
	if b.project, err = a.project(Wishes{}); err != nil {
		return err
	}
	if b.dist, _, err = a.bundleDir(""); err != nil {
		return err
	}
	if b.builder, b.nodes, err = a.builder(ctx, Wishes{}, "", discard()); err != nil {
		return err
	}
	b.store = b.builder.Store
	if err := dev.Compile(ctx, a.Err, a.Err, b.project.Root, filepath.Join(b.project.Root, "bin", "therock")); err != nil {
		return err
	}
	b.therock = filepath.Join(b.project.Root, "bin", "therock")
	if b.tmp, err = os.MkdirTemp(b.project.Root, ".bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	for _, measure := range []func(context.Context) error{
		b.verbs, b.workspace, b.tree, b.many, b.bundle, b.mac, b.emulator, b.components, b.graph,
	} {
		if err := measure(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return exit.Default(exit.Failure, err)
		}
	}
	text := "# Benchmarks\n\nWritten by `go tool mage bench`: medians of wall times (quickest–slowest), ours and the alternative's in turns, in one run.\n\n" +
		fmt.Sprintf("Machine: %s. %s.\n\n", bench.Machine(ctx, b.project.Root, "git", "cmake", "ninja"), time.Now().UTC().Format("2006-01-02")) +
		bench.Table(b.rows) + benchNotes
	fmt.Fprint(a.Out, text)
	if o.Only != "" {
		return nil
	}
	page := filepath.Join(b.project.Root, "docs", "benchmarks.md")
	before, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return renameio.WriteFile(page, []byte(text+kept(string(before))), 0o644)
}

// handHeading begins what people have written of measurements that take hours.
const handHeading = "\n## Measured once\n"

// kept is the part of the page that bench does not write.
func kept(page string) string {
	if i := strings.Index(page, handHeading); i >= 0 {
		return page[i:]
	}
	return ""
}

const benchNotes = `
- *Plan of 1000*: the verb remembers the parse of files that were not changed since the last plan; *files
  read and graph resolved* is without that.
- *Nothing to do*: the whole verb, from the start of the process to its end; plan, keys of all
  components, look-ups in the store and the check of the bundle included.
- *By hand*: the cmake and ninja commands of the component's log, with the same environment, on a source
  that is unpacked and patched already. Ours unpacks, patches, fixes up, audits and seals besides.
- *Lower bound*: the larger of the longest chain of needs, each component measured alone with all cores,
  and the processor time of the whole build divided by the cores.
- *Warm*: every file of the tree is looked at and none is read.
- *Emulator*: kernels for gfx942, at -O3. *Start to result*: the code object read and loaded, buffers allocated and
  filled, launched on all cores, and the results copied. *Beside MGPUSim*: the same code object and arguments on its
  functional emulator, equal results, launches alone, one core each; compiled with -ffp-contract=off, for it rounds
  fused multiply-adds twice. *Two cores against one*: the cores of a virtual machine may be threads of one core, or be
  lent out, so two launches of half the size, which share nothing, run at the same time in turns with it.
`

// wanted reports whether a row was asked for.
func (b *benches) wanted(what string) bool { return b.only.MatchString(what) }

func (b *benches) measure(ctx context.Context, c bench.Case) error {
	if !b.wanted(c.What) {
		return nil
	}
	fmt.Fprintf(b.app.Err, "measuring: %s\n", c.What)
	r, err := bench.Measure(ctx, c)
	if err != nil {
		return err
	}
	row := r.Row()
	fmt.Fprintf(b.app.Err, "  %s, %s %s\n", row.Ours, row.Alternative, row.Met)
	b.rows = append(b.rows, row)
	return nil
}

// run is a program in a folder, with variables beside the environment's.
func (b *benches) run(dir string, env []string, argv ...string) bench.Work {
	return func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			text := out.String()
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, text[max(0, len(text)-2000):])
		}
		return nil
	}
}

// verbs measures what everybody types.
func (b *benches) verbs(ctx context.Context) error {
	root := b.project.Root
	// What a build finds out about the machine is remembered from the first on.
	if err := b.run(root, nil, b.therock, "build")(ctx); err != nil {
		return err
	}
	for _, c := range []bench.Case{
		{What: "start (`therock -l`)", Ours: b.run(root, nil, b.therock, "-l"),
			Theirs: b.run(root, nil, "go", "tool", "mage", "-l"), Alternative: "`go tool mage -l`", Runs: 10},
		{What: fmt.Sprintf("`plan`, %d components", len(b.builder.Graph.Nodes)), Ours: b.run(root, nil, b.therock, "plan"), Runs: 10},
		{What: "nothing to do, all components (`therock build`)", Ours: b.run(root, nil, b.therock, "build"), Runs: 20, Bound: bench.Bound{Most: 150 * time.Millisecond}},
	} {
		if err := b.measure(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// workspace measures a build that has a large working copy in its graph.
func (b *benches) workspace(ctx context.Context) error {
	what := fmt.Sprintf("nothing to do, a workspace of %d files in the graph", benchFiles)
	if !b.wanted(what) {
		return nil
	}
	work, project := filepath.Join(b.tmp, "workspace"), filepath.Join(b.tmp, "workspace-project")
	if err := treebench.Workspace(ctx, work, benchFiles); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := treebench.Project(project, work); err != nil {
		return err
	}
	env := []string{"STONEMASON_CACHE_DIR=" + filepath.Join(b.tmp, "workspace-store")}
	for _, argv := range [][]string{{"lock"}, {"build"}, {"build"}} {
		if err := b.run(project, env, append([]string{b.therock}, argv...)...)(ctx); err != nil {
			return err
		}
	}
	return b.measure(ctx, bench.Case{
		What: what, Ours: b.run(project, env, b.therock, "build"), Runs: 15, Bound: bench.Bound{Ratio: 1},
		Theirs: func(ctx context.Context) error { return treebench.GitStatus(ctx, work) }, Alternative: "`git status`",
	})
}

// tree measures the id of a large source tree.
func (b *benches) tree(ctx context.Context) error {
	cold, warm := "key of a 1 GiB source tree, cold", "key of a 1 GiB source tree, warm"
	if !b.wanted(cold) && !b.wanted(warm) {
		return nil
	}
	dir := filepath.Join(b.tmp, "tree")
	if err := treebench.Tree(ctx, dir, benchTree); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	err := b.measure(ctx, bench.Case{
		What: cold, Ours: func(ctx context.Context) error { return treebench.Cold(ctx, dir) }, Runs: 5,
		// 0.8 of the speed is 1.25 of the time.
		Theirs: func(ctx context.Context) error { return treebench.SHA256Sum(ctx, dir) }, Alternative: "`sha256sum` on all cores", Bound: bench.Bound{Ratio: 1.25},
	})
	if err != nil {
		return err
	}
	known := filepath.Join(b.tmp, "tree-known")
	if err := treebench.Unchanged(ctx, dir, known); err != nil {
		return err
	}
	return b.measure(ctx, bench.Case{
		What: warm, Ours: func(ctx context.Context) error { return treebench.Unchanged(ctx, dir, known) }, Runs: 10,
		Bound: bench.Bound{Most: 500 * time.Millisecond},
	})
}

// many measures planning a project that is much larger than ours.
func (b *benches) many(ctx context.Context) error {
	resolve := fmt.Sprintf("plan of %d components: files read and graph resolved", benchComponents)
	verb := fmt.Sprintf("plan of %d components: the verb, with keys and look-ups", benchComponents)
	if !b.wanted(resolve) && !b.wanted(verb) {
		return nil
	}
	dir := filepath.Join(b.tmp, "many")
	if err := manycomp.Write(dir, benchComponents); err != nil {
		return err
	}
	env := []string{"STONEMASON_CACHE_DIR=" + filepath.Join(b.tmp, "many-store")}
	if err := b.run(dir, env, b.therock, "lock")(ctx); err != nil {
		return err
	}
	// What is remembered of files is remembered of those that have been left
	// alone for a while, as a project's are.
	select {
	case <-time.After(statcache.Slack + time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := b.run(dir, env, b.therock, "plan")(ctx); err != nil {
		return err
	}
	facts := plan.Facts{Build: b.builder.Machine.Platform}
	err := b.measure(ctx, bench.Case{
		What: resolve, Runs: 10, Bound: bench.Bound{Most: 100 * time.Millisecond},
		Ours: func(context.Context) error {
			p, err := spec.Load(dir)
			if err != nil {
				return err
			}
			_, err = plan.Resolve(p, facts, nil)
			return err
		},
	})
	if err != nil {
		return err
	}
	return b.measure(ctx, bench.Case{What: verb, Runs: 10, Ours: b.run(dir, env, b.therock, "plan"), Bound: bench.Bound{Most: 100 * time.Millisecond}})
}

// bundle measures what is done with a whole bundle.
func (b *benches) bundle(ctx context.Context) error {
	var contents []store.Content
	var trees []string
	for id, f := range b.builder.Forecast(ctx) {
		if !f.Cached {
			return exit.Hint(exit.Withf(exit.Usage, "%s is not built", id), "go tool mage build")
		}
		tree, err := b.store.Tree(f.Action.Content)
		if err != nil {
			return err
		}
		contents, trees = append(contents, f.Action.Content), append(trees, tree+"/.")
	}
	into := func(f func(ctx context.Context, to string) error) bench.Work {
		return func(ctx context.Context) error { return f(ctx, filepath.Join(b.tmp, fmt.Sprint("bundle-", b.fresh))) }
	}
	err := b.measure(ctx, bench.Case{
		What: "restore a bundle from the local store", Runs: 9, Bound: bench.Bound{Ratio: 1.2},
		Before: func(context.Context) error {
			if err := os.RemoveAll(filepath.Join(b.tmp, fmt.Sprint("bundle-", b.fresh))); err != nil {
				return err
			}
			b.fresh++
			return os.Mkdir(filepath.Join(b.tmp, fmt.Sprint("bundle-", b.fresh)), 0o755)
		},
		Ours: into(func(ctx context.Context, to string) error { return b.store.Restore(ctx, contents, to) }),
		Theirs: into(func(ctx context.Context, to string) error {
			return b.run(b.tmp, nil, append(append([]string{"cp", "-r"}, trees...), to)...)(ctx)
		}), Alternative: "`cp -r`",
	})
	if err != nil {
		return err
	}
	return b.measure(ctx, bench.Case{
		What: "verify the bundle, without running it", Ours: b.run(b.project.Root, nil, b.therock, "verify", "-noRun=true"), Runs: 5,
		Theirs: b.run(b.project.Root, nil, "find", b.dist, "-type", "f", "-exec", "sha256sum", "{}", "+"), Alternative: "`sha256sum` of its files",
	})
}
