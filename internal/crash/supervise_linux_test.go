package crash

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A supervised program stops before each of its system calls that change files,
// and a test decides whether the call is made: seccomp(2), "user-space
// notification"; the layouts are those of linux/seccomp.h. Unlike ptrace(2) it
// minds neither threads nor children.

// changing are the calls that a Go program changes files with; openat counts
// where it may create. Writes are left out: what a file holds before its name
// is given is nobody's business.
func changing() []int {
	return []int{
		unix.SYS_OPENAT, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_MKDIRAT, unix.SYS_UNLINKAT,
		unix.SYS_SYMLINKAT, unix.SYS_LINKAT, unix.SYS_FTRUNCATE, unix.SYS_FCHMODAT, unix.SYS_UTIMENSAT,
	}
}

// call is one system call about to be made.
type call struct {
	n  int // counted from 1
	nr int
	// what names the call and its file, for messages.
	what string
}

type seccompData struct {
	nr   int32
	arch uint32
	ip   uint64
	args [6]uint64
}

type seccompNotif struct {
	id    uint64
	pid   uint32
	flags uint32
	data  seccompData
}

type seccompNotifResp struct {
	id    uint64
	val   int64
	err   int32
	flags uint32
}

// supervised is the helper: it asks for notifications about its own calls,
// hands the descriptor for them to the test over file 3, and becomes the
// program of args.
func supervised(args []string) error {
	runtime.LockOSThread() // the filter is the thread's that calls exec
	const (
		retAllow  = unix.SECCOMP_RET_ALLOW
		retNotify = unix.SECCOMP_RET_USER_NOTIF
		load      = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal     = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		bits      = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret       = unix.BPF_RET | unix.BPF_K
		flagsAt   = uint32(unsafe.Offsetof(seccompData{}.args) + 2*8) // openat's third argument, its lower half
	)
	filter := []unix.SockFilter{{Code: load, K: 0}}
	for _, nr := range changing() {
		if nr == unix.SYS_OPENAT {
			filter = append(filter,
				unix.SockFilter{Code: equal, K: uint32(nr), Jf: 4},
				unix.SockFilter{Code: load, K: flagsAt},
				unix.SockFilter{Code: bits, K: unix.O_CREAT, Jf: 1},
				unix.SockFilter{Code: ret, K: retNotify},
				unix.SockFilter{Code: ret, K: retAllow},
			)
			continue
		}
		filter = append(filter, unix.SockFilter{Code: equal, K: uint32(nr), Jf: 1}, unix.SockFilter{Code: ret, K: retNotify})
	}
	filter = append(filter, unix.SockFilter{Code: ret, K: retAllow})
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no new privileges: %w", err)
	}
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("seccomp: %w", errno)
	}
	unix.CloseOnExec(int(fd))
	if err := unix.Sendmsg(3, []byte{0}, unix.UnixRights(int(fd)), nil, 0); err != nil {
		return fmt.Errorf("handing over the listener: %w", err)
	}
	unix.CloseOnExec(3)
	return unix.Exec(args[0], args, os.Environ())
}

// supervision is a running supervised build.
type supervision struct {
	cmd      *exec.Cmd
	out      bytes.Buffer
	listener int
}

// supervise starts a build of p.
func (p *project) supervise(t testing.TB) *supervision {
	t.Helper()
	self, err := os.Executable()
	check(t, err)
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	check(t, err)
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	s := &supervision{cmd: p.command(t.Context(), p.args...)}
	s.cmd.Path, s.cmd.Args = self, append([]string{self, "supervised", binary}, p.args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.ExtraFiles = []*os.File{theirs}
	check(t, s.cmd.Start())
	check(t, theirs.Close())
	conn, err := net.FileConn(ours)
	check(t, err)
	check(t, ours.Close())
	defer conn.Close()
	rights := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), rights)
	if err != nil || n == 0 {
		err = errors.Join(err, s.cmd.Wait())
		t.Fatalf("no supervision (it needs Linux 5.5 or newer, and a container that allows seccomp): %v\n%s", err, &s.out)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	check(t, err)
	fds, err := unix.ParseUnixRights(&messages[0])
	check(t, err)
	s.listener = fds[0]
	unix.CloseOnExec(s.listener)
	return s
}

// each asks, before every call of the binary itself that changes files, what
// to answer: 0 lets it happen, an error number makes it fail. Calls of its
// children happen. It returns when the program has ended; answer may end it.
func (s *supervision) each(t testing.TB, answer func(call) unix.Errno) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.cmd.Wait() }()
	defer unix.Close(s.listener)
	n := 0
	for {
		select {
		case err := <-ended:
			return err
		default:
		}
		poll := []unix.PollFd{{Fd: int32(s.listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, 20); err != nil && !errors.Is(err, unix.EINTR) {
			t.Fatal(err)
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents&unix.POLLHUP != 0 {
				return <-ended
			}
			continue
		}
		var req seccompNotif
		if errno := ioctl(s.listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&req)); errno != 0 {
			if errno == unix.ENOENT || errno == unix.EINTR {
				continue // the caller was killed in the meantime
			}
			t.Fatal(errno)
		}
		resp := seccompNotifResp{id: req.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", req.pid)); err == nil && exe == binary {
			n++
			if errno := answer(call{n, int(req.data.nr), describe(req)}); errno != 0 {
				resp.flags, resp.err = 0, -int32(errno)
			}
		}
		if errno := ioctl(s.listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&resp)); errno != 0 && errno != unix.ENOENT {
			t.Fatal(errno)
		}
	}
}

func ioctl(fd int, request uintptr, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(arg))
	return errno
}

// describe names a call and its file.
func describe(req seccompNotif) string {
	names := map[int]string{
		unix.SYS_OPENAT: "create", unix.SYS_RENAMEAT: "rename", unix.SYS_RENAMEAT2: "rename", unix.SYS_FSYNC: "fsync", unix.SYS_FDATASYNC: "fdatasync",
		unix.SYS_MKDIRAT: "mkdir", unix.SYS_UNLINKAT: "unlink", unix.SYS_SYMLINKAT: "symlink", unix.SYS_LINKAT: "link",
		unix.SYS_FTRUNCATE: "truncate", unix.SYS_FCHMODAT: "chmod", unix.SYS_UTIMENSAT: "touch",
	}
	nr := int(req.data.nr)
	var files []string
	switch nr {
	case unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_FTRUNCATE:
		name, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", req.pid, req.data.args[0]))
		files = []string{name}
	case unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT:
		files = []string{text(req, 1), text(req, 3)}
	case unix.SYS_SYMLINKAT:
		files = []string{text(req, 0), text(req, 2)}
	default:
		files = []string{text(req, 1)}
	}
	return names[nr] + " " + strings.Join(files, " → ")
}

// text reads an argument that is a string out of the caller's memory.
func text(req seccompNotif, arg int) string {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", req.pid))
	if err != nil {
		return "?"
	}
	defer mem.Close()
	buf := make([]byte, 256)
	n, _ := mem.ReadAt(buf, int64(req.data.args[arg]))
	s, _, _ := bytes.Cut(buf[:n], []byte{0})
	return string(s)
}

// calls counts the calls of an undisturbed build.
func (p *project) calls(t testing.TB) []call {
	t.Helper()
	var all []call
	s := p.supervise(t)
	if err := s.each(t, func(c call) unix.Errno { all = append(all, c); return 0 }); err != nil {
		t.Fatalf("%v\n%s", err, &s.out)
	}
	if !slices.ContainsFunc(all, func(c call) bool { return c.nr == unix.SYS_RENAMEAT && strings.Contains(c.what, "objects") }) {
		t.Fatalf("no object gets its name among %d calls: is it the binary that is supervised?", len(all))
	}
	return all
}

// killedBefore builds and kills everything before the n-th call. It returns
// the call, and false when the build ended before it.
func (p *project) killedBefore(t testing.TB, n int) (at call, ok bool) {
	t.Helper()
	s := p.supervise(t)
	err := s.each(t, func(c call) unix.Errno {
		if c.n == n {
			at, ok = c, true
			killTree(t, s.cmd.Process.Pid, filepath.Dir(p.dir))
		}
		return 0
	})
	if !ok && err != nil {
		t.Fatalf("%v\n%s", err, &s.out)
	}
	return at, ok
}
