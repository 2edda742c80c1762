//go:build mage

package main

import (
	"context"

	"github.com/stonemason-hip/stonemason/internal/app"
)

// Explain says why a component would be built again: which inputs changed, and what follows from what.
func Explain(ctx context.Context, name string, format, version, channel, host, gpus, preset, with, without, provider *string) error {
	return door(app.New().Explain(ctx, app.ExplainOptions{
		Wishes: app.Wishes{
			Version: value(version), Channel: value(channel), Hosts: value(host), GPUs: value(gpus), Preset: value(preset),
			With: value(with), Without: value(without), Provider: value(provider),
		},
		Component: name, Format: value(format),
	}))
}
