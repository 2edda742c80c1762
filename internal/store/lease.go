package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Readers and eviction are held apart as Nix does it with its temporary roots:
// every process that uses the store has a lease file, locked while it lives,
// to which it appends a content before it looks whether that is there. A lease
// is appended under a shared lock of leaseLock; eviction reads all leases and
// renames what goes away under the exclusive one. So a content is either gone
// when it is looked for, or it stays until its last reader has ended. Sessions
// begin under the shared lock too: for downloads, and for who empties the store,
// it counts that there is one.

// leaseLock is the name of the lock between taking leases and evicting.
const leaseLock = "leases"

// maxLease bounds a lease file in bytes: 100,000 contents.
const maxLease = 8 << 20

// Session is a process that uses the store.
type Session struct {
	ID    string    `json:"-"`
	PID   int       `json:"pid"`
	Dir   string    `json:"dir"` // where it was started
	Begun time.Time `json:"begun"`
	// Contents are held until the process ends.
	Contents []Content `json:"-"`
}

func (x Session) String() string { return fmt.Sprintf("process %d in %s", x.PID, x.Dir) }

// lease is this store's own session.
type lease struct {
	id   string
	file *os.File
	size int64 // bytes that are written completely
	held map[Content]bool
}

// Hold keeps contents from being evicted for as long as this process lives,
// or until Close, whether they are there or not. What Lookup finds and what
// Seal makes is held already.
func (s *Store) Hold(contents ...Content) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []byte
	for _, c := range contents {
		if _, err := c.hex(); err != nil {
			return err
		}
		if s.lease == nil || !s.lease.held[c] {
			lines = append(append(lines, c...), '\n')
		}
	}
	if lines == nil {
		return nil
	}
	if err := s.begin(); err != nil {
		return err
	}
	gate, err := lockFile(context.Background(), filepath.Join(s.root, "locks", leaseLock), unix.LOCK_SH)
	if err != nil {
		return s.fail("cannot take a lease", err)
	}
	defer gate.Close()
	// What found no room for its end is written over by what comes after it.
	if _, err := s.lease.file.WriteAt(lines, s.lease.size); err != nil {
		return s.fail("cannot write a lease", err)
	}
	s.lease.size += int64(len(lines))
	for _, c := range contents {
		s.lease.held[c] = true
	}
	return nil
}

// begin starts this store's session. The caller holds s.mu.
func (s *Store) begin() error {
	if s.lease != nil {
		return nil
	}
	dir := filepath.Join(s.root, "leases")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return s.fail("cannot begin a session", err)
	}
	gate, err := lockFile(context.Background(), filepath.Join(s.root, "locks", leaseLock), unix.LOCK_SH)
	if err != nil {
		return s.fail("cannot begin a session", err)
	}
	defer gate.Close()
	sweepLeases(dir)
	for {
		// Another name each time: who was about to remove the last one must not
		// take this for it.
		var raw [8]byte
		_, _ = rand.Read(raw[:]) // never fails
		id := hex.EncodeToString(raw[:])
		name := filepath.Join(dir, id)
		f, err := lockFile(context.Background(), name, unix.LOCK_EX)
		if err != nil {
			return s.fail("cannot begin a session", err)
		}
		// Between its making and its locking, the file may have been taken for
		// one of a dead process.
		here, err := os.Stat(name)
		own, ownErr := f.Stat()
		if err == nil && ownErr == nil && os.SameFile(here, own) {
			wd, _ := os.Getwd() // only for people
			head, _ := json.Marshal(Session{PID: os.Getpid(), Dir: wd, Begun: time.Now().UTC()})
			head = append(head, '\n')
			if _, err := f.Write(head); err != nil {
				_ = os.Remove(name)
				_ = f.Close()
				return s.fail("cannot begin a session", err)
			}
			s.lease = &lease{id: id, file: f, size: int64(len(head)), held: map[Content]bool{}}
			return nil
		}
		if err := f.Close(); err != nil {
			return s.fail("cannot begin a session", err)
		}
	}
}

// Close ends this store's session: what it held may be evicted. The store can
// be used further, and then begins another. A process that ends without Close
// leaves an empty claim that the next one takes away.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil
	}
	err := errors.Join(os.Remove(s.lease.file.Name()), s.lease.file.Close())
	s.lease = nil
	return s.fail("cannot end a session", err)
}

// sessionID is this store's session, which is begun when there is none; "" on
// an error.
func (s *Store) sessionID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.begin() != nil {
		return ""
	}
	return s.lease.id
}

// sweepLeases removes the files of sessions whose process has ended.
func sweepLeases(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // a real problem shows when writing
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if f, err := os.OpenFile(name, os.O_RDWR|openFlags, 0); err == nil {
			if flock(f, unix.LOCK_EX|unix.LOCK_NB) == nil {
				_ = os.Remove(name)
			}
			_ = f.Close()
		}
	}
}

// Sessions lists the processes that use the store now, this one's session
// among them.
func (s *Store) Sessions() ([]Session, error) {
	dir := filepath.Join(s.root, "leases")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, s.fail("cannot read the leases", err)
	}
	var live []Session
	for _, e := range entries {
		f, err := os.OpenFile(filepath.Join(dir, e.Name()), os.O_RDWR|openFlags, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, s.fail("cannot read the leases", err)
		}
		dead := flock(f, unix.LOCK_SH|unix.LOCK_NB) == nil
		var data []byte
		if !dead {
			data, err = io.ReadAll(io.LimitReader(f, maxLease))
		}
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, s.fail("cannot read the leases", err)
		}
		if !dead {
			live = append(live, parseLease(e.Name(), data))
		}
	}
	return live, nil
}

// parseLease reads a lease file: a line of JSON about the process, then a
// content a line. Lines that are not a content are passed over.
func parseLease(id string, data []byte) Session {
	x := Session{ID: id}
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	_ = json.Unmarshal(head, &x) // only for people
	for line := range strings.Lines(string(rest)) {
		c := Content(strings.TrimSuffix(line, "\n"))
		if _, err := c.hex(); err == nil {
			x.Contents = append(x.Contents, c)
		}
	}
	return x
}

// ownID is this store's session, "" when there is none.
func (s *Store) ownID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return ""
	}
	return s.lease.id
}

// others lists the live sessions but this store's own.
func (s *Store) others() ([]Session, error) {
	own := s.ownID()
	all, err := s.Sessions()
	var others []Session
	for _, x := range all {
		if x.ID != own {
			others = append(others, x)
		}
	}
	return others, err
}

// tmpPattern names what this process has not finished: eviction removes such
// things when their session has ended.
func (s *Store) tmpPattern(prefix string) string { return prefix + "-" + s.sessionID() + "-*" }

// tmpSession is the session in a name made by tmpPattern.
func tmpSession(name string) (id string, ok bool) {
	parts := strings.Split(name, "-")
	if len(parts) < 3 {
		return "", false
	}
	id = parts[len(parts)-2]
	raw, err := hex.DecodeString(id)
	return id, err == nil && len(raw) == 8
}
