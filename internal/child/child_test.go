package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a command that runs a script in a folder of the test's own, marked.
func shell(t *testing.T, script string, out io.Writer) (Command, string) {
	t.Helper()
	dir := t.TempDir()
	mark := "TMPDIR=" + dir
	return Command{
		Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Output: out, Mark: mark,
		Env: []string{"PATH=/usr/bin:/bin", mark},
	}, dir
}

// alive lists who of the numbers in the files dir/*.pid still lives.
func alive(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			if fmt.Sprint(p.pid) == strings.TrimSpace(string(text)) && !p.zombie {
				found = append(found, filepath.Base(file))
			}
		}
	}
	return found
}

// when calls f as soon as so many files dir/*.pid are there.
func when(dir string, count int, f func()) {
	go func() {
		for {
			if files, _ := filepath.Glob(filepath.Join(dir, "*.pid")); len(files) >= count {
				f()
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
}

// stubborn is a script that starts every kind of process that is hard to end,
// deaf to the polite signals: one in the session, one in a group of its own,
// one in a session of its own, and one that has lost its parents besides.
const stubborn = `
trap '' INT TERM HUP
deaf='trap "" INT TERM HUP; echo $$ > $0.new; mv $0.new $0.pid; while :; do sleep 1; done'
sh -c "$deaf" "$PWD/plain" &
bash -mc 'sh -c "$0" "$PWD/group" & wait' "$deaf" 2>/dev/null &
setsid sh -c "$deaf" "$PWD/session" &
(setsid sh -c "$deaf" "$PWD/orphan" &)
`

// forgetful starts one more, that has forgotten even its environment.
const forgetful = `
(env -i PATH=$PATH setsid sh -c "$deaf" "$PWD/nobody" &)
`

func TestCancellingEndsTheWholeTree(t *testing.T) {
	c, dir := shell(t, stubborn+forgetful+"while :; do sleep 1; done", nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped by the test")
	var cancelled time.Time
	when(dir, 5, func() { cancelled = time.Now(); cancel(stopped) })
	if _, err := Run(ctx, c); !errors.Is(err, stopped) {
		t.Errorf("error %v, want the cause of the cancellation", err)
	}
	t.Logf("ended after %v", time.Since(cancelled))
	if left := alive(t, dir); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// Where the processes cannot be listed, for want of a descriptor for instance,
// a cancelled program and its group end all the same.
func TestEndingWithoutATable(t *testing.T) {
	c, dir := shell(t, `trap '' TERM; sh -c 'trap "" TERM; echo $$ > x; mv x a.pid; while :; do sleep 1; done' & while :; do sleep 1; done`, nil)
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.Dir, c.Env, &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone, ready := make(chan struct{}), make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	when(dir, 1, func() { close(ready) })
	<-ready
	tr := &tree{leader: cmd.Process.Pid, known: map[int]uint64{}, table: func() ([]process, error) { return nil, syscall.EMFILE }}
	tr.end(gone, true)
	<-gone
	if left := alive(t, dir); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
	tr.end(gone, false) // there is nothing left to end
}

// What a program leaves behind when it ends by itself is ended, and does not
// keep Run waiting for its output.
func TestLeftoversEndWithTheProgram(t *testing.T) {
	out := new(bytes.Buffer)
	c, dir := shell(t, stubborn+"while test $(ls | grep -c '[.]pid$') -lt 4; do sleep 0.1; done; echo done", out)
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if left := alive(t, dir); len(left) > 0 || out.String() != "done\n" {
		t.Errorf("still there: %v; output %q", left, out)
	}
}

// A program that heeds the polite signal has the time to put things in order.
func TestEndingIsPoliteFirst(t *testing.T) {
	out := new(bytes.Buffer)
	c, dir := shell(t, `trap 'echo tidied; exit 0' TERM; echo $$ > a.pid; while :; do sleep 0.05; done`, out)
	ctx, cancel := context.WithCancel(t.Context())
	when(dir, 1, cancel)
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) || !strings.HasSuffix(out.String(), "tidied\n") {
		t.Errorf("error %v, output %q", err, out)
	}
}

// One that is stopped cannot heed a signal before it goes on.
func TestAStoppedProgramIsToldToo(t *testing.T) {
	out := new(bytes.Buffer)
	c, dir := shell(t, `trap 'echo tidied; exit 0' TERM; echo $$ > x; mv x a.pid; kill -STOP $$; while :; do sleep 0.05; done`, out)
	ctx, cancel := context.WithCancel(t.Context())
	when(dir, 1, func() {
		text, _ := os.ReadFile(filepath.Join(dir, "a.pid"))
		for stopped := false; !stopped; {
			stat, _ := os.ReadFile("/proc/" + strings.TrimSpace(string(text)) + "/stat")
			stopped = len(stat) == 0 || bytes.Contains(stat, []byte(") T "))
		}
		cancel()
	})
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) || !strings.HasSuffix(out.String(), "tidied\n") {
		t.Errorf("error %v, output %q", err, out)
	}
}

func TestTheLeaderIsKilledLast(t *testing.T) {
	for _, c := range []struct {
		after        time.Duration
		leader, told bool
		want         syscall.Signal
	}{
		{0, false, false, syscall.SIGTERM},
		{0, true, false, syscall.SIGTERM},
		{termGrace - 1, true, false, syscall.SIGTERM}, // one that was found late
		{tick, false, true, 0},
		{termGrace, false, true, syscall.SIGKILL},
		{termGrace, false, false, syscall.SIGKILL},
		{termGrace, true, true, 0},
		{leaderGrace - 1, true, true, 0},
		{leaderGrace, true, true, syscall.SIGKILL},
	} {
		if got := due(c.after, c.leader, c.told); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// Who has left its session, its parents and its environment belongs to nobody
// that can be told: as long as nothing is cancelled, another command's end does
// not end it.
func TestStraysOfOthersAreLeftAlone(t *testing.T) {
	other, dir := shell(t, `(env -i PATH=$PATH setsid sh -c 'echo $$ > x; mv x stray.pid; while ! test -e stop; do sleep 0.05; done; mv stray.pid ended' &)
		while ! test -e ended; do sleep 0.05; done`, nil)
	ended := make(chan error)
	go func() { _, err := Run(t.Context(), other); ended <- err }()
	ready := make(chan struct{})
	when(dir, 1, func() { close(ready) })
	<-ready
	one, _ := shell(t, "exit 0", nil)
	if _, err := Run(t.Context(), one); err != nil {
		t.Error(err)
	}
	if left := alive(t, dir); len(left) != 1 {
		t.Error("the other command lost its stray")
		_ = os.WriteFile(filepath.Join(dir, "ended"), nil, 0o644)
	}
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Commands that run at the same time do not end one another's processes.
func TestOthersAreLeftAlone(t *testing.T) {
	other, dir := shell(t, `(setsid sh -c 'echo $$ > x; mv x daemon.pid; while :; do sleep 1; done' &); while ! test -e stop; do sleep 0.05; done; kill -0 $(cat daemon.pid)`, nil)
	ended := make(chan error)
	go func() { _, err := Run(t.Context(), other); ended <- err }()
	ready := make(chan struct{})
	when(dir, 1, func() { close(ready) })
	<-ready

	one, _ := shell(t, "exit 0", nil)
	if _, err := Run(t.Context(), one); err != nil {
		t.Error(err)
	}
	two, twoDir := shell(t, stubborn+forgetful+"while :; do sleep 1; done", nil)
	ctx, cancel := context.WithCancel(t.Context())
	when(twoDir, 5, cancel)
	if _, err := Run(ctx, two); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the other command lost its daemon: %v", err)
	}
	if left := alive(t, dir); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// The usage is that of the largest process and of all processors' time, of
// grandchildren too, and of those who lost their parents.
func TestUsage(t *testing.T) {
	const eat = `sh -c 'head -c 60000000 /dev/zero | tail -c 50000000 | wc -c' > /dev/null`
	c, _ := shell(t, eat, nil)
	usage, err := Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if usage.MaxRSS < 50_000_000 || usage.MaxRSS > 1<<30 || usage.CPU <= 0 {
		t.Errorf("usage is %+v", usage)
	}
	u := Usage{CPU: 2, MaxRSS: 5}
	u.Add(Usage{CPU: 3, MaxRSS: 4})
	if u != (Usage{CPU: 5, MaxRSS: 5}) {
		t.Errorf("sum is %+v", u)
	}
}

func TestErrorsAreTheProgramsOwn(t *testing.T) {
	out := new(bytes.Buffer)
	c, _ := shell(t, "echo out; echo err >&2; exit 3", out)
	_, err := Run(t.Context(), c)
	var failed *exec.ExitError
	if !errors.As(err, &failed) || failed.ExitCode() != 3 || out.String() != "out\nerr\n" {
		t.Errorf("error %v, output %q", err, out)
	}
	c.Path = filepath.Join(c.Dir, "missing")
	if _, err := Run(t.Context(), c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, c); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// A log that cannot be written is an error, and not a program that hangs.
func TestOutputThatCannotBeWritten(t *testing.T) {
	c, _ := shell(t, "head -c 1000000 /dev/zero", nil)
	full := errors.New("full")
	c.Output = writer(func([]byte) (int, error) { return 0, full })
	if _, err := Run(t.Context(), c); !errors.Is(err, full) {
		t.Errorf("error %v", err)
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

func TestFilesArePassedOn(t *testing.T) {
	out := new(bytes.Buffer)
	c, dir := shell(t, "cat <&3; cat <&4", out)
	for _, name := range []string{"a", "b"} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c.Files = append(c.Files, f)
	}
	if _, err := Run(t.Context(), c); err != nil || out.String() != "ab" {
		t.Errorf("%v, %q", err, out)
	}
}

// Sweep ends what another process, killed meanwhile, has left behind.
func TestSweep(t *testing.T) {
	c, dir := shell(t, "", nil)
	cmd := exec.Command("/bin/sh", "-c", stubborn)
	cmd.Env, cmd.Dir = c.Env, dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ready := make(chan struct{})
	when(dir, 4, func() { close(ready) })
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	<-ready
	Sweep(t.Context(), c.Mark+"x")
	if left := alive(t, dir); len(left) != 4 {
		t.Errorf("another mark left only %v", left)
	}
	Sweep(t.Context(), c.Mark)
	if left := alive(t, dir); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

func TestHasEntry(t *testing.T) {
	const env = "PATH=/bin\x00TMPDIR=/a\x00X=TMPDIR=/b\x00"
	for entry, want := range map[string][2]bool{
		"TMPDIR=/a": {true, true}, "TMPDIR=/b": {false, true}, "TMPDIR=/": {false, true}, "TMP=/a": {false, false}, "X=TMPDIR=/b": {true, true},
	} {
		if exact, name := hasEntry([]byte(env), entry); [2]bool{exact, name} != want {
			t.Errorf("%s: %v %v, want %v", entry, exact, name, want)
		}
	}
}
