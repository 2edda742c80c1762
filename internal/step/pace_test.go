package step

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stonemason-hip/stonemason/internal/budget"
)

func TestWhenMoreJobsPay(t *testing.T) {
	for _, c := range []struct {
		status string
		jobs   int
		took   time.Duration
		more   int
		want   bool
	}{
		{"[20/100] CC a", 1, 20 * time.Second, 1, true},
		{"[20/100] CC a", 1, 20 * time.Second, 0, false},
		{"", 1, 20 * time.Second, 1, false},
		{"[1/100] CC a", 1, time.Second, 1, false},          // nothing is known yet
		{"[96/100] CC a", 1, 96 * time.Second, 1, false},    // nearly done
		{"[20/24] LINK a", 1, 1000 * time.Second, 3, false}, // no work for more
		{"[50/100] CC a", 1, time.Second, 1, false},         // over soon
		{"[4/16] CC a", 2, 60 * time.Second, 2, false},      // long commands would be lost
		{"[4/160] CC a", 2, 60 * time.Second, 2, true},
		{"warning: x\n[20/100] CC a\n  in [1/2]", 1, 20 * time.Second, 1, true},
		{"[20/100", 1, 20 * time.Second, 1, false},
		{"[a/b] [20/100]", 1, 20 * time.Second, 1, false},
		{"[200/100] CC a", 1, 20 * time.Second, 1, false},
	} {
		var out bytes.Buffer
		p := &pace{out: &out, jobs: c.jobs}
		fmt.Fprint(p, c.status)
		if got := p.pays(c.more, c.took); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		if out.String() != c.status {
			t.Errorf("%q became %q", c.status, out.String())
		}
	}
}

// Jobs that are free for a moment only are for somebody else.
func TestPaceWaitsForTheSecondLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pace{out: new(bytes.Buffer), jobs: 1, begun: time.Now()}
		fmt.Fprint(p, "[20/1000]")
		time.Sleep(20 * time.Second)
		free := []int{1, 0, 1, 0, 0, 1, 1, 1}
		looks, ended := 0, make(chan struct{})
		defer close(ended)
		stopped := make(chan int)
		go p.watch(ended, func() int { looks++; return free[looks-1] }, func() { stopped <- looks })
		if at := <-stopped; at != 7 {
			t.Errorf("stopped at look %d", at)
		}
	})
}

// A real ninja that is told one job goes on with two once somebody else has
// ended, and does nothing twice but what was cut short.
func TestNinjaGoesOnWithMoreJobs(t *testing.T) {
	r, out := newRun(t)
	r.Env = Environment(r.Work, r.Work, []string{"/usr/bin", "/bin"})
	ninja, err := exec.LookPath("ninja")
	if err != nil {
		t.Fatal(err)
	}
	r.Tools["ninja"] = ninja
	var rules strings.Builder
	rules.WriteString("rule slow\n  command = sleep 0.2 && echo $out >> ran.txt && touch $out\n")
	const edges = 60
	for i := range edges {
		fmt.Fprintf(&rules, "build %d: slow\n", i)
	}
	if err := os.MkdirAll(r.BuildDir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.BuildDir, "build.ninja"), []byte(rules.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	b := budget.New(2, 0)
	other, _ := b.Begin(0, nil)
	lease, ok := b.Begin(0, nil)
	if !ok {
		t.Fatal("no lease")
	}
	r.Lease = lease
	time.AfterFunc(time.Second, other.End)
	begun := time.Now()
	if err := (&Ninja{}).Run(t.Context(), r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if took := time.Since(begun); took > edges*200*time.Millisecond {
		t.Errorf("it took %v, as long as with one job", took)
	}
	data, err := os.ReadFile(filepath.Join(r.BuildDir, "ran.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), "\n"); n < edges || n > edges+2 {
		t.Errorf("%d commands ran to their end, want %d", n, edges)
	}
	if got := lease.Take(9); got != 1 {
		t.Errorf("%d tokens came back", got)
	}
}
