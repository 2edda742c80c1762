package importer

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

func tinyNotes(t *testing.T) *Annotations {
	t.Helper()
	a, err := ReadAnnotations("notes.yaml", []byte(notes))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// A syntax tree is read to its end, and what is none is an error.
func TestTreesThatAreNone(t *testing.T) {
	for tree, want := range map[string]string{
		"":   "cannot be read: unexpected EOF",
		"[]": "found [, expected {",
		`{"kind": "TranslationUnitDecl", "inner": [`:             "cannot be read: unexpected EOF",
		`{"kind": "TranslationUnitDecl", "inner": [{}]`:          "cannot be read: ",
		`{"kind": "TranslationUnitDecl", "inner": {"kind": ""}}`: "found {, expected [",
		`{"kind": "FunctionDecl"}`:                               `begins with "FunctionDecl"`,
		`{"inner": [], "kind": "TranslationUnitDecl"}`:           `begins with ""`,
		`{}`: `begins with ""`,
		`{"kind": "TranslationUnitDecl", "inner": [{"kind": 7}]}`: "cannot be read: ",
	} {
		if _, err := ReadTree(strings.NewReader(tree), tinyNotes(t), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tree, err, want)
		}
	}
}

// unitOf is a dump whose declarations come one after the other.
func unitOf(n int, declaration func(i int) string) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, `{"kind": "TranslationUnitDecl", "loc": {}, "range": {"begin": {}, "end": {}}, "inner": [`)
		for i := range n {
			if err == nil && i > 0 {
				_, err = io.WriteString(w, ",")
			}
			if err == nil {
				_, err = io.WriteString(w, declaration(i))
			}
		}
		if err == nil {
			_, err = io.WriteString(w, "]}")
		}
		w.CloseWithError(err)
	}()
	return r
}

// What a header declares beside the library costs no memory but while it is
// read, and neither do bodies and comments: here some 60 MB.
func TestOnlyWhatIsNeededIsKept(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	r := unitOf(3000, func(i int) string {
		switch i % 3 {
		case 0:
			return fmt.Sprintf(`{"kind": "FunctionDecl", "name": "other_%d", "type": {"qualType": "int (%s)"}}`, i, long)
		case 1:
			return fmt.Sprintf(`{"kind": "VarDecl", "name": "v%d", "type": {"qualType": %q}}`, i, long)
		}
		return fmt.Sprintf(`{"kind": "RecordDecl", "name": "r%d", "inner": [{"kind": "FieldDecl", "name": "a", "type": {"qualType": "int"},
			"inner": [{"kind": "FullComment", "inner": [{"kind": "TextComment", "text": %q}]}]}]}`, i, long)
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tree, err := ReadTree(r, tinyNotes(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if len(tree.types) != 1000 || len(tree.functions) != 0 {
		t.Errorf("%d types, %d functions", len(tree.types), len(tree.functions))
	}
	if kept := int64(after.HeapAlloc) - int64(before.HeapAlloc); kept > 4<<20 {
		t.Errorf("%d bytes are kept", kept)
	}
	runtime.KeepAlive(tree)
}

// One declaration may not take all memory: the error says behind what it stands.
func TestADeclarationWithoutEnd(t *testing.T) {
	values := strings.Repeat(`{"kind": "EnumConstantDecl", "name": "c"},`, 1000)
	r, w := io.Pipe()
	go func() {
		_, err := io.WriteString(w, `{"kind": "TranslationUnitDecl", "inner": [{"kind": "EnumDecl", "loc": {"file": "tiny.h", "line": 7}},{"kind": "EnumDecl", "inner": [`)
		for err == nil {
			_, err = io.WriteString(w, values)
		}
	}()
	_, err := ReadTree(r, tinyNotes(t), nil)
	if err == nil || !strings.Contains(err.Error(), "a declaration has more than 33554432 bytes in clang's syntax tree: it stands behind tiny.h:7") {
		t.Errorf("%v", err)
	}
	r.Close()
}

// A library of more functions than any has is refused before they are described.
func TestAnyNumberOfFunctions(t *testing.T) {
	r := unitOf(1<<30, func(i int) string {
		return fmt.Sprintf(`{"kind": "FunctionDecl", "name": "tiny_%d", "loc": {"file": "tiny.h", "line": %d}}`, i, i+1)
	})
	_, err := ReadTree(r, tinyNotes(t), nil)
	if err == nil || !strings.Contains(err.Error(), "notes.yaml:5:8: tiny.h:20001: by their names more than 20000 functions are the library's") {
		t.Errorf("%v", err)
	}
	r.(io.Closer).Close()
}

// And neither may all of them together be without end.
func TestATreeWithoutEnd(t *testing.T) {
	in := &rationed{r: unitOf(1<<30, func(int) string { return `{"kind": "VarDecl", "name": "v"}` }), left: 1 << 20, ration: maxDeclaration}
	d := &dump{tree: &Tree{comments: map[string]map[string]remark{}}, notes: tinyNotes(t), words: map[string]string{}, in: in}
	if err := d.read(); err == nil || in.left > 0 {
		t.Errorf("%v, %d bytes are left", err, in.left)
	}
}

// What clang says is the reason when it fails, whatever became of its output; but
// not when the reader has had enough of it.
func TestWhoseErrorItIs(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) Clang {
		file := filepath.Join(dir, "clang")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return Clang{Path: file}
	}
	const start = `printf '{"kind": "TranslationUnitDecl", "inner": ['; `
	for text, want := range map[string]string{
		start + "echo 'a.h:1: error: no' >&2; exit 1": "a.h:1: error: no",
		start + "exit 1":                          "exit status 1",
		start + "echo warned >&2":                 "clang's syntax tree cannot be read: unexpected EOF",
		"echo no >&2; while :; do echo '['; done": "found [, expected {",
		start + "printf ']}'; head -c 100000 /dev/zero; echo late >&2; exit 3":    "late",
		start + "printf ']}'; head -c 100000 /dev/zero; exec 1>&-; kill -SEGV $$": "signal: segmentation fault",
	} {
		if _, err := script(text).Tree(t.Context(), tinyNotes(t), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	// Of what a compiler without end says, the beginning is kept.
	if _, err := script("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1").Tree(t.Context(), tinyNotes(t), nil); err == nil || len(err.Error()) > maxStderr {
		t.Errorf("%d bytes", len(err.Error()))
	}
	if _, err := (Clang{Path: filepath.Join(dir, "none")}).Tree(t.Context(), tinyNotes(t), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

// A function that is not the library's lends its comment to the next one of the
// same parameters, as its own do, and is not kept.
func TestCommentsOfGroups(t *testing.T) {
	dir := t.TempDir()
	const text = `
/** @param[out] x the result */
int foreign_one(int *x);
int tiny_two(int *x);
int tiny_three(int *x);
int tiny_four(int *y);
/** @param[in] x short */
int tiny_five(int *x);
/** @param[in] x first
 *  @param[out] y second */
int tiny_six(int *x, int *y);
static int tiny_local(int *x) { return 0; }
int tiny_seven(int *x, int *y);
`
	if err := os.WriteFile(filepath.Join(dir, "tiny.h"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tree, err := Clang{Path: llvmtest.Tool(t, "clang"), Includes: []string{dir}}.Tree(t.Context(), tinyNotes(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range tree.functions {
		got = append(got, fmt.Sprintf("%s:%d %q %d", f.name, f.line, tree.comments[f.name]["x"].direction, len(tree.comments[f.name])))
	}
	want := `tiny_two:4 "out" 1, tiny_three:5 "out" 1, tiny_four:6 "" 0, tiny_five:8 "in" 1, tiny_six:11 "in" 2, tiny_seven:13 "in" 2`
	if strings.Join(got, ", ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, ", "), want)
	}
}
