package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// Finding is a thing of the store that is not what its name says.
type Finding struct {
	Kind      Kind    `json:"kind"` // artifact or download
	Name      string  `json:"name"` // hex
	Component string  `json:"component,omitempty"`
	Host      string  `json:"host,omitempty"`
	Content   Content `json:"content,omitempty"`
	// Problems are lines such as "~ bin/tool": ~ changed, - missing, + added.
	Problems []string `json:"problems"`
	// Quarantine is the folder that it was moved to.
	Quarantine string `json:"quarantine"`
}

// Verified is what Verify looked at.
type Verified struct {
	Artifacts int       `json:"artifacts"`
	Downloads int       `json:"downloads"`
	Bytes     int64     `json:"bytes"`
	Findings  []Finding `json:"findings"`
}

// maxProblems bounds the lines of one finding.
const maxProblems = 20

// Verify reads everything and holds it to its name: objects to their manifest
// and content id, downloads to their sha256. What is damaged is moved to
// quarantine, with a file reason.json, so that the next build makes or fetches
// it again. Git checks the objects of checkouts itself, whenever it reads them.
func (s *Store) Verify(ctx context.Context) (*Verified, error) {
	inv, err := s.scan(ctx)
	if err != nil {
		return nil, s.fail("cannot verify", err)
	}
	v := &Verified{}
	var mu sync.Mutex
	g, gctx := errgroup.WithContext(ctx)
	// A tree is hashed on all cores; two at once, so that a large file at the
	// end of one leaves no core idle.
	g.SetLimit(2)
	for _, it := range inv.Items {
		var check func(context.Context) ([]string, string, error)
		switch it.Kind {
		case Artifact:
			check = func(ctx context.Context) ([]string, string, error) { return s.verifyObject(ctx, it) }
		case Download:
			check = func(ctx context.Context) ([]string, string, error) { return s.verifyDownload(ctx, it) }
		default:
			continue
		}
		g.Go(func() error {
			problems, dir, err := check(gctx)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			v.Bytes += it.Bytes
			if it.Kind == Artifact {
				v.Artifacts++
			} else {
				v.Downloads++
			}
			if len(problems) > 0 {
				v.Findings = append(v.Findings, Finding{it.Kind, it.Name, it.Component, it.Host, it.Content, problems, dir})
			}
			return nil
		})
	}
	err = g.Wait()
	slices.SortFunc(v.Findings, func(a, b Finding) int { return strings.Compare(a.Component+a.Name, b.Component+b.Name) })
	return v, s.fail("cannot verify", err)
}

// verifyObject examines one object and moves it away when it is damaged.
func (s *Store) verifyObject(ctx context.Context, it Item) (problems []string, dir string, err error) {
	examine := func() (err error) {
		if _, nameErr := it.Content.hex(); nameErr != nil {
			problems = []string{"the name is not a content id"}
			return nil
		}
		problems, err = s.examine(ctx, it.Content)
		return err
	}
	if err := examine(); err != nil || len(problems) == 0 {
		return nil, "", err
	}
	unlock, err := s.LockContext(ctx, "object-"+it.Name)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	// Meanwhile it may have been evicted, or replaced by a Seal.
	if _, err := os.Lstat(it.path); errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err := examine(); err != nil || len(problems) == 0 {
		return nil, "", err
	}
	dir, err = s.isolate(it.path, "object", reason{Component: it.Component, Content: it.Content, Problems: problems})
	s.forgetManifest(it.Content)
	return problems, dir, err
}

// examine hashes an object and lists what differs from what was sealed.
func (s *Store) examine(ctx context.Context, c Content) ([]string, error) {
	dir, err := s.object(c)
	if err != nil {
		return nil, err
	}
	m, err := readManifest(filepath.Join(dir, "manifest.json"), c)
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		return []string{err.Error()}, nil
	}
	have, err := treehash.List(ctx, filepath.Join(dir, "tree"), treehash.Options{})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		return []string{err.Error()}, nil // it cannot be read: a bad sector, say
	}
	sealed := make([]treehash.Entry, 0, len(m.Files))
	for _, f := range m.Files {
		sealed = append(sealed, f.Entry)
	}
	lines := treehash.Diff(sealed, have)
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return lines, nil
}

// verifyDownload hashes one download and moves it away when it is damaged.
func (s *Store) verifyDownload(ctx context.Context, it Item) (problems []string, dir string, err error) {
	sum, err := hashFile(ctx, it.path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && sum == it.Name:
		return nil, "", nil
	case ctx.Err() != nil || errors.Is(err, fs.ErrPermission):
		return nil, "", err
	case err != nil:
		problems = []string{err.Error()}
	default:
		problems = []string{"it has sha256 " + sum}
	}
	dir, err = s.isolate(it.path, "download", reason{Download: it.Name, Problems: problems})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	return problems, dir, err
}

func hashFile(ctx context.Context, name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	buf := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		n, err := f.Read(buf)
		h.Write(buf[:n])
		if err == io.EOF {
			return fmt.Sprintf("%x", h.Sum(nil)), nil
		}
		if err != nil {
			return "", err
		}
	}
}

// quarantine moves a damaged object away. The caller holds its lock.
func (s *Store) quarantine(c Content, problems []string) error {
	dir, err := s.object(c)
	if err != nil {
		return err
	}
	s.forgetManifest(c)
	_, err = s.isolate(dir, "object", reason{Content: c, Problems: problems})
	return err
}

func (s *Store) forgetManifest(c Content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.manifests, c)
}

func (s *Store) forgetManifests() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.manifests)
}

// isolate moves a path into a folder of quarantine, under a name of its own,
// and writes down why. The thing moves first: that it is gone matters more
// than what is known about it.
func (s *Store) isolate(path, as string, r reason) (dir string, err error) {
	parent := filepath.Join(s.root, "quarantine")
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	r.Schema, r.Found = 1, time.Now().UTC()
	name := filepath.Base(path)
	dir, err = os.MkdirTemp(parent, r.Found.Format("20060102-150405")+"-"+name[:min(12, len(name))]+"-")
	if err != nil {
		return "", err
	}
	if err := os.Rename(path, filepath.Join(dir, as)); err != nil {
		return "", errors.Join(err, os.Remove(dir))
	}
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return dir, err
	}
	return dir, errors.Join(s.writeFile(filepath.Join(dir, "reason.json"), data), syncDir(parent), syncDir(filepath.Dir(path)))
}
