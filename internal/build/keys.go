package build

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/hostcc"
)

// Key is the key of a node, given the contents of what it needs. Everything
// that can change the result is in it; where the build happens is not.
func (b *Builder) Key(ctx context.Context, n *plan.Node, contents map[string]store.Content) (key.Key, error) {
	return b.keyWithout(ctx, n, contents, nil)
}

// keyWithout is Key for a node some of whose needs must be built first: there
// are no lines for the contents of these. It is for comparing, not for looking
// anything up.
func (b *Builder) keyWithout(ctx context.Context, n *plan.Node, contents map[string]store.Content, open []string) (key.Key, error) {
	var k lines
	if err := b.keyLines(ctx, &k, n, contents, open); err != nil {
		return key.Key{}, err
	}
	return k.Key(), nil
}

// lines are the lines of a key, with room for the text of a toolchain file. They
// can be used again.
type lines struct {
	key.Builder
	text []byte
}

// keyLines adds the lines of a node's key.
func (b *Builder) keyLines(ctx context.Context, k *lines, n *plan.Node, contents map[string]store.Content, open []string) error {
	k.Add("component", n.Component)
	k.Add("host", n.Host)
	k.Add("provider", string(n.Provider))
	k.Add("recipe", n.Recipe)
	k.Add("version", n.Version)
	for i, s := range n.Sources {
		id, err := b.Sources.Identity(ctx, s)
		if err != nil {
			return err
		}
		prefix := "source." + strconv.Itoa(i)
		k.Add(prefix+".id", id)
		k.Add(prefix+".path", s.Path)
		k.Add(prefix+".into", s.Into)
		k.Add(prefix+".strip", strconv.Itoa(s.Strip))
		k.List(prefix+".only", s.Only)
	}
	// Patches are applied in the order of their names, so names tell the order
	// too, and a patch that comes in between shifts no other's line.
	for _, p := range n.Patches {
		k.Add("patch."+path.Base(p.File), p.SHA256)
	}
	for _, id := range n.Build {
		if slices.Contains(open, id) {
			continue
		}
		content, ok := contents[id]
		if !ok {
			return fmt.Errorf("%s: the content of %s is not known", n.ID, id)
		}
		k.Add("dep."+b.Graph.Node(id).Component, string(content))
	}
	tools := slices.Clone(n.Tools)
	for i, s := range n.Steps {
		typed, err := s.Decode()
		if err != nil {
			return fmt.Errorf("%s: step %s: %w", n.ID, s.Name, err)
		}
		err = k.Within(fmt.Sprintf("step.%02d-%s", i, s.Name), func() error {
			k.Add("uses", s.Uses)
			typed.Key(&k.Builder)
			return b.command(k, n, typed)
		})
		if err != nil {
			return fmt.Errorf("%s: step %s: %w", n.ID, s.Name, err)
		}
		for _, tool := range step.Tools(typed) {
			if !slices.Contains(tools, tool) {
				tools = append(tools, tool)
			}
		}
	}
	for i, r := range n.Slices {
		k.Add(fmt.Sprintf("slice.%02d", i), string(r.Slice))
		k.List(fmt.Sprintf("slice.%02d.globs", i), r.Globs)
	}
	for i, c := range n.Checks {
		k.Add(fmt.Sprintf("check.%02d", i), fmt.Sprintf("exists %q count %d absent %q", c.Exists, c.Count, c.Absent))
	}
	for i, e := range n.Exceptions {
		k.Add(fmt.Sprintf("exception.%02d.rule", i), e.Rule)
		k.List(fmt.Sprintf("exception.%02d.globs", i), e.Globs)
	}
	k.List("env", step.Environment("${home}", "${tmp}", []string{"${path}"}))
	return b.machineLines(ctx, &k.Builder, n, tools)
}

// command adds what a configure step says to CMake by itself, beyond its
// fields: the toolchain file and the arguments, with variables for all places.
func (b *Builder) command(k *lines, n *plan.Node, typed step.Step) error {
	s, ok := typed.(*step.CMake)
	if !ok {
		return nil
	}
	build := b.Machine.Platform
	host, err := b.host(n)
	if err != nil {
		return err
	}
	r := &step.Run{
		Build: build, Host: host,
		Work: "${work}", Source: "${source}", BuildDir: "${build}", Stage: "${stage}",
		Tools: map[string]string{"ninja": "${ninja}"}, Deps: map[string]string{},
		CC: &hostcc.Compiler{Path: "${cc}"}, CXX: &hostcc.Compiler{Path: "${cxx}"},
	}
	for _, id := range n.Build {
		name := b.Graph.Node(id).Component
		r.Deps[name] = "${dep." + name + "}"
	}
	if b.compilesFor(n, host) {
		t := cross.Toolchain{Host: host}
		if host.OS == "darwin" {
			t = cross.Darwin(host, "${cross}", cmp.Or(b.sysroot(n, r.Deps), "${sdk}"))
			r.CC, r.CXX, r.Sysroot = &hostcc.Compiler{Path: t.CC}, &hostcc.Compiler{Path: t.CXX}, t.Sysroot
		}
		r.Cross = &t
	}
	_, toolchain, argv, err := s.Toolchain(r, func(value string) (string, error) { return value, nil })
	if err != nil {
		return err
	}
	k.text = toolchain.Append(k.text[:0])
	k.Text("toolchain", k.text)
	k.List("argv", argv)
	return nil
}

// machineLines adds the build machine's part: the identity, by content, of
// the compilers and tools that the node names or its steps use.
func (b *Builder) machineLines(ctx context.Context, k *key.Builder, n *plan.Node, tools []string) error {
	for _, tool := range tools {
		switch tool {
		case "ninja":
			// It runs what CMake wrote and adds nothing.
		case "ccache":
			// What it remembers is what the compiler would make.
		case "c++":
			host, err := b.host(n)
			if err != nil {
				return err
			}
			if host != b.Machine.Platform {
				id, err := b.Machine.CrossIdentity(ctx, host)
				if err != nil {
					return fmt.Errorf("%s: %w", n.ID, err)
				}
				k.Add("cross", id)
				if host.OS == "darwin" && b.sysroot(n, nil) == "" {
					if err := b.sdkLine(ctx, k, n); err != nil {
						return err
					}
				}
				continue
			}
			if b.Machine.CC == nil || b.Machine.CXX == nil {
				return fmt.Errorf("%s needs a C and a C++ compiler, and the machine has none: go tool mage doctor", n.ID)
			}
			k.Add("cc", fmt.Sprintf("%s %s %s", b.Machine.CC.Kind, b.Machine.CC.Version, b.Machine.CC.Digest))
			k.Add("cxx", fmt.Sprintf("%s %s %s", b.Machine.CXX.Kind, b.Machine.CXX.Version, b.Machine.CXX.Digest))
			if b.Machine.Platform.OS == "darwin" {
				if err := b.sdkLine(ctx, k, n); err != nil {
					return err
				}
				if b.Machine.LLVM != nil { // its archiver is used
					k.Add("ar", "llvm "+b.Machine.LLVMVersion())
				}
			}
		case "llvm", "llvm-dev":
			if tool == "llvm-dev" && slices.Contains(tools, "llvm") {
				continue // one line for both
			}
			if b.llvmFromGraph(n) != nil {
				continue // its content id is among the dependencies
			}
			digest, err := b.Machine.LLVMDigest(ctx)
			if err != nil {
				return fmt.Errorf("%s: %w", n.ID, err)
			}
			k.Add("llvm", b.Machine.LLVMVersion()+" "+digest)
		default:
			digest, err := b.Machine.ToolDigest(tool)
			if err != nil {
				return fmt.Errorf("%s: %w", n.ID, err)
			}
			k.Add("tool."+tool, digest)
		}
	}
	return nil
}

// sdkLine adds the macOS SDK that this machine has.
func (b *Builder) sdkLine(ctx context.Context, k *key.Builder, n *plan.Node) error {
	found, err := b.Machine.SDK(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", n.ID, err)
	}
	k.Add("sdk", found.Key())
	return nil
}

// llvmFromGraph is the node that brings LLVM for a build, when it is built
// from source and so holds LLVM's headers, libraries and CMake files.
func (b *Builder) llvmFromGraph(n *plan.Node) *plan.Node {
	i := slices.IndexFunc(n.Build, func(id string) bool {
		dep := b.Graph.Node(id)
		return dep.Component == "amd-llvm" && dep.Provider != spec.System && dep.Provider != spec.External
	})
	if i < 0 {
		return nil
	}
	return b.Graph.Node(n.Build[i])
}
