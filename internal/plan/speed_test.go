package plan_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/manycomp"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

var facts = plan.Facts{Build: platform.Platform{OS: "linux", Arch: "amd64"}, LLVM: "22.1.8"}

// planned reads a project and resolves it, as every verb does first.
func planned(tb testing.TB, root string) *plan.Graph {
	tb.Helper()
	p, err := spec.Load(root)
	if err != nil {
		tb.Fatal(err)
	}
	if p.Lock == nil {
		if p.Lock, err = plan.Expected(p); err != nil {
			tb.Fatal(err)
		}
	}
	g, err := plan.Resolve(p, facts, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return g
}

// The bound for a thousand components is 100 ms for reading and resolving.
func BenchmarkPlanOfAThousand(b *testing.B) {
	root := b.TempDir()
	if err := manycomp.Write(root, 1000); err != nil {
		b.Fatal(err)
	}
	bench(b, root)
}

func BenchmarkPlanOfThisProject(b *testing.B) {
	bench(b, filepath.Join("..", ".."))
}

// bench reports processor time beside the wall's, which says more on a machine
// that does other things too.
func bench(b *testing.B, root string) {
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ReportAllocs()
	begun := cpu()
	for b.Loop() {
		planned(b, root)
	}
	b.ReportMetric(float64((cpu()-begun).Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// A large graph is planned like a small one: every component on, its needs
// before it, and all of its steps there.
func TestPlanOfAThousand(t *testing.T) {
	root := t.TempDir()
	const n = 1000
	if err := manycomp.Write(root, n); err != nil {
		t.Fatal(err)
	}
	g := planned(t, root)
	if len(g.Enabled()) != n {
		t.Fatalf("%d of %d components are on", len(g.Enabled()), n)
	}
	seen := map[string]bool{}
	for _, node := range g.Nodes {
		for _, id := range node.Needs() {
			if !seen[id] {
				t.Fatalf("%s stands before %s, which it needs", node.ID, id)
			}
		}
		seen[node.ID] = true
		if len(node.Steps) != 7 || len(node.Sources) != 1 {
			t.Fatalf("%s has %d steps and %d sources", node.ID, len(node.Steps), len(node.Sources))
		}
	}
}
