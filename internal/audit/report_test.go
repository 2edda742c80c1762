package audit

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

func sample() *Report {
	r := &Report{Root: "/some/where", Platform: platform.Platform{OS: "linux", Arch: "amd64"}, Files: 1, Bytes: 3 << 20, Images: 2, Executed: 1,
		Floor: []Floor{{"GLIBC", "2.34", "bin/a"}}}
	r.Add(finding("bin/b", ruleELFUnused, `searches "$ORIGIN/x", where nothing is that it needs`, "leave it out"))
	r.Add(finding("bin/a", ruleELFNeeded, "needs libz.so.1, which its RUNPATH does not find and the base system does not have", "set RUNPATH"))
	r.Add(finding("bin/a", ruleGlibc, "asks for GLIBC_2.34, the newest of the bundle", ""))
	r.Add(Finding{File: "odd\nname:x", Rule: "of-the-caller", What: "is odd", Severity: Error})
	r.Add(finding("bin/b", ruleELFUnused, `searches "$ORIGIN/x", where nothing is that it needs`, "leave it out"))
	return r
}

func TestTable(t *testing.T) {
	var b bytes.Buffer
	if err := sample().Table(&b, 60); err != nil {
		t.Fatal(err)
	}
	want := `audit of /some/where for linux-amd64: 1 file, 3.0 MiB, 2 images, 1 program run
needs of the system: GLIBC 2.34

error    elf-needed-outside  bin/a
         needs libz.so.1, which its RUNPATH does not find
         and the base system does not have
         fix: set RUNPATH

error    of-the-caller  "odd\nname:x"
         is odd

warning  elf-runpath-unused  bin/b
         searches "$ORIGIN/x", where nothing is that it
         needs
         fix: leave it out

2 errors, 1 warning
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := sample().Table(&b, 0); err != nil {
		t.Fatal(err)
	}
	want = `audit of /some/where for linux-amd64: 1 file, 3.0 MiB, 2 images, 1 program run
needs of the system: GLIBC 2.34

error    elf-needed-outside  bin/a: needs libz.so.1, which its RUNPATH does not find and the base system does not have; fix: set RUNPATH
error    of-the-caller       "odd\nname:x": is odd
warning  elf-runpath-unused  bin/b: searches "$ORIGIN/x", where nothing is that it needs; fix: leave it out

2 errors, 1 warning
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	many := &Report{}
	for range 60 {
		many.Add(finding(strings.Repeat("x", len(many.Findings)+1), ruleMode, "has mode 0600", "set it"))
	}
	if err := many.Table(&b, 0); err != nil || !strings.Contains(b.String(), "and 10 more of mode") {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := (&Report{}).Table(&b, 0); err != nil || !strings.HasSuffix(b.String(), "\nnothing is wrong\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	r := sample()
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || len(back.Findings) != 4 || back.Findings[0] != r.Findings[0] || back.Platform != r.Platform {
		t.Errorf("%v\n%s", err, b.String())
	}
	b.Reset()
	if err := (&Report{}).JSON(&b); err != nil || !strings.Contains(b.String(), `"findings": []`) {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// TestSARIF checks what the standard demands of a log beyond its shape: rule
// indexes that fit, known levels, relative URIs.
func TestSARIF(t *testing.T) {
	var b bytes.Buffer
	if err := sample().SARIF(&b); err != nil {
		t.Fatal(err)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			OriginalURIBaseIDs map[string]struct{ URI string } `json:"originalUriBaseIds"`
			Results            []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI, URIBaseID string }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || run.OriginalURIBaseIDs["BUNDLE"].URI != "file:///some/where/" || len(run.Results) != 4 {
		t.Errorf("%s", b.String())
	}
	levels := map[string]bool{}
	for _, res := range run.Results {
		levels[res.Level] = true
		if run.Tool.Driver.Rules[res.RuleIndex].ID != res.RuleID || res.Message.Text == "" {
			t.Errorf("%+v", res)
		}
		uri := res.Locations[0].PhysicalLocation.ArtifactLocation.URI
		if strings.HasPrefix(uri, "/") || strings.ContainsAny(uri, "\n ") {
			t.Errorf("uri %q", uri)
		}
	}
	if !levels["error"] || !levels["warning"] || !levels["note"] || len(levels) != 3 {
		t.Errorf("levels %v", levels)
	}
	var empty bytes.Buffer
	if err := (&Report{}).SARIF(&empty); err != nil || !strings.Contains(empty.String(), `"results": []`) {
		t.Errorf("%v\n%s", err, empty.String())
	}
}
