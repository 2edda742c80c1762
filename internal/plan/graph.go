// Package plan turns a project's files, the user's wishes and facts about the
// machine into a Graph: everything that a build will do, known before it does
// anything.
//
// The graph is frozen and serialisable. It holds no path of the machine, and
// it is the one thing that plan, graph, build, the lock, the CI matrix, the
// bill of materials and the cache keys read.
package plan

import (
	"time"

	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
)

// AnyHost is the host of artifacts that are the same for every platform.
const AnyHost = "any"

// Graph is a resolved plan.
type Graph struct {
	Schema  int          `json:"schema"`
	Release string       `json:"release"`
	Channel spec.Channel `json:"channel"`
	// ChannelWhy says why channel auto became this one.
	ChannelWhy string   `json:"channel_why,omitempty"`
	Build      string   `json:"build"`
	Hosts      []string `json:"hosts"`
	GPUs       []string `json:"gpus"`
	Name       string   `json:"name"`
	Preset     string   `json:"preset"`
	// Nodes are in an order in which every node comes after those it needs.
	Nodes []*Node `json:"nodes"`

	byID map[string]*Node
}

// Node is one component for one host, or for any.
type Node struct {
	ID        string `json:"id"` // component@host
	Component string `json:"component"`
	Host      string `json:"host"`
	Summary   string `json:"summary"`
	Group     string `json:"group"`
	License   string `json:"license,omitempty"`
	Homepage  string `json:"homepage,omitempty"`
	// Enabled nodes are built; Why says what switched the node on or off.
	Enabled bool   `json:"enabled"`
	Why     string `json:"why"`
	// PulledBy lists the enabled components that need this one, when nothing
	// else switched it on.
	PulledBy []string `json:"pulled_by,omitempty"`
	// ForBuild marks a node that only serves the build machine and goes into
	// no bundle.
	ForBuild bool `json:"for_build,omitempty"`

	// Sysroot is the folder, below the node's artifact, of headers and libraries
	// for another system; "" for what is none.
	Sysroot string `json:"sysroot,omitempty"`

	Provider     spec.ProviderKind `json:"provider,omitempty"`
	ProviderNote string            `json:"provider_note,omitempty"`
	Recipe       string            `json:"recipe,omitempty"`
	// Outcome is what a successful build of the recipe is called.
	Outcome string   `json:"outcome,omitempty"`
	Version string   `json:"version,omitempty"`
	Sources []Source `json:"sources,omitempty"`
	Patches []Patch  `json:"patches,omitempty"`
	// SkippedPatches are in the series and do not apply here.
	SkippedPatches []SkippedPatch `json:"skipped_patches,omitempty"`
	Steps          []Step         `json:"steps,omitempty"`
	// Build and Runtime are the IDs of the nodes needed.
	Build   []string `json:"needs_build,omitempty"`
	Runtime []string `json:"needs_runtime,omitempty"`
	// Tools are what the build machine must have.
	Tools    []string         `json:"tools,omitempty"`
	Estimate Estimate         `json:"estimate"`
	Slices   []spec.SliceRule `json:"slices,omitempty"`
	Checks   []spec.Check     `json:"checks,omitempty"`
	// Exceptions are audit findings that are right for this component.
	Exceptions []spec.Exception `json:"exceptions,omitempty"`
}

// Estimate is what building a node is expected to cost.
type Estimate struct {
	CPU    time.Duration `json:"cpu_ns"`
	Disk   int64         `json:"disk"`
	Memory int64         `json:"memory"`
}

// Source is one source tree of a node, fixed to the byte. Exactly one of
// Commit, Pool, URLs with SHA256, and Workspace says where it comes from.
type Source struct {
	Name    string   `json:"name"`
	Version string   `json:"version,omitempty"`
	Commit  string   `json:"commit,omitempty"`
	Tree    string   `json:"tree,omitempty"`
	Package string   `json:"package,omitempty"`
	Suite   string   `json:"suite,omitempty"`
	Pool    string   `json:"pool,omitempty"`
	URLs    []string `json:"urls,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
	Size    int64    `json:"size,omitempty"`
	Strip   int      `json:"strip,omitempty"`
	// Workspace is a local folder, relative to the project or absolute.
	Workspace string `json:"workspace,omitempty"`
	// Path is the folder of the source that becomes the node's source folder,
	// Only the folders to take, Into where the part goes.
	Path string   `json:"path,omitempty"`
	Only []string `json:"only,omitempty"`
	Into string   `json:"into,omitempty"`
}

// Patch is one patch to apply. File is relative to the project.
type Patch struct {
	File   string `json:"file"`
	Title  string `json:"title"`
	SHA256 string `json:"sha256"`
	Link   string `json:"upstream,omitempty"`
}

// SkippedPatch is a patch that does not apply to this source or host.
type SkippedPatch struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

// Step is one step of a node: a step type and its values, in which only the
// variables of running steps are left.
type Step struct {
	Name string         `json:"name"`
	Uses string         `json:"uses"`
	With map[string]any `json:"with,omitempty"`

	typed step.Step // what Decode gave when the plan was made
}

// Node finds a node by ID, or nil.
func (g *Graph) Node(id string) *Node {
	if g.byID == nil {
		g.index()
	}
	return g.byID[id]
}

func (g *Graph) index() {
	g.byID = make(map[string]*Node, len(g.Nodes))
	for _, n := range g.Nodes {
		g.byID[n.ID] = n
	}
}

// Enabled lists the nodes that a build would make, in order.
func (g *Graph) Enabled() []*Node {
	var nodes []*Node
	for _, n := range g.Nodes {
		if n.Enabled {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Bundled lists the nodes whose artifacts make up a host's bundle.
func (g *Graph) Bundled(host string) []*Node {
	var nodes []*Node
	for _, n := range g.Enabled() {
		if !n.ForBuild && (n.Host == host || n.Host == AnyHost) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// Needs lists the IDs of all nodes that must be there before a node is built.
func (n *Node) Needs() []string {
	return append(append([]string{}, n.Build...), n.Runtime...)
}

// DownloadSize is the sum of the sizes of a node's sources, as far as known.
func (n *Node) DownloadSize() int64 {
	var sum int64
	for _, s := range n.Sources {
		sum += s.Size
	}
	return sum
}
