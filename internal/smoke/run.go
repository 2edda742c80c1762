package smoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// Options says what to try.
type Options struct {
	Bundle   string       // root of the toolchain bundle
	GPUs     []gpu.Target // what to compile for; at least one
	Examples string       // folder of the examples
	WorkDir  string       // where to compile; a temporary folder, removed afterwards, when empty
	Jobs     int          // compilers at once; the number of processors when 0
	Env      []string     // NAME=value, added to the compilers' otherwise empty environment
	Flags    []string     // added to every compilation
	// Quick leaves out what costs half of the time: compiling everything again
	// in a second folder.
	Quick bool
	// Progress hears of each finished compilation: how many of how many, and
	// which. It may be nil; calls do not overlap.
	Progress func(done, total int, what string)
}

// runner is one smoke run.
type runner struct {
	opts     Options
	table    *gpu.Table
	tools    *toolchain
	examples []Example
	work     string

	mu    sync.Mutex
	done  int
	total int
}

// Run tries a bundle. The report has what was found, failed compilations
// included; an error means that nothing could be tried (no compiler, no
// examples, a broken smoke.yaml), or that ctx ended.
func Run(ctx context.Context, opts Options) (*Report, error) {
	r := &runner{opts: opts}
	if len(opts.GPUs) == 0 {
		return nil, errors.New("smoke: no GPU to compile for: select one")
	}
	var err error
	if r.table, err = gpu.Load(); err != nil {
		return nil, fmt.Errorf("smoke: %w", err)
	}
	if r.tools, err = findToolchain(opts.Bundle, opts.Flags, opts.Env); err != nil {
		return nil, fmt.Errorf("smoke: %w", err)
	}
	if r.examples, err = LoadExamples(opts.Examples); err != nil {
		return nil, fmt.Errorf("smoke: %w", err)
	}
	if r.opts.Jobs <= 0 {
		r.opts.Jobs = runtime.NumCPU()
	}
	cleanup, err := r.makeWork()
	if err != nil {
		return nil, fmt.Errorf("smoke: %w", err)
	}
	defer cleanup()
	report, err := r.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("smoke: %w", err)
	}
	if opts.WorkDir == "" {
		report.dropLogs() // they go with the folder
	}
	return report, nil
}

func (r *runner) makeWork() (cleanup func(), err error) {
	if r.opts.WorkDir == "" {
		if r.work, err = os.MkdirTemp("", "smoke-"); err != nil {
			return nil, err
		}
		return func() { _ = os.RemoveAll(r.work) }, nil // a leftover in the temporary folder harms nobody
	}
	if r.work, err = filepath.Abs(r.opts.WorkDir); err != nil {
		return nil, err
	}
	return func() {}, os.MkdirAll(r.work, 0o755)
}

func (r *Report) dropLogs() {
	for i := range r.Rows {
		r.Rows[i].Log = ""
	}
	for i := range r.Bundles {
		r.Bundles[i].Log = ""
	}
}

func (r *runner) run(ctx context.Context) (*Report, error) {
	version, err := r.tools.version(ctx)
	if err != nil {
		return nil, err
	}
	report := &Report{Bundle: r.tools.root, Compiler: r.tools.compiler, Version: version}
	n := len(r.opts.GPUs)
	report.Rows = make([]Row, len(r.examples)*n)
	objects := make([][]byte, len(report.Rows)) // code objects that compiled
	r.total = len(report.Rows) + len(r.bundleJobs())

	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(r.opts.Jobs)
	for i, ex := range r.examples {
		for j, target := range r.opts.GPUs {
			g.Go(func() (err error) {
				at := i*n + j
				report.Rows[at], objects[at], err = r.single(gctx, ex, target)
				return err
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}

	// Bundles come after the single objects that they are compared with.
	jobs := r.bundleJobs()
	report.Bundles = make([]BundleRow, len(jobs))
	same := make([]map[string]bool, len(jobs))
	g, gctx = errgroup.WithContext(ctx)
	g.SetLimit(r.opts.Jobs)
	for i, job := range jobs {
		g.Go(func() (err error) {
			singles := map[string][]byte{}
			var targets []gpu.Target
			for j, target := range r.opts.GPUs {
				if data := objects[job.example*n+j]; data != nil {
					singles[target.String()] = data
					targets = append(targets, target)
				}
			}
			report.Bundles[i], same[i], err = r.bundle(gctx, r.examples[job.example], job.kind, targets, singles)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for i, job := range jobs {
		if job.kind != KindPlain {
			continue
		}
		for j, target := range r.opts.GPUs {
			row := &report.Rows[job.example*n+j]
			row.Repeated = same[i][target.String()]
		}
	}
	return report, nil
}

// bundleJob is one bundle to make.
type bundleJob struct {
	example int
	kind    string
}

// bundleJobs lists them. The plain bundle of an example, compiled in another
// folder than its single objects, is also what proves that compiling twice
// gives the same bytes, so there is one for each; the first example has the
// other kinds too.
func (r *runner) bundleJobs() []bundleJob {
	jobs := []bundleJob{{0, KindPlain}, {0, KindCompressed}, {0, KindHost}}
	if !r.opts.Quick {
		for i := 1; i < len(r.examples); i++ {
			jobs = append(jobs, bundleJob{i, KindPlain})
		}
	}
	return jobs
}

func (r *runner) progress(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done++
	if r.opts.Progress != nil {
		r.opts.Progress(r.done, r.total, what)
	}
}

// single compiles an example for one GPU and checks the code object. The bytes
// are nil when it did not compile.
func (r *runner) single(ctx context.Context, ex Example, target gpu.Target) (Row, []byte, error) {
	row := Row{Example: ex.Name, GPU: target.String()}
	defer r.progress(ex.Name + " for " + target.String())
	dir := filepath.Join(r.work, "one", ex.Name, folder(target))
	o, err := r.tools.compile(ctx, dir, ex, ex.Name+".co",
		"--offload-device-only", "--no-gpu-bundle-output", "--offload-arch="+target.String())
	if err != nil {
		return row, nil, fmt.Errorf("compile %s for %s: %w", ex.Name, target, err)
	}
	row.Seconds = o.seconds
	if o.data == nil {
		row.Finding, row.Log = explain(o.stderr, target), o.log
		return row, nil, nil
	}
	row.Bytes = len(o.data)
	object, err := codeobj.Parse(o.data)
	if err != nil {
		row.Finding = err.Error()
		return row, o.data, nil
	}
	row.Kernels, row.Version = len(object.Kernels), object.Version
	row.Finding = strings.Join(checkObject(object, r.table, target, ex.Expect), "; ")
	if row.Finding == "" && ex.Launch != nil {
		if row.Emulator, row.Finding, err = emulate(ctx, ex.Launch, target, o.data); err != nil {
			return row, nil, fmt.Errorf("run %s as %s: %w", ex.Name, target, err)
		}
	}
	row.OK = row.Finding == ""
	return row, o.data, nil
}

// folder names a target's folder: a colon is no good in a path.
func folder(t gpu.Target) string { return strings.ReplaceAll(t.String(), ":", "-") }

// bundle makes one bundle and compares what is read from it with the single
// objects. The map says for which targets the bytes were the same.
func (r *runner) bundle(ctx context.Context, ex Example, kind string, targets []gpu.Target, singles map[string][]byte) (BundleRow, map[string]bool, error) {
	row := BundleRow{Example: ex.Name, Kind: kind}
	defer r.progress(kind + " of " + ex.Name)
	if len(targets) == 0 {
		row.Finding = "no GPU is left that the example compiles for"
		return row, nil, nil
	}
	dir := filepath.Join(r.work, "two", "another", "folder", strings.ReplaceAll(kind, " ", "-"), ex.Name)
	args := map[string][]string{
		KindPlain:      {"--offload-device-only"},
		KindCompressed: {"--offload-device-only", "--offload-compress"},
		KindHost:       {"-c"},
	}[kind]
	for _, t := range targets {
		args = append(args, "--offload-arch="+t.String())
	}
	o, err := r.tools.compile(ctx, dir, ex, ex.Name+".out", args...)
	if err != nil {
		return row, nil, fmt.Errorf("compile %s of %s: %w", kind, ex.Name, err)
	}
	row.Seconds = o.seconds
	if o.data == nil {
		row.Finding, row.Log = firstError(o.stderr), o.log
		return row, nil, nil
	}
	row.Bytes = len(o.data)
	same, findings, err := r.checkBundle(ctx, &row, o, targets, singles)
	row.Finding = strings.Join(findings, "; ")
	row.OK = err == nil && row.Finding == ""
	return row, same, err
}

// checkBundle reads the bundle back, by our own parser and by the bundle's own
// clang-offload-bundler, which must agree.
func (r *runner) checkBundle(ctx context.Context, row *BundleRow, o outcome, targets []gpu.Target, singles map[string][]byte) (map[string]bool, []string, error) {
	b, err := readBundle(row.Kind, o.data)
	if err != nil {
		return nil, []string{err.Error()}, nil
	}
	row.Plain = len(b.Plain)
	var findings []string
	if packed := row.Kind == KindCompressed; packed != (b.Compressed != nil) {
		findings = append(findings, fmt.Sprintf("compressed is %v, want %v", b.Compressed != nil, packed))
	}
	same := map[string]bool{}
	for _, e := range b.Entries {
		row.Entries = append(row.Entries, e.ID)
		if !e.Device() {
			continue
		}
		same[e.Target.String()] = bytes.Equal(e.Data, singles[e.Target.String()])
		if !same[e.Target.String()] {
			findings = append(findings, fmt.Sprintf("%s: compiled in another folder it has other bytes: a path or a time is in it", e.Target))
		}
	}
	if got := deviceIDs(b); !equal(got, wantIDs(targets)) {
		findings = append(findings, fmt.Sprintf("entries %s, want %s", strings.Join(got, " "), strings.Join(wantIDs(targets), " ")))
	}
	if row.Kind == KindHost {
		return same, findings, nil // the bundler lists no host objects
	}
	more, err := r.compareBundler(ctx, o.path, b)
	return same, append(findings, more...), err
}

func readBundle(kind string, data []byte) (*codeobj.Bundle, error) {
	if kind != KindHost {
		return codeobj.ParseBundle(data, codeobj.Limits{})
	}
	section, err := codeobj.FatBinary(data)
	if err != nil {
		return nil, err
	}
	list, err := codeobj.ParseBundles(section, codeobj.Limits{})
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("%d offload bundles in one object, want 1", len(list))
	}
	return list[0], nil
}

// compareBundler has clang-offload-bundler list and unpack what we parsed.
func (r *runner) compareBundler(ctx context.Context, path string, b *codeobj.Bundle) ([]string, error) {
	tool := filepath.Join(r.tools.root, bundlerPath)
	if !isFile(tool) {
		return []string{bundlerPath + " is missing from the bundle"}, nil
	}
	dir := filepath.Dir(path)
	out, stderr, err := r.tools.run(ctx, dir, tool, "--list", "--type=o", "--input="+path)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return []string{"clang-offload-bundler --list: " + firstError(stderr)}, nil
	}
	var findings []string
	if listed, ours := sorted(strings.Fields(out)), sorted(allIDs(b)); !equal(listed, ours) {
		findings = append(findings, fmt.Sprintf("clang-offload-bundler lists %s, we read %s", strings.Join(listed, " "), strings.Join(ours, " ")))
	}
	for i, e := range b.Entries {
		if !e.Device() {
			continue
		}
		one := filepath.Join(dir, fmt.Sprintf("entry-%d", i))
		_, stderr, err := r.tools.run(ctx, dir, tool, "--unbundle", "--type=o", "--input="+path, "--targets="+e.ID, "--output="+one)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			findings = append(findings, "clang-offload-bundler --unbundle: "+firstError(stderr))
			continue
		}
		data, err := readFile(one)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(data, e.Data) {
			findings = append(findings, fmt.Sprintf("%s: clang-offload-bundler unpacks other bytes than we do", e.Target))
		}
	}
	return findings, nil
}
