package step

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// errMoreJobs stops a ninja that is told its number of jobs, so that it can be
// told a larger one.
var errMoreJobs = errors.New("more jobs are free")

// pace watches a ninja that was told its number of jobs when it began. When
// others have ended and left theirs, it would go on alone with the few that it
// has, beside idle cores. So it is stopped, which costs what its commands have
// begun, and started anew, which goes on where it was; but only where that wins
// several times what it costs.
type pace struct {
	out   io.Writer
	jobs  int
	begun time.Time

	mu          sync.Mutex
	line        []byte // the begin of the present line
	done, total int
}

// lookAt is how often it is looked whether jobs are free. They must be so twice
// in a row: what is ready to begin takes them at once.
const lookAt = 500 * time.Millisecond

// Write passes ninja's output on and reads its status, "[done/total] ".
func (p *pace) Write(text []byte) (int, error) {
	p.mu.Lock()
	for _, c := range text {
		switch {
		case c == '\n' || c == '\r':
			p.line = p.line[:0]
		case len(p.line) < 32:
			if p.line = append(p.line, c); c == ']' {
				p.status(p.line)
			}
		}
	}
	p.mu.Unlock()
	return p.out.Write(text)
}

func (p *pace) status(line []byte) {
	if !bytes.HasPrefix(line, []byte("[")) {
		return
	}
	var done, total int
	if n, _ := fmt.Sscanf(string(line), "[%d/%d]", &done, &total); n == 2 && done <= total {
		p.done, p.total = done, total
	}
}

// watch calls stop when it pays to go on with the jobs that are spare.
func (p *pace) watch(ended <-chan struct{}, spare func() int, stop func()) {
	tick := time.NewTicker(lookAt)
	defer tick.Stop()
	before := 0
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
		}
		now := spare()
		if p.pays(min(before, now), time.Since(p.begun)) {
			stop()
			return
		}
		before = now
	}
}

// pays reports whether to stop and to go on with more jobs saves much more than
// the commands cost that are begun again. took is the time so far.
func (p *pace) pays(more int, took time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.total - p.done
	if more <= 0 || p.done < 2*p.jobs || left <= 2*(p.jobs+more) {
		return false
	}
	// Of one command, on the average; half of it is lost of each that runs.
	each := took * time.Duration(p.jobs) / time.Duration(p.done)
	saves := each*time.Duration(left)/time.Duration(p.jobs) - each*time.Duration(left)/time.Duration(p.jobs+more)
	return saves > 2*time.Second && saves > 4*each
}
