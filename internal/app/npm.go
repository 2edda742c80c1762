package app

import (
	"github.com/stonemason-hip/stonemason/internal/npm"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// npm answers where packages of npm are, by the machine's own configuration.
func (a *App) npm(p *spec.Project) npm.Config {
	return npm.Config{Getenv: a.getenv, Mirrors: p.Config.Mirrors["npm"]}
}

// addresses are where plain files can be fetched: packages of npm by their
// registry, alternates first.
func (a *App) addresses(p *spec.Project, urls []string) []string {
	provider := source.Provider{Mirrors: p.Config.Mirrors, NPMURLs: a.npm(p).URLs}
	return provider.URLs(plan.Source{URLs: urls})
}
