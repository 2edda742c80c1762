package spec

import (
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Releases is releases.yaml: the sources that components come from and the
// table of releases that pin them.
type Releases struct {
	Schema int `yaml:"schema" sm:"required,min=1,max=1"`
	// Repositories are git sources, by name.
	Repositories map[string]Repository `yaml:"repositories" sm:"required"`
	// Releases, in any order.
	Releases []Release `yaml:"releases" sm:"required"`

	src *yamlx.Source
}

// Repository is a git repository.
type Repository struct {
	URLs []string `yaml:"urls" sm:"required"`
}

// Release is one row of the table.
type Release struct {
	// Version is semver; it is also the version that the patches' ranges see
	// for a source that has none of its own.
	Version string  `yaml:"version" sm:"required"`
	Channel Channel `yaml:"channel" sm:"required"`
	Date    string  `yaml:"date"`
	Note    string  `yaml:"note"`
	// Pins maps a source's name to what it is in this release.
	Pins map[string]Pin `yaml:"pins" sm:"required"`
}

// Pin fixes one source. Exactly one of Commit, Packages, Debian, URL is set.
type Pin struct {
	// Commit of the repository of the same name: 40 hex digits.
	Commit string `yaml:"commit" pattern:"^[0-9a-f]{40}$"`
	// Packages names binary packages of Debian that make up one source.
	Packages *PackageSet `yaml:"packages"`
	// Debian names a file of a Debian package.
	Debian *DebianPin `yaml:"debian"`
	// URL and SHA256 name a plain file. npm:@scope/name@1.2.3 is the tarball
	// of an npm package, at the registry that the machine's npm uses.
	URL    []string `yaml:"url"`
	SHA256 string   `yaml:"sha256" pattern:"^[0-9a-f]{64}$"`
	Size   Size     `yaml:"size"`
	// Version of this source, semver, when it differs from the release's.
	Version string `yaml:"version"`
	// Strip is how many leading path components the archive's names have.
	Strip int `yaml:"strip" sm:"min=0,max=8"`
}

// DebianPin names a file of a Debian package; the lock adds its pool path,
// size and sha256.
type DebianPin struct {
	Suite string `yaml:"suite" sm:"required"`
	// Source or Binary is the package's name.
	Source string `yaml:"source"`
	Binary string `yaml:"binary"`
	// Arch of a binary package.
	Arch    string `yaml:"arch"`
	Version string `yaml:"version" sm:"required"`
	// File is the source package's member to take.
	File string `yaml:"file"`
}

// PackageSet names binary packages of Debian that are unpacked over each other,
// as an installation would have them. In the lock each is a source of its own,
// named <pin>/<package>.
type PackageSet struct {
	Arch string `yaml:"arch" sm:"required"`
	// Suites maps a suite to its packages, and each package to its version.
	Suites map[string]map[string]string `yaml:"suites" sm:"required"`
}

// PackageSource is the name, in the lock, of one package of a set.
func PackageSource(set, pkg string) string { return set + "/" + pkg }

// SetOf is the set that a source of the lock is a package of, or "".
func SetOf(source string) string {
	set, _, ok := strings.Cut(source, "/")
	if !ok {
		return ""
	}
	return set
}

// Debian is what a release pins for a source of the lock: a package of its own,
// or one of a set; nil for a source that is no Debian package.
func (r Release) Debian(source string) *DebianPin {
	set, pkg, ok := strings.Cut(source, "/")
	if !ok {
		return r.Pins[source].Debian
	}
	if p := r.Pins[set].Packages; p != nil {
		for suite, versions := range p.Suites {
			if version, ok := versions[pkg]; ok {
				return &DebianPin{Suite: suite, Binary: pkg, Arch: p.Arch, Version: version}
			}
		}
	}
	return nil
}

// At is the position of a path in releases.yaml.
func (r *Releases) At(path string) yamlx.Pos { return at(r.src, path) }
