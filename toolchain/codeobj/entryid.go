package codeobj

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// EntryID is the ID of a bundle entry taken apart: kind "-" triple ["-" target
// id] (ClangOffloadBundler, "Bundle Entry ID").
type EntryID struct {
	Kind   string       // host, hip, hipv4 or openmp
	Triple string       // arch-vendor-os, or arch-vendor-os-env with a non-empty environment
	Target gpu.TargetID // zero when the entry names none, as host entries and SPIR-V do
}

// ParseEntryID takes an entry ID apart. Both forms of a triple are read: the
// four fields that bundlers write (hipv4-amdgcn-amd-amdhsa--gfx942, where the
// environment is empty) and the three of older ones (hip-amdgcn-amd-amdhsa-gfx942).
func ParseEntryID(s string) (EntryID, error) {
	fail := func(why string) (EntryID, error) {
		return EntryID{}, fmt.Errorf("bundle entry id %q: %s", shorten(s), why)
	}
	if len(s) > maxEntryID {
		return fail(fmt.Sprintf("%d bytes: at most %d are read", len(s), maxEntryID))
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return fail("only printable ASCII is allowed")
		}
	}
	kind, rest, _ := strings.Cut(s, "-")
	switch kind {
	case "host", "hip", "hipv4", "openmp":
	default:
		return fail("the kind is not host, hip, hipv4 or openmp")
	}
	field := strings.SplitN(rest, "-", 5)
	if len(field) < 3 || field[0] == "" {
		return fail("the target triple has no architecture, vendor and system")
	}
	id := EntryID{Kind: kind, Triple: strings.Join(field[:3], "-")}
	target := ""
	if len(field) > 3 {
		// No environment is called gfx-something: it is a target id after a
		// triple of three fields, and its hyphens belong to it.
		if strings.HasPrefix(field[3], "gfx") {
			target = strings.Join(field[3:], "-")
		} else {
			if field[3] != "" {
				id.Triple += "-" + field[3]
			}
			if len(field) > 4 {
				target = field[4]
			}
		}
	}
	if target == "" {
		return id, nil
	}
	if !strings.HasPrefix(id.Triple, "amdgcn-") {
		return id, nil // SPIR-V, which is for no GPU before somebody has translated it
	}
	if !strings.HasPrefix(target, "gfx") {
		return fail(fmt.Sprintf("%q is not the target id of a GPU", shorten(target)))
	}
	var err error
	if id.Target, err = gpu.ParseTargetID(target); err != nil {
		return fail(err.Error())
	}
	return id, nil
}

// Device reports whether the entry holds code for a GPU.
func (id EntryID) Device() bool { return id.Kind != "host" && id.Target.Processor != "" }

// compatible says which kinds stand for each other: hip and hipv4 differ only
// in their history.
func compatible(a, b string) bool {
	hip := func(s string) bool { return s == "hip" || s == "hipv4" }
	return a == b || hip(a) && hip(b)
}

// ErrNoMatch says that a bundle has no code for a device.
var ErrNoMatch = errors.New("the bundle has no code object for this device")

// Select returns the entry that a HIP runtime would load on a device with this
// target id (features as the device is configured): the entry must run on it;
// one for the exact processor is preferred to a generic one, and one that names
// more features to one that leaves them open. The error wraps ErrNoMatch.
func (b *Bundle) Select(table *gpu.Table, device gpu.TargetID) (Entry, error) {
	best, score := -1, -1
	for i, e := range b.Entries {
		if !e.Device() || !compatible(e.Kind, "hip") || !table.Runs(e.Target, device) {
			continue
		}
		s := 0
		if e.Target.Processor == device.Processor {
			s = 4
		}
		if e.Target.XNACK != gpu.Any {
			s++
		}
		if e.Target.SRAMECC != gpu.Any {
			s++
		}
		if s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return Entry{}, fmt.Errorf("%s: %w", device, ErrNoMatch)
	}
	return b.Entries[best], nil
}
