package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestOf(t *testing.T) {
	plain := errors.New("boom")
	cases := []struct {
		name string
		err  error
		want Code
	}{
		{"nil", nil, OK},
		{"plain", plain, Failure},
		{"coded", With(Lock, plain), Lock},
		{"wrapped in fmt", fmt.Errorf("lock: %w", With(Lock, plain)), Lock},
		{"outermost wins", With(Verify, With(Source, plain)), Verify},
		{"withf", Withf(Source, "fetch x: %w", plain), Source},
		{"hint keeps the code", Hint(With(Patch, plain), "patch:new"), Patch},
		{"hint on a plain error", Hint(plain, "doctor"), Failure},
		{"default on a plain error", Default(Config, plain), Config},
		{"default keeps a code", Default(Failure, fmt.Errorf("x: %w", With(Patch, plain))), Patch},
		{"default keeps a cancellation", Default(Failure, context.Canceled), Interrupted},
		{"default of nil", Default(Failure, nil), OK},
		{"cancelled", context.Canceled, Interrupted},
		{"cancelled while fetching", With(Source, fmt.Errorf("fetch: %w", context.Canceled)), Interrupted},
		{"a time limit is no interruption", With(Source, context.DeadlineExceeded), Source},
		{"failure and cancelled siblings", errors.Join(fmt.Errorf("b: %w", context.Canceled), With(Failure, plain), context.Canceled), Failure},
		{"source and cancelled siblings", With(Failure, errors.Join(context.Canceled, With(Source, plain))), Failure},
		{"joined source inside fmt", fmt.Errorf("build: %w", errors.Join(context.Canceled, With(Source, plain))), Source},
		{"plain failure and cancelled sibling", errors.Join(context.Canceled, plain), Failure},
		{"all cancelled", errors.Join(context.Canceled, fmt.Errorf("c: %w", context.Canceled)), Interrupted},
		{"empty Error", &Error{Code: Smoke}, Smoke},
		{"a full disk", &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, Resources},
		{"a full disk while fetching", With(Source, fmt.Errorf("fetch: %w", syscall.ENOSPC)), Resources},
		{"no quota left, joined with what came of it", errors.Join(context.Canceled, With(Verify, plain), syscall.EDQUOT), Resources},
		{"a killed child is a failure", exec.Command("false").Run(), Failure},
	}
	for _, c := range cases {
		if got := Of(c.err); got != c.want {
			t.Errorf("%s: Of = %v, want %v", c.name, got, c.want)
		}
	}
}

func TestNilStaysNil(t *testing.T) {
	if With(Lock, nil) != nil || Hint(nil, "x") != nil || HintOf(nil) != "" {
		t.Fatal("a nil error became something else")
	}
}

func TestHintOf(t *testing.T) {
	err := fmt.Errorf("build: %w", errors.Join(errors.New("a"), Hint(With(Patch, errors.New("b")), "patch:new hipify")))
	if got := HintOf(err); got != "patch:new hipify" {
		t.Fatalf("HintOf = %q", got)
	}
	full := Hint(With(Source, fmt.Errorf("unpack: %w", syscall.ENOSPC)), "take another archive")
	if got := HintOf(full); !strings.Contains(got, "free some space") {
		t.Errorf("a full disk: %q", got)
	}
	if got := HintOf(Hint(err, "outer")); got != "outer" {
		t.Fatalf("HintOf = %q, the outer hint should win", got)
	}
	var e *Error
	if !errors.As(err, &e) || e.ExitStatus() != int(Patch) {
		t.Fatalf("ExitStatus of %v", e)
	}
}

func TestTable(t *testing.T) {
	last := Code(-1)
	names := map[string]bool{}
	for _, i := range All() {
		if i.Code <= last || i.Code > 255 {
			t.Errorf("%d does not rise or does not fit an exit status", i.Code)
		}
		last = i.Code
		if i.Name == "" || i.Meaning == "" || names[i.Name] || strings.HasSuffix(i.Meaning, ".") || strings.Contains(i.Meaning, "|") {
			t.Errorf("bad row %+v", i)
		}
		names[i.Name] = true
		if i.Code.String() != i.Name {
			t.Errorf("%d is named %q, want %q", i.Code, i.Code, i.Name)
		}
		// The kernel must hand the number on unchanged.
		err := exec.Command("sh", "-c", "exit "+strconv.Itoa(int(i.Code))).Run()
		var ee *exec.ExitError
		got := 0
		if errors.As(err, &ee) {
			got = ee.ExitCode()
		}
		if got != int(i.Code) {
			t.Errorf("the system turned %d into %d", i.Code, got)
		}
	}
	if got := Code(99).String(); got != "code 99" {
		t.Errorf("unnamed code prints %q", got)
	}
}

func TestPageIsCurrent(t *testing.T) {
	const page = "../../docs/exit-codes.md"
	if os.Getenv("UPDATE") == "1" {
		if err := os.WriteFile(page, []byte(Markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != Markdown() {
		t.Fatalf("%s differs from the table; run UPDATE=1 go test ./internal/exit", page)
	}
}
