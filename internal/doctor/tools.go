package doctor

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/ui"
)

// tool is a program that Check runs for its version.
type tool struct {
	name     string
	commands []string // the first one on the PATH is asked
	args     []string
	min      version
	linux    bool // wanted on Linux only
}

// tools returns what builds need, with the least versions: Go as in go.mod;
// git 2.25 brought sparse checkouts of cones; CMake 3.25 is the first with
// workflow presets and the one of Debian 12; ninja 1.10 the first with
// "-t restat" and dynamic dependencies.
func tools() []tool {
	return []tool{
		{name: "go", commands: []string{"go"}, args: []string{"env", "GOVERSION"}, min: version{1, 26}},
		{name: "git", commands: []string{"git"}, args: []string{"--version"}, min: version{2, 25}},
		{name: "cmake", commands: []string{"cmake"}, args: []string{"--version"}, min: version{3, 25}},
		{name: "ninja", commands: []string{"ninja", "ninja-build"}, args: []string{"--version"}, min: version{1, 10}},
		{name: "compiler", commands: []string{"c++", "g++", "clang++"}, args: []string{"--version"}},
		{name: "patchelf", commands: []string{"patchelf"}, args: []string{"--version"}, linux: true},
		{name: "perl", commands: []string{"perl"}, args: []string{"-v"}},
	}
}

func (t tool) check(ctx context.Context, h Host) Item {
	it := Item{Name: t.name, Status: Missing, min: t.min}
	if t.min != (version{}) {
		it.Want = t.min.String() + " or newer"
	}
	for _, c := range t.commands {
		if it.Path = h.lookPath(c); it.Path != "" {
			break
		}
	}
	if it.Path == "" {
		if t.name == "go" {
			// The program was compiled, so only the mage targets need it.
			it.Status, it.Found = Warn, "not on the PATH; this program is of "+runtime.Version()
		}
		return it
	}
	out, err := h.output(ctx, it.Path, t.args...)
	if err != nil {
		it.Found = fmt.Sprintf("%s does not run: %v", it.Path, err)
		return it
	}
	v, ok := parseVersion(out)
	if !ok {
		it.Found = fmt.Sprintf("%s names no version", it.Path)
		return it
	}
	it.Status, it.Found = OK, v.String()
	if t.name == "compiler" {
		first, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
		it.Found = ui.Clean(first)
	}
	if v.less(t.min) {
		it.Status = Old
	}
	return it
}

// lookPath finds a program on the host's PATH, or returns "".
func (h Host) lookPath(name string) string {
	for _, dir := range filepath.SplitList(h.env("PATH")) {
		if !filepath.IsAbs(dir) { // what stands in the current folder is no tool
			continue
		}
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return p
		}
	}
	return ""
}

const (
	queryTime  = 30 * time.Second // for a program that only prints something
	queryBytes = 1 << 20
)

// output runs a program and returns what it prints, in English.
func (h Host) output(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(append([]string(nil), h.Env...), "LC_ALL=C")
	cmd.Dir = "/" // no go.mod or .git of the present folder has a say
	cmd.WaitDelay = time.Second
	var stdout, stderr limited
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); first != "" {
			return "", fmt.Errorf("%w: %s", err, ui.Clean(first))
		}
		return "", err
	}
	return stdout.String(), nil
}

// limited keeps the first megabyte that is written to it. The buffer is not
// embedded: its ReadFrom would be used instead of Write.
type limited struct{ b bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), max(0, queryBytes-l.b.Len()))])
	return len(p), nil
}

func (l *limited) String() string { return l.b.String() }

// version is major, minor, patch.
type version [3]int

var versionRE = regexp.MustCompile(`(?:^|[^\d.])(\d{1,5})\.(\d{1,5})(?:\.(\d{1,5}))?`)

// parseVersion finds the first version in a text: "git version 2.39.5 (Apple
// Git-154)", "1.11.1", "go1.26.8", "This is perl 5, version 36 (v5.36.0)".
func parseVersion(text string) (version, bool) {
	m := versionRE.FindStringSubmatch(text)
	if m == nil {
		return version{}, false
	}
	var v version
	for i := range v {
		v[i], _ = strconv.Atoi(m[i+1]) // digits only; a missing patch is 0
	}
	return v, true
}

func (v version) String() string {
	if v[2] == 0 {
		return fmt.Sprintf("%d.%d", v[0], v[1])
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2])
}

func (v version) less(w version) bool {
	for i := range v {
		if v[i] != w[i] {
			return v[i] < w[i]
		}
	}
	return false
}
