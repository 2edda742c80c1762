package glob

import "testing"

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"bin/*", "bin/clang", true},
		{"bin/*", "bin/a/b", false},
		{"**", "a/b/c", true},
		{"**/*.h", "x.h", true},
		{"**/*.h", "include/hip/x.h", true},
		{"include/**", "include", true},
		{"include/**", "include/hip/x.h", true},
		{"a/**/z", "a/z", true},
		{"a/**/z", "a/b/c/z", true},
		{"a/**/z", "a/b/c", false},
		{"a/**/**/z", "a/z", true},
		{"lib/lib?.so*", "lib/libx.so.1", true},
		{"[", "[", false},
	} {
		if got := Match(c.pattern, c.name); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, bad := range []string{"", "a**", "x/[", "a/b**c"} {
		if Check(bad) == nil {
			t.Errorf("Check(%q) accepts it", bad)
		}
	}
	for _, good := range []string{"**", "a/**/b", "*.so*"} {
		if err := Check(good); err != nil {
			t.Errorf("Check(%q): %v", good, err)
		}
	}
}
