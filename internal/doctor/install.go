package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// Plan says how to install what is missing.
type Plan struct {
	Manager  string     `json:"manager,omitempty"`
	Packages []string   `json:"packages,omitempty"`
	Argvs    [][]string `json:"argvs,omitempty"` // to run one after the other
	// Shell is one command line to paste; "" when there is nothing to install
	// or no way to.
	Shell string `json:"shell,omitempty"`
	// Uncovered are the missing items that Shell does not install; Found says
	// why, Suggest what may help.
	Uncovered []Item `json:"uncovered,omitempty"`
	// Refresh says that the package index has to be fetched first. Install
	// does so and then plans anew, since only then it is known what there is.
	Refresh bool `json:"refresh,omitempty"`

	report  *Report
	retried bool // the index has been fetched on the way
}

// InstallPlan finds the command that installs what r misses. It asks the
// package index and changes nothing.
func InstallPlan(ctx context.Context, r *Report) (Plan, error) {
	return plan(ctx, r, false)
}

func plan(ctx context.Context, r *Report, refreshed bool) (Plan, error) {
	p := Plan{Manager: r.Manager, report: r}
	h := r.needs.Host
	var wanted []Item
	for _, it := range r.Missing() {
		switch {
		case it.Fatal != 0, r.Manager == "", len(it.Packages[r.Manager]) == 0:
			p.Uncovered = append(p.Uncovered, it)
		default:
			wanted = append(wanted, it)
		}
	}
	if len(wanted) == 0 {
		return p, nil
	}
	if r.Manager == "apt" {
		if err := p.resolveApt(ctx, r, wanted, refreshed); err != nil {
			return p, err
		}
	} else {
		for _, it := range wanted {
			p.add(it.Packages[r.Manager])
		}
	}
	if len(p.Packages) == 0 {
		return p, nil
	}
	switch r.Manager {
	case "apt":
		install := []string{"install", "-y", "--no-install-recommends"}
		p.Shell = shell(slices.Concat(h.sudo(), []string{"apt-get"}, install, p.Packages))
		if p.Refresh {
			p.Argvs = append(p.Argvs, aptUpdate(h))
			p.Shell = shell(slices.Concat(h.sudo(), []string{"apt-get", "update"})) + " && " + p.Shell
		}
		p.Argvs = append(p.Argvs, slices.Concat(aptGet(h), install, p.Packages))
	case "dnf":
		p.Argvs = [][]string{slices.Concat(h.sudo(), []string{"dnf", "install", "-y", "--setopt=install_weak_deps=False"}, p.Packages)}
		p.Shell = shell(slices.Concat(h.sudo(), []string{"dnf", "install", "-y"}, p.Packages))
	case "brew": // refuses to run as root
		p.Argvs = [][]string{slices.Concat([]string{"brew", "install"}, p.Packages)}
		p.Shell = shell(p.Argvs[0])
	}
	return p, nil
}

func (h Host) sudo() []string {
	if h.UID == 0 {
		return nil
	}
	return []string{"sudo"}
}

// aptGet is apt-get without questions, and with patience: on a machine that
// has just started, its own upgrade may hold the lock.
func aptGet(h Host) []string {
	return append(h.sudo(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")
}

func aptUpdate(h Host) []string { return append(aptGet(h), "update") }

func (p *Plan) add(names []string) {
	for _, n := range names {
		if !slices.Contains(p.Packages, n) {
			p.Packages = append(p.Packages, n)
		}
	}
}

// resolveApt chooses LLVM's major version and leaves out what apt cannot give.
func (p *Plan) resolveApt(ctx context.Context, r *Report, wanted []Item, refreshed bool) error {
	t, err := packageTable()
	if err != nil {
		return exit.With(exit.Internal, err)
	}
	majors := t.LLVM.Majors
	assumed := t.LLVM.Assumed
	// Headers and libraries have to be of the LLVM that is already there.
	for _, it := range r.Items {
		if it.Name == "llvm" && !it.lacking() {
			if v, ok := parseVersion(it.Found); ok && v[0] > 0 {
				majors, assumed = []int{v[0]}, v[0]
			}
		}
	}
	var ask []string
	for _, it := range wanted {
		names := it.Packages["apt"]
		if !versioned(names) {
			ask = append(ask, names...)
			continue
		}
		for _, m := range majors {
			ask = append(ask, expand(names, m)...)
		}
	}
	have, err := r.needs.Host.candidates(ctx, ask)
	if err != nil {
		return err
	}
	all := func(names []string) bool {
		return !slices.ContainsFunc(names, func(n string) bool { return have[n] == "" })
	}
	major := 0
	for i, m := range majors {
		if !slices.ContainsFunc(wanted, func(it Item) bool {
			return versioned(it.Packages["apt"]) && !all(expand(it.Packages["apt"], m))
		}) {
			major = m
			// An old index may know only older ones: the security archive, for
			// instance, brings newer ones to a stable release.
			p.Refresh = p.Refresh || i > 0 && !refreshed
			break
		}
	}
	for _, it := range wanted {
		names := it.Packages["apt"]
		m := major
		if m == 0 {
			m = assumed
		}
		names = expand(names, m)
		switch {
		case all(names):
			if v, ok := debianVersion(have[names[0]]); ok && v.less(it.min) {
				it.Found = fmt.Sprintf("apt offers %s", v)
				p.Uncovered = append(p.Uncovered, it)
				continue
			}
		case !refreshed:
			p.Refresh = true
		default:
			it.Found = "apt has no " + firstWithout(names, have)
			if versioned(it.Packages["apt"]) {
				it.Found = fmt.Sprintf("apt has no LLVM of %v", majors)
			}
			p.Uncovered = append(p.Uncovered, it)
			continue
		}
		p.add(names)
	}
	return nil
}

func firstWithout(names []string, have map[string]string) string {
	for _, n := range names {
		if have[n] == "" {
			return n
		}
	}
	return ""
}

// shell writes an argv as a command line. Package names and our own words need
// no quoting; anything else gets single quotes.
func shell(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool {
			return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("+-./:=@_", r))
		}) {
			words[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// Install runs the plan. What the package manager prints goes to log; when it
// fails, the error has its last lines.
func Install(ctx context.Context, p Plan, log io.Writer) error {
	if log == nil {
		log = io.Discard
	}
	var refreshErr error
	if p.Refresh && len(p.Argvs) > 0 {
		// One of several sources may be down; what the others gave may do.
		refreshErr = p.run(ctx, p.Argvs[0], log)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next, err := plan(ctx, p.report, true)
		if err != nil {
			return errors.Join(err, refreshErr)
		}
		next.retried = true
		p = next
	}
	for _, argv := range p.Argvs {
		err := p.run(ctx, argv, log)
		if err == nil {
			continue
		}
		if p.Manager == "apt" && !p.Refresh && !p.retried && ctx.Err() == nil {
			// An index of last month names files that are gone from the mirror.
			p.Refresh, p.retried = true, true
			p.Argvs = [][]string{aptUpdate(p.report.needs.Host), argv}
			return Install(ctx, p, log)
		}
		return exit.Default(exit.Preflight, errors.Join(err, refreshErr))
	}
	if len(p.Argvs) == 0 {
		return exit.With(exit.Preflight, errors.Join(fmt.Errorf("%s cannot install %s", p.Manager, list(p.Uncovered)), refreshErr))
	}
	return nil
}

const tailLines = 15

func (p Plan) run(ctx context.Context, argv []string, log io.Writer) error {
	h := p.report.needs.Host
	path := h.lookPath(argv[0])
	if path == "" {
		return fmt.Errorf("%s is not on the PATH; as an administrator, run: %s", argv[0], strings.TrimPrefix(p.Shell, "sudo "))
	}
	tail := &tailWriter{}
	fmt.Fprintf(log, "$ %s\n", shell(argv))
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Env = h.Env
	// The same writer twice makes exec use one pipe, so lines stay in order.
	out := io.MultiWriter(log, tail)
	cmd.Stdout, cmd.Stderr = out, out
	if r := p.report.needs; r.TTY {
		cmd.Stdin = os.Stdin // for sudo's question
	}
	// A package manager that is killed leaves its database locked or half
	// configured; it ends by itself on an interrupt.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("%s: %w\n%s", shell(argv), err, tail)
	}
	return nil
}

// tailWriter keeps the last lines written to it.
type tailWriter struct {
	lines []string
	rest  []byte
}

// Write implements io.Writer; it never fails.
func (t *tailWriter) Write(p []byte) (int, error) {
	t.rest = append(t.rest, p...)
	for {
		i := bytes.IndexByte(t.rest, '\n')
		if i < 0 {
			if len(t.rest) > 64<<10 {
				t.rest = t.rest[:0]
			}
			return len(p), nil
		}
		t.add(string(t.rest[:i]))
		t.rest = t.rest[i+1:]
	}
}

func (t *tailWriter) add(line string) {
	if line = ui.Clean(line); strings.TrimSpace(line) != "" {
		t.lines = append(t.lines, line)
		t.lines = t.lines[max(0, len(t.lines)-tailLines):]
	}
}

// String is the last lines that were written, cleaned for a terminal.
func (t *tailWriter) String() string {
	return strings.Join(append(slices.Clone(t.lines), ui.Clean(string(t.rest))), "\n")
}

// Mode says whether and how Ensure may install.
type Mode struct {
	Yes bool // without asking
	TTY bool // Ask can ask
	Ask func(ctx context.Context, question string) (bool, error)
	// Out gets a line before and after installing, Log everything that the
	// package manager prints. Both may be nil.
	Out, Log io.Writer
}

// Ensure makes sure that nothing is missing: it installs what can be
// installed, if m allows, and looks again (r then holds the new report). The
// error is exit.Resources for too little disk or memory, and exit.Preflight,
// with the one command in its text, for anything else that is missing.
func Ensure(ctx context.Context, r *Report, m Mode) error {
	var fatal []Item
	for _, it := range r.Missing() {
		if it.Fatal != 0 {
			fatal = append(fatal, it)
		}
	}
	if len(fatal) > 0 {
		return exit.Withf(fatal[0].Fatal, "not enough on this machine: %s", list(fatal))
	}
	if r.OK() {
		return nil
	}
	p, err := InstallPlan(ctx, r)
	if err != nil {
		return exit.Default(exit.Preflight, fmt.Errorf("missing: %s; no plan to install: %w", list(r.Missing()), err))
	}
	if p.Shell == "" || len(p.Uncovered) > 0 {
		return missing(r, p)
	}
	yes := m.Yes
	if !yes && m.TTY && m.Ask != nil {
		if yes, err = m.Ask(ctx, fmt.Sprintf("missing: %s\n  %s\nrun this?", list(r.Missing()), p.Shell)); err != nil {
			return err
		}
	}
	if !yes {
		return missing(r, p)
	}
	say := func(format string, args ...any) {
		if m.Out != nil {
			fmt.Fprintf(m.Out, format+"\n", args...)
		}
	}
	say("installing %s: %s", names(r.Missing()), p.Shell)
	start := time.Now()
	if err := Install(ctx, p, m.Log); err != nil {
		return exit.Default(exit.Preflight, fmt.Errorf("installing %s: %w", names(r.Missing()), err))
	}
	recommended(ctx, r, p, m)
	if err := ctx.Err(); err != nil {
		return err
	}
	*r = *Check(ctx, r.needs)
	if !r.OK() {
		return exit.Withf(exit.Preflight, "installed, but still missing: %s", list(r.Missing()))
	}
	say("installed in %s", ui.Duration(time.Since(start)))
	return nil
}

// recommended installs what a build can do without, now that something is
// installed anyway. Where that fails, the report goes on saying what to do.
func recommended(ctx context.Context, r *Report, p Plan, m Mode) {
	h := r.needs.Host
	for _, it := range r.Items {
		packages := it.Packages[r.Manager]
		if !it.Recommended || len(packages) == 0 {
			continue
		}
		argv := slices.Concat(aptGet(h), []string{"install", "-y", "--no-install-recommends"}, packages)
		switch r.Manager {
		case "dnf":
			argv = slices.Concat(h.sudo(), []string{"dnf", "install", "-y", "--setopt=install_weak_deps=False"}, packages)
		case "brew":
			argv = slices.Concat([]string{"brew", "install"}, packages)
		}
		log := m.Log
		if log == nil {
			log = io.Discard
		}
		if err := p.run(ctx, argv, log); err != nil && m.Out != nil {
			fmt.Fprintf(m.Out, "%s is recommended and could not be installed: %v\n", strings.Join(packages, " "), err)
		}
	}
}

func names(items []Item) string {
	var out []string
	for _, it := range items {
		out = append(out, it.Name)
	}
	return strings.Join(out, ", ")
}

// missing is the error for what is not there and was not installed.
func missing(r *Report, p Plan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "missing: %s", list(r.Missing()))
	if p.Shell != "" {
		fmt.Fprintf(&b, "\ninstall with: %s", p.Shell)
	}
	for _, it := range p.Uncovered {
		switch {
		case it.Suggest != "":
			fmt.Fprintf(&b, "\nfor %s: %s", it.Name, it.Suggest)
		case r.Manager == "":
			fmt.Fprintf(&b, "\nfor %s: none of apt-get, dnf and brew is here; install it by hand", it.Name)
		default:
			fmt.Fprintf(&b, "\nfor %s: %s cannot install it (%s); install it by hand", it.Name, r.Manager, it.Found)
		}
	}
	return exit.With(exit.Preflight, errors.New(b.String()))
}
