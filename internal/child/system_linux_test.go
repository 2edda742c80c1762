package child

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain is also the program that is to be killed: it runs a child.
func TestMain(m *testing.M) {
	dir := os.Getenv("CHILD_TEST")
	if dir == "" {
		os.Exit(m.Run())
	}
	_, err := Run(context.Background(), Command{
		Path: "/bin/sh", Args: []string{"-c", "echo $$ > x; mv x a.pid; exec sleep 1000"}, Dir: dir, Env: []string{"PATH=/usr/bin:/bin", "CHILD_TEST=" + dir},
	})
	if err != nil {
		os.Exit(1)
	}
}

// A child does not go on when this program is killed.
func TestAChildEndsWithThisProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "CHILD_TEST="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	when(dir, 1, func() { close(ready) })
	<-ready
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for range 500 { // the kernel takes a moment
		if len(alive(t, dir)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	Sweep(t.Context(), "CHILD_TEST="+dir)
	t.Error("the child is still there")
}

func TestParseStat(t *testing.T) {
	line := "42 (a) b) (c) S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"
	p, ok := parseStat(42, line)
	if want := (process{pid: 42, parent: 7, group: 8, session: 9, start: 12345}); !ok || p != want {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1 2", "1 (x) S a 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1"} {
		if _, ok := parseStat(1, bad); ok {
			t.Errorf("%q is taken for a process", bad)
		}
	}
}

func TestProcessesHasThisOne(t *testing.T) {
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.pid == os.Getpid() {
			if p.parent != os.Getppid() || p.zombie {
				t.Errorf("%+v", p)
			}
			return
		}
	}
	t.Error("this process is not found")
}
