package crash

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// kills is how many builds TestKilledAtRandom kills, in all.
const kills = 200

// A build that is killed at any moment, once or several times in a row, is gone
// on with, and what comes out is what an undisturbed build gives. Half of the
// kills take all processes at once, as the end of a container does; the other
// half take the main process alone, as kill -9 and the kernel without memory
// do, and the next build begins at once.
func TestKilledAtRandom(t *testing.T) {
	random := seeded(t)
	var seeds [workers]uint64
	for i := range seeds {
		seeds[i] = random.Uint64()
		t.Run(fmt.Sprintf("worker%d", i), func(t *testing.T) {
			t.Parallel()
			killAtRandom(t, seeds[i], kills/len(seeds))
		})
	}
}

func killAtRandom(t *testing.T, seed uint64, wanted int) {
	dir := t.TempDir()
	p := newProject(t, dir, "four.txtar")
	begun := time.Now()
	p.build(t)
	duration := time.Since(begun)
	want := p.outcome(t)
	p.whole(t)
	p.wipe(t)
	random := newRand(seed)
	killed, finished, row := 0, 0, 0
	for killed < wanted && !t.Failed() {
		var out bytes.Buffer
		cmd := p.command(t.Context(), p.args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		check(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		timer := time.NewTimer(time.Duration(random.Int64N(int64(duration))))
		select {
		case err := <-ended:
			timer.Stop()
			if err != nil {
				t.Fatalf("after %d kills in a row, the build fails: %v\n%s", row, err, &out)
			}
			finished, row = finished+1, 0
			sound(t, p, dir, want)
			p.wipe(t)
		case <-timer.C:
			if random.IntN(2) == 0 {
				killTree(t, cmd.Process.Pid, dir)
			} else if err := unix.Kill(cmd.Process.Pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				t.Fatal(err) // but for one that has just ended
			}
			<-ended
			killed, row = killed+1, row+1
			p.whole(t)
		}
	}
	p.build(t)
	sound(t, p, dir, want)
	t.Logf("%d kills, %d builds finished, an undisturbed one took %v", killed, finished+1, duration.Round(time.Millisecond))
}

// sound checks all that must hold of a build that has finished after others
// were killed.
func sound(t testing.TB, p *project, dir string, want outcome) {
	t.Helper()
	gone(t, dir)
	p.whole(t)
	if got := p.outcome(t); !got.equal(want) {
		t.Errorf("the build gives\n%s\nand undisturbed\n%s", got, want)
	}
	if left := p.leftovers(t); len(left) > maxLeftovers {
		t.Errorf("%d leftovers: %v", len(left), left)
	}
}

// maxLeftovers bounds what killed builds may leave after one that finished.
const maxLeftovers = 8
