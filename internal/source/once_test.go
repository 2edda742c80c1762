package source

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A hundred who ask at once, and one who asks later, cost one download.
func TestADownloadFailsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Provider{}
		broken := errors.New("no mirror gave the file")
		var asked atomic.Int32
		get := func() (string, error) {
			asked.Add(1)
			time.Sleep(time.Second)
			return "", broken
		}
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				if _, err := p.once(t.Context(), "a", get); !errors.Is(err, broken) {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if _, err := p.once(t.Context(), "a", get); !errors.Is(err, broken) || asked.Load() != 1 {
			t.Errorf("%v after %d downloads", err, asked.Load())
		}
		if file, err := p.once(t.Context(), "b", func() (string, error) { return "file", nil }); file != "file" || err != nil {
			t.Errorf("another file: %q, %v", file, err)
		}
	})
}

// Who gives up leaves the download to those who still wait, and nobody waits
// longer than they want.
func TestADownloadThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Provider{}
		first, stop := context.WithCancel(t.Context())
		go p.once(first, "a", func() (string, error) { <-first.Done(); return "", first.Err() })
		synctest.Wait()
		short, end := context.WithTimeout(t.Context(), time.Second)
		defer end()
		if _, err := p.once(short, "a", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the impatient one: %v", err)
		}
		time.AfterFunc(time.Minute, stop)
		if file, err := p.once(t.Context(), "a", func() (string, error) { return "file", nil }); file != "file" || err != nil {
			t.Errorf("%q, %v", file, err)
		}
	})
}
