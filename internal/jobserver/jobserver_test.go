package jobserver

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
	"github.com/stonemason-hip/stonemason/internal/child"
)

func server(t *testing.T) *Server {
	t.Helper()
	s, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestTokens(t *testing.T) {
	s := server(t)
	if err := s.Put(700); err != nil || s.Unread() != 700 {
		t.Errorf("%v, %d unread", err, s.Unread())
	}
	if got := s.TakeBack(600); got != 600 || s.Unread() != 100 {
		t.Errorf("%d taken, %d unread", got, s.Unread())
	}
	if got := s.TakeBack(600); got != 100 || s.TakeBack(1) != 0 || s.TakeBack(-1) != 0 {
		t.Errorf("%d taken", got)
	}
	if s.Put(most+1) == nil {
		t.Error("more tokens than the pipe holds")
	}
	if err := s.Put(3); err != nil || s.Close() != 3 || s.Close() != 0 {
		t.Error("what is left is not counted once")
	}
	if _, err := os.Lstat(s.path); err == nil {
		t.Error("the pipe is still there")
	}
	if s.Put(1) == nil || s.TakeBack(1) != 0 || s.Unread() != 0 {
		t.Error("a closed pipe gives tokens")
	}
}

// What an earlier run left in the folder is in nobody's way.
func TestALeftoverIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "jobserver"), []byte("++++"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Unread() != 0 {
		t.Errorf("%d tokens", s.Unread())
	}
	if _, err := New(filepath.Join(dir, "missing")); err == nil {
		t.Error("a pipe in a folder that is not there")
	}
}

func TestReclaimCompetes(t *testing.T) {
	s := server(t)
	got := make(chan bool, 2)
	s.Reclaim(func() { got <- true })
	s.Reclaim(func() { got <- false }) // there is one already
	if err := s.Put(1); err != nil {
		t.Fatal(err)
	}
	if !<-got || s.Unread() != 0 {
		t.Error("the token was not taken")
	}
	if err := s.Put(1); err != nil {
		t.Fatal(err)
	}
	for range 50 { // a second one would have it soon
		time.Sleep(time.Millisecond)
		if s.Unread() != 1 {
			t.Fatal("another token was taken")
		}
	}
	s.TakeBack(1)
	// Once stopped it takes nothing; begun again it does.
	s.Reclaim(func() { t.Error("it took a token after the stop") })
	s.StopReclaim()
	s.StopReclaim()
	for waits := true; waits; {
		s.mu.Lock()
		waits = s.waiting
		s.mu.Unlock()
	}
	if err := s.Put(1); err != nil || s.Unread() != 1 {
		t.Errorf("%v, %d unread", err, s.Unread())
	}
	s.Reclaim(func() { got <- true })
	if !<-got {
		t.Error("the token was not taken")
	}
}

// command is a shell's command that notes how many of its like run, in the
// folder it runs in.
const command = `touch running.$$; ls | grep -c '^running' >> counts; sleep 0.02; rm running.$$`

// most of the numbers that the commands have noted in dir.
func peak(t *testing.T, dir string) (peak, lines int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "counts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		peak, lines = max(peak, n), lines+1
	}
	return peak, lines
}

// makefile is a make that runs make, each with so many commands at once.
func makefile(t *testing.T, dir string) {
	t.Helper()
	text := "all: sub $(foreach n,1 2 3 4 5 6 7 8 9 10 11 12,j$(n))\nj%:\n\t@" + strings.ReplaceAll(command, "$", "$$") +
		"\nsub:\n\t+@$(MAKE) --no-print-directory $(foreach n,21 22 23 24 25 26 27 28,j$(n))\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runMake(ctx context.Context, t *testing.T, dir string, s *Server) error {
	t.Helper()
	flags, files, err := s.ByDescriptor(3)
	if v, e := exec.Command("make", "--version").Output(); e == nil && !bytes.Contains(v, []byte("GNU Make 4.3")) && !bytes.Contains(v, []byte("GNU Make 4.2")) {
		flags, files = s.ByName(), nil
	}
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("make")
	if err != nil {
		t.Fatal(err)
	}
	out := new(bytes.Buffer)
	mark := "TMPDIR=" + t.TempDir() // each make's own
	_, err = child.Run(ctx, child.Command{
		Path: path, Args: []string{"-C", dir}, Dir: dir, Files: files, Output: out, Mark: mark,
		Env: []string{"PATH=/usr/bin:/bin", "MAKEFLAGS=" + flags, mark},
	})
	if strings.Contains(out.String(), "jobserver") {
		t.Errorf("make says: %s", out)
	}
	return err
}

// TestMakesShareABudget: two makes at once, each with a make inside, together
// run no more commands than the budget has jobs, and all of these; and then all
// tokens are back.
func TestMakesShareABudget(t *testing.T) {
	const jobs = 4
	b, dir := budget.New(jobs, 0), t.TempDir()
	makefile(t, dir)
	ended := make(chan error)
	for range 2 {
		lease := begin(b)
		go func() {
			s := server(t)
			lease.Open(s)
			err := runMake(t.Context(), t, dir, s)
			lease.End()
			ended <- err
		}()
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if p, lines := peak(t, dir); p > jobs || p < 2 || lines != 40 {
		t.Errorf("%d commands at once, budget %d; %d commands", p, jobs, lines)
	}
	allBack(t, b)
}

// begin waits for a lease, as the scheduler does; only one may wait at a time.
func begin(b *budget.Budget) *budget.Lease {
	for {
		if l, ok := b.Begin(0, nil); ok {
			b.Await(nil)
			return l
		}
		b.Await([]int64{0})
		<-b.Changed()
	}
}

// allBack begins as much as there are jobs, and no more.
func allBack(t *testing.T, b *budget.Budget) {
	t.Helper()
	var leases []*budget.Lease
	for {
		l, ok := b.Begin(0, nil)
		if !ok {
			break
		}
		leases = append(leases, l)
	}
	if len(leases) != b.Jobs() {
		t.Errorf("%d of %d tokens came back", len(leases), b.Jobs())
	}
	for _, l := range leases {
		l.End()
	}
}

// killParent kills the make or ninja that a command is run by. Another command
// may have done so before this one's shell has asked for its parent, which is
// the test by then.
const killParent = `{ test -e /proc/self && ! grep -q -e make -e ninja /proc/$PPID/comm || kill -9 $PPID; }`

// TestAKilledMakeLosesNoTokens: what a make held when it was killed comes back.
func TestAKilledMakeLosesNoTokens(t *testing.T) {
	b, dir := budget.New(4, 0), t.TempDir()
	text := "all: a b c d e\na b c d e:\n\t@touch $@; " + strings.ReplaceAll(killParent, "$", "$$") + "; sleep 100\n"
	if err := os.WriteFile(filepath.Join(dir, "Makefile"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	lease, _ := b.Begin(0, nil)
	s := server(t)
	lease.Open(s)
	if err := runMake(t.Context(), t, dir, s); err == nil {
		t.Error("make was not killed")
	}
	lease.End()
	allBack(t, b)
}

// runNinja runs the ninja of the search path in dir, as a step does: one from
// 1.13 on takes its jobs from the jobserver, an older one is told a number.
func runNinja(ctx context.Context, t *testing.T, dir, file string, lease *budget.Lease, s *Server) (said string, err error) {
	t.Helper()
	path, err := exec.LookPath("ninja")
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(path, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	out, mark := new(bytes.Buffer), "TMPDIR="+t.TempDir()
	c := child.Command{
		Path: path, Args: []string{"-f", file}, Dir: dir, Output: out, Mark: mark,
		Env: []string{"PATH=/usr/bin:/bin", "MAKEFLAGS=" + s.ByName(), mark},
	}
	var major, minor int
	if n, err := fmt.Sscanf(string(version), "%d.%d", &major, &minor); n != 2 {
		t.Fatalf("%q: %v", version, err)
	}
	if major == 1 && minor < 13 {
		taken := lease.Take(lease.Budget().Jobs())
		defer lease.Give(taken)
		c.Args = append(c.Args, "-j", strconv.Itoa(1+taken))
	}
	_, err = child.Run(ctx, c)
	if major == 1 && minor < 13 == strings.Contains(out.String(), "Jobserver mode detected") {
		t.Errorf("ninja %s says: %s", version, out)
	}
	return out.String(), err
}

// TestNinjasShareABudget: two ninjas at once run no more commands together than
// the budget has jobs, and all of theirs; and one that is killed with tokens in
// its hands loses none. A ninja from 1.13 on, first in PATH, is a client of the
// jobserver here.
func TestNinjasShareABudget(t *testing.T) {
	const jobs = 4
	b, dir := budget.New(jobs, 0), t.TempDir()
	ended := make(chan error)
	write := func(name, command string) {
		text := "builddir = " + name + ".d\nrule run\n  command = " + strings.ReplaceAll(command, "$", "$$") + "\n"
		for i := range 16 {
			text += fmt.Sprintf("build %s.%d: run\n", name, i)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.ninja", "b.ninja"} {
		write(name, command)
		lease := begin(b)
		go func() {
			s := server(t)
			lease.Open(s)
			said, err := runNinja(t.Context(), t, dir, name, lease, s)
			if err != nil {
				err = fmt.Errorf("%w: %s", err, said)
			}
			lease.End()
			ended <- err
		}()
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if p, lines := peak(t, dir); p > jobs || p < 2 || lines != 32 {
		t.Errorf("%d commands at once, budget %d; %d commands", p, jobs, lines)
	}
	allBack(t, b)

	write("c.ninja", "sleep 0.1; "+killParent+"; sleep 100")
	lease := begin(b)
	s := server(t)
	lease.Open(s)
	if _, err := runNinja(t.Context(), t, dir, "c.ninja", lease, s); err == nil {
		t.Error("ninja was not killed")
	}
	lease.End()
	allBack(t, b)
}

// TestClientsByName: programs that open the pipe by its name, as ninja from
// 1.13 on and make from 4.4 on do.
func TestClientsByName(t *testing.T) {
	const jobs = 3
	b, dir := budget.New(jobs, 0), t.TempDir()
	// A client in the shell: one command by itself, and one more for each token.
	script := `pipe=${MAKEFLAGS#*fifo:}
exec 3<>"$pipe"
one() { ` + strings.ReplaceAll(command, "$$", "$1") + `; }
(for i in 1 2 3 4; do one own.$0.$i; done) &
for i in 1 2 3 4 5 6 7 8; do
  token=$(dd bs=1 count=1 <&3 2>/dev/null)
  (one $0.$i; printf %s "$token" >&3) &
done
wait`
	ended := make(chan error)
	for i := range 2 {
		lease := begin(b)
		go func() {
			s := server(t)
			lease.Open(s)
			_, err := child.Run(t.Context(), child.Command{
				Path: "/bin/sh", Args: []string{"-c", script, fmt.Sprint(i)}, Dir: dir,
				Env: []string{"PATH=/usr/bin:/bin", "MAKEFLAGS=" + s.ByName()},
			})
			lease.End()
			ended <- err
		}()
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if p, lines := peak(t, dir); p > jobs || lines != 24 {
		t.Errorf("%d commands at once, budget %d; %d commands", p, jobs, lines)
	}
	allBack(t, b)
}
