package api

import (
	"strings"
	"testing"
	"testing/fstest"
)

// order is a description in which calls depend on streams, on threads, on
// handles and on each other.
const order = `schema: 1
library: order
summary: streams and what goes with them
version: "1.2"
origin:
  - {for: headers, package: order-dev, version: 1.2-1}
file: {soversion: "1", version: "1.2.3", compatibility: "1"}
status: {type: status_t, success: ok, unavailable: none, remembered: thread.error}
thread: {device: int, error: status_t, launch: config}
aliases:
  const_node: "const node *"
enums:
  side:
    values: {to_host: 1, to_device: 2}
  status_t:
    values: {ok: 0, none: 7}
    texts: {ok: fine}
  task:
    values: {task_copy: 0, task_call: 1}
handles:
  event_t: {of: event, order: event, create: [event_create], destroy: [event_destroy]}
  node_t: {of: node, owner: session_t, create: [session_add], get: [session_nodes]}
  session_t: {of: session, why: the library has one, get: [session_get], retain: [session_retain], states: {stream: stream_t, size: size_t, side: side}}
  stream_t: {of: stream, order: stream, create: [stream_create], destroy: [stream_destroy], fixed: {stream_first: 1}}
records:
  config:
    size: 24
    align: 8
    fields:
      - {name: stream, type: stream_t, offset: 0}
      - {name: what, type: task, offset: 8}
      - {type: config._2, offset: 16, by: what}
  config._2:
    union: true
    size: 8
    align: 8
    fields:
      - {name: copy, type: "void *", offset: 0, dir: inout, as: either, by: itself, why: nothing says how much, when: [task_copy]}
      - {name: call, type: callback_t, offset: 0, calls: {from: library, many: true, silent: true}, when: [task_call]}
  from:
    size: 24
    align: 8
    fields:
      - {name: where, type: side, offset: 0}
      - {name: host, type: "void *", offset: 8, dir: in, as: array, bytes: n, by: where, when: [to_host]}
      - {name: n, type: size_t, offset: 16, by: where, when: [to_host, to_device]}
  ticket:
    passed: true
    size: 4
    align: 1
    fields:
      - {name: bytes, type: "char[4]", offset: 0}
  word:
    union: true
    by: kind
    size: 8
    align: 8
    fields:
      - {name: kind, type: task, offset: 0}
      - {name: session, type: session_t, offset: 0, when: [task_call]}
callbacks:
  callback_t:
    returns: void
    params:
      - {name: a0, type: "void *", as: token}
memory:
  heap: {create: [allocate], destroy: [release]}
  table: {why: it is the library's, create: [table_of]}
functions:
  allocate:
    returns: status_t
    sync: wait
    reads: [thread.device]
    params:
      - {name: p, type: "void **", dir: out, as: one, of: device}
      - {name: n, type: size_t}
  copy:
    returns: status_t
    sync: queue
    stream: stream
    after: [before]
    marks: [behind]
    params:
      - {name: to, type: "void **", dir: in, as: array, of: either, through: out, count: n, by: itself, each: sizes, kept: true}
      - {name: sizes, type: "const size_t *", dir: in, as: array, count: n}
      - {name: n, type: size_t}
      - {name: stream, type: stream_t}
      - {name: before, type: event_t}
      - {name: behind, type: event_t}
  copy_t:
    returns: status_t
    sync: queue
    stream: stream
    default: thread
    instead: {of: copy, thread: true}
    params:
      - {name: stream, type: stream_t}
  copy_v2:
    returns: status_t
    sync: queue
    stream: config.stream
    instead: {of: copy, since: 200}
    params:
      - {name: config, type: "const config *", dir: in, as: one}
  event_create:
    returns: status_t
    sync: wait
    params:
      - {name: e, type: "event_t *", dir: out, as: one}
  event_destroy:
    returns: status_t
    sync: drain
    stream: e
    params:
      - {name: e, type: event_t}
  find:
    returns: status_t
    sync: here
    lookup: name
    params:
      - {name: name, type: "const char *", dir: in, as: string}
      - {name: to, type: "void **", dir: out, as: one, of: local}
  launch:
    returns: status_t
    sync: queue
    stream: thread.launch.stream
    reads: [thread.launch]
    sets: {thread.launch: inside}
  release:
    returns: status_t
    sync: drain
    stream: device
    bound: memory
    params:
      - {name: p, type: "void *", as: device}
  session_add:
    returns: status_t
    sync: queue
    stream: session.stream
    params:
      - {name: n, type: "node_t *", dir: out, as: one}
      - {name: session, type: session_t}
      - {name: call, type: callback_t, calls: {from: library, with: user, holds: true}}
      - {name: user, type: "void *", as: token}
      - {name: data, type: "const void *", dir: in, as: array, bytes: session.size}
      - {name: p, type: "const float *", dir: in, as: either, by: session.side}
  session_get:
    returns: status_t
    sync: wait
    params:
      - {name: s, type: "session_t *", dir: out, as: one}
  session_nodes:
    returns: status_t
    sync: wait
    params:
      - {name: nodes, type: "const_node *", dir: out, as: one}
  session_retain:
    returns: status_t
    sync: wait
    params:
      - {name: s, type: session_t}
  session_stream:
    returns: status_t
    sync: wait
    sets: {s.stream: to, s.side: to_host, s.size: 4}
    params:
      - {name: s, type: session_t}
      - {name: to, type: stream_t}
  stream_create:
    returns: status_t
    sync: wait
    params:
      - {name: s, type: "stream_t *", dir: out, as: one}
  stream_destroy:
    returns: status_t
    sync: wait
    params:
      - {name: s, type: stream_t}
  table_of:
    returns: status_t
    sync: wait
    params:
      - {name: p, type: "const int **", dir: out, as: one, of: local}
      - {name: pair, type: "word *", dir: in, as: one}
`

func readOrder(t *testing.T, replace ...string) (*Library, error) {
	t.Helper()
	text := strings.NewReplacer(replace...).Replace(order)
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(order, replace[i]) {
			t.Fatalf("%q is not in the description", replace[i])
		}
	}
	return Load(fstest.MapFS{"order.yaml": {Data: []byte(text)}}, "order")
}

// What is written of it, read again, is the same; nothing of it is left open.
func TestConduct(t *testing.T) {
	l, err := readOrder(t)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Read(fstest.MapFS{}, "order", l.Bytes())
	if err != nil {
		t.Fatalf("what was written cannot be read: %v\n%s", err, l.Bytes())
	}
	if string(again.Bytes()) != string(l.Bytes()) || len(Compare(l, again)) != 0 {
		t.Errorf("written, read and written again it is\n%s\nand was\n%s", again.Bytes(), l.Bytes())
	}
	// Each line of the description is written: the writer leaves nothing out.
	for line := range strings.Lines(order) {
		for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" {}[],:\n\"", r) }) {
			if !strings.Contains(string(l.Bytes()), word) {
				t.Errorf("%q of %q is not written", word, line)
			}
		}
	}
	if u := l.Undecided(); len(u) != 0 {
		t.Errorf("undecided: %v", u)
	}
	var fixed bool
	for _, f := range Facts(l) {
		fixed = fixed || f == Fact{"(long long)stream_first", 1}
	}
	if !fixed {
		t.Error("no compiler is asked about the fixed stream")
	}
}

func TestLookup(t *testing.T) {
	l, err := readOrder(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		version int
		thread  bool
		want    string
	}{
		{"copy", 100, false, "copy"}, {"copy", 199, false, "copy"}, {"copy", 200, false, "copy_v2"}, {"copy", 300, true, "copy_t"},
		{"copy", 100, true, "copy_t"}, {"copy_v2", 100, false, "copy_v2"}, {"launch", 300, true, "launch"}, {"nothing", 300, true, ""},
	} {
		if got := l.Lookup(c.name, c.version, c.thread); got != c.want {
			t.Errorf("%s for %d, %v is %q, not %q", c.name, c.version, c.thread, got, c.want)
		}
	}
}

// What nobody has said of a protocol is listed, with the reason where there is
// one, and is no error.
func TestUndecidedConduct(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"    stream: config.stream\n", "", "copy_v2: stream"},
		{"calls: {from: library, with: user, holds: true}", "optional: false", "session_add: call calls"},
		{"calls: {from: library, with: user, holds: true}", "calls: {from: undecided}, why: nobody knows", "session_add: call calls (nobody knows)"},
		{"    by: kind\n", "", "table_of: pair"},
		{"offset: 16, by: what}", "offset: 16}", "config: the union without a name"},
		{", get: [session_nodes]", "", "node_t: whether session_nodes makes one"},
		{", get: [session_get]", "", "session_t: whether session_get makes one"},
		{"why: the library has one", "undecided: true, why: nobody knows", "session_t: create and destroy (nobody knows)"},
		{"dir: in, as: array, bytes: session.size", "dir: in, as: undecided, why: nobody knows", "session_add: data (nobody knows)"},
	} {
		l, err := readOrder(t, c.old, c.new)
		if err != nil {
			t.Errorf("%q: %v", c.new, err)
			continue
		}
		if got := strings.Join(l.Undecided(), "; "); got != c.want {
			t.Errorf("%q in place of %q: undecided are %q, not %q", c.new, c.old, got, c.want)
		}
	}
}

// Every edit is one error, at the line of the edit.
func TestNonsenseOfConduct(t *testing.T) {
	for _, c := range []struct {
		old, new, want string
		more           bool
	}{
		{"remembered: thread.error", "remembered: thread.eror", `unknown state of the thread "eror": did you mean "error"?`, false},
		{"remembered: thread.error", "remembered: thread.device", "thread.device is of type int, not status_t", false},
		{"thread: {device: int,", "thread: {device: intt,", `unknown type "intt"`, true},
		{"launch: config}", "launch: void}", "void is incomplete", true},
		{"stream: config.stream", "stream: config.steam", `unknown field of config "steam": did you mean "stream"?`, false},
		{"stream: config.stream", "stream: config.what", "config.what is of type task: that is no stream", false},
		{"stream: config.stream", "stream: confg.stream", `unknown parameter "confg": did you mean "config"?`, false},
		{"stream: config.stream", "stream: config.what.stream", "task is no record and no handle: it has no stream", false},
		{"stream: session.stream", "stream: session.steam", `unknown state of session_t "steam": did you mean "stream"?`, false},
		{"stream: session.stream", "stream: session.size", "session.size is of type size_t: that is no stream", false},
		{"stream: thread.launch.stream", "stream: thread.lunch.stream", `unknown state of the thread "lunch": did you mean "launch"?`, false},
		{"    stream: stream\n    after", "    stream: before\n    after", "before is of type event_t: that is no stream", false},
		{"    stream: e\n", "    stream: f\n", `unknown parameter "f"`, false},
		{"    sync: wait\n    reads: [thread.device]", "    sync: wait\n    stream: legacy\n    reads: [thread.device]", "a call of class wait works in no stream", false},
		{"    sync: drain\n    stream: device", "    sync: drain\n    default: thread", "the function takes no stream that could be null", false},
		{"default: thread", "default: device", `found "device", expected one of`, false},
		{"after: [before]", "after: [befor]", `unknown parameter "befor": did you mean "before"?`, false},
		{"marks: [behind]", "marks: [stream]", "stream is of type stream_t: that is no event", false},
		{"reads: [thread.device]", "reads: [n]", "n is no state: name one of the thread", false},
		{"reads: [thread.device]", "reads: [thread.devise]", `unknown state of the thread "devise": did you mean "device"?`, false},
		{"s.stream: to,", "s.stream: too,", `unknown parameter, value or number "too": did you mean "to"?`, false},
		{"s.stream: to,", "s.steam: to,", `unknown state of session_t "steam"`, false},
		{"bound: memory", "bound: memories", `found "memories", expected one of`, false},
		{"lookup: name", "lookup: nam", `unknown parameter "nam": did you mean "name"?`, false},
		{"lookup: name", "lookup: to", "to is no string", false},
		{"    lookup: name\n", "", "no function of the library looks others up", true},
		{"instead: {of: copy, since: 200}", "instead: {of: copi, since: 200}", `unknown function "copi": did you mean "copy"?`, false},
		{"instead: {of: copy, since: 200}", "instead: {of: copy, thread: true}", "is found in the same case", false},
		{"instead: {of: copy, since: 200}", "instead: {of: copy_v2}", "copy_v2 is found by its own name anyway", false},
		{"calls: {from: library, with: user, holds: true}", "calls: {from: library, with: usr}", `unknown parameter "usr": did you mean "user"?`, false},
		{"calls: {from: library, with: user, holds: true}", "calls: {from: library, with: data}", "data is no token", false},
		{"calls: {from: library, with: user, holds: true}", "calls: {from: everybody}", `found "everybody", expected one of`, false},
		{"calls: {from: library, with: user, holds: true}", "dir: in", "callback_t is no pointer", false},
		{`{name: user, type: "void *", as: token}`, `{name: user, type: "void *", as: token, calls: {from: caller}}`, "void * is no callback", false},
		{"each: sizes", "each: size", `unknown parameter "size": did you mean "sizes"?`, false},
		{"each: sizes", "each: n", "n is no array of numbers", false},
		{"as: array, count: n}\n      - {name: n,", "as: array, count: n, each: n}\n      - {name: n,", "only an array of pointers points to more than one thing", false},
		{`dir: in, as: array, count: n}
      - {name: n,`, `dir: in, as: array, through: out, count: n}
      - {name: n,`, "through is said of what pointers point to", false},
		{`type: "void **", dir: in, as: array`, `type: "const float *const *", dir: in, as: array`, "through is out, but what const float *const * points to in the end cannot be written", false},
		{"{name: n, type: size_t}\n  copy:", "{name: n, type: size_t, kept: true}\n  copy:", "size_t is no pointer", false},
		{"bytes: session.size", "bytes: session.sice", "session_t has no state sice that is a number", false},
		{"bytes: session.size", "bytes: session.stream", "session_t has no state stream that is a number", false},
		{"by: session.side", "by: session.stream", "session.stream is a stream_t, and decides nothing", false},
		{"as: array, bytes: session.size", "as: array, bytes: session.size, by: itself", "the address itself can say", false},
		{"offset: 16, by: what}", "offset: 16, by: wat}", `unknown parameter "wat": did you mean "what"?`, false},
		{"offset: 16, by: what}", "offset: 16, by: stream}", "stream_t is no enumeration", false},
		{"when: [task_copy]", "when: [to_host]", "field copy is meant by to_host, which is a value of side, not of task", false},
		{"when: [task_copy]", "when: [task_cpy]", `unknown value "task_cpy"`, false},
		{"when: [task_copy]", "when: [task_call]", "task_call means copy already", false},
		{"by: where, when: [to_host]", "when: [to_host]", "by is missing: which field has these values", false},
		{"by: where, when: [to_host]", "by: where, when: [task_call]", "task_call is a value of task, not of side", false},
		{"by: where, when: [to_host, to_device]", "by: where", "size_t is no pointer", false},
		{"    by: kind\n", "    by: kin\n", `unknown field "kin": did you mean "kind"?`, false},
		{"    passed: true\n", "    by: bytes\n", "only a union has a field that says which of them is meant", false},
		{"states: {stream: stream_t,", "states: {stream: steam_t,", `unknown enumeration, number or handle "steam_t": did you mean "stream_t"?`, false},
		{"fixed: {stream_first: 1}", "fixed: {to_host: 1}", `duplicate or impossible name "to_host"`, false},
		{"order: event,", "order: evnt,", `found "evnt", expected one of`, true},
		{"get: [session_nodes]", "get: [session_add]", "session_add makes one already, says create", false},
		{"get: [session_nodes]", "get: [session_node]", `unknown function "session_node": did you mean`, false},
		{"retain: [session_retain]", "retain: [launch]", "launch has no parameter by which it could retain a session_t", false},
		{"destroy: [release]", "destroy: [releas]", `unknown function "releas": did you mean "release"?`, false},
		{"create: [allocate], destroy", "create: [stream_destroy], destroy", "stream_destroy has no parameter by which it could give memory", false},
		{"destroy: [release]", "destroy: [stream_destroy]", "stream_destroy has no parameter by which it could take memory", false},
		{"why: it is the library's, create", "owner: sesion_t, create", `unknown handle "sesion_t": did you mean "session_t"?`, false},
		{"{why: it is the library's, create: [table_of]}", "{create: [table_of]}", "nothing ends it: name destroy, an owner, or say why", false},
	} {
		_, err := readOrder(t, c.old, c.new)
		if err == nil {
			t.Errorf("%q in place of %q is accepted", c.new, c.old)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) > 1 && !c.more {
			t.Errorf("%q in place of %q: one mistake is %d errors\n%v", c.new, c.old, len(lines), err)
		}
		if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "remote/api/order.yaml:") {
			t.Errorf("%q in place of %q: \n%v\nwant %q", c.new, c.old, err, c.want)
		}
		// The error is at the line of the edit, or within what it edits.
		at, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "remote/api/order.yaml:"), ":")
		before, _, _ := strings.Cut(order, c.old)
		if near := strings.Count(before, "\n") + 1; !c.more && !nearLine(at, near) {
			t.Errorf("%q in place of %q: the error is at line %s, the edit at %d", c.new, c.old, at, near)
		}
	}
}

// nearLine reports whether a line is that of an edit, or up to seven around it:
// the error may be about the whole function or record.
func nearLine(at string, edit int) bool {
	n := 0
	for _, c := range at {
		n = n*10 + int(c-'0')
	}
	return n >= edit-7 && n <= edit+7
}
