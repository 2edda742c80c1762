package bundle

import (
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/npm"
	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/sbom"
)

// writeSBOM writes the bundle's bill of materials (CycloneDX 1.6, JSON).
func writeSBOM(w io.Writer, m *Manifest) error {
	doc := sbom.Doc{Name: "hip-toolchain-" + m.Name, Version: m.Release, Host: m.Host, Tool: "stonemason"}
	for _, c := range m.Components {
		doc.SerialSeed += c.Name + "=" + c.Content + "\n"
		one := sbom.Component{
			Name: c.Name, Version: c.Version, License: c.License, Provider: c.Provider,
			DependsOn: c.Needs, ContentID: c.Content,
		}
		for _, s := range c.Sources {
			name, version := s.Name, s.Version
			if s.Package != "" {
				name, version, _ = strings.Cut(s.Package, "=")
			}
			one.Ancestors = append(one.Ancestors, sbom.Ancestor{Name: name, Version: version, PURL: purl(s), SHA256: s.SHA256})
			for _, u := range s.URLs {
				if strings.HasPrefix(u, npm.Scheme) {
					continue // the package URL names it: its address is each machine's own
				}
				one.Sources = append(one.Sources, sbom.Source{URL: u, SHA256: s.SHA256})
			}
		}
		// What has one source goes by its name; what has
		// several is none of them.
		if len(one.Ancestors) == 1 {
			one.PURL, one.SHA256, one.Ancestors = one.Ancestors[0].PURL, one.Ancestors[0].SHA256, nil
		}
		for _, p := range c.Patches {
			link := p.Link
			if !strings.HasPrefix(link, "https://") {
				link = ""
			}
			one.Patches = append(one.Patches, sbom.Patch{Name: p.File, SHA256: p.SHA256, URL: link, Why: p.Title})
		}
		doc.Components = append(doc.Components, one)
	}
	return sbom.Write(w, doc)
}

// purl names a source as the package URL specification does; "" for a
// workspace.
func purl(s plan.Source) string {
	switch {
	case s.Commit != "" && len(s.URLs) > 0:
		if u, err := url.Parse(s.URLs[0]); err == nil && u.Host == "github.com" {
			owner, repo := path.Split(strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git"))
			return sbom.GitHubPURL(strings.Trim(owner, "/"), repo, s.Commit, s.Path)
		}
	case s.Package != "":
		name, version, _ := strings.Cut(s.Package, "=")
		arch := "source"
		if base := path.Base(s.Pool); strings.HasSuffix(base, ".deb") {
			arch = strings.TrimSuffix(base[strings.LastIndex(base, "_")+1:], ".deb")
		}
		return sbom.DebianPURL("debian", name, version, arch)
	case len(s.URLs) > 0 && strings.HasPrefix(s.URLs[0], npm.Scheme):
		if p, err := npm.Parse(s.URLs[0]); err == nil {
			return sbom.NPMPURL(p.Name, p.Version)
		}
	case s.SHA256 != "":
		address := ""
		if len(s.URLs) > 0 {
			address = s.URLs[0]
		}
		return sbom.GenericPURL(s.Name, s.Version, address, s.SHA256)
	}
	return ""
}
