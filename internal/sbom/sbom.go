// Package sbom writes the bill of materials of a bundle as CycloneDX 1.6 JSON
// (ECMA-424, first edition). The same document always gives the same bytes.
package sbom

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Doc is a bundle and what is in it.
type Doc struct {
	Name    string // of the bundle
	Version string
	Host    string // the platform whose compilers the bundle holds, such as darwin-arm64

	Tool        string // the program that made the bundle, and its version
	ToolVersion string

	// SerialSeed names the bundle among all others, for instance by the hash of
	// its contents; the serial number is derived from it. When it is empty the
	// serial number is derived from the rest of the document.
	SerialSeed string
	// Timestamp is left out of the document when it is zero. It is set from
	// SOURCE_DATE_EPOCH only: the time of writing would change the bytes.
	Timestamp time.Time

	Components []Component
}

// Component is one component of a bundle.
type Component struct {
	Name    string // unique in the document
	Version string
	Type    string // of CycloneDX: library, application, data, file; "" is library
	PURL    string // see [DebianPURL] and [GitHubPURL]; "" when there is none
	// License is an SPDX expression, such as "Apache-2.0 WITH LLVM-exception".
	// What does not have the form of one is recorded as the license's name.
	License   string
	Provider  string // how it was obtained: source, system, prebuilt
	SHA256    string // of the component as it was obtained, in lower-case hex
	ContentID string // of what came out
	Sources   []Source
	// Ancestors are what a component of several parts was made of, each with a
	// package URL or a hash of its own.
	Ancestors []Ancestor
	Patches   []Patch // in the order they were applied
	Files     []File
	DependsOn []string // names of components in the document
}

// Source is where the source of a component comes from.
type Source struct {
	URL    string // absolute; a user name and password in it are left out
	SHA256 string // of the archive; "" for a repository
}

// Ancestor is one of the things that a component was made of.
type Ancestor struct {
	Name    string
	Version string
	PURL    string // "" when there is none
	SHA256  string // as it was obtained; "" for a repository
}

// Patch is a change made to a component's source.
type Patch struct {
	Name   string // path of the file, relative to the project
	SHA256 string
	URL    string // where the patch was published, or ""
	Why    string
}

// File is a file of a component in the bundle.
type File struct {
	Path   string // relative to the bundle, with slashes
	SHA256 string
}

// The namespace of the properties for which CycloneDX has no field.
const namespace = "stonemason:"

// Write writes the document. The error names what is missing or contradictory
// in it; nothing is written then.
func Write(w io.Writer, doc Doc) error {
	bom, err := build(doc)
	if err != nil {
		return fmt.Errorf("bill of materials of %s: %w", cmp.Or(doc.Name, "a bundle without a name"), err)
	}
	seed := doc.SerialSeed
	if seed == "" {
		text, err := encode(bom)
		if err != nil {
			return err
		}
		seed = string(text)
	}
	bom.SerialNumber = "urn:uuid:" + uuid(seed)
	text, err := encode(bom)
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the bill of materials of %s: %w", doc.Name, err)
	}
	return nil
}

func encode(bom *cdx.BOM) ([]byte, error) {
	var b bytes.Buffer
	enc := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := enc.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("encode the bill of materials as CycloneDX: %w", err)
	}
	return b.Bytes(), nil
}

// uuid returns a UUID of version 8 (RFC 9562, section 5.8): the beginning of
// the seed's SHA-256 with the bits of version and variant set.
func uuid(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	sum[6] = sum[6]&0x0f | 0x80
	sum[8] = sum[8]&0x3f | 0x80
	h := hex.EncodeToString(sum[:16])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func build(doc Doc) (*cdx.BOM, error) {
	if doc.Name == "" {
		return nil, errors.New("name is empty")
	}
	components := slices.Clone(doc.Components)
	slices.SortFunc(components, func(a, b Component) int { return strings.Compare(a.Name, b.Name) })
	for i, c := range components {
		switch {
		case c.Name == "":
			return nil, errors.New("a component has no name")
		case i > 0 && components[i-1].Name == c.Name:
			return nil, fmt.Errorf("component %s is there twice", c.Name)
		}
	}

	bundle := cdx.Component{
		BOMRef: "bundle:" + doc.Name, Type: cdx.ComponentTypeApplication,
		Name: doc.Name, Version: doc.Version,
		Properties: properties("host", doc.Host),
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Component: &bundle}
	if !doc.Timestamp.IsZero() {
		bom.Metadata.Timestamp = doc.Timestamp.UTC().Format(time.RFC3339)
	}
	if doc.Tool != "" {
		bom.Metadata.Tools = &cdx.ToolsChoice{Components: &[]cdx.Component{{
			Type: cdx.ComponentTypeApplication, Name: doc.Tool, Version: doc.ToolVersion,
		}}}
	}

	all := make([]cdx.Component, 0, len(components))
	refs := make([]string, 0, len(components))
	dependencies := []cdx.Dependency{{}} // the bundle's own comes first
	for _, c := range components {
		out, err := component(c)
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", c.Name, err)
		}
		needs, err := needs(c, components)
		if err != nil {
			return nil, fmt.Errorf("component %s: %w", c.Name, err)
		}
		all = append(all, out)
		refs = append(refs, out.BOMRef)
		dependencies = append(dependencies, dependency(out.BOMRef, needs))
	}
	dependencies[0] = dependency(bundle.BOMRef, refs)
	bom.Components = &all
	bom.Dependencies = &dependencies
	return bom, nil
}

func ref(name string) string { return "component:" + name }

func dependency(ref string, on []string) cdx.Dependency {
	d := cdx.Dependency{Ref: ref}
	if len(on) > 0 {
		d.Dependencies = &on
	}
	return d
}

// needs returns the references of the components that c depends on; all are
// sorted by name.
func needs(c Component, all []Component) ([]string, error) {
	var on []string
	for _, name := range c.DependsOn {
		_, found := slices.BinarySearchFunc(all, name, func(c Component, name string) int { return strings.Compare(c.Name, name) })
		switch {
		case !found:
			return nil, fmt.Errorf("depends on %q, which is not in the document", name)
		case name == c.Name:
			return nil, errors.New("depends on itself")
		}
		on = append(on, ref(name))
	}
	slices.Sort(on)
	return slices.Compact(on), nil
}

func component(c Component) (cdx.Component, error) {
	out := cdx.Component{
		BOMRef:     ref(c.Name),
		Type:       cdx.ComponentType(cmp.Or(c.Type, string(cdx.ComponentTypeLibrary))),
		Name:       c.Name,
		Version:    c.Version,
		PackageURL: c.PURL,
		Licenses:   licenses(c.License),
	}
	switch out.Type {
	case cdx.ComponentTypeLibrary, cdx.ComponentTypeApplication, cdx.ComponentTypeData, cdx.ComponentTypeFile:
	default:
		return out, fmt.Errorf("type %q is none of library, application, data, file", c.Type)
	}
	if c.PURL != "" && !purlForm.MatchString(c.PURL) {
		return out, fmt.Errorf("%q is no package URL", c.PURL)
	}
	var err error
	if out.Hashes, err = hashes(c.SHA256); err != nil {
		return out, err
	}
	if out.ExternalReferences, err = references(c.Sources); err != nil {
		return out, err
	}

	props := []string{"provider", c.Provider, "content-id", c.ContentID}
	if len(c.Patches) > 0 {
		patches := make([]cdx.Patch, len(c.Patches))
		for i, p := range c.Patches {
			if patches[i], err = patch(p); err != nil {
				return out, err
			}
			// CycloneDX gives a patch neither a hash nor a reason.
			props = append(props, "patch:"+p.Name+":sha256", p.SHA256, "patch:"+p.Name+":why", p.Why)
		}
		out.Pedigree = &cdx.Pedigree{Patches: &patches}
	}
	if len(c.Ancestors) > 0 {
		ancestors := make([]cdx.Component, len(c.Ancestors))
		for i, a := range c.Ancestors {
			if ancestors[i], err = ancestor(a); err != nil {
				return out, err
			}
		}
		if out.Pedigree == nil {
			out.Pedigree = &cdx.Pedigree{}
		}
		out.Pedigree.Ancestors = &ancestors
	}
	out.Properties = properties(props...)
	out.Components, err = files(c)
	return out, err
}

func ancestor(a Ancestor) (cdx.Component, error) {
	if a.Name == "" {
		return cdx.Component{}, errors.New("an ancestor has no name")
	}
	if a.PURL != "" && !purlForm.MatchString(a.PURL) {
		return cdx.Component{}, fmt.Errorf("ancestor %s: %q is no package URL", a.Name, a.PURL)
	}
	sums, err := hashes(a.SHA256)
	if err != nil {
		return cdx.Component{}, fmt.Errorf("ancestor %s: %w", a.Name, err)
	}
	return cdx.Component{Type: cdx.ComponentTypeLibrary, Name: a.Name, Version: a.Version, PackageURL: a.PURL, Hashes: sums}, nil
}

// properties returns the pairs of name and value whose value is not empty.
func properties(pairs ...string) *[]cdx.Property {
	var props []cdx.Property
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			props = append(props, cdx.Property{Name: namespace + pairs[i], Value: pairs[i+1]})
		}
	}
	if props == nil {
		return nil
	}
	return &props
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

func hashes(sum string) (*[]cdx.Hash, error) {
	if sum == "" {
		return nil, nil
	}
	if !sha256Form.MatchString(sum) {
		return nil, fmt.Errorf("%q is no SHA-256 in lower-case hex", sum)
	}
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}, nil
}

func references(sources []Source) (*[]cdx.ExternalReference, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	refs := make([]cdx.ExternalReference, len(sources))
	for i, s := range sources {
		address, err := publicURL(s.URL)
		if err != nil {
			return nil, err
		}
		refs[i] = cdx.ExternalReference{URL: address, Type: cdx.ERTypeSourceDistribution}
		if isRepository(address) {
			refs[i].Type = cdx.ERTypeVCS
		}
		if refs[i].Hashes, err = hashes(s.SHA256); err != nil {
			return nil, fmt.Errorf("source %s: %w", address, err)
		}
	}
	return &refs, nil
}

// publicURL returns an address without what belongs to one machine or person.
func publicURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil {
		// The error of url.Parse repeats the address, password and all.
		return "", errors.New("the address of a source cannot be parsed")
	}
	u.User = nil
	if !u.IsAbs() || u.Scheme == "file" || u.Host == "" {
		return "", fmt.Errorf("address %q of a source leads nowhere from another machine", u)
	}
	return u.String(), nil
}

// isRepository tells a repository's address from an archive's.
func isRepository(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	scheme, _, _ := strings.Cut(u.Scheme, "+")
	if scheme == "git" || scheme == "ssh" || strings.HasSuffix(u.Path, ".git") {
		return true
	}
	// github.com/owner/name and nothing after it.
	return u.Host == "github.com" && strings.Count(strings.Trim(u.Path, "/"), "/") == 1
}

func patch(p Patch) (cdx.Patch, error) {
	if p.Name == "" {
		return cdx.Patch{}, errors.New("a patch has no name")
	}
	if _, err := hashes(p.SHA256); err != nil {
		return cdx.Patch{}, fmt.Errorf("patch %s: %w", p.Name, err)
	}
	where := (&url.URL{Path: p.Name}).String()
	if p.URL != "" {
		var err error
		if where, err = publicURL(p.URL); err != nil {
			return cdx.Patch{}, fmt.Errorf("patch %s: %w", p.Name, err)
		}
	}
	return cdx.Patch{Type: cdx.PatchTypeUnofficial, Diff: &cdx.Diff{URL: where}}, nil
}

func files(c Component) (*[]cdx.Component, error) {
	if len(c.Files) == 0 {
		return nil, nil
	}
	sorted := slices.SortedFunc(slices.Values(c.Files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	out := make([]cdx.Component, len(sorted))
	for i, f := range sorted {
		switch {
		case f.Path == "" || path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == ".." || strings.HasPrefix(f.Path, "../"):
			return nil, fmt.Errorf("path %q of a file does not lie in the bundle", f.Path)
		case i > 0 && sorted[i-1].Path == f.Path:
			return nil, fmt.Errorf("file %s is there twice", f.Path)
		}
		sums, err := hashes(f.SHA256)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", f.Path, err)
		}
		out[i] = cdx.Component{
			BOMRef: ref(c.Name) + ":file:" + f.Path, Type: cdx.ComponentTypeFile, Name: f.Path, Hashes: sums,
		}
	}
	return &out, nil
}

func licenses(license string) *cdx.Licenses {
	switch {
	case license == "":
		return nil
	case isSPDX(license):
		// A single identifier is an expression too (SPDX 2.3, annex D), and
		// license.id would bind the reader to the list of one SPDX release.
		return &cdx.Licenses{{Expression: license}}
	}
	return &cdx.Licenses{{License: &cdx.License{Name: license}}}
}
