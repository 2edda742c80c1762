package sbom

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var (
	sumA = strings.Repeat("a1", 32)
	sumB = strings.Repeat("b2", 32)
)

func sample() Doc {
	return Doc{
		Name: "hip-toolchain", Version: "7.0.2", Host: "darwin-arm64",
		Tool: "stonemason", ToolVersion: "0.1.0", SerialSeed: "seed",
		Components: []Component{
			{
				Name: "hipcc", Version: "7.0.2", Type: "application", License: "MIT", Provider: "source",
				PURL:      GitHubPURL("ROCm", "llvm-project", "0123456789abcdef0123456789abcdef01234567", "amd/hipcc"),
				Sources:   []Source{{URL: "https://github.com/ROCm/llvm-project"}},
				DependsOn: []string{"device-libs", "amd-llvm", "device-libs"},
			},
			{
				Name: "device-libs", Version: "7.0.2", License: "NCSA", Provider: "source",
				PURL: DebianPURL("debian", "rocm-llvm", "7.0.2+dfsg-1", "source"),
				Sources: []Source{{
					URL:    "https://someone:secret@mirror.example.org/pool/main/r/rocm-llvm_7.0.2+dfsg.orig.tar.xz",
					SHA256: sumA,
				}},
				SHA256: sumA, ContentID: "sha256:" + sumB,
				Patches: []Patch{
					{Name: "patches/device-libs/0002 b.patch", SHA256: sumB, Why: "LLVM 22"},
					{Name: "patches/device-libs/0001-a.patch", SHA256: sumA, URL: "https://github.com/ROCm/llvm-project/pull/1.patch"},
				},
				Files: []File{
					{Path: "amdgcn/bitcode/ockl.bc", SHA256: sumB},
					{Path: "amdgcn/bitcode/ocml.bc", SHA256: sumA},
				},
				DependsOn: []string{"amd-llvm"},
			},
			{
				Name: "amd-llvm", Version: "22.1.0", License: "Apache-2.0 WITH LLVM-exception", Provider: "system",
				Ancestors: []Ancestor{
					{Name: "clang-22", Version: "1:22.1.8-1~deb12u1", PURL: DebianPURL("debian", "clang-22", "1:22.1.8-1~deb12u1", "arm64"), SHA256: sumA},
					{Name: "of no package", SHA256: sumB},
				},
			},
			{Name: "odd", License: "see LICENSE & more"},
		},
	}
}

func write(t *testing.T, doc Doc) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, doc); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// official compiles the JSON schema of CycloneDX 1.6 that comes with the
// CycloneDX library's source.
func official(t *testing.T) *jsonschema.Schema {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatalf("where the CycloneDX library lies: %v", err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	for _, name := range []string{"bom-1.6.schema.json", "spdx.schema.json", "jsf-0.82.schemax.json"} {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "schema", name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		// The library's copy of the signature's schema has a misspelt name.
		name = strings.Replace(name, "schemax", "schema", 1)
		if err := c.AddResource("http://cyclonedx.org/schema/"+name, doc); err != nil {
			t.Fatal(err)
		}
	}
	s, err := c.Compile("http://cyclonedx.org/schema/bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOfficialSchema(t *testing.T) {
	s := official(t)
	stamped := sample()
	stamped.Timestamp = time.Unix(1700000000, 0)
	for name, doc := range map[string]Doc{"sample": sample(), "stamped": stamped, "least": {Name: "x"}} {
		text := write(t, doc)
		x, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(x); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	// The schema is read the way it is meant: it refuses what it should.
	text := strings.Replace(string(write(t, sample())), `"alg": "SHA-256"`, `"alg": "SHA-257"`, 1)
	x, _ := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if s.Validate(x) == nil {
		t.Error("the schema accepts a hash that does not exist")
	}
}

func TestRoundTrip(t *testing.T) {
	text := write(t, sample())
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != cdx.SpecVersion1_6 || bom.Version != 1 {
		t.Errorf("version %v of CycloneDX, document version %d", bom.SpecVersion, bom.Version)
	}
	// Made by Python: the first 16 bytes of hashlib.sha256(b"seed"), the bits
	// of version 8 and variant 2 set, printed by uuid.UUID.
	if want := "urn:uuid:19b25856-e1c1-80ca-834c-ffc8b59b23ad"; bom.SerialNumber != want {
		t.Errorf("serial number %s, want %s", bom.SerialNumber, want)
	}
	if bom.Metadata.Timestamp != "" {
		t.Errorf("time stamp %s that nobody gave", bom.Metadata.Timestamp)
	}

	refs := map[string]bool{bom.Metadata.Component.BOMRef: true}
	names := []string{}
	var visit func([]cdx.Component)
	visit = func(all []cdx.Component) {
		for _, c := range all {
			if c.BOMRef == "" || refs[c.BOMRef] {
				t.Errorf("reference %q is empty or not unique", c.BOMRef)
			}
			refs[c.BOMRef] = true
			if c.Components != nil {
				visit(*c.Components)
			}
		}
	}
	visit(*bom.Components)
	for _, c := range *bom.Components {
		names = append(names, c.Name)
	}
	if want := []string{"amd-llvm", "device-libs", "hipcc", "odd"}; !reflect.DeepEqual(names, want) {
		t.Errorf("components %q, want %q", names, want)
	}
	got := map[string][]string{}
	for _, d := range *bom.Dependencies {
		if !refs[d.Ref] {
			t.Errorf("dependencies of %s, which is not there", d.Ref)
		}
		got[d.Ref] = nil
		if d.Dependencies != nil {
			got[d.Ref] = *d.Dependencies
			for _, on := range *d.Dependencies {
				if !refs[on] {
					t.Errorf("%s depends on %s, which is not there", d.Ref, on)
				}
			}
		}
	}
	want := map[string][]string{
		"bundle:hip-toolchain":  {"component:amd-llvm", "component:device-libs", "component:hipcc", "component:odd"},
		"component:amd-llvm":    nil,
		"component:device-libs": {"component:amd-llvm"},
		"component:hipcc":       {"component:amd-llvm", "component:device-libs"},
		"component:odd":         nil,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("dependencies\n%v\nwant\n%v", got, want)
	}

	libs := (*bom.Components)[1]
	patches := *libs.Pedigree.Patches
	if len(patches) != 2 || patches[0].Diff.URL != "patches/device-libs/0002%20b.patch" || !strings.HasSuffix(patches[1].Diff.URL, "/pull/1.patch") {
		t.Errorf("patches lost their order or address: %+v", patches)
	}
	ancestors := *(*bom.Components)[0].Pedigree.Ancestors
	if len(ancestors) != 2 || ancestors[0].PackageURL != "pkg:deb/debian/clang-22@1:22.1.8-1~deb12u1?arch=arm64" ||
		ancestors[0].Version != "1:22.1.8-1~deb12u1" || (*ancestors[1].Hashes)[0].Value != sumB {
		t.Errorf("ancestors = %+v", ancestors)
	}
	source := (*libs.ExternalReferences)[0]
	if source.URL != "https://mirror.example.org/pool/main/r/rocm-llvm_7.0.2+dfsg.orig.tar.xz" ||
		source.Type != cdx.ERTypeSourceDistribution || (*source.Hashes)[0].Value != sumA {
		t.Errorf("source = %+v", source)
	}
	if vcs := (*(*bom.Components)[2].ExternalReferences)[0]; vcs.Type != cdx.ERTypeVCS {
		t.Errorf("repository = %+v", vcs)
	}
	if l := *(*bom.Components)[0].Licenses; l[0].Expression != "Apache-2.0 WITH LLVM-exception" {
		t.Errorf("license = %+v", l)
	}
	if l := *(*bom.Components)[3].Licenses; l[0].License.Name != "see LICENSE & more" {
		t.Errorf("license = %+v", l)
	}
	for _, s := range []string{"secret", "someone"} {
		if bytes.Contains(text, []byte(s)) {
			t.Errorf("the document holds %q", s)
		}
	}
	for _, p := range []string{`"stonemason:host"`, `"stonemason:provider"`, `"stonemason:content-id"`, `"stonemason:patch:patches/device-libs/0001-a.patch:sha256"`, `"LLVM 22"`} {
		if !bytes.Contains(text, []byte(p)) {
			t.Errorf("the document lacks %s", p)
		}
	}
}

func TestSameBytes(t *testing.T) {
	want := write(t, sample())
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		doc := sample()
		r.Shuffle(len(doc.Components), func(i, j int) {
			doc.Components[i], doc.Components[j] = doc.Components[j], doc.Components[i]
		})
		for _, c := range doc.Components {
			r.Shuffle(len(c.DependsOn), func(i, j int) { c.DependsOn[i], c.DependsOn[j] = c.DependsOn[j], c.DependsOn[i] })
			r.Shuffle(len(c.Files), func(i, j int) { c.Files[i], c.Files[j] = c.Files[j], c.Files[i] })
		}
		if got := write(t, doc); !bytes.Equal(got, want) {
			t.Fatalf("another order gives other bytes:\n%s", got)
		}
	}
	serial := func(change func(*Doc)) string {
		doc := sample()
		change(&doc)
		var bom cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(write(t, doc)), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		return bom.SerialNumber
	}
	unseeded := func(d *Doc) { d.SerialSeed = "" }
	first, second := serial(unseeded), serial(unseeded)
	if first != second {
		t.Error("the serial number without a seed differs from one time to the next")
	}
	if serial(unseeded) == serial(func(d *Doc) { unseeded(d); d.Components[0].Version = "8" }) {
		t.Error("the serial number without a seed does not depend on the contents")
	}
	if serial(func(d *Doc) {}) == serial(func(d *Doc) { d.SerialSeed = "other" }) {
		t.Error("the serial number does not depend on the seed")
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Doc)
		want   string
	}{
		{"bundle without name", func(d *Doc) { d.Name = "" }, "name is empty"},
		{"component without name", func(d *Doc) { d.Components[0].Name = "" }, "has no name"},
		{"twice", func(d *Doc) { d.Components[0].Name = "amd-llvm" }, "component amd-llvm is there twice"},
		{"unknown dependency", func(d *Doc) { d.Components[0].DependsOn = []string{"x"} }, `component hipcc: depends on "x"`},
		{"itself", func(d *Doc) { d.Components[0].DependsOn = []string{"hipcc"} }, "depends on itself"},
		{"type", func(d *Doc) { d.Components[0].Type = "thing" }, `type "thing"`},
		{"purl", func(d *Doc) { d.Components[0].PURL = "github/x" }, "no package URL"},
		{"ancestor without name", func(d *Doc) { d.Components[2].Ancestors[0].Name = "" }, "component amd-llvm: an ancestor has no name"},
		{"ancestor's purl", func(d *Doc) { d.Components[2].Ancestors[0].PURL = "deb" }, "ancestor clang-22"},
		{"ancestor's hash", func(d *Doc) { d.Components[2].Ancestors[1].SHA256 = "x" }, "ancestor of no package"},
		{"hash", func(d *Doc) { d.Components[0].SHA256 = strings.ToUpper(sumA) }, "no SHA-256"},
		{"source hash", func(d *Doc) { d.Components[0].Sources[0].SHA256 = "x" }, "no SHA-256"},
		{"patch hash", func(d *Doc) { d.Components[1].Patches[0].SHA256 = "x" }, "0002 b.patch"},
		{"patch name", func(d *Doc) { d.Components[1].Patches[0].Name = "" }, "a patch has no name"},
		{"file address", func(d *Doc) { d.Components[0].Sources[0].URL = "file:///home/me/src" }, "leads nowhere"},
		{"relative address", func(d *Doc) { d.Components[0].Sources[0].URL = "../src" }, "leads nowhere"},
		{"bad address", func(d *Doc) { d.Components[0].Sources[0].URL = "http://u:p@[::1" }, "cannot be parsed"},
		{"file outside", func(d *Doc) { d.Components[1].Files[0].Path = "../x" }, "does not lie in the bundle"},
		{"absolute file", func(d *Doc) { d.Components[1].Files[0].Path = "/x" }, "does not lie in the bundle"},
		{"file twice", func(d *Doc) { d.Components[1].Files[0].Path = d.Components[1].Files[1].Path }, "there twice"},
		{"file hash", func(d *Doc) { d.Components[1].Files[0].SHA256 = "x" }, "no SHA-256"},
	}
	for _, tt := range tests {
		doc := sample()
		tt.change(&doc)
		var b bytes.Buffer
		err := Write(&b, doc)
		if err == nil || !strings.Contains(err.Error(), tt.want) || b.Len() > 0 || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s: %v with %d bytes written, want %q", tt.name, err, b.Len(), tt.want)
		}
	}
	if err := Write(failing{}, sample()); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a failing writer gives %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrClosed }

// The wanted forms follow purl-spec: its types deb, github and generic.
func TestPURL(t *testing.T) {
	tests := []struct{ got, want string }{
		{DebianPURL("debian", "rocm-llvm", "7.0.2+dfsg", "source"), "pkg:deb/debian/rocm-llvm@7.0.2%2Bdfsg?arch=source"},
		{NPMPURL("@scope/a.name", "1.2.3-rc.1+5"), "pkg:npm/%40scope/a.name@1.2.3-rc.1%2B5"},
		{NPMPURL("name", "1.2.3"), "pkg:npm/name@1.2.3"},
		{DebianPURL("Debian", "libstdc++6", "1:12.2~rc1-1", ""), "pkg:deb/debian/libstdc%2B%2B6@1:12.2~rc1-1"},
		{GitHubPURL("ROCm", "HIPIFY", "abc", ""), "pkg:github/rocm/hipify@abc"},
		{GitHubPURL("ROCm", "llvm-project", "abc", "/amd//device libs/../."), "pkg:github/rocm/llvm-project@abc#amd/device%20libs"},
		{GenericPURL("a b", "1", "https://x.org/a?b&c", sumA), "pkg:generic/a%20b@1?checksum=sha256:" + sumA + "&download_url=https:%2F%2Fx.org%2Fa%3Fb%26c"},
		{GenericPURL("é", "", "https://x.org", ""), "pkg:generic/%C3%A9?download_url=https:%2F%2Fx.org"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %s, want %s", tt.got, tt.want)
		}
		if !purlForm.MatchString(tt.got) {
			t.Errorf("%s is refused", tt.got)
		}
	}
	for _, s := range []string{"pkg:", "pkg:deb", "pkg:deb/", "deb/x", "pkg:deb/x y", "pkg:/x", "pkg:deb/x@", "pkg:Deb/x"} {
		if purlForm.MatchString(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

func TestSPDX(t *testing.T) {
	for s, want := range map[string]bool{
		"MIT": true, "GPL-2.0+": true, "Apache-2.0 WITH LLVM-exception": true, "(MIT OR NCSA) AND BSD-3-Clause": true,
		"LicenseRef-amd": true, "DocumentRef-x:LicenseRef-y": true, "((MIT))": true,
		"": false, "Apache 2.0": false, "MIT AND": false, "(MIT": false, "MIT)": false, "AND": false, "MIT WITH": false,
		"see LICENSE": false, "MIT/X11": false, "MIT OR OR NCSA": false, "MIT WITH (x)": false,
		strings.Repeat("(", 200) + "MIT" + strings.Repeat(")", 200): false,
	} {
		if got := isSPDX(s); got != want {
			t.Errorf("isSPDX(%.40q) = %v", s, got)
		}
	}
}

func FuzzSPDX(f *testing.F) {
	f.Add("(MIT OR Apache-2.0 WITH LLVM-exception) AND X+")
	f.Add(")(")
	f.Fuzz(func(t *testing.T, s string) {
		if isSPDX(s) && !isSPDX("("+s+") OR MIT") && strings.Count(s, "(") < 99 && len(s) < 900 {
			t.Errorf("%q is an expression, but not inside another", s)
		}
	})
}
