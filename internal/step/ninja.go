package step

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stonemason-hip/stonemason/internal/key"
)

// Ninja builds targets in ${build}. An interrupted build goes on where it was.
type Ninja struct {
	// Targets are ninja's; none means the default target.
	Targets []string `yaml:"targets,omitempty"`
	// Stage says that the targets install into the stage.
	Stage bool `yaml:"stage,omitempty"`
}

// Validate implements Step.
func (s *Ninja) Validate() error { return nil }

// Key implements Step.
func (s *Ninja) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Ninja) Run(ctx context.Context, r *Run) error {
	targets, err := r.ExpandAll(s.Targets)
	if err != nil {
		return err
	}
	for {
		more, err := s.once(ctx, r, targets)
		if !more {
			return err
		}
		fmt.Fprintf(r.Output, "stonemason: jobs have become free: ninja goes on with more\n")
	}
}

// once runs ninja. more says that it was stopped because it may have more jobs
// than it was told.
func (s *Ninja) once(ctx context.Context, r *Run, targets []string) (more bool, err error) {
	p, err := r.parallel(ctx)
	if err != nil {
		return false, err
	}
	defer p.end()
	argv := append([]string{"ninja", "-C", r.BuildDir}, p.flags...)
	limited, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	output := r.Output
	if p.jobs > 0 {
		pace := &pace{out: output, jobs: p.jobs, begun: time.Now()}
		r.Output = pace
		defer func() { r.Output = output }()
		ended := make(chan struct{})
		defer close(ended)
		go pace.watch(ended, r.Lease.Spare, func() { stop(errMoreJobs) })
	}
	err = r.command(limited, r.Work, p.env, p.files, append(argv, targets...))
	if errors.Is(err, errMoreJobs) && ctx.Err() == nil {
		return true, nil
	}
	return false, err
}

// Install runs the install rules of the build in ${build}.
type Install struct {
	// Components limits it to these install components; none means all.
	Components []string `yaml:"components,omitempty"`
	// Strip removes symbols while installing.
	Strip bool `yaml:"strip,omitempty"`
	// Prefix is the folder below ${stage} to install into.
	Prefix string `yaml:"prefix,omitempty"`
}

// Validate implements Step.
func (s *Install) Validate() error { return nil }

// Key implements Step.
func (s *Install) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Install) Run(ctx context.Context, r *Run) error {
	prefix, err := r.InStage(orDot(s.Prefix))
	if err != nil {
		return err
	}
	argv := []string{"cmake", "--install", r.BuildDir, "--prefix", prefix}
	if s.Strip {
		argv = append(argv, "--strip")
	}
	if len(s.Components) == 0 {
		return r.Command(ctx, r.Work, nil, argv...)
	}
	for _, c := range s.Components {
		if err := r.Command(ctx, r.Work, nil, append(argv, "--component", c)...); err != nil {
			return err
		}
	}
	return nil
}

func orDot(s string) string {
	if s == "" {
		return "."
	}
	return s
}
