package dev

import (
	"context"
	"os/exec"
	"runtime"

	"github.com/stonemason-hip/stonemason/internal/doctor"
)

// program is one that the tests start, with the packages that have it.
type program struct {
	name     string
	or       []string // other names of it
	why      string
	packages map[string][]string
	long     bool // only the tests of a whole toolchain and of the page start it
}

// programs of the tests, beside those that building the toolchain needs. None
// of them is skipped where it is missing.
func programs() []program {
	list := []program{
		{name: "bwrap", why: "isolation", packages: map[string][]string{"apt": {"bubblewrap"}, "dnf": {"bubblewrap"}}},
		{name: "make", why: "job tokens", packages: map[string][]string{"apt": {"make"}, "dnf": {"make"}}},
		{name: "readelf", why: "run paths", packages: map[string][]string{"apt": {"binutils"}, "dnf": {"binutils"}}},
		{name: "npm", why: "the macOS SDK", packages: map[string][]string{"apt": {"npm"}, "dnf": {"npm"}}},
		{name: "xz", why: "archives", packages: map[string][]string{"apt": {"xz-utils"}, "dnf": {"xz"}}},
		{name: "chromium", or: []string{"chromium-browser", "google-chrome"}, why: "report", long: true, packages: map[string][]string{"apt": {"chromium"}, "dnf": {"chromium"}}},
	}
	if runtime.GOARCH == "amd64" {
		list = append(list,
			program{name: "aarch64-linux-gnu-g++", why: "ARM64 hosts", long: true, packages: map[string][]string{"apt": {"g++-aarch64-linux-gnu"}, "dnf": {"gcc-c++-aarch64-linux-gnu"}}},
			program{name: "qemu-aarch64-static", why: "ARM64 hosts", long: true, packages: map[string][]string{"apt": {"qemu-user-static"}, "dnf": {"qemu-user-static-aarch64"}}},
		)
	}
	return list
}

// needs is what the tests use. The scenarios and the tests of processes are
// written for Linux; elsewhere what the build needs is enough.
func needs(short bool) doctor.Needs {
	n := doctor.Needs{
		Tools: []string{"go", "git", "cmake", "ninja", "patchelf", "perl", "python3"},
		Why:   map[string][]string{},
	}
	for _, tool := range n.Tools {
		n.Why[tool] = []string{"tests"}
	}
	if runtime.GOOS != "linux" {
		n.Tools = []string{"go", "git", "cmake", "ninja"}
		return n
	}
	for _, p := range programs() {
		if p.long && short {
			continue
		}
		n.Why[p.name] = []string{"tests of " + p.why}
		n.Probes = append(n.Probes, func(context.Context) doctor.Item { return p.look(exec.LookPath) })
	}
	return n
}

func (p program) look(find func(string) (string, error)) doctor.Item {
	it := doctor.Item{Name: p.name, Status: doctor.Missing, Packages: p.packages}
	for _, name := range append([]string{p.name}, p.or...) {
		if path, err := find(name); err == nil {
			it.Status, it.Path, it.Found = doctor.OK, path, path
			break
		}
	}
	return it
}
