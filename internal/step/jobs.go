package step

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/jobserver"
)

// parallel is how a ninja is told what it may run at once.
type parallel struct {
	flags []string
	env   map[string]string
	files []*os.File
	// jobs is the number that it is told, when that could rise while it runs.
	jobs int
	// end gives back what was taken for it.
	end func()
}

// parallel decides that. A ninja that speaks the jobserver protocol (from 1.13
// on) takes its jobs one by one, and is given no -j, for which it would ignore
// the jobserver. An older one is told a number, and what is then left is there
// for a make that one of its commands runs.
func (r *Run) parallel(ctx context.Context) (*parallel, error) {
	if r.Lease == nil {
		return &parallel{flags: []string{"-j", strconv.Itoa(max(1, r.Jobs))}, end: func() {}}, nil
	}
	byName := version(ctx, r.Tools["ninja"]).atLeast(1, 13)
	descriptors := false
	if mk := r.search("make"); mk != "" {
		// make before 4.4 takes a jobserver that it cannot inherit for an
		// error, and before 4.2 has another name for it.
		v := version(ctx, mk)
		descriptors = v.atLeast(4, 2) && !v.atLeast(4, 4)
		byName = byName && v.atLeast(4, 4)
	}
	if strings.ContainsAny(r.Work, " \t\\$#'\"") { // MAKEFLAGS has no way to say that
		byName, descriptors = false, false
	}
	p := &parallel{env: map[string]string{}, end: func() {}}
	if !byName {
		taken := r.Lease.Take(r.Lease.Budget().Jobs())
		p.jobs = 1 + taken
		p.flags = []string{"-j", strconv.Itoa(p.jobs)}
		p.end = func() { r.Lease.Give(taken) }
	}
	if !byName && !descriptors {
		return p, nil
	}
	server, err := jobserver.New(r.Work)
	if err != nil {
		p.end()
		return nil, err
	}
	p.env["MAKEFLAGS"] = server.ByName()
	if !byName {
		if p.env["MAKEFLAGS"], p.files, err = server.ByDescriptor(3); err != nil {
			server.Close()
			p.end()
			return nil, err
		}
	}
	r.Lease.Open(server)
	give := p.end
	p.end = func() {
		r.Lease.Close()
		give()
	}
	return p, nil
}

// search finds a program in the search path of the step's commands.
func (r *Run) search(name string) string {
	for _, e := range r.Env {
		if path, ok := strings.CutPrefix(e, "PATH="); ok {
			for _, dir := range filepath.SplitList(path) {
				file := filepath.Join(dir, name)
				if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
					return file
				}
			}
		}
	}
	return ""
}

// release is the beginning of a version: two numbers.
type release struct{ major, minor int }

func (v release) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// version asks a program for its version: ninja prints the bare number, GNU
// make begins with its name. Whoever does not answer is very old.
func version(ctx context.Context, program string) (v release) {
	if program == "" {
		return v
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, program, "--version")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		return v
	}
	text := strings.TrimPrefix(string(out), "GNU Make ")
	if n, _ := fmt.Sscanf(text, "%d.%d", &v.major, &v.minor); n != 2 {
		return release{}
	}
	return v
}
