package patch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// Target is what a component is built from and for.
type Target struct {
	Version string // of the source; only its numbers count, see [ParseVersion]
	Channel string // upstream, debian
	HostOS  string // linux, darwin
	Host    string // linux-amd64, darwin-arm64
	LLVM    string // version of the LLVM that is built against; empty without one
}

// Selected is a patch that applies to a target, with its content.
type Selected struct {
	Patch
	SHA256 string // of the patch file, in hex

	body *body
}

// Skipped is a patch that is not for a target.
type Skipped struct {
	Patch
	Reason string // such as "for linux only; this host is darwin-arm64"
}

// Select divides the series into the patches that are for t, in their order,
// and the others, each with the first reason found. It fails only when a
// version of t, if given, is none.
func (s *Series) Select(t Target) (apply []Selected, skipped []Skipped, err error) {
	var version, llvm *semver.Version
	if t.Version != "" {
		if version, err = ParseVersion(t.Version); err != nil {
			return nil, nil, fmt.Errorf("version of the source: %w", err)
		}
	}
	if t.LLVM != "" {
		if llvm, err = ParseVersion(t.LLVM); err != nil {
			return nil, nil, fmt.Errorf("version of LLVM: %w", err)
		}
	}
	for _, p := range s.Patches {
		reason, err := p.reason(t, version, llvm)
		if err != nil {
			return nil, nil, fmt.Errorf("patch %s: %w", p.File, err)
		}
		if reason != "" {
			skipped = append(skipped, Skipped{p, reason})
			continue
		}
		sel := Selected{Patch: p, body: s.bodies[p.File]}
		if sel.body != nil {
			sel.SHA256 = sel.body.sha256
		}
		apply = append(apply, sel)
	}
	return apply, skipped, nil
}

// reason says why p is not for t, or nothing.
func (p *Patch) reason(t Target, version, llvm *semver.Version) (string, error) {
	if len(p.Hosts) > 0 && !slices.Contains(p.Hosts, t.HostOS) && !slices.Contains(p.Hosts, t.Host) {
		return fmt.Sprintf("for %s only; this host is %s", strings.Join(p.Hosts, ", "), or(t.Host, or(t.HostOS, "not known"))), nil
	}
	if len(p.Channels) > 0 && !slices.Contains(p.Channels, t.Channel) {
		return fmt.Sprintf("for channel %s only; the source comes from %s", strings.Join(p.Channels, ", "), or(t.Channel, "no channel")), nil
	}
	for _, r := range []struct {
		what, text string
		found      *semver.Version
	}{{"the source", p.Versions, version}, {"LLVM", p.LLVM, llvm}} {
		if r.text == "" {
			continue
		}
		c, err := semver.NewConstraint(r.text)
		if err != nil {
			return "", fmt.Errorf("range %q: %w", r.text, err)
		}
		if r.found == nil {
			return fmt.Sprintf("for %s %s; its version is not known", r.what, r.text), nil
		}
		if !c.Check(r.found) {
			return fmt.Sprintf("for %s %s; this one is %s", r.what, r.text, r.found), nil
		}
	}
	return "", nil
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// Digest returns a line for each patch, its file name and the SHA-256 of its
// bytes, for the key of what is built with them. The order is that of
// application, which is that of the names.
func Digest(patches []Selected) []string {
	lines := make([]string, len(patches))
	for i, p := range patches {
		lines[i] = p.File + " sha256:" + p.SHA256
	}
	return lines
}

// ParseVersion reads the numbers of a version in any of the forms that sources
// carry: 7.0.2, v7.0.2, 7.0.2+dfsg, 1:22.1.8-1~deb12u1, 22.0.0git. An epoch and
// everything after the third number are left out, because neither says which
// interfaces a source has: a Debian revision would read as a pre-release in
// semver, and a pre-release of LLVM 22 has LLVM 22's interfaces.
func ParseVersion(s string) (*semver.Version, error) {
	m := versionRE().FindStringSubmatch(s)
	if m == nil || len(s) > 128 {
		return nil, fmt.Errorf("%q is no version (such as 7.0.2 or 7.0.2+dfsg)", cut(s))
	}
	v, err := semver.NewVersion(m[1])
	if err != nil {
		return nil, fmt.Errorf("%q is no version: %w", cut(s), err)
	}
	return v, nil
}

func versionRE() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[0-9]+:)?v?([0-9]{1,9}(?:\.[0-9]{1,9}){0,2})(?:$|[^0-9])`)
}
