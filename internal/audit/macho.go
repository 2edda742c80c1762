package audit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// FamilyMacOS is the family of Floor that stands for the macOS itself.
const FamilyMacOS = "macOS"

// SystemLibraries is what is known of the libraries that macOS itself has, such
// as the text stubs of an SDK.
type SystemLibraries interface {
	// SystemLibrary looks up a library by its install name
	// ("/usr/lib/libSystem.B.dylib"), as an arm64 image finds it on the macOS
	// minos. ok is false when nothing is known about it.
	SystemLibrary(name string, minos macho.Version) (exports func(symbol string) bool, ok bool)
}

// machOFormat checks images of macOS by the rules of dyld(1) and of the
// kernel, slice by slice, with the bundle at any place. In a bundle for
// another system they are foreign.
type machOFormat struct {
	platform platform.Platform
	limit    macho.Version // 0 is none.
	system   SystemLibraries
	tree     *tree

	mu     sync.Mutex
	images []*machOImage
	files  int
}

// machOImage is a slice that dyld can load, and what finish needs of it.
type machOImage struct {
	*macho.Image
	entry   *entry
	prefix  string // Of what is said about it: which slice it is.
	imports []macho.Import
	exports []string
}

func newMachO(o Options, t *tree) *machOFormat {
	limit, err := macho.ParseVersion(cmp.Or(o.Floor[FamilyMacOS], "0"))
	if err != nil {
		limit = 0 // Run has refused it.
	}
	return &machOFormat{platform: o.Platform, limit: limit, system: o.System, tree: t}
}

func (f *machOFormat) sniff(head []byte) bool { return macho.IsMachO(head) }

func (f *machOFormat) load(e *entry, r io.ReaderAt) loaded {
	one := func(rule, what, fix string) loaded {
		return loaded{findings: []Finding{finding(e.path, rule, what, fix)}}
	}
	rebuild := "build it for " + f.platform.String()
	if f.platform.OS != "darwin" {
		return one(ruleMachOMachine, "is for macOS, in a bundle for "+f.platform.String(), rebuild)
	}
	file, err := macho.Read(r, e.size)
	switch {
	case errors.Is(err, macho.ErrArchive):
		return loaded{} // Objects may be for any target that the compilers have.
	case errors.Is(err, macho.ErrUnsupported):
		return one(ruleMachOMachine, "is "+err.Error(), rebuild)
	case err != nil:
		return one(ruleMachODamaged, "cannot be read: "+err.Error(), "make it again")
	}
	if file.Images[0].Type == macho.TypeObject {
		return loaded{}
	}
	var out loaded
	if what := f.foreign(file); what != "" {
		return one(ruleMachOMachine, what, rebuild)
	}
	var images []*machOImage
	for _, img := range file.Images {
		if !img.Linked() {
			continue
		}
		m := &machOImage{Image: img, entry: e}
		if file.Universal {
			m.prefix = "slice " + img.Arch() + ": "
		}
		out.program = out.program || img.Type == macho.TypeExecute
		out.findings = append(out.findings, f.image(m)...)
		images = append(images, m)
	}
	if out.program && e.mode.Perm()&0o111 == 0 && path.Base(path.Dir(e.path)) == "bin" {
		out.findings = append(out.findings, finding(e.path, ruleMode, fmt.Sprintf("is a program with mode %04o: not executable", octal(e.mode)), "set mode 0755"))
	}
	checker, err := file.Checker()
	if err != nil {
		out.findings = append(out.findings, finding(e.path, ruleMachODamaged, "cannot be read: "+err.Error(), "make it again"))
		return out
	}
	out.judge = &signatureJudge{Checker: checker, path: e.path, universal: file.Universal}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.images = append(f.images, images...); len(images) > 0 {
		f.files++
	}
	return out
}

// foreign says why a file has nothing for the bundle's machine, "" when it has.
func (f *machOFormat) foreign(file *macho.File) string {
	arch := map[string]string{"arm64": "arm64", "amd64": "x86_64"}[f.platform.Arch]
	var arches []string
	for _, img := range file.Images {
		if len(img.Builds) > 0 && !slices.ContainsFunc(img.Builds, func(b macho.Build) bool { return b.Platform == macho.PlatformMacOS }) {
			return fmt.Sprintf("is for %s, in a bundle for %s", img.Builds[0].Platform, f.platform)
		}
		if img.Linked() && len(img.Builds) == 0 {
			return "does not say for which system it is (no LC_BUILD_VERSION)"
		}
		arches = append(arches, img.Arch())
	}
	if !slices.Contains(arches, arch) {
		return fmt.Sprintf("is for %s, in a bundle for %s", strings.Join(arches, " and "), f.platform)
	}
	return ""
}

// finish checks what needs all images.
func (f *machOFormat) finish(r *Report) []Finding {
	r.Images += f.files
	slices.SortFunc(f.images, func(x, y *machOImage) int {
		return cmp.Or(strings.Compare(x.entry.path, y.entry.path), strings.Compare(x.Arch(), y.Arch()))
	})
	var out []Finding
	var newest Floor
	var highest macho.Version
	for _, m := range f.images {
		out = append(out, f.id(m)...)
		v := m.minOS()
		if v > highest {
			highest, newest = v, Floor{Family: FamilyMacOS, Version: v.String(), File: m.entry.path}
		}
		if f.limit > 0 && v > f.limit {
			out = append(out, m.finding(ruleMachOMinOS, fmt.Sprintf("needs macOS %s, and the bundle may need %s at most", v, f.limit),
				"build it with -mmacosx-version-min="+f.limit.String()))
		}
	}
	if highest > 0 {
		r.Floor = append(r.Floor, newest)
	}
	return append(out, newDyld(f).run()...)
}

// id checks that a dylib is called what dependents find it by.
func (f *machOFormat) id(m *machOImage) []Finding {
	if m.Type != macho.TypeDylib {
		return nil
	}
	leaf := path.Base(m.entry.path)
	if m.ID == nil {
		return []Finding{m.finding(ruleMachOID, "is a dylib without an id", "link it with -install_name @rpath/"+leaf)}
	}
	name, ok := strings.CutPrefix(m.ID.Name, "@rpath/")
	// A framework's name goes on with its folders.
	if !ok || name == "" || path.Clean(name) != name || strings.HasPrefix(name, "..") || strings.Contains(name, "/") && !strings.Contains(name, ".framework/") {
		return []Finding{m.finding(ruleMachOID, fmt.Sprintf("has the id %q", m.ID.Name), "set the id @rpath/"+leaf+", and the same in its dependents")}
	}
	for _, own := range m.entry.names() {
		dir := path.Dir(own) + strings.Repeat("/..", strings.Count(name, "/"))
		if e, how := f.tree.resolve(dir + "/" + name); how == found && slices.Contains(m.entry.names(), e.path) {
			return nil
		}
	}
	return []Finding{m.finding(ruleMachOIDMissing, fmt.Sprintf("has the id %q, and no %s beside it leads to it", m.ID.Name, name), "add a symlink of that name")}
}

func (m *machOImage) finding(rule, what, fix string) Finding {
	return finding(m.entry.path, rule, m.prefix+what, fix)
}

// macOS is what the image was built for.
func (m *machOImage) macOS() macho.Build {
	for _, b := range m.Builds {
		if b.Platform == macho.PlatformMacOS {
			return b
		}
	}
	return macho.Build{}
}

func (m *machOImage) minOS() macho.Version { return m.macOS().MinOS }

// signatureJudge hashes the pages of a file while it is searched for paths.
type signatureJudge struct {
	*macho.Checker
	path      string
	universal bool
}

func (j *signatureJudge) findings() []Finding {
	rules := map[macho.Rule]string{
		macho.RuleUnsigned: ruleMachOUnsigned, macho.RuleSignature: ruleMachOSigBad, macho.RulePages: ruleMachOSigPages,
		macho.RuleSpecial: ruleMachOSigSpecial, macho.RuleExtent: ruleMachOSigExtent, macho.RuleExecSeg: ruleMachOSigExec,
		macho.RuleAdHoc: ruleMachOSigAdHoc, macho.RuleHash: ruleMachOSigHash, macho.RuleIdentifier: ruleMachOSigIdent,
	}
	var out []Finding
	for _, p := range j.Problems() {
		what := p.Text
		if j.universal {
			what = "slice " + p.Arch + ": " + what
		}
		out = append(out, finding(j.path, cmp.Or(rules[p.Rule], ruleMachOSigBad), what, "sign it again, after the last change: codesign -f -s - "+path.Base(j.path)))
	}
	return out
}
