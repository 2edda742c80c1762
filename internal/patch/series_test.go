package patch

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const smallDiff = "a message\n\ndiff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n"

func TestLoadWithoutFolder(t *testing.T) {
	for _, fsys := range []fstest.MapFS{{}, {"p/README": {Data: []byte("x")}}} {
		s, err := Load(fsys, "p")
		if err != nil || len(s.Patches) != 0 {
			t.Errorf("Load = %v, %v; want an empty series", s, err)
		}
		if apply, skipped, err := s.Select(Target{Version: "7.0.2"}); len(apply) != 0 || len(skipped) != 0 || err != nil {
			t.Errorf("Select = %v, %v, %v", apply, skipped, err)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	head := "schema: 1\npatches:\n"
	for _, tt := range []struct {
		name, list string
		patches    []string
		want       string
	}{
		{"unknown key", head + entry("0001-a.patch") + "    reason: x\n", []string{"0001-a.patch"}, "p/series.yaml:8:5"},
		{"missing why", head + "  - file: 0001-a.patch\n    title: t\n    upstream: none\n    versions: \"1\"\n", []string{"0001-a.patch"}, "why"},
		{"bad range", head + strings.Replace(entry("0001-a.patch"), ">=1.0.0", "newer", 1), []string{"0001-a.patch"}, "p/series.yaml:7:15"},
		{"bad host", head + entry("0001-a.patch") + "    hosts: [lunix]\n", []string{"0001-a.patch"}, "linux"},
		{"bad link", head + strings.Replace(entry("0001-a.patch"), "none (a test)", "ask me", 1), []string{"0001-a.patch"}, "upstream"},
		{"path as name", head + entry("../0001-a.patch"), nil, "file"},
		{"other schema", "schema: 2\npatches: []\n", nil, "schema"},
		{"missing file", head + entry("0001-a.patch"), nil, "lists 0001-a.patch"},
		{"unlisted file", head + entry("0001-a.patch"), []string{"0001-a.patch", "0002-b.patch"}, "0002-b.patch, which series.yaml does not list"},
		{"order", head + entry("0002-b.patch") + entry("0001-a.patch"), []string{"0001-a.patch", "0002-b.patch"}, "is listed after"},
		{"twice", head + entry("0001-a.patch") + entry("0001-a.patch"), []string{"0001-a.patch"}, "each once"},
		{"no list", "", []string{"0001-a.patch"}, "list it there"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{"p/x": {}}
			if tt.list != "" {
				fsys["p/series.yaml"] = &fstest.MapFile{Data: []byte(tt.list)}
			}
			for _, p := range tt.patches {
				fsys["p/"+p] = &fstest.MapFile{Data: []byte(smallDiff)}
			}
			_, err := Load(fsys, "p")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Load: %v; want an error with %q", err, tt.want)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	s := &Series{Patches: []Patch{
		{File: "0001-all.patch", Versions: ">=7.0.0 <7.1.0"},
		{File: "0002-mac.patch", Versions: ">=7.0.0", Hosts: []string{"darwin"}},
		{File: "0003-arm.patch", Versions: ">=7.0.0", Hosts: []string{"linux-arm64"}},
		{File: "0004-debian.patch", Versions: ">=7.0.0", Channels: []string{"debian"}},
		{File: "0005-llvm.patch", Versions: ">=7.0.0", LLVM: ">=22.0.0"},
	}}
	for _, tt := range []struct {
		name   string
		target Target
		apply  string // numbers
		reason string // of the first that is skipped
	}{
		{"debian", Target{"7.0.2+dfsg", "debian", "linux", "linux-amd64", "1:22.1.8-1~deb12u1"}, "1 4 5", "for darwin only; this host is linux-amd64"},
		{"mac", Target{"7.0.2", "upstream", "darwin", "darwin-arm64", "22.0.0git"}, "1 2 5", "for linux-arm64 only; this host is darwin-arm64"},
		{"arm", Target{"7.1.0", "debian", "linux", "linux-arm64", "19.1.7"}, "3 4", "for the source >=7.0.0 <7.1.0; this one is 7.1.0"},
		{"old llvm", Target{"7.0.2", "debian", "darwin", "darwin-arm64", "19.1.7"}, "1 2 4", "for linux-arm64 only; this host is darwin-arm64"},
		{"nothing known", Target{}, "", "for the source >=7.0.0 <7.1.0; its version is not known"},
		{"revision is no pre-release", Target{"7.0.2-3", "upstream", "linux", "linux-amd64", ""}, "1", "for darwin only; this host is linux-amd64"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			apply, skipped, err := s.Select(tt.target)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range apply {
				got = append(got, p.File[3:4])
			}
			if strings.Join(got, " ") != tt.apply {
				t.Errorf("applied %q, want %q", got, tt.apply)
			}
			if len(skipped) == 0 || skipped[0].Reason != tt.reason {
				t.Errorf("skipped %+v, want the reason %q first", skipped, tt.reason)
			}
			if len(apply)+len(skipped) != len(s.Patches) {
				t.Errorf("%d applied and %d skipped of %d", len(apply), len(skipped), len(s.Patches))
			}
		})
	}
	for _, bad := range []Target{{Version: "main"}, {Version: "7.0.2", LLVM: "trunk"}} {
		if _, _, err := s.Select(bad); err == nil {
			t.Errorf("Select(%+v) took a version that is none", bad)
		}
	}
}

func TestParseVersion(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"7.0.2", "7.0.2"}, {"7.0.2+dfsg", "7.0.2"}, {"7.0.2+dfsg-3", "7.0.2"}, {"v7.0.2", "7.0.2"},
		{"1:22.1.8-1~deb12u1", "22.1.8"}, {"22.0.0git", "22.0.0"}, {"22.1.0-rc2", "22.1.0"},
		{"7.2.53211.1", "7.2.53211"}, {"10.1", "10.1.0"}, {"22", "22.0.0"}, {"7.0.2~rc1", "7.0.2"},
		{"", ""}, {"main", ""}, {"7.0.2.", "7.0.2"}, {"99999999999999999999", ""}, {"-1.0", ""}, {" 7.0", ""},
		{strings.Repeat("1", 9) + strings.Repeat("x", 200), ""},
	} {
		v, err := ParseVersion(tt.in)
		switch {
		case tt.want == "" && err == nil:
			t.Errorf("ParseVersion(%q) = %s, want an error", tt.in, v)
		case tt.want != "" && (err != nil || v.String() != tt.want):
			t.Errorf("ParseVersion(%q) = %v, %v, want %s", tt.in, v, err, tt.want)
		}
	}
}

func TestDigest(t *testing.T) {
	got := Digest(selected(t, files{"0001-a.patch": smallDiff, "0002-b.patch": strings.Replace(smallDiff, "two", "tow", 1)}))
	// What sha256sum prints for smallDiff, and for it with "tow".
	want := []string{
		"0001-a.patch sha256:c5e576b407992fbfcb88a3d84d0af405b0903d74a0b13bae23a874fc5bd3b35d",
		"0002-b.patch sha256:539f77142393758943e1a0ad6c11249a501cc2b37b440b624c766f13d5069a79",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Digest = %q, want %q", got, want)
	}
}

// TestOwnSeries reads the patches that this repository ships.
func TestOwnSeries(t *testing.T) {
	root := filepath.Join("..", "..", "patches")
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var components []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, err := Load(os.DirFS(root), e.Name())
		if err != nil {
			t.Error(err)
			continue
		}
		components = append(components, e.Name())
		// The sources of the channel debian are ROCm's, but for LLVM itself.
		version := "7.0.2+dfsg"
		if e.Name() == "amd-llvm" {
			version = "22.1.8"
			if apply, _, err := s.Select(Target{Version: "23.1.0", Channel: "debian"}); err != nil || len(apply) > 0 {
				t.Errorf("%d patches for LLVM 22 apply to 23.1.0 (%v)", len(apply), err)
			}
		}
		// Every patch is there for one of the hosts and of the LLVMs that are
		// adopted, and none is skipped for another reason than LLVM's version
		// or that it is for a Mac.
		used := map[string]bool{}
		for _, host := range []struct{ os, host string }{{"linux", "linux-amd64"}, {"darwin", "darwin-arm64"}} {
			for _, llvm := range []string{"19.1.7", "22.1.8"} {
				apply, skipped, err := s.Select(Target{Version: version, Channel: "debian", HostOS: host.os, Host: host.host, LLVM: llvm})
				if err != nil {
					t.Errorf("%s for %s: %v", e.Name(), host.host, err)
				}
				for _, p := range apply {
					used[p.File] = true
				}
				for _, p := range skipped {
					if !strings.Contains(p.Reason, "LLVM") && (host.os == "darwin" || !strings.HasPrefix(p.Reason, "for darwin only")) {
						t.Errorf("%s for %s: %s is skipped: %s", e.Name(), host.host, p.File, p.Reason)
					}
				}
			}
		}
		if len(used) != len(s.Patches) {
			t.Errorf("%s: of %d patches %v are ever applied", e.Name(), len(s.Patches), used)
		}
		apply, skipped, err := s.Select(Target{Version: "7.0.2", Channel: "debian", LLVM: "19.1.7"})
		if e.Name() == "device-libs" && (err != nil || len(apply) != 2 || len(skipped) != 3) {
			t.Errorf("device-libs on LLVM 19: %d patches apply, %d are skipped, %v; 0004 and 0005 are for it", len(apply), len(skipped), err)
		}
		if apply, _, err := s.Select(Target{Version: "7.14.1", LLVM: "22.1.8"}); err != nil || len(apply) > 0 {
			t.Errorf("%s: %d patches for 7.0 apply to 7.14.1 (%v)", e.Name(), len(apply), err)
		}
	}
	for _, want := range []string{"amd-llvm", "device-libs", "hipcc", "hipify"} {
		if !slices.Contains(components, want) {
			t.Errorf("no patches for %s", want)
		}
	}
}
