package scripts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// dump is what no message to a person contains: a stack trace, a Go value, a
// wrong format verb.
var dump = regexp.MustCompile(`(?m)^goroutine \d+|^panic:|runtime error|0xc0[0-9a-f]{8}|&\{|map\[|%!|<nil>`)

// oneerror [REGEXP]: the last program has printed exactly one error, to
// standard error, that matches; it has no stack trace and no Go value in it,
// and says nothing twice.
func oneError(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: oneerror [regexp]")
	}
	errs, out := ts.ReadFile("stderr"), ts.ReadFile("stdout")
	if n := len(regexp.MustCompile(`(?m)^error: `).FindAllString(errs, -1)); n != 1 {
		ts.Fatalf("%d errors on standard error, want one", n)
	}
	if strings.Contains(out, "\nerror: ") || strings.HasPrefix(out, "error: ") {
		ts.Fatalf("an error on standard output")
	}
	if bad := dump.FindString(errs + "\n" + out); bad != "" {
		ts.Fatalf("%q is no word for a person", bad)
	}
	_, text, _ := strings.Cut("\n"+errs, "\nerror: ")
	if len(text) > 4<<10 {
		ts.Fatalf("an error of %d bytes", len(text))
	}
	for line := range strings.Lines(text) {
		seen := map[string]bool{}
		for part := range strings.SplitSeq(strings.TrimSpace(line), ": ") {
			if seen[part] && len(part) > 3 {
				ts.Fatalf("%q is said twice", part)
			}
			seen[part] = true
		}
	}
	if len(args) == 1 && !regexp.MustCompile(`(?m)`+args[0]).MatchString(text) {
		ts.Fatalf("the error does not match %q", args[0])
	}
}

// storeclean [work]: nothing half-done is in the store. What has a name is
// whole, nothing lies in a tmp folder, and a work folder is there only when
// "work" says that a build is to be gone on with; one without a finished step
// never holds anything.
func storeClean(ts *testscript.TestScript, neg bool, args []string) {
	work := len(args) == 1 && args[0] == "work"
	if neg || len(args) > 1 || len(args) == 1 && !work {
		ts.Fatalf("usage: storeclean [work]")
	}
	root := ts.Getenv("STONEMASON_CACHE_DIR")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return
	}
	check := storeCheck{root: root, work: work}
	for _, f := range []func() error{check.tmp, check.downloads, check.objects, check.actions, check.works} {
		if err := f(); err != nil {
			ts.Fatalf("the store is not clean: %v", err)
		}
	}
}

type storeCheck struct {
	root string
	work bool
}

// names lists the entries of a folder of the store; none when it is not there.
func (c storeCheck) names(dir string) []string {
	entries, _ := os.ReadDir(filepath.Join(c.root, dir))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (c storeCheck) tmp() error {
	for _, dir := range []string{"tmp", "sources/tmp", "checkouts/tmp", "apt/tmp"} {
		if left := c.names(dir); len(left) > 0 {
			return fmt.Errorf("%s holds %s", dir, strings.Join(left, ", "))
		}
	}
	return nil
}

func (c storeCheck) downloads() error {
	for _, name := range c.names("sources/sha256") {
		file, err := os.Open(filepath.Join(c.root, "sources", "sha256", name))
		if err != nil {
			return err
		}
		h := sha256.New()
		_, err = io.Copy(h, file)
		file.Close()
		if sum := hex.EncodeToString(h.Sum(nil)); err != nil || sum != name {
			return fmt.Errorf("download %s has sha256 %s: %v", name, sum, err)
		}
	}
	return nil
}

func (c storeCheck) objects() error {
	for _, top := range c.names("objects") {
		for _, name := range c.names("objects/" + top) {
			dir := filepath.Join(c.root, "objects", top, name)
			data, err := os.ReadFile(filepath.Join(dir, "manifest.json"))
			if err != nil {
				return fmt.Errorf("object %s: %w", name, err)
			}
			var m store.Manifest
			if err := json.Unmarshal(data, &m); err != nil {
				return fmt.Errorf("object %s: %w", name, err)
			}
			entries, err := treehash.List(context.Background(), filepath.Join(dir, "tree"), treehash.Options{})
			if err != nil {
				return fmt.Errorf("object %s: %w", name, err)
			}
			if id := treehash.IDOf(entries); id != "sha256:"+name || len(entries) != len(m.Files) {
				return fmt.Errorf("object %s holds %s with %d entries, %d in its manifest", name, id, len(entries), len(m.Files))
			}
		}
	}
	return nil
}

func (c storeCheck) actions() error {
	for _, component := range c.names("actions") {
		for _, name := range c.names("actions/" + component) {
			data, err := os.ReadFile(filepath.Join(c.root, "actions", component, name))
			if err != nil {
				return err
			}
			var a store.Action
			if err := json.Unmarshal(data, &a); err != nil {
				return fmt.Errorf("action %s/%s: %w", component, name, err)
			}
			sum := strings.TrimPrefix(string(a.Content), "sha256:")
			if len(sum) != 64 || name != string(a.Key.ID)+".json" {
				return fmt.Errorf("action %s/%s is of key %s and names %q", component, name, a.Key.ID, a.Content)
			}
			if _, err := os.Stat(filepath.Join(c.root, "objects", sum[:2], sum)); err != nil {
				return fmt.Errorf("action %s/%s names an object that is not there: %w", component, name, err)
			}
		}
	}
	return nil
}

func (c storeCheck) works() error {
	for _, name := range c.names("work") {
		dir := "work/" + name
		if _, err := os.Stat(filepath.Join(c.root, dir, "progress.json")); err == nil {
			if !c.work {
				return fmt.Errorf("%s is there to be gone on with", dir)
			}
			continue
		}
		err := filepath.WalkDir(filepath.Join(c.root, dir), func(file string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && c.work && file == filepath.Join(c.root, dir, "src") {
				return fs.SkipDir // a source gets that name when it is whole
			}
			if err == nil && !d.IsDir() && d.Name() != "key" {
				err = fmt.Errorf("%s has no finished step, and holds %s", dir, file)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// limited is the first argument of this binary when it runs a program for the
// command limits.
const limited = "-run-limited"

// limits SECONDS MEGABYTES CODE PROGRAM ARG…: as exits, and the program ends
// within that time and never has more than that much of the machine's memory
// (ru_maxrss of getrusage(2), its children included). The bounds are there to
// tell bounded from unbounded, and are generous.
func limits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: limits seconds megabytes code program arg...")
	}
	self, err := os.Executable()
	ts.Check(err)
	report := filepath.Join(ts.Getenv("WORK"), ".limits")
	exits(ts, false, append([]string{args[2], self, limited, report, args[0]}, args[3:]...))
	data, err := os.ReadFile(report)
	ts.Check(err)
	ts.Check(os.Remove(report))
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	used, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		ts.Fatalf("%s", data)
	}
	ts.Logf("[%d MB at most]", used)
	if used > most {
		ts.Fatalf("%d MB of memory, want at most %d", used, most)
	}
}

// runLimited runs a program with a time limit and writes its peak memory in
// megabytes to a file; it returns the program's exit code.
func runLimited(args []string) int {
	report, program := args[0], args[2:]
	seconds, err := strconv.Atoi(args[1])
	if err != nil {
		return 125
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	text := ""
	switch usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); {
	case ctx.Err() != nil:
		text = fmt.Sprintf("not done after %d seconds", seconds)
	case !ok:
		text = fmt.Sprintf("not run: %v", err)
	default:
		unit := int64(1 << 10) // of ru_maxrss: kilobytes
		if runtime.GOOS == "darwin" {
			unit = 1 << 20 // bytes
		}
		text = strconv.FormatInt(int64(usage.Maxrss)/unit, 10)
	}
	if err := os.WriteFile(report, []byte(text), 0o644); err != nil {
		return 125
	}
	return cmd.ProcessState.ExitCode()
}
