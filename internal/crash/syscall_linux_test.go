package crash

import (
	"fmt"
	"testing"
)

// workers is how many builds are disturbed at the same time.
const workers = 2

// A build that is killed before any call with which it changes files leaves
// nothing half-done under a final name, and the next one gives what an
// undisturbed one gives.
func TestKilledBeforeEveryCall(t *testing.T) {
	first := newProject(t, t.TempDir(), "small.txtar")
	total := len(first.calls(t))
	for w := range workers {
		t.Run(fmt.Sprintf("worker%d", w), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := newProject(t, dir, "small.txtar")
			p.build(t)
			want := p.outcome(t)
			killed := 0
			for n := 1 + w; n <= total && !t.Failed(); n += workers {
				p.wipe(t)
				at, ok := p.killedBefore(t, n)
				if !ok {
					continue // two builds do not make the same number of calls
				}
				killed++
				p.whole(t)
				p.build(t)
				sound(t, p, dir, want)
				if t.Failed() {
					t.Logf("after a kill before call %d: %s", n, at.what)
				}
			}
			t.Logf("%d of %d calls", killed, total)
			if killed < total/workers/2 {
				t.Errorf("only %d kills", killed)
			}
		})
	}
}
