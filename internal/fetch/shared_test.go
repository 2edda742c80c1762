package fetch

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Whoever asks for what is being fetched waits for it, and has the same error.
func TestGetsOfOneFetcherShareAFailure(t *testing.T) {
	var asked atomic.Int32
	all := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-all
		w.WriteHeader(http.StatusNotFound)
	})
	f, _ := newFetcher(t)
	var wait sync.WaitGroup
	for range 32 {
		wait.Go(func() {
			if _, err := f.Get(t.Context(), request(url)); err == nil || !strings.Contains(err.Error(), "404") {
				t.Errorf("got %v", err)
			}
		})
	}
	// A patient reader gives up alone.
	for asked.Load() == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Get(ctx, request(url)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(all)
	wait.Wait()
	if n := asked.Load(); n >= 32 {
		t.Errorf("asked %d times", n)
	}
	wantNoRest(t, f)
}

// One who waits is not held to the patience of the one who fetches.
func TestAGetOutlivesTheOneItWaitsFor(t *testing.T) {
	var asked atomic.Int32
	first := make(chan struct{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			close(first)
			<-r.Context().Done()
			return
		}
		good(w, r)
	})
	f, _ := newFetcher(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := f.Get(ctx, request(url)); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
	<-first
	wait.Go(func() {
		if _, err := f.Get(t.Context(), request(url)); err != nil {
			t.Error(err)
		}
	})
	cancel()
	wait.Wait()
	wantNoRest(t, f)
}

func TestPatienceFromTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		name, value, want string
		retries           int
	}{
		{RetriesVariable, "2", "", 2},
		{RetriesVariable, "0", "", 0},
		{RateVariable, "-1", `STONEMASON_FETCH_RATE: found "-1", expected bytes a second`, 0},
		{RateVariable, "1kB", "expected bytes a second", 0},
		{RateVariable, "20000000000", "a number from 0 to 1073741824", 0},
		{RetriesVariable, "-1", `STONEMASON_FETCH_RETRIES: found "-1", expected a number from 0 to 100`, 0},
		{StallVariable, "10", `STONEMASON_FETCH_TIMEOUT: found "10", expected a duration such as 30s`, 0},
		{StallVariable, "-1s", "expected a duration", 0},
	} {
		t.Run(c.name+"="+c.value, func(t *testing.T) {
			t.Setenv(c.name, c.value)
			f := &Fetcher{Dir: t.TempDir()}
			err := f.setup()
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			check(t, err)
			if want := (Patience{c.retries, DefaultStallTimeout, DefaultRate}); f.patient != want {
				t.Errorf("%+v, want %+v", f.patient, want)
			}
		})
	}
	// What the caller says goes before it.
	t.Setenv(RetriesVariable, "5")
	t.Setenv(StallVariable, "7s")
	t.Setenv(RateVariable, "11")
	for _, c := range []struct {
		f    *Fetcher
		want Patience
	}{
		{&Fetcher{}, Patience{5, 7 * time.Second, 11}},
		{&Fetcher{Retries: -1, StallTimeout: time.Minute, Rate: -1}, Patience{0, time.Minute, 0}},
		{&Fetcher{Retries: 2, Rate: 3}, Patience{2, 7 * time.Second, 3}},
	} {
		if got, err := c.f.patience(); err != nil || got != c.want {
			t.Errorf("%+v, %v, want %+v", got, err, c.want)
		}
	}
}
