package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	getter "github.com/hashicorp/go-getter/v2"
)

// Backoff between two attempts at one URL: doubled each time, and varied by
// half so that many builders do not come back together.
const (
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
)

// failure is why an attempt failed.
type failure struct {
	err   error
	again bool          // the same URL may do better later
	wait  time.Duration // what the server asked for
}

// Error is that of the cause: what to do about it is for the attempts alone.
func (f *failure) Error() string { return f.err.Error() }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.err }

func giveUp(format string, args ...any) error {
	return &failure{err: fmt.Errorf(format, args...)}
}

func tryAgain(format string, args ...any) error {
	return &failure{err: fmt.Errorf(format, args...), again: true}
}

// MirrorError says what one URL did.
type MirrorError struct {
	URL      string // without credentials
	Attempts int
	Err      error // of the last attempt
}

// Error is one line: the address, why it failed, and how often when more than once.
func (e *MirrorError) Error() string {
	if e.Attempts > 1 {
		return fmt.Sprintf("%s: %v (tried %d times)", e.URL, e.Err, e.Attempts)
	}
	return fmt.Sprintf("%s: %v", e.URL, e.Err)
}

// Unwrap returns what went wrong at the last attempt.
func (e *MirrorError) Unwrap() error { return e.Err }

// Error says that no URL gave the file.
type Error struct {
	Name    string
	Mirrors []*MirrorError
}

// Error names the file, and on a line of its own each address that was asked.
func (e *Error) Error() string {
	if len(e.Mirrors) == 0 {
		return "fetch " + e.Name + ": no address is known for it"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "fetch %s: no mirror gave the file", e.Name)
	for _, m := range e.Mirrors {
		b.WriteString("\n  " + m.Error())
	}
	return b.String()
}

// Unwrap returns a *MirrorError for each address, in the order asked.
func (e *Error) Unwrap() []error {
	list := make([]error, len(e.Mirrors))
	for i, m := range e.Mirrors {
		list[i] = m
	}
	return list
}

// fetched is a downloaded, checked temporary file.
type fetched struct {
	file, sum, url string
	size           int64
}

// download tries the URLs in order.
func (f *Fetcher) download(ctx context.Context, req Request, prefix string) (fetched, error) {
	failed := &Error{Name: req.Name}
	for _, raw := range req.URLs {
		shown := Redact(raw)
		for attempt := 1; ; attempt++ {
			f.event(Event{Kind: EventStart, Name: req.Name, URL: shown, Attempt: attempt, Total: req.Size})
			got, err := f.attempt(ctx, req, raw, prefix, attempt)
			if err == nil {
				return got, nil
			}
			if ctx.Err() != nil {
				return fetched{}, fmt.Errorf("fetch %s: %w", req.Name, ctx.Err())
			}
			var fail *failure
			if !errors.As(err, &fail) {
				// Not the mirror's fault: a full disk, a store without permission.
				return fetched{}, fmt.Errorf("fetch %s: %w", req.Name, err)
			}
			if !fail.again || attempt > f.patient.Retries {
				failed.Mirrors = append(failed.Mirrors, &MirrorError{URL: shown, Attempts: attempt, Err: fail.err})
				f.event(Event{Kind: EventNext, Name: req.Name, URL: shown, Attempt: attempt, Err: fail.err})
				break
			}
			wait := backoff(attempt, fail.wait)
			f.event(Event{Kind: EventRetry, Name: req.Name, URL: shown, Attempt: attempt, Wait: wait, Err: fail.err})
			if err := f.sleep(ctx, wait); err != nil {
				return fetched{}, fmt.Errorf("fetch %s: %w", req.Name, err)
			}
		}
	}
	return fetched{}, failed
}

func backoff(attempt int, asked time.Duration) time.Duration {
	wait := firstWait << min(attempt-1, 10)
	wait = wait/2 + rand.N(wait)
	return min(max(wait, asked), maxWait)
}

func (f *Fetcher) sleep(ctx context.Context, d time.Duration) error {
	if f.Sleep != nil {
		return f.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt downloads one URL once, to a fresh temporary file.
func (f *Fetcher) attempt(ctx context.Context, req Request, raw, prefix string, number int) (got fetched, err error) {
	u, err := url.Parse(raw)
	if err != nil {
		return got, giveUp("the address cannot be parsed")
	}
	dir := filepath.Join(f.Dir, "tmp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return got, err
	}
	// A directory of its own makes the name unique and new: go-getter would
	// append to, or trust, a file that it finds.
	work, err := os.MkdirTemp(dir, prefix+"-*")
	if err != nil {
		return got, err
	}
	defer os.RemoveAll(work)
	dst := filepath.Join(work, "file")

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var size int64
	var sum string
	switch u.Scheme {
	case "http", "https":
		if u.Host == "" {
			return got, giveUp("the address names no host")
		}
		g := f.newGuard(cancel, req, u, number)
		err = getHTTP(ctx, g, dst)
		g.stop()
		// What the guard saw first is the reason; what came of it is noise.
		if g.err != nil {
			err = g.err
		} else if cause := context.Cause(ctx); errors.Is(cause, errStalled) {
			err = tryAgain("%w for %v", errStalled, g.pace.Stall)
		} else if err != nil {
			err = classify(err)
		}
		if err != nil {
			return got, err
		}
		size, sum = g.n, hex.EncodeToString(g.hash.Sum(nil))
	case "file":
		if err := f.getFile(ctx, req, u, dst); err != nil {
			return got, err
		}
		info, err := os.Stat(dst)
		if err != nil {
			return got, err
		}
		if size = info.Size(); size > f.most(req) {
			return got, giveUp("more than %d bytes, no more are taken", f.most(req))
		}
		if sum, err = hashFile(dst); err != nil {
			return got, err
		}
	default:
		return got, giveUp("the scheme %q is not http, https or file", u.Scheme)
	}
	if err := verify(req, size, sum); err != nil {
		return got, err
	}
	// Out of the directory that is about to be removed.
	final := work + ".done"
	if err := os.Rename(dst, final); err != nil {
		return got, err
	}
	return fetched{file: final, sum: sum, url: Redact(raw), size: size}, nil
}

func verify(req Request, size int64, sum string) error {
	if req.Size > 0 && size != req.Size {
		if size < req.Size {
			return tryAgain("ended after %d of %d bytes", size, req.Size)
		}
		return giveUp("%d bytes, %d were expected", size, req.Size)
	}
	if req.SHA256 != "" && sum != req.SHA256 {
		return giveUp("wrong content: sha256 %s, expected %s", sum, req.SHA256)
	}
	return nil
}

// most is how many bytes may come.
func (f *Fetcher) most(req Request) int64 {
	switch {
	case req.Size > 0:
		return req.Size
	case f.MaxLearn > 0:
		return f.MaxLearn
	}
	return DefaultMaxLearn
}

// client returns a go-getter client with one getter and no magic.
func client(g getter.Getter) *getter.Client {
	return &getter.Client{
		Getters: []getter.Getter{g},
		// Not nil: nil would mean all of go-getter's decompressors.
		Decompressors:   map[string]getter.Decompressor{},
		DisableSymlinks: true,
	}
}

// getHTTP lets go-getter fetch through the guard. The address that it sees has
// no query and no user, because it would interpret some of the one ("archive",
// "checksum") and "//" in the path; the guard puts the true address back.
func getHTTP(ctx context.Context, g *guard, dst string) error {
	plain := url.URL{Scheme: g.url.Scheme, Host: g.url.Host, Path: path.Clean("/" + g.url.Path)}
	_, err := client(&getter.HttpGetter{
		Client:                &http.Client{Transport: g, CheckRedirect: checkRedirect},
		DoNotCheckHeadFirst:   true, // with HEAD comes resuming
		XTerraformGetDisabled: true,
	}).Get(ctx, &getter.Request{Src: plain.String(), Dst: dst, GetMode: getter.ModeFile, Copy: true})
	return err
}

// getFile copies a local file.
func (f *Fetcher) getFile(ctx context.Context, req Request, u *url.URL, dst string) error {
	if u.Host != "" && u.Host != "localhost" {
		return giveUp("a file address with a host")
	}
	name := filepath.Clean(u.Path)
	info, err := os.Stat(name)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return giveUp("%v", err)
	}
	if !info.Mode().IsRegular() {
		return giveUp("not a regular file")
	}
	if req.Size > 0 && info.Size() != req.Size {
		return giveUp("%d bytes, %d were expected", info.Size(), req.Size)
	}
	if info.Size() > f.most(req) {
		return giveUp("%d bytes, at most %d are taken", info.Size(), f.most(req))
	}
	src := url.URL{Scheme: "file", Path: name}
	_, err = client(&getter.FileGetter{}).Get(ctx, &getter.Request{Src: src.String(), Dst: dst, GetMode: getter.ModeFile, Copy: true})
	if err != nil && ctx.Err() == nil {
		// Of the source it is the mirror's fault, of the copy this machine's.
		var pe *os.PathError
		if errors.As(err, &pe) && pe.Path != name {
			return err
		}
		return giveUp("%s", RedactText(strings.Join(strings.Fields(err.Error()), " ")))
	}
	return err
}

var errStalled = errors.New("no data")

// guard is the transport of one attempt. It sees every request and every byte
// before go-getter does, and ends the attempt at the first thing that is wrong.
type guard struct {
	fetcher *Fetcher
	req     Request
	url     *url.URL
	number  int
	pace    pace
	timer   *time.Timer
	first   bool
	err     error // why the guard ended the attempt
	n       int64
	hash    hash.Hash
	head    []byte // the first bytes, until they were looked at
	shown   time.Time
}

func (f *Fetcher) newGuard(cancel context.CancelCauseFunc, req Request, u *url.URL, number int) *guard {
	g := &guard{fetcher: f, req: req, url: u, number: number, pace: pace{Patience: f.patient}, first: true, hash: sha256.New()}
	g.timer = time.AfterFunc(g.pace.Stall, func() { cancel(errStalled) })
	return g
}

func (g *guard) stop() { g.timer.Stop() }

func (g *guard) fail(err error) error {
	if g.err == nil {
		g.err = err
	}
	return err
}

// RoundTrip sends one request: the first one to the true address, those after
// it to where a redirect led.
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if g.first {
		g.first = false
		r = r.Clone(r.Context())
		u := *g.url
		u.User, u.Fragment = nil, ""
		r.URL, r.Host = &u, ""
		if user := g.url.User; user != nil {
			pass, _ := user.Password()
			r.SetBasicAuth(user.Username(), pass)
		}
	}
	r.Header.Del("Range")
	resp, err := g.fetcher.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	g.timer.Reset(g.pace.Stall)
	if err := g.judge(resp); err != nil {
		resp.Body.Close()
		return nil, g.fail(err)
	}
	if resp.StatusCode == http.StatusOK {
		resp.Body = &guardedBody{g, resp.Body}
	}
	return resp, nil
}

// judge looks at the answer's head.
func (g *guard) judge(resp *http.Response) error {
	code := resp.StatusCode
	switch {
	case code == http.StatusOK:
	case code == http.StatusPartialContent:
		return giveUp("answered with a part of the file (206) that nobody asked for")
	case code >= 300 && code < 400 && resp.Header.Get("Location") != "":
		return nil
	case code >= 500, code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests:
		return &failure{err: errors.New(resp.Status), again: true, wait: retryAfter(resp)}
	default:
		return giveUp("%s", resp.Status)
	}
	if want := g.req.Size; want > 0 && resp.ContentLength >= 0 && resp.ContentLength != want {
		return giveUp("%s, %d were expected", describeLength(resp), want)
	}
	if most := g.fetcher.most(g.req); resp.ContentLength > most {
		return giveUp("%d bytes, at most %d are taken", resp.ContentLength, most)
	}
	return nil
}

func describeLength(resp *http.Response) string {
	if kind := resp.Header.Get("Content-Type"); strings.HasPrefix(kind, "text/html") {
		return fmt.Sprintf("a web page of %d bytes", resp.ContentLength)
	}
	return fmt.Sprintf("%d bytes", resp.ContentLength)
}

// retryAfter reads the header in its form of seconds.
func retryAfter(resp *http.Response) time.Duration {
	sec, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil || sec < 0 || sec > 3600 {
		return 0
	}
	return time.Duration(sec) * time.Second
}

// guardedBody counts, hashes and limits what go-getter reads.
type guardedBody struct {
	g    *guard
	body io.ReadCloser
}

// Close closes the body of the response.
func (b *guardedBody) Close() error { return b.body.Close() }

// Read reads no more than the request allows, and fails where that is exceeded or the
// bytes come too slowly.
func (b *guardedBody) Read(p []byte) (int, error) {
	g := b.g
	// One byte more than allowed is enough to know.
	if room := g.fetcher.most(g.req) - g.n + 1; int64(len(p)) > room {
		p = p[:max(room, 1)]
	}
	// The time between two calls is this machine's: the disk's, most often.
	began := time.Now()
	g.timer.Reset(g.pace.Stall)
	n, err := b.body.Read(p)
	g.timer.Stop()
	if err == nil {
		if slow := g.pace.slow(n, time.Since(began)); slow != nil {
			return n, g.fail(slow)
		}
	}
	if n > 0 {
		g.n += int64(n)
		g.hash.Write(p[:n])
		if len(g.head) < 512 {
			g.head = append(g.head, p[:min(n, 512-len(g.head))]...)
		}
		g.progress()
	}
	if most := g.fetcher.most(g.req); g.n > most {
		return n, g.fail(giveUp("more than %d bytes, no more are taken", most))
	}
	if isPage(g.head, g.req.Name) && (len(g.head) == 512 || err != nil) {
		return n, g.fail(giveUp("answered with a web page instead of the file"))
	}
	return n, err
}

// isPage recognises HTML where none was asked for: the login or error page of a
// proxy that answers 200.
func isPage(head []byte, name string) bool {
	if strings.HasSuffix(name, ".html") || strings.HasSuffix(name, ".htm") {
		return false
	}
	low := bytes.ToLower(bytes.TrimLeft(head, "\ufeff \t\r\n"))
	return bytes.HasPrefix(low, []byte("<!doctype html")) || bytes.HasPrefix(low, []byte("<html"))
}

func (g *guard) progress() {
	const every = 100 * time.Millisecond
	if now := time.Now(); now.Sub(g.shown) >= every || g.n == g.req.Size {
		g.shown = now
		g.fetcher.event(Event{Kind: EventProgress, Name: g.req.Name, URL: Redact(g.url.String()), Attempt: g.number, Done: g.n, Total: g.req.Size})
	}
}

// classify decides whether an error of the connection may pass.
func classify(err error) error {
	// The address in it may hold secrets, and is named elsewhere anyway.
	var ue *url.Error
	for errors.As(err, &ue) {
		err = ue.Err
	}
	if errors.Is(err, errRedirect) {
		return giveUp("%w", err)
	}
	var cert *tls.CertificateVerificationError
	var dns *net.DNSError
	var pathErr *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &pathErr), errors.As(err, &link), errors.Is(err, syscall.ENOSPC):
		return err // of this machine's disk
	case errors.As(err, &cert):
		return giveUp("%s", RedactText(err.Error()))
	case errors.As(err, &dns) && dns.IsNotFound:
		return giveUp("host %s is not known", dns.Name)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, io.ErrShortWrite):
		return tryAgain("the connection ended early")
	}
	var ne net.Error
	var op *net.OpError
	if errors.As(err, &ne) || errors.As(err, &op) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return tryAgain("%s", RedactText(err.Error()))
	}
	return giveUp("%s", RedactText(strings.Join(strings.Fields(err.Error()), " ")))
}
