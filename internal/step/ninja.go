package step

import (
	"context"

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
	p, err := r.parallel(ctx)
	if err != nil {
		return err
	}
	defer p.end()
	argv := append([]string{"ninja", "-C", r.BuildDir}, p.flags...)
	return r.command(ctx, r.Work, p.env, p.files, append(argv, targets...))
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
