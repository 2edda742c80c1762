package doctor

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed packages.yaml
var packagesYAML []byte

// table is packages.yaml.
type table struct {
	LLVM struct {
		Majors  []int `yaml:"majors"`
		Assumed int   `yaml:"assumed"`
	} `yaml:"llvm"`
	Items map[string]packageRow `yaml:"items"`
}

type packageRow struct {
	Apt     []string          `yaml:"apt"`
	Dnf     []string          `yaml:"dnf"`
	Brew    []string          `yaml:"brew"`
	Suggest map[string]string `yaml:"suggest"` // by operating system
}

func (r packageRow) packages() map[string][]string {
	m := map[string][]string{}
	for name, list := range map[string][]string{"apt": r.Apt, "dnf": r.Dnf, "brew": r.Brew} {
		if len(list) > 0 {
			m[name] = list
		}
	}
	return m
}

func packageTable() (table, error) {
	var t table
	dec := yaml.NewDecoder(bytes.NewReader(packagesYAML))
	dec.KnownFields(true)
	if err := dec.Decode(&t); err != nil {
		return table{}, fmt.Errorf("packages.yaml: %w", err)
	}
	return t, nil
}

// manager returns the package manager to use: the one of the distribution's
// family (os-release(5), ID and ID_LIKE) when it is there, else the first
// known one on the PATH.
func (h Host) manager() string {
	commands := map[string]string{"apt": "apt-get", "dnf": "dnf", "brew": "brew"}
	order := []string{"apt", "dnf", "brew"}
	if h.OS == "darwin" {
		order = []string{"brew"}
	} else if text, err := readSmall(h.Root + "/etc/os-release"); err == nil {
		var family []string
		for line := range strings.Lines(text) {
			k, v, _ := strings.Cut(strings.TrimSpace(line), "=")
			if k == "ID" || k == "ID_LIKE" {
				family = append(family, strings.Fields(strings.Trim(v, `"'`))...)
			}
		}
		if slices.Contains(family, "fedora") || slices.Contains(family, "rhel") {
			order = []string{"dnf", "apt", "brew"}
		}
	}
	for _, m := range order {
		if h.lookPath(commands[m]) != "" {
			return m
		}
	}
	return ""
}

// expand puts a major version into package names.
func expand(names []string, major int) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ReplaceAll(n, "@", strconv.Itoa(major))
	}
	return out
}

func versioned(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "@") })
}

// candidates asks apt which version of each package it would install. Names
// that it would not install, or does not know, are not in the result.
func (h Host) candidates(ctx context.Context, names []string) (map[string]string, error) {
	p := h.lookPath("apt-cache")
	if p == "" {
		return nil, fmt.Errorf("apt-cache is not on the PATH")
	}
	out, err := h.output(ctx, p, append([]string{"policy", "--"}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("apt-cache policy: %w", err)
	}
	return parsePolicy(out), nil
}

// parsePolicy reads what apt-cache policy prints: for each package its name
// and a colon at the beginning of a line, below it, indented, "Candidate:".
func parsePolicy(out string) map[string]string {
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSuffix(line, ":")
			continue
		}
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && name != "" && v != "(none)" {
			found[name] = v
		}
	}
	return found
}

// debianVersion reads the upstream part of a Debian version: 1:22.1.8-1~deb12u1.
func debianVersion(s string) (version, bool) {
	if _, rest, ok := strings.Cut(s, ":"); ok {
		s = rest
	}
	return parseVersion(s)
}
