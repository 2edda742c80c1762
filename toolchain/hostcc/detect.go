package hostcc

import (
	"cmp"
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

	"github.com/stonemason-hip/stonemason/internal/capture"
	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// probeTimeout bounds one question to a compiler. macOS's shims can take
// seconds when they run for the first time.
const probeTimeout = 30 * time.Second

// maxOutput bounds what a compiler may answer; its macros are 20 kB.
const maxOutput = 4 << 20

// Options say which compilers to look for.
type Options struct {
	// CC and CXX are names or paths that a person chose, usually $CC and $CXX.
	// An empty one is looked for.
	CC, CXX string
	// Path is the search path, in the form of $PATH; empty takes $PATH.
	Path string
	// Cache remembers what was found; nil asks the compilers each time.
	Cache *statcache.Cache

	watch *statcache.Watch
}

// Detect finds a C and a C++ compiler. A chosen one is used or refused;
// otherwise the first good one among cc, gcc, clang and their versioned names
// is taken, and the C++ compiler that belongs to the C compiler is preferred.
// The error is or wraps a TooOldError, an UnusableError or a NotFoundError.
func Detect(ctx context.Context, o Options) (Pair, error) {
	if o.Path == "" {
		o.Path = os.Getenv("PATH")
	}
	question, asked := o.question(), time.Now()
	var pair Pair
	if _, ok := o.Cache.Recall(question, &pair); ok && pair.plausible() {
		return pair, nil
	}
	if o.Cache != nil {
		o.watch = &statcache.Watch{}
	}
	c, err := o.find(ctx, C, o.CC, nil)
	if err != nil {
		return Pair{}, err
	}
	cxx, err := o.find(ctx, CXX, o.CXX, partners(c.Path))
	if err != nil {
		return Pair{}, err
	}
	pair = Pair{C: c, CXX: cxx}
	o.watchSearch()
	return pair, o.Cache.Remember(question, pair, asked, 0, o.watch)
}

// find returns the chosen compiler, or the first good one.
func (o Options) find(ctx context.Context, l Language, chosen string, preferred []string) (Compiler, error) {
	if chosen != "" {
		path, err := o.lookup(chosen)
		if err != nil {
			return Compiler{}, err
		}
		o.watchProgram(path)
		return o.inspect(ctx, l, path)
	}
	names := []string{"cc", "gcc", "clang"}
	if l == CXX {
		names = []string{"c++", "g++", "clang++"}
	}
	failed := &NotFoundError{Language: l, Tried: names}
	tried := map[string]bool{}
	candidates := slices.Concat(preferred, names, o.versioned(names[1]), o.versioned(names[2]))
	for _, name := range candidates {
		path, err := o.lookup(name)
		if err != nil || tried[path] {
			continue
		}
		tried[path] = true
		o.watchProgram(path)
		c, err := o.inspect(ctx, l, path)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return Compiler{}, err
		}
		failed.Refused = append(failed.Refused, err)
	}
	return Compiler{}, failed
}

// lookup finds a program by name or path and makes its path absolute.
func (o Options) lookup(name string) (string, error) {
	if strings.Contains(name, "/") {
		path, err := filepath.Abs(name)
		if err == nil && !isExecutable(path) {
			err = errors.New("there is no such program")
		}
		if err == nil {
			return path, nil
		}
		return "", &UnusableError{Path: name, Reason: withoutFlags(name, err.Error())}
	}
	for _, dir := range filepath.SplitList(o.Path) {
		// A relative folder in the search path would tie the result to the
		// working directory.
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && isExecutable(path) {
			return path, nil
		}
	}
	return "", &UnusableError{Path: name, Reason: withoutFlags(name, "there is no such program in the search path")}
}

// withoutFlags explains what is wrong with CC="ccache gcc".
func withoutFlags(name, reason string) string {
	if strings.ContainsAny(name, " \t") {
		return reason + "; name one program without flags (for ccache: a link called gcc to it)"
	}
	return reason
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// versioned lists gcc-14, gcc-13, … as they are in the search path, newest
// first.
func (o Options) versioned(name string) []string {
	pattern := regexp.MustCompile("^" + regexp.QuoteMeta(name) + `-(\d{1,3})$`)
	versions := map[string]int{}
	for _, dir := range filepath.SplitList(o.Path) {
		entries, err := os.ReadDir(dir)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		for _, e := range entries {
			if m := pattern.FindStringSubmatch(e.Name()); m != nil {
				versions[m[0]], _ = strconv.Atoi(m[1])
			}
		}
	}
	var names []string
	for n := range versions {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(versions[b], versions[a]) })
	return names
}

// partners are the C++ compilers that belong to a C compiler: g++-12 beside
// gcc-12.
func partners(cc string) []string {
	dir, base := filepath.Split(cc)
	for _, pair := range [][2]string{{"clang", "clang++"}, {"gcc", "g++"}, {"cc", "c++"}} {
		// The longest first: gcc ends with cc. A prefix is a cross triple.
		if at := strings.LastIndex(base, pair[0]); at >= 0 {
			return []string{dir + base[:at] + pair[1] + base[at+len(pair[0]):]}
		}
	}
	return nil
}

// inspect asks a program what it is.
func (o Options) inspect(ctx context.Context, l Language, path string) (Compiler, error) {
	c := Compiler{Language: l, Path: path}
	args := []string{"-dM", "-E", "-x", "c", os.DevNull}
	if l == CXX {
		args = []string{"-dM", "-E", "-x", "c++", os.DevNull}
	}
	out, err := o.ask(ctx, path, args...)
	if err != nil {
		return Compiler{}, &UnusableError{Path: path, Reason: err.Error()}
	}
	if c.Kind, c.Version, err = identify(parseMacros(out)); err != nil {
		return Compiler{}, &UnusableError{Path: path, Reason: err.Error()}
	}
	if err := check(c); err != nil {
		return Compiler{}, err
	}
	triple, err := o.ask(ctx, path, "-dumpmachine")
	if err != nil {
		return Compiler{}, &UnusableError{Path: path, Reason: err.Error()}
	}
	c.Triple = strings.TrimSpace(triple)
	if c.Digest, err = o.digest(ctx, c, out); err != nil {
		return Compiler{}, &UnusableError{Path: path, Reason: err.Error()}
	}
	o.watchInputs(ctx, c)
	return c, nil
}

// parseMacros reads lines of "#define NAME VALUE".
func parseMacros(out string) map[string]string {
	macros := map[string]string{}
	for line := range strings.Lines(out) {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "#define ")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(rest, " ")
		macros[name] = value
	}
	return macros
}

// identify tells the kind and version. Clang defines __GNUC__ too, Apple's
// defines all of Clang's, and several others pretend to be GCC.
func identify(macros map[string]string) (Kind, string, error) {
	for _, other := range []string{"__INTEL_COMPILER", "__NVCOMPILER", "__PGI", "__TINYC__", "__SUNPRO_C", "__ibmxl__"} {
		if _, ok := macros[other]; ok {
			return "", "", fmt.Errorf("it is neither GCC nor Clang (it defines %s)", other)
		}
	}
	kind, prefix := GCC, [3]string{"__GNUC__", "__GNUC_MINOR__", "__GNUC_PATCHLEVEL__"}
	if _, ok := macros["__clang__"]; ok {
		kind, prefix = Clang, [3]string{"__clang_major__", "__clang_minor__", "__clang_patchlevel__"}
		if _, apple := macros["__apple_build_version__"]; apple {
			kind = AppleClang
		}
	}
	var parts []string
	for _, name := range prefix {
		n, err := strconv.ParseUint(macros[name], 10, 16)
		if err != nil {
			return "", "", fmt.Errorf("it does not say its version: %s is %.20q", name, macros[name])
		}
		parts = append(parts, strconv.FormatUint(n, 10))
	}
	return kind, strings.Join(parts, "."), nil
}

// ask runs a compiler with the search path and nothing else of the
// environment: CPATH, GCC_EXEC_PREFIX and the like would change its answers.
func (o Options) ask(ctx context.Context, path string, args ...string) (string, error) {
	out, _, err := o.askBoth(ctx, path, args...)
	return out, err
}

// environment is all that a compiler sees of ours.
func (o Options) environment() []string {
	env := []string{"LC_ALL=C", "PATH=" + o.Path}
	// Apple's shims keep a cache under HOME and honour DEVELOPER_DIR.
	for _, name := range []string{"HOME", "DEVELOPER_DIR"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// askBoth is ask, and what the compiler said on standard error.
func (o Options) askBoth(ctx context.Context, path string, args ...string) (said, remarked string, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = o.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	stdout, stderr, err := capture.Both(cmd, maxOutput)
	if err == nil {
		return string(stdout), string(stderr), nil
	}
	// It may have been for want of memory, time or a library: the next time may
	// be different, and then this compiler is the one to take.
	o.watch.Never()
	if ctx.Err() != nil {
		return "", "", fmt.Errorf("it did not answer: %w", ctx.Err())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return "", "", fmt.Errorf("it crashed: %w", err)
		}
	}
	if first, _, _ := strings.Cut(strings.TrimSpace(string(stderr)), "\n"); first != "" {
		return "", "", fmt.Errorf("%w: %.200s", err, first)
	}
	return "", "", err
}
