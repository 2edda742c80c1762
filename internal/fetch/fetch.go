// Package fetch downloads pinned files.
//
// Transport is hashicorp/go-getter's HTTP and file getters; everything that
// decides whether the bytes are taken is here. Nothing of go-getter's own magic
// is in reach of an address: no detectors, no decompression, no checksum
// parameters, no resuming.
//
// A file enters the store only after its size and SHA-256 matched, by a rename
// from a temporary file, under a lock that other processes respect. A mirror
// that fails, stalls or lies is left for the next one, and an error names every
// mirror with what it did.
package fetch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// Request names one file.
type Request struct {
	Name   string   // for people: "rocm-llvm_7.0.2+dfsg.orig.tar.xz"
	URLs   []string // http, https or file; tried in order
	SHA256 string   // lower-case hex
	Size   int64    // bytes
}

// EventKind tells what an Event reports.
type EventKind string

// The events of one file, in the order in which they can come.
const (
	EventCached   EventKind = "cached"   // the store had it; nothing else follows
	EventStart    EventKind = "start"    // an attempt at a URL begins
	EventProgress EventKind = "progress" // Done bytes have arrived
	EventRetry    EventKind = "retry"    // the attempt failed with Err; the same URL again after Wait
	EventNext     EventKind = "next"     // the URL is given up with Err
	EventDone     EventKind = "done"     // the file is in the store
)

// Event is one piece of progress.
type Event struct {
	Kind    EventKind
	Name    string        // of the Request
	URL     string        // without credentials and query
	Attempt int           // at this URL, from 1
	Done    int64         // bytes so far
	Total   int64         // bytes expected; 0 when unknown
	Wait    time.Duration // EventRetry
	Err     error         // EventRetry, EventNext
}

// DefaultMaxLearn bounds what Learn takes.
const DefaultMaxLearn = 8 << 30

// Fetcher downloads into one store. Its fields must not change once it is used;
// its methods may be called from many goroutines.
type Fetcher struct {
	// Dir is the store: Dir/sha256/<hex> holds the files, Dir/tmp what is being
	// downloaded, Dir/lock one lock file for each.
	Dir string
	// Progress, when set, is called for every event, never twice at a time.
	Progress func(Event)
	// Retries is how often a URL is tried again after a passing failure: 0 means
	// what RetriesVariable says, else DefaultRetries; a negative number never.
	Retries int
	// StallTimeout ends an attempt in which no byte arrives for that long; 0
	// means what StallVariable says, else DefaultStallTimeout.
	StallTimeout time.Duration
	// Rate ends an attempt in which fewer bytes a second arrive, over a stretch
	// of StallTimeout; 0 means what RateVariable says, else DefaultRate; a
	// negative number takes any rate.
	Rate int64
	// MaxLearn bounds what Learn takes; 0 means DefaultMaxLearn.
	MaxLearn int64
	// Transport carries the requests; nil means NewTransport().
	Transport http.RoundTripper
	// Sleep waits between attempts; nil means a timer. Tests replace it.
	Sleep func(context.Context, time.Duration) error

	once      sync.Once
	transport http.RoundTripper
	patient   Patience
	setupErr  error
	mu        sync.Mutex // guards calls of Progress, and what follows
	flights   map[string]*flight
	checked   map[string]fs.FileInfo // stored files, by hash, as they were when hashed
}

func (f *Fetcher) setup() error {
	f.once.Do(func() {
		f.transport = f.Transport
		if f.transport == nil {
			f.transport, f.setupErr = NewTransport()
		}
		var err error
		f.patient, err = f.patience()
		f.setupErr = errors.Join(f.setupErr, err)
	})
	return f.setupErr
}

func (f *Fetcher) event(e Event) {
	if f.Progress == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Progress(e)
}

// Path returns where the file with that hash is or would be.
func (f *Fetcher) Path(sha256hex string) string {
	return filepath.Join(f.Dir, "sha256", sha256hex)
}

// Get returns the path of the requested file in the store, after downloading it
// when it is not there. SHA256 and Size are required.
func (f *Fetcher) Get(ctx context.Context, req Request) (string, error) {
	if err := checkHash(req.SHA256); err != nil {
		return "", fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	if req.Size <= 0 {
		return "", fmt.Errorf("fetch %s: no size given: lock it first", req.Name)
	}
	if err := f.setup(); err != nil {
		return "", fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	// Who asks while the same is under way gets what comes of it: a file is not
	// fetched twice, and a mirror that is down is not waited for twice.
	key := strings.Join(append([]string{req.SHA256, req.Name}, req.URLs...), "\n")
	f.mu.Lock()
	under := f.flights[key]
	if under == nil {
		under = &flight{done: make(chan struct{})}
		if f.flights == nil {
			f.flights = map[string]*flight{}
		}
		f.flights[key] = under
		f.mu.Unlock()
		under.err = f.get(ctx, req)
		f.mu.Lock()
		delete(f.flights, key)
		f.mu.Unlock()
		close(under.done)
		return f.Path(req.SHA256), under.err
	}
	f.mu.Unlock()
	select {
	case <-under.done:
	case <-ctx.Done():
		return "", fmt.Errorf("fetch %s: %w", req.Name, ctx.Err())
	}
	if errors.Is(under.err, context.Canceled) || errors.Is(under.err, context.DeadlineExceeded) {
		return f.Path(req.SHA256), f.get(ctx, req) // it was the other that gave up
	}
	return f.Path(req.SHA256), under.err
}

// flight is a request that is under way.
type flight struct {
	done chan struct{}
	err  error
}

// get sees to it that the file is in the store.
func (f *Fetcher) get(ctx context.Context, req Request) error {
	if ok, err := f.have(req); err != nil || ok {
		return err
	}
	unlock, err := f.lock(ctx, req.SHA256)
	if err != nil {
		return fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	defer unlock()
	// Another process may have fetched it while this one waited.
	if ok, err := f.have(req); err != nil || ok {
		return err
	}
	// What has the name is not the file. Only the holder of the lock removes it.
	if err := os.Remove(f.Path(req.SHA256)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("fetch %s: remove a damaged copy: %w", req.Name, err)
	}
	f.sweep(req.SHA256)
	got, err := f.download(ctx, req, req.SHA256)
	if err != nil {
		return err
	}
	if err := f.keep(got.file, req.SHA256); err != nil {
		os.Remove(got.file)
		return fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	f.event(Event{Kind: EventDone, Name: req.Name, URL: got.url, Done: got.size, Total: got.size})
	return nil
}

// Learn downloads a file whose hash or size is not known yet, puts it in the
// store, and returns both. Those that req has are checked. A web page is
// refused, as everywhere.
func (f *Fetcher) Learn(ctx context.Context, req Request) (sha256hex string, size int64, path string, err error) {
	if req.SHA256 != "" {
		if err := checkHash(req.SHA256); err != nil {
			return "", 0, "", fmt.Errorf("fetch %s: %w", req.Name, err)
		}
	}
	if err := f.setup(); err != nil {
		return "", 0, "", fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	got, err := f.download(ctx, req, "learn")
	if err != nil {
		return "", 0, "", err
	}
	unlock, err := f.lock(ctx, got.sum)
	if err == nil {
		defer unlock()
		err = f.keep(got.file, got.sum)
	}
	if err != nil {
		os.Remove(got.file)
		return "", 0, "", fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	f.event(Event{Kind: EventDone, Name: req.Name, URL: got.url, Done: got.size, Total: got.size})
	return got.sum, got.size, f.Path(got.sum), nil
}

// GetAll gets every request, at most parallel at a time, and returns the paths
// by Name. One failure does not stop the others: the error names all of them.
func (f *Fetcher) GetAll(ctx context.Context, reqs []Request, parallel int) (map[string]string, error) {
	paths := make([]string, len(reqs))
	errs := make([]error, len(reqs))
	var group errgroup.Group
	group.SetLimit(max(1, parallel))
	byName := make(map[string]string, len(reqs))
	for _, req := range reqs { // before the first begins: none is left running
		if was, ok := byName[req.Name]; ok && was != req.SHA256 {
			return nil, fmt.Errorf("fetch: two different files are named %s", req.Name)
		}
		byName[req.Name] = req.SHA256
	}
	for i, req := range reqs {
		group.Go(func() error {
			paths[i], errs[i] = f.Get(ctx, req)
			return nil
		})
	}
	_ = group.Wait() // the errors are in errs, in the order of the requests
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i, req := range reqs {
		byName[req.Name] = paths[i]
	}
	return byName, nil
}

// have looks the file up in the store. It is hashed once, since what lies there
// is no more trusted than what comes over the network.
func (f *Fetcher) have(req Request) (bool, error) {
	path := f.Path(req.SHA256)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("fetch %s: %w", req.Name, err)
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	f.mu.Lock()
	was := f.checked[req.SHA256]
	f.mu.Unlock()
	if was == nil || !os.SameFile(was, info) || was.Size() != info.Size() || !was.ModTime().Equal(info.ModTime()) {
		sum, err := hashFile(path)
		if err != nil {
			return false, fmt.Errorf("fetch %s: %w", req.Name, err)
		}
		if sum != req.SHA256 {
			return false, nil
		}
		f.mu.Lock()
		if f.checked == nil {
			f.checked = map[string]fs.FileInfo{}
		}
		f.checked[req.SHA256] = info
		f.mu.Unlock()
	}
	if info.Size() != req.Size {
		return false, fmt.Errorf("fetch %s: the file with sha256 %s has %d bytes, and %d were expected: hash and size are not of the same file", req.Name, req.SHA256, info.Size(), req.Size)
	}
	f.event(Event{Kind: EventCached, Name: req.Name, Done: req.Size, Total: req.Size})
	return true, nil
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func checkHash(sum string) error {
	if len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is no SHA-256 in lower-case hex", sum)
	}
	return nil
}

// Check hashes a file of the store.
func (f *Fetcher) Check(sha256hex string) error {
	if err := checkHash(sha256hex); err != nil {
		return err
	}
	sum, err := hashFile(f.Path(sha256hex))
	if err != nil {
		return err
	}
	if sum != sha256hex {
		return fmt.Errorf("stored file %s holds other content: remove it", f.Path(sha256hex))
	}
	return nil
}
