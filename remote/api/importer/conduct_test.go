package importer

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// streams is a header of a library whose calls depend on streams and threads.
const streams = `#include <stddef.h>
typedef enum { tiny_ok, tiny_none } tiny_status;
typedef enum { tiny_copy_host, tiny_copy_device } tiny_kind;
typedef struct tiny_stream_st *tiny_stream;
typedef const struct tiny_node_st *tiny_const_node;
typedef struct tiny_node_st *tiny_node;
typedef struct tiny_session_st *tiny_session;
typedef void (*tiny_call)(void *);
typedef struct {
    tiny_kind kind;
    union { void *host; tiny_node node; };
    tiny_call call;
    void *user;
} tiny_task;
typedef union { tiny_kind kind; struct { tiny_kind kind; tiny_node node; } node; } tiny_word;
typedef struct { char bytes[8]; } tiny_ticket;
#define TINY_FIRST ((tiny_stream)1)
/** @param[in] s the comment is wrong */
tiny_status tiny_create(tiny_stream *s);
tiny_status tiny_destroy(tiny_stream s);
tiny_status tiny_open(tiny_session *session);
tiny_status tiny_close(tiny_session s);
tiny_status tiny_set_stream(tiny_session s, tiny_stream t);
tiny_status tiny_fill(tiny_session s, const float *value);
tiny_status tiny_copy(void **to, const size_t *sizes, size_t n, tiny_stream s);
tiny_status tiny_copy_spt(void **to, const size_t *sizes, size_t n, tiny_stream s);
tiny_status tiny_zero(void *to);
tiny_status tiny_zero_spt(void *to);
tiny_status tiny_two(tiny_stream s, tiny_stream t);
tiny_status tiny_add(tiny_session s, const tiny_task *task, tiny_node *n);
/** @param[out] n a node */
tiny_status tiny_get_node(tiny_session s, tiny_const_node *n);
tiny_status tiny_end_node(tiny_const_node n);
tiny_status tiny_later(tiny_call call, void *user);
tiny_status tiny_number(tiny_session s, const tiny_word *w, tiny_ticket t);
tiny_status tiny_find(const char *name, void **to);
/** @param[out] each what each points to is written, and the addresses are not */
tiny_status tiny_batch(tiny_session s, float *const *each, size_t n);
`

const streamNotes = `schema: 1
library: tiny
summary: a library
headers: [tiny.h]
names: "tiny_.*"
file: {soversion: "1", version: "1.0", compatibility: "1"}
status: {type: tiny_status, success: tiny_ok, unavailable: tiny_none, remembered: thread.error}
thread: {device: int, error: tiny_status}
creates: ".*create|.*open|.*add"
destroys: ".*destroy|.*close|.*end_.*"
gets: ".*get.*"
handles:
  tiny_stream: {order: stream, fixed: {TINY_FIRST: 1}}
  tiny_session: {states: {stream: tiny_stream}}
memory:
  heap: {create: [tiny_zero], destroy: [tiny_zero_spt]}
found: [{ending: _spt, thread: true}]
conduct:
  - {functions: "tiny_set_stream", sets: {s.stream: t}}
  - {functions: ".*_spt", default: thread}
  - {functions: "tiny_zero", stream: legacy, bound: memory}
  - {functions: "tiny_zero.*|tiny_create", reads: [thread.device], stream: thread}
sync:
  - {functions: "tiny_(fill|copy|zero|two|add)(_spt)?", sync: queue}
  - {functions: ".*", sync: wait}
choices: {tiny_word: kind}
passed: [tiny_ticket]
rules:
  - {params: s, types: "tiny_stream \\*", dir: out, as: one, corrects: true}
  - {types: "tiny_(session|node|const_node) \\*", dir: out, as: one}
  - {functions: "tiny_copy.*", params: to, dir: in, as: array, of: either, through: out, count: n, by: itself, each: sizes, kept: true}
  - {params: sizes, as: array, count: n}
  - {functions: "tiny_zero.*", params: to, as: device}
  - {params: each, dir: out, corrects: true, as: array, of: device, count: n}
  - {params: value, as: undecided, why: nothing says where it is}
  - {types: "const tiny_(task|word) \\*", as: one}
  - {types: "const char \\*", as: string}
  - {functions: tiny_find, params: to, dir: out, as: one, of: local}
  - {params: user, as: token}
  - {functions: tiny_task, params: call, calls: {from: library, many: true, with: user}}
  - {functions: "tiny_call", as: token}
functions:
  tiny_find: {lookup: name}
  tiny_later: {params: {call: {calls: {from: caller, with: user}}}}
records:
  tiny_task: {_1: {by: kind}}
  tiny_task._1:
    host: {dir: in, as: either, by: itself, why: the task says how much, when: [tiny_copy_host]}
    node: {when: [tiny_copy_device]}
  tiny_word: {node: {when: [tiny_copy_device]}}
`

func TestConductIsImported(t *testing.T) {
	res, err := importTiny(t, streams, streamNotes, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(res.Library.Bytes())
	l, err := api.Read(fstest.MapFS{}, "tiny", []byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, want := range []string{
		"status: {type: tiny_status, success: tiny_ok, unavailable: tiny_none, remembered: thread.error}\nthread: {device: int, error: tiny_status}\n",
		"  tiny_node: {of: tiny_node_st, create: [tiny_add], destroy: [tiny_end_node], get: [tiny_get_node]}\n",
		"  tiny_session: {of: tiny_session_st, create: [tiny_open], destroy: [tiny_close], states: {stream: tiny_stream}}\n",
		"  tiny_stream: {of: tiny_stream_st, order: stream, create: [tiny_create], destroy: [tiny_destroy], fixed: {TINY_FIRST: 1}}\n",
		"memory:\n  heap: {create: [tiny_zero], destroy: [tiny_zero_spt]}\n",
		"      - {type: tiny_task._1, offset: 8, by: kind}\n",
		"{name: host, type: \"void *\", offset: 0, dir: in, as: either, by: itself, why: \"the task says how much\", when: [tiny_copy_host]}",
		"{name: call, type: tiny_call, offset: 16, calls: {from: library, many: true, with: user}}",
		"  tiny_ticket:\n    passed: true\n", "  tiny_word:\n    union: true\n    by: kind\n",
		// One stream, or one handle that has one; two say nothing.
		"  tiny_fill:\n    returns: tiny_status\n    sync: queue\n    stream: s.stream\n    params:\n",
		"  tiny_copy:\n    returns: tiny_status\n    sync: queue\n    stream: s\n    params:\n      - {name: to, type: \"void **\", dir: in, as: array, of: either, through: out, count: \"n\", by: itself, each: sizes, kept: true}\n",
		"  tiny_two:\n    returns: tiny_status\n    sync: queue\n    params:\n",
		// Null is another stream, and without a stream the call works in that one.
		"  tiny_copy_spt:\n    returns: tiny_status\n    sync: queue\n    stream: s\n    default: thread\n    instead: {of: tiny_copy, thread: true}\n",
		"  tiny_zero_spt:\n    returns: tiny_status\n    sync: queue\n    stream: thread\n    reads: [thread.device]\n    instead: {of: tiny_zero, thread: true}\n",
		"  tiny_zero:\n    returns: tiny_status\n    sync: queue\n    stream: legacy\n    reads: [thread.device]\n    bound: memory\n",
		// A class that has no stream takes none from a rule.
		"  tiny_create:\n    returns: tiny_status\n    sync: wait\n    reads: [thread.device]\n    params:\n      - {name: s, type: \"tiny_stream *\", dir: out, as: one}\n",
		// A direction that const forbids is none.
		"{name: each, type: \"float *const *\", dir: in, as: array, of: device, count: \"n\"}",
		"    sets: {s.stream: t}\n", "    lookup: name\n", "{name: call, type: tiny_call, calls: {from: caller, with: user}}",
		"{name: value, type: \"const float *\", dir: in, as: undecided, why: \"nothing says where it is\"}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the description lacks\n%s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if got := strings.Join(l.Undecided(), "; "); got != "tiny_fill: value (nothing says where it is); tiny_two: stream" {
		t.Errorf("undecided: %s", got)
	}
}

// Notes that say something of nothing, or what cannot be, are errors at their line.
func TestNotesThatApplyToNothing(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`{params: value, as: undecided`, `{params: valve, as: undecided`, "notes.yaml:35:5: no parameter and no field is of this kind: the rule says nothing"},
		{`params: call, calls: {from: library, many`, `params: cull, calls: {from: library, many`, "notes.yaml:40:5: no parameter and no field"},
		{`{functions: "tiny_set_stream", sets`, `{functions: "tiny_sat_stream", sets`, "notes.yaml:19:5: no function of the library matches"},
		{"ending: _spt", "ending: _sqt", "notes.yaml:17:9: no function of the library ends in _sqt"},
		{"choices: {tiny_word: kind}", "choices: {tiny_ward: kind}", `unknown record "tiny_ward": did you mean "tiny_word"?`},
		{"passed: [tiny_ticket]", "passed: [tiny_tocket]", `unknown record "tiny_tocket": did you mean "tiny_ticket"?`},
		{"tiny_task: {_1: {by: kind}}", "tiny_task: {_2: {by: kind}}", `unknown field "_2"`},
		{"states: {stream: tiny_stream}", "states: {stream: tiny_steam}", "state stream of tiny_session: type tiny_steam is declared nowhere"},
		{"fixed: {TINY_FIRST: 1}", "fixed: {TINY_FIRST: 2}", "the description's layouts are not the headers'"},
		{"lookup: name", "lookup: nam", `unknown parameter "nam": did you mean "name"?`},
		{"thread: {device: int,", "thread: {device: integer,", `unknown type "integer"`},
		{"destroy: [tiny_zero_spt]", "destroy: [tiny_zero_stp]", `unknown function "tiny_zero_stp"`},
		{"corrects: true", "corrects: maybe", "notes.yaml:29:72: rules[0].corrects"},
	} {
		text := strings.Replace(streamNotes, c.old, c.new, 1)
		if text == streamNotes {
			t.Fatalf("%q is not in the annotations", c.old)
		}
		res, err := importTiny(t, streams, text, nil)
		if err == nil { // what is contradictory is found when it is read
			_, err = api.Read(fstest.MapFS{}, "tiny", res.Library.Bytes())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %q", c.new, err, c.want)
		}
	}
}
