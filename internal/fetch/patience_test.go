package fetch

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestStall(t *testing.T) {
	release := make(chan struct{})
	hang := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body[:10])
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts and never answers
	check(t, err)
	defer silent.Close()
	f, _ := newFetcher(t)
	f.Retries, f.StallTimeout = -1, 50*time.Millisecond
	_, err = f.Get(t.Context(), request(hang, "http://"+silent.Addr().String()+"/x"))
	if err == nil || strings.Count(err.Error(), "no data for 50ms") != 2 {
		t.Errorf("got %v", err)
	}
	wantNoRest(t, f)
}

// A mirror that is slow is not one that has stopped: what counts is the time
// since the last byte, be the whole several times that.
func TestASlowMirrorIsWaitedFor(t *testing.T) {
	t.Parallel()
	const stall, pieces = time.Second, 16
	slow := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range pieces {
			w.Write(body[i*len(body)/pieces : (i+1)*len(body)/pieces])
			w.(http.Flusher).Flush()
			time.Sleep(2 * stall / pieces)
		}
	})
	f, _ := newFetcher(t)
	f.Retries, f.StallTimeout = -1, stall
	path, err := f.Get(t.Context(), request(slow))
	check(t, err)
	wantFile(t, f, path)
}

// A mirror that sends a byte now and then never stalls, and is given up all the
// same: the next one is asked.
func TestAMirrorThatTrickles(t *testing.T) {
	t.Parallel()
	trickle := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		for i := range 200 {
			w.Write(body[i : i+1])
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
		w.Write(body[200:]) // who waits gets it
	}
	f, events := newFetcher(t)
	f.Retries, f.StallTimeout, f.Rate = 1, 2*time.Second, 1000
	path, err := f.Get(t.Context(), request(serve(t, trickle), serve(t, good)))
	check(t, err)
	wantFile(t, f, path)
	var said []string
	for _, e := range *events {
		if e.Kind == EventRetry || e.Kind == EventNext {
			said = append(said, fmt.Sprint(e.Kind, " ", e.Err))
		}
	}
	text := strings.Join(said, "\n")
	if len(said) != 2 || !strings.HasPrefix(said[0], "retry too slow: ") || !strings.HasPrefix(said[1], "next too slow: ") || !strings.Contains(text, ", less than 1000 a second") {
		t.Errorf("it is said\n%s", text)
	}
}

// What counts is the time that the mirror takes: this machine may take longer
// to write down what came.
func TestASlowDiskIsNotTheMirrors(t *testing.T) {
	t.Parallel()
	f, _ := newFetcher(t)
	f.Retries, f.StallTimeout, f.Rate = -1, time.Second, 1<<30
	var once sync.Once
	f.Progress = func(e Event) {
		if e.Kind == EventProgress && e.Done < e.Total {
			once.Do(func() { time.Sleep(2 * f.StallTimeout) })
		}
	}
	path, err := f.Get(t.Context(), request(serve(t, good)))
	check(t, err)
	wantFile(t, f, path)
}

func TestPace(t *testing.T) {
	p := pace{Patience: Patience{Stall: 10 * time.Second, Rate: 100}}
	for i, c := range []struct {
		n    int
		took time.Duration
		slow bool
	}{
		{999, 9 * time.Second, false}, // the stretch goes on
		{1, time.Second, false},       // as fast as it has to be
		{999, 10 * time.Second, true},
		{1 << 20, time.Second, false}, // a new stretch
		{0, 20 * time.Second, false},  // it was fast before
		{1999, 20 * time.Second, true},
	} {
		if err := p.slow(c.n, c.took); (err != nil) != c.slow {
			t.Errorf("%d: %v", i, err)
		}
	}
	p.Rate = 0
	if err := p.slow(1, time.Hour); err != nil {
		t.Errorf("any rate is taken: %v", err)
	}
}
