package step

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/remote/stub"
)

// The key of a stub names the generator, and of each library a digest of its own.
func TestStubKey(t *testing.T) {
	var b key.Builder
	(&Stub{Libraries: []string{"amdhip64", "hiprtc"}}).Key(&b)
	lines := strings.Split(b.Key().Text, "\n")
	for _, library := range []string{"amdhip64", "hiprtc"} {
		digest, err := stub.Digest(library)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "description."+library) && strings.Contains(l, digest)
		}) {
			t.Errorf("the key has no digest of lib%s:\n%s", library, b.Key().Text)
		}
	}
	if !slices.ContainsFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "generator") && strings.Contains(l, stub.Revision)
	}) {
		t.Errorf("the key does not name the generator:\n%s", b.Key().Text)
	}
}

// The step writes the project of all its libraries, the same bytes each time, and
// says what it has made.
func TestStubRun(t *testing.T) {
	s := &Stub{Libraries: []string{"hiprtc", "hipfft"}}
	var before map[string]string
	for range 2 {
		r, out := newRun(t)
		if err := s.Run(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		written := map[string]string{}
		root := filepath.Join(r.BuildDir, "stubs")
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			name, _ := filepath.Rel(root, path)
			written[name] = string(data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range []string{"hiprtc", "hipfft"} {
			for _, file := range []string{l + ".c", l + ".map", l + ".def", "lib" + l + ".tbd", l + "-config.cmake", l + "-config-version.cmake", "CMakeLists.txt"} {
				if written[l+"/"+file] == "" {
					t.Errorf("there is no %s/%s", l, file)
				}
			}
			if !strings.Contains(written["CMakeLists.txt"], "add_subdirectory("+l+")") {
				t.Errorf("the project has no lib%s:\n%s", l, written["CMakeLists.txt"])
			}
		}
		if before != nil {
			for name, text := range written {
				if before[name] != text {
					t.Errorf("%s differs from one time to the next", name)
				}
			}
			if len(written) != len(before) {
				t.Errorf("%d files, and %d before", len(written), len(before))
			}
		}
		before = written
		if !strings.Contains(out.String(), "+ stub of libhipfft 1.0.22: 50 functions\n") {
			t.Errorf("it says %q", out.String())
		}
	}
}
