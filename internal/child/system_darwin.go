package child

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes make a child the leader of a session. Nothing here ends it with
// its parent: a child outlives a kill -9 of this program until Sweep.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// adopt has no equivalent here: a process that loses its parent goes to
// launchd, and is found by its group or its mark.
func adopt() {}

// leftovers cannot be told quickly here.
func leftovers() bool { return true }

// maxRSS reads ru_maxrss, which is in bytes here (getrusage(2)).
func maxRSS(usage any) int64 {
	if u, ok := usage.(*syscall.Rusage); ok {
		return u.Maxrss
	}
	return 0
}

// processes asks the kernel for its table (sysctl(3), kern.proc.all). It gives
// no session; the group has to do.
func processes() ([]process, error) {
	table, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	const zombie = 5 // SZOMB, <sys/proc.h>
	all := make([]process, 0, len(table))
	for i := range table {
		k := &table[i]
		all = append(all, process{
			pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid),
			start: uint64(k.Proc.P_starttime.Nano()), zombie: k.Proc.P_stat == zombie,
		})
	}
	return all, nil
}

// marked looks for an entry in the arguments and environment that a process
// was started with (sysctl(3), kern.procargs2).
func marked(pid int, entry string) (exact, name bool) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return false, true
	}
	return hasEntry(raw, entry)
}
