//go:build proof

package crash

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// SourcesEnv names a store whose downloads are taken, so that nothing is
// fetched.
const SourcesEnv = "STONEMASON_CRASH_SOURCES"

// realKills is how many times TestRealBuildKilled kills.
const realKills = 20

// The default build of this repository, killed at twenty places along its way,
// gives what it gives undisturbed, and what ninja had finished before a kill is
// not done again.
func TestRealBuildKilled(t *testing.T) {
	random := seeded(t)
	undisturbed := realProject(t)
	begun := time.Now()
	undisturbed.build(t)
	duration := time.Since(begun)
	want := undisturbed.outcome(t)
	undisturbed.whole(t)
	t.Logf("an undisturbed build takes %v and gives\n%s", duration.Round(time.Second), want)

	p := realProject(t)
	dir := filepath.Dir(p.dir)
	killed, edges := 0, map[string]map[string]string{}
	for killed < realKills {
		var out bytes.Buffer
		cmd := p.command(t.Context(), p.args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		check(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		pause := duration / (realKills + 1)
		timer := time.NewTimer(pause/2 + time.Duration(random.Int64N(int64(pause))))
		select {
		case err := <-ended:
			timer.Stop()
			check(t, err)
			t.Fatalf("the build has finished after %d kills", killed)
		case <-timer.C:
		}
		killTree(t, cmd.Process.Pid, dir)
		<-ended
		killed++
		p.whole(t)
		now := ninjaEdges(t, p)
		for work, before := range edges {
			after, there := now[work]
			if !there {
				continue // its node is finished
			}
			for output, entry := range before {
				if after[output] != entry {
					t.Errorf("after kill %d: %s was done before (%s) and is done again (%s)", killed, output, entry, after[output])
				}
			}
		}
		total := 0
		for _, of := range now {
			total += len(of)
		}
		edges = now
		t.Logf("kill %d after %v: %d components in the store, %d outputs of unfinished ones", killed, time.Since(begun).Round(time.Second), len(p.actions(t)), total)
	}
	p.build(t)
	sound(t, p, dir, want)
	t.Logf("%d kills", killed)
}

// realProject copies what a build reads of this repository.
func realProject(t testing.TB) *project {
	t.Helper()
	dir := t.TempDir()
	p := &project{dir: filepath.Join(dir, "project"), store: filepath.Join(dir, "store"), args: []string{"build", "-yes"}}
	for _, name := range []string{"components", "recipes", "patches", "toolchain", "examples"} {
		check(t, os.CopyFS(filepath.Join(p.dir, name), os.DirFS(filepath.Join(repository, name))))
	}
	for _, name := range []string{"therock.yaml", "therock.lock"} {
		data, err := os.ReadFile(filepath.Join(repository, name))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(p.dir, name), data, 0o644))
	}
	check(t, os.Mkdir(filepath.Join(dir, "home"), 0o755))
	if from := os.Getenv(SourcesEnv); from != "" {
		check(t, os.CopyFS(filepath.Join(p.store, "sources"), os.DirFS(filepath.Join(from, "sources"))))
		data, err := os.ReadFile(filepath.Join(from, "version"))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(p.store, "version"), data, 0o644))
	}
	return p
}

// ninjaEdges reads, by work folder, which outputs ninja has finished, with when
// each was begun and ended. A line is "start end mtime output hash", with tabs
// between (ninja's build_log.cc); one without its end was never written.
func ninjaEdges(t testing.TB, p *project) map[string]map[string]string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(p.store, "work", "*", "build", ".ninja_log"))
	check(t, err)
	all := map[string]map[string]string{}
	for _, name := range logs {
		data, err := os.ReadFile(name)
		check(t, err)
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			data = data[:i+1]
		}
		outputs := map[string]string{}
		lines := bufio.NewScanner(bytes.NewReader(data))
		for lines.Scan() {
			if f := strings.Split(lines.Text(), "\t"); len(f) == 5 {
				outputs[f[3]] = f[0] + "-" + f[1]
			}
		}
		check(t, lines.Err())
		all[filepath.Dir(filepath.Dir(name))] = outputs
	}
	return all
}
