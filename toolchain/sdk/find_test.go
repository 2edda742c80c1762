package sdk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// apple makes a folder that looks like an SDK of Apple's.
func apple(t *testing.T, settings string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "MacOSX.sdk")
	for name, text := range map[string]string{
		SettingsFile: settings, "usr/lib/libSystem.B.tbd": system, "usr/lib/libc++.tbd": "x",
		"usr/include/stdio.h": "", "usr/include/c++/v1/vector": "",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("libSystem.B.tbd", filepath.Join(dir, "usr/lib/libSystem.tbd")); err != nil {
		t.Fatal(err)
	}
	return dir
}

const settings14 = `{"CanonicalName":"macosx14.5","Version":"14.5"}`

func TestDescribe(t *testing.T) {
	dir := apple(t, settings14)
	s, err := Describe(dir)
	if err != nil || s.Name != "macosx14.5" || s.Version != (Version{14, 5}) || !strings.HasPrefix(s.Key(), "macosx14.5 ") {
		t.Fatalf("Describe = %+v, %v", s, err)
	}
	again, err := Describe(apple(t, settings14))
	if err != nil || again.Key() != s.Key() {
		t.Errorf("the same SDK elsewhere has another key: %s, %v", again.Key(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "usr/lib/libc++.tbd"), []byte("y"), 0o644); err != nil {
		t.Fatal(err)
	}
	if changed, err := Describe(dir); err != nil || changed.Key() == s.Key() {
		t.Errorf("another libc++, and the key is the same: %v", err)
	}
	for settings, want := range map[string]string{
		"":   "SDKSettings.json: unexpected end",
		`{}`: `CanonicalName is ""`,
		`{"CanonicalName":"iphoneos17.0","Version":"17.0"}`:   `CanonicalName is "iphoneos17.0"`,
		`{"CanonicalName":"macosx14 x","Version":"14.0"}`:     "CanonicalName is",
		`{"CanonicalName":"macosx14.0","Version":"fourteen"}`: "Version: ",
		strings.Repeat(" ", maxSettings+1):                    "larger than 4194304 bytes",
	} {
		dir := apple(t, settings)
		if _, err := Describe(dir); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), dir+" is no macOS SDK: ") {
			t.Errorf("settings %.60q: %v, want %q", settings, err, want)
		}
	}
	if _, err := Describe(t.TempDir()); err == nil || !strings.Contains(err.Error(), "SDKSettings.json: no such file") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Describe(filepath.Join(t.TempDir(), "gone")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no folder: %v", err)
	}
}

// A link out of a folder that somebody has named is not followed.
func TestDescribeStaysInside(t *testing.T) {
	dir := apple(t, settings14)
	if err := os.Remove(filepath.Join(dir, SettingsFile)); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(outside, []byte(settings14), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, SettingsFile)); err != nil {
		t.Fatal(err)
	}
	if s, err := Describe(dir); err == nil {
		t.Errorf("Describe = %+v", s)
	}
}

func TestCheck(t *testing.T) {
	dir := apple(t, settings14)
	s, err := Describe(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(Version{14, 0}); err != nil {
		t.Error(err)
	}
	if err := s.Check(Version{15, 0}); err == nil || !strings.Contains(err.Error(), "is of macOS 14.5: a newer one is needed to make programs for macOS 15.0") {
		t.Errorf("too old: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "usr/lib/libSystem.B.tbd")); err != nil { // the link dangles
		t.Fatal(err)
	}
	if err := s.Check(Version{14, 0}); err == nil || !strings.Contains(err.Error(), "has no usr/lib/libSystem.tbd") {
		t.Errorf("without libSystem: %v", err)
	}
}

// xcrun writes a program that does as Apple's does.
func xcrun(t *testing.T, script string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "xcrun")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFind(t *testing.T) {
	named, mac, component := apple(t, settings14), apple(t, `{"CanonicalName":"macosx15.4","Version":"15.4"}`), apple(t, settings14)
	t.Setenv("DEVELOPER_DIR", "/Applications/Other.app")
	t.Setenv("SDKROOT", "/elsewhere")
	says := xcrun(t, `[ "$*" = "--sdk macosx --show-sdk-path" ] || exit 3
[ -z "$DEVELOPER_DIR$SDKROOT" ] || { echo "a variable of the user's: $DEVELOPER_DIR$SDKROOT" >&2; exit 4; }
[ "$HOME" = /home/of/the/build ] || exit 5
echo '`+mac+"'\n")
	env := []string{"HOME=/home/of/the/build"}
	for _, c := range []struct {
		finder Finder
		path   string
		origin Origin
	}{
		{Finder{Folder: named, Xcrun: says, Component: component, Env: env}, named, Named},
		{Finder{Xcrun: says, Component: component, Env: env}, mac, Apple},
		{Finder{Component: component}, component, Assembled},
	} {
		if s, err := c.finder.Find(t.Context(), Version{14, 0}); err != nil || s.Path != c.path || s.Origin != c.origin {
			t.Errorf("Find of %+v = %+v, %v", c.finder, s, err)
		}
	}
	for name, c := range map[string]struct {
		finder Finder
		none   bool
		want   string
	}{
		"nothing":        {Finder{}, true, "name one with STONEMASON_MACOS_SDK, or build the component macos-sdk"},
		"a wrong folder": {Finder{Folder: t.TempDir(), Component: component}, false, "is no macOS SDK"},
		"no tools":       {Finder{Xcrun: xcrun(t, "echo 'xcrun: error: invalid active developer path (/Library/Developer/CommandLineTools), missing xcrun' >&2\necho more >&2\nexit 1\n"), Component: component}, true, "xcrun: xcrun: error: invalid active developer path (/Library/Developer/CommandLineTools), missing xcrun"},
		"no xcrun":       {Finder{Xcrun: "/nowhere/xcrun"}, true, "no such file"},
		"no answer":      {Finder{Xcrun: xcrun(t, "")}, true, "it named no folder"},
		"two lines":      {Finder{Xcrun: xcrun(t, "echo /a\necho /b\n")}, true, "it named no folder"},
		"a moved SDK":    {Finder{Xcrun: xcrun(t, "echo /nowhere/MacOSX.sdk\n")}, true, "xcrun names /nowhere/MacOSX.sdk, and it is not there"},
		"far too much":   {Finder{Xcrun: xcrun(t, "yes /a | head -c 200000\n")}, true, "printed more than"},
	} {
		_, err := c.finder.Find(t.Context(), Version{14, 0})
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrNone) != c.none || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
