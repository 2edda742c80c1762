package plan

import (
	"cmp"

	"github.com/stonemason-hip/stonemason/internal/expr"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Scope declares the names that conditions of components may use.
func Scope() expr.Scope {
	return expr.Scope{
		"host": {Type: expr.String}, "host.os": {Type: expr.String}, "host.arch": {Type: expr.String},
		"build": {Type: expr.String}, "build.os": {Type: expr.String}, "build.arch": {Type: expr.String},
		"native":     {Type: expr.Bool},   // host and build are the same
		"gpu_driver": {Type: expr.Bool},   // the build machine has an AMD GPU driver, and host is it
		"channel":    {Type: expr.String}, // upstream or debian
		"release":    {Type: expr.String},
		"preset":     {Type: expr.String},
		"gpus":       {Type: expr.Set},
		"llvm":       {Type: expr.String}, // version of the LLVM that would be adopted, or 0
	}
}

func (r *resolver) env(host string) (expr.Env, error) {
	h, err := platform.Parse(host)
	if err != nil {
		return nil, err
	}
	b := r.facts.Build
	return expr.Env{
		"host": expr.StringValue(h.String()), "host.os": expr.StringValue(h.OS), "host.arch": expr.StringValue(h.Arch),
		"build": expr.StringValue(b.String()), "build.os": expr.StringValue(b.OS), "build.arch": expr.StringValue(b.Arch),
		"native":     expr.BoolValue(h == b),
		"gpu_driver": expr.BoolValue(h == b && r.facts.GPUDriver),
		"channel":    expr.StringValue(string(r.graph.Channel)),
		"release":    expr.StringValue(r.graph.Release),
		"preset":     expr.StringValue(r.graph.Preset),
		"gpus":       expr.SetValue(r.graph.GPUs...),
		"llvm":       expr.StringValue(cmp.Or(r.facts.LLVM, "0")), // so that semver() can compare
	}, nil
}
