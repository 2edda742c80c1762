package build

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
)

// progress records which steps of a work folder are finished, so that a build
// that was interrupted goes on behind the last of them.
type progress struct {
	Key   key.ID   `json:"key"`
	Steps []string `json:"steps"`
	// Staged are the steps that have written the stage as it is. No build goes
	// on with them; step and shell do.
	Staged []string `json:"staged,omitempty"`
	// Touched: a person may have changed files of the folder, so that what is
	// in it is no longer what the key says. The next build begins anew.
	Touched bool `json:"touched,omitempty"`
	// Boot names the start of the machine since which the folder was written to
	// without being synced; "" when all of it is on the disk. When the machine
	// was started anew since, files may be there that have lost what was in
	// them, however much this record vouches for them.
	Boot string `json:"boot,omitempty"`
}

func loadProgress(work string, k key.Key) (*progress, error) {
	p := &progress{Key: k.ID}
	data, err := os.ReadFile(filepath.Join(work, progressFile))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return nil, fmt.Errorf("build: %w", err)
	}
	var old progress
	if json.Unmarshal(data, &old) != nil || old.Key != k.ID {
		return p, nil // not of this key: begin anew
	}
	if old.Boot != "" && old.Boot != bootID() {
		return p, nil // the plug was pulled
	}
	return &old, nil
}

// add remembers a step that the next build need not run again.
func (p *progress) add(work, step string) error {
	p.Steps = append(p.Steps, step)
	return p.save(work)
}

// stage remembers a step that has written the stage, for who looks into the
// work folder of a failed build.
func (p *progress) stage(work, step string) error {
	p.Staged = append(p.Staged, step)
	return p.save(work)
}

func (p *progress) has(step string) bool {
	return slices.Contains(p.Steps, step) || slices.Contains(p.Staged, step)
}

// touch says whether a person may have changed the folder.
func (p *progress) touch(work string, touched bool) error {
	p.Touched = touched
	return p.save(work)
}

// forget takes a step and those after it off the finished ones, before it is
// run again: what they made came from what it made.
func (p *progress) forget(work string, i int) error {
	from := fmt.Sprintf("%02d-", i)
	before := len(p.Steps) + len(p.Staged)
	after := func(s string) bool { return s != sourceMark && s >= from }
	p.Steps, p.Staged = slices.DeleteFunc(p.Steps, after), slices.DeleteFunc(p.Staged, after)
	if len(p.Steps)+len(p.Staged) == before {
		return nil
	}
	return p.save(work)
}

func (p *progress) save(work string) error {
	p.Boot = bootID()
	return p.write(work)
}

// settle has all of the folder written to the disk and records that. A disk that
// takes longer than patience is not waited for: the folder then counts until the
// machine is started anew.
func (p *progress) settle(work string, patience time.Duration) {
	if len(p.Steps) == 0 || p.Boot == "" {
		return
	}
	synced := make(chan error, 1)
	go func() { synced <- syncFileSystem(work) }()
	select {
	case err := <-synced:
		if err == nil {
			p.Boot = ""
			_ = p.write(work) // as if it was not settled
		}
	case <-time.After(patience):
	}
}

func (p *progress) write(work string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(filepath.Join(work, progressFile), data, 0o644); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// progressFile lies in the work folder, beside src, build and stage.
const progressFile = "progress.json"

// sourceMark stands for the source tree among the finished steps.
const sourceMark = "source"

// mark names a step in progress.json; two steps of a recipe may share a name.
func mark(i int, s plan.Step) string { return fmt.Sprintf("%02d-%s", i, s.Name) }
