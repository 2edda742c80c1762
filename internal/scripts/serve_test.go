package scripts

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// behaviours are the ways of a server to answer. Each gets the file that it
// ought to send, nil when there is none, and the word behind the behaviour's
// name in serve, if any.
var behaviours = map[string]func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int){
	// good sends the file, and parts of it when they are asked for.
	"good": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(file)))
	},
	// slow sends the file in pieces, never pausing for long.
	"slow": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		for i := 0; i < 20; i++ {
			w.Write(file[len(file)*i/20 : len(file)*(i+1)/20])
			w.(http.Flusher).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	},
	// status answers with that status and no more.
	"status": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		code, _ := strconv.Atoi(arg)
		w.WriteHeader(code)
	},
	// flaky fails that often with status 500, and is good after that.
	"flaky": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		if often, _ := strconv.Atoi(arg); n <= often {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Write(file)
	},
	// early promises the file and hangs up after half of it.
	"early": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		w.Write(file[:len(file)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	// short sends half of the file as if it were all.
	"short": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Write(file[:len(file)/2])
		w.(http.Flusher).Flush() // no length
	},
	// stall sends half of the file and then nothing, without hanging up.
	"stall": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		w.Write(file[:len(file)/2])
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	},
	// trickle sends a byte now and then.
	"trickle": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		for i := range file {
			w.Write(file[i : i+1])
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	},
	// silent takes the request and never answers.
	"silent": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) { <-r.Context().Done() },
	// page sends the login page of a proxy, with status 200 and as long as the
	// file.
	"page": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Type", "text/html")
		text := "<!DOCTYPE html><html><body>Please log in</body></html>"
		w.Write([]byte(text + strings.Repeat(" ", max(0, len(file)-len(text)))))
	},
	// more sends the file and never stops.
	"more": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		for {
			if _, err := w.Write(file); err != nil {
				return
			}
		}
	},
	// longer says that the file is longer than it is.
	"longer": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Length", strconv.Itoa(10<<30))
		w.Write(file)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	// other sends other bytes, as many as the file has.
	"other": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Write([]byte(strings.Repeat("x", len(file))))
	},
	// part answers every request with other bytes, as a part of the file (206).
	"part": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(file)-1, len(file)))
		w.WriteHeader(http.StatusPartialContent)
		w.Write([]byte(strings.Repeat("x", len(file))))
	},
	// whole hangs up in the middle of the first answer and says that parts can
	// be asked for; whoever asks for one gets the file from its start, with
	// status 200.
	"whole": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Accept-Ranges", "bytes")
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		if n == 1 {
			w.Write(file[:len(file)/2])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}
		w.Write(file)
	},
	// loop redirects to itself.
	"loop": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		http.Redirect(w, r, r.URL.Path+"x", http.StatusFound)
	},
	// redirect sends the client to that address.
	"redirect": func(w http.ResponseWriter, r *http.Request, file []byte, arg string, n int) {
		w.Header().Set("Location", arg)
		w.WriteHeader(http.StatusFound)
	},
}

// server answers in one way and remembers what it was asked.
type server struct {
	mu  sync.Mutex
	log []string
}

func (s *server) note(r *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, strings.TrimSpace(r.Method+" "+path.Base(r.URL.Path)+" "+r.Header.Get("Range")))
	return len(s.log)
}

// serversKey is where a script's servers are, a map[string]*server by name.
type serversKey struct{}

// serve NAME BEHAVIOUR FILE [ARG] starts an HTTP server on this machine that
// answers every request in one way, and puts the address of FILE there into
// NAME_URL. The behaviour "refused" starts none: nobody listens at the address.
// A FILE that does not exist is none to send. The server ends with the script.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args) > 4 {
		ts.Fatalf("usage: serve name behaviour file [arg]")
	}
	name, behaviour, arg := args[0], args[1], ""
	if len(args) == 4 {
		arg = args[3]
	}
	if behaviour == "refused" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Check(l.Close())
		ts.Setenv(name+"_URL", "http://"+l.Addr().String()+"/"+path.Base(args[2]))
		return
	}
	answer := behaviours[behaviour]
	if answer == nil {
		ts.Fatalf("unknown behaviour %q", behaviour)
	}
	file, err := os.ReadFile(ts.MkAbs(args[2]))
	if err != nil && !os.IsNotExist(err) {
		ts.Check(err)
	}
	s := &server{}
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, file, arg, s.note(r))
	}))
	ts.Defer(func() { h.CloseClientConnections(); h.Close() })
	ts.Value(serversKey{}).(map[string]*server)[name] = s
	ts.Setenv(name+"_URL", h.URL+"/"+path.Base(args[2]))
}

// served NAME prints what the server was asked, one request a line: method,
// last part of the path, Range header.
func served(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: served name")
	}
	s := ts.Value(serversKey{}).(map[string]*server)[args[0]]
	if s == nil {
		ts.Fatalf("no server %s", args[0])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.log {
		fmt.Fprintln(ts.Stdout(), line)
	}
}
