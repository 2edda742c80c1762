package api

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

// small is a description that has one of everything.
const small = `schema: 1
library: small
summary: a library of a few functions
version: "1.2"
origin:
  - {for: headers, package: small-dev, version: 1.2-1}
file: {soversion: "1", version: "1.2.3", compatibility: "1", package: small, targets: ["small::small"]}
status: {type: small_status, success: small_ok, unavailable: small_none}
nodes: [small_1.0, small_1.1]
aliases:
  address: "void *"
enums:
  attribute:
    values: {attribute_name: 0, attribute_size: 1}
    sizes: {attribute_name: 64, attribute_size: 8}
  mode:
    values: {mode_host: 0, mode_device: 1}
  small_status:
    values:
      small_ok: 0
      small_none: 7
    texts: {small_ok: fine, small_none: nothing there}
handles:
  small_t: {of: small_st, create: [small_open], destroy: [small_close], states: {pointer_mode: mode}}
records:
  pair:
    size: 16
    align: 8
    fields:
      - {name: n, type: int, offset: 0}
      - {name: flag, type: unsigned int, offset: 4, bits: 3}
      - {name: data, type: "const float *", offset: 8, dir: in, as: array, count: n}
callbacks:
  small_done:
    returns: void
    params:
      - {name: a0, type: "void *", as: token}
functions:
  small_close:
    returns: small_status
    node: small_1.0
    sync: wait
    params:
      - {name: h, type: small_t}
  small_copy:
    returns: small_status
    node: small_1.1
    sync: drain
    params:
      - {name: h, type: small_t}
      - {name: to, type: "void *", dir: out, as: either, bytes: n * sizeof(pair) + 1, by: h.pointer_mode}
      - {name: n, type: size_t}
      - {name: room, type: "int *", dir: inout, as: one}
      - {name: text, type: "char *", dir: out, as: array, count: "*room"}
      - {name: what, type: attribute}
      - {name: value, type: "void *", dir: out, as: array, bytes: sizes(what)}
      - {name: p, type: "const pair *", dir: in, as: array, count: n}
      - {name: done, type: small_done, calls: {from: caller}}
      - {name: where, type: address, as: device}
  small_name:
    returns: "const char *"
    node: small_1.0
    sync: here
    answer: {name_of: status, otherwise: small_none}
    params:
      - {name: status, type: small_status}
  small_open:
    returns: small_status
    node: small_1.0
    sync: wait
    params:
      - {name: h, type: "small_t *", dir: out, as: one}
  small_size:
    returns: size_t
    node: small_1.0
    sync: here
    answer: {set: {count: 0}, returns: 8}
    params:
      - {name: count, type: "int *", dir: out, as: one}
`

func readSmall(t *testing.T, replace ...string) (*Library, error) {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(small)
	if len(replace) > 0 && text == small {
		t.Fatalf("%q is not in the description", replace[0])
	}
	return Load(fstest.MapFS{"small.yaml": {Data: []byte(text)}}, "small")
}

func TestASmallDescription(t *testing.T) {
	l, err := readSmall(t)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(fstest.MapFS{}, "small", l.Bytes())
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, l.Bytes())
	}
	if string(again.Bytes()) != string(l.Bytes()) {
		t.Errorf("written, read and written again it is\n%s\nand was\n%s", again.Bytes(), l.Bytes())
	}
	if changes := Compare(l, again); len(changes) != 0 {
		t.Errorf("what was written differs: %v", changes)
	}
	f, _ := l.Functions.Get("small_copy")
	if got := f.Params[1].Bytes.Names(); len(got) != 1 || got[0] != "n" {
		t.Errorf("the length looks at %v", got)
	}
	if u := l.Undecided(); len(u) != 0 {
		t.Errorf("undecided: %v", u)
	}
}

// Every edit is one error, at the line of the edit.
func TestNonsense(t *testing.T) {
	for _, c := range []struct {
		old, new, want string
		more           bool // it is more than one mistake
	}{
		{"{name: n, type: size_t}", "{name: n, type: size}", `small.yaml:52:25: unknown type "size"`, false},
		{"{name: n, type: size_t}", "{name: n, type: small_st}", "small.yaml:52:25: small_st is incomplete", false},
		{"{name: n, type: size_t}", "{name: n, type: void}", "small.yaml:52:25: void is incomplete", false},
		{"{name: n, type: size_t}", `{name: n, type: "int[3]"}`, "small.yaml:52:25: a parameter is no array", false},
		{"{name: n, type: size_t}", `{name: n, type: "int (*)(int)"}`, "small.yaml:52:25: functions.small_copy.params[2].type: type \"int (*)(int)\": \"( * ) ( int )\" is not understood", false},
		{"{name: n, type: size_t}", "{name: n, type: struct pair}", `small.yaml:52:25: functions.small_copy.params[2].type: type "struct pair": "struct pair" is no basic type`, false},
		{"{name: n, type: size_t}", "{name: n, type: size_t, dir: in}", "small.yaml:52:9: size_t is no pointer", false},
		{"{name: n, type: size_t}", "{name: h, type: size_t}", "small.yaml:52:16: duplicate name h", true},
		{`count: "*room"`, `count: "*roam"`, `small.yaml:54:66: unknown parameter "roam": did you mean "room"?`, false},
		{`count: "*room"`, `count: "room"`, `length "room": room is no number`, false},
		{`count: "*room"`, `count: "*n"`, `length "*n": n does not point to a number`, false},
		{`count: "*room"`, `count: "n *"`, `small.yaml:54:66: functions.small_copy.params[4].count: length "n *": something is missing at its end`, false},
		{`count: "*room"`, `count: "n + sizeof(pear)"`, `length "n + sizeof(pear)": pear has no size`, false},
		{`count: "*room"`, `count: "p.n + p.data"`, "pair has no field data that is a number", false},
		{`count: "*room"`, `count: "log(n)"`, `there is no function "log"`, false},
		{`count: "*room"`, `count: "n", bytes: n`, "small.yaml:54:9: an array has either a count or bytes", false},
		{"bytes: sizes(what)", "bytes: sizes(n)", "n is no enumeration with sizes", false},
		{"bytes: sizes(what)", "count: n", "void has no size to count in", false},
		{"by: h.pointer_mode", "by: h.pointermode", `small.yaml:51:91: unknown state of small_t "pointermode": did you mean "pointer_mode"?`, false},
		{"by: h.pointer_mode", "by: kind", `small.yaml:51:91: unknown parameter "kind"`, false},
		{", by: h.pointer_mode", "", "small.yaml:51:9: by is missing", false},
		{"dir: inout, as: one", "as: one", "small.yaml:53:9: dir is missing", false},
		{"dir: inout, as: one", "dir: both, as: one", `small.yaml:53:42: functions.small_copy.params[3].dir: found "both", expected one of "in", "out", "inout"`, false},
		{"dir: inout, as: one", "dir: in", "small.yaml:53:9: as is missing", false},
		{`type: "const pair *", dir: in, as: array, count: n`, `type: "const pair *", dir: out, as: array, count: n`, "const pair * cannot be written through", false},
		{`type: "small_t *", dir: out, as: one`, `type: "small_t **", dir: out, as: one`, "of is missing", true},
		{"  small_name:\n", "  small_open:\n", `small.yaml:`, true},
		{"  mode:\n", "  pair:\n", "small.yaml:27:5: duplicate name pair: it is one of the enums already", true},
		{"mode_device: 1", "small_ok: 1", "small.yaml:20:17: duplicate name small_ok: the enumeration mode has it already", false},
		{"small_none: 7", "small_none: 7000000000", "7000000000 is not from -2147483648 to 2147483647", false},
		{"texts: {small_ok: fine", "texts: {small_okay: fine", `unknown value "small_okay": did you mean "small_ok"?`, false},
		{"success: small_ok", "success: small_yes", `unknown value of small_status "small_yes"`, false},
		{"status: {type: small_status", "status: {type: small_statu", `small.yaml:8:16: unknown enumeration "small_statu": did you mean "small_status"?`, false},
		{"node: small_1.1", "node: small_1.2", `small.yaml:47:11: unknown version node "small_1.2"`, false},
		{"    node: small_1.1\n", "", "a version node is missing", false},
		{"    sync: drain\n", "", "sync is missing", false},
		{"create: [small_open]", "create: [small_name]", "small_name has no parameter by which it could create a small_t", false},
		{"destroy: [small_close]", "destroy: [small_shut]", `unknown function "small_shut"`, false},
		{"size: 16", "size: 12", "size 12 and alignment 8 do not go together", false},
		{"size: 16", "size: 8", "data ends behind the record, which has 8 bytes", false},
		{"type: unsigned int, offset: 4", "type: unsigned int, offset: 3", "flag begins within the field before it", false},
		{"type: unsigned int, offset: 4, bits: 3", "type: pair, offset: 4", "pair holds itself", false},
		{`address: "void *"`, `address: "address *"`, "address is an alias of itself", false},
		{"answer: {name_of: status,", "answer: {name_of: state,", `unknown parameter "state"`, false},
		{", otherwise: small_none", "", "otherwise is missing", false},
		{"answer: {set: {count: 0}, returns: 8}", "fails: small_okay", `unknown value "small_okay"`, false},
		{"    answer: {set: {count: 0}, returns: 8}\n", "", "fails is missing: size_t is not the library's status", false},
		{"set: {count: 0}", "set: {count: nothing}", `"nothing" is no number`, false},
		{"set: {count: 0}, returns: 8", "set: {count: 0}, own: true", "exactly one of name_of, text_of, set (with returns) and own", false},
		{"library: small\n", "library: tiny\n", "the file is called small.yaml, but describes tiny", false},
		{"nodes: [", "uses: [other]\nnodes: [", "there is no description of other", false},
		{"summary: a library", "sumary: a library", `unknown key "sumary": did you mean "summary"?`, true},
		{"version: \"1.2\"", "version: newest", "expected a string that matches", false},
	} {
		_, err := readSmall(t, c.old, c.new)
		if err == nil {
			t.Errorf("%q in place of %q is accepted", c.new, c.old)
			continue
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) > 1 && !c.more {
			t.Errorf("%q in place of %q: one mistake is %d errors\n%v", c.new, c.old, len(lines), err)
		}
		if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "remote/api/small.yaml:") && !strings.Contains(c.want, "file is called") {
			t.Errorf("%q in place of %q: \n%v\nwant %q", c.new, c.old, err, c.want)
		}
	}
}

func TestUsesInACircle(t *testing.T) {
	text := strings.Replace(small, "nodes: [", "uses: [small]\nnodes: [", 1)
	_, err := Load(fstest.MapFS{"small.yaml": {Data: []byte(text)}}, "small")
	if err == nil || !strings.Contains(err.Error(), "in a circle") {
		t.Errorf("a description that uses itself: %v", err)
	}
}

// A description may refer to the types of another, and not name them again.
func TestUses(t *testing.T) {
	user := `schema: 1
library: user
summary: uses small
version: "1"
origin: [{for: headers, package: user, version: "1"}]
file: {soversion: "1", version: "1", compatibility: "1"}
uses: [small]
status: {type: small_status, success: small_ok, unavailable: small_none}
functions:
  user_run:
    returns: small_status
    sync: wait
    params:
      - {name: p, type: "const pair *", dir: in, as: one}
      - {name: h, type: small_t}
`
	files := fstest.MapFS{"small.yaml": {Data: []byte(small)}, "user.yaml": {Data: []byte(user)}}
	l, err := Load(files, "user")
	if err != nil {
		t.Fatal(err)
	}
	before, err := Digest(files, "user")
	if err != nil {
		t.Fatal(err)
	}
	files["small.yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(small, "mode_device: 1", "mode_device: 2", 1))}
	if after, err := Digest(files, "user"); err != nil || after == before {
		t.Errorf("the digest does not see a change of what is used: %v", err)
	}
	if string(l.Bytes()) == "" || len(l.Used()) != 1 {
		t.Error("what is used is not there")
	}
	files["user.yaml"] = &fstest.MapFile{Data: []byte(user + "records:\n  pair: {size: 4, align: 4, fields: [{name: x, type: int, offset: 0}]}\n")}
	if _, err := Load(files, "user"); err == nil || !strings.Contains(err.Error(), "duplicate name pair: it is a type of small already") {
		t.Errorf("a type of the used library is named again: %v", err)
	}
}

// All descriptions that come along can be read, and are as they would be written.
func TestDescriptions(t *testing.T) {
	for _, name := range Libraries() {
		l, err := Load(Descriptions(), name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		text, err := fs.ReadFile(Descriptions(), name+".yaml")
		if err != nil || string(text) != string(l.Bytes()) {
			t.Errorf("%s.yaml is not as api:import writes it", name)
		}
	}
}

func TestHostileDescriptions(t *testing.T) {
	for name, text := range map[string]string{
		"deep":   "schema: " + strings.Repeat("[", 500),
		"alias":  "schema: &a 1\nlibrary: *a\n",
		"binary": "\x00\x01\x02",
		"empty":  "",
		"large":  strings.Repeat("# much\n", MaxBytes/7+1),
	} {
		if _, err := Load(fstest.MapFS{"x.yaml": {Data: []byte(text)}}, "x"); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := Load(fstest.MapFS{"x.yaml": {Mode: fs.ModeNamedPipe}}, "x"); err == nil {
		t.Error("a pipe is accepted")
	}
}
