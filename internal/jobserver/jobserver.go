// Package jobserver is the server's side of the protocol in which make, ninja
// and their like share a number of jobs.
//
// The tokens are bytes in a pipe. A program that was started with the pipe's
// address in MAKEFLAGS may run one job by itself, reads a byte for every
// further one that it wants to run at the same time, and writes the byte back
// when that has ended (GNU make manual, "POSIX Jobserver Interaction"). The
// pipe is a named one. make from 4.4 on and ninja from 1.13 on open it by name;
// make before that inherits two descriptors of it.
package jobserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Server is one pipe of tokens.
type Server struct {
	path string
	// read and write are our own ends, never waited on by a system call.
	read, write *os.File

	mu       sync.Mutex
	waiting  bool // someone waits in Reclaim
	stop     bool // and is to stop
	closed   bool
	inherits []*os.File
}

// most is how many tokens there can be: as many as a pipe holds for certain
// without blocking a writer (pipe(7), at least one page).
const most = 4096

// New makes a pipe of the name jobserver in a folder, with no tokens in it.
// What an earlier one left there is removed.
func New(dir string) (*Server, error) {
	path := filepath.Join(dir, "jobserver")
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("jobserver: %w", err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, fmt.Errorf("jobserver: %s: %w", path, err)
	}
	s := &Server{path: path}
	var err error
	// In this order and without blocking, neither waits for another end
	// (fifo(7)); and then both ends are always open.
	if s.read, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
		s.write, err = os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("jobserver: %w", err)
	}
	return s, nil
}

// ByName is the value of MAKEFLAGS for programs that open the pipe by its name.
func (s *Server) ByName() string { return "-j --jobserver-auth=fifo:" + s.path }

// ByDescriptor is the value of MAKEFLAGS for programs that inherit the pipe,
// with the files that the program must be given as its descriptors from first
// on. They are the server's, which closes them.
func (s *Server) ByDescriptor(first int) (flags string, files []*os.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.inherits) == 0 {
		// These are opened anew, and not copies of our own ends: whether a
		// read blocks is a matter of the open file, and theirs must. A pipe
		// whose other end is open opens at once.
		for _, mode := range []int{os.O_RDONLY, os.O_WRONLY} {
			fd, err := unix.Open(s.path, mode|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", nil, fmt.Errorf("jobserver: %s: %w", s.path, err)
			}
			s.inherits = append(s.inherits, os.NewFile(uintptr(fd), s.path))
		}
	}
	return fmt.Sprintf("-j --jobserver-auth=%d,%d", first, first+1), s.inherits, nil
}

// Unread is how many tokens lie in the pipe.
func (s *Server) Unread() int {
	n := 0
	s.control(s.read, func(fd int) { n, _ = unix.IoctlGetInt(fd, fionread) })
	return n
}

// Put adds tokens.
func (s *Server) Put(n int) error {
	if n > most {
		return fmt.Errorf("jobserver: %d tokens, at most %d", n, most)
	}
	tokens := make([]byte, n)
	for i := range tokens {
		tokens[i] = '+' // as make's own
	}
	// So few bytes are written all or not at all (pipe(7), PIPE_BUF).
	for len(tokens) > 0 {
		k := min(len(tokens), 512)
		err := errors.New("closed")
		s.control(s.write, func(fd int) { _, err = unix.Write(fd, tokens[:k]) })
		if err != nil {
			return fmt.Errorf("jobserver: %w", err)
		}
		tokens = tokens[k:]
	}
	return nil
}

// TakeBack removes up to n tokens from the pipe and says how many.
func (s *Server) TakeBack(n int) int {
	taken, buf := 0, make([]byte, min(max(n, 0), most))
	for taken < len(buf) {
		k := 0
		s.control(s.read, func(fd int) { k, _ = unix.Read(fd, buf[taken:]) })
		if k <= 0 {
			break
		}
		taken += k
	}
	return taken
}

// control makes a system call on a file that may have been closed.
func (s *Server) control(f *os.File, call func(fd int)) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { call(int(fd)) })
	}
}

// Reclaim begins to wait for the next token that lies in the pipe, in
// competition with the programs, and calls got when it has it. While one waits,
// another call changes nothing.
func (s *Server) Reclaim(got func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop = false
	if s.waiting || s.closed {
		return
	}
	s.waiting = true
	_ = s.read.SetReadDeadline(time.Time{})
	go func() {
		for {
			n, err := s.read.Read(make([]byte, 1))
			s.mu.Lock()
			again := n == 0 && errors.Is(err, os.ErrDeadlineExceeded) && !s.stop && !s.closed
			if again {
				_ = s.read.SetReadDeadline(time.Time{})
			} else {
				s.waiting = false
			}
			s.mu.Unlock()
			if again {
				continue
			}
			if n == 1 {
				got()
			}
			return
		}
	}()
}

// StopReclaim ends the waiting.
func (s *Server) StopReclaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting && !s.stop {
		s.stop = true
		_ = s.read.SetReadDeadline(time.Unix(1, 0))
	}
}

// Close removes the pipe and says how many tokens lay in it.
func (s *Server) Close() int {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return 0
	}
	s.closed = true
	s.mu.Unlock()
	left := 0
	if s.read != nil {
		left = s.TakeBack(most)
		s.read.Close()
	}
	if s.write != nil {
		s.write.Close()
	}
	for _, f := range s.inherits {
		f.Close()
	}
	os.Remove(s.path)
	return left
}
