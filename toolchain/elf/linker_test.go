package elf

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// TestClosureAgreesWithLdd compares with the loader itself, whose answer ldd
// prints.
func TestClosureAgreesWithLdd(t *testing.T) {
	l, err := NewLinker("/", platform.Native())
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"patchelf", "cmake", "git"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		c, err := l.Closure([]string{path})
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("ldd", path).Output()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			if len(f) >= 3 && f[1] == "=>" && !IsBase(f[0]) {
				real, err := filepath.EvalSymlinks(f[2])
				if err != nil {
					t.Fatal(err)
				}
				want[f[0]] = real
			}
		}
		got := map[string]string{}
		for _, lib := range c.Libraries {
			got[lib.Name] = lib.Real
		}
		if len(c.Missing) > 0 || len(got) != len(want) {
			t.Errorf("%s: %v, missing %v, want %v", tool, got, c.Missing, want)
		}
		for name, path := range want {
			if got[name] != path {
				t.Errorf("%s: %s is %q, want %q", tool, name, got[name], path)
			}
		}
	}
}

func TestClosureRules(t *testing.T) {
	dir, exe, lib := tree(t, "$ORIGIN/../lib")
	l, err := NewLinker("/", platform.Native())
	if err != nil {
		t.Fatal(err)
	}
	// A program reached through a symlink has its own folder as $ORIGIN.
	link := filepath.Join(dir, "link")
	if err := os.Symlink("bin/hello", link); err != nil {
		t.Fatal(err)
	}
	c, err := l.Closure([]string{link})
	if err != nil || len(c.Libraries) != 1 || c.Libraries[0].Real != lib || c.Libraries[0].Private {
		t.Fatalf("%+v, %v", c, err)
	}
	if strings.Join(c.Base, " ") != "libc.so.6 libm.so.6" {
		t.Errorf("base %q", c.Base)
	}
	// A file that is no image of this machine is passed over.
	if err := os.WriteFile(lib, []byte("INPUT(libother.so)"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, _ = NewLinker("/", platform.Native())
	c, err = l.Closure([]string{exe})
	if err != nil || len(c.Missing) != 1 || c.Missing[0].Name != "libgreet.so.1" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := NewLinker("/", platform.Platform{OS: "darwin", Arch: "arm64"}); err == nil {
		t.Error("a linker for macOS")
	}
}

// makeCache writes the layout that the comment in ldcache.go states.
func makeCache(flags uint32, hwcap uint64, name, path string) []byte {
	b := make([]byte, cacheHeader+cacheEntry)
	copy(b, cacheMagic)
	binary.LittleEndian.PutUint32(b[20:], 1)
	e := b[cacheHeader:]
	binary.LittleEndian.PutUint32(e, flags)
	binary.LittleEndian.PutUint32(e[4:], uint32(len(b)))
	binary.LittleEndian.PutUint32(e[8:], uint32(len(b)+len(name)+1))
	binary.LittleEndian.PutUint64(e[16:], hwcap)
	return append(b, name+"\x00"+path+"\x00"...)
}

func TestParseCache(t *testing.T) {
	amd := platform.Platform{OS: "linux", Arch: "amd64"}
	arm := platform.Platform{OS: "linux", Arch: "arm64"}
	for _, tt := range []struct {
		name string
		b    []byte
		p    platform.Platform
		want int
		bad  bool
	}{
		{"amd64", makeCache(0x303, 0, "libz.so.1", "/lib/libz.so.1"), amd, 1, false},
		{"arm64", makeCache(0xa03, 0, "libz.so.1", "/lib/libz.so.1"), arm, 1, false},
		{"other machine", makeCache(0xa03, 0, "libz.so.1", "/lib/libz.so.1"), amd, 0, false},
		{"special hardware", makeCache(0x303, 1<<62, "libz.so.1", "/lib/x86-64-v3/libz.so.1"), amd, 0, false},
		{"behind an old table", append([]byte("ld.so-1.7.0\x00\x00\x00\x00\x00"), makeCache(0x303, 0, "a", "/a")...), amd, 1, false},
		{"relative path", makeCache(0x303, 0, "libz.so.1", "libz.so.1"), amd, 0, true},
		{"short", []byte(cacheMagic), amd, 0, true},
		{"text", []byte("hello"), amd, 0, true},
	} {
		got, err := parseCache(tt.b, tt.p)
		if len(got) != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}

func FuzzParseCache(f *testing.F) {
	f.Add(makeCache(0x303, 0, "libz.so.1", "/lib/libz.so.1"))
	many := makeCache(0x303, 0, "a", "/a")
	binary.LittleEndian.PutUint32(many[20:], 1<<31)
	f.Add(many)
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = parseCache(b, platform.Platform{OS: "linux", Arch: "amd64"})
	})
}
