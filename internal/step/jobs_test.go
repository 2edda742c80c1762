package step

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/budget"
)

// program puts a program that says its version, and else its arguments and what
// it knows of a jobserver, into a folder.
func program(t *testing.T, dir, name, version string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	text := "#!/bin/sh\ntest \"$1\" = --version && echo '" + version + "' && exit\n" +
		"echo \"args: $* flags: $MAKEFLAGS fds: $(ls /proc/self/fd | grep -c '^[34]$')\"\n"
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

// How a ninja is told its jobs, by the versions of ninja and of the make that
// its commands may run.
func TestNinjaTakesItsJobs(t *testing.T) {
	const none, byName, byDescriptor = "flags:  fds", "--jobserver-auth=fifo:", "--jobserver-auth=3,4"
	for _, c := range []struct {
		ninja, make string
		jobs, flags string
	}{
		{"1.11.1", "", "-j 4", none},
		{"1.11.1", "GNU Make 4.3", "-j 4", byDescriptor},
		{"1.12.1", "GNU Make 4.4.1", "-j 4", none},
		{"1.11.1", "GNU Make 3.81", "-j 4", none},
		{"1.13.0", "", "", byName},
		{"1.14.0.git", "GNU Make 4.4.1", "", byName},
		{"2.0", "GNU Make 10.0", "", byName},
		// make 4.3 takes a jobserver by name for an error.
		{"1.13.2", "GNU Make 4.3", "-j 4", byDescriptor},
		{"1.13.2", "bmake", "-j 4", none},
		{"rubbish", "", "-j 4", none},
	} {
		r, out := newRun(t)
		tools := t.TempDir()
		r.Tools["ninja"] = program(t, tools, "ninja", c.ninja)
		if c.make != "" {
			program(t, tools, "make", c.make)
		}
		links := t.TempDir() // a search path without the machine's make
		for _, name := range []string{"ls", "grep"} {
			if err := os.Symlink("/bin/"+name, filepath.Join(links, name)); err != nil {
				t.Fatal(err)
			}
		}
		r.Env = Environment(r.Work, r.Work, []string{tools, links})
		b := budget.New(5, 0)
		if _, ok := b.Begin(0, nil); !ok { // somebody else works, too
			t.Fatal("no lease")
		}
		lease, ok := b.Begin(0, nil)
		if !ok {
			t.Fatal("no lease")
		}
		r.Lease = lease
		if err := (&Ninja{Targets: []string{"all"}}).Run(t.Context(), r); err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		_, line, _ := strings.Cut(out.String(), "\nargs: ")
		if want := strings.Join(strings.Fields("-C "+r.BuildDir+" "+c.jobs+" all flags:"), " "); !strings.HasPrefix(line, want) || !strings.Contains(line, c.flags) {
			t.Errorf("ninja %s, make %q: %s, want %s and %s", c.ninja, c.make, line, want, c.flags)
		}
		if left, err := filepath.Glob(filepath.Join(r.Work, "jobserver")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v %v", left, err)
		}
		if got := lease.Take(9); got != 3 {
			t.Errorf("%+v: %d of 3 tokens came back", c, got)
		}
	}
}

// Commands are put behind what wraps them, and what they use is added up.
func TestWrapAndUsage(t *testing.T) {
	r, out := newRun(t)
	r.Wrap = func(argv []string) []string { return append([]string{"/bin/echo", "wrapped"}, argv...) }
	if err := r.Command(t.Context(), r.Work, nil, "/bin/false", "x"); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\nwrapped /bin/false x\n") {
		t.Errorf("output %q", out)
	}
	r.Wrap = nil
	if err := r.Command(t.Context(), r.Work, nil, "/bin/sh", "-c", "head -c 60000000 /dev/zero | tail -c 50000000 > /dev/null"); err != nil {
		t.Fatal(err)
	}
	sum := r.Usage.Sum()
	if sum.MaxRSS < 50_000_000 || sum.CPU <= 0 || r.Usage.Take() != sum || r.Usage.Take().CPU != 0 {
		t.Errorf("usage %+v", sum)
	}
}
