package store

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// filled is a store with something in each of its folders, and what of it is
// there.
func filled(t *testing.T) (s *Store, left func() string) {
	t.Helper()
	s = open(t)
	aged(t, s, "one", 1)
	for _, file := range []string{
		"sources/sha256/" + strings.Repeat("ab", 32), "checkouts/c0ffee.git/HEAD", "apt/index/Packages",
		"work/half-0123456789ab/build/x.o", "quarantine/q/object/x", "tmp/stage-0123456789abcdef-1/x", "roots/x.json",
	} {
		put(t, filepath.Join(s.Root(), file), "x", 1)
	}
	return s, func() string {
		var names []string
		all, _ := contents()
		for _, name := range append(all, "tmp") {
			if entries, _ := os.ReadDir(filepath.Join(s.Root(), name)); len(entries) > 0 {
				names = append(names, name)
			}
		}
		return strings.Join(names, " ")
	}
}

const everything = "work apt roots quarantine objects actions sources checkouts tmp"

// All goes, but nothing of what a living process has made; what is not the
// store's stays, and the store can be used at once.
func TestEmpty(t *testing.T) {
	s, left := filled(t)
	put(t, filepath.Join(s.Root(), "mine.txt"), "x", 1)
	if err := os.Chmod(filepath.Join(s.Root(), "work/half-0123456789ab/build"), 0o500); err != nil {
		t.Fatal(err)
	}
	if got := left(); got != everything {
		t.Fatalf("there are %s", got)
	}
	own, err := s.Tmp("own")
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := s.Empty(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(dirs) != 8 || dirs[4] != filepath.Join(s.Root(), "objects") {
		t.Errorf("emptied %v", dirs)
	}
	if got := left(); got != "tmp" {
		t.Errorf("there are %s", got)
	}
	if entries, _ := os.ReadDir(filepath.Join(s.Root(), "tmp")); len(entries) != 1 || entries[0].Name() != filepath.Base(own) {
		t.Errorf("tmp holds %v", entries)
	}
	if _, err := os.Stat(filepath.Join(s.Root(), "mine.txt")); err != nil {
		t.Error(err)
	}
	a := seal(t, s, "one", "one")
	if err := whole(s, a); err != nil {
		t.Error(err)
	}
	// What it has read of an object is gone with the object.
	if _, err := s.Manifest(a.Content); err != nil {
		t.Fatal(err)
	}
	if dirs, err = s.Empty(t.Context()); err != nil || len(dirs) != 2 {
		t.Errorf("emptied %v, %v", dirs, err)
	}
	if _, err := s.Manifest(a.Content); err == nil {
		t.Error("the file list of an object that is gone is there")
	}
}

// While another process uses the store nothing is touched; when it has ended,
// in whatever way, all goes.
func TestEmptyWaitsForNobodyAndTakesFromNobody(t *testing.T) {
	for _, kill := range []bool{false, true} {
		s, left := filled(t)
		cmd, in, out := process(t, "hold", s.Root(), "one")
		if line, err := out.ReadString('\n'); line != "held\n" {
			t.Fatalf("%q, %v", line, err)
		}
		dirs, err := s.Empty(t.Context())
		var used *InUseError
		if !errors.As(err, &used) || used.By.PID != cmd.Process.Pid || len(dirs) != 0 {
			t.Errorf("emptied %v, %v", dirs, err)
		}
		if got := left(); got != everything {
			t.Errorf("there are %s", got)
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
			if text, err := io.ReadAll(out); err != nil || len(text) > 0 {
				t.Errorf("%q, %v", text, err)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Empty(t.Context()); err != nil {
			t.Error(err)
		}
		if got := left(); got != "" {
			t.Errorf("there are %s", got)
		}
	}
}

// gate holds the lock between taking leases and evicting.
func gate(t *testing.T, s *Store, how int) (open func()) {
	t.Helper()
	f, err := lockFile(t.Context(), filepath.Join(s.Root(), "locks", leaseLock), how)
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = f.Close() }
}

// Who takes a lease while somebody is about to empty the store keeps what it
// finds.
func TestEmptySeesWhoBeginsBeforeIt(t *testing.T) {
	s, left := filled(t)
	opens := gate(t, s, unix.LOCK_SH) // as one who is taking a lease
	done := make(chan error)
	go func() {
		_, err := s.Empty(context.WithoutCancel(t.Context()))
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(100 * time.Millisecond): // who does not wait has long been there
	}
	other, err := Open(s.Root())
	if err != nil {
		t.Fatal(err)
	}
	a, ok, err := other.Lookup("tool", action("one").Key.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	opens()
	var used *InUseError
	if err := <-done; !errors.As(err, &used) {
		t.Errorf("emptied: %v", err)
	}
	if got := left(); got != everything {
		t.Errorf("there are %s", got)
	}
	if err := whole(other, a); err != nil {
		t.Error(err)
	}
}

// A session does not begin while names are taken away, for it is looked at first
// who has one: a download that was there when it began would be gone.
func TestASessionWaitsForEviction(t *testing.T) {
	s := open(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	opens := gate(t, s, unix.LOCK_EX)
	begun := make(chan string)
	go func() { begun <- s.sessionID() }()
	select {
	case <-begun:
		t.Error("it did not wait")
		opens()
	case <-time.After(100 * time.Millisecond):
		opens()
		if <-begun == "" {
			t.Error("it does not begin")
		}
	}
}

// A store is emptied that waits for nobody, and Ctrl-C ends the waiting.
func TestEmptyCanBeCancelled(t *testing.T) {
	s, left := filled(t)
	opens := gate(t, s, unix.LOCK_SH)
	defer opens()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Empty(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if got := left(); got != everything {
		t.Errorf("there are %s", got)
	}
}

// Two processes build while a third empties the store again and again: nobody
// loses what it holds.
func TestProcessesBuildWhileAnotherEmpties(t *testing.T) {
	s := open(t)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var all []*exec.Cmd
	var outs []*bufio.Reader
	for i := range 2 {
		cmd, _, out := process(t, "churn", s.Root(), fmt.Sprint(100+i))
		all, outs = append(all, cmd), append(outs, out)
	}
	stop, done := make(chan struct{}), make(chan error)
	go func() {
		for {
			_, err := s.Empty(context.WithoutCancel(t.Context()))
			var used *InUseError
			if err != nil && !errors.As(err, &used) {
				done <- err
				return
			}
			select {
			case <-stop:
				done <- nil
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	for i, cmd := range all {
		text, err := io.ReadAll(outs[i])
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}
