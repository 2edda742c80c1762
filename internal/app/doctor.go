package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/build"
	"github.com/stonemason-hip/stonemason/internal/doctor"
	"github.com/stonemason-hip/stonemason/internal/machine"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/sandbox"
	"github.com/stonemason-hip/stonemason/internal/source"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/store"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
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
	sources, err := a.sources(p, s, discard())
	if err != nil {
		return err
	}
	report, err := a.examine(ctx, p, m, g, s, sources, true)
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
func (a *App) checkup(ctx context.Context, p *spec.Project, m *machine.Machine, g *plan.Graph, s *store.Store, sources *source.Provider) (*doctor.Report, error) {
	return a.examine(ctx, p, m, g, s, sources, false)
}

// examine is checkup; always asks too for what matters only to a build that has
// something to do.
func (a *App) examine(ctx context.Context, p *spec.Project, m *machine.Machine, g *plan.Graph, s *store.Store, sources *source.Provider, always bool) (*doctor.Report, error) {
	b := &build.Builder{Graph: g, Store: s, Sources: sources, Machine: m, Events: discard(), Jobs: a.jobs(p)}
	forecast := b.Forecast(ctx)
	if ctx.Err() != nil { // what could not be looked up is not missing
		return nil, context.Cause(ctx)
	}
	needs := doctor.Needs{Tools: []string{"go", "git"}, Why: map[string][]string{}}
	look := func(missing bool) *machine.Machine {
		if missing {
			return a.machine(ctx, p)
		}
		return m
	}
	var disk, memory, result int64
	work := false                  // whether there is something to do
	want := map[string][]string{}  // tool → components
	other := map[string][]string{} // host other than this machine → components
	for _, n := range g.Nodes {
		for _, tool := range n.Tools {
			if tool == "c++" && n.Host != plan.AnyHost && n.Host != g.Build {
				if n.Enabled && !forecast[n.ID].Cached {
					other[n.Host] = append(other[n.Host], n.Component)
				}
				continue
			}
			if ownLLVM := strings.HasPrefix(tool, "llvm") && buildsLLVM(g, n); n.Enabled && !forecast[n.ID].Cached && !ownLLVM {
				want[tool] = append(want[tool], n.Component)
			}
		}
		if n.Enabled && !forecast[n.ID].Cached {
			work = true
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
		needs.Probes = append(needs.Probes, compilerProbe(look, a.chosen("STONEMASON_CC", "STONEMASON_CXX"), want["c++"]))
	}
	if m.Platform.OS == "darwin" && len(want["c++"]) > 0 || m.MacSDK != "" {
		needs.Probes = append(needs.Probes, sdkProbe(look, want["c++"]))
	}
	for _, host := range slices.Sorted(maps.Keys(other)) {
		needs.Probes = append(needs.Probes, crossProbe(look, host, other[host]))
	}
	if always || work {
		needs.Probes = append(needs.Probes, isolationProbe(m))
	}
	needs.Memory = memory
	needs.Disk = []doctor.DiskNeed{
		{Path: s.Root(), What: "store", Bytes: disk, Otherwise: "set cache.dir in therock.yaml or STONEMASON_CACHE_DIR to a folder of your own"},
		{Path: filepath.Join(p.Root, "dist"), What: "bundle", Bytes: disk / 2, Otherwise: "work in a checkout of your own"},
	}
	return doctor.Check(ctx, needs), nil
}

// isolationProbe says what build steps are kept apart with. Without it a build
// goes on, unless therock.yaml requires it.
func isolationProbe(m *machine.Machine) doctor.Probe {
	return func(ctx context.Context) doctor.Item {
		item := doctor.Item{Name: "isolation", Status: doctor.OK}
		if m.Isolation == spec.IsolationOff {
			item.Status, item.Found = doctor.Warn, "not isolated: therock.yaml switches it off"
			return item
		}
		status := m.Sandbox(ctx)
		if status.Absent { // it may have been installed since
			status = sandbox.Probe(ctx, os.Getenv("PATH"))
		}
		item.Found, item.Path = status.String(), status.Program
		if status.OK() {
			return item
		}
		item.Status, item.Recommended = doctor.Warn, status.Absent
		if m.Isolation == spec.IsolationRequired {
			item.Status, item.Recommended, item.Want = doctor.Missing, false, "required by therock.yaml"
			if !status.Absent {
				item.Packages = map[string][]string{} // none helps
				item.Suggest = cmp.Or(status.Next, "allow it, or set isolation: auto in therock.yaml")
			}
		}
		return item
	}
}

// buildsLLVM reports whether a node gets its LLVM from the plan itself.
func buildsLLVM(g *plan.Graph, n *plan.Node) bool {
	return slices.ContainsFunc(n.Build, func(id string) bool {
		dep := g.Node(id)
		return dep != nil && dep.Component == "amd-llvm" && dep.Provider != spec.System && dep.Provider != spec.External
	})
}

// chosen lists the variables that are set.
func (a *App) chosen(names ...string) string {
	names = slices.DeleteFunc(names, func(name string) bool { return a.getenv(name) == "" })
	return strings.Join(names, " and ")
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

// sdkProbe looks for the macOS SDK of a Mac, or the one that the user names.
func sdkProbe(look again, why []string) doctor.Probe {
	return func(ctx context.Context) doctor.Item {
		item := doctor.Item{Name: "macos-sdk", Want: "headers and stubs of macOS " + platform.MacOSFloor + " or newer", Why: strings.Join(why, ", ")}
		found, err := look(false).SDK(ctx)
		if err != nil {
			found, err = look(true).SDK(ctx)
		}
		if err != nil {
			item.Status, item.Found, item.Packages = doctor.Missing, err.Error(), map[string][]string{}
			item.Suggest = "name another folder with " + sdk.Variable + ", or unset it"
			if errors.Is(err, sdk.ErrNone) {
				item.Suggest = sdk.InstallHint
			}
			return item
		}
		item.Status, item.Found, item.Path = doctor.OK, found.Name, found.Path
		return item
	}
}

// crossProbe looks for compilers that make programs for another machine.
func crossProbe(look again, host string, why []string) doctor.Probe {
	return func(ctx context.Context) doctor.Item {
		item := doctor.Item{Name: "cross-" + host, Want: "compilers for " + host, Why: strings.Join(why, ", "), Status: doctor.Missing}
		p, err := platform.Parse(host)
		if err != nil {
			item.Found = err.Error()
			return item
		}
		m := look(false)
		t, err := m.Cross(p, "")
		if err != nil {
			m = look(true)
			t, err = m.Cross(p, "")
		}
		if err != nil {
			item.Found = err.Error()
			return item
		}
		item.Status, item.Path = doctor.OK, t.CXX
		if item.Found = filepath.Base(t.CXX); p.OS == "darwin" {
			item.Found = "LLVM " + m.LLVMVersion()
		}
		return item
	}
}

// compilerProbe looks for compilers; chosen names the variables by which a
// person chose them.
func compilerProbe(look again, chosen string, why []string) doctor.Probe {
	return func(ctx context.Context) doctor.Item {
		m := look(false)
		if m.CCError != nil {
			m = look(true)
		}
		item := doctor.Item{Name: "compiler", Want: "a C and C++ compiler", Why: strings.Join(why, ", ")}
		if m.CCError != nil {
			item.Status, item.Found = doctor.Missing, m.CCError.Error()
			if chosen != "" { // another one that is installed would not be taken
				item.Packages, item.Suggest = map[string][]string{}, "name one that works with "+chosen+", or unset it"
			}
			return item
		}
		if err := doctor.TryCompilers(ctx, m.CC.Path, m.CXX.Path); err != nil {
			item.Status, item.Found = doctor.Missing, err.Error()
			item.Packages, item.Suggest = map[string][]string{}, "install it anew (apt-get install --reinstall g++, dnf reinstall gcc-c++), or name another one with STONEMASON_CC and STONEMASON_CXX"
			return item
		}
		item.Status, item.Path = doctor.OK, m.CXX.Path
		item.Found = fmt.Sprintf("%s %s", m.CXX.Kind, m.CXX.Version)
		return item
	}
}
