package store

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/exit"
)

// The test binary is also the other process of these tests: it does what
// STONEMASON_STORE_TEST says, and says what went wrong.
func TestMain(m *testing.M) {
	argv := strings.Fields(os.Getenv("STONEMASON_STORE_TEST"))
	if len(argv) == 0 {
		os.Exit(m.Run())
	}
	if err := other(argv[0], argv[1:]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func other(what string, args []string) error {
	switch what {
	case "hold":
		return hold(args[0], args[1])
	case "churn":
		seed, err := strconv.ParseUint(args[1], 10, 64)
		if err != nil {
			return err
		}
		return churn(args[0], rand.New(rand.NewPCG(seed, 1)))
	}
	return otherHere(what, args)
}

// process starts the test binary as another process. Its standard input stays
// open until the test ends it.
func process(t *testing.T, argv ...string) (cmd *exec.Cmd, in io.Closer, out *bufio.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STONEMASON_STORE_TEST="+strings.Join(argv, " "))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, in, bufio.NewReader(pipe)
}

// hold looks an artifact up, says so, waits until its input ends, and reads it.
func hold(root, name string) error {
	s, err := Open(root)
	if err != nil {
		return err
	}
	a, ok, err := s.Lookup("tool", action(name).Key.ID)
	if err != nil || !ok {
		return fmt.Errorf("%s is found: %v, %v", name, ok, err)
	}
	if _, err := s.Tmp("unfinished"); err != nil {
		return err
	}
	fmt.Println("held")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
		return err
	}
	return whole(s, a)
}

// whole holds an object to its manifest.
func whole(s *Store, a Action) error {
	problems, err := s.examine(context.Background(), a.Content)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("%s is no longer whole: %v", a.Content.Short(), problems)
	}
	return err
}

// What another process has looked up is not evicted while it lives, whether it
// ends well or is killed.
func TestALeaseLivesAsLongAsItsProcess(t *testing.T) {
	for _, kill := range []bool{false, true} {
		s := open(t)
		aged(t, s, "held", 10)
		aged(t, s, "other", 1)
		cmd, in, out := process(t, "hold", s.Root(), "held")
		if line, err := out.ReadString('\n'); line != "held\n" {
			t.Fatalf("%q, %v", line, err)
		}
		got := trim(t, s, TrimOptions{Max: 0, Stale: true})
		if len(got.Removed) != 1 || len(got.Kept) != 1 || !strings.Contains(strings.Join(got.Kept[0].By, ""), fmt.Sprintf("process %d in ", cmd.Process.Pid)) {
			t.Errorf("removed %v, kept %v", got.Removed, got.Kept)
		}
		if found := there(t, s, "held", "other"); found != "held" {
			t.Errorf("there are %s", found)
		}
		if kill {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
		} else {
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if line, err := out.ReadString('\n'); err != io.EOF {
				t.Errorf("%q, %v", line, err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		trim(t, s, TrimOptions{Max: 0})
		if found := there(t, s, "held"); found != "" {
			t.Errorf("killed %v: %s outlives its process", kill, found)
		}
		if left, _ := os.ReadDir(filepath.Join(s.Root(), "tmp")); len(left) != 0 {
			t.Errorf("killed %v: tmp holds %v", kill, left)
		}
	}
}

// churn does at random what builds and evictions do, and reads what it holds.
func churn(root string, r *rand.Rand) error {
	for range 6 {
		s, err := Open(root)
		if err != nil {
			return err
		}
		held := map[string]Action{}
		for range 12 {
			name := fmt.Sprint("a", r.IntN(5))
			a, ok, err := s.Lookup("tool", action(name).Key.ID)
			if err != nil {
				return err
			}
			if !ok {
				if was, had := held[name]; had {
					return fmt.Errorf("%s (%s) is gone while it is held", name, was.Content.Short())
				}
				dir, err := s.Tmp("stage")
				if err != nil {
					return err
				}
				for i := range 4 {
					if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), []byte(strings.Repeat(name, 300+i)), 0o644); err != nil {
						return err
					}
				}
				if a, err = s.Seal(context.Background(), action(name), dir, func(string) string { return "run" }); err != nil {
					return err
				}
			}
			held[name] = a
			if r.IntN(3) == 0 {
				if _, err := s.Trim(context.Background(), TrimOptions{Max: int64(r.IntN(8000)), Stale: true}); err != nil {
					return err
				}
			}
		}
		for _, a := range held {
			if err := whole(s, a); err != nil {
				return err
			}
		}
		if w := s.Warnings(); len(w) > 0 {
			return fmt.Errorf("warnings %q", w)
		}
		if r.IntN(2) == 0 {
			if err := s.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Several processes build and evict on one store, and some are killed at any
// moment: nobody loses what it holds, and what has a name is whole.
func TestProcessesBuildAndEvictAtOnce(t *testing.T) {
	s := open(t)
	for round := range 4 {
		var all []*exec.Cmd
		var outs []*bufio.Reader
		for i := range 3 {
			cmd, _, out := process(t, "churn", s.Root(), fmt.Sprint(round*10+i))
			all, outs = append(all, cmd), append(outs, out)
		}
		if err := all[0].Process.Kill(); err != nil { // early or late, as it comes
			t.Fatal(err)
		}
		for i, cmd := range all {
			text, err := io.ReadAll(outs[i])
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err != nil && i > 0 {
				t.Errorf("round %d: %v\n%s", round, err, text)
			}
		}
	}
	v, err := s.Verify(t.Context())
	if err != nil || len(v.Findings) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	trim(t, s, TrimOptions{Max: -1})
	if left, _ := os.ReadDir(filepath.Join(s.Root(), "tmp")); len(left) != 0 {
		t.Errorf("tmp holds %v", left)
	}
}

// A lease that found no room for its end does not spoil the one that comes
// after it.
func TestALeaseAfterOneThatWasCutShort(t *testing.T) {
	// In a process of its own, without the log of opened files that go test keeps of
	// this one: the limit is for all files, and that log could meet it.
	const inside = "STONEMASON_STORE_LIMITED"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	s := open(t)
	a := aged(t, s, "one", 1)
	if err := s.Hold(Content("sha256:" + strings.Repeat("0", 64))); err != nil {
		t.Fatal(err)
	}
	limit := unix.Rlimit{}
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(s.lease.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(info.Size()) + 10, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	err = s.Hold(Content("sha256:" + strings.Repeat("1", 64)))
	if restore := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); restore != nil {
		t.Fatal(restore)
	}
	if exit.Of(err) != exit.Resources {
		t.Fatalf("a lease without room: %v", err)
	}
	if err := s.Hold(a.Content); err != nil {
		t.Fatal(err)
	}
	if got := trim(t, s, TrimOptions{Max: 0}); names(got.Removed) != "" {
		t.Errorf("removed %s, which is held", names(got.Removed))
	}
}

// Sessions that begin at the same time do not take each other's claims for
// those of dead processes.
func TestSessionsBeginAtOnce(t *testing.T) {
	first := open(t) // which has a session, as it is new
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	root := first.Root()
	const many = 60
	stores := make([]*Store, many)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			s, err := Open(root)
			if err == nil {
				err = s.Hold(Content("sha256:" + strings.Repeat("0", 64)))
			}
			if err != nil {
				t.Error(err)
			}
			stores[i] = s
		})
	}
	all.Wait()
	live, err := stores[0].Sessions()
	if err != nil || len(live) != many {
		t.Errorf("%d of %d sessions are known, %v", len(live), many, err)
	}
	for _, x := range live {
		if len(x.Contents) != 1 {
			t.Errorf("session %s holds %v", x.ID, x.Contents)
		}
	}
	runtime.KeepAlive(stores) // a lease ends with the store that nobody knows any more
}
