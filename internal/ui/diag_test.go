package ui

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The logs in testdata/logs are what these tools printed for small wrong
// programs: GCC 12.2 with GNU as and ld 2.40, Clang and lld 22.1.8, CMake
// 3.25.1, Ninja 1.11.1 and GNU make 4.3, of Debian 12.
func TestDiagnosticsOfRealLogs(t *testing.T) {
	logs, err := filepath.Glob("testdata/logs/*.txt")
	if err != nil || len(logs) < 14 {
		t.Fatal(err, logs)
	}
	var b strings.Builder
	for _, name := range logs {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		found, err := ParseErrors(f, maxDiagnostics)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "== %s\n", filepath.Base(name))
		for _, d := range found {
			fmt.Fprintf(&b, "%s\n", d)
			for _, c := range d.Context {
				fmt.Fprintf(&b, "   .%s\n", c)
			}
		}
	}
	golden(t, "diagnostics.golden", b.String())
}

// Forms that the tools on Debian 12 do not print; the comment says whose.
func TestDiagnosticForms(t *testing.T) {
	cases := []struct{ name, log, want string }{
		{"ninja 1.13 adds the exit status", "[1/2] x\nFAILED: [code=2] a.h b.h \ngen\nodd\nninja: build stopped: subcommand failed.\n", "ninja: failed: a.h b.h"},
		{"clang before 17 has no margin", "a.c:1:2: error: bad\nint x = y;\n        ^\nmore\n", "a.c:1:2: error: bad"},
		{"apple's linker", "Undefined symbols for architecture arm64:\n  \"_f\", referenced from:\n      _main in a.o\nld: symbol(s) not found for architecture arm64\nclang: error: linker command failed with exit code 1 (use -v to see invocation)\n",
			"ld: error: Undefined symbols for architecture arm64:"},
		{"apple's linker, a library", "ld: library 'z' not found\nclang: error: linker command failed with exit code 1\n", "ld: error: library 'z' not found"},
		{"a warning of apple's linker", "ld: warning: ignoring file\n", ""},
		{"cmake without a place", "CMake Error: CMake was unable to find a build program\n", "cmake: error: CMake was unable to find a build program"},
		{"cmake in a file", "CMake Error in CMakeLists.txt:\n  No cmake_minimum_required command\n", "cmake: CMakeLists.txt: error: No cmake_minimum_required command"},
		{"killed compiler", "c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n", "c++: fatal error: Killed signal terminated program cc1plus"},
		{"llvm", "LLVM ERROR: out of memory\n", "llvm: fatal error: out of memory"},
		{"tablegen", "x.td:3:1: error: Couldn't find class\n", "x.td:3:1: error: Couldn't find class"},
		{"git", "error: patch failed: a.c:3\n", "error: patch failed: a.c:3"},
		{"only make's echo", "make[1]: *** [x] Error 2\n", "error: make[1]: *** [x] Error 2"},
		{"success", "[1/2] Building error.o\n-- Looking for fatal - found\n0 errors\n", ""},
		{"windows line ends", "a.c:1:2: error: bad\r\n", "a.c:1:2: error: bad"},
		{"colours", "\x1b[1ma.c:1:2: \x1b[0;31merror: \x1b[0mbad\x1b[K\n", "a.c:1:2: error: bad"},
	}
	for _, c := range cases {
		found, err := ParseErrors(strings.NewReader(c.log), 5)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range found {
			got = append(got, d.String())
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	found, _ := ParseErrors(strings.NewReader(cases[1].log), 5)
	if len(found) != 1 || len(found[0].Context) != 2 {
		t.Errorf("the source line and its caret: %+v", found)
	}
	found, _ = ParseErrors(strings.NewReader(cases[2].log), 5)
	if len(found) != 1 || len(found[0].Context) != 2 {
		t.Errorf("the list of Apple's linker: %+v", found)
	}
}

func TestDiagnosticsAreBoundedAndShownOnce(t *testing.T) {
	var log bytes.Buffer
	for i := range 200 {
		fmt.Fprintf(&log, "a.h:%d:1: error: bad\n", i%40)
		log.WriteString(strings.Repeat(" ctx\n", 100))
	}
	log.WriteString("b.c:1:1: error: " + strings.Repeat("long", 100000) + "\n")
	s := NewScanner(10)
	if err := s.read(&log); err != nil {
		t.Fatal(err)
	}
	found, total := s.Result()
	if len(found) != 10 || total != 41 || len(found[3].Context) != maxContext {
		t.Fatalf("%d found, %d in all, %d lines of context", len(found), total, len(found[3].Context))
	}
	text := FailureText(Look{Width: 40}, Failure{Node: "n", Diagnostics: found, More: total - len(found)})
	if !strings.Contains(text, "and 31 more errors in the log") {
		t.Error(text)
	}
}

// The real tools, as a build runs them: cmake configures, ninja compiles a
// wrong program, and the block names its line.
func TestLiveTools(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p C)\nadd_executable(p p.c)\n")
	write("p.c", "int main(void) {\n\treturn nowhere;\n}\n")
	run := func(wantOK bool, argv ...string) string {
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if (err == nil) != wantOK {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
		return string(out)
	}
	run(true, "cmake", "-S", ".", "-B", "b", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug")
	log := run(false, "ninja", "-C", "b")
	found, err := ParseErrors(strings.NewReader(log), 10)
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %+v of\n%s", err, found, log)
	}
	if d := found[0]; filepath.Base(d.File) != "p.c" || d.Line != 2 || d.Col == 0 || !strings.Contains(d.Message, "nowhere") || len(d.Context) == 0 {
		t.Fatalf("%+v", d)
	}
	write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p NONE)\nmessage(FATAL_ERROR \"no luck\")\n")
	found, _ = ParseErrors(strings.NewReader(run(false, "cmake", "-S", ".", "-B", "c", "-G", "Ninja")), 10)
	if len(found) != 1 || found[0].Tool != "cmake" || found[0].Line != 3 || found[0].Message != "no luck" {
		t.Fatalf("%+v", found)
	}
}

func TestFailureReadsTheLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "build.log")
	if err := os.WriteFile(log, []byte("x.c:9:9: error: first\nx.c:10:1: error: second\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	u := New(Options{Out: &b})
	for _, e := range story(log) {
		u.Emit(e)
	}
	u.Close()
	if !strings.Contains(b.String(), "x.c:10:1: error: second") || !strings.Contains(b.String(), "log    "+log) {
		t.Error(b.String())
	}
}

func TestFailureText(t *testing.T) {
	f := Failure{Node: "rocm", Step: "link", Reason: "exit status 1", Log: "/l", Next: "therock build", Tail: []string{"c++: Killed", "\x1b[31mstd::bad_alloc"}}
	want := "error: rocm failed in step link\n  exit status 1\n\n  its last lines:\n  c++: Killed\n  std::bad_alloc\n\n" +
		"  the machine seems to have run out of memory: fewer jobs at once need less\n  log   /l\n  next  therock build\n"
	if got := FailureText(Look{}, f); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := FailureText(Look{}, Failure{Node: "n"}); got != "error: n failed\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzParseErrors(f *testing.F) {
	logs, _ := filepath.Glob("testdata/logs/*.txt")
	for _, name := range logs {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewScanner(5)
		if err := s.read(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		found, total := s.Result()
		if len(found) > 5 || total < len(found) {
			t.Fatalf("%d of %d", len(found), total)
		}
		noEscapes(t, FailureText(Look{Width: 30}, Failure{Node: "n", Diagnostics: found}))
	})
}
