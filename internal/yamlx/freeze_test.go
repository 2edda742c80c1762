package yamlx

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// All files of this project, and some odd ones, say the same after freezing,
// with all positions.
func TestThawGivesWhatWasFrozen(t *testing.T) {
	texts := map[string]string{
		"scalars": "a: 1.10\nb: \"true\"\nc: True\nd: ~\n\"e f\": |\n  two\n  lines\n? g\n: [1, [], {}, x]\nü: ö\n",
		"scalar":  "7",
		"list":    "- a\n- {b: c}\n",
	}
	for _, pattern := range []string{"*.yaml", "*.lock", "components/*.yaml", "recipes/*.yaml", "toolchain/*.yaml"} {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			texts[file] = string(data)
		}
	}
	for name, text := range texts {
		var want, got *Node
		src, err := DecodeSource(name, []byte(text), &want)
		if err != nil && name != "scalars" { // it has a key without a value
			t.Fatal(err)
		}
		frozen := string(Freeze(nil, src))
		thawed, again := Thaw(name, frozen, &got)
		if (again == nil) != (err == nil) || again != nil && again.Error() != err.Error() {
			t.Fatalf("%s: the error %v, of the file %v", name, again, err)
		}
		if want, got := outline(src.Root()), outline(thawed.Root()); want != got {
			t.Errorf("%s: thawed:\n%s\nwant:\n%s", name, got, want)
		}
		if string(Freeze(nil, thawed)) != frozen {
			t.Errorf("%s: frozen again it is another", name)
		}
	}
}

func outline(n *Node) string {
	var b strings.Builder
	var walk func(n *Node)
	walk = func(n *Node) {
		b.WriteString(n.Path() + " " + n.Describe() + " " + n.Text() + " " + n.KeyPos().String() + " " + n.Pos().String() + "\n")
		for _, item := range append(n.Entries(), n.Items()...) {
			walk(item)
		}
	}
	walk(n)
	return b.String()
}

// What no parser can have found is refused: so nothing behind it has to expect
// it.
func TestThawRefuses(t *testing.T) {
	num := func(values ...uint64) (b string) {
		for _, v := range values {
			b += string(binary.AppendUvarint(nil, v))
		}
		return b
	}
	text := func(s string) string { return num(uint64(len(s))) + s }
	scalar := func(kind Kind, s string) string { return num(uint64(kind), 1, 1) + text(s) }
	entry := func(key, value string) string { return text(key) + num(1, 1) + value }
	deep := func(n int) string {
		return num(uint64(n)) + strings.Repeat(num(uint64(List), 1, 1, 1), n-1) + num(uint64(List), 1, 1, 0)
	}
	many := ""
	for i := range 20 {
		many += entry(string(rune('a'+i)), scalar(String, ""))
	}
	for name, c := range map[string]struct {
		frozen string
		ok     bool
	}{
		"a string":                   {num(1) + scalar(String, "x"), true},
		"nothing":                    {"", false},
		"no values":                  {num(0), false},
		"more values than bytes":     {num(1<<30) + scalar(String, "x"), false},
		"more values than there are": {num(2) + scalar(String, strings.Repeat("x", 9)), false},
		"fewer values":               {num(1, uint64(List), 1, 1, 1) + scalar(String, "x"), false},
		"something behind":           {num(1) + scalar(String, "x") + "y", false},
		"a text that ends early":     {num(1, uint64(String), 1, 1, 9) + "x", false},
		"no UTF-8":                   {num(1) + scalar(String, "\xff"), false},
		"an unknown kind":            {num(1) + scalar(Map+1, "x"), false},
		"no kind":                    {num(1) + scalar(Invalid, "x"), false},
		"a boolean":                  {num(1) + scalar(Bool, "True"), true},
		"a boolean that is none":     {num(1) + scalar(Bool, ""), false},
		"a line of 32 bits":          {num(1, uint64(String), 1<<31, 1) + text("x"), false},
		"an endless number":          {strings.Repeat("\xff", 20), false},
		"a mapping":                  {num(3, uint64(Map), 1, 1, 2) + entry("a", scalar(String, "x")) + entry("b", scalar(String, "x")), true},
		"a key twice":                {num(3, uint64(Map), 1, 1, 2) + entry("a", scalar(String, "x")) + entry("a", scalar(String, "x")), false},
		"many keys":                  {num(21, uint64(Map), 1, 1, 20) + many, true},
		"many keys, one twice":       {num(22, uint64(Map), 1, 1, 21) + many + entry("c", scalar(String, "")), false},
		"a long key":                 {num(2, uint64(Map), 1, 1, 1) + entry(strings.Repeat("k", maxKey), scalar(String, "x")), true},
		"a key that is too long":     {num(2, uint64(Map), 1, 1, 1) + entry(strings.Repeat("k", maxKey+1), scalar(String, "x")), false},
		"100 levels":                 {deep(100), true},
		"101 levels":                 {deep(101), false},
		"a million levels":           {deep(1 << 20), false},
	} {
		var out *Node
		src, err := Thaw("file", c.frozen, &out)
		if ok := err == nil && src != nil && out != nil; ok != c.ok {
			t.Errorf("%s: %v", name, err)
		}
		if !c.ok && (!errors.Is(err, ErrFrozen) || out != nil) {
			t.Errorf("%s: the error %v, decoded %v", name, err, out)
		}
	}
}

// A date is a string everywhere, as a key too.
func TestADateIsAKey(t *testing.T) {
	var got map[string]string
	if err := Decode("f", []byte("2001-02-03: 2001-02-04\n"), &got); err != nil || !reflect.DeepEqual(got, map[string]string{"2001-02-03": "2001-02-04"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Whatever the bytes, what is thawed can be frozen again and gives the same.
func FuzzThaw(f *testing.F) {
	var node *Node
	src, err := DecodeSource("f", []byte("a: [1, true]\nb: {c: x}\n"), &node)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(Freeze(nil, src)))
	f.Fuzz(func(t *testing.T, frozen string) {
		var out map[string]any
		src, err := Thaw("f", frozen, &out)
		if errors.Is(err, ErrFrozen) {
			return
		}
		var again map[string]any
		twice, err2 := Thaw("f", string(Freeze(nil, src)), &again)
		if (err == nil) != (err2 == nil) || outline(src.Root()) != outline(twice.Root()) {
			t.Errorf("%v and %v of\n%s\n%s", err, err2, outline(src.Root()), outline(twice.Root()))
		}
	})
}
