package spec

import "strings"

// Lock is therock.lock: what therock.yaml resolved to, for each channel, so
// that a build fetches the same bytes tomorrow. It is generated and committed.
type Lock struct {
	Schema int `yaml:"schema" sm:"required,min=1,max=1"`
	// Version is the constraint that was resolved.
	Version  string                `yaml:"version" sm:"required"`
	Channels map[Channel]LockedSet `yaml:"channels" sm:"required"`
}

// LockedSet is one channel's release and its sources by name.
type LockedSet struct {
	Release string                  `yaml:"release" sm:"required"`
	Sources map[string]LockedSource `yaml:"sources" sm:"required"`
}

// LockedSource is one source, fixed to the byte.
type LockedSource struct {
	Version string `yaml:"version,omitempty"`
	// Git: the commit, and the ids of the trees that fetches of it have
	// delivered, by the folders taken (see Folders).
	Commit string            `yaml:"commit,omitempty" pattern:"^[0-9a-f]{40}$"`
	Trees  map[string]string `yaml:"trees,omitempty" pattern:"^(sha256:[0-9a-f]{64}|[0-9a-f]{40})$"`
	URLs   []string          `yaml:"urls,omitempty"`
	// Debian: the package and its path below a mirror's base.
	Package string `yaml:"package,omitempty"`
	Suite   string `yaml:"suite,omitempty"`
	Pool    string `yaml:"pool,omitempty"`
	// Files of any kind.
	SHA256 string `yaml:"sha256,omitempty" pattern:"^[0-9a-f]{64}$"`
	Size   int64  `yaml:"size,omitempty" sm:"min=0"`
	Strip  int    `yaml:"strip,omitempty" sm:"min=0,max=8"`
}

// Folders names a set of folders of a git source, for LockedSource.Trees: "."
// is the whole source.
func Folders(only []string, path string) string {
	switch {
	case len(only) > 0:
		return strings.Join(only, " ")
	case path != "":
		return path
	}
	return "."
}
