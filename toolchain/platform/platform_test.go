package platform

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestParse(t *testing.T) {
	for _, p := range All() {
		got, err := Parse(p.String())
		if err != nil || got != p {
			t.Errorf("Parse(%q) = %v, %v", p.String(), got, err)
		}
	}
	got, err := Parse("native")
	if err != nil || got.OS != runtime.GOOS || got.Arch != runtime.GOARCH {
		t.Errorf("Parse(native) = %v, %v", got, err)
	}
}

func TestParseErrors(t *testing.T) {
	for name, want := range map[string]string{
		"linux-amd46":            `did you mean "linux-amd64"?`,
		"linux/x86_64":           `did you mean "linux-amd64"?`,
		"macos-aarch64":          `did you mean "darwin-arm64"?`,
		"nativ":                  `did you mean "native"?`,
		"windows":                "use one of linux-amd64, linux-arm64, darwin-arm64, native",
		"":                       `unknown platform ""`,
		strings.Repeat("é", 999): "…: use one of",
	} {
		if _, err := Parse(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%.20q): %v, want it to say %q", name, err, want)
		}
	}
}

func TestFacts(t *testing.T) {
	for name, want := range map[string][3]string{
		"linux-amd64":  {"x86_64-unknown-linux-gnu", "libz.so.1", "libz.so"},
		"linux-arm64":  {"aarch64-unknown-linux-gnu", "libz.so.1", "libz.so"},
		"darwin-arm64": {"arm64-apple-macos14.0", "libz.1.dylib", "libz.dylib"},
	} {
		p, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		got := [3]string{p.Triple(), p.SharedLibName("z", "1"), p.SharedLibName("z", "")}
		if got != want || p.ExeSuffix() != "" || !p.Known() {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if (Platform{OS: "plan9", Arch: "386"}).Triple() != "" {
		t.Error("an unknown platform has a triple")
	}
}

func TestText(t *testing.T) {
	type doc struct {
		Hosts []Platform       `json:"hosts" yaml:"hosts"`
		By    map[Platform]int `json:"by" yaml:"by"`
	}
	const text = `{"hosts":["linux-arm64",""],"by":{"darwin-arm64":1}}`
	var fromJSON, fromYAML doc
	if err := json.Unmarshal([]byte(text), &fromJSON); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(fromJSON)
	if err != nil || string(out) != text {
		t.Errorf("%s, %v", out, err)
	}
	if err := yaml.Unmarshal([]byte(text), &fromYAML); err != nil {
		t.Fatal(err)
	}
	if len(fromYAML.Hosts) != 2 || fromYAML.Hosts[0] != linuxARM64 || fromYAML.By[darwinARM64] != 1 {
		t.Errorf("%+v", fromYAML)
	}
	if err := yaml.Unmarshal([]byte("hosts: [linux-amd63]"), &fromYAML); err == nil || !strings.Contains(err.Error(), "linux-amd64") {
		t.Errorf("%v", err)
	}
	if _, err := json.Marshal(Platform{OS: "x", Arch: "y"}); err == nil {
		t.Error("an unknown platform was written")
	}
}
