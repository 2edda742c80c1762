package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/doctor"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
)

// DoctorOptions are the options of doctor.
type DoctorOptions struct {
	Wishes
	Format string
	// Yes installs what is missing.
	Yes bool
}

// Doctor reports whether the machine has what the plan needs.
func (a *App) Doctor(ctx context.Context, o DoctorOptions) error {
	if err := checkFormat(o.Format, "text", "json"); err != nil {
		return err
	}
	p, err := a.project(o.Wishes)
	if err != nil {
		return err
	}
	s, err := a.store(p)
	if err != nil {
		return err
	}
	m := a.machine(ctx, p)
	g, err := a.resolve(ctx, p, m, nil)
	if err != nil {
		return err
	}
	report, err := a.checkup(ctx, p, m, g, s)
	if err != nil {
		return err
	}
	if o.Format == "json" {
		if err := a.json(report); err != nil {
			return err
		}
	} else if err := report.Table(a.Out, a.look()); err != nil {
		return err
	}
	if report.OK() {
		return nil
	}
	return doctor.Ensure(ctx, report, doctor.Mode{Yes: o.Yes, Out: a.Err, Log: a.Err})
}

// checkup asks the doctor for what the plan's nodes need and are not in the
// store already.
func (a *App) checkup(ctx context.Context, p *spec.Project, m *machine.Machine, g *plan.Graph, s *store.Store) (*doctor.Report, error) {
	sources, err := a.sources(p, s, discard())
	if err != nil {
		return nil, err
	}
	b := &build.Builder{Graph: g, Store: s, Sources: sources, Machine: m, Events: discard(), Jobs: a.jobs(p)}
	forecast := b.Forecast(ctx)
	needs := doctor.Needs{Tools: []string{"go", "git"}, Why: map[string][]string{}}
	look := func(missing bool) *machine.Machine {
		if missing {
			return a.machine(ctx, p)
		}
		return m
	}
	var disk, memory, result int64
	want := map[string][]string{} // tool → components
	for _, n := range g.Nodes {
		for _, tool := range n.Tools {
			if ownLLVM := strings.HasPrefix(tool, "llvm") && buildsLLVM(g, n); n.Enabled && !forecast[n.ID].Cached && !ownLLVM {
				want[tool] = append(want[tool], n.Component)
			}
		}
		if n.Enabled && !forecast[n.ID].Cached {
			disk += n.Estimate.Disk
			memory = max(memory, n.Estimate.Memory)
		}
		result += forecast[n.ID].Action.Bytes
	}
	for _, tool := range []string{"cmake", "ninja", "patchelf", "perl", "python3"} {
		if len(want[tool]) > 0 {
			needs.Tools = append(needs.Tools, tool)
		}
	}
	for tool, components := range want {
		slices.Sort(components)
		needs.Why[tool] = slices.Compact(components)
	}
	if len(want["llvm"]) > 0 {
		needs.Probes = append(needs.Probes, llvmProbe(look, want["llvm"]))
	}
	if len(want["llvm-dev"]) > 0 {
		needs.Probes = append(needs.Probes, llvmDevProbe(look, want["llvm-dev"]))
	}
	if len(want["c++"]) > 0 {
		needs.Probes = append(needs.Probes, compilerProbe(look, want["c++"]))
	}
	m.Isolation = p.Config.Isolation
	needs.Memory = memory
	needs.Disk = []doctor.DiskNeed{
		{Path: s.Root(), What: "store", Bytes: disk},
		{Path: filepath.Join(p.Root, "dist"), What: "bundle", Bytes: disk / 2},
	}
	return doctor.Check(ctx, needs), nil
}

// buildsLLVM reports whether a node gets its LLVM from the plan itself.
func buildsLLVM(g *plan.Graph, n *plan.Node) bool {
	return slices.ContainsFunc(n.Build, func(id string) bool {
		dep := g.Node(id)
		return dep.Component == "amd-llvm" && dep.Provider != spec.System
	})
}

// again looks at the machine once more when something was missing: an
// installation may have brought it since.
type again func(missing bool) *machine.Machine

func llvmProbe(look again, why []string) doctor.Probe {
	return func(context.Context) doctor.Item {
		m := look(false)
		if m.LLVM == nil {
			m = look(true)
		}
		item := doctor.Item{Name: "llvm", Want: "clang, lld and tools, 19 or newer", Why: strings.Join(why, ", ")}
		if m.LLVM == nil {
			item.Status = doctor.Missing
			for _, i := range m.LLVMs {
				item.Found = strings.TrimSpace(fmt.Sprintf("%s in %s: %s", i.Version, i.Prefix, strings.Join(i.Unusable, ", ")))
			}
			return item
		}
		item.Status, item.Path = doctor.OK, m.LLVM.Prefix
		item.Found = m.LLVM.Version + " (" + string(m.LLVM.Vendor) + ")"
		return item
	}
}

func llvmDevProbe(look again, why []string) doctor.Probe {
	return func(context.Context) doctor.Item {
		m := look(false)
		if m.LLVM == nil || !m.LLVM.HasDev {
			m = look(true)
		}
		item := doctor.Item{Name: "llvm-dev", Want: "LLVM's headers, libraries and CMake files", Why: strings.Join(why, ", "), Status: doctor.Missing}
		if m.LLVM != nil && m.LLVM.HasDev {
			item.Status, item.Found, item.Path = doctor.OK, m.LLVM.Version, m.LLVM.Prefix
		}
		return item
	}
}

func compilerProbe(look again, why []string) doctor.Probe {
	return func(context.Context) doctor.Item {
		m := look(false)
		if m.CCError != nil {
			m = look(true)
		}
		item := doctor.Item{Name: "compiler", Want: "a C and C++ compiler", Why: strings.Join(why, ", ")}
		if m.CCError != nil {
			item.Status, item.Found = doctor.Missing, m.CCError.Error()
			return item
		}
		item.Status, item.Path = doctor.OK, m.CXX.Path
		item.Found = fmt.Sprintf("%s %s", m.CXX.Kind, m.CXX.Version)
		return item
	}
}
