package bundle

import (
	"io"

	"github.com/stonemason-hip/stonemason/internal/plan"
	"github.com/stonemason-hip/stonemason/internal/sbom"
)

// writeSBOM writes the bundle's bill of materials (CycloneDX 1.6, JSON).
func writeSBOM(w io.Writer, m *Manifest) error {
	doc := sbom.Doc{Name: "hip-toolchain-" + m.Name, Version: m.Release, Host: m.Host}
	for _, c := range m.Components {
		doc.SerialSeed += c.Name + "=" + c.Content + "\n"
		one := sbom.Component{
			Name: c.Name, Version: c.Version, License: c.License, Provider: c.Provider,
			DependsOn: c.Needs, ContentID: c.Content,
		}
		for _, s := range c.Sources {
			if one.PURL == "" {
				one.PURL = purl(s)
				one.SHA256 = s.SHA256
			}
			one.SourceURLs = append(one.SourceURLs, s.URLs...)
		}
		for _, p := range c.Patches {
			one.Patches = append(one.Patches, sbom.Patch{Name: p.File, SHA256: p.SHA256, URL: p.Link})
		}
		doc.Components = append(doc.Components, one)
	}
	return sbom.Write(w, doc)
}

func purl(s plan.Source) string {
	switch {
	case s.Commit != "" && len(s.URLs) > 0:
		return sbom.GitHub(s.URLs[0], s.Commit)
	case s.Package != "":
		return sbom.Debian(s.Package)
	}
	return ""
}
