package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/interrupt"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/trace"
)

// SiteOptions are the options of step and shell.
type SiteOptions struct {
	Wishes
	Component string
	// Step is the step to run; for shell, run everything before it first.
	Step string
}

// Step runs one step of a component in the work folder that a build left, with
// its whole output on the terminal. Nothing is sealed: a build does that.
func (a *App) Step(ctx context.Context, o SiteOptions) error {
	ctx, listening := interrupt.Context(ctx)
	defer listening()
	s, err := a.enter(ctx, o, false)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.Step(ctx, o.Step); err != nil {
		return exit.Hint(exit.Default(exit.Failure, fmt.Errorf("%s: %w", o.Component, err)), "go tool mage shell "+o.Component)
	}
	goes := "goes on"
	if s.Touched() {
		goes = "begins anew: files of the folder were changed in a shell"
	}
	a.note("step %s of %s is done; go tool mage component %s %s", o.Step, o.Component, o.Component, goes)
	return nil
}

// Shell opens a shell in the work folder of a component, with the environment
// that its steps have.
func (a *App) Shell(ctx context.Context, o SiteOptions) error {
	s, err := a.enter(ctx, o, true)
	if err != nil {
		return err
	}
	defer s.Close()
	r := s.Run()
	a.note("%s: the folder and the environment of its steps; a build of it waits until you leave", o.Component)
	for _, f := range [][2]string{{"source", r.Source}, {"build", r.BuildDir}, {"stage", r.Stage}} {
		a.note("  %-7s %s", f[0], f[1])
	}
	if next := s.Next(); next != "" {
		a.note("  next    %s", "go tool mage step "+o.Component+" "+next)
		for _, c := range a.ran(o, next) {
			a.note("          %s", c)
		}
	}
	argv := shellCommand()
	if r.Wrap != nil {
		argv = r.Wrap(argv)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = s.Folder()
	// A temporary folder below that of the steps: what a person leaves running, an
	// editor for instance, is not taken for a killed build's (child.Sweep).
	tmp := filepath.Join(r.Work, "tmp", "shell")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	cmd.Env = append(slices.Clone(r.Env), step.Mark(tmp), "TERM="+orDumb(a.getenv("TERM")), "PS1="+o.Component+" \\W \\$ ")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = a.In, a.Out, a.Err
	// Ctrl-C at a shell is meant for what runs in it.
	defer interrupt.LeaveToChild()()
	changed, err := s.Borrow(func() error {
		err := cmd.Run()
		var status *exec.ExitError
		if errors.As(err, &status) {
			return nil // a shell ends with the status of its last command: not a failure of ours
		}
		return err
	})
	if len(changed) > 0 {
		a.note("%s changed (%s): step uses them, and the next build of %s begins anew", plural(len(changed), "file", "files"), some(changed), o.Component)
	}
	return exit.With(exit.Failure, err)
}

// some names a few of many.
func some(names []string) string {
	if len(names) > 3 {
		return strings.Join(names[:3], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// shellCommand is the shell that is opened: bash where there is one, without
// the user's own settings.
func shellCommand() []string {
	for _, bash := range []string{"/bin/bash", "/usr/bin/bash"} {
		if _, err := os.Stat(bash); err == nil {
			return []string{bash, "--noprofile", "--norc"}
		}
	}
	return []string{"/bin/sh"}
}

func orDumb(term string) string {
	if term == "" {
		return "dumb"
	}
	return term
}

// ran lists the commands that a step ran in the last build of this checkout.
func (a *App) ran(o SiteOptions, step string) []string {
	p, err := a.project(o.Wishes)
	if err != nil {
		return nil
	}
	logs, _ := filepath.Glob(filepath.Join(stateDir(p), "logs", o.Component+"@*.log"))
	for _, log := range logs {
		if commands, err := build.Commands(log); err == nil && len(commands[step]) > 0 {
			return commands[step]
		}
	}
	return nil
}

// enter plans for one component and enters its work folder.
func (a *App) enter(ctx context.Context, o SiteOptions, person bool) (*build.Site, error) {
	b, nodes, err := a.builder(ctx, o.Wishes, o.Component, trace.SinkFunc(func(e trace.Event) {
		if e.Kind == trace.Info || e.Kind == trace.Warn {
			a.note("%s", e.Msg)
		}
	}))
	if err != nil {
		return nil, err
	}
	if len(nodes) > 1 {
		var hosts []string
		for _, n := range nodes {
			hosts = append(hosts, n.Host)
		}
		return nil, exit.Withf(exit.Usage, "%s is planned for %s: choose one with -host", o.Component, strings.Join(hosts, ", "))
	}
	if n := nodes[0]; o.Step != "" && !slices.ContainsFunc(n.Steps, func(s plan.Step) bool { return s.Name == o.Step }) {
		var names []string
		for _, s := range n.Steps {
			names = append(names, s.Name)
		}
		return nil, exit.Withf(exit.Usage, "%s has no step %q: there is %s", n.Component, o.Step, strings.Join(names, ", "))
	}
	return b.Enter(ctx, nodes[0], a.Out, person)
}

// builder makes what builds one component, or all of them when the name is
// empty, without the preflight, and lists the enabled nodes that are meant.
func (a *App) builder(ctx context.Context, w Wishes, component string, events trace.Sink) (*build.Builder, []*plan.Node, error) {
	p, err := a.project(w)
	if err != nil {
		return nil, nil, err
	}
	s, err := a.store(p)
	if err != nil {
		return nil, nil, err
	}
	m := a.machine(ctx, p)
	var only []string
	if component != "" {
		only = []string{component}
	}
	g, err := a.resolve(ctx, p, m, only)
	if err != nil {
		return nil, nil, err
	}
	if err := buildable(g); err != nil {
		return nil, nil, err
	}
	var nodes []*plan.Node
	for _, n := range g.Enabled() {
		if component == "" || n.Component == component {
			nodes = append(nodes, n)
		}
	}
	if len(nodes) == 0 {
		return nil, nil, a.nothing(g, only)
	}
	sources, err := a.sources(p, s, events)
	if err != nil {
		return nil, nil, err
	}
	return &build.Builder{
		Graph: g, Store: s, Sources: sources, Machine: m, Events: events,
		Logs: logsDir(p), Jobs: a.jobs(p), LinkJobs: p.Config.Budget.LinkJobs,
	}, nodes, nil
}

// logsDir holds the logs of the last build of each component.
func logsDir(p *spec.Project) string { return filepath.Join(stateDir(p), "logs") }
