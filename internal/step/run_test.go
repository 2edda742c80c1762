package step

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/llvm"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// newRun makes the surroundings of a step in a folder of the test's own.
func newRun(t *testing.T) (*Run, *bytes.Buffer) {
	t.Helper()
	work, out := t.TempDir(), new(bytes.Buffer)
	r := &Run{
		Build: platform.Native(), Host: platform.Native(), Work: work,
		Source: filepath.Join(work, "src"), BuildDir: filepath.Join(work, "build"), Stage: filepath.Join(work, "stage"),
		Jobs: 3, Deps: map[string]string{"zstd": "/store/zstd"}, Tools: map[string]string{},
		Env: Environment(work, work, []string{"/usr/bin", "/bin"}), Output: out, SliceOf: Slicer(nil),
		LeakPaths: []string{work},
	}
	for _, dir := range []string{r.Source, r.BuildDir, r.Stage} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return r, out
}

func TestExpand(t *testing.T) {
	r, _ := newRun(t)
	r.LLVM = &llvm.Install{Prefix: "/usr/lib/llvm-22", Major: 22}
	for in, want := range map[string]string{
		"": "", "plain $x $ {y}": "plain $x $ {y}", "${source}/a": r.Source + "/a", "${build}": r.BuildDir, "${stage}": r.Stage,
		"-j${jobs} ${linkjobs}": "-j3 1", "${llvm}/lib": "/usr/lib/llvm-22/lib", "${llvm.major}": "22",
		"${dep.zstd};${dep.zstd}": "/store/zstd;/store/zstd", "$${jobs}": "$3",
	} {
		if got, err := r.Expand(in); err != nil || got != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	// What a variable stands for is not expanded once more.
	r.Deps["odd"] = "/store/${jobs}"
	if got, err := r.Expand("${dep.odd}"); err != nil || got != "/store/${jobs}" {
		t.Errorf("a value that looks like a variable: %q, %v", got, err)
	}
}

func TestExpandErrors(t *testing.T) {
	r, _ := newRun(t)
	for in, want := range map[string]string{
		"${sourc}":            "did you mean ${source}?",
		"${}":                 "is not a variable",
		"${dep.hip}":          "hip is not among the component's needs",
		"${dep.}":             "is not among the component's needs",
		"${llvm}":             "names no llvm among its tools",
		"${llvm.major}":       "names no llvm among its tools",
		"${jobs}${xyz}${abc}": "${xyz} is not a variable", // the first mistake is named
	} {
		if _, err := r.Expand(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Expand(%q): %v, want %q", in, err, want)
		}
	}
	if _, err := r.ExpandAll([]string{"a", "${b}"}); err == nil {
		t.Error("ExpandAll passes over a mistake")
	}
}

func TestInStageConfines(t *testing.T) {
	r, _ := newRun(t)
	for in, want := range map[string]string{".": r.Stage, "a": r.Stage + "/a", "a/../b": r.Stage + "/b", "a//b/": r.Stage + "/a/b"} {
		if got, err := r.InStage(in); err != nil || got != want {
			t.Errorf("InStage(%q) = %q, %v, want %q", in, got, err, want)
		}
	}
	for _, in := range []string{"", "..", "../x", "a/../../x", "/etc/passwd", "/", "./../x"} {
		if got, err := r.InStage(in); err == nil {
			t.Errorf("InStage(%q) = %q", in, got)
		}
	}
}

// TestEnvironmentIsMade: a child sees these variables and no others, whatever
// the user has set.
func TestEnvironmentIsMade(t *testing.T) {
	t.Setenv("CFLAGS", "-O0")
	t.Setenv("LD_PRELOAD", "")
	t.Setenv("ROCM_PATH", "/opt/rocm")
	r, out := newRun(t)
	if err := r.Command(t.Context(), r.Work, map[string]string{"DESTDIR": "x"}, "/usr/bin/env"); err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(out.String()) {
		if name, _, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "+") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	want := []string{"DESTDIR", "HOME", "LANG", "LC_ALL", "NINJA_STATUS", "PATH", "SOURCE_DATE_EPOCH", "TERM", "TMPDIR", "TZ", "ZERO_AR_DATE"}
	if !slices.Equal(names, want) {
		t.Errorf("a child sees %v, want %v", names, want)
	}
	for _, line := range Environment("/h", "/t", []string{"/a", "/b"})[:3] {
		if !slices.Contains([]string{"HOME=/h", "TMPDIR=/t", "PATH=/a:/b"}, line) {
			t.Errorf("unexpected %s", line)
		}
	}
}

func TestCommandNamesAnUnknownTool(t *testing.T) {
	r, _ := newRun(t)
	if err := r.Command(t.Context(), r.Work, nil, "perl", "-v"); err == nil || !strings.Contains(err.Error(), "perl is not among the tools") {
		t.Errorf("error %v", err)
	}
	if err := r.Command(t.Context(), r.Work, nil, "/bin/false"); err == nil || !strings.Contains(err.Error(), "false: exit status 1") {
		t.Errorf("error %v", err)
	}
}

// The line of a command in the log can be pasted into a shell.
func TestCommandLineCanBePasted(t *testing.T) {
	args := []string{"plain", "", "two words", "it's", "$HOME", `"x"`, "a;b", "*", "~", "a\nb", "-DX=1"}
	line := strings.Join(quoteAll(append([]string{"printf", `%s|`}, args...)), " ")
	out, err := exec.Command("/bin/sh", "-c", line).Output()
	if want := strings.Join(args, "|") + "|"; err != nil || string(out) != want {
		t.Errorf("%s\nprints %q, %v; want %q", line, out, err, want)
	}
}

// TestCancellingEndsGrandchildren: ninja's compilers must not outlive a Ctrl-C.
func TestCancellingEndsGrandchildren(t *testing.T) {
	r, out := newRun(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the test")
	pipe := filepath.Join(r.Work, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := os.ReadFile(pipe) // to its end: when nobody holds it open any more
		ended <- err
	}()
	r.Output = writerFunc(func(p []byte) (int, error) {
		if bytes.HasPrefix(p, []byte("ready")) { // and not the line of the command itself
			cancel(stopped)
		}
		return out.Write(p)
	})
	err := r.Command(ctx, r.Work, nil, "/bin/sh", "-c", "(exec > "+pipe+"; echo ready >&2; sleep 1000) & wait")
	if !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
	if err := <-ended; err != nil { // or the test never ends
		t.Error(err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
