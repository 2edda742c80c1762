package yamlx

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The types of a small file that has every feature. The differential test of
// the schema uses them too.

type provider string

func (provider) Values() []string { return []string{"source", "system", "prebuilt"} }

type toggle struct {
	Enabled  bool     `yaml:"enabled"`
	Provider provider `yaml:"provider" doc:"where it comes from"`
	Version  string   `yaml:"version" pattern:"^[0-9]+(\\.[0-9]+)*$"`
}

func (t *toggle) UnmarshalYAMLX(n *Node) error {
	if n.IsScalar() {
		return n.Decode(&t.Enabled)
	}
	t.Enabled = true
	type plain toggle
	return n.Decode((*plain)(t))
}

func (toggle) Forms() []any { type plain toggle; return []any{false, plain{}} }

// platform decodes from text and refuses what is no pair of words.
type platform struct{ os, arch string }

func (p *platform) UnmarshalText(text []byte) error {
	var ok bool
	if p.os, p.arch, ok = strings.Cut(string(text), "-"); !ok {
		return fmt.Errorf("platform %q has no -", text)
	}
	return nil
}

type common struct {
	Name string `yaml:"name"`
	At   Pos    `yaml:",pos"`
}

type cmakeStep struct {
	Common common            `yaml:",inline"`
	Defs   map[string]Scalar `yaml:"defs" keys:"^[A-Z_]+$" sm:"max=3"`
}

type step struct {
	_     struct{}   `sm:"onekey" doc:"one action"`
	CMake *cmakeStep `yaml:"cmake"`
	Run   []string   `yaml:"run" sm:"min=1"`
}

type cache struct {
	Read  []string `yaml:"read"`
	Write string   `yaml:"write"`
}

func (c *cache) CheckYAMLX(n *Node) error {
	if c.Write != "" && c.Read == nil {
		return n.Errorf("write needs read")
	}
	if c.Write == "bad" {
		return errors.New("bad cache")
	}
	return nil
}

type config struct {
	_          struct{}              `doc:"a file with everything"`
	Version    string                `yaml:"version" sm:"required,min=1,max=20" doc:"the release"`
	Channel    string                `yaml:"channel" sm:"enum=auto|upstream|debian"`
	Hosts      Strings               `yaml:"hosts" sm:"min=1,unique"`
	Platform   *platform             `yaml:"platform"`
	GPUs       []string              `yaml:"gpus" sm:"unique,max=4" pattern:"^gfx[0-9a-f]+$"`
	Components Ordered[toggle]       `yaml:"components" keys:"^[a-z-]+$"`
	Presets    map[string][]provider `yaml:"presets"`
	Jobs       uint8                 `yaml:"jobs" sm:"min=1,max=64"`
	Offset     int64                 `yaml:"offset"`
	Load       float64               `yaml:"load" sm:"min=0.5,max=2"`
	Memory     Size                  `yaml:"memory" sm:"min=1MiB"`
	Timeout    time.Duration         `yaml:"timeout" sm:"max=1h"`
	Color      *bool                 `yaml:"color"`
	Steps      []step                `yaml:"steps"`
	Cache      cache                 `yaml:"cache"`
	Any        any                   `yaml:"any"`
	Raw        *Node                 `yaml:"raw"`
	Tree       *tree                 `yaml:"tree"`
}

type tree struct {
	Name string `yaml:"name" sm:"required"`
	Kids []tree `yaml:"kids"`
}

const good = `# a comment
version: "7.0.2"
channel: debian
hosts: linux-amd64
platform: linux-amd64
gpus: [gfx90a, gfx942]
components:
  hipify: on
  comgr:
    provider: system
    version: "7.0"
  amd-llvm: {enabled: false}
presets: {full: [source, prebuilt]}
jobs: 8
offset: -9223372036854775808
load: 1.5
memory: 1.5GiB
timeout: 10m30s
color: off
steps:
- cmake: {name: configure, defs: {A: on, B: 3, C: x y}}
- run: [ninja, -v]
cache: {read: [a], write: b}
any: {x: [1, two, 3.5, true]}
raw: {later: 1}
tree: {name: a, kids: [{name: b}, {name: c, kids: []}]}
`

func TestDecode(t *testing.T) {
	var got config
	src, err := DecodeSource("therock.yaml", []byte("\xef\xbb\xbf"+good), &got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Raw == nil || got.Raw.Path() != "raw" || got.Raw.Get("later").Text() != "1" {
		t.Errorf("raw node = %v", got.Raw)
	}
	got.Raw = nil
	f := false
	want := config{
		Version: "7.0.2", Channel: "debian", Hosts: Strings{"linux-amd64"},
		Platform: &platform{"linux", "amd64"},
		GPUs:     []string{"gfx90a", "gfx942"},
		Components: Ordered[toggle]{
			{"hipify", toggle{Enabled: true}, Pos{"therock.yaml", 8, 3}},
			{"comgr", toggle{Enabled: true, Provider: "system", Version: "7.0"}, Pos{"therock.yaml", 9, 3}},
			{"amd-llvm", toggle{}, Pos{"therock.yaml", 12, 3}},
		},
		Presets: map[string][]provider{"full": {"source", "prebuilt"}},
		Jobs:    8, Offset: -1 << 63, Load: 1.5, Memory: 3 << 29,
		Timeout: 10*time.Minute + 30*time.Second, Color: &f,
		Steps: []step{
			{CMake: &cmakeStep{
				Common: common{"configure", Pos{"therock.yaml", 21, 10}},
				Defs:   map[string]Scalar{"A": "on", "B": "3", "C": "x y"},
			}},
			{Run: []string{"ninja", "-v"}},
		},
		Cache: cache{[]string{"a"}, "b"},
		Any:   map[string]any{"x": []any{int64(1), "two", 3.5, true}},
		Tree:  &tree{"a", []tree{{Name: "b"}, {"c", []tree{}}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("decoded\n%+v\nwant\n%+v", got, want)
	}
	for path, want := range map[string]string{
		"":                          "therock.yaml:2:1",
		"version":                   "therock.yaml:2:10",
		"components.comgr.provider": "therock.yaml:10:15",
		"gpus[1]":                   "therock.yaml:6:16",
		"gpus[2]":                   "therock.yaml:6:7",
		"gpus[7]":                   "therock.yaml:6:7", // not there: the nearest that is
		"components.comgr.nothing":  "therock.yaml:10:5",
		"tree.kids[1].name":         "therock.yaml:26:42",
		"nowhere":                   "therock.yaml:2:1",
		"any[\"x\"][0]":             "therock.yaml:24:11",
		"a..b[":                     "therock.yaml:2:1",
		"[99999999999999999999]":    "therock.yaml:2:1",
	} {
		if got := src.At(path).String(); got != want {
			t.Errorf("At(%q) = %s, want %s", path, got, want)
		}
	}
	if got := src.KeyAt("components.comgr").String(); got != "therock.yaml:9:3" {
		t.Errorf("KeyAt = %s", got)
	}
	if src.Node("gpus[7]") != nil || src.Node("gpus[0]").Text() != "gfx90a" {
		t.Error("Node does not tell what is there")
	}
	if got, want := src.Unknown("gpus[1]", "GPU", "gfx924", []string{"gfx90a", "gfx942"}).Error(),
		`therock.yaml:6:16: unknown GPU "gfx924": did you mean "gfx942"?`; got != want {
		t.Errorf("Unknown = %s", got)
	}
	if got, want := src.UnknownKey("components.comgr", "component", "zzz", []string{"comgr"}).Error(),
		`therock.yaml:9:3: unknown component "zzz": expected "comgr"`; got != want {
		t.Errorf("UnknownKey = %s", got)
	}
}

func TestDefaultsStay(t *testing.T) {
	got := config{
		Channel: "auto", Jobs: 4, Tree: &tree{Name: "old", Kids: []tree{{Name: "k"}}},
		Presets: map[string][]provider{"mine": {"system"}},
	}
	preset := got.Presets
	err := Decode("f", []byte("version: x\ntree: {name: new}\npresets: {more: []}\n"), &got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Channel != "auto" || got.Jobs != 4 || got.Tree.Name != "new" || len(got.Tree.Kids) != 1 || len(got.Presets) != 2 {
		t.Errorf("defaults are gone: %+v", got)
	}
	if len(preset) != 1 {
		t.Error("the map of defaults was written to")
	}
}

func TestErrors(t *testing.T) {
	const v = "version: v\n"
	tests := []struct{ name, in, want string }{
		{"unknown key", "version: v\ncompnents: {}\n", `f:2:1: unknown key "compnents": did you mean "components"?`},
		{"unknown nested", v + "components:\n  comgr:\n    provder: system\n", `f:4:5: unknown key "provder" in components.comgr: did you mean "provider"?`},
		{"unknown far", v + "tree: {name: a, zzzzz: 1}", `f:2:17: unknown key "zzzzz" in tree: expected one of "name", "kids"`},
		{"missing", "channel: auto\n", `f:1:1: missing required key "version"`},
		{"missing nested", v + "tree:\n  kids: []\n", `f:2:1: missing required key "name" in tree`},
		{"missing in list", v + "tree: {name: a, kids: [{}]}\n", `f:2:24: missing required key "name" in tree.kids[0]`},
		{"duplicate", v + "jobs: 1\njobs: 2\n", `f:3:1: duplicate key "jobs": it stands on line 2 already`},
		{"duplicate of another type", v + "jobs: 1\njobs: x\n", `f:3:1: duplicate key "jobs": it stands on line 2 already`},
		{"duplicate nested", v + "any: {a: {b: 1, b: 2}}", `f:2:17: duplicate key "b" in any.a: it stands on line 2 already`},
		{"number for string", "version: 7.0\n", `f:1:10: version: found the number 7.0, expected a string: put it in quotes: "7.0"`},
		{"list for string", "version: [a]\n", `f:1:10: version: found a list, expected a string`},
		{"string for list", v + "gpus: gfx942\n", `f:2:7: gpus: found the string "gfx942", expected a list`},
		{"list for map", v + "cache: []\n", `f:2:8: cache: found a list, expected a mapping`},
		{"map for bool", v + "color: {}\n", `f:2:8: color: found a mapping, expected true or false`},
		{"yes for bool", v + "color: yes\n", `f:2:8: color: found the string "yes", expected true or false: did you mean "true"?`},
		{"quoted bool", v + "color: \"true\"\n", `f:2:8: color: found the string "true", expected true or false: did you mean "true"?`},
		{"no value", v + "jobs:\n", `f:2:6: jobs: found no value: give it a value or remove the key`},
		{"tilde", v + "components: {comgr: ~}\n", `f:2:21: components.comgr: found no value: give it a value or remove the key`},
		{"enum", v + "channel: upsteam\n", `f:2:10: channel: found "upsteam", expected one of "auto", "upstream", "debian": did you mean "upstream"?`},
		{"enum type", v + "components: {comgr: {provider: sorce}}", `f:2:32: components.comgr.provider: found "sorce", expected one of "source", "system", "prebuilt": did you mean "source"?`},
		{"enum in list", v + "presets: {a: [source, systm]}", `f:2:23: presets.a[1]: found "systm", expected one of "source", "system", "prebuilt": did you mean "system"?`},
		{"pattern", v + "gpus: [gfx942, mi300]", `f:2:16: gpus[1]: found the string "mi300", expected a string that matches ^gfx[0-9a-f]+$`},
		{"key pattern", v + "components: {Foo: on}", `f:2:14: components.Foo: found "Foo", expected a key that matches ^[a-z-]+$`},
		{"odd key", v + "components: {a.b: on}", `f:2:14: components["a.b"]: found "a.b", expected a key that matches ^[a-z-]+$`},
		{"unique", v + "gpus: [gfx942,\n gfx942]", `f:3:2: gpus[1]: "gfx942" stands on line 2 already`},
		{"unique strings", v + "hosts: [a, a]", `f:2:12: hosts[1]: "a" stands on line 2 already`},
		{"min list", v + "hosts: []\n", `f:2:8: hosts: found 0 entries, expected at least 1`},
		{"max list", v + "gpus: [gfx1, gfx2, gfx3, gfx4, gfx5]", `f:2:7: gpus: found 5 entries, expected at most 4`},
		{"max map", v + "steps: [cmake: {defs: {A: 1, B: 1, C: 1, D: 1}}]", `f:2:23: steps[0].cmake.defs: found 4 entries, expected at most 3`},
		{"empty string", "version: \"\"\n", `f:1:10: version: found an empty string, expected at least 1 character`},
		{"long string", "version: aaaaaaaaaaaaaaaaaaaaa\n", `f:1:10: version: found 21 characters, expected at most 20`},
		{"below", v + "jobs: 0\n", `f:2:7: jobs: found the number 0, expected at least 1`},
		{"above", v + "jobs: 65\n", `f:2:7: jobs: found the number 65, expected at most 64`},
		{"overflow", v + "jobs: 256\n", `f:2:7: jobs: found the number 256, expected a number from 1 to 64`},
		{"negative", v + "jobs: -1\n", `f:2:7: jobs: found the number -1, expected a number from 1 to 64`},
		{"overflow 64", v + "offset: 9223372036854775808\n", `f:2:9: offset: found the number 9223372036854775808, expected a number from -9223372036854775808 to 9223372036854775807`},
		{"octal", v + "jobs: 010\n", `f:2:7: jobs: found the number 010, expected a whole number`},
		{"hex", v + "jobs: 0x10\n", `f:2:7: jobs: found the number 0x10, expected a whole number`},
		{"fraction", v + "jobs: 1.0\n", `f:2:7: jobs: found the number 1.0, expected a whole number`},
		{"nan", v + "load: .nan\n", `f:2:7: load: found the number .nan, expected a number`},
		{"float bound", v + "load: 2.5\n", `f:2:7: load: found the number 2.5, expected at most 2`},
		{"float range", v + "load: 1e999\n", `f:2:7: load: found the string "1e999", expected a number`},
		{"size", v + "memory: 5XB\n", `f:2:9: memory: found the string "5XB", expected a size such as "20GB" or "512MiB"`},
		{"size bound", v + "memory: 1kB\n", `f:2:9: memory: found the string "1kB", expected at least 1MiB`},
		{"size too large", v + "memory: 99999999TB\n", `f:2:9: memory: found the string "99999999TB", expected a size such as "20GB" or "512MiB": size "99999999TB" is too large: not a whole number of 63 bits`},
		{"duration", v + "timeout: 90\n", `f:2:10: timeout: found the number 90, expected a duration such as "90s" or "1h30m"`},
		{"duration bound", v + "timeout: 61m\n", `f:2:10: timeout: found the string "61m", expected at most 1h`},
		{"text", v + "platform: linux\n", `f:2:11: platform: platform "linux" has no -`},
		{"scalar", v + "steps: [cmake: {defs: {A: [1]}}]", `f:2:27: steps[0].cmake.defs.A: found a list, expected a string, a number or a boolean`},
		{"strings", v + "hosts: {a: b}", `f:2:8: hosts: found a mapping, expected a string or a list of strings`},
		{"two keys", v + "steps: [{run: [a], cmake: {}}]", `f:2:9: steps[0]: found 2 keys, expected exactly one of the keys "cmake", "run"`},
		{"no key", v + "steps: [{}]", `f:2:9: steps[0]: found 0 keys, expected exactly one of the keys "cmake", "run"`},
		{"check", v + "cache: {write: x}", `f:2:8: cache: write needs read`},
		{"check without position", v + "cache: {write: bad, read: [x]}", `f:2:8: cache: bad cache`},
		{"any", v + "any: {a: 0x10}", `f:2:10: any.a: found the number 0x10, expected a decimal number`},

		{"empty", "", `f:1:1: the file is empty`},
		{"only comments", "# nothing\n", `f:1:1: the file is empty`},
		{"only null", "~\n", `f:1:1: the file is empty`},
		{"only bom", "\xef\xbb\xbf", `f:1:1: the file is empty`},
		{"two documents", v + "---\nversion: w\n", `f:2:1: a second document begins here: a file holds one`},
		{"broken second document", v + "---\na: [\n", `f:3: not valid YAML: did not find expected node content`},
		{"wrong top", "- a\n", `f:1:1: found a list, expected a mapping`},
		{"scalar top", "hello\n", `f:1:1: found the string "hello", expected a mapping`},
		{"anchor", "version: &a v\n", `f:1:10: anchors (&a) are not accepted: write the value out where it is needed`},
		{"merge", v + "tree:\n  <<: {name: a}\n", `f:3:3: merge keys ("<<") are not accepted: write the keys out`},
		{"tag", "version: !!str 7\n", `f:1:10: tags (!!str) are not accepted: write the value without it`},
		{"own tag", "version: !env HOME\n", `f:1:10: tags (!env) are not accepted: write the value without it`},
		{"alias unknown", "version: *a\n", `f:1: not valid YAML: unknown anchor 'a' referenced`},
		{"number key", "any: {942: x}\n", `f:1:7: found the number 942 as a key in any, expected a string: put it in quotes: "942"`},
		{"null key", "~: x\n", `f:1:1: found no value as a key, expected a string`},
		{"list key", "? [a]\n: b\n", `f:1:3: found a list as a key, expected a string`},
		{"long key", strings.Repeat("k", 513) + ": x\n", `f:1:1: a key of 513 bytes: 512 are accepted`},
		{"latin-1", "version: v\nchannel: caf\xe9\n", `f:2:13: byte 0xe9 is not valid UTF-8: save the file as UTF-8`},
		{"utf-16", "\xff\xfev\x00", `f:1:1: byte 0xff is not valid UTF-8: save the file as UTF-8`},
		{"control", "version: a\x00b\n", `f:1:11: character U+0000 is not allowed in YAML`},
		{"tab", v + "tree:\n\tname: a\n", `f:3:1: tab in the indentation: YAML indents with spaces`},
		{"open quote", "version: 'v\nchannel: auto\n\n", `f:1: not valid YAML: found unexpected end of stream: a quote that opens here is not closed`},
		{"bad indent", "version: v\nhosts:\n  - a\n - b\n", `f:4: not valid YAML: did not find expected key`},
		{"colon", "version: v\nchannel: a: b\n", `f:2: not valid YAML: mapping values are not allowed in this context: check the indentation, and quote a value that contains ": "`},
		{"stray word", "version: v\njobs: 1\n\nchannel\n", `f:4: not valid YAML: could not find expected ':'`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var c config
			err := Decode("f", []byte(tt.in), &c)
			if err == nil {
				t.Fatalf("accepted %q as %+v", tt.in, c)
			}
			var list Errors
			var one *Error
			if !errors.As(err, &list) || !errors.As(err, &one) {
				t.Fatalf("error is a %T: %v", err, err)
			}
			if err.Error() != tt.want {
				t.Errorf("input\n%s\ngot  %v\nwant %s", tt.in, err, tt.want)
			}
		})
	}
}

func TestManyErrors(t *testing.T) {
	in := "jobs: 0\nchannel: x\n"
	for i := range 20 {
		in += fmt.Sprintf("k%02d: 1\n", i)
	}
	var list Errors
	if !errors.As(Decode("f", []byte(in), &config{}), &list) || len(list) != maxErrors {
		t.Fatalf("%d errors, want %d", len(list), maxErrors)
	}
	for i, e := range list {
		// The missing version is at 1:1, before the number on the same line.
		if want := max(i, 1); e.Line != want {
			t.Errorf("error %d is on line %d, want %d: %v", i, e.Line, want, e)
		}
	}
}

func TestLimits(t *testing.T) {
	tests := []struct {
		name, in, want string
		opts           []Option
	}{
		{"size", strings.Repeat("#", 1<<20+1), "f: the file has 1048577 bytes, more than the 1048576 that are accepted", nil},
		{"own size", "version: v", "f: the file has 10 bytes, more than the 5 that are accepted", []Option{MaxBytes(5)}},
		{"depth", "any: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "f:1:105: mappings and lists nest deeper than 100 levels", nil},
		{"own depth", "any: [[[1]]]", "f:1:8: mappings and lists nest deeper than 3 levels", []Option{MaxDepth(3)}},
		{"very deep", strings.Repeat("[", 500000), "f:1: not valid YAML: exceeded max depth of 10000", nil},
	}
	for _, tt := range tests {
		if err := Decode("f", []byte(tt.in), &config{}, tt.opts...); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	ok := "version: v\nany: " + strings.Repeat("[", 98) + strings.Repeat("]", 98)
	if err := Decode("f", []byte(ok), &config{}); err != nil {
		t.Errorf("depth within the limit: %v", err)
	}
}

func TestAliasBomb(t *testing.T) {
	in := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'm'; c++ {
		in += fmt.Sprintf("%c: &%c [*%c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c,*%[3]c]\n", c, c, c-1)
	}
	err := Decode("f", []byte(in), &map[string]any{})
	if err == nil || !strings.HasPrefix(err.Error(), "f:1:4: anchors (&a) are not accepted") {
		t.Errorf("bomb: %v", err)
	}
}

func TestBadTypes(t *testing.T) {
	tests := []struct {
		name string
		out  any
		want string
	}{
		{"no pointer", config{}, "must be a pointer"},
		{"nil", nil, "must be a pointer"},
		{"channel", &struct {
			A chan int `yaml:"a"`
		}{}, "no YAML gives a chan int"},
		{"map key", &map[int]string{}, "its keys are not strings"},
		{"tag word", &struct {
			A int `yaml:"a" sm:"requierd"`
		}{}, `unknown word "requierd"`},
		{"yaml option", &struct {
			A int `yaml:"a,flow"`
		}{}, `unknown option "flow"`},
		{"pattern", &struct {
			A string `yaml:"a" pattern:"("`
		}{}, "missing closing"},
		{"pattern on number", &struct {
			A int `yaml:"a" pattern:"x"`
		}{}, "apply to strings"},
		{"unique", &struct {
			A string `yaml:"a" sm:"unique"`
		}{}, "unique applies"},
		{"keys", &struct {
			A []string `yaml:"a" keys:"x"`
		}{}, "keys applies"},
		{"bound", &struct {
			A int `yaml:"a" sm:"min=x"`
		}{}, `bound "x"`},
		{"bound on bool", &struct {
			A bool `yaml:"a" sm:"min=1"`
		}{}, "do not apply"},
		{"infinite bound", &struct {
			A float64 `yaml:"a" sm:"min=inf"`
		}{}, "not a finite number"},
		{"same key", &struct {
			A int `yaml:"a"`
			B int `yaml:"a"`
		}{}, "taken by another field"},
		{"inline", &struct {
			A int `yaml:",inline"`
		}{}, "only a struct"},
		{"pos", &struct {
			A int `yaml:",pos"`
		}{}, "type yamlx.Pos"},
		{"onekey", &struct {
			A int `yaml:"a" sm:"onekey"`
		}{}, "blank field"},
	}
	for _, tt := range tests {
		err := Decode("f", []byte("a: 1"), tt.out)
		var list Errors
		if err == nil || errors.As(err, &list) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error of the types with %q", tt.name, err, tt.want)
		}
	}
}

func TestNilSource(t *testing.T) {
	var s *Source
	if !s.At("a.b").IsZero() || s.Root() != nil || s.File() != "" || s.Node("a") != nil {
		t.Error("a nil source knows something")
	}
	if got := s.Unknown("a", "GPU", "gfx1", nil).Error(); got != `unknown GPU "gfx1"` {
		t.Errorf("error without position: %s", got)
	}
	if err := DecodeNode(nil, &config{}); err == nil {
		t.Error("decoded a nil node")
	}
}

func TestPathRoundTrip(t *testing.T) {
	keys := []string{"a", "a.b", `q"q`, "x[0]", "", "ü", "-_9", "]", "\n"}
	in := "top:\n"
	for i, k := range keys {
		in += fmt.Sprintf("  %q: [x, %d]\n", k, i)
	}
	n, err := Parse("f", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{n}
	for i, k := range keys {
		path := Index(Field("top", k), 1)
		got := s.Node(path)
		if got.Text() != fmt.Sprint(i) || got.Path() != path {
			t.Errorf("path %s leads to %q with path %s", path, got.Text(), got.Path())
		}
	}
}

func TestJoin(t *testing.T) {
	if err := Join(nil, nil); err != nil {
		t.Errorf("Join of nothing = %v", err)
	}
	a := &Error{File: "f", Line: 2, Col: 1, Msg: "second"}
	b := &Error{File: "f", Line: 1, Col: 9, Msg: "first"}
	err := Join(a, nil, fmt.Errorf("wrapped: %w", Errors{b}), errors.New("plain"))
	if want := "plain\nf:1:9: first\nf:2:1: second"; err == nil || err.Error() != want {
		t.Errorf("Join = %v, want %s", err, want)
	}
}

func TestSize(t *testing.T) {
	tests := []struct {
		in    string
		bytes int64
		out   string
	}{
		{"0", 0, "0B"}, {"1", 1, "1B"}, {"20GB", 20e9, "20GB"}, {"512MiB", 512 << 20, "512MiB"},
		{"1.5GiB", 3 << 29, "1536MiB"}, {"1 kB", 1000, "1kB"}, {"1KB", 1000, "1kB"}, {"2TiB", 2 << 40, "2TiB"},
		{"1024", 1024, "1KiB"}, {"0.5kB", 500, "500B"}, {"9223372036854775807B", 1<<63 - 1, "9223372036854775807B"},
	}
	for _, tt := range tests {
		s, err := ParseSize(tt.in)
		if err != nil || int64(s) != tt.bytes || s.String() != tt.out {
			t.Errorf("ParseSize(%q) = %d (%s), %v; want %d (%s)", tt.in, s, s, err, tt.bytes, tt.out)
		}
		if back, err := ParseSize(s.String()); back != s || err != nil {
			t.Errorf("%s reads back as %d, %v", s, back, err)
		}
	}
	for _, in := range []string{"", "B", "-1", "1 ", "1  GB", "1.5B", "0.1KiB", "1e3", "1GiBx", "9223372036854775808", "1XB", "1kiB"} {
		if s, err := ParseSize(in); err == nil {
			t.Errorf("ParseSize(%q) = %d", in, s)
		}
	}
}

// The quick way gives what the exact one does, or nothing.
func TestWholeSizesAreExact(t *testing.T) {
	quick := 0
	for _, number := range []string{"", "0", "7", "007", "-1", "+1", "1.5", "9007199254740993", "9223372036854775807", "9223372036854775808", "00000000000000000001"} {
		for _, space := range []string{"", " ", "  ", "\t"} {
			for _, unit := range []string{"", "B", "k", "kB", "KB", "KiB", "kiB", "MB", "MiB", "GB", "GiB", "TB", "TiB", "tB", "iB", "BB", "PB"} {
				in := number + space + unit
				got, ok := wholeSize(in)
				want, err := exactSize(in)
				if ok && (err != nil || got != want) {
					t.Errorf("%q is %d, and exactly %d, %v", in, got, want, err)
				}
				if ok {
					quick++
				}
			}
		}
	}
	if quick < 50 {
		t.Errorf("only %d sizes were read quickly", quick)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(good))
	for _, s := range []string{"", "a: [", "a: &a *a", "\xff", "? - a\n: |\n  x\n", "%YAML 1.1\n---\na: b", "version: >-\n  x\n\n  y\n", "'", "- \t-", "{a: b, c}", "a: !<x> b", "\r\n", "#\r#\u0085"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c config
		src, err := DecodeSource("f", data, &c)
		if err == nil {
			for _, item := range c.Components {
				if src.KeyAt(Field("components", item.Key)) != item.Pos {
					t.Errorf("position of %q differs", item.Key)
				}
			}
			return
		}
		var list Errors
		if !errors.As(err, &list) || len(list) == 0 || len(list) > maxErrors {
			t.Fatalf("error is a %T with %d entries: %v", err, len(list), err)
		}
		for i, e := range list {
			if e.Line < 1 || i > 0 && comparePos(list[i-1], e) > 0 {
				t.Errorf("error %d without or out of place: %v", i, e)
			}
		}
	})
}
