package llvm

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/capture"
)

// maxLicence bounds one licence text; LLVM's is 24 kB.
const maxLicence = 4 << 20

// packageName keeps a package's name from leading elsewhere (Debian policy
// 5.6.1, with RPM's upper case and underscore).
var packageName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9+._-]*$`)

// copyLicences copies the licence texts of the packages that own the origins
// to share/doc/amd-llvm/<package>/, and lists the origins without one.
func copyLicences(ctx context.Context, in Install, origins []string, dest string) (made []Entry, unlicensed []string, err error) {
	origins = slices.Clone(origins)
	slices.Sort(origins)
	origins = slices.Compact(origins)
	if !in.host.IsZero() {
		owners, err := in.treeLicences()
		if err != nil {
			return nil, nil, err
		}
		for _, owner := range owners {
			texts, err := owner.copyTo(dest)
			if err != nil {
				return nil, nil, err
			}
			made = append(made, texts...)
		}
		return made, nil, nil
	}
	owners := owners(ctx, in, origins)
	done := map[string]bool{}
	for _, origin := range origins {
		owner, ok := owners[origin]
		if !ok {
			unlicensed = append(unlicensed, origin)
			continue
		}
		if done[owner.name] {
			continue
		}
		done[owner.name] = true
		texts, err := owner.copyTo(dest)
		if err != nil {
			return nil, nil, err
		}
		if len(texts) == 0 {
			unlicensed = append(unlicensed, origin)
		}
		made = append(made, texts...)
	}
	return made, unlicensed, nil
}

// copyTo copies a package's licence texts into the stage.
func (o owner) copyTo(dest string) (made []Entry, err error) {
	for _, text := range o.texts() {
		to := path.Join(destDoc, o.name, filepath.Base(text))
		target := filepath.Join(dest, filepath.FromSlash(to))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return nil, err
		}
		if err := copyFile(text, target, 0o644); err != nil {
			return nil, err
		}
		info, err := os.Stat(target)
		if err != nil {
			return nil, err
		}
		made = append(made, Entry{Path: to, Origin: text, Size: info.Size()})
	}
	return made, nil
}

// owner is a package and where its licence texts may be.
type owner struct {
	name     string
	patterns []string
}

func (o owner) texts() []string {
	var texts []string
	for _, pattern := range o.patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		for _, m := range matches {
			if info, err := os.Stat(m); err == nil && info.Mode().IsRegular() && info.Size() <= maxLicence {
				texts = append(texts, m)
			}
		}
	}
	return texts
}

// owners asks the package manager that is there. Where none answers, texts
// beside the prefix serve its own files.
func owners(ctx context.Context, in Install, origins []string) map[string]owner {
	found := map[string]owner{}
	for _, origin := range origins {
		if rel, err := filepath.Rel(in.Prefix, origin); err == nil && filepath.IsLocal(rel) && in.Prefix != "/usr" {
			found[origin] = owner{"llvm", []string{filepath.Join(in.Prefix, "LICENSE*"), filepath.Join(in.Prefix, "share/doc/llvm/LICENSE*")}}
		}
	}
	// Homebrew keeps each formula's texts at the top of its Cellar folder.
	cellar := regexp.MustCompile(`^(.*/Cellar/([^/]+)/[^/]+)/`)
	for _, origin := range origins {
		if m := cellar.FindStringSubmatch(origin); m != nil && packageName.MatchString(m[2]) {
			found[origin] = owner{m[2], []string{filepath.Join(m[1], "LICENSE*"), filepath.Join(m[1], "COPYING*")}}
		}
	}
	if in.root != "/" && in.root != "" {
		return found
	}
	for origin, name := range askDpkg(ctx, origins) {
		found[origin] = owner{name, []string{filepath.Join("/usr/share/doc", name, "copyright")}}
	}
	for origin, name := range askRPM(ctx, origins) {
		found[origin] = owner{name, []string{filepath.Join("/usr/share/licenses", name, "*")}}
	}
	return found
}

// askDpkg maps files to Debian packages. dpkg knows a file by the path that
// its package has, which on a merged /usr may still start with /lib.
func askDpkg(ctx context.Context, origins []string) map[string]string {
	asked := map[string]string{}
	args := []string{"--search"}
	for _, origin := range origins {
		for _, spelling := range []string{origin, strings.TrimPrefix(origin, "/usr")} {
			// dpkg-query takes wildcards: only plain names are asked for.
			if strings.ContainsAny(spelling, `*?[\`) || !filepath.IsAbs(spelling) {
				continue
			}
			asked[spelling] = origin
			args = append(args, spelling)
		}
	}
	packages := map[string]string{}
	for line := range strings.Lines(ask(ctx, "dpkg-query", args)) {
		// "libz1:amd64: /lib/…", "a, b: /shared/file"; diversions start with
		// a word of their own and are no packages.
		owner, file, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			continue
		}
		owner, _, _ = strings.Cut(owner, ",")
		owner, _, _ = strings.Cut(owner, ":")
		if origin, ok := asked[file]; ok && packageName.MatchString(owner) {
			packages[origin] = owner
		}
	}
	return packages
}

// askRPM maps files to RPM packages, one question a file: rpm answers in the
// order asked, but prints errors among the answers.
func askRPM(ctx context.Context, origins []string) map[string]string {
	packages := map[string]string{}
	if _, err := exec.LookPath("rpm"); err != nil {
		return packages
	}
	for _, origin := range origins {
		name := strings.TrimSpace(ask(ctx, "rpm", []string{"-q", "--qf", "%{NAME}", "-f", origin}))
		if packageName.MatchString(name) {
			packages[origin] = name
		}
	}
	return packages
}

// ask runs a package manager's query. An exit code other than 0 only means
// that some of the files are unknown to it.
func ask(ctx context.Context, tool string, args []string) string {
	path, err := exec.LookPath(tool)
	if err != nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.WaitDelay = time.Second // a child of its that holds the pipe is not waited for
	out, err := capture.Output(cmd, 16*maxProbe)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || errors.Is(err, fs.ErrPermission) {
		return ""
	}
	return string(out)
}
