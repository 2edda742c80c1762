package aptindex

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxConfigFile bounds one file of apt's configuration.
const maxConfigFile = 1 << 20

// Mirrors are the bases that serve a Debian archive, without a slash at the
// end: "http://mirror.example/debian".
type Mirrors struct {
	Main     []string // serve pool/main and dists/<suite>
	Security []string // serve pool/updates and dists/<release>-security
	Keyrings []string // files that Signed-By names for them
}

// ReadMirrors reads the apt configuration below root ("/etc/apt") and returns
// the bases that serve Debian itself, in the order in which apt reads them:
// sources.list, then sources.list.d by name. Formats: sources.list(5), the
// one-line and the deb822 style. A machine without apt has none, which is no
// error; neither is a line of somebody else's repository, or a malformed one,
// which is apt's business to report.
//
// A line counts as Debian when it has the component main, a suite of Debian's
// (bookworm, sid, stable-updates, …), and either a base that ends in /debian (or
// /debian-security) or a key of the debian-archive-keyring.
func ReadMirrors(root string) (Mirrors, error) {
	var m Mirrors
	names := []string{filepath.Join(root, "sources.list")}
	parts, err := os.ReadDir(filepath.Join(root, "sources.list.d"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return m, fmt.Errorf("read apt's configuration: %w", err)
	}
	for _, d := range parts {
		names = append(names, filepath.Join(root, "sources.list.d", d.Name()))
	}
	for _, name := range names {
		var parse func(io.Reader, func(source)) error
		switch filepath.Ext(name) {
		case ".list":
			parse = parseList
		case ".sources":
			parse = parseSources
		default:
			continue
		}
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return m, fmt.Errorf("read apt's configuration: %w", err)
		}
		// What a file says before a malformed line counts.
		_ = parse(io.LimitReader(f, maxConfigFile), func(s source) { m.add(root, s) })
		f.Close()
	}
	return m, nil
}

// source is one line, or one paragraph, of apt's configuration.
type source struct {
	uris, suites, components []string
	signedBy                 string
}

// parseList reads the one-line style:
//
//	deb [ option=value ] uri suite component...
func parseList(r io.Reader, take func(source)) error {
	s := newStanzas(r)
	for {
		line, err := s.next()
		if err != nil {
			return err
		}
		text, _, _ := strings.Cut(string(line), "#")
		kind, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		if kind != "deb" && kind != "deb-src" {
			continue
		}
		var src source
		rest = strings.TrimSpace(rest)
		if strings.HasPrefix(rest, "[") {
			options, after, ok := strings.Cut(rest[1:], "]")
			if !ok {
				continue
			}
			for option := range strings.FieldsSeq(options) {
				if value, ok := strings.CutPrefix(option, "signed-by="); ok {
					src.signedBy = value
				}
			}
			rest = after
		}
		fields := strings.Fields(rest)
		if len(fields) < 3 {
			continue
		}
		src.uris, src.suites, src.components = fields[:1], fields[1:2], fields[2:]
		take(src)
	}
}

// parseSources reads the deb822 style.
func parseSources(r io.Reader, take func(source)) error {
	s := newStanzas(r)
	for {
		p, err := s.find("")
		if err != nil {
			return err
		}
		switch strings.ToLower(p["enabled"]) {
		case "no", "false", "without", "off", "disable", "0": // apt's own list
			continue
		}
		take(source{strings.Fields(p["uris"]), strings.Fields(p["suites"]), strings.Fields(p["components"]), p["signed-by"]})
	}
}

// debianSuites are the names that suites of Debian have had since apt signs
// them by keyring files, and may have until this is read again.
func debianSuites() []string {
	return []string{
		"oldoldstable", "oldstable", "stable", "testing", "unstable", "experimental", "sid",
		"buster", "bullseye", "bookworm", "trixie", "forky", "duke",
	}
}

func isDebianSuite(suite string) bool {
	for _, tail := range []string{"-proposed-updates", "-updates", "-backports", "-backports-sloppy", "-security", "/updates"} {
		suite = strings.TrimSuffix(suite, tail)
	}
	return slices.Contains(debianSuites(), suite)
}

// add sorts one source into m.
func (m *Mirrors) add(root string, s source) {
	if !slices.Contains(s.components, "main") || !slices.ContainsFunc(s.suites, isDebianSuite) {
		return
	}
	keyed := strings.Contains(s.signedBy, "debian-archive-")
	for _, uri := range expand(root, s.uris) {
		u, err := url.Parse(uri)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "file" {
			continue
		}
		uri = strings.TrimRight(uri, "/")
		last := path.Base(u.Path)
		security := last == "debian-security" || slices.ContainsFunc(s.suites, func(suite string) bool {
			return strings.HasSuffix(suite, "-security") || strings.HasSuffix(suite, "/updates")
		})
		switch {
		case security && (last == "debian-security" || keyed):
			m.Security = addOnce(m.Security, uri)
		case !security && (last == "debian" || keyed):
			m.Main = addOnce(m.Main, uri)
		default:
			continue
		}
		// An embedded key is not a file name; neither is a fingerprint.
		if filepath.IsAbs(s.signedBy) {
			m.Keyrings = addOnce(m.Keyrings, s.signedBy)
		}
	}
}

// expand replaces "mirror+file:/etc/apt/mirrors/x.list", which cloud images
// use, by the addresses that the file lists, one a line, with options behind.
func expand(root string, uris []string) []string {
	var list []string
	for _, uri := range uris {
		name, ok := strings.CutPrefix(uri, "mirror+file:")
		if !ok {
			list = append(list, uri)
			continue
		}
		// Another root is a test's, or a chroot's.
		if rel, ok := strings.CutPrefix(name, "/etc/apt/"); ok {
			name = filepath.Join(root, rel)
		}
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(f, maxConfigFile))
		f.Close()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) > 0 && !strings.HasPrefix(fields[0], "#") {
				list = append(list, fields[0])
			}
		}
	}
	return list
}

func addOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
