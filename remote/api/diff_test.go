package api

import (
	"strings"
	"testing"
)

// Every edit of a description is told in one line, by what follows of it.
func TestCompare(t *testing.T) {
	old, err := readSmall(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"{name: n, type: size_t}", "{name: n, type: int}", "breaks: parameter n of small_copy is int, and was size_t"},
		{"{name: n, type: size_t}", "{name: n, type: int64_t}", "source: parameter n of small_copy is int64_t, and was size_t"},
		{`type: "int *", dir: inout`, `type: "unsigned int *", dir: inout`, "source: parameter room of small_copy is unsigned int *, and was int *"},
		{`type: "int *", dir: inout`, `type: "const int *", dir: in`, ""},
		{`type: "const pair *", dir: in, as: array, count: n`, `type: "pair *", dir: in, as: array, count: n`, "source: parameter p of small_copy is pair *, and was const pair *"},
		{`type: "const pair *", dir: in, as: array, count: n}`, `type: "const double *", dir: in, as: array, count: n}`, "breaks: parameter p of small_copy is const double *, and was const pair *"},
		{"      - {name: done, type: small_done, calls: {from: caller}}\n", "", "breaks: function small_copy takes no longer small_done done"},
		{"      - {name: where, type: address, as: device}\n", "", "breaks: function small_copy takes no longer address where"},
		{"      - {name: where, type: address, as: device}\n", "      - {name: a, type: int}\n      - {name: where, type: address, as: device}\n      - {name: b, type: \"const int *\", dir: in, as: one}\n", "breaks: function small_copy takes also int a, const int *b"},
		{"      - {name: where, type: address, as: device}\n", "      - {name: other, type: address, as: device}\n      - {name: b, type: int}\n",
			"breaks: function small_copy takes also address other, int b\nbreaks: function small_copy takes no longer address where"},
		{"small_none: 7", "small_none: 8", "breaks: value small_none of small_status is 8, and was 7"},
		{"      - {name: data,", "      - {name: more,", "source: field data of pair is gone\nadds: field more of pair"},
		{`soversion: "1"`, `soversion: "2"`, "breaks: the file is libsmall.so.2, and was libsmall.so.1"},
	} {
		changed, err := readSmall(t, c.old, c.new)
		if err != nil {
			t.Errorf("%q: %v", c.new, err)
			continue
		}
		var got []string
		for _, change := range Compare(old, changed) {
			got = append(got, change.String())
		}
		if text := strings.Join(got, "\n"); text != c.want && !(strings.HasSuffix(c.want, "(") && strings.HasPrefix(text, c.want)) {
			t.Errorf("%q in place of %q: %q\nwant %q", c.new, c.old, text, c.want)
		}
	}
}

// A field that moves into a member without a name is where it was.
func TestCompareUnnamedMembers(t *testing.T) {
	old, err := readSmall(t)
	if err != nil {
		t.Fatal(err)
	}
	inside, err := readSmall(t, "      - {name: flag, type: unsigned int, offset: 4, bits: 3}\n",
		"      - {type: pair._1, offset: 4}\n", "callbacks:\n",
		"  pair._1:\n    union: true\n    size: 4\n    align: 4\n    fields:\n      - {name: flag, type: unsigned int, offset: 0, bits: 3}\n      - {name: all, type: int, offset: 0}\ncallbacks:\n")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range Compare(old, inside) {
		got = append(got, c.String())
	}
	if text := strings.Join(got, "; "); text != "adds: field all of pair" {
		t.Errorf("the differences are %s", text)
	}
}

// What only a protocol notices is told apart, a line for each fact.
func TestCompareFacts(t *testing.T) {
	old, err := readOrder(t)
	if err != nil {
		t.Fatal(err)
	}
	if same := CompareFacts(old, old); len(same) != 0 {
		t.Errorf("the same differs: %v", same)
	}
	for _, c := range []struct{ old, new, want string }{
		{"    sync: drain\n    stream: device", "    sync: wait", "release: stream is none, and was device\nrelease: sync is wait, and was drain"},
		{"default: thread", "default: legacy", "copy_t: default is legacy, and was thread"},
		{"marks: [behind]", "marks: [before]", "copy: marks is [before], and was [behind]"},
		{"sets: {thread.launch: inside}", "sets: {thread.launch: 0}", "launch: sets is {thread.launch: 0}, and was {thread.launch: inside}"},
		{"    bound: memory\n", "", "release: bound is none, and was memory"},
		{"instead: {of: copy, since: 200}", "instead: {of: copy, since: 300}", "copy_v2: instead is {of: copy, since: 300}, and was {of: copy, since: 200}"},
		{"through: out, count: n", "through: inout, count: n", "copy, to: through is inout, and was out"},
		{", kept: true", "", "copy, to: kept is none, and was true"},
		{"holds: true}", "silent: true}", "session_add, call: calls is {from: library, with: user, silent: true}, and was {from: library, with: user, holds: true}"},
		{"get: [session_get]", "create: [session_get]", "session_t: create is [session_get], and was none\nsession_t: get is none, and was [session_get]"},
		{"fixed: {stream_first: 1}", "fixed: {stream_first: 2}", "stream_t: fixed is {stream_first: 2}, and was {stream_first: 1}"},
		{"owner: session_t, create", "create", "node_t: owner is none, and was session_t"},
		{"heap: {create: [allocate], destroy: [release]}", "heap: {create: [allocate], why: never}", "memory heap: destroy is none, and was [release]\nmemory heap: why is never, and was none"},
		{"  table: {why: it is the library's, create: [table_of]}\n", "", "memory table: create is none, and was [table_of]\nmemory table: why is none, and was \"it is the library's\""},
		{"    passed: true\n", "", "ticket: passed is none, and was true"},
		{"    by: kind\n", "", "word: by is none, and was kind"},
		{"when: [to_host, to_device]", "when: [to_host]", "from, n: when is [to_host], and was [to_host, to_device]"},
		{"bytes: n, by: where", "bytes: n * 2, by: where", "from, host: bytes is \"n * 2\", and was \"n\""},
		{"remembered: thread.error}", "remembered: thread.error}\nnodes: []", ""},
		{"{device: int, error", "{device: size_t, error", "library: thread is {device: size_t, error: status_t, launch: config}, and was {device: int, error: status_t, launch: config}"},
		{`{name: a0, type: "void *", as: token}`, `{name: a0, type: "void *", as: device}`, "callback_t, a0: as is device, and was token"},
		// What applications notice is not told again.
		{"  stream_destroy:\n    returns: status_t\n    sync: wait\n    params:\n      - {name: s, type: stream_t}", "  stream_destroy:\n    returns: status_t\n    sync: wait\n    params:\n      - {name: s, type: stream_t}\n      - {name: more, type: int}", ""},
	} {
		changed, err := readOrder(t, c.old, c.new)
		if err != nil {
			t.Errorf("%q: %v", c.new, err)
			continue
		}
		if got := strings.Join(CompareFacts(old, changed), "\n"); got != c.want {
			t.Errorf("%q in place of %q: %q\nwant %q", c.new, c.old, got, c.want)
		}
	}
}
