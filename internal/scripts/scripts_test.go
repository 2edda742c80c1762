// Package scripts runs the scenarios of testdata/script: each is a small
// project and the commands that a user types, against the standalone binary.
//
// Besides testscript's own there are these commands:
//
//	exits CODE PROGRAM…           the program ends with that code
//	limits SECONDS MB CODE …      as exits, within that time and memory
//	oneerror [REGEXP]             the last program printed one error, fit for a person
//	storeclean [work]             nothing half-done is in the store
//	serve NAME BEHAVIOUR FILE [ARG], served NAME
//	                              an HTTP server that misbehaves, and what it was asked
//	hostile KIND FILE             an archive that ought to be refused
//	tarball FILE FOLDER           one that ought to be taken
//	pin FILE URL                  toolchain/releases.yaml from releases.in, for that file
//	sha256 VARIABLE FILE, subst FILE…
//	                              hashes, and variables in files
//
// Of a scenario bad_… of archives, the network and the lock the second half is
// always the right input: nothing of a failure may be remembered.
package scripts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stonemason-hip/stonemason/internal/dev"
)

const root = "../.."

// at is a reference to a variable in a file.
var at = regexp.MustCompile(`@[A-Z0-9_]+@`)

var binary string

func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == limited {
		os.Exit(runLimited(os.Args[2:]))
	}
	// What is caught here has its usual effect on the programs that are started,
	// also when the tests are run by nohup, which ignores it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "stonemason-scripts-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "therock")
	if err := dev.Compile(context.Background(), io.Discard, os.Stderr, root, binary); err != nil {
		fmt.Fprintf(os.Stderr, "the standalone binary does not compile: %v\n", err)
		return 1
	}
	return m.Run()
}

func TestScripts(t *testing.T) {
	project, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join(root, "testdata", "script"),
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", filepath.Dir(binary)+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("STONEMASON_CACHE_DIR", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("REPO", project)
			e.Setenv("NO_COLOR", "1")
			e.Values[serversKey{}] = map[string]*server{}
			return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o755)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":      exits,
			"hostile":    hostile,
			"limits":     limits,
			"oneerror":   oneError,
			"pin":        pin,
			"serve":      serve,
			"served":     served,
			"sha256":     sum,
			"storeclean": storeClean,
			"subst":      subst,
			"tarball": func(ts *testscript.TestScript, neg bool, args []string) {
				// tarball FILE.tar.gz FOLDER: what an upstream release looks like.
				if len(args) != 2 {
					ts.Fatalf("usage: tarball file folder")
				}
				out := ts.MkAbs(args[0])
				ts.Check(ts.Exec("tar", "-C", filepath.Dir(ts.MkAbs(args[1])), "--sort=name", "--mtime=@0", "-czf", out, filepath.Base(args[1])))
			},
		},
	})
}

// exits CODE PROGRAM ARG…: the program must end with that code. Its output is
// there for stdout and stderr, as after exec.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program arg...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if exit, ok := err.(*exec.ExitError); ok {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// sha256 VARIABLE FILE puts a file's hash into a variable.
func sum(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sha256 variable file")
	}
	data, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	h := sha256.Sum256(data)
	ts.Setenv(args[0], hex.EncodeToString(h[:]))
}

// subst FILE… replaces @NAME@ by the variable NAME in the files.
func subst(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		file := ts.MkAbs(name)
		data, err := os.ReadFile(file)
		ts.Check(err)
		out := at.ReplaceAllStringFunc(string(data), func(ref string) string { return ts.Getenv(ref[1 : len(ref)-1]) })
		ts.Check(os.WriteFile(file, []byte(out), 0o644))
	}
}
