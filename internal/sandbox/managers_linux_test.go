package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Programs that a version manager has put into the user's home, in the layouts
// that the managers make: the name in PATH, what it leads to, and what the
// program reads beside itself.
func TestProgramsOfVersionManagersRun(t *testing.T) {
	const tool = "#!/bin/sh\ncat \"$(dirname \"$(readlink -f \"$0\")\")/../lib/says\"\n"
	for _, c := range []struct {
		name  string
		files map[string]string // below the root, and what is in them
		links map[string]string // below the root, and their targets; ROOT is the root
		path  string            // the program, as PATH finds it
	}{{
		name:  "pyenv exec: the version's own folder, a link beside the program",
		files: map[string]string{"home/.pyenv/versions/3.12.4/bin/python3.12": tool, "home/.pyenv/versions/3.12.4/lib/says": "found"},
		links: map[string]string{"home/.pyenv/versions/3.12.4/bin/python3": "python3.12"},
		path:  "home/.pyenv/versions/3.12.4/bin/python3",
	}, {
		name:  "pyenv: the prefix is a link to a version",
		files: map[string]string{"home/.pyenv/versions/3.12.4/bin/python3.12": tool, "home/.pyenv/versions/3.12.4/lib/says": "found"},
		links: map[string]string{
			"home/.pyenv/versions/3.12":               "3.12.4",
			"home/.pyenv/versions/3.12.4/bin/python3": "python3.12",
		},
		path: "home/.pyenv/versions/3.12/bin/python3",
	}, {
		name: "pyenv: a shim, a script that names its root",
		files: map[string]string{
			"home/.pyenv/shims/python3":              "#!/bin/sh\nexec ROOT/home/.pyenv/versions/3.12/bin/python3\n",
			"home/.pyenv/versions/3.12.4/bin/python": tool, "home/.pyenv/versions/3.12.4/lib/says": "found",
		},
		links: map[string]string{
			"home/.pyenv/versions/3.12":               "3.12.4",
			"home/.pyenv/versions/3.12.4/bin/python3": "python",
		},
		path: "home/.pyenv/shims/python3",
	}, {
		name:  "mise: a shim that is a link to the manager, both in one prefix",
		files: map[string]string{"home/.local/bin/mise": tool, "home/.local/lib/says": "found"},
		links: map[string]string{"home/.local/share/mise/shims/python3": "ROOT/home/.local/bin/mise"},
		path:  "home/.local/share/mise/shims/python3",
	}, {
		name:  "uv: a link in one prefix, the program in one within it",
		files: map[string]string{"home/.local/share/uv/python/3.12/bin/python3.12": tool, "home/.local/share/uv/python/3.12/lib/says": "found"},
		links: map[string]string{"home/.local/bin/python3": "ROOT/home/.local/share/uv/python/3.12/bin/python3.12"},
		path:  "home/.local/bin/python3",
	}, {
		name:  "conda, nvm: the root itself is a link out of the home",
		files: map[string]string{"data/conda/bin/python3.12": tool, "data/conda/lib/says": "found"},
		links: map[string]string{"home/conda": "ROOT/data/conda", "data/conda/bin/python3": "python3.12"},
		path:  "home/conda/bin/python3",
	}, {
		name:  "a link that goes up and down again through links",
		files: map[string]string{"home/a/1/bin/real": tool, "home/a/1/lib/says": "found"},
		links: map[string]string{"home/a/now": "1", "home/a/1/bin/python3": "../../now/bin/../bin/real", "home/b": "a/../a"},
		path:  "home/b/now/bin/python3",
	}} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			for file, text := range c.files {
				b.file(strings.ReplaceAll(text, "ROOT", b.root), file)
			}
			for link, target := range c.links {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(b.root, link)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(strings.ReplaceAll(target, "ROOT", b.root), filepath.Join(b.root, link)); err != nil {
					t.Fatal(err)
				}
			}
			program := filepath.Join(b.root, c.path)
			b.access.Readable = append(b.access.Readable, Program(program, []string{b.hidden})...)
			if got := b.sh(program); got != "found" {
				t.Errorf("the program says %q", got)
			}
			b.refuses("ls "+b.hidden+"/.cmake", "No such file")
		})
	}
}

// A virtual environment's python is a link to another prefix's, and finds what
// was installed into the environment by the name that it is called by.
func TestAVirtualEnvironmentIsOneInside(t *testing.T) {
	b := newBench(t)
	venv := filepath.Join(b.hidden, "venv")
	if out, err := exec.Command("/usr/bin/python3", "-m", "venv", "--without-pip", venv).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	python := filepath.Join(venv, "bin", "python3")
	where, err := exec.Command(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").Output()
	if err != nil {
		t.Fatal(err)
	}
	site, err := filepath.Rel(b.root, strings.TrimSpace(string(where)))
	if err != nil {
		t.Fatal(err)
	}
	b.file("says = 'found'\n", site, "ours.py")
	b.access.Readable = append(b.access.Readable, Program(python, []string{b.hidden})...)
	if got := b.sh(python + " -c 'import ours; print(ours.says)'"); got != "found" {
		t.Errorf("the program says %q", got)
	}
	// A home that is an environment stays hidden all the same.
	if all := Program(python, []string{venv}); slices.Contains(all, venv) {
		t.Errorf("all of a home is shown: %v", all)
	}
}
