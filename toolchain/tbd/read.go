package tbd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/stonemason-hip/stonemason/internal/bounded"
)

// Bounds on what is read. The largest stubs of an SDK have 3 MB, 40 documents
// and 60,000 symbols.
const (
	maxFile      = 64 << 20
	maxDocuments = 4 << 10
	maxNames     = 2 << 20 // symbols, targets and other names of one file
	maxName      = 16 << 10
)

// Open reads the stub with a name in a file system, such as os.DirFS or an
// os.Root's; see Parse.
func Open(fsys fs.FS, name string) (*File, error) {
	data, err := bounded.ReadFile(fsys, name, maxFile)
	if err != nil {
		return nil, err
	}
	stub, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return stub, nil
}

// Parse reads a stub. What does not begin as one gives ErrNotTBD; every other
// error means a version that is not read, or a damaged file, and names the
// line.
func Parse(data []byte) (*File, error) {
	if len(data) > maxFile {
		return nil, fmt.Errorf("the stub has more than %d MiB", maxFile>>20)
	}
	head := data[:min(len(data), 4<<10)]
	if !bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("--- !tapi-tbd")) {
		if bytes.Contains(head, []byte(`"tapi_tbd_version"`)) {
			return nil, errors.New("text stubs of version 5 (JSON) are not read: only version 4")
		}
		return nil, ErrNotTBD
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	r := &reader{}
	file := &File{}
	for {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("damaged stub: %w", err)
		}
		if len(file.Libraries) == maxDocuments {
			return nil, fmt.Errorf("damaged stub: more than %d documents", maxDocuments)
		}
		if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
			return nil, errors.New("damaged stub: an empty document")
		}
		l, err := r.library(doc.Content[0])
		if err != nil {
			return nil, err
		}
		file.Libraries = append(file.Libraries, l)
	}
	if len(file.Libraries) == 0 {
		return nil, errors.New("damaged stub: no document")
	}
	return file, nil
}

// reader turns nodes into libraries and counts the names.
type reader struct {
	names int
	// lists remembers lists of targets by what they say: a file says the same
	// few hundreds of times.
	lists map[string][]string
}

func damaged(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("damaged stub: line %d: %s", n.Line, fmt.Sprintf(format, args...))
}

// pairs calls take with each key of a mapping and its value.
func pairs(n *yaml.Node, take func(key string, value *yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return damaged(n, "a mapping is expected")
	}
	seen := make([]string, 0, 16)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode || value.Kind == yaml.AliasNode {
			return damaged(key, "a name and a value without an alias are expected")
		}
		if slices.Contains(seen, key.Value) {
			return damaged(key, "%s is there twice", clip(key.Value))
		}
		seen = append(seen, key.Value)
		if err := take(key.Value, value); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) library(n *yaml.Node) (*Library, error) {
	if n.Tag != "!tapi-tbd" {
		return nil, damaged(n, "a document with the tag %s: only !tapi-tbd of version 4 is read", clip(n.Tag))
	}
	l := &Library{CurrentVersion: "1.0", CompatibilityVersion: "1.0"}
	version := ""
	err := pairs(n, func(key string, v *yaml.Node) (err error) {
		switch key {
		case "tbd-version":
			version, err = r.scalar(v)
		case "targets":
			l.Targets, err = r.targets(v)
		case "install-name":
			l.InstallName, err = r.scalar(v)
		case "current-version":
			l.CurrentVersion, err = r.scalar(v)
		case "compatibility-version":
			l.CompatibilityVersion, err = r.scalar(v)
		case "flags":
			l.Flags, err = r.list(v)
		case "parent-umbrella":
			l.ParentUmbrella, err = r.scoped(v, "umbrella")
		case "allowable-clients":
			l.AllowableClients, err = r.scoped(v, "clients")
		case "reexported-libraries":
			l.ReexportedLibraries, err = r.scoped(v, "libraries")
		case "exports":
			l.Exports, err = r.sections(v)
		case "reexports":
			l.Reexports, err = r.sections(v)
		case "undefineds":
			l.Undefineds, err = r.sections(v)
		case "uuids", "swift-abi-version", "rpaths":
			// Nothing that a linker of C and C++ asks for.
		default:
			err = damaged(v, "the unknown name %s", clip(key))
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case version != "4":
		return nil, damaged(n, "tbd-version is %q: only version 4 is read", clip(version))
	case l.InstallName == "":
		return nil, damaged(n, "install-name is missing")
	case len(l.Targets) == 0:
		return nil, damaged(n, "targets are missing")
	}
	return l, nil
}

// sections reads the lists of symbols of a document.
func (r *reader) sections(n *yaml.Node) ([]Section, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, damaged(n, "a list is expected")
	}
	out := make([]Section, 0, len(n.Content))
	for _, item := range n.Content {
		var s Section
		err := pairs(item, func(key string, v *yaml.Node) (err error) {
			switch key {
			case "targets":
				s.Targets, err = r.targets(v)
			case "symbols":
				s.Symbols, err = r.list(v)
			case "weak-symbols":
				s.Weak, err = r.list(v)
			case "thread-local-symbols":
				s.ThreadLocal, err = r.list(v)
			case "objc-classes":
				s.Classes, err = r.list(v)
			case "objc-eh-types":
				s.EHTypes, err = r.list(v)
			case "objc-ivars":
				s.Ivars, err = r.list(v)
			default:
				err = damaged(v, "the unknown name %s", clip(key))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(s.Targets) == 0 {
			return nil, damaged(item, "targets are missing")
		}
		out = append(out, s)
	}
	return out, nil
}

// scoped reads a list of names by targets; key is what holds the names: one,
// or a list.
func (r *reader) scoped(n *yaml.Node, key string) ([]Names, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, damaged(n, "a list is expected")
	}
	var out []Names
	for _, item := range n.Content {
		var s Names
		err := pairs(item, func(k string, v *yaml.Node) (err error) {
			switch {
			case k == "targets":
				s.Targets, err = r.targets(v)
			case k == key && v.Kind == yaml.ScalarNode:
				var name string
				name, err = r.scalar(v)
				s.Names = []string{name}
			case k == key:
				s.Names, err = r.list(v)
			default:
				err = damaged(v, "the unknown name %s", clip(k))
			}
			return err
		})
		switch {
		case err != nil:
			return nil, err
		case len(s.Targets) == 0 || len(s.Names) == 0:
			return nil, damaged(item, "targets or %s are missing", key)
		}
		out = append(out, s)
	}
	return out, nil
}

// targets reads a list of targets; equal lists share their memory.
func (r *reader) targets(n *yaml.Node) ([]string, error) {
	list, err := r.list(n)
	if err != nil {
		return nil, err
	}
	for i, t := range list {
		arch, platform, ok := strings.Cut(t, "-")
		if !ok || arch == "" || platform == "" {
			return nil, damaged(n.Content[i], "%s is no target (arm64-macos)", clip(t))
		}
	}
	key := strings.Join(list, " ")
	if known, ok := r.lists[key]; ok {
		return known, nil
	}
	if r.lists == nil {
		r.lists = map[string][]string{}
	}
	r.lists[key] = list
	return list, nil
}

func (r *reader) list(n *yaml.Node) ([]string, error) {
	if n.Kind != yaml.SequenceNode {
		return nil, damaged(n, "a list is expected")
	}
	out := make([]string, len(n.Content))
	for i, item := range n.Content {
		s, err := r.scalar(item)
		if err != nil {
			return nil, err
		}
		out[i] = s
	}
	return out, nil
}

func (r *reader) scalar(n *yaml.Node) (string, error) {
	if r.names++; r.names > maxNames {
		return "", damaged(n, "more than %d names", maxNames)
	}
	switch {
	case n.Kind != yaml.ScalarNode:
		return "", damaged(n, "one value is expected")
	case n.Value == "" || len(n.Value) > maxName:
		return "", damaged(n, "a value is empty or has more than %d bytes", maxName)
	case strings.ContainsFunc(n.Value, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return "", damaged(n, "a value holds control characters")
	}
	return n.Value, nil
}

// clip shortens what is quoted in an error.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
