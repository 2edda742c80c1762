package ui

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1.0 KiB", 1536: "1.5 KiB", 10 << 10: "10 KiB", 1047552: "1023 KiB", 1048064: "1.0 MiB",
		3565158: "3.4 MiB", 412 << 20: "412 MiB", 5 << 30: "5.0 GiB", 1<<63 - 1: "8.0 EiB", -2048: "-2.0 KiB", -1 << 63: "-8.0 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", time.Microsecond: "<1ms", 450 * time.Millisecond: "450ms", 999400 * time.Microsecond: "999ms", 999700 * time.Microsecond: "1.0s",
		3200 * time.Millisecond: "3.2s", 9949 * time.Millisecond: "9.9s", 9960 * time.Millisecond: "10s", 59700 * time.Millisecond: "1m00s",
		83 * time.Second: "1m23s", 3599600 * time.Millisecond: "1h00m", 125 * time.Minute: "2h05m", -time.Second: "-1.0s", -1 << 63: "-2562047h47m",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                             "plain",
		"\x1b[1;31mred\x1b[0m":              "red",
		"\x1b]0;title\x07after":             "after",
		"\x1b]8;;http://x\x1b\\link":        "link",
		"\x1b]0;never ended":                "0;never ended",
		"\x1bPq data\x1b\\x":                "x",
		"\x1b(Bok\x1b=\x1b7":                "ok",
		"a\tb":                              "a       b",
		"12345678\tb":                       "12345678        b",
		"bell\x07 back\x08 nul\x00 del\x7f": "bell back nul del",
		"\u009b31mc1":                       "c1",
		"bad\xff\x9b":                       "bad\uFFFD\uFFFD",
		"\u202eevil\u2066":                  "evil",
		"‘quoted’ é 漢":                      "‘quoted’ é 漢",
		"\x1b":                              "",
		"\x1b[":                             "",
		"\x1b\x1b[31mx":                     "x",
		"a\r":                               "a",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[1;31mred\x1b[0m\x1b]0;t\x07\u009b3m\xff\u202e\t")
	f.Add("\x1b\x1b]\x1b\\\x1bP\x1b[")
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		if !utf8.ValidString(out) || Clean(out) != out {
			t.Fatalf("%q became %q", s, out)
		}
		for _, r := range out {
			if unicode.IsControl(r) || isBidi(r) {
				t.Fatalf("%q left %q", s, r)
			}
		}
	})
}

func TestWrap(t *testing.T) {
	cases := []struct {
		in    string
		width int
		want  []string
	}{
		{"short", 10, []string{"short"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"/usr/lib/llvm-22 is here", 16, []string{"/usr/lib/llvm-22", "is here"}},
		{"abcdefghij kl", 4, []string{"abcd", "efgh", "ij", "kl"}},
		{"漢字漢字", 3, []string{"漢", "字", "漢", "字"}},
		{"漢", 1, []string{"漢"}},
		{"  indented line here", 10, []string{"  indented", "line here"}},
		{"", 5, []string{""}},
		{"      ", 3, []string{""}},
		{"as it is", 0, []string{"as it is"}},
	}
	for _, c := range cases {
		if got := wrap(c.in, c.width); !reflect.DeepEqual(got, c.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("one two  three-four 漢字", 5)
	f.Add("e\u0301\u0301 a\u200db", 1)
	f.Fuzz(func(t *testing.T, s string, width int) {
		s = Clean(s)
		if len(s) > 10000 || width < 1 {
			return
		}
		lines := wrap(s, width)
		if len(lines) == 0 {
			t.Fatal("no lines")
		}
		if got, want := strings.Join(strings.Fields(strings.Join(lines, "")), ""), strings.Join(strings.Fields(s), ""); got != want {
			t.Fatalf("wrap(%q, %d) lost text: %q", s, width, lines)
		}
		for _, l := range lines {
			if width >= 2 && textWidth(l) > width {
				t.Fatalf("wrap(%q, %d): %q takes %d", s, width, l, textWidth(l))
			}
		}
	})
}
