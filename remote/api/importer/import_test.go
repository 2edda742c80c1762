package importer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// header has one of everything that headers have.
const header = `#ifndef TINY_H
#define TINY_H
#include <stddef.h>
#include <stdint.h>
typedef enum tiny_status_ { tiny_ok, tiny_bad = 5, tiny_none } tiny_status;
enum tiny_big { tiny_small = 1, tiny_huge = 0x80000000 };
struct tiny_context;
typedef struct tiny_context *tiny_t;
typedef struct _tiny_thing tiny_thing;
typedef tiny_thing *tiny_thing_t;
typedef void *tiny_address;
typedef void (*tiny_done)(tiny_t, tiny_status, void *user);
typedef struct {
    uint8_t tag;
    unsigned low : 3, high : 30;
    union { int whole; struct { short a, b; } parts; } value;
    union { double d; uint64_t bits; };
    const float *data;
    void (*call)(int);
} tiny_record;
struct tiny_tagged { int x; } __attribute__((aligned(32)));
/**
 * @param[out] t  the context
 * @param[in]  r  how
 */
tiny_status tiny_open(tiny_t *t, const tiny_record *r);
/** @param[out] r cannot be */
tiny_status tiny_say(const char *text, const tiny_record *r);
tiny_status tiny_close(tiny_t t);
tiny_status tiny_copy(tiny_address to, const void *from, size_t n, enum tiny_big how, struct tiny_tagged by, int);
/** @param[in,out] p things */
tiny_status tiny_each(tiny_thing_t *p, tiny_done done, void *user, double (*weigh)(const double *, int));
float tiny_number(void);
void tiny_log(const char *format, ...);
static inline int tiny_local(void) { return 1; }
int other_library(void);
#endif
`

const notes = `schema: 1
library: tiny
summary: a library
headers: [tiny.h]
names: "tiny_.*"
file: {soversion: "1", version: "1.0", compatibility: "1"}
status: {type: tiny_status, success: tiny_ok, unavailable: tiny_none}
creates: ".*open"
destroys: ".*close"
sync:
  - {functions: tiny_copy, sync: queue}
rules:
  - {params: user, as: token}
  - {types: "const char \\*", as: string}
  - {types: "const (tiny_record) \\*", as: one}
  - {types: "tiny_t \\*", when: out, as: one}
  - {functions: tiny_copy, params: from, dir: in, as: array, bytes: n}
fails: {float: 0}
functions:
  tiny_log: {sync: here}
`

func importTiny(t *testing.T, header, notes string, symbols Symbols) (*Result, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tiny.h"), []byte(header), 0o644); err != nil {
		t.Fatal(err)
	}
	a, err := ReadAnnotations("notes.yaml", []byte(notes))
	if err != nil {
		return nil, err
	}
	clang := Clang{Path: llvmtest.Tool(t, "clang"), Includes: []string{dir}}
	tree, err := clang.Tree(t.Context(), a, symbols)
	if err != nil {
		return nil, err
	}
	res, err := Import(Input{
		Tree: tree, Annotations: a, Symbols: symbols, Version: "1.0",
		Origin: []api.Origin{{Package: "tiny", Version: "1", For: "headers"}},
	})
	if err != nil {
		return nil, err
	}
	return res, clang.Verify(t.Context(), a, res.Library)
}

func TestImport(t *testing.T) {
	res, err := importTiny(t, header, notes, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := string(res.Library.Bytes())
	if want, err := os.ReadFile("testdata/tiny.yaml"); err != nil || text != string(want) {
		t.Errorf("the description is (testdata/tiny.yaml is otherwise, %v)\n%s", err, text)
	}
	l, err := api.Read(fstest.MapFS{}, "tiny", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"tiny_close: sync", "tiny_copy: stream", "tiny_copy: to", "tiny_done: a2", "tiny_each.weigh: a0", "tiny_each: done calls", "tiny_each: p",
		"tiny_each: sync", "tiny_each: weigh calls", "tiny_number: sync", "tiny_open: sync", "tiny_record: call calls", "tiny_record: data", "tiny_say: sync", "tiny_thing_t: create and destroy",
	}
	if got := strings.Join(l.Undecided(), "; "); got != strings.Join(want, "; ") {
		t.Errorf("undecided: %s\nwant       %s", got, strings.Join(want, "; "))
	}
	if len(res.Contradictions) != 1 || !strings.Contains(res.Contradictions[0], "tiny_say: the comment says [out] of r") {
		t.Errorf("contradictions: %v", res.Contradictions)
	}
}

func TestSymbolsDecideWhatIsExported(t *testing.T) {
	all := func(change ...string) Symbols {
		s := Symbols{}
		for _, f := range []string{"open", "say", "close", "copy", "each", "number", "log"} {
			s["tiny_"+f] = "tiny_1"
		}
		for i := 0; i < len(change); i += 2 {
			s[change[i]] = change[i+1]
		}
		return s
	}
	s := all()
	delete(s, "tiny_say")
	s["tiny_log"] = "tiny_10"
	res, err := importTiny(t, header, notes, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(res.NotExported) != 1 || res.NotExported[0] != "tiny_say" {
		t.Errorf("not exported: %v", res.NotExported)
	}
	if f, _ := res.Library.Functions.Get("tiny_log"); f.Node != "tiny_10" || strings.Join(res.Library.Nodes, " ") != "tiny_1 tiny_10" {
		t.Errorf("the node of tiny_log is %q of %v", f.Node, res.Library.Nodes)
	}
	if _, err := importTiny(t, header, notes, all("tiny_more", "")); err == nil || !strings.Contains(err.Error(), "tiny_more is exported, but no header declares it") {
		t.Errorf("a symbol without a declaration: %v", err)
	}
	res, err = importTiny(t, header, notes+"leave_out: {tiny_more: for tests}\ninternal: [{symbols: \"_Z.*\", why: C++}]\n", all("tiny_more", "", "_Z3foo", ""))
	if err != nil || strings.Join(res.LeftOut, "; ") != "1 internal symbols; tiny_more: for tests" {
		t.Errorf("left out: %v, %v", res, err)
	}
}

// What headers or notes cannot give is an error with the place, and no
// description.
func TestBadInput(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"#include <stddef.h>", "#include <nothing/stddef.h>", "tiny.h:3:10: fatal error: 'nothing/stddef.h' file not found"},
		{"float tiny_number(void);", "class Tiny { public: int number(); };", "tiny.h:33:1: error: unknown type name 'class'"},
		{"float tiny_number(void);", "float tiny_number(_Complex float c);", `tiny.h:33: tiny_number cannot be described: parameter c: type "_Complex float"`},
		{"float tiny_number(void);", "void tiny_number(void (*f)(int, ...));", "tiny.h:33: tiny_number cannot be described: parameter f: type"},
		{"struct tiny_tagged {", "_Pragma(\"pack(2)\") struct tiny_tagged { char c;", "the description's layouts are not the headers'"},
		{"void (*call)(int);", "struct { char c; } each[2];", `tiny.h:19: tiny_record.each: type "struct (unnamed at `},
		{"const float *data;", "const float *data; int : 0;", "tiny.h:18: tiny_record.: a bit-field of no width"},
	} {
		text := strings.Replace(header, c.old, c.new, 1)
		if _, err := importTiny(t, text, notes, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %q", c.new, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"tiny_log: {", "tiny_lag: {", `notes.yaml:20:3: unknown function "tiny_lag": did you mean "tiny_log"?`},
		{"tiny_log: {sync: here}", "tiny_log: {params: {fmt: {as: string}}}", `unknown parameter "fmt"`},
		{`names: "tiny_.*"`, `names: "huge_.*"`, "the headers declare no function of the library"},
		{`names: "tiny_.*"`, `names: "tiny_(.*"`, "notes.yaml:5:8: "},
		{"as: token", "as: tokn", `did you mean "token"?`},
	} {
		text := strings.Replace(notes, c.old, c.new, 1)
		if _, err := importTiny(t, header, text, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v\nwant %q", c.new, err, c.want)
		}
	}
}

func TestReadSymbols(t *testing.T) {
	s, err := ReadSymbols(strings.NewReader(`# a comment
libtiny.so.1 libtiny1 #MINVER#
* Build-Depends-Package: libtiny-dev
 tiny_debian@Base 1.0
 tiny_versioned@tiny_1.0 1.0
 (optional)tiny_optional@Base 1.0
0000000000001000 T tiny_nm@@tiny_2.0
0000000000001000 T tiny_plain
0000000000000000 A tiny_2.0
tiny_bare
`))
	if err != nil {
		t.Fatal(err)
	}
	for name, node := range map[string]string{"tiny_debian": "", "tiny_versioned": "tiny_1.0", "tiny_nm": "tiny_2.0", "tiny_plain": "", "tiny_bare": ""} {
		if got, ok := s[name]; !ok || got != node {
			t.Errorf("%s has %q, %v; want %q", name, got, ok, node)
		}
		delete(s, name)
	}
	if len(s) != 0 {
		t.Errorf("and there are %v", s)
	}
	for _, bad := range []string{"", "# nothing\n", strings.Repeat("x", maxSymbol+1)} {
		if _, err := ReadSymbols(strings.NewReader(bad)); err == nil {
			t.Errorf("%.20q is accepted", bad)
		}
	}
	if got := strings.Join(Symbols{"a": "v_10.0", "b": "v_4.2", "c": "v_4.10", "d": ""}.Nodes(), " "); got != "v_4.2 v_4.10 v_10.0" {
		t.Errorf("nodes in the order %s", got)
	}
}
