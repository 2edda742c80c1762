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
