// Package exit gives every way the program can end a number and a name, and
// carries that number, with the next command to type, along an error chain.
//
// The table in All is the one place where codes are declared: Code.String,
// the page docs/exit-codes.md and the tests all read it.
package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Code is a process exit status. Scripts may depend on the numbers: a number
// is never given a second meaning.
type Code int

// The documented exit codes. 70 follows EX_SOFTWARE of BSD's sysexits(3);
// 130 is 128 + SIGINT, as shells report an interrupted command.
const (
	OK          Code = 0
	Failure     Code = 1
	Usage       Code = 2
	Config      Code = 3
	Preflight   Code = 4
	Lock        Code = 5
	Source      Code = 6
	Patch       Code = 7
	Verify      Code = 8
	Smoke       Code = 9
	Unsupported Code = 10
	Resources   Code = 11
	Internal    Code = 70
	Interrupted Code = 130
)

// Info describes one code: its number, a one-word name and one line of
// meaning without a full stop.
type Info struct {
	Code    Code   `json:"code"`
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
}

// All returns every code in rising order. The slice is the caller's own.
func All() []Info {
	return []Info{
		{OK, "ok", "everything asked for was done, or was done already"},
		{Failure, "failure", "a build step failed"},
		{Usage, "usage", "an unknown verb, flag or argument, or a value that does not fit it"},
		{Config, "config", "therock.yaml, a component, a recipe or another input file is wrong, or the folder of the store cannot be used"},
		{Preflight, "preflight", "something this machine needs is missing and was not installed"},
		{Lock, "lock", "therock.lock does not match therock.yaml"},
		{Source, "source", "a source could not be fetched, or is not what the lock says"},
		{Patch, "patch", "a patch does not apply"},
		{Verify, "verify", "a check found something wrong: the audit, verify, store:verify, repro (two builds differ), or kernel:run (a fault, or another result)"},
		{Smoke, "smoke", "an example did not compile, its code object is not as it should be, or it computes something else on the emulator"},
		{Unsupported, "unsupported", "this host cannot do that, or there is nothing to do for it"},
		{Resources, "resources", "not enough disk space or memory"},
		{Internal, "internal", "a mistake in the program itself"},
		{Interrupted, "interrupted", "stopped by Ctrl-C, a termination signal, or the end of its terminal"},
	}
}

// String returns the name of c, or "code N" for a number that has none.
func (c Code) String() string {
	for _, i := range All() {
		if i.Code == c {
			return i.Name
		}
	}
	return fmt.Sprintf("code %d", int(c))
}

// Error is an error that knows how the process should end and, when there is
// one, the command to type next.
type Error struct {
	Code Code
	Err  error
	Hint string // a command or a short sentence; empty when there is none
}

// Error returns the text of the wrapped error; the hint is shown separately.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Code.String()
	}
	return e.Err.Error()
}

// Unwrap returns the wrapped error.
func (e *Error) Unwrap() error { return e.Err }

// ExitStatus returns what Of says about e. Mage asks an error for this method
// to choose its own exit status.
func (e *Error) ExitStatus() int { return int(Of(e)) }

// With wraps err with a code. A nil err stays nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Withf is With around fmt.Errorf; %w works.
func Withf(code Code, format string, args ...any) error {
	return &Error{Code: code, Err: fmt.Errorf(format, args...)}
}

// Default wraps err with a code unless its chain already carries one (or a
// cancellation), so that a caller can name the usual way to fail without
// hiding what a callee knows better. A nil err stays nil.
func Default(code Code, err error) error {
	if err == nil {
		return nil
	}
	if _, explicit := of(err); explicit {
		return err
	}
	return &Error{Code: code, Err: err}
}

// Hint adds the command to type next and leaves the code as it is.
// A nil err stays nil.
func Hint(err error, next string) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Of(err), Err: err, Hint: next}
}

// HintOf returns the outermost hint in the chain, or "". In a joined error
// the first branch that has one is taken. For a full disk it is what to do about
// that.
func HintOf(err error) string {
	if full(err) {
		return "free some space, or put the store on another disk (STONEMASON_CACHE_DIR), then build again"
	}
	return hintOf(err)
}

func hintOf(err error) string {
	switch e := err.(type) {
	case nil:
		return ""
	case *Error:
		if e.Hint != "" {
			return e.Hint
		}
		return hintOf(e.Err)
	case interface{ Unwrap() error }:
		return hintOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, sub := range e.Unwrap() {
			if h := hintOf(sub); h != "" {
				return h
			}
		}
	}
	return ""
}

// Of returns the code of an error chain.
//
// A chain that ends in a full disk (ENOSPC, EDQUOT) is Resources, whatever it
// is wrapped in or joined with: it can happen to any work at any time, and what
// else went wrong came of it.
//
// The outermost Error decides, except that a chain whose only cause is
// context.Canceled is Interrupted whatever it is wrapped in: the user pressed
// Ctrl-C while that work was going on. Where several errors are joined, the
// first explicit code other than Interrupted decides, because siblings of a
// failed task are cancelled and say so; without one, any ordinary error makes
// it Failure. An error that carries no code is Failure; nil is OK.
func Of(err error) Code {
	c, _ := of(err)
	return c
}

// of also reports whether the code was set by an Error or a cancellation
// rather than assumed.
func of(err error) (Code, bool) {
	if err == nil {
		return OK, true
	}
	if full(err) {
		return Resources, true
	}
	if err == context.Canceled {
		return Interrupted, true
	}
	switch e := err.(type) {
	case *Error:
		if inner, _ := of(e.Err); inner == Interrupted {
			return Interrupted, true
		}
		return e.Code, true
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return of(inner)
		}
	case interface{ Unwrap() []error }:
		return ofJoined(e.Unwrap())
	}
	if errors.Is(err, context.Canceled) { // a type with its own Is method
		return Interrupted, true
	}
	return Failure, false
}

// full reports whether a full disk is in the chain.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func ofJoined(errs []error) (Code, bool) {
	plain, interrupted := false, false
	for _, err := range errs {
		if err == nil {
			continue
		}
		switch c, explicit := of(err); {
		case c == Interrupted:
			interrupted = true
		case explicit:
			return c, true
		default:
			plain = true
		}
	}
	if interrupted && !plain {
		return Interrupted, true
	}
	return Failure, false
}

// Markdown returns the page docs/exit-codes.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Exit codes\n\n")
	b.WriteString("Every verb of `therock` and every mage target ends with one of these.\n")
	b.WriteString("The numbers are stable: a script may depend on them.\n\n")
	b.WriteString("| Code | Name | Meaning |\n|---:|---|---|\n")
	for _, i := range All() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", int(i.Code), i.Name, i.Meaning)
	}
	b.WriteString("\nWhere there is a command that helps, it is printed after the error as `next: …`.\n")
	b.WriteString("Run through mage, use `go tool mage` or `bin/therock`: `go run` turns every code but 0 into 1.\n")
	b.WriteString("\nThis page is generated from `internal/exit`. After a change there, write it anew with\n")
	b.WriteString("`UPDATE=1 go test ./internal/exit`.\n")
	return b.String()
}
