package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var body = bytes.Repeat([]byte("0123456789abcdef"), 8192) // 128 KiB

func sumOf(p []byte) string { h := sha256.Sum256(p); return hex.EncodeToString(h[:]) }

// newFetcher returns a fetcher that never waits and records its events.
func newFetcher(t *testing.T) (*Fetcher, *[]Event) {
	var events []Event
	return &Fetcher{
		Dir:          t.TempDir(),
		StallTimeout: 20 * time.Second,
		Progress:     func(e Event) { events = append(events, e) },
		Sleep:        func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}, &events
}

func request(urls ...string) Request {
	return Request{Name: "f.tar.xz", URLs: urls, SHA256: sumOf(body), Size: int64(len(body))}
}

func serve(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL + "/f.tar.xz"
}

func good(w http.ResponseWriter, _ *http.Request) { w.Write(body) }

// wantFile checks a file of the store.
func wantFile(t *testing.T, f *Fetcher, path string) {
	t.Helper()
	got, err := os.ReadFile(path)
	check(t, err)
	if !bytes.Equal(got, body) {
		t.Errorf("%d bytes of other content", len(got))
	}
	if path != filepath.Join(f.Dir, "sha256", sumOf(body)) {
		t.Errorf("stored at %s", path)
	}
	wantNoRest(t, f)
}

// wantNoRest checks that no temporary file is left.
func wantNoRest(t *testing.T, f *Fetcher) {
	t.Helper()
	rest, _ := os.ReadDir(filepath.Join(f.Dir, "tmp"))
	if len(rest) != 0 {
		t.Errorf("left behind: %v", rest)
	}
}

// hijack gives a handler the bare connection.
func hijack(w http.ResponseWriter, write string) {
	c, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	buf.WriteString(write)
	buf.Flush()
	c.Close()
}

// Every misbehaviour, with a good mirror behind it: the file must arrive, the
// bad mirror must have been asked exactly as often as its failure deserves, and
// the reason must be said.
func TestMirrorsThatMisbehave(t *testing.T) {
	const always = 1 + DefaultRetries
	for _, tc := range []struct {
		name   string
		asked  int32
		reason string
		h      http.HandlerFunc
	}{
		{"missing", 1, "404 Not Found", http.NotFound},
		{"forbidden", 1, "403 Forbidden", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(403) }},
		{"broken", always, "503 Service Unavailable", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }},
		{"busy", always, "429 Too Many Requests", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }},
		{"wrong content", 1, "wrong content: sha256 ", func(w http.ResponseWriter, _ *http.Request) {
			w.Write(append([]byte("X"), body[1:]...))
		}},
		{"too long by its header", 1, "131073 bytes, 131072 were expected", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(len(body)+1))
			w.Write(append(body, 'x'))
		}},
		{"endless", 1, "more than 131072 bytes", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(body); err != nil {
					return
				}
			}
		}},
		{"too short by its header", 1, "5 bytes, 131072 were expected", func(w http.ResponseWriter, _ *http.Request) {
			w.Write(body[:5])
		}},
		{"too short without one", always, "ended after 5 of 131072 bytes", func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+string(body[:5]))
		}},
		{"cut off", always, "the connection ended early", func(w http.ResponseWriter, _ *http.Request) {
			hijack(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:70000]))
		}},
		{"hangs up", always, "the connection ended early", func(w http.ResponseWriter, _ *http.Request) { hijack(w, "") }},
		{"web page", 1, "web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Write([]byte("<!DOCTYPE html><title>log in</title>"))
		}},
		{"web page without a length", 1, "web page", func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			w.Write([]byte("\n <HTML><body>log in</body>"))
		}},
		{"a part", 1, "206", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(body)-1, len(body)))
			w.WriteHeader(206)
			w.Write(body)
		}},
		{"redirect to a file", 1, "redirect refused: from http to file", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "file:///etc/passwd")
			w.WriteHeader(302)
		}},
		{"redirect loop", maxRedirects, "more than 10 in a row", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		}},
		{"terraform's redirect", 1, "wrong content", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Terraform-Get", "file:///etc/passwd")
			w.Write(bytes.Repeat([]byte("z"), len(body)))
		}},
		{"not http", always, "malformed HTTP response", func(w http.ResponseWriter, _ *http.Request) { hijack(w, "SSH-2.0-x\r\n\r\n") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var asked atomic.Int32
			bad := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				if r.Header.Get("Range") != "" || r.Method != http.MethodGet || r.URL.RawQuery != "" {
					t.Errorf("asked %s %s with Range %q", r.Method, r.URL, r.Header.Get("Range"))
				}
				tc.h(w, r)
			})
			f, events := newFetcher(t)
			path, err := f.Get(t.Context(), request(bad, serve(t, good)))
			check(t, err)
			wantFile(t, f, path)
			var reason string
			for _, e := range *events {
				if e.Kind == EventNext {
					reason = e.Err.Error()
				}
			}
			if !strings.Contains(reason, tc.reason) {
				t.Errorf("the reason is %q, want %q", reason, tc.reason)
			}
			want := tc.asked
			if tc.name == "not http" {
				want = asked.Load() // judged by its reason only
			}
			if got := asked.Load(); got != want {
				t.Errorf("asked %d times, want %d", got, want)
			}
			// And alone it is an error that names it and leaves nothing.
			f, _ = newFetcher(t)
			_, err = f.Get(t.Context(), request(bad))
			var e *Error
			if !errors.As(err, &e) || len(e.Mirrors) != 1 || e.Mirrors[0].URL != bad || !strings.Contains(err.Error(), tc.reason) {
				t.Errorf("alone: %v", err)
			}
			wantNoRest(t, f)
			if _, err := os.Stat(f.Path(sumOf(body))); err == nil {
				t.Error("a refused file is in the store")
			}
		})
	}
}

func TestRecovers(t *testing.T) {
	var n atomic.Int32
	flaky := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(500)
		case 2:
			hijack(w, fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:100]))
		default:
			good(w, r)
		}
	})
	f, events := newFetcher(t)
	path, err := f.Get(t.Context(), request(flaky))
	check(t, err)
	wantFile(t, f, path)
	var kinds []string
	for _, e := range *events {
		if e.Kind != EventProgress {
			kinds = append(kinds, fmt.Sprintf("%s%d", e.Kind, e.Attempt))
		}
		if e.Kind == EventRetry && e.Attempt == 1 && e.Wait != 7*time.Second {
			t.Errorf("waits %v, the server asked for 7 s", e.Wait)
		}
	}
	if got, want := strings.Join(kinds, " "), "start1 retry1 start2 retry2 start3 done0"; got != want {
		t.Errorf("events %s, want %s", got, want)
	}
	last := (*events)[len(*events)-2]
	if last.Kind != EventProgress || last.Done != int64(len(body)) || last.Total != last.Done {
		t.Errorf("last progress is %+v", last)
	}
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hang := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Write(body[:10])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	f, _ := newFetcher(t)
	if _, err := f.Get(ctx, request(hang)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	wantNoRest(t, f)
}

func TestDowngrade(t *testing.T) {
	plain := serve(t, good)
	secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, plain, http.StatusFound)
	}))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains about the client, as it should
	secure.StartTLS()
	defer secure.Close()
	f, _ := newFetcher(t)
	f.Transport = secure.Client().Transport
	_, err := f.Get(t.Context(), request(secure.URL+"/f"))
	if err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("got %v", err)
	}
	// And a certificate that nobody vouches for is final.
	f, events := newFetcher(t)
	if _, err := f.Get(t.Context(), request(secure.URL+"/f")); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("got %v", err)
	}
	if n := len(*events); n != 2 {
		t.Errorf("%d events: an unknown certificate was tried again", n)
	}
}

func TestAddressesAsTheyAre(t *testing.T) {
	var asked, auth string
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		auth += "|" + r.Header.Get("Authorization")
		good(w, r)
	})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath() + "?" + r.URL.RawQuery
		auth = r.Header.Get("Authorization")
		http.Redirect(w, r, other, http.StatusFound)
	})
	// go-getter gives a meaning to all of these.
	path := "/a//b%2Bc.tar.gz?z=1&archive=zip&checksum=md5:00&filename=../x&a=2"
	withUser := strings.Replace(strings.TrimSuffix(url, "/f.tar.xz"), "http://", "http://me:secret@", 1)
	f, events := newFetcher(t)
	got, err := f.Get(t.Context(), request(withUser+path))
	check(t, err)
	wantFile(t, f, got)
	if asked != path {
		t.Errorf("asked for %s, want %s", asked, path)
	}
	if !strings.HasPrefix(auth, "Basic ") || !strings.HasSuffix(auth, "|") {
		t.Errorf("authorization %q: to the named host, and to it alone", auth)
	}
	for _, e := range *events {
		if strings.Contains(e.URL, "secret") || strings.Contains(e.URL, "archive") {
			t.Errorf("event shows %s", e.URL)
		}
	}
}

func TestSecretsStayOut(t *testing.T) {
	f, _ := newFetcher(t)
	dead := httptest.NewServer(nil)
	dead.Close()
	secret := strings.Replace(dead.URL, "http://", "http://me:hunter2@", 1) + "/f?token=hunter2"
	leak := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", "ftp://me:hunter2@h/x?token=hunter2")
		w.WriteHeader(302)
	})
	_, err := f.Get(t.Context(), request(secret, leak+"?t=hunter2", "ht tp://me:hunter2@x/", "ftp://me:hunter2@x/", "http://me:hunter2@[::1", "file://me:hunter2@h/x"))
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	if n := len(err.(*Error).Mirrors); n != 6 {
		t.Errorf("%d mirrors named, want 6", n)
	}
	for in, want := range map[string]string{
		"fatal: unable to access 'https://u:p@h.example/x.git/': 403": "fatal: unable to access 'https://h.example/x.git/': 403",
		"see http://h/a?k=v.": "see http://h/a.",
		"no address":          "no address",
	} {
		if got := RedactText(in); got != want {
			t.Errorf("RedactText(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a b+c%.tar.gz")
	check(t, os.WriteFile(name, body, 0o644))
	f, _ := newFetcher(t)
	url := "file://" + strings.NewReplacer("%", "%25", " ", "%20", "+", "%2B").Replace(name)
	path, err := f.Get(t.Context(), request("file:///absent", "file://"+dir, "file:///dev/zero", url))
	check(t, err)
	wantFile(t, f, path)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		t.Errorf("stored as %v: a copy was wanted", info.Mode())
	}
	check(t, os.WriteFile(name, body[1:], 0o644))
	f, _ = newFetcher(t)
	if _, err := f.Get(t.Context(), request(url)); err == nil || !strings.Contains(err.Error(), "131071 bytes, 131072 were expected") {
		t.Errorf("got %v", err)
	}
}

func TestStoredFiles(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); good(w, r) })
	f, _ := newFetcher(t)
	path, err := f.Get(t.Context(), request(url))
	check(t, err)
	// Present: no request, even when no mirror is known.
	_, err = f.Get(t.Context(), request())
	check(t, err)
	check(t, f.Check(sumOf(body)))
	// Of the wrong size: fetched again.
	check(t, os.Remove(path))
	check(t, os.WriteFile(path, body[1:], 0o644))
	_, err = f.Get(t.Context(), request(url))
	check(t, err)
	// Of the right size and other content.
	check(t, os.Remove(path))
	check(t, os.WriteFile(path, append([]byte("X"), body[1:]...), 0o644))
	if f.Check(sumOf(body)) == nil {
		t.Error("Check passes other content")
	}
	again := &Fetcher{Dir: f.Dir}
	_, err = again.Get(t.Context(), request(url))
	check(t, err)
	wantFile(t, f, path)
	// No file at all.
	check(t, os.Remove(path))
	check(t, os.Mkdir(path, 0o755))
	_, err = again.Get(t.Context(), request(url))
	check(t, err)
	wantFile(t, f, path)
	if asked.Load() != 4 {
		t.Errorf("asked %d times, want 4", asked.Load())
	}
	// A request with the hash and not the size of a good file is wrong itself:
	// the file stays.
	wrong := request(url)
	wrong.Size--
	if _, err := f.Get(t.Context(), wrong); err == nil || !strings.Contains(err.Error(), "hash and size are not of the same file") {
		t.Errorf("got %v", err)
	}
	wantFile(t, f, path)
}

func TestLeftoversAreSwept(t *testing.T) {
	f, _ := newFetcher(t)
	dead := filepath.Join(f.Dir, "tmp", sumOf(body)+"-123")
	check(t, os.MkdirAll(dead, 0o755))
	check(t, os.WriteFile(filepath.Join(dead, "file"), body[:100], 0o644))
	path, err := f.Get(t.Context(), request(serve(t, good)))
	check(t, err)
	wantFile(t, f, path)
}

func TestConcurrentGetsFetchOnce(t *testing.T) {
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); good(w, r) })
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			// Fetchers of their own, as two processes have.
			if _, err := (&Fetcher{Dir: dir}).Get(t.Context(), request(url)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want once", asked.Load())
	}
}

// Two real processes share the lock.
func TestTwoProcesses(t *testing.T) {
	if dir := os.Getenv("FETCH_TEST_DIR"); dir != "" {
		_, err := (&Fetcher{Dir: dir}).Get(t.Context(), request(os.Getenv("FETCH_TEST_URL")))
		check(t, err)
		return
	}
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { asked.Add(1); good(w, r) })
	self, err := os.Executable()
	check(t, err)
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 3 {
		wait.Go(func() {
			cmd := exec.Command(self, "-test.run=^TestTwoProcesses$")
			cmd.Env = append(os.Environ(), "FETCH_TEST_DIR="+dir, "FETCH_TEST_URL="+url)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wait.Wait()
	if asked.Load() != 1 {
		t.Errorf("asked %d times, want once", asked.Load())
	}
}

func TestWaitingForALockCanBeCancelled(t *testing.T) {
	f, _ := newFetcher(t)
	unlock, err := f.lock(t.Context(), sumOf(body))
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := f.Get(ctx, request(serve(t, good))); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	unlock()
	again, err := f.lock(t.Context(), sumOf(body))
	check(t, err)
	again()
}

func TestLearn(t *testing.T) {
	f, _ := newFetcher(t)
	url := serve(t, good)
	sum, size, path, err := f.Learn(t.Context(), Request{Name: "f.tar.xz", URLs: []string{url}})
	check(t, err)
	wantFile(t, f, path)
	if sum != sumOf(body) || size != int64(len(body)) {
		t.Errorf("learned %s, %d", sum, size)
	}
	page := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>log in</html>")) })
	if _, _, _, err := f.Learn(t.Context(), Request{Name: "f.tar.xz", URLs: []string{page}}); err == nil {
		t.Error("learned a web page")
	}
	f.MaxLearn = 1000
	if _, _, _, err := f.Learn(t.Context(), Request{Name: "f.tar.xz", URLs: []string{url}}); err == nil || !strings.Contains(err.Error(), "more than 1000 bytes") {
		t.Errorf("got %v", err)
	}
	wantNoRest(t, f)
}

func TestGetAll(t *testing.T) {
	url := serve(t, good)
	f, _ := newFetcher(t)
	second := Request{Name: "two", URLs: []string{"data:x"}, SHA256: strings.Repeat("0", 64), Size: 1}
	third := Request{Name: "three", URLs: []string{strings.TrimSuffix(serve(t, http.NotFound), "/")}, SHA256: strings.Repeat("1", 64), Size: 1}
	paths, err := f.GetAll(t.Context(), []Request{request(url)}, 4)
	check(t, err)
	wantFile(t, f, paths["f.tar.xz"])
	_, err = f.GetAll(t.Context(), []Request{second, request(url), third}, 2)
	if err == nil || !strings.Contains(err.Error(), "fetch two:") || !strings.Contains(err.Error(), "fetch three:") {
		t.Errorf("got %v, want both failures", err)
	}
	f, events := newFetcher(t)
	clash := request(url)
	clash.SHA256 = strings.Repeat("2", 64)
	if _, err := f.GetAll(t.Context(), []Request{request(url), clash}, 2); err == nil {
		t.Error("two files under one name")
	}
	if len(*events) != 0 {
		t.Errorf("a request was begun: %v", *events)
	}
}

func TestRequestsThatAreNotPinned(t *testing.T) {
	f, _ := newFetcher(t)
	for _, req := range []Request{
		{Name: "x", SHA256: sumOf(body)},
		{Name: "x", Size: 1},
		{Name: "x", Size: 1, SHA256: strings.ToUpper(sumOf(body))},
		{Name: "x", Size: 1, SHA256: "../../" + strings.Repeat("a", 58)},
	} {
		if _, err := f.Get(t.Context(), req); err == nil {
			t.Errorf("%+v was taken", req)
		}
	}
	_, err := f.Get(t.Context(), request())
	if err == nil || !strings.Contains(err.Error(), "no address is known") {
		t.Errorf("got %v", err)
	}
}

func TestBackoffGrows(t *testing.T) {
	for attempt := 1; attempt < 40; attempt++ {
		full := min(firstWait<<min(attempt-1, 10), maxWait*2)
		for range 50 {
			got := backoff(attempt, 0)
			if got < min(full/2, maxWait) || got > maxWait || got > full*3/2 {
				t.Fatalf("attempt %d waits %v", attempt, got)
			}
		}
	}
	if got := backoff(1, time.Hour); got != maxWait {
		t.Errorf("a server that asks for an hour gets %v", got)
	}
}
