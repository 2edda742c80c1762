package patch

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

// appendEntry returns the text of series.yaml with an entry for p behind the
// others; file names it in errors, and data is nil when there is none yet.
//
// Where the list ends the file, as it does in every file that was written by
// hand or by this function, the entry is put behind it as text, so that nothing
// else changes. Otherwise the file is written anew from its nodes: comments
// stay, blank lines and folded text may be laid out differently.
func appendEntry(file string, data []byte, p Patch) ([]byte, error) {
	p.Title, p.Why, p.Upstream = oneLine(p.Title), oneLine(p.Why), oneLine(p.Upstream)
	entry, err := marshal(p)
	if err != nil {
		return nil, err
	}
	if len(bytes.TrimSpace(data)) == 0 {
		data = fmt.Appendf(nil, "schema: %d\npatches:\n", SchemaVersion)
		return checkEntry(file, nil, appendText(data, entry, "  "), p)
	}
	var before Series
	if err := yamlx.Decode(file, data, &before); err != nil {
		return nil, err
	}
	if n := len(before.Patches); n > 0 && before.Patches[n-1].File >= p.File {
		return nil, fmt.Errorf("%s: the name %s does not sort behind %s: patches are applied in the order of their names", file, p.File, before.Patches[n-1].File)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	list := patchesNode(&doc)
	if list != nil && list.Style&yaml.FlowStyle == 0 && len(list.Content) > 0 {
		indent := strings.Repeat(" ", max(list.Content[0].Column-3, 0))
		if out, err := checkEntry(file, before.Patches, appendText(data, entry, indent), p); err == nil {
			return out, nil
		}
	}
	out, err := appendNode(&doc, list, entry)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return checkEntry(file, before.Patches, out, p)
}

// checkEntry reads the new text back: it must hold the old entries and p.
func checkEntry(file string, before []Patch, data []byte, p Patch) ([]byte, error) {
	var after Series
	if err := yamlx.Decode(file, data, &after); err != nil {
		return nil, fmt.Errorf("add %s to the list: %w", p.File, err)
	}
	if want := append(before[:len(before):len(before)], p); !reflect.DeepEqual(after.Patches, want) {
		return nil, fmt.Errorf("%s: the entry for %s could not be added; add it by hand", file, p.File)
	}
	return data, nil
}

// marshal writes an entry as YAML: lists on one line, ranges in quotes.
func marshal(p Patch) ([]byte, error) {
	var n yaml.Node
	if err := n.Encode(p); err != nil {
		return nil, fmt.Errorf("write the entry for %s: %w", p.File, err)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key, value := n.Content[i], n.Content[i+1]; {
		case value.Kind == yaml.SequenceNode:
			value.Style = yaml.FlowStyle
		case key.Value == "versions" || key.Value == "llvm":
			value.Style = yaml.DoubleQuotedStyle
		}
	}
	return yaml.Marshal(&n)
}

// appendText puts the entry behind the text as an item of a block list.
func appendText(data, entry []byte, indent string) []byte {
	out := bytes.TrimRight(data, " \t\r\n")
	out = append(out[:len(out):len(out)], '\n')
	if !bytes.HasSuffix(out, []byte("patches:\n")) {
		out = append(out, '\n')
	}
	lead := indent + "- "
	for line := range bytes.Lines(entry) {
		out = append(out, lead...)
		out = append(out, line...)
		lead = indent + "  "
	}
	return out
}

// patchesNode returns the list of patches of a document, or nil.
func patchesNode(doc *yaml.Node) *yaml.Node {
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	m := doc.Content[0]
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == "patches" && m.Content[i+1].Kind == yaml.SequenceNode {
			return m.Content[i+1]
		}
	}
	return nil
}

// appendNode adds the entry to the nodes of the document and writes them.
func appendNode(doc, list *yaml.Node, entry []byte) ([]byte, error) {
	var item yaml.Node
	if err := yaml.Unmarshal(entry, &item); err != nil {
		return nil, err
	}
	if list == nil {
		list = &yaml.Node{Kind: yaml.SequenceNode}
		m := doc.Content[0]
		m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "patches"}, list)
	}
	list.Style = 0
	list.Content = append(list.Content, item.Content[0])
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}
