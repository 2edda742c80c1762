// Package doctor looks at the machine before anything is built: which tools
// are there and new enough, whether disk and memory suffice for the plan, and
// with which one command what is missing is installed.
//
// Check only looks. Ensure installs, when it may.
package doctor

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/ui"
)

// Status is how an item stands.
type Status string

// The statuses. Missing and Old stop a build, Warn does not.
const (
	OK      Status = "ok"
	Missing Status = "missing"
	Old     Status = "old"
	Warn    Status = "warn"
)

// Item is one line of the report.
type Item struct {
	Name     string              `json:"name"` // cmake, llvm, disk, …
	Status   Status              `json:"status"`
	Found    string              `json:"found,omitempty"` // a version, a size, or what is wrong
	Want     string              `json:"want,omitempty"`
	Why      string              `json:"why,omitempty"`  // the components that need it
	Path     string              `json:"path,omitempty"` // of the tool
	Packages map[string][]string `json:"packages,omitempty"`
	// Suggest is a command for what no package manager installs.
	Suggest string `json:"suggest,omitempty"`
	// Recommended says that a build goes without, and that Ensure installs it
	// along with what is missing.
	Recommended bool `json:"recommended,omitempty"`
	// Fatal is how the process ends when this is missing and nothing that
	// could be installed helps; 0 for ordinary items.
	Fatal exit.Code `json:"-"`

	min version // for comparing with what a package index offers
}

// Probe looks at something that another package knows about. An item whose
// name is in the package table ("llvm", "llvm-dev", "compiler", …) gets its
// packages from there when it has none of its own; an item with the name of a
// tool of this package takes that tool's place.
type Probe func(ctx context.Context) Item

// DiskNeed is space that a build will take below Path.
type DiskNeed struct {
	Path  string // may not exist yet
	What  string // store, work folder, …
	Bytes int64
	// Otherwise is what to do where Path cannot be written to.
	Otherwise string
}

// Needs says what to look for.
type Needs struct {
	// Tools names the tools wanted, of Tools(); nil means all of them.
	Tools []string
	// Why gives, for an item's name, the components that need it.
	Why    map[string][]string
	Probes []Probe
	Disk   []DiskNeed
	Memory int64 // bytes without which the plan cannot be built even with one job
	TTY    bool
	Host   Host // the zero value is this machine
}

// Host is the machine as Check sees it. Tests make others.
type Host struct {
	OS   string   // runtime.GOOS
	Root string   // where /etc, /proc, /sys and /opt are looked for
	Env  []string // PATH is taken from here
	UID  int
}

// ThisHost returns the machine that the program runs on.
func ThisHost() Host {
	return Host{OS: runtime.GOOS, Root: "/", Env: os.Environ(), UID: os.Getuid()}
}

func (h Host) env(name string) string {
	for i := len(h.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(h.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// Report is what Check found, in the order in which it is shown.
type Report struct {
	OS      string `json:"os"`
	Manager string `json:"manager,omitempty"` // apt, dnf, brew, or "" when there is none
	Items   []Item `json:"items"`

	needs Needs
}

// Check looks at the machine. What cannot be found out is an item with the
// reason, so there is always a report.
func Check(ctx context.Context, needs Needs) *Report {
	if needs.Host.OS == "" {
		needs.Host = ThisHost()
	}
	h := needs.Host
	r := &Report{OS: h.OS, Manager: h.manager(), needs: needs}

	var looks []func() Item
	for _, t := range tools() {
		if needs.Tools != nil && !slices.Contains(needs.Tools, t.name) || needs.Tools == nil && t.linux && h.OS != "linux" {
			continue
		}
		looks = append(looks, func() Item { return t.check(ctx, h) })
	}
	for _, p := range needs.Probes {
		looks = append(looks, func() Item { return p(ctx) })
	}
	found := make([]Item, len(looks))
	var wg sync.WaitGroup
	for i, look := range looks {
		wg.Go(func() { found[i] = look() })
	}
	wg.Wait()

	byName := map[string]int{}
	for _, it := range found {
		if i, ok := byName[it.Name]; ok {
			r.Items[i] = it
			continue
		}
		byName[it.Name] = len(r.Items)
		r.Items = append(r.Items, it)
	}
	if it, found := checkJobs(ctx, h, r.Items); found {
		r.Items = append(r.Items, it)
	}
	r.Items = append(r.Items, checkWritable(needs.Disk)...)
	r.Items = append(r.Items, checkDisk(needs.Disk)...)
	r.Items = append(r.Items, checkMemory(h, needs.Memory), checkCores(), checkTerminal(needs.TTY))
	if it, found := checkForeign(h); found {
		r.Items = append(r.Items, it)
	}
	table, err := packageTable()
	for i := range r.Items {
		it := &r.Items[i]
		if it.Why == "" {
			it.Why = strings.Join(needs.Why[it.Name], ", ")
		}
		if row, ok := table.Items[it.Name]; ok && (it.lacking() || it.Recommended) {
			if it.Packages == nil {
				it.Packages = row.packages()
			}
			if it.Suggest == "" {
				it.Suggest = row.Suggest[h.OS]
			}
		}
	}
	if err != nil {
		r.Items = append(r.Items, Item{Name: "packages", Status: Warn, Found: err.Error()})
	}
	return r
}

func (it Item) lacking() bool { return it.Status == Missing || it.Status == Old }

// String names an item and what is wanted of it: "cmake 3.25 or newer".
func (it Item) String() string {
	s := it.Name
	if it.Want != "" {
		s += " " + it.Want
	}
	if it.Found != "" {
		s += " (found: " + it.Found + ")"
	}
	return s
}

// OK reports whether nothing is missing or too old.
func (r *Report) OK() bool { return len(r.Missing()) == 0 }

// Missing returns the items that are missing or too old.
func (r *Report) Missing() []Item {
	var out []Item
	for _, it := range r.Items {
		if it.lacking() {
			out = append(out, it)
		}
	}
	return out
}

// Table writes the report.
func (r *Report) Table(w io.Writer, look ui.Look) error {
	var rows [][]string
	for _, it := range r.Items {
		rows = append(rows, []string{it.Name, string(it.Status), it.Found, it.Want, it.Why})
	}
	return ui.Table(w, look, []string{"item", "status", "found", "wanted", "needed by"}, rows, ui.TableOptions{
		Flex: 5,
		Style: func(row, col int) ui.Tone {
			if row < 0 || col != 1 {
				return ui.Normal
			}
			switch r.Items[row].Status {
			case OK:
				return ui.Good
			case Warn:
				return ui.Caution
			}
			return ui.Bad
		},
	})
}

// Tools returns the names of the tools that Check knows by itself.
func Tools() []string {
	var names []string
	for _, t := range tools() {
		names = append(names, t.name)
	}
	return names
}

func list(items []Item) string {
	var parts []string
	for _, it := range items {
		parts = append(parts, it.String())
	}
	return strings.Join(parts, ", ")
}

func checkCores() Item {
	n, usable := runtime.NumCPU(), runtime.GOMAXPROCS(0)
	found := fmt.Sprint(n)
	if usable != n {
		found = fmt.Sprintf("%d of %d", usable, n)
	}
	return Item{Name: "cores", Status: OK, Found: found}
}

// checkJobs says how components that are built at once come by their processes.
func checkJobs(ctx context.Context, h Host, items []Item) (Item, bool) {
	i := slices.IndexFunc(items, func(it Item) bool { return it.Name == "ninja" && it.Status == OK })
	if i < 0 {
		return Item{}, false
	}
	it := Item{Name: "jobs", Status: OK, Found: "shared among components: ninja knows the jobserver"}
	// ninja 1.13's release notes: "support for the GNU jobserver".
	if v, ok := parseVersion(items[i].Found); !ok || v.less(version{1, 13}) {
		it.Found = "divided among components: ninja 1.13 would share them"
		return it, true
	}
	// A make that one of ninja's commands runs must understand it too: by name
	// from 4.4 on (GNU make's NEWS).
	if path := h.lookPath("make"); path != "" {
		out, err := h.output(ctx, path, "--version")
		text, gnu := strings.CutPrefix(out, "GNU Make ")
		if v, ok := parseVersion(text); err != nil || !gnu || !ok || v.less(version{4, 4}) {
			it.Found = "divided among components: make 4.4 would share them with ninja"
		}
	}
	return it, true
}

func checkTerminal(tty bool) Item {
	if tty {
		return Item{Name: "terminal", Status: OK, Found: "yes"}
	}
	return Item{Name: "terminal", Status: OK, Found: "no: plain output and no questions"}
}
