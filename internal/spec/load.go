package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/npm"
	"github.com/stonemason-hip/stonemason/internal/parallel"
	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// File names of a project, relative to its root.
const (
	ConfigFile    = "therock.yaml"
	LockFile      = "therock.lock"
	ReleasesFile  = "toolchain/releases.yaml"
	ComponentsDir = "components"
	RecipesDir    = "recipes"
	PatchesDir    = "patches"
)

// Project is everything that a project's files say.
type Project struct {
	// Root is the project's folder, absolute.
	Root       string
	Config     *Config
	Releases   *Releases
	Components map[string]*Component
	Recipes    map[string]*Recipe
	// Lock is nil when there is no therock.lock.
	Lock *Lock
}

// FindRoot looks for therock.yaml in a folder and those above it.
func FindRoot(from string) (string, error) {
	dir, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(filepath.Join(d, ConfigFile)); err == nil {
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("no %s in %s or above it: go to a stonemason checkout", ConfigFile, dir)
		}
	}
}

// Load reads a project. All mistakes of a file are reported together; of
// several files with mistakes, the first in the order in which they are named
// here.
func Load(root string) (*Project, error) { return LoadKnown(root, "") }

// LoadKnown is Load with a cache file, in which the files are kept as they were
// parsed: one that is unchanged since is not read again. See memory.
func LoadKnown(root, cache string) (*Project, error) {
	m := remember(cache, root)
	p, files, err := loadAll(root, m)
	m.save(files)
	return p, err
}

// loadAll reads a project and names its files.
func loadAll(root string, m *memory) (*Project, []string, error) {
	p := &Project{Root: root, Components: map[string]*Component{}, Recipes: map[string]*Recipe{}}
	f := &files{root: root, memory: m}
	recipes, components := list(root, RecipesDir), list(root, ComponentsDir)
	all := slices.Concat([]string{ConfigFile, ReleasesFile, LockFile}, recipes, components)
	r, c := make([]*Recipe, len(recipes)), make([]*Component, len(components))
	reads := []func() error{
		func() (err error) { p.Config, err = f.loadConfig(); return err },
		func() (err error) { p.Releases, err = f.loadReleases(); return err },
		func() (err error) { p.Lock, err = f.loadLock(); return err },
	}
	for i, file := range recipes {
		reads = append(reads, func() (err error) { r[i], err = f.loadRecipe(file); return err })
	}
	for i, file := range components {
		reads = append(reads, func() (err error) { c[i], err = f.loadComponent(file); return err })
	}
	if err := parallel.Each(len(reads), func(i int) error { return reads[i]() }); err != nil {
		return nil, all, err
	}
	for _, r := range r {
		p.Recipes[r.Name] = r
	}
	for _, c := range c {
		p.Components[c.Name] = c
	}
	return p, all, nil
}

func (f *files) loadRecipe(file string) (*Recipe, error) {
	r := new(Recipe)
	var err error
	if r.src, err = f.decode(file, r); err != nil {
		return nil, err
	}
	return r, named(r.src, r.Name, file)
}

func (f *files) loadComponent(file string) (*Component, error) {
	c := new(Component)
	var err error
	if c.src, err = f.decode(file, c); err != nil {
		return nil, err
	}
	if err := named(c.src, c.Name, file); err != nil {
		return nil, err
	}
	if c.Artifact == "" {
		c.Artifact = PerHost
	}
	if len(c.Providers) == 0 && c.Planned == "" && c.When == "" {
		return nil, &yamlx.Error{File: file, Line: 1, Col: 1, Msg: "the component has no providers: say how it is obtained, or with planned why it cannot be yet"}
	}
	if c.Default != "" && len(c.Presets) == 0 {
		return nil, located(c.At("default"), "default says for which hosts the presets count, and presets is empty")
	}
	return c, nil
}

func (f *files) loadConfig() (*Config, error) {
	c := new(Config)
	var err error
	if c.src, err = f.decode(ConfigFile, c); err != nil {
		return nil, err
	}
	if c.Channel == "" {
		c.Channel = Auto
	}
	if len(c.Hosts) == 0 {
		c.Hosts = []string{"native"}
	}
	if c.Preset == "" {
		c.Preset = Compiler
	}
	return c, nil
}

func (f *files) loadReleases() (*Releases, error) {
	r := new(Releases)
	var err error
	if r.src, err = f.decode(ReleasesFile, r); err != nil {
		return nil, err
	}
	for i, release := range r.Releases {
		for _, name := range sortedKeys(release.Pins) {
			err := release.Pins[name].check()
			if SetOf(name) != "" {
				err = errors.New("its name holds a slash, as those of packages of a set do")
			}
			if err != nil {
				return nil, located(r.At(fmt.Sprintf("releases[%d].pins.%s", i, name)), "pin %s of %s: %v", name, release.Version, err)
			}
		}
	}
	return r, nil
}

func (p Pin) check() error {
	kinds := 0
	for _, set := range []bool{p.Commit != "", p.Debian != nil, p.Packages != nil, len(p.URL) > 0} {
		if set {
			kinds++
		}
	}
	switch {
	case kinds != 1:
		return errors.New("exactly one of commit, debian, packages and url is needed")
	case len(p.URL) > 0 && p.SHA256 == "":
		return errors.New("a url needs a sha256")
	case !goodAddresses(p.URL):
		return errors.New("an address that begins with npm: names a package and its exact version: npm:@scope/name@1.2.3")
	case p.Debian != nil && (p.Debian.Source == "") == (p.Debian.Binary == ""):
		return errors.New("exactly one of source and binary names the package")
	case p.Debian != nil && p.Debian.Source != "" && p.Debian.File == "":
		return errors.New("a source package needs file, the member to take")
	case p.Debian != nil && p.Debian.Binary != "" && p.Debian.Arch == "":
		return errors.New("a binary package needs arch")
	case p.Packages != nil:
		return p.Packages.check()
	}
	return nil
}

// packageName is Debian policy 5.6.1: such a name leads nowhere else.
var packageName = regexp.MustCompile(`^[a-z0-9][a-z0-9+.-]+$`)

func (s *PackageSet) check() error {
	suites := map[string]string{} // by package
	for _, suite := range sortedKeys(s.Suites) {
		for _, pkg := range sortedKeys(s.Suites[suite]) {
			switch {
			case !packageName.MatchString(pkg):
				return fmt.Errorf("%q is no name of a package", pkg)
			case s.Suites[suite][pkg] == "":
				return fmt.Errorf("package %s has no version", pkg)
			case suites[pkg] != "":
				return fmt.Errorf("package %s is pinned twice, in %s and in %s", pkg, suites[pkg], suite)
			}
			suites[pkg] = suite
		}
	}
	if len(suites) == 0 {
		return errors.New("a set of packages names none")
	}
	return nil
}

// goodAddresses reports whether the addresses that name packages of npm can be
// read.
func goodAddresses(urls []string) bool {
	return !slices.ContainsFunc(urls, func(u string) bool {
		if !strings.HasPrefix(u, npm.Scheme) {
			return false
		}
		_, err := npm.Parse(u)
		return err != nil
	})
}

// loadLock reads therock.lock; nil when it is not there.
func (f *files) loadLock() (*Lock, error) {
	l := new(Lock)
	if _, err := f.decode(LockFile, l); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, exit.Hint(err, "take it from version control, or remove it and make it anew: go tool mage lock")
	}
	return l, nil
}

// files reads the files of one project.
type files struct {
	root   string
	memory *memory
	types  yamlx.Types
}

// decode reads one file of a project; errors name it relative to the root.
func (f *files) decode(file string, out any) (*yamlx.Source, error) {
	name := filepath.Join(f.root, filepath.FromSlash(file))
	if src, ok, err := f.memory.known(name, file, out, &f.types); ok {
		return src, err
	}
	info, err := os.Stat(name)
	var data []byte
	var is statcache.Identity
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		// A pipe would be waited for.
		return nil, &yamlx.Error{File: file, Msg: "not a regular file"}
	case info.Size() > yamlx.DefaultMaxBytes:
		return nil, &yamlx.Error{File: file, Msg: fmt.Sprintf("the file has %d bytes, more than the %d that are accepted", info.Size(), yamlx.DefaultMaxBytes)}
	default:
		data, is, err = f.memory.read(name)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	src, err := yamlx.DecodeSource(file, data, out, yamlx.Shared(&f.types))
	if err == nil {
		f.memory.learn(file, is, src)
	}
	return src, err
}

// list names the yaml files of a folder, sorted.
func list(root, dir string) []string {
	files, _ := filepath.Glob(filepath.Join(root, dir, "*.yaml")) // the pattern is well-formed
	for i, f := range files {
		files[i] = dir + "/" + filepath.Base(f)
	}
	slices.Sort(files)
	return files
}

func named(src *yamlx.Source, name, file string) error {
	if want := strings.TrimSuffix(filepath.Base(file), ".yaml"); name != want {
		return located(at(src, "name"), "found name %q in a file for %q: the two must agree", name, want)
	}
	return nil
}

func at(src *yamlx.Source, path string) yamlx.Pos {
	if src == nil {
		return yamlx.Pos{}
	}
	return src.At(path)
}

func located(pos yamlx.Pos, format string, args ...any) error {
	return &yamlx.Error{File: pos.File, Line: pos.Line, Col: pos.Col, Msg: fmt.Sprintf(format, args...)}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
