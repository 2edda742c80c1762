package importer

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// Edit replaces a passage that stands once in a header.
type Edit struct {
	Header string `yaml:"header" sm:"required"`
	Old    string `yaml:"old" sm:"required"`
	New    string `yaml:"new"`
}

// maxHeader bounds a header that is edited, in bytes.
const maxHeader = 16 << 20

var (
	plainHeader = regexp.MustCompile(`^[a-z_0-9]+$`)
	cHeader     = regexp.MustCompile(`^[a-z_0-9]+\.h$`)
)

func (a *Annotations) headersCheck() error {
	var errs []error
	for _, name := range sortedKeys(a.Instead) {
		path := yamlx.Field("instead", name)
		if !plainHeader.MatchString(name) {
			errs = append(errs, a.src.Errorf(path, "%q is no header of C++: their names are one word", name))
		} else if with := a.Instead[name]; with != "" && !cHeader.MatchString(with) {
			errs = append(errs, a.src.Errorf(path, "%q is no header of C, and not empty", with))
		}
	}
	for i, e := range a.Edits {
		if !filepath.IsLocal(e.Header) {
			errs = append(errs, a.src.Errorf(yamlx.Index("edits", i)+".header", "%q is no path below a folder of headers", e.Header))
		}
	}
	return yamlx.Join(errs...)
}

// replace writes what is read in place of headers into a folder, and returns the
// arguments by which clang finds it.
func (c Clang) replace(dir string, a *Annotations) ([]string, error) {
	var args []string
	if len(a.Instead) > 0 {
		folder := filepath.Join(dir, "instead")
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, err
		}
		for _, name := range sortedKeys(a.Instead) {
			text := ""
			if with := a.Instead[name]; with != "" {
				text = "#include <" + with + ">\n"
			}
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
		args = append(args, "-idirafter", folder)
	}
	if len(a.Edits) == 0 {
		return args, nil
	}
	overlay, err := c.edit(dir, a.Edits)
	if err != nil {
		return nil, err
	}
	return append(args, "-ivfsoverlay", overlay), nil
}

// overlayFile is a file of clang's virtual file system
// (llvm/include/llvm/Support/VirtualFileSystem.h).
type overlayFile struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Contents string `json:"external-contents"`
}

// edit writes the edited headers, and the overlay by which clang reads them
// where the originals lie, so that what they include beside them is found.
func (c Clang) edit(dir string, edits []Edit) (overlay string, err error) {
	texts := map[string]string{}
	for _, e := range edits {
		file, text := "", ""
		for _, folder := range c.Includes {
			path, err := filepath.Abs(filepath.Join(folder, e.Header))
			if err != nil {
				return "", err
			}
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= maxHeader {
				file = path
				break
			}
		}
		if file == "" {
			return "", fmt.Errorf("%s, which the annotations edit, is not in %s", e.Header, strings.Join(c.Includes, ", "))
		}
		text, ok := texts[file]
		if !ok {
			data, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			text = string(data)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return "", fmt.Errorf("%s: %q, which the annotations edit, stands there %d times, not once", file, e.Old, n)
		}
		texts[file] = strings.Replace(text, e.Old, e.New, 1)
	}
	tree := struct {
		Version       int           `json:"version"`
		CaseSensitive bool          `json:"case-sensitive"`
		ExternalNames bool          `json:"use-external-names"`
		Roots         []overlayFile `json:"roots"`
	}{CaseSensitive: true}
	for i, file := range sortedKeys(texts) {
		edited := filepath.Join(dir, fmt.Sprintf("edited-%d.h", i))
		if err := os.WriteFile(edited, []byte(texts[file]), 0o600); err != nil {
			return "", err
		}
		tree.Roots = append(tree.Roots, overlayFile{Name: file, Type: "file", Contents: edited})
	}
	data, err := json.Marshal(tree)
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, data, 0o600)
}
