// Package npm turns the name of an npm package into the addresses of its
// tarball, by the machine's own npm configuration. No package is installed: a
// tarball is a file like any other, pinned by size and SHA-256.
package npm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/stonemason-hip/stonemason/internal/capture"
)

// Scheme begins the address of a package, as in a package.json:
// npm:@scope/name@1.2.3.
const Scheme = "npm:"

// ErrNoRegistry marks a machine on which nobody has configured a registry and
// no npm is installed that has one built in.
var ErrNoRegistry = errors.New("no registry of npm is configured, and no npm is installed: name one with NPM_CONFIG_REGISTRY")

// maxConfigFile bounds one npmrc.
const maxConfigFile = 1 << 20

// Package is one version of a package.
type Package struct {
	Name    string // "@scope/name" or "name"
	Version string // exact, "1.2.3-rc.1"
}

var validName = regexp.MustCompile(`^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$`)

// Parse reads "npm:@scope/name@1.2.3". The version is exact: a range, or a tag
// such as latest, would be another file tomorrow.
func Parse(address string) (Package, error) {
	rest, ok := strings.CutPrefix(address, Scheme)
	if !ok {
		return Package{}, fmt.Errorf("%q does not begin with %s", address, Scheme)
	}
	at := strings.LastIndex(rest, "@")
	if at <= 0 {
		return Package{}, fmt.Errorf("%q names no version: write npm:name@1.2.3", address)
	}
	p := Package{Name: rest[:at], Version: rest[at+1:]}
	if !validName.MatchString(p.Name) || len(p.Name) > 214 {
		return Package{}, fmt.Errorf("%q is no name of an npm package", p.Name)
	}
	if _, err := semver.StrictNewVersion(p.Version); err != nil {
		return Package{}, fmt.Errorf("%q is no exact version of an npm package (1.2.3)", p.Version)
	}
	return p, nil
}

// tarball is where a registry has the package, below its base.
func (p Package) tarball() string {
	return p.Name + "/-/" + path.Base(p.Name) + "-" + p.Version + ".tgz"
}

// Config says where the machine's npm configuration is.
type Config struct {
	// Getenv reads a variable; nil is os.Getenv.
	Getenv func(string) string
	// Mirrors are registries to try before the configured one.
	Mirrors []string
	// Default is asked for the registry where nobody has configured one; nil
	// asks the machine's npm, which has one built in (npm-config(7), registry).
	Default func() (string, error)
	// Global lists files to look for npm's configuration of the whole machine
	// in; nil is where npm's usual prefixes have it.
	Global []string
}

// URLs are the addresses of a package's tarball, in the order in which to try
// them. The registry is the one that npm itself would ask: that of the
// package's scope, else the general one, out of the environment, the user's
// .npmrc and the machine's npmrc (npm-config(7), npmrc(5)). Credentials that
// these files may hold are not read.
func (c Config) URLs(address string) ([]string, error) {
	p, err := Parse(address)
	if err != nil {
		return nil, err
	}
	registry, err := c.registry(p)
	if err != nil {
		return nil, err
	}
	var urls []string
	for _, base := range append(slices.Clone(c.Mirrors), registry) {
		u := strings.TrimRight(base, "/") + "/" + p.tarball()
		if !slices.Contains(urls, u) {
			urls = append(urls, u)
		}
	}
	return urls, nil
}

func (c Config) getenv(name string) string {
	if c.Getenv == nil {
		return os.Getenv(name)
	}
	return c.Getenv(name)
}

// env reads an option of npm from the environment, where it may be written in
// either case.
func (c Config) env(option string) string {
	if v := c.getenv("npm_config_" + option); v != "" {
		return v
	}
	return c.getenv("NPM_CONFIG_" + strings.ToUpper(option))
}

func (c Config) registry(p Package) (string, error) {
	options := map[string]string{}
	for _, file := range c.files() {
		if err := c.read(file, options); err != nil {
			return "", fmt.Errorf("read npm's configuration: %w", err)
		}
	}
	registry := options["registry"]
	if v := c.env("registry"); v != "" {
		registry = v
	}
	if scope, _, ok := strings.Cut(p.Name, "/"); ok && options[scope+":registry"] != "" {
		registry = options[scope+":registry"]
	}
	if registry == "" {
		ask := c.Default
		if ask == nil {
			ask = builtIn
		}
		var err error
		if registry, err = ask(); err != nil {
			return "", err
		}
	}
	u, err := url.Parse(registry)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "file" {
		return "", errors.New("npm's configuration names a registry that is no http or https address")
	}
	return registry, nil
}

// probeTime bounds npm, which is a script of many files.
const probeTime = time.Minute

// builtIn asks npm for its registry.
func builtIn() (string, error) {
	program, err := exec.LookPath("npm")
	if err != nil {
		return "", ErrNoRegistry
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "config", "get", "registry")
	cmd.WaitDelay = 5 * time.Second
	out, err := capture.Output(cmd, 64<<10)
	if err != nil {
		return "", fmt.Errorf("ask npm for its registry: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// files are the configuration files, the most particular first.
func (c Config) files() []string {
	user := c.env("userconfig")
	if home := c.getenv("HOME"); user == "" && home != "" {
		user = filepath.Join(home, ".npmrc")
	}
	global := c.Global
	if v := c.env("globalconfig"); v != "" {
		global = []string{v}
	} else if global == nil {
		global = []string{"/usr/local/etc/npmrc", "/opt/homebrew/etc/npmrc", "/usr/etc/npmrc"}
	}
	if user == "" {
		return global
	}
	return append([]string{user}, global...)
}

// read adds to options what a file says of registries and an earlier file has
// not said. A file that is not there says nothing.
func (c Config) read(name string, options map[string]string) error {
	f, err := os.Open(name)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(io.LimitReader(f, maxConfigFile))
	for s.Scan() {
		line := strings.TrimSpace(s.Text())
		key, value, ok := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok || line[0] == ';' || line[0] == '#' || key != "registry" && !strings.HasSuffix(key, ":registry") {
			continue
		}
		if _, said := options[key]; !said {
			options[key] = c.expand(strings.Trim(value, `"'`))
		}
	}
	return s.Err()
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts variables of the environment into a value, as npm does.
func (c Config) expand(value string) string {
	return variable.ReplaceAllStringFunc(value, func(s string) string {
		if v := c.getenv(s[2 : len(s)-1]); v != "" {
			return v
		}
		return s
	})
}
