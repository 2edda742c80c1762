package crash

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/dev"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

const repository = "../.."

// SeedEnv names the variable that repeats a run: it holds the seed that a
// failed run has printed.
const SeedEnv = "STONEMASON_CRASH_SEED"

// binaryEnv hands the compiled binary on to a test that starts itself anew.
const binaryEnv = "STONEMASON_CRASH_BINARY"

// binary is the standalone binary, compiled once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if len(os.Args) > 1 {
		if helper, ok := helpers[os.Args[1]]; ok {
			if err := helper(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 99
			}
			return 0
		}
	}
	if binary = os.Getenv(binaryEnv); binary != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "stonemason-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "therock")
	if err := dev.Compile(context.Background(), io.Discard, os.Stderr, repository, binary); err != nil {
		fmt.Fprintf(os.Stderr, "the standalone binary does not compile: %v\n", err)
		return 1
	}
	return m.Run()
}

// helpers are what the tests start themselves anew as.
var helpers = map[string]func(args []string) error{"supervised": supervised}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// project is a checkout and a store of its own.
type project struct {
	dir, store string
	args       []string // of the binary
}

// newProject writes a fixture of testdata below a folder.
func newProject(t testing.TB, dir, fixture string) *project {
	t.Helper()
	p := &project{dir: filepath.Join(dir, "project"), store: filepath.Join(dir, "store"), args: []string{"build"}}
	a, err := txtar.ParseFile(filepath.Join("testdata", fixture))
	check(t, err)
	for _, f := range a.Files {
		name := filepath.Join(p.dir, f.Name)
		check(t, os.MkdirAll(filepath.Dir(name), 0o755))
		check(t, os.WriteFile(name, f.Data, 0o644))
	}
	check(t, os.CopyFS(filepath.Join(p.dir, "recipes"), os.DirFS(filepath.Join(repository, "recipes"))))
	check(t, os.Mkdir(filepath.Join(dir, "home"), 0o755))
	if out, err := p.command(t.Context(), "lock").CombinedOutput(); err != nil {
		t.Fatalf("lock: %v\n%s", err, out)
	}
	return p
}

func (p *project) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = p.dir
	cmd.Env = p.env()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	return cmd
}

func (p *project) env() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(filepath.Dir(p.dir), "home"), "NO_COLOR=1",
		"STONEMASON_CACHE_DIR=" + p.store,
	}
}

// build builds to the end.
func (p *project) build(t testing.TB) {
	t.Helper()
	if out, err := p.command(t.Context(), p.args...).CombinedOutput(); err != nil {
		t.Fatalf("the build that should have finished did not: %v\n%s", err, out)
	}
}

// wipe removes what builds left, in checkout and store.
func (p *project) wipe(t testing.TB) {
	t.Helper()
	for _, dir := range []string{p.store, filepath.Join(p.dir, "dist"), filepath.Join(p.dir, ".stonemason")} {
		check(t, os.RemoveAll(dir))
	}
}

// outcome is what a finished build has given: content ids by component, and
// the hash of its bundle.
type outcome struct {
	Contents map[string]string
	Bundle   string
}

func (o outcome) String() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.Contents)) {
		fmt.Fprintf(&b, "%s %s\n", name, o.Contents[name])
	}
	return b.String() + "bundle " + o.Bundle
}

func (o outcome) equal(other outcome) bool {
	return o.Bundle == other.Bundle && maps.Equal(o.Contents, other.Contents)
}

// outcome reads the store of a finished build. Every component has been built
// under one key, so there is one action of each.
func (p *project) outcome(t testing.TB) outcome {
	t.Helper()
	o := outcome{Contents: map[string]string{}}
	for _, a := range p.actions(t) {
		if old, ok := o.Contents[a.Component]; ok && old != a.Content {
			t.Errorf("%s has two contents: %s and %s", a.Component, old, a.Content)
		}
		o.Contents[a.Component] = a.Content
	}
	// The bundle byte by byte, modes and links included.
	bundles, err := filepath.Glob(filepath.Join(p.dir, "dist", "[a-z]*"))
	check(t, err)
	for _, dir := range bundles {
		id, _, err := treehash.Hash(t.Context(), dir, treehash.Options{})
		check(t, err)
		o.Bundle += id
	}
	return o
}

// action is what the store's records hold that matters here.
type action struct {
	Component string `json:"component"`
	Content   string `json:"content"`
}

func (p *project) actions(t testing.TB) []action {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(p.store, "actions", "*", "*.json"))
	check(t, err)
	var actions []action
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(t, err)
		var a action
		if err := json.Unmarshal(data, &a); err != nil {
			t.Errorf("action %s is not whole: %v\n%q", file, err, data)
			continue
		}
		actions = append(actions, a)
	}
	return actions
}

// whole checks that what has a final name in the store is what its name says.
// It holds at every moment, whatever was killed.
func (p *project) whole(t testing.TB) {
	t.Helper()
	objects, err := filepath.Glob(filepath.Join(p.store, "objects", "*", "*"))
	check(t, err)
	there := map[string]bool{}
	for _, dir := range objects {
		id, _, err := treehash.Hash(t.Context(), filepath.Join(dir, "tree"), treehash.Options{})
		if err != nil {
			t.Errorf("object %s: %v", dir, err)
			continue
		}
		if id != "sha256:"+filepath.Base(dir) {
			t.Errorf("object %s holds %s", dir, id)
		}
		there[id] = true
		data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
		if err != nil || !json.Valid(data) {
			t.Errorf("object %s: manifest: %v %q", dir, err, data)
		}
	}
	for _, a := range p.actions(t) {
		if !there[a.Content] {
			t.Errorf("the action of %s names %s, which is not there", a.Component, a.Content)
		}
	}
	// A bundle is whole or not there.
	bundles, err := filepath.Glob(filepath.Join(p.dir, "dist", "[a-z]*"))
	check(t, err)
	for _, dir := range bundles {
		var m struct{ Files []treehash.Entry }
		data, err := os.ReadFile(filepath.Join(dir, "share", "stonemason", "manifest.json"))
		if err == nil {
			err = json.Unmarshal(data, &m)
		}
		if err != nil || len(m.Files) == 0 {
			t.Errorf("bundle %s has no manifest: %v", dir, err)
		}
		for _, f := range m.Files {
			if f.Type != treehash.File {
				continue
			}
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
			if err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != f.SHA256 {
				t.Errorf("bundle %s: %s is not whole: %v", dir, f.Path, err)
			}
		}
	}
}

// leftovers counts what lies in the places for unfinished things: temporary
// folders, work folders, half bundles.
func (p *project) leftovers(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{filepath.Join(p.store, "tmp", "*"), filepath.Join(p.store, "work", "*"), filepath.Join(p.dir, "dist", ".[a-z]*")} {
		found, err := filepath.Glob(pattern)
		check(t, err)
		all = append(all, found...)
	}
	return all
}

// processes lists the processes that work below a folder, by what /proc says
// of where they are.
func processes(t testing.TB, dir string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	check(t, err)
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		cwd, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		if err == nil && (cwd == dir || strings.HasPrefix(cwd, dir+"/")) { // a zombie has no cwd
			pids = append(pids, pid)
		}
	}
	return pids
}

// killTree kills a process and everything that works below a folder, until
// nothing is left.
func killTree(t testing.TB, pid int, dir string) {
	t.Helper()
	if err := unix.Kill(-pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
		t.Fatal(err)
	}
	for range 1000 {
		left := processes(t, dir)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("processes %v cannot be killed", processes(t, dir))
}

// gone waits until no process works below a folder any more. Ten seconds are
// far more than anything in the fixture takes.
func gone(t testing.TB, dir string) {
	t.Helper()
	for range 1000 {
		if len(processes(t, dir)) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, pid := range processes(t, dir) {
		argv, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		t.Errorf("process %d is left: %s", pid, bytes.ReplaceAll(argv, []byte{0}, []byte{' '}))
	}
}

// seeded makes the random numbers of a test, and says how to have the same.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv(SeedEnv); s != "" {
		var err error
		seed, err = strconv.ParseUint(s, 10, 64)
		check(t, err)
	}
	t.Logf("%s=%d", SeedEnv, seed)
	return newRand(seed)
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
