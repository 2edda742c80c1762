package sdk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/stonemason-hip/stonemason/internal/bounded"
	"github.com/stonemason-hip/stonemason/internal/capture"
)

// Variable names a folder with an SDK, before all others.
const Variable = "STONEMASON_MACOS_SDK"

// InstallHint is the command that brings an SDK to a Mac.
const InstallHint = "xcode-select --install"

// Origin says where an SDK comes from.
type Origin string

// The origins.
const (
	Named     Origin = "named"     // a folder that the user has named
	Apple     Origin = "apple"     // what xcrun finds on a Mac
	Assembled Origin = "assembled" // the component macos-sdk
)

// SDK is an SDK that was found.
type SDK struct {
	Path    string // the folder with usr and SDKSettings.json, absolute
	Origin  Origin
	Name    string // canonical: "macosx14.5"
	Version Version
	Digest  string // of its description and of the stubs of libSystem and libc++
}

// Key is the SDK's line in a key: two SDKs that have it in common describe the
// same system libraries.
func (s SDK) Key() string { return s.Name + " " + s.Digest }

// keyFiles are what the digest of an SDK is made of, where they are there: the
// description names the build of the SDK and the deployment targets that it
// knows, the stubs say what can be linked.
var keyFiles = []string{SettingsFile, "usr/lib/libSystem.tbd", "usr/lib/libSystem.B.tbd", "usr/lib/libc++.tbd", "usr/lib/libc++.1.tbd"}

// Describe reads what an SDK says of itself. The error tells what the folder
// lacks to be one.
func Describe(dir string) (SDK, error) {
	s := SDK{Path: dir}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return s, notSDK(dir, err)
	}
	defer root.Close()
	sum := sha256.New()
	for _, name := range keyFiles {
		data, err := settingsFile(root.FS(), name)
		if errors.Is(err, fs.ErrNotExist) && name != SettingsFile {
			continue
		}
		if err != nil {
			return s, notSDK(dir, err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(data))
		sum.Write(data)
		if name != SettingsFile {
			continue
		}
		var settings struct{ CanonicalName, Version string }
		if err := json.Unmarshal(data, &settings); err != nil {
			return s, notSDK(dir, fmt.Errorf("%s: %w", SettingsFile, err))
		}
		if !strings.HasPrefix(settings.CanonicalName, "macosx") || strings.ContainsFunc(settings.CanonicalName, func(c rune) bool { return c <= ' ' || c > '~' }) {
			return s, notSDK(dir, fmt.Errorf("%s: CanonicalName is %.40q and not macosx with a version", SettingsFile, settings.CanonicalName))
		}
		if s.Version, err = ParseVersion(settings.Version); err != nil {
			return s, notSDK(dir, fmt.Errorf("%s: Version: %w", SettingsFile, err))
		}
		s.Name = settings.CanonicalName
	}
	s.Digest = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// settingsFile reads a file of an SDK; stubs of Apple's are larger than what
// an SDK is assembled from, but not beyond its bound.
func settingsFile(fsys fs.FS, name string) ([]byte, error) {
	if name == SettingsFile {
		return bounded.ReadFile(fsys, name, maxSettings)
	}
	return bounded.ReadFile(fsys, name, maxSourceFile)
}

func notSDK(dir string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return fmt.Errorf("%s is no macOS SDK: %w", dir, err)
}

// Check reports what an SDK lacks to make C and C++ programs for a macOS.
func (s SDK) Check(target Version) error {
	for _, name := range []string{"usr/lib/libSystem.tbd", "usr/include/stdio.h", "usr/lib/libc++.tbd", "usr/include/c++/v1/vector"} {
		info, err := os.Stat(filepath.Join(s.Path, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() {
			return fmt.Errorf("the macOS SDK %s has no %s", s.Path, name)
		}
	}
	if s.Version.Less(target) {
		return fmt.Errorf("the macOS SDK %s is of macOS %s: a newer one is needed to make programs for macOS %s", s.Path, s.Version, target)
	}
	return nil
}

// ErrNone marks a machine that has no SDK.
var ErrNone = errors.New("there is no macOS SDK")

// Finder looks for an SDK.
type Finder struct {
	// Folder is one that the user has named; "" when none is.
	Folder string
	// Xcrun is the program of a Mac that knows where SDKs are, /usr/bin/xcrun;
	// "" on other machines.
	Xcrun string
	// Component is the tree of the component macos-sdk; "" when there is none.
	Component string
	// Env are variables for xcrun; nothing else of the environment reaches it,
	// so that a DEVELOPER_DIR or SDKROOT of the user's does not: builds, which
	// get an environment that is made, would find another SDK.
	Env []string
}

// Find takes the folder that the user has named, else what xcrun finds, else
// the component, and checks that it can make programs for a macOS. A named
// folder that will not do is an error, not a reason to take another. Without
// any the error is ErrNone; on a Mac it says what xcrun said, and InstallHint
// is what helps.
func (f Finder) Find(ctx context.Context, target Version) (SDK, error) {
	dir, origin := f.Folder, Named
	switch {
	case f.Folder != "":
	case f.Xcrun != "":
		origin = Apple
		var err error
		if dir, err = f.xcrun(ctx); err != nil {
			return SDK{}, err
		}
	case f.Component != "":
		dir, origin = f.Component, Assembled
	default:
		return SDK{}, fmt.Errorf("%w: name one with %s, or build the component macos-sdk", ErrNone, Variable)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return SDK{}, err
	}
	s, err := Describe(dir)
	if err != nil {
		return SDK{}, err
	}
	s.Origin = origin
	return s, s.Check(target)
}

// probeTime bounds xcrun, which looks into a cache and at a few folders.
const probeTime = time.Minute

// xcrun asks for the folder of the SDK that the selected developer tools have;
// the command line tools alone are enough.
func (f Finder) xcrun(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, f.Xcrun, "--sdk", "macosx", "--show-sdk-path")
	cmd.Env = append([]string{"PATH=/usr/bin:/bin:/usr/sbin:/sbin"}, f.Env...)
	cmd.WaitDelay = 5 * time.Second
	out, errs, err := capture.Both(cmd, 64<<10)
	if ctx.Err() != nil {
		return "", fmt.Errorf("look for the macOS SDK: %w", context.Cause(ctx))
	}
	dir := strings.TrimSpace(string(out))
	if err != nil || !filepath.IsAbs(dir) || strings.Contains(dir, "\n") {
		why, _, _ := strings.Cut(strings.TrimSpace(string(errs)), "\n")
		if why == "" {
			why = "it named no folder"
			if err != nil {
				why = err.Error()
			}
		}
		return "", fmt.Errorf("%w: %s: %s", ErrNone, filepath.Base(f.Xcrun), why)
	}
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("%w: xcrun names %s, and it is not there: the developer tools have been moved or removed", ErrNone, dir)
	}
	return dir, nil
}
