package spec

import (
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Config is therock.yaml: what to build.
type Config struct {
	Schema int `yaml:"schema" sm:"required,min=1,max=1" doc:"the number of this file format"`
	// Version is a semver constraint over the release table; the newest
	// release of the channel that satisfies it is taken.
	Version string `yaml:"version" sm:"required" doc:"a semver constraint over the releases of the channel, for example \">=7.9\", \"~10.1\" or \"7.14.1\"; the newest match is taken"`
	// Channel is upstream (git commits), debian (a distribution's source
	// packages) or auto: upstream, and debian where that cannot be reached.
	Channel Channel `yaml:"channel" doc:"where sources come from: upstream (git), debian (source packages), or auto: upstream, and debian where that cannot be reached"`
	// Hosts are the platforms that the toolchain runs on; "native" is the
	// machine that builds.
	Hosts []string `yaml:"hosts" doc:"platforms that the toolchain runs on: native, linux-amd64, linux-arm64, darwin-arm64"`
	// GPUs are targets (gfx942) and families (gfx94X-all) to compile for.
	GPUs []string `yaml:"gpus" sm:"required" doc:"GPU targets (gfx942) and families (gfx94X-dcgpu, dgpu-all)"`
	// Name names the bundle; it may be left out when GPUs is one selection.
	Name string `yaml:"name" doc:"name of the bundle; needed when gpus has more than one entry"`
	// Preset is the set of components to begin with.
	Preset Preset `yaml:"preset" doc:"components to begin with: minimal, compiler or full"`
	// Groups and Components switch on top of the preset, groups first.
	Groups     map[string]bool   `yaml:"groups" doc:"switch all components of a group on or off"`
	Components map[string]Toggle `yaml:"components" doc:"switch a component on or off, or say more about it"`
	Cache      Cache             `yaml:"cache" doc:"the store of built artifacts and downloads"`
	// Mirrors lists alternates for a URL prefix, tried before it, in order. The
	// key debian lists mirrors of Debian's archive, for machines whose apt
	// configuration names none.
	// The key npm lists registries to try before the machine's own.
	Mirrors map[string][]string `yaml:"mirrors" doc:"alternates for a URL prefix, tried before it, in order; the key debian lists mirrors of Debian's archive, for machines without apt; the key npm lists npm registries to try first"`
	Budget  Budget              `yaml:"budget" doc:"how much of the machine a build may use"`
	// Isolation changes no result and so no key.
	Isolation Isolation `yaml:"isolation" doc:"whether build steps run without network and with only their own folders: auto (where the machine allows it), required or off"`

	src       *yamlx.Source
	overrides map[string]string // path → the flag or variable that replaced it
}

// Toggle says what the user wants of one component: either just on or off, or
// a mapping with details.
type Toggle struct {
	Enabled *bool `yaml:"enabled" doc:"on or off"`
	// Provider chooses how to obtain it; auto takes the component's first.
	Provider ProviderKind `yaml:"provider" doc:"how to obtain it: source (build), system (adopt), prebuilt (restore), auto"`
	// Workspace is a local folder to build from in place of the pinned source.
	Workspace string `yaml:"workspace" doc:"a local folder to build from in place of the pinned source"`
	// ExcludeGPUs adds to the component's own list.
	ExcludeGPUs []string `yaml:"exclude_gpus" doc:"GPU targets or families that this component is not built for"`
	// With overrides the recipe's parameters.
	With Values `yaml:"with" doc:"values for the recipe's parameters"`
}

// Cache configures the store.
type Cache struct {
	// Dir is the store's folder; default is stonemason in the user's cache
	// folder.
	Dir string `yaml:"dir" doc:"folder of the store"`
	// MaxSize is the store's cap.
	MaxSize Size `yaml:"max_size" doc:"the store's cap, for example 20GB"`
}

// Budget bounds what a build may use of the machine; 0 is "find out".
type Budget struct {
	Jobs   int  `yaml:"jobs" sm:"min=0,max=4096" doc:"processes at once; 0 is one a core"`
	Memory Size `yaml:"memory" doc:"memory that may be used; 0 is what the machine has"`
	// LinkJobs bounds concurrent links of LLVM-sized programs.
	LinkJobs int `yaml:"link_jobs" sm:"min=0,max=4096" doc:"concurrent links of LLVM-sized programs; 0 is by memory"`
}

// UnmarshalYAMLX implements yamlx.Unmarshaler: a toggle is a switch or a
// mapping.
func (t *Toggle) UnmarshalYAMLX(n *yamlx.Node) error {
	if n.IsScalar() {
		var on bool
		if err := n.Decode(&on); err != nil {
			return n.Want("on, off or a mapping")
		}
		t.Enabled = &on
		return nil
	}
	type plain Toggle
	return n.Decode((*plain)(t))
}

// Forms implements the schema's union: a switch or a mapping.
func (Toggle) Forms() []any {
	type plain Toggle
	return []any{false, plain{}}
}

// At is the position of a path in therock.yaml, such as components.hipify. Of
// what a flag or a variable replaced, it is that flag or variable.
func (c *Config) At(path string) yamlx.Pos {
	if origin := c.Overridden(path); origin != "" {
		return yamlx.Pos{File: origin}
	}
	return at(c.src, path)
}

// Overridden is the flag or variable that replaced what therock.yaml says at a
// path or around it, or "".
func (c *Config) Overridden(path string) string {
	for p := path; p != ""; p = p[:max(0, strings.LastIndexAny(p, ".["))] {
		if origin, ok := c.overrides[p]; ok {
			return origin
		}
	}
	return ""
}

// Override notes that a flag (-gpus) or variable (STONEMASON_GPUS) replaced
// what therock.yaml says at a path, so that mistakes are found there.
func (c *Config) Override(path, origin string) {
	if c.overrides == nil {
		c.overrides = map[string]string{}
	}
	c.overrides[path] = origin
}
