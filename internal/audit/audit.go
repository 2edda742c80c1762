// Package audit proves that a bundle stands on its own: that nothing in it
// leads outside, that it is for one machine, that it says nothing of the place
// it was built in, and that its programs start.
//
// The tree is walked once. Each regular file is then read once, by a pool of
// workers: every object file format looks at it (see format), and its bytes
// are searched for build paths. What needs the whole tree (which library a
// name leads to) is checked after that, and programs are run last.
package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Options say what a bundle is checked against.
type Options struct {
	// Platform is the machine that the bundle is for.
	Platform platform.Platform
	// BuildPaths are absolute paths that must not occur in any file: work and
	// store folders, the home folder.
	BuildPaths []string
	// Partial says that the tree is one part of a bundle: what it needs from
	// the other parts (libraries, targets of symlinks) is not missed.
	Partial bool
	// Execute runs every program of the bundle.
	Execute bool
	// Runner goes before a program's own arguments, for a bundle of another
	// platform: an emulator. Without it such programs are not run.
	Runner []string
	// ExecTimeout bounds one run of a program; 0 is 20 s.
	ExecTimeout time.Duration
	// Floor are the newest symbol versions that the bundle may ask of the base
	// system, by family: GLIBC → 2.36, and macOS → 14.0 for the macOS that its
	// images may need. A family that is not named is only reported.
	Floor map[string]string
	// System knows what macOS exports, for images of macOS; nil leaves their
	// imports from it unchecked.
	System SystemLibraries
	// Jobs is how many files are looked at, and programs run, at once; 0 is
	// the number of processors.
	Jobs int
}

const (
	defaultExecTimeout = 20 * time.Second
	// headSize is enough for every format's magic and for a #! line, which
	// Linux reads 256 bytes of (BINPRM_BUF_SIZE).
	headSize = 4096
)

// auditor is one run.
type auditor struct {
	opts     Options
	root     *os.Root
	tree     *tree
	formats  []format
	patterns []pattern
	report   *Report
	buffers  sync.Pool

	mu       sync.Mutex
	programs []program
}

// program is a file that can be run.
type program struct {
	path   string
	script bool
}

// Run audits the folder root. Findings are no error: an error means that the
// audit itself could not be done, so that nothing is proven.
func Run(ctx context.Context, root string, o Options) (*Report, error) {
	start := time.Now()
	if !o.Platform.Known() {
		return nil, fmt.Errorf("audit of %s: the platform that it is for is not given", root)
	}
	if o.ExecTimeout <= 0 {
		o.ExecTimeout = defaultExecTimeout
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("audit of %s: %w", root, err)
	}
	patterns, err := buildPatterns(o.BuildPaths)
	if err != nil {
		return nil, fmt.Errorf("audit of %s: %w", root, err)
	}
	if v, ok := o.Floor[FamilyMacOS]; ok {
		if _, err := macho.ParseVersion(v); err != nil {
			return nil, fmt.Errorf("audit of %s: the newest macOS that it may need: %w", root, err)
		}
	}
	dir, err := os.OpenRoot(abs)
	if err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	defer dir.Close()
	a := &auditor{opts: o, root: dir, patterns: patterns,
		report: &Report{Root: abs, Platform: o.Platform}}
	a.buffers.New = func() any { return newBuffer(patterns, chunkSize) }
	if a.tree, err = walk(ctx, dir); err != nil {
		return nil, fmt.Errorf("audit of %s: %w", abs, err)
	}
	a.formats = formats(o, a.tree)
	a.add(a.tree.check()...)
	if err := a.files(ctx); err != nil {
		return nil, fmt.Errorf("audit of %s: %w", abs, err)
	}
	for _, f := range a.formats {
		a.add(f.finish(a.report)...)
	}
	a.report.wrongPlatform()
	if o.Execute {
		if err := a.execute(ctx, abs); err != nil {
			return nil, fmt.Errorf("audit of %s: %w", abs, err)
		}
	}
	a.report.Findings = a.tree.group(a.report.Findings)
	a.report.Elapsed = time.Since(start)
	a.report.sort()
	return a.report, nil
}

func (a *auditor) add(findings ...Finding) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range findings {
		if a.opts.Partial && slices.Contains(wholeBundle(), f.Rule) {
			continue
		}
		a.report.Add(f)
	}
}

// wholeBundle are the rules that a part of a bundle cannot be judged by.
func wholeBundle() []string {
	return []string{ruleELFNeeded, ruleELFUnused, ruleLinkDangling, ruleHardLink,
		ruleMachONeeded, ruleMachOSymbol, ruleMachOIDMissing, ruleMachORPathUnused, ruleMachORPathLent}
}

// files looks into every regular file once, however many names it has, the largest first, so that no worker is
// left alone with it at the end.
func (a *auditor) files(ctx context.Context) error {
	var list []*entry
	for _, e := range a.tree.entries {
		if e.mode.IsRegular() && e.first() {
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(x, y *entry) int {
		return cmp.Or(cmp.Compare(y.size, x.size), strings.Compare(x.path, y.path))
	})
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(a.opts.Jobs)
	for _, e := range list {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return a.file(ctx, e)
		})
	}
	return g.Wait()
}

// file looks into one file.
func (a *auditor) file(ctx context.Context, e *entry) error {
	// Without blocking, in case a pipe has taken the file's place.
	f, err := a.root.OpenFile(filepath.FromSlash(e.path), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil // The walk has found its mode.
	}
	if err != nil {
		return fmt.Errorf("the tree changed while it was read: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() != e.size {
		return fmt.Errorf("the tree changed while it was read: %s", e.path)
	}
	buf := a.buffers.Get().(*buffer)
	defer a.buffers.Put(buf)
	head := make([]byte, min(e.size, headSize))
	if _, err := io.ReadFull(io.NewSectionReader(f, 0, e.size), head); err != nil {
		return fmt.Errorf("read %s: %w", e.path, err)
	}
	a.add(a.script(e, head)...)
	var judges []judge
	for _, format := range a.formats {
		if format.sniff(head) {
			l := format.load(e, f)
			a.add(l.findings...)
			if l.program {
				a.program(e, false)
			}
			if l.judge != nil {
				judges = append(judges, l.judge)
			}
		}
	}
	if isConfig(e.path) {
		findings, err := scanConfig(e, f)
		if err != nil {
			return err
		}
		a.add(findings...)
	}
	hits, err := buf.scan(ctx, f, isText(head), a.patterns, judges...)
	if err != nil {
		return fmt.Errorf("read %s: %w", e.path, err)
	}
	for _, j := range judges {
		a.add(j.findings()...)
	}
	for _, h := range hits {
		what := fmt.Sprintf("holds the build path %s at byte %d", h.pattern.path, h.first)
		if h.count > 1 {
			what = fmt.Sprintf("holds the build path %s %d times, first at byte %d", h.pattern.path, h.count, h.first)
		}
		a.add(finding(e.path, ruleBuildPath, what, "map the path away where it is compiled in (-ffile-prefix-map), or make it relative"))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.report.Files++
	a.report.Bytes += e.size
	return nil
}

// program remembers a file that can be run.
func (a *auditor) program(e *entry, script bool) {
	if e.mode.Perm()&0o111 == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range e.names() {
		a.programs = append(a.programs, program{name, script})
	}
}
