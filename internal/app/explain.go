package app

import (
	"context"
	"fmt"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/explain"
)

// ExplainOptions are the options of explain.
type ExplainOptions struct {
	Wishes
	// Component is the name of what is to be explained.
	Component string
	// Format is text or json.
	Format string
}

// explained is explain -format=json: the verdict for every host of the plan.
type explained struct {
	Schema    int               `json:"schema"`
	Component string            `json:"component"`
	Verdicts  []explain.Verdict `json:"verdicts"`
}

// Explain says whether a component is up to date, and else which inputs changed
// since the nearest earlier result, and what that follows from. A component
// that the plan leaves out is explained as if it were asked for.
func (a *App) Explain(ctx context.Context, o ExplainOptions) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	if p.Components[o.Component] == nil {
		return exit.With(exit.Usage, oneOf("explain", "component", o.Component, componentNames(p)))
	}
	out := explained{Schema: 1, Component: o.Component}
	var off string
	for _, only := range [][]string{nil, {o.Component}} {
		g, err := a.planned(ctx, PlanOptions{Wishes: o.Wishes, Only: only})
		if err != nil {
			return err
		}
		for _, n := range g.Nodes {
			switch {
			case n.Component != o.Component:
			case n.Explain != nil:
				out.Verdicts = append(out.Verdicts, *n.Explain)
			default:
				off = n.Why
			}
		}
		if len(out.Verdicts) > 0 {
			break
		}
	}
	if len(out.Verdicts) == 0 {
		return exit.Withf(exit.Unsupported, "%s is not built: %s", o.Component, off)
	}
	if o.Format == "json" {
		return a.json(out)
	}
	if off != "" {
		a.note("%s is not part of a build of the whole: %s", o.Component, off)
	}
	for i, v := range out.Verdicts {
		if i > 0 {
			fmt.Fprintln(a.Out)
		}
		if err := v.WriteText(a.Out); err != nil {
			return err
		}
	}
	return nil
}
