package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/fetch"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func gitOut(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, root, name, body string) {
	t.Helper()
	name = filepath.Join(root, filepath.FromSlash(name))
	check(t, os.MkdirAll(filepath.Dir(name), 0o755))
	check(t, os.WriteFile(name, []byte(body), 0o644))
}

// origin is a bare repository with two commits, of which the first is reachable
// only by its id: no branch points at it after the rewrite.
type origin struct {
	dir, url      string
	first, second string
}

func newOrigin(t *testing.T, edit func(root string)) origin {
	t.Helper()
	up := t.TempDir()
	work, bare := filepath.Join(up, "work"), filepath.Join(up, "o.git")
	check(t, os.Mkdir(work, 0o755))
	gitOut(t, work, "init", "-q", "-b", "main")
	write(t, work, "README", "read me")
	write(t, work, "amd/device-libs/a.cl", "kernel")
	write(t, work, "amd/device-libs/sub/b.cl", "kernel b\r\n")
	write(t, work, "amd/comgr/c.c", "comgr")
	write(t, work, "amd/LICENSE", "licence")
	write(t, work, "big/x", strings.Repeat("big", 5000))
	write(t, work, "run.sh", "#!/bin/sh")
	check(t, os.Chmod(filepath.Join(work, "run.sh"), 0o755))
	check(t, os.Symlink("device-libs/a.cl", filepath.Join(work, "amd/link")))
	write(t, work, ".gitattributes", "*.cl text eol=lf\n*.id ident filter=evil\n")
	write(t, work, "x.id", "$Id$")
	if edit != nil {
		edit(work)
	}
	gitOut(t, work, "add", "-A")
	gitOut(t, work, "commit", "-qm", "first")
	o := origin{dir: bare, url: "file://" + bare, first: gitOut(t, work, "rev-parse", "HEAD")}
	write(t, work, "amd/comgr/c.c", "comgr, changed")
	gitOut(t, work, "commit", "-qam", "second")
	o.second = gitOut(t, work, "rev-parse", "HEAD")
	gitOut(t, up, "clone", "-q", "--bare", "work", "o.git")
	gitOut(t, bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	gitOut(t, bare, "config", "uploadpack.allowFilter", "true")
	return o
}

// smart serves repositories as a forge does, by git's own http-backend. It
// records what was asked.
func smart(t *testing.T, root string) (string, *[]string) {
	path, err := exec.Command("git", "--exec-path").Output()
	check(t, err)
	var mu sync.Mutex
	var asked []string
	h := &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(path)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*"},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.URL.Path)
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, &asked
}

func names(t *testing.T, root string) string {
	t.Helper()
	var list []string
	check(t, filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(root, p)
		if d.Type()&fs.ModeSymlink != 0 {
			target, _ := os.Readlink(p)
			rel += "->" + target
		}
		list = append(list, rel)
		return nil
	}))
	slices.Sort(list)
	return strings.Join(list, " ")
}

// wantGone checks that a failed fetch left nothing beside dest.
func wantGone(t *testing.T, dest string) {
	t.Helper()
	rest, err := os.ReadDir(filepath.Dir(dest))
	if err != nil || len(rest) != 0 {
		t.Errorf("left behind: %v, %v", rest, err)
	}
}

const everything = ".gitattributes README amd/LICENSE amd/comgr/c.c amd/device-libs/a.cl amd/device-libs/sub/b.cl amd/link->device-libs/a.cl big/x run.sh x.id"

func TestWholeCommit(t *testing.T) {
	o := newOrigin(t, nil)
	web, _ := smart(t, filepath.Dir(o.dir))
	for _, url := range []string{o.url, web + "/o.git"} {
		dest := filepath.Join(t.TempDir(), "dest")
		// The first commit is no branch's tip: only its id names it.
		res, err := Fetch(t.Context(), Request{URLs: []string{url}, Commit: o.first, Dest: dest, Tree: gitOut(t, o.dir, "rev-parse", o.first+"^{tree}")})
		check(t, err)
		if res.Commit != o.first || res.URL != url {
			t.Errorf("got %+v", res)
		}
		if got := names(t, dest); got != everything {
			t.Errorf("checked out %s\nwant %s", got, everything)
		}
		body, err := os.ReadFile(filepath.Join(dest, "amd/comgr/c.c"))
		check(t, err)
		if string(body) != "comgr" {
			t.Errorf("c.c holds %q", body)
		}
		if info, err := os.Stat(filepath.Join(dest, "run.sh")); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("run.sh lost its executable bit: %v", err)
		}
		if rest, _ := os.ReadDir(filepath.Dir(dest)); len(rest) != 1 {
			t.Errorf("left behind: %v", rest)
		}
	}
}

func TestSparse(t *testing.T) {
	o := newOrigin(t, nil)
	web, asked := smart(t, filepath.Dir(o.dir))
	dest := filepath.Join(t.TempDir(), "dest")
	res, err := Fetch(t.Context(), Request{URLs: []string{web + "/o.git"}, Commit: o.first, Sparse: []string{"amd/device-libs"}, Dest: dest})
	check(t, err)
	if got, want := names(t, dest), "amd/device-libs/a.cl amd/device-libs/sub/b.cl"; got != want {
		t.Errorf("checked out %s, want %s", got, want)
	}
	if want := gitOut(t, o.dir, "rev-parse", o.first+":amd/device-libs"); res.Tree != want {
		t.Errorf("tree %s, want %s", res.Tree, want)
	}
	// The folder is the same in the second commit, so its tree id is; another
	// folder's is not.
	same, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.second, Sparse: []string{"amd/device-libs"}, Dest: filepath.Join(t.TempDir(), "d"), Tree: res.Tree})
	check(t, err)
	if same.Commit != o.second {
		t.Errorf("got %+v", same)
	}
	gone := filepath.Join(t.TempDir(), "d")
	first := gitOut(t, o.dir, "rev-parse", o.first+":amd/comgr")
	_, err = Fetch(t.Context(), Request{URLs: []string{o.url, o.url}, Commit: o.second, Sparse: []string{"amd/comgr"}, Dest: gone, Tree: first})
	var wrong *TreeError
	if !errors.As(err, &wrong) || wrong.Want != first {
		t.Errorf("got %v", err)
	}
	wantGone(t, gone)
	// Several, a file among them; the order does not matter.
	a, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Sparse: []string{"amd/device-libs/sub", "amd/LICENSE"}, Dest: filepath.Join(t.TempDir(), "d")})
	check(t, err)
	dest = filepath.Join(t.TempDir(), "d")
	b, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Sparse: []string{"amd/LICENSE", "amd/device-libs/sub"}, Dest: dest})
	check(t, err)
	if a.Tree != b.Tree || !strings.HasPrefix(a.Tree, "sha256:") || names(t, dest) != "amd/LICENSE amd/device-libs/sub/b.cl" {
		t.Errorf("%s and %s, %s", a.Tree, b.Tree, names(t, dest))
	}
	gone = filepath.Join(t.TempDir(), "d")
	_, err = Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Sparse: []string{"amd/absent"}, Dest: gone})
	if err == nil || !strings.Contains(err.Error(), "the commit has no amd/absent") {
		t.Errorf("got %v", err)
	}
	wantGone(t, gone)
	if len(*asked) == 0 {
		t.Error("the web server was not asked")
	}
}

// Blobs outside the folders stay on the server.
func TestBlobsAreFiltered(t *testing.T) {
	o := newOrigin(t, nil)
	cache := t.TempDir()
	fetchFrom := func(url string, sparse ...string) error {
		_, err := Fetch(t.Context(), Request{URLs: []string{url}, Commit: o.first, Sparse: sparse, Dest: filepath.Join(t.TempDir(), "d"), CacheDir: cache})
		return err
	}
	check(t, fetchFrom(o.url, "amd/device-libs"))
	repo := filepath.Join(cache, o.first+".git")
	have := func(path string) bool {
		id := gitOut(t, o.dir, "rev-parse", o.first+":"+path)
		out := gitOut(t, repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
		return strings.Contains(out, id)
	}
	if !have("amd/device-libs/a.cl") || have("big/x") {
		t.Errorf("device-libs fetched: %v, big/x fetched: %v", have("amd/device-libs/a.cl"), have("big/x"))
	}
	// From the cache alone, when it holds all; with more blobs when it does not.
	moved := o.dir + ".moved"
	check(t, os.Rename(o.dir, moved))
	check(t, fetchFrom(o.url, "amd/device-libs"))
	if err := fetchFrom(o.url, "big"); err == nil {
		t.Error("blobs came from nowhere")
	}
	check(t, fetchFrom("file://"+moved, "big"))
	o.dir = moved
	if !have("big/x") || have("run.sh") {
		t.Error("the cache grew by other blobs than those of the folder")
	}
}

func TestServerWithoutFilter(t *testing.T) {
	o := newOrigin(t, nil)
	gitOut(t, o.dir, "config", "uploadpack.allowFilter", "false")
	for _, cache := range []string{"", t.TempDir()} {
		dest := filepath.Join(t.TempDir(), "d")
		_, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Sparse: []string{"amd/comgr"}, Dest: dest, CacheDir: cache})
		check(t, err)
		if got := names(t, dest); got != "amd/comgr/c.c" {
			t.Errorf("checked out %s", got)
		}
	}
}

func TestMirrors(t *testing.T) {
	o := newOrigin(t, nil)
	other := newOrigin(t, func(root string) { write(t, root, "other", "x") })
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	secret := strings.Replace(web.URL, "http://", "http://me:hunter2@", 1) + "/o.git?token=hunter2"
	bad := []string{"file:///absent/o.git", other.url, secret, "git://x/o.git", "ext::sh -c touch% x", "ssh://x/o.git", "-oProxyCommand=x", "http:///x"}
	dest := filepath.Join(t.TempDir(), "d")
	res, err := Fetch(t.Context(), Request{URLs: append(slices.Clone(bad), o.url), Commit: o.first, Dest: dest})
	check(t, err)
	if res.URL != o.url || names(t, dest) != everything {
		t.Errorf("got %+v, %s", res, names(t, dest))
	}
	gone := filepath.Join(t.TempDir(), "d")
	_, err = Fetch(t.Context(), Request{URLs: bad, Commit: o.first, Dest: gone})
	if err == nil {
		t.Fatal("no mirror has the commit")
	}
	for _, want := range []string{"/absent/o.git", other.dir, "not our ref", web.URL + "/o.git: ", `the scheme "git"`, `the scheme "ssh"`, "names no host"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret is shown: %v", err)
	}
	var m *MirrorError
	if !errors.As(err, &m) {
		t.Error("no *MirrorError inside")
	}
	wantGone(t, gone)
}

func TestRequestsThatAreRefused(t *testing.T) {
	o := newOrigin(t, nil)
	for _, r := range []Request{
		{Commit: "main"}, {Commit: o.first[:12]}, {Commit: strings.ToUpper(o.first)}, {Commit: "--upload-pack=touch x;" + o.first[:18]},
		{Commit: o.first, Sparse: []string{"../x"}}, {Commit: o.first, Sparse: []string{"a*"}}, {Commit: o.first, Sparse: []string{"!a"}},
		{Commit: o.first, Sparse: []string{"a\nb"}}, {Commit: o.first, Sparse: []string{"."}}, {Commit: o.first, Sparse: []string{"/a"}},
	} {
		r.URLs, r.Dest = []string{o.url}, filepath.Join(t.TempDir(), "d")
		if _, err := Fetch(t.Context(), r); err == nil {
			t.Errorf("%+v was taken", r)
		}
		wantGone(t, r.Dest)
	}
	if _, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Dest: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("got %v", err)
	}
	if _, err := Fetch(t.Context(), Request{Commit: o.first, Dest: filepath.Join(t.TempDir(), "d")}); err == nil {
		t.Error("no address was taken")
	}
}

func TestLinksThatLeadOut(t *testing.T) {
	for _, target := range []string{"/etc/passwd", "../../x", "../../../etc"} {
		o := newOrigin(t, func(root string) { check(t, os.Symlink(target, filepath.Join(root, "amd/out"))) })
		gone := filepath.Join(t.TempDir(), "d")
		_, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Dest: gone})
		if err == nil || !strings.Contains(err.Error(), "symlink amd/out leads out") {
			t.Errorf("%s: got %v", target, err)
		}
		wantGone(t, gone)
	}
}

func TestSubmodulesStayEmpty(t *testing.T) {
	inner := newOrigin(t, nil)
	o := newOrigin(t, func(root string) {
		gitOut(t, root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.url, "mod")
	})
	dest := filepath.Join(t.TempDir(), "d")
	_, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Dest: dest})
	check(t, err)
	if got := names(t, dest); strings.Contains(got, "mod/") || !strings.Contains(got, ".gitmodules") {
		t.Errorf("checked out %s", got)
	}
}

// The person's own configuration must not reach the checkout.
func TestIsolation(t *testing.T) {
	o := newOrigin(t, nil)
	home := t.TempDir()
	write(t, home, ".gitconfig", fmt.Sprintf("[url \"file:///absent\"]\n\tinsteadOf = file://\n[core]\n\tautocrlf = true\n\thooksPath = %s\n[filter \"evil\"]\n\tsmudge = touch %s/ran\n", home, home))
	write(t, home, "post-checkout", "#!/bin/sh\ntouch "+home+"/ran\n")
	check(t, os.Chmod(filepath.Join(home, "post-checkout"), 0o755))
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", "/absent")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.autocrlf")
	t.Setenv("GIT_CONFIG_VALUE_0", "true")
	dest := filepath.Join(t.TempDir(), "d")
	_, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Dest: dest})
	check(t, err)
	body, err := os.ReadFile(filepath.Join(dest, "README"))
	check(t, err)
	if string(body) != "read me" {
		t.Errorf("README holds %q", body)
	}
	if _, err := os.Stat(filepath.Join(home, "ran")); err == nil {
		t.Error("a hook or filter of the person's ran")
	}
}

func TestConcurrentFoldersOfOneCommit(t *testing.T) {
	o := newOrigin(t, nil)
	cache, up := t.TempDir(), t.TempDir()
	want := map[string]string{"amd/comgr": "amd/comgr/c.c", "big": "big/x", "README": "README", "amd/device-libs/sub": "amd/device-libs/sub/b.cl"}
	var wait sync.WaitGroup
	for dir := range want {
		wait.Go(func() {
			_, err := Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.first, Sparse: []string{dir}, Dest: filepath.Join(up, filepath.Base(dir)), CacheDir: cache})
			if err != nil {
				t.Errorf("%s: %v", dir, err)
			}
		})
	}
	wait.Wait()
	for dir, files := range want {
		if got := names(t, filepath.Join(up, filepath.Base(dir))); got != files {
			t.Errorf("%s: checked out %s, want %s", dir, got, files)
		}
	}
}

func TestCancel(t *testing.T) {
	hang := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-hang
	}))
	defer s.Close()
	defer close(hang)
	gone := filepath.Join(t.TempDir(), "d")
	_, err := Fetch(ctx, Request{URLs: []string{s.URL + "/o.git"}, Commit: strings.Repeat("a", 40), Dest: gone})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantGone(t, gone)
}

// A server that sends a byte now and then holds nobody for ever: it is given up
// by the rate that downloads have to have too, and the next address is asked.
func TestAServerThatTrickles(t *testing.T) {
	t.Setenv("STONEMASON_FETCH_TIMEOUT", "1s")
	o := newOrigin(t, nil)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		for range 200 {
			if _, err := w.Write([]byte("0")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}))
	defer s.Close()
	_, err := Fetch(t.Context(), Request{URLs: []string{s.URL + "/o.git"}, Commit: o.second, Dest: filepath.Join(t.TempDir(), "d")})
	if err == nil || !strings.Contains(err.Error(), "Less than 1000 bytes/sec") {
		t.Errorf("got %v", err)
	}
	dest := filepath.Join(t.TempDir(), "d")
	_, err = Fetch(t.Context(), Request{URLs: []string{s.URL + "/o.git", o.url}, Commit: o.second, Dest: dest})
	check(t, err)
	// A setting that is none is an error, not the default.
	t.Setenv("STONEMASON_FETCH_RATE", "slow")
	_, err = Fetch(t.Context(), Request{URLs: []string{o.url}, Commit: o.second, Dest: filepath.Join(t.TempDir(), "d")})
	if err == nil || !strings.Contains(err.Error(), `STONEMASON_FETCH_RATE: found "slow"`) {
		t.Errorf("got %v", err)
	}
}

// What git is told: whole seconds, and a limit also for who takes any rate, for
// without one git would wait for a server that is silent.
func TestPatienceOfGit(t *testing.T) {
	for _, c := range []struct {
		p    fetch.Patience
		want string
	}{
		{fetch.Patience{Stall: 30 * time.Second, Rate: 1000}, "http.lowSpeedLimit=1000 http.lowSpeedTime=30"},
		{fetch.Patience{Stall: 1500 * time.Millisecond, Rate: 7}, "http.lowSpeedLimit=7 http.lowSpeedTime=2"},
		{fetch.Patience{Stall: time.Millisecond}, "http.lowSpeedLimit=1 http.lowSpeedTime=1"},
	} {
		var got []string
		for _, s := range settings(c.p) {
			if strings.HasPrefix(s, "http.lowSpeed") {
				got = append(got, s)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v: %v", c.p, got)
		}
	}
}

func TestReachable(t *testing.T) {
	o := newOrigin(t, nil)
	web, _ := smart(t, filepath.Dir(o.dir))
	for _, url := range []string{o.url, web + "/o.git"} {
		check(t, Reachable(t.Context(), url))
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	addr := closed.Addr().String()
	check(t, closed.Close())
	for _, url := range []string{"http://me:hunter2@" + addr + "/o.git", web + "/absent.git", "file:///absent", "git://" + addr + "/x"} {
		if err := Reachable(t.Context(), url); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
