package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/internal/budget"
	"github.com/stonemason-hip/stonemason/internal/child"
	"github.com/stonemason-hip/stonemason/internal/disk"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/trace"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
	"github.com/stonemason-hip/stonemason/toolchain/llvm"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// site is the work folder of a node and what has been done in it.
type site struct {
	b        *Builder
	n        *plan.Node
	key      key.Key
	contents map[string]store.Content
	lease    *budget.Lease // nil outside of a build: then jobs counts
	jobs     int
	work     string
	log      io.Writer

	run   *step.Run
	done  *progress
	used  child.Usage // by all steps so far
	space *disk.Guard // nil while nothing is run
}

// watch watches the space that steps have until end is called.
func (s *site) watch(ctx context.Context) (watched context.Context, end func()) {
	watched, space := disk.Watch(ctx, s.work)
	s.space = space
	return watched, func() {
		if space.Exhausted() {
			_ = discard(s.work) // nothing in it is trusted
		}
		space.End()
		s.space = nil
	}
}

// trusted is the error of something that wrote files, or that there was no room
// for them: what was made then may be half, and its maker may not have said so.
func (s *site) trusted(err error) error {
	if s.space == nil {
		return err
	}
	if full := s.space.Check(); full != nil {
		return full
	}
	return err
}

// linkMemory is what a link of an LLVM-sized program needs, in bytes.
const linkMemory = 4 << 30

// open makes the work folder ready. A build goes on with what finished steps
// left in src and build; where none is known, where a person has been at work,
// or when fresh is wished for, all of the folder goes. The stage never stays,
// nor do the home and the temporary files of whoever was here before.
func (s *site) open(ctx context.Context, fresh bool) error {
	var err error
	if s.done, err = loadProgress(s.work, s.key); err != nil {
		return err
	}
	switch {
	case len(s.done.Steps) == 0 || s.done.Touched || fresh:
		*s.done = progress{Key: s.done.Key}
		err = discard(s.work)
	case len(s.done.Staged) > 0: // before the stage goes
		s.done.Staged = nil
		err = s.done.save(s.work)
	}
	for _, dir := range []string{"stage", "home", "tmp"} {
		if err == nil {
			err = os.RemoveAll(filepath.Join(s.work, dir))
		}
	}
	if err == nil {
		err = s.unconfigured()
	}
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return s.furnish(ctx)
}

// takeOver ends what a killed build has left running in the work folder, which
// this process has the lock of: it would write on, into the stage too.
func (s *site) takeOver(ctx context.Context) {
	if _, err := os.Lstat(s.work); err == nil {
		child.Sweep(ctx, step.Mark(filepath.Join(s.work, "tmp")))
	}
}

// unconfigured empties the build folder when no step is done in it: CMake takes
// over what it finds of itself, also what is half.
func (s *site) unconfigured() error {
	if slices.ContainsFunc(s.done.Steps, func(m string) bool { return m != sourceMark }) {
		return nil
	}
	dir := filepath.Join(s.work, "build")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// discard removes a work folder, what vouches for the rest first: of a removal
// that is cut short nothing must be left that a later build would go on with.
func discard(work string) error {
	if err := os.Remove(filepath.Join(work, progressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(work)
}

// furnish makes the folders that steps expect, and the step.Run that names
// them.
func (s *site) furnish(ctx context.Context) error {
	for _, dir := range []string{"home", "tmp", "build", "stage"} {
		if err := os.MkdirAll(filepath.Join(s.work, dir), 0o755); err != nil {
			return fmt.Errorf("build: %w", err)
		}
	}
	if len(s.done.Steps) > 0 && s.done.Boot != bootID() {
		if err := s.done.save(s.work); err != nil { // it is going to be written to
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(s.work, "key"), []byte(s.key.Text), 0o644); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	var err error
	s.run, err = s.b.run(ctx, s.n, s.work, s.contents, s.lease, s.jobs)
	return err
}

// source puts the node's source tree in place.
func (s *site) source(ctx context.Context) error {
	if len(s.n.Sources) == 0 || slices.Contains(s.done.Steps, sourceMark) {
		return nil
	}
	if err := s.inStep("source", "", func(out io.Writer) error {
		src := filepath.Join(s.work, "src")
		if err := os.RemoveAll(src); err != nil {
			return err
		}
		if err := s.b.Sources.Prepare(ctx, s.n, src, out); err != nil {
			return err
		}
		return s.unchanged(ctx)
	}); err != nil {
		return err
	}
	return s.done.add(s.work, sourceMark)
}

// steps runs all steps that are not done yet.
func (s *site) steps(ctx context.Context) error {
	if err := s.source(ctx); err != nil {
		return err
	}
	if err := s.b.isolate(ctx, s.run, false); err != nil {
		return err
	}
	staged := false
	for i, st := range s.n.Steps {
		typed, err := st.Decode()
		if err != nil {
			return err
		}
		// Only steps before the first that writes the stage are remembered for
		// the next build: the stage is made in one go, on an empty folder, so
		// that nothing of an interrupted attempt can end up in an artifact.
		staged = staged || step.Stages(typed)
		if !staged && slices.Contains(s.done.Steps, mark(i, st)) {
			continue
		}
		if err := s.step(ctx, i, typed, staged); err != nil {
			return err
		}
	}
	return nil
}

// step runs one step and remembers that it is done.
func (s *site) step(ctx context.Context, i int, typed step.Step, staged bool) error {
	st := s.n.Steps[i]
	if err := s.inStep(st.Name, st.Uses, func(out io.Writer) error {
		s.run.Output = out
		return typed.Run(ctx, s.run)
	}); err != nil {
		return err
	}
	if staged {
		return s.done.stage(s.work, mark(i, st))
	}
	return s.done.add(s.work, mark(i, st))
}

// unchanged makes sure that the workspace that was copied is the one that the
// key names: somebody may be typing in it.
func (s *site) unchanged(ctx context.Context) error {
	if !slices.ContainsFunc(s.n.Sources, func(src plan.Source) bool { return src.Workspace != "" }) {
		return nil
	}
	now, err := s.b.Key(ctx, s.n, s.contents)
	if err == nil && now.ID != s.key.ID {
		err = exit.With(exit.Source, errors.New("the workspace was changed while it was copied: build again"))
	}
	return err
}

// inStep runs one step between its events, with its output going to the log
// and, line by line, to the event stream.
func (s *site) inStep(name, uses string, f func(out io.Writer) error) error {
	begun := time.Now()
	ev := trace.Event{Host: s.n.Host, Node: s.n.Component, Step: name}
	start := ev
	start.Kind = trace.StepStart
	s.b.Events.Emit(start)
	fmt.Fprintf(s.log, "=== %s: %s\n", s.n.ID, name)
	lines := trace.NewOutput(s.b.Events, ev)
	before := s.ninjaLogSize()
	err := s.trusted(f(io.MultiWriter(s.log, lines)))
	err = errors.Join(err, lines.Close())
	end := ev
	end.Kind, end.Duration, end.Outcome = trace.StepEnd, time.Since(begun), trace.Built
	if uses == "ninja" {
		end.Attrs = s.keepNinjaLog(before)
	}
	if s.run != nil {
		used := s.run.Usage.Take()
		end.CPU, end.MaxRSS = used.CPU, used.MaxRSS
		s.used.Add(used)
	}
	if err != nil {
		end.Outcome, end.Reason = trace.Failed, err.Error()
		fmt.Fprintf(s.log, "=== %s: %s failed: %v\n", s.n.ID, name, err)
		err = &stepError{name, err}
	}
	s.b.Events.Emit(end)
	return err
}

func (s *site) ninjaLog() string { return filepath.Join(s.work, "build", ".ninja_log") }

// ninjaLogSize tells what ninja appends from what earlier attempts left.
func (s *site) ninjaLogSize() int64 {
	info, err := os.Stat(s.ninjaLog())
	if err != nil {
		return 0
	}
	return info.Size()
}

// keepNinjaLog copies the log of ninja's edges beside the build's logs, for the
// report: the work folder goes when the build succeeds. A build does not fail
// for want of it.
func (s *site) keepNinjaLog(offset int64) map[string]string {
	if s.lease == nil { // not a step of the build that the report tells of
		return nil
	}
	data, err := os.ReadFile(s.ninjaLog())
	if err != nil {
		return nil
	}
	file := filepath.Join(s.b.Logs, s.n.Component+"@"+s.n.Host+".ninja_log")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return nil
	}
	return map[string]string{"ninja_log": file, "ninja_log_offset": strconv.FormatInt(offset, 10)}
}

// run makes the surroundings of a node's steps.
func (b *Builder) run(ctx context.Context, n *plan.Node, work string, contents map[string]store.Content, lease *budget.Lease, jobs int) (*step.Run, error) {
	build := b.Machine.Platform
	host, err := b.host(n)
	if err != nil {
		return nil, err
	}
	linkJobs := b.LinkJobs
	if linkJobs == 0 {
		linkJobs = b.Machine.LinkJobs(jobs)
		if lease != nil {
			linkJobs = min(linkJobs, lease.Fit(linkMemory))
		}
	}
	r := &step.Run{
		Build: build, Host: host, Work: work,
		Source: filepath.Join(work, "src"), BuildDir: filepath.Join(work, "build"), Stage: filepath.Join(work, "stage"),
		Lease: lease, Jobs: jobs, LinkJobs: linkJobs, Deps: map[string]string{}, Tools: b.Machine.Tools,
		CC: b.Machine.CC, CXX: b.Machine.CXX, Launcher: b.Machine.Tools["ccache"],
		Env:        step.Environment(filepath.Join(work, "home"), filepath.Join(work, "tmp"), b.Machine.Path),
		SliceOf:    step.Slicer(n.Slices),
		Exceptions: n.Exceptions,
		LeakPaths:  []string{work, b.Store.Root()},
	}
	if r.Launcher != "" {
		if err := os.MkdirAll(b.compilerCache(), 0o755); err != nil {
			return nil, err
		}
		// ccache(1), "Configuration options". Nothing of it is in a key, so it
		// must change no result: a base_dir would, which makes paths relative
		// where they are compiled in. What is not in it is compiled at once, and
		// found again by the dependencies that the compiler names: preprocessing
		// it first, to hash that, is a fifth of the time that LLVM's files take.
		r.Env = append(r.Env, "CCACHE_DIR="+b.compilerCache(), "CCACHE_COMPILERCHECK=content", "CCACHE_DEPEND=1", "CCACHE_MAXSIZE=10G")
	}
	// Only needs of the build: their contents are in the key, those of the
	// runtime's are not.
	for _, id := range n.Build {
		tree, err := b.Store.Tree(contents[id])
		if err != nil {
			return nil, err
		}
		r.Deps[b.Graph.Node(id).Component] = tree
	}
	if err := b.compilers(ctx, n, r); err != nil {
		return nil, fmt.Errorf("%s: %w", n.ID, err)
	}
	if slices.Contains(n.Tools, "llvm") {
		r.LLVM = b.Machine.LLVM
		if dep := b.llvmFromGraph(n); dep != nil {
			r.LLVM = built(filepath.Join(r.Deps[dep.Component], "lib", "llvm"), dep.Version)
		}
	}
	return r, nil
}

// compilers names what makes programs for a node's host when that is a Mac or
// not this machine, and where that one's headers and libraries are.
func (b *Builder) compilers(ctx context.Context, n *plan.Node, r *step.Run) error {
	if n.Host == plan.AnyHost || !compiles(n) {
		return nil
	}
	if r.Host.OS == "darwin" {
		if r.Sysroot = b.sysroot(n, r.Deps); r.Sysroot == "" {
			found, err := b.Machine.SDK(ctx)
			if err != nil {
				return err
			}
			r.Sysroot = found.Path
		}
	}
	if r.Host == r.Build {
		if install := b.Machine.LLVM; r.Host.OS == "darwin" && install != nil {
			r.Archiver, r.Ranlib = install.Tools["llvm-ar"], install.Tools["llvm-ranlib"]
		}
		return nil
	}
	var err error
	if r.Cross, err = b.Machine.Cross(r.Host, r.Sysroot); err != nil {
		return err
	}
	r.CC, r.CXX = &hostcc.Compiler{Path: r.Cross.CC}, &hostcc.Compiler{Path: r.Cross.CXX}
	return nil
}

// host is the platform that a node's programs are compiled for: an artifact for
// any host is made with this machine's.
func (b *Builder) host(n *plan.Node) (platform.Platform, error) {
	if n.Host == plan.AnyHost {
		return b.Machine.Platform, nil
	}
	return platform.Parse(n.Host)
}

// compilesFor reports whether a node's compilers make programs for another
// machine than this.
func (b *Builder) compilesFor(n *plan.Node, host platform.Platform) bool {
	return host != b.Machine.Platform && compiles(n)
}

// compiles reports whether a node runs compilers of C and C++.
func compiles(n *plan.Node) bool {
	return slices.Contains(n.Tools, "c++") || slices.ContainsFunc(n.Steps, func(s plan.Step) bool { return s.Uses == "cmake" })
}

// sysroot is the folder of headers and libraries for a node's host: what the
// user names, or what a component that the node needs has made; "" where the
// compilers bring their own.
func (b *Builder) sysroot(n *plan.Node, trees map[string]string) string {
	for _, id := range n.Build {
		if dep := b.Graph.Node(id); dep.Sysroot != "" {
			return filepath.Join(trees[dep.Component], dep.Sysroot)
		}
	}
	return ""
}

// compilerCache is the folder of ccache: beside the artifacts, so that it is
// found again where they are.
func (b *Builder) compilerCache() string { return filepath.Join(b.Store.Root(), "ccache") }

// built describes an LLVM that this build has made.
func built(prefix, version string) *llvm.Install {
	i := &llvm.Install{Prefix: prefix, Version: version, BinDir: filepath.Join(prefix, "bin"), LibDir: filepath.Join(prefix, "lib"), HasDev: true}
	if v, err := semver.NewVersion(version); err == nil {
		i.Major = int(v.Major())
	}
	return i
}
