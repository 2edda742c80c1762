package child

import (
	"context"
	"os"
	"syscall"
	"time"
)

// process is one line of the system's table of processes.
type process struct {
	pid, parent, group, session int
	// start tells a process from a later one of the same number.
	start  uint64
	zombie bool
}

// tree is a program and everything that it has started.
type tree struct {
	leader int
	// waited says that the leader is gone, and its number anybody's.
	waited bool
	// confined is Command.Confined.
	confined bool
	mark     string
	// known are the processes found so far, with their start.
	known map[int]uint64
	// usage is that of adopted processes, whom the leader never waited for.
	usage Usage
	// table lists all processes; nil means processes.
	table func() ([]process, error)
}

// end ends the tree; gone is closed when the leader has been waited for. Of a
// cancelled command also those adopted processes are taken that cannot be told
// to belong to any: whoever cancels, cancels all.
func (t *tree) end(gone <-chan struct{}, cancelled bool) {
	begun := time.Now()
	told := map[int]bool{}
	for {
		select {
		case <-gone:
			t.waited = true
		default:
		}
		living := t.living(cancelled)
		if len(living) == 0 {
			return
		}
		after := time.Since(begun)
		if after > killGrace {
			return // not even killed: it hangs in the kernel
		}
		for _, p := range living {
			last := p.pid == t.leader || t.confined && p.parent == t.leader
			switch due(after, last, told[p.pid] || last && t.confined) {
			case syscall.SIGTERM:
				_ = syscall.Kill(p.pid, syscall.SIGTERM)
				_ = syscall.Kill(p.pid, syscall.SIGCONT) // one that is stopped hears nothing
				told[p.pid] = true
			case syscall.SIGKILL:
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
		if len(living) == 1 && living[0].pid == t.leader {
			select { // it ends by itself, most likely
			case <-gone:
			case <-time.After(tick):
			}
			continue
		}
		time.Sleep(tick)
	}
}

// due is the signal that a process is to get so long after an ending began, 0
// for none: who is last is left the time to see its commands end.
func due(after time.Duration, last, told bool) syscall.Signal {
	switch {
	case after < termGrace && !told:
		return syscall.SIGTERM
	case after >= leaderGrace, after >= termGrace && !last:
		return syscall.SIGKILL
	}
	return 0
}

// living finds who of the tree lives, and buries the adopted dead.
func (t *tree) living(cancelled bool) []process {
	self := os.Getpid()
	table := t.table
	if table == nil {
		table = processes
	}
	all, err := table()
	if err != nil {
		// There is no /proc, or no descriptor free to read it. The leader's
		// process group can be told to end all the same (kill(2), a negative
		// number), and ninja hands that on.
		if t.leader == 0 || t.waited {
			return nil
		}
		return []process{{pid: -t.leader}}
	}
	var living []process
	for _, p := range t.members(all, self, cancelled) {
		if !p.zombie {
			living = append(living, p)
		} else if p.parent == self && p.pid != t.leader {
			t.bury(p.pid)
		}
	}
	return living
}

// members are the processes of the tree: the leader, its session and its
// group, who has the mark, who was found before, and all their descendants.
func (t *tree) members(all []process, self int, cancelled bool) []process {
	byPID := make(map[int]process, len(all))
	for _, p := range all {
		byPID[p.pid] = p
	}
	own := byPID[self].session
	belongs := map[int]bool{}
	for _, p := range all {
		if p.pid == self {
			continue
		}
		start, known := t.known[p.pid]
		group := t.leader != 0 && (p.session == t.leader || p.group == t.leader)
		if group || p.pid == t.leader && !t.waited || known && start == p.start {
			belongs[p.pid] = true
		} else if t.mark != "" && !p.zombie {
			exact, name := marked(p.pid, t.mark)
			stray := cancelled && p.parent == self && p.session != own && !name
			belongs[p.pid] = exact || stray
		}
	}
	// Descent: the parents are looked up until one belongs or is this process.
	var descends func(pid, depth int) bool
	descends = func(pid, depth int) bool {
		p, ok := byPID[pid]
		if !ok || pid == self || pid <= 1 || depth > len(all) {
			return false
		}
		if !belongs[pid] && descends(p.parent, depth+1) {
			belongs[pid] = true
		}
		return belongs[pid]
	}
	var members []process
	for _, p := range all {
		if descends(p.pid, 0) {
			t.known[p.pid] = p.start
			members = append(members, p)
		}
	}
	return members
}

// bury waits for an adopted process that has ended.
func (t *tree) bury(pid int) {
	var status syscall.WaitStatus
	var usage syscall.Rusage
	if n, err := syscall.Wait4(pid, &status, syscall.WNOHANG, &usage); err == nil && n == pid {
		cpu := time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		t.usage.Add(Usage{CPU: cpu, MaxRSS: maxRSS(&usage)})
	}
}

// Sweep ends every process that has a mark in its environment, and all that it
// has started: what a build that was killed left behind, before its folder is
// taken over.
func Sweep(ctx context.Context, mark string) {
	t := &tree{mark: mark, known: map[int]uint64{}}
	never := make(chan struct{})
	if ctx.Err() == nil && mark != "" {
		t.end(never, false)
	}
}

// KillAll kills every descendant of this process at once, for a program that
// is about to end without waiting for anything.
func KillAll() {
	self := os.Getpid()
	for begun := time.Now(); time.Since(begun) < leaderGrace; time.Sleep(time.Millisecond) {
		all, err := processes()
		if err != nil {
			return
		}
		parents := map[int]int{}
		for _, p := range all {
			parents[p.pid] = p.parent
		}
		found := false
		for _, p := range all {
			ancestor := p.parent
			for depth := 0; ancestor > 1 && ancestor != self && depth < len(all); depth++ {
				ancestor = parents[ancestor]
			}
			if ancestor == self && !p.zombie {
				found = true
				_ = syscall.Kill(p.pid, syscall.SIGKILL)
			}
		}
		if !found {
			return
		}
	}
}
