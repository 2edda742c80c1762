package llvm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/internal/capture"
	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// probeTimeout bounds one question to a tool. A cold libLLVM on a slow disk
// takes seconds; a tool that waits for input must not hold up doctor.
const probeTimeout = 30 * time.Second

// maxProbe bounds what a tool may answer.
const maxProbe = 1 << 20

// maxCandidates bounds the folders that are looked at.
const maxCandidates = 200

// Options say where to look and what is asked of an installation.
type Options struct {
	// Root stands for / ; empty is /. Only tests and images need another.
	Root string
	// ExtraPrefixes are folders with a bin folder that the user named. They
	// are not under Root.
	ExtraPrefixes []string
	// MinMajor is the oldest usable major version.
	MinMajor int
	// Required are the tools without which an installation is unusable.
	Required []string
	// Cache remembers what was found; nil asks the tools each time.
	Cache *statcache.Cache

	watch *statcache.Watch
}

// candidate is a folder that may hold an installation.
type candidate struct {
	prefix string
	// beside are prefixes that may hold tools that the vendor splits off
	// (Homebrew's lld).
	beside []string
	named  bool
}

// Detect finds the installations of the machine: usable ones first, the newest
// first among them, each unusable one with its reasons. A user-named prefix
// without clang is reported as unusable; elsewhere it is no installation.
func Detect(ctx context.Context, o Options) ([]Install, error) {
	if o.Root == "" {
		o.Root = "/"
	}
	question, asked := o.question(), time.Now()
	if found, ok := o.recall(question); ok {
		return found, nil
	}
	if o.Cache != nil {
		o.watch = &statcache.Watch{}
	}
	found, err := o.detect(ctx)
	if err != nil {
		return nil, err
	}
	return found, o.remember(question, found, asked)
}

func (o Options) detect(ctx context.Context) ([]Install, error) {
	candidates, err := o.candidates()
	if err != nil {
		return nil, fmt.Errorf("look for LLVM: %w", err)
	}
	results := make([]*Install, len(candidates))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, c := range candidates {
		g.Go(func() error {
			results[i] = o.inspect(ctx, c)
			return ctx.Err()
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("look for LLVM: %w", err)
	}
	var found []Install
	seen := map[string]bool{}
	named := map[string]int{}
	for i, in := range results {
		if in == nil {
			continue
		}
		// One clang reached by several prefixes is one installation.
		if real, err := filepath.EvalSymlinks(in.Tools["clang"]); err == nil {
			if seen[real] {
				continue
			}
			seen[real] = true
		}
		if candidates[i].named {
			named[in.Prefix] = len(named)
		}
		found = append(found, *in)
	}
	rank(found, named)
	return found, nil
}

// candidates lists the folders to look at: those the user named first, so that
// they win when another prefix leads to the same clang.
func (o Options) candidates() ([]candidate, error) {
	var list []candidate
	for _, prefix := range o.ExtraPrefixes {
		abs, err := filepath.Abs(prefix)
		if err != nil {
			return nil, err
		}
		list = append(list, candidate{prefix: abs, named: true, beside: brewLLD(abs)})
	}
	for _, pattern := range []string{
		// Debian, Ubuntu, apt.llvm.org; Fedora's versioned packages, which
		// write llvm20 without the dash and use lib64.
		"usr/lib/llvm-[0-9]*", "usr/lib64/llvm[0-9]*", "usr/lib/llvm[0-9]*",
		// Homebrew on Apple Silicon, on Intel and on Linux.
		"opt/homebrew/opt/llvm", "opt/homebrew/opt/llvm@[0-9]*",
		"usr/local/opt/llvm", "usr/local/opt/llvm@[0-9]*",
		"home/linuxbrew/.linuxbrew/opt/llvm", "home/linuxbrew/.linuxbrew/opt/llvm@[0-9]*",
		// Fedora's default version, Arch, Alpine; upstream's installers.
		"usr", "usr/local",
	} {
		o.watch.AddLinked(filepath.Dir(filepath.Join(o.Root, pattern)))
		matches, err := filepath.Glob(filepath.Join(escapeGlob(o.Root), pattern))
		if err != nil {
			return nil, err
		}
		for _, m := range matches {
			list = append(list, candidate{prefix: m, beside: brewLLD(m)})
		}
	}
	if len(list) > maxCandidates {
		return nil, fmt.Errorf("%d folders look like LLVM, more than %d", len(list), maxCandidates)
	}
	return list, nil
}

func escapeGlob(s string) string {
	return regexp.MustCompile(`[*?\[\\]`).ReplaceAllString(s, `\$0`)
}

// brewLLD are the formulae beside an llvm formula that may hold its lld.
func brewLLD(prefix string) []string {
	name := filepath.Base(prefix)
	version, ok := strings.CutPrefix(name, "llvm")
	if !ok || filepath.Base(filepath.Dir(prefix)) != "opt" {
		return nil
	}
	return []string{filepath.Join(filepath.Dir(prefix), "lld"+version)}
}

// inspect asks the tools of a candidate, and returns nil when there is no
// installation.
func (o Options) inspect(ctx context.Context, c candidate) *Install {
	in := &Install{Prefix: c.prefix, BinDir: filepath.Join(c.prefix, "bin"), Vendor: Other, root: o.Root}
	in.Tools = listTools(in.BinDir)
	in.LibDir = filepath.Join(c.prefix, "lib")
	if _, err := os.Stat(filepath.Join(c.prefix, "lib64/cmake/llvm")); err == nil {
		in.LibDir = filepath.Join(c.prefix, "lib64")
	}
	o.watchPrefix(in)
	clang := in.Tools["clang"]
	if clang == "" {
		if !c.named {
			return nil
		}
		in.Unusable = append(in.Unusable, "no clang in "+in.BinDir)
		return in
	}
	banner, err := o.probe(ctx, clang, "--version")
	if err != nil {
		in.Unusable = append(in.Unusable, "clang does not run: "+err.Error())
		return in
	}
	o.watchClang(clang, banner)
	if err := in.readBanner(banner); err != nil {
		in.Unusable = append(in.Unusable, err.Error())
		return in
	}
	o.addSplitTools(ctx, in, c.beside)
	if dir, err := o.probe(ctx, clang, "-print-resource-dir"); err == nil {
		in.ResourceDir = filepath.Clean(strings.TrimSpace(dir))
		o.watch.AddLinked(filepath.Join(in.ResourceDir, "include"))
	}
	if targets, err := o.probe(ctx, clang, "--print-targets"); err == nil {
		in.HasAMDGPU = regexp.MustCompile(`(?m)^\s+amdgcn\s`).MatchString(targets)
	}
	in.HasDev = isFile(filepath.Join(in.LibDir, "cmake/llvm/LLVMConfig.cmake")) &&
		isFile(filepath.Join(in.LibDir, "cmake/clang/ClangConfig.cmake"))
	o.judge(in)
	return in
}

// judge fills Missing and Unusable.
func (o Options) judge(in *Install) {
	for _, tool := range o.Required {
		if in.Tools[tool] == "" {
			in.Missing = append(in.Missing, tool)
		}
	}
	slices.Sort(in.Missing)
	in.Missing = slices.Compact(in.Missing)
	if in.Major < o.MinMajor {
		in.Unusable = append(in.Unusable, fmt.Sprintf("version %s is older than %d", in.Version, o.MinMajor))
	}
	if !in.HasAMDGPU {
		in.Unusable = append(in.Unusable, "clang has no amdgcn target")
	}
	if !filepath.IsAbs(in.ResourceDir) || !isDir(filepath.Join(in.ResourceDir, "include")) {
		in.Unusable = append(in.Unusable, fmt.Sprintf("clang's own headers are not in its resource folder %q", in.ResourceDir))
	}
	if len(in.Missing) > 0 {
		reason := "lacks " + strings.Join(in.Missing, ", ")
		if packages := in.Packages(false); len(packages) > 0 {
			reason += " (packages " + strings.Join(packages, ", ") + ")"
		}
		in.Unusable = append(in.Unusable, reason)
	}
}

// bannerVersion matches the first line of clang --version: "Debian clang
// version 22.1.8 (1~deb12u1)", "clang version 20.1.8 (Fedora 20.1.8-4.fc42)",
// "Homebrew clang version 21.1.0", "clang version 23.0.0git (https://…)".
var bannerVersion = regexp.MustCompile(`clang version (\d+)\.(\d+)\.(\d+)([0-9A-Za-z.+~-]*)`)

func (i *Install) readBanner(banner string) error {
	first, _, _ := strings.Cut(banner, "\n")
	if strings.HasPrefix(first, "Apple ") {
		return errors.New("it is Apple's clang, which has no amdgcn target")
	}
	m := bannerVersion.FindStringSubmatch(first)
	if m == nil {
		return fmt.Errorf("clang --version says %.80q, which names no version", first)
	}
	major, err := strconv.Atoi(m[1])
	if err != nil {
		return fmt.Errorf("clang --version says %.80q, which names no version", first)
	}
	i.Major, i.Version = major, m[1]+"."+m[2]+"."+m[3]
	// "23.0.0git" and "21.1.0rc2" come before the release of that number.
	if suffix := strings.Trim(m[4], ".-+~"); suffix != "" && suffix[0] >= 'A' {
		i.Version += "-" + strings.NewReplacer("~", "-", "+", "-").Replace(suffix)
	}
	for line := range strings.Lines(banner) {
		if triple, ok := strings.CutPrefix(line, "Target: "); ok {
			i.Triple = strings.TrimSpace(triple)
		}
	}
	switch {
	case strings.HasPrefix(first, "Debian ") || strings.HasPrefix(first, "Ubuntu "):
		i.Vendor = Debian
	case strings.HasPrefix(first, "Homebrew "):
		i.Vendor = Homebrew
	case strings.Contains(first, "(Fedora ") || strings.Contains(first, "(Red Hat "):
		i.Vendor = Fedora
	case regexp.MustCompile(`/usr/lib/llvm-\d+$`).MatchString(i.Prefix):
		i.Vendor = Debian
	}
	return nil
}

// addSplitTools adds lld from a package of its own when it is of clang's
// version.
func (o Options) addSplitTools(ctx context.Context, in *Install, beside []string) {
	for _, prefix := range beside {
		o.watch.AddLinked(filepath.Join(prefix, "bin"))
		tools := listTools(filepath.Join(prefix, "bin"))
		if tools["ld.lld"] == "" {
			continue
		}
		o.watchClang(tools["ld.lld"], "")
		banner, err := o.probe(ctx, tools["ld.lld"], "--version")
		m := regexp.MustCompile(`LLD (\d+)\.`).FindStringSubmatch(banner)
		if err != nil || m == nil || m[1] != strconv.Itoa(in.Major) {
			continue
		}
		for name, path := range tools {
			if in.Tools[name] == "" {
				in.Tools[name] = path
			}
		}
	}
}

// listTools lists the executables of LLVM in a bin folder, which may be
// /usr/bin and hold everything else too.
func listTools(bin string) map[string]string {
	tools := map[string]string{}
	entries, err := os.ReadDir(bin)
	if err != nil {
		return tools
	}
	for _, e := range entries {
		if !isToolName(e.Name()) {
			continue
		}
		path := filepath.Join(bin, e.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			tools[e.Name()] = path
		}
	}
	return tools
}

func isToolName(name string) bool {
	for _, prefix := range []string{"clang", "llvm-", "lld", "ld.lld", "ld64.lld"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"llc", "lli", "opt", "wasm-ld", "dsymutil", "FileCheck",
		"offload-arch", "amdgpu-arch", "nvptx-arch"}, name)
}

// probe asks a tool. That one did not answer is never remembered: it may have
// been for want of memory, time or a library.
func (o Options) probe(ctx context.Context, tool string, args ...string) (string, error) {
	said, err := probe(ctx, tool, args...)
	if err != nil {
		o.watch.Never()
	}
	return said, err
}

// probe asks a tool with an environment of its own.
func probe(ctx context.Context, tool string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := capture.Output(cmd, maxProbe)
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			said, _, _ := strings.Cut(strings.TrimSpace(string(exit.Stderr)), "\n")
			return "", fmt.Errorf("%w: %.200s", err, said)
		}
		return "", err
	}
	return string(out), nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
