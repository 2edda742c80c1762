package patch

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// files is a folder: content by name. A name that begins with "x:" is
// executable, and content that begins with "->" is the target of a symbolic
// link.
type files map[string]string

func write(t *testing.T, dir string, tree files) string {
	t.Helper()
	for name, content := range tree {
		perm := fs.FileMode(0o644)
		if exec, found := strings.CutPrefix(name, "x:"); found {
			name, perm = exec, 0o755
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, found := strings.CutPrefix(content, "->"); found {
			if err := os.Symlink(target, file); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(file, []byte(content), perm); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, perm); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read is the reverse of write, with folders that hold nothing as "name/".
func read(t *testing.T, dir string) files {
	t.Helper()
	tree := files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || name == "." {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			entries, err := os.ReadDir(path)
			if err == nil && len(entries) == 0 {
				tree[name+"/"] = ""
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			tree[name] = "->" + target
			return err
		}
		if info.Mode()&0o100 != 0 {
			name = "x:" + name
		}
		data, err := os.ReadFile(path)
		tree[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func same(t *testing.T, got, want files) {
	t.Helper()
	names := maps.Clone(got)
	maps.Copy(names, want)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		g, hasGot := got[name]
		w, hasWant := want[name]
		switch {
		case !hasGot:
			t.Errorf("%s is missing", name)
		case !hasWant:
			t.Errorf("%s is there and should not be", name)
		case g != w:
			t.Errorf("%s is %q, want %q", name, g, w)
		}
	}
}

// entry is a valid entry of series.yaml for a patch file.
func entry(file string) string {
	return "  - file: " + file + "\n    title: a change\n    why: a test\n    upstream: none (a test)\n    versions: \">=1.0.0\"\n"
}

// load makes a series of patch texts.
func load(t *testing.T, patches files) *Series {
	t.Helper()
	fsys := fstest.MapFS{}
	list := "schema: 1\npatches:\n"
	for _, name := range slices.Sorted(maps.Keys(patches)) {
		list += entry(name)
		fsys["p/"+name] = &fstest.MapFile{Data: []byte(patches[name])}
	}
	fsys["p/"+SeriesFile] = &fstest.MapFile{Data: []byte(list)}
	s, err := Load(fsys, "p")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// selected makes patches that are for anything.
func selected(t *testing.T, patches files) []Selected {
	t.Helper()
	apply, skipped, err := load(t, patches).Select(Target{Version: "1.0.0"})
	if err != nil || len(skipped) > 0 {
		t.Fatal(err, skipped)
	}
	return apply
}

// gitApply applies a patch file with git itself, the oracle of these tests.
func gitApply(t *testing.T, dir, patch string) error {
	t.Helper()
	cmd := exec.Command("git", "apply", "--whitespace=nowarn", patch)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Logf("git apply: %s", out)
	}
	return err
}
