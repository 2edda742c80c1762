package spec

import (
	"fmt"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Component is components/<name>.yaml: one thing that can be in a toolchain,
// where its sources are, what it needs and how it comes to be.
type Component struct {
	Schema  int    `yaml:"schema" sm:"required,min=1,max=1"`
	Name    string `yaml:"name" sm:"required" pattern:"^[a-z][a-z0-9-]*$"`
	Summary string `yaml:"summary" sm:"required"`
	// Group is the toggle group of therock.yaml that the component belongs to.
	Group string `yaml:"group" sm:"required" pattern:"^[A-Z][A-Z_]*$"`
	// License is an SPDX expression, for the bill of materials.
	License  string `yaml:"license"`
	Homepage string `yaml:"homepage"`
	// Artifact is "host" when the result runs on one platform, "any" when it
	// is the same for all of them and is built once.
	Artifact Artifact `yaml:"artifact"`
	// BuildOnly says that builds need the component and nobody who uses the
	// toolchain does: it goes into no bundle.
	BuildOnly bool `yaml:"build_only"`
	// Sysroot is the operating system (linux, darwin) whose headers and
	// libraries the component holds: compilers of another system are pointed at
	// it when they make something for a host that has it.
	Sysroot string `yaml:"sysroot" sm:"enum=linux|darwin"`
	// Presets lists the presets that switch the component on.
	Presets []string `yaml:"presets"`
	// Default is a condition (package expr) that limits the presets to the hosts
	// for which it holds; on all others the component is off until a toggle asks
	// for it. When says what can be, Default only what is meant.
	Default string `yaml:"default"`
	// When is a condition (package expr) that must hold for a host; Because
	// says in words why the component is off when it does not.
	When    string `yaml:"when"`
	Because string `yaml:"because"`
	// Planned says, for a component that is declared so that plans can
	// explain it but cannot be built yet, what it waits for.
	Planned string `yaml:"planned"`
	Needs   Needs  `yaml:"needs"`
	// Sources names where the source comes from, by channel.
	Sources map[Channel][]SourceRef `yaml:"sources"`
	// Providers lists the ways to obtain the component, the preferred first.
	Providers []Provider `yaml:"providers"`
	// ExcludeGPUs lists targets or families the component cannot serve.
	ExcludeGPUs []string `yaml:"exclude_gpus"`
	Estimate    Estimate `yaml:"estimate"`
	// Slices assigns files of the install tree, by glob, to a slice; what no
	// glob names falls to the built-in rules.
	Slices []SliceRule `yaml:"slices"`
	// Exceptions are findings of the audit that are right for this component.
	Exceptions []Exception `yaml:"exceptions"`
	// Checks must hold for the staged tree before it is sealed.
	Checks []Check `yaml:"checks"`

	src *yamlx.Source
}

// Needs are a component's edges in the graph.
type Needs struct {
	// Build names components whose artifacts a build step reads: headers and
	// libraries for the host.
	Build []string `yaml:"build"`
	// Native names components whose programs a build step runs. They are made
	// for the build machine, whatever the host is.
	Native []string `yaml:"native"`
	// Runtime names components that the result does not work without.
	Runtime []string `yaml:"runtime"`
}

// SourceRef names a part of a source of the release table.
type SourceRef struct {
	// From is the name of a source, or of a set of packages, in releases.yaml.
	From string `yaml:"from" sm:"required"`
	// Path is the folder inside the source that holds this component.
	Path string `yaml:"path"`
	// Only lists the folders to take when Path, or the whole source, is more
	// than the component needs.
	Only []string `yaml:"only"`
	// Into is the folder below the source folder that receives this part.
	Into string `yaml:"into"`
}

// Provider is one way to obtain a component.
type Provider struct {
	Kind ProviderKind `yaml:"kind" sm:"required"`
	// When limits the provider to hosts and builds for which it holds.
	When   string `yaml:"when"`
	Recipe string `yaml:"recipe" sm:"required"`
	// With gives values to the recipe's parameters.
	With Values `yaml:"with"`
	// Sources replaces the component's, for this provider: one that is adopted
	// may come from pinned packages in place of the machine.
	Sources map[Channel][]SourceRef `yaml:"sources"`
	// Needs adds edges that only this provider has.
	Needs Needs `yaml:"needs"`
	// Tools lists what the build machine must have: names of the doctor's
	// checks (cmake, ninja, llvm, llvm-dev, patchelf, perl, c++).
	Tools []string `yaml:"tools"`
	// Estimate replaces the component's, for this provider.
	Estimate *Estimate `yaml:"estimate"`
	// Note is one sentence about what this way means; plan prints it.
	Note string `yaml:"note"`
}

// Estimate is what a build costs, measured once and written down here; the
// store's history replaces CPU when there is one.
type Estimate struct {
	// CPU is processor time.
	CPU Duration `yaml:"cpu"`
	// Disk is what source, build and stage folders take at their peak.
	Disk Size `yaml:"disk"`
	// Memory is the peak of one job.
	Memory Size `yaml:"memory"`
}

// SliceRule gives files to a slice.
type SliceRule struct {
	Slice Slice    `yaml:"slice" sm:"required"`
	Globs []string `yaml:"globs" sm:"required"`
}

// Exception excuses findings of one audit rule in some files. It is written
// into the bundle's manifest, so that whoever verifies the bundle sees it.
type Exception struct {
	Rule  string   `yaml:"rule" sm:"required" json:"rule"`
	Globs []string `yaml:"globs" sm:"required" json:"globs"`
	Why   string   `yaml:"why" sm:"required" json:"why"`
}

// Check is one property of the staged tree: either a path (glob) that must
// exist, or a file that must not.
type Check struct {
	Exists string `yaml:"exists"`
	Count  int    `yaml:"count" sm:"min=0"`
	Absent string `yaml:"absent"`
}

// Recipe is recipes/<name>.yaml: how one kind of component is obtained.
type Recipe struct {
	Schema  int              `yaml:"schema" sm:"required,min=1,max=1"`
	Name    string           `yaml:"name" sm:"required" pattern:"^[a-z][a-z0-9-]*$"`
	Summary string           `yaml:"summary" sm:"required"`
	Outcome string           `yaml:"outcome" sm:"enum=built|adopted"`
	Params  map[string]Param `yaml:"params"`
	Steps   []StepDecl       `yaml:"steps" sm:"required"`

	src *yamlx.Source
}

// Param declares a parameter of a recipe. One without a default must be given.
type Param struct {
	Type ParamType `yaml:"type" sm:"required"`
	Doc  string    `yaml:"doc"`
	// Default holds a value of that type.
	Default *yamlx.Node `yaml:"default"`
}

// StepDecl is one step of a recipe. Uses names the step type, With holds the
// type's own fields, in which ${name} stands for a parameter or variable.
type StepDecl struct {
	Name string `yaml:"name" sm:"required" pattern:"^[a-z][a-z0-9-]*$"`
	Uses string `yaml:"uses" sm:"required"`
	If   string `yaml:"if"`
	With Values `yaml:"with"`
}

// SourcesOf are the sources that p, one of the component's providers, has in a
// channel, and the path of their list in the component's file.
func (c *Component) SourcesOf(p *Provider, channel Channel) (refs []SourceRef, path string) {
	for i := range c.Providers {
		if own := &c.Providers[i]; own == p && len(p.Sources) > 0 {
			return p.Sources[channel], fmt.Sprintf("providers[%d].sources.%s", i, channel)
		}
	}
	return c.Sources[channel], "sources." + string(channel)
}

// At is the position of a path in the component's file.
func (c *Component) At(path string) yamlx.Pos { return at(c.src, path) }

// At is the position of a path in the recipe's file.
func (r *Recipe) At(path string) yamlx.Pos { return at(r.src, path) }
