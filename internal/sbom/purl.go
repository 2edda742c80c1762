package sbom

import (
	"regexp"
	"strings"
)

// purlForm is the outline of a package URL (package-url/purl-spec): type, at
// least one segment, and the rest without spaces.
var purlForm = regexp.MustCompile(`^pkg:[a-z][a-z0-9.+-]*/[^\s@?#/]+(/[^\s@?#/]+)*(@[^\s@?#]+)?(\?[^\s#]+)?(#[^\s]+)?$`)

// DebianPURL returns the package URL of a package of a Debian archive:
// distribution is debian or ubuntu, arch is source for a source package.
//
//	pkg:deb/debian/rocm-llvm@7.0.2%2Bdfsg-1?arch=source
func DebianPURL(distribution, name, version, arch string) string {
	// The type demands lower case of vendor and name.
	s := "pkg:deb/" + escape(strings.ToLower(distribution)) + "/" + escape(strings.ToLower(name))
	if version != "" {
		s += "@" + escape(version)
	}
	if arch != "" {
		s += "?arch=" + escape(arch)
	}
	return s
}

// GitHubPURL returns the package URL of a commit or tag of a GitHub repository,
// and of a folder in it when subpath is not empty. The type demands lower case
// of owner and repository.
//
//	pkg:github/rocm/llvm-project@0123abc#amd/device-libs
func GitHubPURL(owner, repository, commit, subpath string) string {
	s := "pkg:github/" + escape(strings.ToLower(owner)) + "/" + escape(strings.ToLower(repository))
	if commit != "" {
		s += "@" + escape(commit)
	}
	var parts []string
	for _, part := range strings.Split(subpath, "/") {
		if part != "" && part != "." && part != ".." {
			parts = append(parts, escape(part))
		}
	}
	if len(parts) > 0 {
		s += "#" + strings.Join(parts, "/")
	}
	return s
}

// NPMPURL returns the package URL of a version of an npm package. The name's
// scope is the namespace, with its @ escaped.
//
//	pkg:npm/%40scope/name@1.2.3
func NPMPURL(name, version string) string {
	var parts []string
	for _, part := range strings.Split(name, "/") {
		parts = append(parts, escape(part))
	}
	return "pkg:npm/" + strings.Join(parts, "/") + "@" + escape(version)
}

// GenericPURL returns the package URL of something that no package type fits:
// a download with its address and the SHA-256 of its bytes in hex.
func GenericPURL(name, version, address, sha256 string) string {
	s := "pkg:generic/" + escape(name)
	if version != "" {
		s += "@" + escape(version)
	}
	sep := "?" // qualifiers are sorted by name
	if sha256 != "" {
		s += sep + "checksum=sha256:" + escape(sha256)
		sep = "&"
	}
	if address != "" {
		s += sep + "download_url=" + escape(address)
	}
	return s
}

// escape percent-encodes all but letters, digits, . - _ ~ and the colon, which
// the specification of package URLs keeps as it is.
func escape(s string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			c == '.', c == '-', c == '_', c == '~', c == ':':
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
