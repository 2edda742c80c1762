// Package child runs one program with everything that it starts, and sees to
// it that nothing of that outlives it.
//
// A program is started as the leader of a session of its own, so that no key
// typed at the terminal reaches it and it cannot ask a question there. What
// belongs to it is found by descent, by session and process group, and by an
// entry of its environment (Command.Mark), which also those inherit that make
// a session of their own: ninja gives each of its commands a process group,
// and a daemon leaves its parents behind. On Linux this process adopts what
// loses its parent (prctl(2), PR_SET_CHILD_SUBREAPER), so that descent is
// never lost; elsewhere the mark is what is left.
package child

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// Command is a program to run.
type Command struct {
	// Path is the program's file, absolute; Args are its arguments without
	// its name.
	Path string
	Args []string
	// Dir is the folder to run in.
	Dir string
	// Env is the whole environment.
	Env []string
	// Files are further open files: the first is descriptor 3.
	Files []*os.File
	// Output receives what the program and all that it starts print.
	Output io.Writer
	// Confined says that the program does nothing itself but run another one in
	// a namespace of processes, as bubblewrap does: it and that one's first
	// process end when what they have started does. They are told nothing
	// before the rest has had the time to end, since their end is the others'
	// death, of which nobody learns what they have used.
	Confined bool
	// Mark is an entry of Env, such as "TMPDIR=/build/x/tmp", that no process
	// has which does not belong to this command. Without one, a process is
	// lost that leaves both its session and its parents.
	Mark string
}

// Usage is what a program and all that it started and waited for have used.
type Usage struct {
	// CPU is processor time, of user and system.
	CPU time.Duration
	// MaxRSS is the memory in bytes of the largest single process at its
	// peak. It is never less than what this process had itself when it
	// started the program: the kernel counts from the fork on.
	MaxRSS int64
}

// Add adds what a further program has used.
func (u *Usage) Add(v Usage) {
	u.CPU += v.CPU
	u.MaxRSS = max(u.MaxRSS, v.MaxRSS)
}

// The course of an ending, from its begin. Everything is told to end; after
// termGrace what did not is killed, the program itself last: ninja, when its
// commands are gone, removes what they left half-written and closes its log.
const (
	termGrace   = 600 * time.Millisecond
	leaderGrace = 1000 * time.Millisecond
	killGrace   = 1900 * time.Millisecond
	tick        = 20 * time.Millisecond
	outputGrace = 2 * time.Second
)

// Run runs a command to its end. When ctx is cancelled, the program and
// everything that it has started is ended within two seconds, and the error is
// the cause of the cancellation. What a program leaves running when it ends by
// itself is ended as well. The error of a program that fails is an
// *exec.ExitError.
func Run(ctx context.Context, c Command) (Usage, error) {
	if ctx.Err() != nil {
		return Usage{}, context.Cause(ctx)
	}
	adopt()
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = c.Dir, c.Env, c.Files
	cmd.SysProcAttr = attributes()
	// The pipe is our own: that of package exec would make Wait wait for
	// everybody who holds its other end, and those must be ended first.
	read, write, err := os.Pipe()
	if err != nil {
		return Usage{}, err
	}
	defer read.Close()
	cmd.Stdout, cmd.Stderr = write, write
	// The thread that starts a child must outlive it: see attributes.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err = cmd.Start()
	write.Close()
	if err != nil {
		return Usage{}, err
	}
	copied := make(chan error, 1)
	go func() { copied <- forward(c.Output, read) }()

	t := &tree{leader: cmd.Process.Pid, confined: c.Confined, mark: c.Mark, known: map[int]uint64{}}
	ended, stopped := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-ctx.Done():
			t.end(ended, true)
			stopped <- true
		case <-ended:
			stopped <- false
		}
	}()
	err = cmd.Wait()
	close(ended)
	cancelled := <-stopped
	if leftovers() {
		t.end(ended, false)
	}
	usage := used(cmd.ProcessState)
	usage.Add(t.usage)
	// Everybody who could write is gone; should one not be, the output is not
	// waited for.
	timer := time.AfterFunc(outputGrace, func() { read.Close() })
	if e := <-copied; err == nil && e != nil && !errors.Is(e, os.ErrClosed) {
		err = e
	}
	timer.Stop()
	if cancelled { // whatever it says: it was told to end before it had
		err = context.Cause(ctx)
	}
	return usage, err
}

// forward copies the output. When it cannot be written any more, the rest is
// read all the same: the program must not hang on a full pipe.
func forward(w io.Writer, r io.Reader) error {
	if w == nil {
		w = io.Discard
	}
	_, err := io.Copy(w, r)
	if err != nil {
		_, _ = io.Copy(io.Discard, r)
	}
	return err
}

// used reads a process's wait status.
func used(s *os.ProcessState) Usage {
	if s == nil {
		return Usage{}
	}
	return Usage{CPU: s.UserTime() + s.SystemTime(), MaxRSS: maxRSS(s.SysUsage())}
}

// hasEntry reports whether an environment, its entries ended by NULs, has an
// entry, and whether it has one of the same name at all.
func hasEntry(environ []byte, entry string) (exact, name bool) {
	variable, _, _ := bytes.Cut([]byte(entry), []byte("="))
	for e := range bytes.SplitSeq(environ, []byte{0}) {
		if string(e) == entry {
			return true, true
		}
		if n, _, ok := bytes.Cut(e, []byte("=")); ok && bytes.Equal(n, variable) {
			name = true
		}
	}
	return false, name
}
