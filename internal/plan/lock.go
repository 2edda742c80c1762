package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/spec"
)

// Channels are the channels that a lock resolves, in order.
func Channels() []spec.Channel { return []spec.Channel{spec.Upstream, spec.Debian} }

// Choose picks the newest release of a channel that satisfies therock.yaml's
// version. ok is false when there is none.
func Choose(p *spec.Project, channel spec.Channel) (release spec.Release, ok bool, err error) {
	constraint, err := semver.NewConstraint(p.Config.Version)
	if err != nil {
		return release, false, located(p.Config.At("version"), "%q is not a version constraint: %v (write for example \">=7.9\", \"~10.1\" or \"7.14.1\")", p.Config.Version, err)
	}
	var best *semver.Version
	for i, r := range p.Releases.Releases {
		v, err := semver.NewVersion(r.Version)
		if err != nil {
			return release, false, located(p.Releases.At(fmt.Sprintf("releases[%d].version", i)), "%q is not a semantic version: %v", r.Version, err)
		}
		if r.Channel == channel && constraint.Check(v) && (best == nil || v.GreaterThan(best)) {
			best, release, ok = v, r, true
		}
	}
	return release, ok, nil
}

// Expected is the lock that therock.yaml and the release table ask for, as
// far as they know it: hashes of Debian files and git trees are found out by
// the lock verb and are empty here.
func Expected(p *spec.Project) (*spec.Lock, error) {
	lock := &spec.Lock{Schema: 1, Version: p.Config.Version, Channels: map[spec.Channel]spec.LockedSet{}}
	for _, channel := range Channels() {
		release, ok, err := Choose(p, channel)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		set := spec.LockedSet{Release: release.Version, Sources: map[string]spec.LockedSource{}}
		for name, pin := range release.Pins {
			source := spec.LockedSource{Version: pin.Version, Commit: pin.Commit, URLs: pin.URL, SHA256: pin.SHA256, Size: int64(pin.Size), Strip: pin.Strip}
			if source.Version == "" {
				source.Version = release.Version
			}
			if pin.Commit != "" {
				repo, ok := p.Releases.Repositories[name]
				if !ok {
					return nil, located(p.Releases.At("repositories"), "release %s pins %s to a commit, and repositories has no %s", release.Version, name, name)
				}
				source.URLs = repo.URLs
			}
			if d := pin.Debian; d != nil {
				source.Suite = d.Suite
				source.Package = d.Source + d.Binary + "=" + d.Version
			}
			if pin.Packages == nil {
				set.Sources[name] = source
				continue
			}
			for suite, versions := range pin.Packages.Suites {
				for pkg, version := range versions {
					one := source
					one.Suite, one.Package = suite, pkg+"="+version
					set.Sources[spec.PackageSource(name, pkg)] = one
				}
			}
		}
		lock.Channels[channel] = set
	}
	if len(lock.Channels) == 0 {
		return nil, located(p.Config.At("version"), "no release satisfies version %q: the table has %s", p.Config.Version, releaseList(p))
	}
	return lock, nil
}

func releaseList(p *spec.Project) string {
	var all []string
	for _, r := range p.Releases.Releases {
		all = append(all, fmt.Sprintf("%s (%s)", r.Version, r.Channel))
	}
	return strings.Join(all, ", ")
}

// CheckLock compares the lock with what therock.yaml and the release table
// say, and returns the difference as an error.
func CheckLock(p *spec.Project) error {
	if p.Lock == nil {
		return exit.Hint(exit.Withf(exit.Lock, "there is no %s", spec.LockFile), "go tool mage lock")
	}
	expected, err := Expected(p)
	if err != nil {
		return err
	}
	diff := lockDiff(expected, p.Lock)
	if len(diff) == 0 {
		return nil
	}
	return exit.Hint(exit.Withf(exit.Lock, "%s does not match %s and %s:\n  %s", spec.LockFile, spec.ConfigFile, spec.ReleasesFile, strings.Join(diff, "\n  ")), "go tool mage lock")
}

// lockDiff lists where a lock departs from what is expected of it.
func lockDiff(want, have *spec.Lock) []string {
	var diff []string
	compare := func(what, want, have string) {
		if want != have {
			diff = append(diff, fmt.Sprintf("%s: locked %s, wanted %s", what, orNone(have), orNone(want)))
		}
	}
	for _, c := range Channels() {
		w, wanted := want.Channels[c]
		h, had := have.Channels[c]
		if wanted != had {
			compare(string(c), releaseOf(w, wanted), releaseOf(h, had))
			continue
		}
		compare(string(c)+" release", w.Release, h.Release)
		names := slices.Sorted(maps.Keys(w.Sources))
		for name := range h.Sources {
			if _, ok := w.Sources[name]; !ok {
				names = append(names, name)
			}
		}
		for _, name := range names {
			ws, wOK := w.Sources[name]
			hs, hOK := h.Sources[name]
			label := string(c) + " " + name
			if !wOK || !hOK {
				compare(label, present(wOK), present(hOK))
				continue
			}
			compare(label+" version", ws.Version, hs.Version)
			compare(label+" commit", ws.Commit, hs.Commit)
			compare(label+" urls", strings.Join(ws.URLs, " "), strings.Join(hs.URLs, " "))
			compare(label+" suite", ws.Suite, hs.Suite)
			compare(label+" package", ws.Package, hs.Package)
			compare(label+" strip", fmt.Sprint(ws.Strip), fmt.Sprint(hs.Strip))
			if ws.SHA256 != "" {
				compare(label+" sha256", ws.SHA256, hs.SHA256)
			}
			if ws.Package != "" && (hs.Pool == "" || hs.SHA256 == "" || hs.Size == 0) {
				diff = append(diff, label+": locked without pool, size or sha256")
			}
			if ws.SHA256 != "" && hs.Size == 0 {
				diff = append(diff, label+": locked without size")
			}
		}
	}
	return diff
}

func releaseOf(s spec.LockedSet, ok bool) string {
	if !ok {
		return ""
	}
	return "release " + s.Release
}

func present(ok bool) string {
	if ok {
		return "present"
	}
	return "absent"
}

func orNone(s string) string {
	if s == "" {
		return "nothing"
	}
	return s
}
