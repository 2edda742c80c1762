package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stonemason-hip/stonemason/internal/child"
)

// bench is a work folder and what is around it, all below one hidden folder.
type bench struct {
	t         *testing.T
	status    Status
	root      string
	work, src string
	hidden    string
	access    Access
	session   bool // Policy.NewSession
}

func newBench(t *testing.T) *bench {
	t.Helper()
	status := Probe(t.Context(), os.Getenv("PATH"))
	if !status.OK() {
		t.Fatalf("these tests need bubblewrap: %s", status)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, status: status, root: root, work: filepath.Join(root, "work"), hidden: filepath.Join(root, "home")}
	b.src = b.file("the source", "work", "src", "a.c")
	b.file("", "work", "build", "old")
	b.file("secret", "home", ".cmake", "packages")
	b.access = Access{
		Hidden: []string{"/tmp", root, b.hidden, "/opt/no-such-folder"}, Readable: []string{b.work},
		Writable: []string{filepath.Join(b.work, "build")},
	}
	return b
}

func (b *bench) file(text string, path ...string) string {
	b.t.Helper()
	file := filepath.Join(append([]string{b.root}, path...)...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return file
}

func (b *bench) command(argv ...string) *exec.Cmd {
	b.t.Helper()
	policy, err := Resolve(b.access)
	if err != nil {
		b.t.Fatal(err)
	}
	policy.NewSession = b.session
	argv = Wrap(b.status.Program, policy, argv)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = b.work
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + b.hidden, "LC_ALL=C"}
	return cmd
}

// sh runs a script inside and returns what it prints.
func (b *bench) sh(script string) string {
	b.t.Helper()
	out, err := b.command("/bin/sh", "-c", script).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bench) refuses(script, because string) {
	b.t.Helper()
	out, err := b.command("/bin/sh", "-c", script).CombinedOutput()
	if err == nil || !strings.Contains(string(out), because) {
		b.t.Errorf("%s: %v, no %q in %s", script, err, because, out)
	}
}

func TestWritesOnlyWhereItMay(t *testing.T) {
	b := newBench(t)
	b.sh("echo new >build/new && rm build/old && mkdir -p build/x/y")
	if data, err := os.ReadFile(filepath.Join(b.work, "build", "new")); err != nil || string(data) != "new\n" {
		t.Errorf("%q, %v", data, err)
	}
	if got := b.sh("cat src/a.c"); got != "the source" {
		t.Errorf("the source reads %q", got)
	}
	for _, script := range []string{
		"echo x >src/a.c", "echo x >src/new", "rm src/a.c", "chmod 600 src/a.c", "echo x >new", "echo x >../new",
		"echo x >/new", "echo x >/usr/new", "echo x >/etc/hostname", "touch " + b.hidden + "/new", "mkdir " + b.root + "/new",
		"mount -o remount,rw " + b.work, "ln build/new src/new", "mv src/a.c build/a.c",
	} {
		out, err := b.command("/bin/sh", "-c", script).CombinedOutput()
		if err == nil {
			t.Errorf("%s is allowed: %s", script, out)
		}
	}
	if data, _ := os.ReadFile(b.src); string(data) != "the source" {
		t.Errorf("the source holds %q now", data)
	}
	// A /tmp of its own, which is gone afterwards.
	name := "stonemason-test-" + strconv.Itoa(os.Getpid())
	b.sh("echo x >/tmp/" + name)
	if _, err := os.Stat("/tmp/" + name); err == nil {
		t.Error("a file in /tmp of the sandbox is in the machine's /tmp")
	}
	b.refuses("cat /tmp/"+name, "No such file")
}

// What a program uses inside is counted, with all that it starts: bubblewrap
// ends without waiting for the process that it runs inside.
func TestWhatIsUsedIsCounted(t *testing.T) {
	b := newBench(t)
	policy, err := Resolve(b.access)
	if err != nil {
		t.Fatal(err)
	}
	script := `/bin/sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'; dd if=/dev/zero of=/dev/null bs=100M count=1 2>/dev/null`
	run := func(argv []string) child.Usage {
		usage, err := child.Run(t.Context(), child.Command{Path: argv[0], Args: argv[1:], Dir: b.work, Env: []string{"PATH=/usr/bin:/bin"}})
		if err != nil {
			t.Fatal(err)
		}
		return usage
	}
	free, inside := run([]string{"/bin/sh", "-c", script}), run(Wrap(b.status.Program, policy, []string{"/bin/sh", "-c", script}))
	if free.CPU < 50*time.Millisecond || free.MaxRSS < 100<<20 {
		t.Fatalf("the script uses too little to be measured: %+v", free)
	}
	if inside.CPU < free.CPU/3 || inside.MaxRSS < 100<<20 {
		t.Errorf("outside it uses %+v, inside %+v", free, inside)
	}
}

// What a program has used until it is told to end is counted too, and it ends
// as it does by itself: ninja, for one, is stopped when it may have more jobs.
func TestWhatIsUsedUntilACancellationIsCounted(t *testing.T) {
	b := newBench(t)
	policy, err := Resolve(b.access)
	if err != nil {
		t.Fatal(err)
	}
	const script = `trap 'echo polite >build/end; exit 3' TERM
/bin/sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done'
echo x >build/ready
while :; do sleep 0.01; done`
	ready := filepath.Join(b.work, "build", "ready")
	run := func(confined bool, argv []string) child.Usage {
		_ = os.Remove(ready)
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		go func() {
			for {
				if _, err := os.Stat(ready); err == nil {
					cancel(enough)
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
		usage, err := child.Run(ctx, child.Command{
			Path: argv[0], Args: argv[1:], Dir: b.work, Env: []string{"PATH=/usr/bin:/bin"}, Confined: confined,
		})
		if !errors.Is(err, enough) {
			t.Fatal(err)
		}
		return usage
	}
	free := run(false, []string{"/bin/sh", "-c", script})
	end := filepath.Join(b.work, "build", "end")
	if err := os.Remove(end); err != nil {
		t.Fatal(err)
	}
	inside := run(true, Wrap(b.status.Program, policy, []string{"/bin/sh", "-c", script}))
	if free.CPU < 50*time.Millisecond || inside.CPU < free.CPU/3 {
		t.Errorf("outside it uses %+v, inside %+v", free, inside)
	}
	if text, err := os.ReadFile(end); err != nil || string(text) != "polite\n" {
		t.Errorf("it was not left the time to end: %q, %v", text, err)
	}
}

func TestWhatIsHidden(t *testing.T) {
	b := newBench(t)
	b.file("neighbour", "store", "other", "x")
	b.file("needed", "store", "dep", "x")
	b.access.Readable = append(b.access.Readable, filepath.Join(b.root, "store", "dep"))
	if got := b.sh("ls -A " + b.hidden + "; ls -A " + b.root + "/store; cat " + b.root + "/store/dep/x"); got != "dep\nneeded" {
		t.Errorf("inside there is\n%s", got)
	}
	b.refuses("echo x >"+b.root+"/store/dep/x", "Read-only")
	// This test is a process outside; process 1 inside is bubblewrap.
	if got := b.sh("cat /proc/[0-9]*/comm"); strings.Contains(got, "sandbox.test") || !strings.HasPrefix(got, "bwrap\n") {
		t.Errorf("these processes are to be seen:\n%s", got)
	}
	if got := b.sh("ls -A /dev"); strings.Contains(got, "kfd") || strings.Contains(got, "vda") || !strings.Contains(got, "null") {
		t.Errorf("/dev holds %s", got)
	}
	if got := b.sh("grep CapEff /proc/self/status; uname -n"); !strings.Contains(got, "0000000000000000") || !strings.HasSuffix(got, "localhost") {
		t.Errorf("capabilities and name: %s", got)
	}
}

// Nothing is shared with the machine by which processes find each other: shared
// memory and queues, the host's name, the session with its terminal.
func TestNamespaces(t *testing.T) {
	b := newBench(t)
	for _, name := range []string{"ipc", "uts", "net", "pid", "mnt"} {
		ours, err := os.Readlink("/proc/self/ns/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if inside := b.sh("readlink /proc/self/ns/" + name); inside == ours || !strings.HasPrefix(inside, name+":") {
			t.Errorf("inside the namespace is %s, outside %s", inside, ours)
		}
	}
	// The session of a process whose leader is outside reads 0 inside
	// (pid_namespaces(7)).
	for own, want := range map[bool]bool{false: true, true: false} {
		b.session = own
		if session := b.sh("cut -d' ' -f6 /proc/self/stat"); (session == "0") != want {
			t.Errorf("with a new session %v, the session reads %s", own, session)
		}
	}
	if host := b.sh("uname -n"); host != "localhost" {
		t.Errorf("the host is called %q", host)
	}
}

// The environment is the caller's but for PWD, which Go's os/exec and shells
// set as well.
func TestTheEnvironmentIsTheCallers(t *testing.T) {
	b := newBench(t)
	cmd := b.command("/usr/bin/env")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	got = slices.DeleteFunc(got, func(s string) bool { return s == "PWD="+b.work })
	slices.Sort(got)
	want := slices.Sorted(slices.Values(cmd.Env))
	if !slices.Equal(got, want) {
		t.Errorf("inside %v, given %v", got, want)
	}
}

// A program of Python connects to a server of this test: from outside it may,
// from inside it finds no way to it, while loopback works among its own.
func TestTheNetworkIsOff(t *testing.T) {
	b := newBench(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Addr().String())
	connect := "import socket; socket.create_connection(('127.0.0.1', " + port + ")); print('connected')"
	if out, err := exec.Command("python3", "-c", connect).CombinedOutput(); err != nil {
		t.Fatalf("from outside: %v\n%s", err, out)
	}
	b.refuses("python3 -c \""+connect+"\"", "Connection refused")
	b.refuses("python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80))\"", "Network is unreachable")
	if got := b.sh(`python3 -c "
import socket
s = socket.create_server(('127.0.0.1', 0))
socket.create_connection(s.getsockname())
print('own loopback')"`); got != "own loopback" {
		t.Errorf("inside: %s", got)
	}
	// Abstract sockets of Unix belong to the network too (unix(7)).
	name := "@stonemason-test-" + strconv.Itoa(os.Getpid())
	abstract, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()
	b.refuses("python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0"+name[1:]+"')\"", "Connection refused")
}

// What links lead to is found by the names that are used, wherever they lead.
func TestLinksWorkInsideAsOutside(t *testing.T) {
	b := newBench(t)
	b.file("#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../share/says\"\n", "opt", "tool-1.2", "bin", "tool")
	b.file("found", "opt", "tool-1.2", "share", "says")
	b.file("x", "home", "bin", "neighbour")
	for link, target := range map[string]string{
		"opt/tool":      "tool-1.2",
		"home/bin/tool": "../../opt/tool/bin/tool",
		"home/alias":    filepath.Join(b.root, "home", "bin"),
	} {
		if err := os.Symlink(target, filepath.Join(b.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	tool := filepath.Join(b.hidden, "alias", "tool")
	b.access.Readable = append(b.access.Readable, Program(tool, []string{b.hidden})...)
	if got := b.sh(tool); got != "found" {
		t.Errorf("the tool says %q", got)
	}
	b.refuses("cat "+b.hidden+"/bin/neighbour", "No such file")
}

func TestProgramGivesThePrefix(t *testing.T) {
	b := newBench(t)
	homes := []string{b.hidden}
	for path, want := range map[string]string{
		"home/.local/bin/cmake": "home/.local", "home/bin/cmake": "home/bin", "home/.pyenv/shims/python3": "home/.pyenv",
		"opt/ninja": "opt", "opt/x/sbin/y": "opt/x",
	} {
		file := b.file("", path)
		if got := Program(file, homes); !slices.Equal(got, []string{file, filepath.Join(b.root, want)}) {
			t.Errorf("%s: %v, want %s", path, got, want)
		}
	}
	if got := Program("/usr/bin/env", homes); got[1] != "/usr" {
		t.Errorf("%v", got)
	}
}

func TestResolve(t *testing.T) {
	b := newBench(t)
	for _, dir := range []string{"/", "/usr", "/etc"} {
		p, err := Resolve(Access{Hidden: []string{dir}})
		if err != nil || len(p.places) != 0 {
			t.Errorf("%s: %v, %v", dir, p, err)
		}
	}
	for what, a := range map[string]Access{
		"not absolute": {Readable: []string{"relative"}},
		"no such file": {Writable: []string{filepath.Join(b.root, "nowhere")}},
	} {
		if _, err := Resolve(a); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	loop := filepath.Join(b.root, "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if _, err := Resolve(Access{Readable: []string{loop}}); err == nil || !strings.Contains(err.Error(), "too many symbolic links") {
		t.Errorf("%v", err)
	}
	// What is shown and hidden at once is shown; what is not hidden needs no
	// mount.
	p, err := Resolve(Access{Hidden: []string{b.root}, Readable: []string{b.root, "/usr/bin"}})
	if err != nil || !slices.Equal(p.places, []place{{kind: show, path: b.root}}) {
		t.Errorf("%v, %v", p, err)
	}
}

// A jobserver's pipe is one by name or one that is inherited: both work.
func TestAJobserverIsReached(t *testing.T) {
	b := newBench(t)
	fifo := filepath.Join(b.root, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b.access.Readable = append(b.access.Readable, fifo)
	pool, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.WriteString("ab"); err != nil {
		t.Fatal(err)
	}
	if got := b.sh("dd bs=1 count=1 2>/dev/null <" + fifo + "; printf c >" + fifo); got != "a" {
		t.Errorf("the token is %q", got)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := b.command("/bin/sh", "-c", "printf token >&3")
	cmd.ExtraFiles = []*os.File{w}
	out, err := cmd.CombinedOutput()
	w.Close()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(r); err != nil || got.String() != "token" {
		t.Errorf("the pipe gave %q, %v", got.String(), err)
	}
}

func TestTheExitCodeIsThePrograms(t *testing.T) {
	b := newBench(t)
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -SEGV $$": 128 + int(syscall.SIGSEGV)} {
		cmd := b.command("/bin/sh", "-c", script)
		_ = cmd.Run() // the code says it
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: %d, want %d", script, got, want)
		}
	}
}

// Killing bubblewrap ends everything inside: also what has left its session,
// its group and its parent, and ignores every signal that can be ignored.
func TestNothingOutlivesBubblewrap(t *testing.T) {
	b := newBench(t)
	b.file(`
import os, signal, sys, time
for s in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(s, signal.SIG_IGN)
if os.fork():
    time.sleep(600)
os.setsid()
if os.fork():
    os._exit(0)
os.setsid() if os.getpid() != os.getsid(0) else None
open("build/alive", "w").write("x")
while True:
    time.sleep(600)
`, "work", "src", "stay.py")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := b.command("/usr/bin/env", "python3", "src/stay.py")
	cmd.Stdout = in // every process inside holds it
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	for {
		if _, err := os.Stat(filepath.Join(b.work, "build", "alive")); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	// The pipe ends when the last of them is gone.
	if err := out.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	var rest bytes.Buffer
	if _, err := rest.ReadFrom(out); err != nil {
		t.Errorf("somebody lives on: %v", err)
	}
}

func TestProbeSaysWhyNot(t *testing.T) {
	dir := t.TempDir()
	if s := Probe(t.Context(), dir); s.OK() || !s.Absent || !strings.Contains(s.String(), "not isolated: bubblewrap is not installed: apt-get install bubblewrap") {
		t.Errorf("%+v: %s", s, s)
	}
	script := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/sh\n"+text), fs.FileMode(0o755)); err != nil {
			t.Fatal(err)
		}
	}
	// What bubblewrap 0.8 says in a container of docker's.
	script("test $1 = --version && { echo bubblewrap 0.8.0; exit; }\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
	if s := Probe(t.Context(), dir); s.OK() || s.Absent || !strings.Contains(s.String(), "No permissions to create new namespace") {
		t.Errorf("%+v: %s", s, s)
	}
	script("exit 3\n")
	if s := Probe(t.Context(), dir); s.OK() || !strings.Contains(s.String(), "does not run: exit status 3") {
		t.Errorf("%+v: %s", s, s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := Probe(ctx, os.Getenv("PATH")); s.OK() {
		t.Errorf("%+v", s)
	}
	t.Chdir(dir)
	if s := Probe(t.Context(), "."); !s.Absent {
		t.Errorf("the bwrap of the current folder was taken: %s", s)
	}
}
