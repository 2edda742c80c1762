package suggest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	keys := []string{"version", "channel", "components", "hosts", "gpus", "presets", "cache"}
	gpus := []string{"gfx900", "gfx906", "gfx90a", "gfx90c", "gfx942", "gfx950", "gfx1100", "gfx1201"}
	tests := []struct {
		word  string
		names []string
		want  string
	}{
		{"compnents", keys, "components"},
		{"chanel", keys, "channel"},
		{"hsots", keys, "hosts"},     // a swap is one edit
		{"CHANNEL", keys, "channel"}, // case costs nothing
		{"versoin", keys, "version"},
		{"gfx924", gpus, "gfx942"},
		{"GFX90A", gpus, "gfx90a"},
		{"gfx1101", gpus, "gfx1100"},
		{"toolchain", keys, ""},
		{"", keys, ""},
		{"x", []string{"y"}, ""}, // nothing of the word is left
		{"of", []string{"on", "off"}, "off"},
		{"gpu", keys, "gpus"},
		{"cxchx", keys, ""},        // two edits in five letters
		{"hxxosts", keys, "hosts"}, // two in seven
		{"vxrxixn", keys, ""},      // three in seven
		{"version", keys, "version"},
		{"cache", nil, ""},
		{"ab", []string{"", "abc"}, "abc"},
		{"Foo", []string{"foo", "Foo"}, "Foo"}, // case decides between equals
		{"bat", []string{"cat", "bar"}, "bar"}, // byte order decides the rest
		{strings.Repeat("a", 101), []string{strings.Repeat("a", 102)}, ""},
		{"größe", []string{"grösse", "große"}, "große"},
		{"\xff\xfe", []string{"version"}, ""},
	}
	for _, tt := range tests {
		got, ok := Nearest(tt.word, tt.names)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("Nearest(%q) = %q, %v; want %q", tt.word, got, ok, tt.want)
		}
	}
}

func TestNearestIgnoresOrder(t *testing.T) {
	names := []string{"hipcc", "hipify", "hip-headers", "comgr", "device-libs", "hipcl"}
	want, _ := Nearest("hipc", names)
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		if got, _ := Nearest("hipc", names); got != want {
			t.Fatalf("order %v gives %q, another order %q", names, got, want)
		}
	}
}

func TestDistance(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0},
		{"kitten", "sitting", 3}, {"ca", "ac", 1}, {"abcd", "acbd", 1},
		// The restricted form does not edit a swapped pair again: 3, not 2.
		{"ca", "abc", 3},
	}
	for _, tt := range tests {
		if got := distance([]rune(tt.a), []rune(tt.b)); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := distance([]rune(tt.b), []rune(tt.a)); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.b, tt.a, got, tt.want)
		}
	}
}

func TestList(t *testing.T) {
	names := []string{"b", "a", "c"}
	if got, want := List(names, 2), `"b", "a" and 1 more`; got != want {
		t.Errorf("List = %s, want %s", got, want)
	}
	if got, want := List(names, 0), `"b", "a", "c"`; got != want {
		t.Errorf("List = %s, want %s", got, want)
	}
	if got := List(nil, 3); got != "" {
		t.Errorf("List(nil) = %q", got)
	}
}

func FuzzNearest(f *testing.F) {
	f.Add("chanel", "channel,version")
	f.Add("\xff", "a,,b")
	f.Fuzz(func(t *testing.T, word, list string) {
		names := strings.Split(list, ",")
		got, ok := Nearest(word, names)
		if ok && !slices.Contains(names, got) {
			t.Errorf("Nearest(%q, %q) made up %q", word, names, got)
		}
	})
}
