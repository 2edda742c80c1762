package llvm

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
)

// speaking compiles a clang that answers Detect's questions and notes that it
// was asked. It fails at the one that stands in the file log.fails.
func speaking(t *testing.T, clang, log, version, resource string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "c.c")
	text := `#include <stdio.h>
#include <string.h>
static char *fails(char *file) {
	static char word[64];
	FILE *f = fopen(file, "r");
	if (f) fgets(word, sizeof word, f);
	return word;
}
int main(int argc, char **argv) {
	FILE *f = fopen("` + log + `", "a");
	fputc('x', f);
	fclose(f);
	if (!strcmp(argv[1], fails("` + log + `.fails"))) return 1;
	if (!strcmp(argv[1], "--version")) puts("clang version ` + version + `\nTarget: x86_64-pc-linux-gnu");
	if (!strcmp(argv[1], "-print-resource-dir")) puts("` + resource + `");
	if (!strcmp(argv[1], "--print-targets")) puts("  Registered Targets:\n    amdgcn  - AMD");
	return 0;
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-o", clang, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// What was found is remembered until a tool, a folder or a file changes.
func TestDetectRemembers(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		name string
		edit func(t *testing.T, root, prefix, resource, log string)
		says func(found []Install, same bool) bool
	}{
		{"another clang, sized and dated like the old one", func(t *testing.T, _, prefix, resource, log string) {
			clang := prefix + "/bin/clang"
			info, err := os.Stat(clang)
			if err != nil {
				t.Fatal(err)
			}
			speaking(t, clang, log, "22.1.2", resource)
			if err := os.Chtimes(clang, info.ModTime(), info.ModTime()); err != nil {
				t.Fatal(err)
			}
		}, func(found []Install, same bool) bool { return found[0].Version == "22.1.2" && !same }},
		{"a tool more", func(t *testing.T, _, prefix, _, _ string) { writeTool(t, prefix+"/bin/llvm-ar", tool) },
			func(found []Install, _ bool) bool { return found[0].Tools["llvm-ar"] != "" }},
		{"LLVM's CMake files", func(t *testing.T, _, prefix, _, _ string) {
			touch(t, prefix+"/lib/cmake/llvm/LLVMConfig.cmake")
			touch(t, prefix+"/lib/cmake/clang/ClangConfig.cmake")
		}, func(found []Install, same bool) bool { return found[0].HasDev && !same }},
		{"a new header", func(t *testing.T, _, _, resource, _ string) { touch(t, resource+"/include/a/new.h") },
			func(_ []Install, same bool) bool { return !same }},
		{"a header written over", func(t *testing.T, _, _, resource, _ string) {
			if err := os.WriteFile(resource+"/include/a/b/c.h", []byte("y"), 0o644); err != nil {
				t.Fatal(err)
			}
		}, func(_ []Install, same bool) bool { return !same }},
		{"another LLVM", func(t *testing.T, root, _, _, _ string) {
			fakeClang(t, root+"/usr/lib/llvm-21/bin/clang", "clang version 21.1.0", root+"/usr/lib/llvm-21/lib/clang/21", "amdgcn")
		}, func(found []Install, same bool) bool { return len(found) == 2 && same }},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			prefix := filepath.Join(root, "usr/lib/llvm-22")
			resource, log := prefix+"/lib/clang/22", filepath.Join(t.TempDir(), "log")
			touch(t, resource+"/include/a/b/c.h")
			if err := os.MkdirAll(prefix+"/bin", 0o755); err != nil {
				t.Fatal(err)
			}
			speaking(t, prefix+"/bin/clang", log, "22.1.1", resource)
			time.Sleep(statcache.Slack + 100*time.Millisecond)
			state := filepath.Join(t.TempDir(), "cache")
			find := func() (found []Install, digest string, runs int) {
				t.Helper()
				before, _ := os.ReadFile(log)
				c := statcache.Open(state)
				found = detect(t, Options{Root: root, MinMajor: 19, Required: []string{"clang"}, Cache: c})
				after, _ := os.ReadFile(log)
				digest, err := Digest(t.Context(), found[0], c)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Save(); err != nil {
					t.Fatal(err)
				}
				return found, digest, len(after) - len(before)
			}
			first, digest, runs := find()
			if runs != 3 || len(first) != 1 || first[0].Version != "22.1.1" || !first[0].Usable() {
				t.Fatalf("asked %d times, found %+v", runs, first)
			}
			again, digest2, runs := find()
			if runs != 0 || digest2 != digest || !reflect.DeepEqual(again, first) {
				t.Errorf("asked %d times again, found %+v, digest %s and %s", runs, again, digest, digest2)
			}
			e.edit(t, root, prefix, resource, log)
			if found, d, _ := find(); !e.says(found, d == digest) {
				t.Errorf("it is not noticed: %+v", found)
			}
		})
	}
}

// A clang that did not answer once, on a machine that was out of memory or for
// want of a library, is asked again: nobody knows what it was that failed.
func TestAFailureIsNotRemembered(t *testing.T) {
	t.Parallel()
	for _, question := range []string{"--version", "-print-resource-dir", "--print-targets"} {
		t.Run(question, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			prefix := filepath.Join(root, "usr/lib/llvm-22")
			resource, log := prefix+"/lib/clang/22", filepath.Join(t.TempDir(), "log")
			touch(t, resource+"/include/a.h")
			if err := os.MkdirAll(prefix+"/bin", 0o755); err != nil {
				t.Fatal(err)
			}
			speaking(t, prefix+"/bin/clang", log, "22.1.1", resource)
			if err := os.WriteFile(log+".fails", []byte(question), 0o644); err != nil {
				t.Fatal(err)
			}
			time.Sleep(statcache.Slack + 100*time.Millisecond)
			state := filepath.Join(t.TempDir(), "cache")
			find := func() []Install {
				c := statcache.Open(state)
				found := detect(t, Options{Root: root, MinMajor: 19, Required: []string{"clang"}, Cache: c})
				if err := c.Save(); err != nil {
					t.Fatal(err)
				}
				return found
			}
			if found := find(); len(found) != 1 || found[0].Usable() {
				t.Fatalf("found %+v", found)
			}
			if err := os.Remove(log + ".fails"); err != nil {
				t.Fatal(err)
			}
			if found := find(); len(found) != 1 || !found[0].Usable() {
				t.Errorf("it is still not usable: %+v", found)
			}
		})
	}
}
