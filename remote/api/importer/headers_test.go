package importer

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// nearly is a header that C cannot read as it stands, with what compilers add to
// C: enumerations of 64 bits and packed records.
const nearly = `#include <cstddef>
#include <vector>
typedef enum { tiny_ok, tiny_none } tiny_status;
typedef enum { tiny_first = 1, tiny_last = 1ULL << 63 } tiny_mask;
typedef enum { tiny_none_of_32 = 0xffffffff } tiny_word;
typedef struct { char tag; double value; unsigned low : 3, high : 30; } __attribute__((packed)) tiny_packed;
#pragma pack(push, 1)
typedef struct { tiny_mask mask; tiny_packed inner; short s; } tiny_pragma;
#pragma pack(pop)
typedef struct { size_t room = 0; } tiny_room;
struct tiny_body { int secret; };
typedef struct tiny_body *tiny_t;
/** @{
 * @param x what goes in, on the GPU
 * @param[out] y what comes back
 */
tiny_status tiny_float(tiny_t t, const float *x, float *y, tiny_room r);
tiny_status tiny_double(tiny_t t, const double *x, double *y, tiny_room r);
/** @} */
tiny_status tiny_other(tiny_t t, const double *x, double *z, tiny_word w);
tiny_status tiny_get(tiny_t *t, tiny_pragma p);
`

const nearlyNotes = `schema: 1
library: tiny
summary: a library
headers: [tiny.h]
instead: {cstddef: stddef.h, vector: ""}
edits:
  - {header: tiny.h, old: "room = 0;", new: "room;"}
names: "tiny_.*"
file: {soversion: "1", version: "1.0", compatibility: "1"}
status: {type: tiny_status, success: tiny_ok, unavailable: tiny_none}
opaque: [tiny_body]
handles: {tiny_t: {create: [tiny_get], lasting: true, states: {mask: tiny_mask}}}
sync: [{functions: ".*", sync: wait}]
rules:
  - {says: ".*on the GPU", as: device}
  - {types: "(float|double) \\*", when: out, as: one}
functions:
  tiny_get: {params: {t: {dir: out, as: one}}}
`

func TestHeadersThatAreNearlyC(t *testing.T) {
	res, err := importTiny(t, nearly, nearlyNotes, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(res.Library.Bytes())
	l, err := api.Read(fstest.MapFS{}, "tiny", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  tiny_mask:\n    wide: true\n    values:\n      tiny_first: 1\n      tiny_last: -9223372036854775808\n",
		"  tiny_word:\n    unsigned: true\n    values:\n      tiny_none_of_32: 4294967295\n",
		"  tiny_packed:\n    packed: true\n    size: 14\n    align: 1\n",
		"{name: value, type: double, offset: 1}",
		"{name: high, type: \"unsigned int\", offset: 9, bit: 3, bits: 30}",
		"  tiny_pragma:\n    packed: true\n    size: 24\n    align: 1\n",
		"{name: inner, type: tiny_packed, offset: 8}",
		"  tiny_t: {of: tiny_body, lasting: true, create: [tiny_get], states: {mask: tiny_mask}}\n",
		"{name: x, type: \"const float *\", dir: in, as: device}",
		"{name: \"y\", type: \"float *\", dir: out, as: one}",
		"{name: x, type: \"const double *\", dir: in, as: device}\n      - {name: \"y\", type: \"double *\", dir: out, as: one}",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the description lacks\n%s\nit is\n%s", want, text)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("a structure that nobody is to look into is described")
	}
	// A comment is that of the functions beside it alone.
	if got := strings.Join(l.Undecided(), "; "); got != "tiny_other: x; tiny_other: z" {
		t.Errorf("undecided: %s", got)
	}
}

// Annotations that do not fit the headers any more.
func TestHeadersThatCannotBeReplaced(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{`old: "room = 0;"`, `old: "room = 1;"`, `tiny.h: "room = 1;", which the annotations edit, stands there 0 times, not once`},
		{`old: "room = 0;"`, `old: "tiny_t t"`, `stands there 3 times, not once`},
		{"header: tiny.h", "header: tidy.h", "tidy.h, which the annotations edit, is not in "},
		{"header: tiny.h", "header: ../tiny.h", `notes.yaml:7:14: "../tiny.h" is no path below a folder of headers`},
		{`vector: ""`, `../vector: ""`, `notes.yaml:5:41: "../vector" is no header of C++`},
		{`vector: ""`, `vector: "x.h> y"`, `"x.h> y" is no header of C, and not empty`},
		{`, vector: ""`, "", "tiny.h:2:10: fatal error: 'vector' file not found"},
		{"lasting: true", "lasting: true, destroy: [tiny_other]", "tiny_t ends: its owner or a function ends it"},
	} {
		text := strings.Replace(nearlyNotes, c.old, c.new, 1)
		if text == nearlyNotes {
			t.Fatalf("%q is not in the annotations", c.old)
		}
		res, err := importTiny(t, nearly, text, nil)
		if err == nil { // what is contradictory is found when it is read
			_, err = api.Read(fstest.MapFS{}, "tiny", res.Library.Bytes())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %q", c.new, err, c.want)
		}
	}
}
