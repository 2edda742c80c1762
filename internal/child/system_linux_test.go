package child

import (
	"os"
	"testing"
)

func TestParseStat(t *testing.T) {
	line := "42 (a) b) (c) S 7 8 9 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 12345 1 2"
	p, ok := parseStat(42, line)
	if want := (process{pid: 42, parent: 7, group: 8, session: 9, start: 12345}); !ok || p != want {
		t.Errorf("%+v, %v", p, ok)
	}
	for _, bad := range []string{"", "1 (x", "1 (x) S 1 2", "1 (x) S a 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1"} {
		if _, ok := parseStat(1, bad); ok {
			t.Errorf("%q is taken for a process", bad)
		}
	}
}

func TestProcessesHasThisOne(t *testing.T) {
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.pid == os.Getpid() {
			if p.parent != os.Getppid() || p.zombie {
				t.Errorf("%+v", p)
			}
			return
		}
	}
	t.Error("this process is not found")
}
