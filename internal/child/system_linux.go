package child

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes make a child the leader of a session, and make the kernel kill it
// when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG): after a
// kill -9 of this program no ninja must begin anything more.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// adopt makes this process the parent of descendants that lose theirs. Where
// that fails, in a kernel before 3.4, marks have to do.
func adopt() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// leftovers reports whether this process has children of other sessions than
// its own that may have been left by a command: adopted ones, or those of
// commands that run at the same time. It is quick, and says true in doubt.
func leftovers() bool {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		return true // proc_pid_children(5): not in every kernel
	}
	for _, name := range lists {
		if text, err := os.ReadFile(name); err == nil && len(bytes.TrimSpace(text)) > 0 {
			return true
		}
	}
	return false
}

// maxRSS reads ru_maxrss, which is in KiB here (getrusage(2)).
func maxRSS(usage any) int64 {
	if u, ok := usage.(*syscall.Rusage); ok {
		return u.Maxrss * 1024
	}
	return 0
}

// processes reads the table of processes from proc(5).
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		text, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has just ended
		}
		if p, ok := parseStat(pid, string(text)); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// parseStat reads /proc/PID/stat (proc_pid_stat(5)): the number, the name in
// parentheses, which may hold anything, the state, parent, group, session, and
// as the 22nd field the start.
func parseStat(pid int, text string) (process, bool) {
	end := strings.LastIndexByte(text, ')')
	if end < 0 {
		return process{}, false
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 20 {
		return process{}, false
	}
	p := process{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	var errs [4]error
	p.parent, errs[0] = strconv.Atoi(f[1])
	p.group, errs[1] = strconv.Atoi(f[2])
	p.session, errs[2] = strconv.Atoi(f[3])
	p.start, errs[3] = strconv.ParseUint(f[19], 10, 64)
	return p, errs == [4]error{}
}

// marked looks for an entry in the environment that a process was started
// with. The environment of other users' processes cannot be read: they are
// taken for unmarked, but not for strays.
func marked(pid int, entry string) (exact, name bool) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false, true
	}
	defer f.Close()
	environ, err := io.ReadAll(io.LimitReader(f, 4<<20))
	if err != nil {
		return false, true
	}
	return hasEntry(environ, entry)
}
