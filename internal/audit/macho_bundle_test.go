package audit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// What is asked of the good bundle, of a copy each time.
func TestMac(t *testing.T) {
	whole := goodMac(t)
	for name, test := range map[string]func(*testing.T, bundle){
		"SystemLibraries":  macSystemLibraries,
		"PartOfAMacBundle": macPartOfAMacBundle,
		"FixedUp":          macFixedUp,
		"UnmappedSegment":  macUnmappedSegment,
		"LargeImage":       macLargeImage,
		"HardLinks":        macHardLinks,
		"UnknownSDK":       macUnknownSDK,
		"DamagedMachO":     macDamagedMachO,
	} {
		t.Run(name, func(t *testing.T) { test(t, whole.copied(t)) })
	}
}

// sdk knows one library of macOS.
type sdk struct {
	name    string
	symbols []string
	since   macho.Version
}

func (s sdk) SystemLibrary(name string, minos macho.Version) (func(string) bool, bool) {
	if name != s.name {
		return nil, false
	}
	return func(symbol string) bool { return minos >= s.since && slices.Contains(s.symbols, symbol) }, true
}

func macSystemLibraries(t *testing.T, b bundle) {
	system := sdk{name: "/usr/lib/libSystem.B.dylib", symbols: []string{"_puts"}}
	with := func(s sdk) *Report { return b.auditMac(func(o *Options) { o.System = s }) }
	if r := with(system); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
	system.since = 15 << 16
	r := with(system)
	if len(r.Findings) != 1 || r.Findings[0].Rule != ruleMachOSymbol || r.Findings[0].File != "lib/libdeep.1.2.3.dylib" ||
		!strings.Contains(r.Findings[0].What, "imports _puts from /usr/lib/libSystem.B.dylib") || !strings.Contains(r.Findings[0].Fix, "14.0") {
		t.Errorf("%+v", r.Findings)
	}
	// What the SDK has is known, whatever its name; also by a run path.
	b.mac("lib/libnew.dylib", "int extra(void); int f(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libnew.dylib",
		b.stub("/usr/lib/libextra.dylib"))
	if r := with(sdk{name: "/usr/lib/libextra.dylib", symbols: []string{"_extra"}}); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
	b.mac("lib/libnew.dylib", "int extra(void); int f(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libnew.dylib",
		b.stub("@rpath/libswiftCore.dylib"), "-Wl,-rpath,/usr/lib/swift")
	if r := b.auditMac(nil); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

func macPartOfAMacBundle(t *testing.T, b bundle) {
	b.remove("lib/libdeep.1.2.3.dylib")
	b.link("../lib/nothing", "share/link")
	b.mac("lib/libnew.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/libnew.1.dylib")
	r := b.auditMac(func(o *Options) { o.Partial = true })
	if len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
	b.hi("-Wl,-rpath,/opt/lib")
	if r := b.auditMac(func(o *Options) { o.Partial = true }); len(r.Findings) != 1 || r.Findings[0].Rule != ruleMachORPathAbs {
		t.Errorf("%+v", r.Findings)
	}
}

// A bundle whose names are all wrong is one that the fix-up makes good.
func macFixedUp(t *testing.T, b bundle) {
	stage := b.dir
	b.mac("lib/libdeep.1.2.3.dylib", deepSource, "-dynamiclib", "-install_name", stage+"/lib/libdeep.1.dylib")
	b.mac("lib/libgreet.1.dylib", greetSource, "-dynamiclib", "-install_name", "libgreet.1.dylib", b.path("lib/libdeep.dylib"), "-Wl,-rpath,"+stage+"/lib", "-Wl,-rpath,/opt/lib")
	b.hi("-Wl,-rpath,@loader_path/../../elsewhere", "-Wl,-rpath,@loader_path/../share")
	b.mac("lib/plug.so", plugSource, "-bundle", b.path("lib/libdeep.dylib"))
	b.mac("lib/libface.1.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/libface.1.dylib", "-Wl,-reexport_library,"+b.path("lib/libdeep.dylib"))
	broken := map[string]bool{}
	for _, f := range b.auditMac(func(o *Options) { o.BuildPaths = []string{stage} }).Findings {
		broken[f.Rule] = true
	}
	for _, rule := range []string{ruleMachOID, ruleMachONeeded, ruleMachORPathAbs, ruleMachORPathOut, ruleMachORPathUnused, ruleBuildPath} {
		if !broken[rule] {
			t.Errorf("%s is not broken before", rule)
		}
	}
	if _, err := macho.Fix(context.Background(), b.dir, macho.FixOptions{Prefixes: []string{stage}}); err != nil {
		t.Fatal(err)
	}
	if r := b.auditMac(func(o *Options) { o.BuildPaths = []string{stage} }); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestDetect(t *testing.T) {
	ctx := context.Background()
	mac, linux := goodMac(t), good(t)
	darwin := platform.Platform{OS: "darwin", Arch: "arm64"}
	for _, tt := range []struct {
		dir    string
		want   platform.Platform
		images int
	}{{mac.dir, darwin, 7}, {linux.dir, platform.Native(), 3}, {t.TempDir(), platform.Platform{}, 0}} {
		if got, n, err := Detect(ctx, tt.dir); err != nil || got != tt.want || n != tt.images {
			t.Errorf("%s: %v, %d images, %v; want %v, %d", tt.dir, got, n, err, tt.want, tt.images)
		}
	}
	// Some of another platform do not decide; nor do names, or what is damaged.
	b := linux.copied(t)
	b.must(os.Link(mac.path("lib/libface.1.dylib"), b.path("lib/libface.1.dylib")))
	b.must(os.Link(mac.path("lib/libface.1.dylib"), b.path("lib/a")))
	b.must(os.Link(mac.path("lib/libface.1.dylib"), b.path("lib/b")))
	b.must(os.Link(mac.path("lib/libface.1.dylib"), b.path("lib/c")))
	for k := range 9 {
		b.write(fmt.Sprint("lib/cut", k, ".dylib"), 0o644, mac.read("lib/libface.1.dylib")[:100+k])
	}
	if got, n, err := Detect(ctx, b.dir); err != nil || got != platform.Native() || n != 3 {
		t.Errorf("%v, %d images, %v", got, n, err)
	}
	if _, _, err := Detect(ctx, filepath.Join(b.dir, "none")); err == nil {
		t.Error("a folder that is not there has a platform")
	}
}

// Go's linker leaves debug information in a segment that takes no memory.
func macUnmappedSegment(t *testing.T, b bundle) {
	f, err := macho.Parse([]byte(b.read("bin/hello")))
	b.must(err)
	img := f.Images[0]
	if wrong := layout(img); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	last := len(img.Segments) - 1
	dwarf := img.Segments[last]
	dwarf.Name, dwarf.Size = "__DWARF", 0
	dwarf.Sections = []macho.Section{{Name: "__debug_info", Segment: "__DWARF", Addr: 1 << 40, Size: 100, Offset: uint32(dwarf.Offset)}}
	img.Segments[last].Offset = (dwarf.Offset + dwarf.FileSize + 0x3fff) &^ 0x3fff
	img.Segments = slices.Insert(img.Segments, last, dwarf)
	if wrong := layout(img); len(wrong) > 0 {
		t.Error(wrong)
	}
	img.Segments[last].Offset = 0
	if wrong := layout(img); len(wrong) != 1 || !strings.Contains(wrong[0], "segment __DWARF begins at 0x0 of the file") {
		t.Error(wrong)
	}
}

// An image of several chunks is hashed as it is, whatever else is looked for.
func macLargeImage(t *testing.T, b bundle) {
	data := filepath.Join(b.spare, "data")
	b.must(os.WriteFile(data, []byte(strings.Repeat("0123456789abcdef", 3*chunkSize/16)), 0o644))
	b.mac("lib/liblarge.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/liblarge.dylib", "-Wl,-sectcreate,__DATA,__data2,"+data)
	none := func(o *Options) { o.BuildPaths = nil }
	for _, change := range []func(*Options){nil, none} {
		if r := b.auditMac(change); len(r.Findings) > 0 {
			t.Errorf("%+v", r.Findings)
		}
	}
	b.raw("lib/liblarge.dylib", func(image []byte, _ *macho.File) { image[2*chunkSize] ^= 1 })
	for _, change := range []func(*Options){nil, none} {
		if r := b.auditMac(change); len(r.Findings) != 1 || r.Findings[0].Rule != ruleMachOSigPages {
			t.Errorf("%+v", r.Findings)
		}
	}
}

// Hard-linked names are one file: read once, and told once.
func macHardLinks(t *testing.T, b bundle) {
	before := b.auditMac(nil)
	b.must(os.Link(b.path("lib/libface.1.dylib"), b.path("lib/b.dylib")))
	b.must(os.Link(b.path("lib/libface.1.dylib"), b.path("lib/a.dylib")))
	r := b.auditMac(nil)
	if len(r.Findings) > 0 || r.Files != before.Files || r.Bytes != before.Bytes || r.Images != before.Images {
		t.Errorf("%+v, before %+v", r, before)
	}
	b.chmod("lib/libface.1.dylib", 0o700)
	b.raw("lib/libface.1.dylib", func(image []byte, _ *macho.File) { image[0x2000] ^= 1 })
	b.chmod("lib/libface.1.dylib", 0o700)
	r = b.auditMac(nil)
	want := []string{
		"lib/a.dylib " + ruleMachOSigPages + " 1 of 5 pages are not what was signed, the first at 0x2000 (one file with lib/b.dylib, lib/libface.1.dylib)",
		"lib/a.dylib " + ruleMode + " has mode 0700: not readable by everybody, executable by some only (one file with lib/b.dylib, lib/libface.1.dylib)",
	}
	var got []string
	for _, f := range r.Findings {
		got = append(got, f.File+" "+f.Rule+" "+f.What)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// An image whose linker did not know the SDK is no worse for it.
func macUnknownSDK(t *testing.T, b bundle) {
	b.edit("bin/hello", func(image []byte) { word(command(t, image, macho.LCBuildVersion), 16, 0) })
	if r := b.auditMac(nil); len(r.Findings) > 0 {
		t.Errorf("%+v", r.Findings)
	}
}
