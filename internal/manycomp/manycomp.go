// Package manycomp generates projects of many components, to measure with what
// no real project has yet: a plan of a thousand.
package manycomp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Width is how many components of a layer need only those of the layer before.
const Width = 25

// Name is the name of component i, from 0.
func Name(i int) string { return fmt.Sprintf("part-%04d", i) }

// Write fills the folder dir, which may be empty, with a project of n
// components for linux-amd64: all switched on, in layers of [Width], each with
// up to three needs in the layer before and the steps of a CMake build. Every
// second one is built from the workspace src, the others from a pinned file
// that is nowhere. There is no lock: take plan.Expected, or the lock verb.
func Write(dir string, n int) error {
	files := map[string]string{
		"therock.yaml":            "schema: 1\nversion: \">=1.0\"\nchannel: debian\ngpus: [gfx942, gfx1100]\nname: two\nhosts: [linux-amd64]\n" + workspaces(n),
		"toolchain/releases.yaml": "schema: 1\nrepositories: {}\nreleases:\n  - version: \"1.2.3\"\n    channel: debian\n    pins:\n      pebble: {version: \"1.5.0\", url: [\"file:///nowhere/pebble.tar.gz\"], sha256: " + strings.Repeat("e", 64) + ", size: 2MiB}\n",
		"recipes/make.yaml":       recipe,
		"src/hello.txt":           "hello\n",
	}
	for i := range n {
		files["components/"+Name(i)+".yaml"] = component(i)
	}
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func workspaces(n int) string {
	var b strings.Builder
	b.WriteString("components:\n")
	for i := 0; i < n; i += 2 {
		fmt.Fprintf(&b, "  %s: {workspace: src}\n", Name(i))
	}
	return b.String()
}

// component is about as long as the real ones.
func component(i int) string {
	var needs []string
	if layer := i / Width; layer > 0 {
		for _, step := range []int{0, 1, 7} {
			needs = append(needs, Name((layer-1)*Width+(i+step)%Width))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "schema: 1\nname: %s\nsummary: part %d of a large project\ngroup: PARTS\nlicense: MIT\nhomepage: https://example.org/%d\npresets: [minimal, compiler, full]\n", Name(i), i, i)
	if len(needs) > 0 {
		fmt.Fprintf(&b, "needs: {build: [%s], runtime: [%s]}\n", strings.Join(needs, ", "), needs[0])
	}
	b.WriteString("when: host.os == \"linux\"\nsources:\n  debian: [{from: pebble, path: lib}]\nproviders:\n  - kind: source\n    when: host.os in [\"linux\", \"darwin\"]\n    recipe: make\n    tools: [cmake, ninja, c++]\n    with:\n      defines:\n")
	for d := range 4 {
		fmt.Fprintf(&b, "        PART_%d: \"%d\"\n", d, i)
	}
	fmt.Fprintf(&b, "      docs:\n        - {from: \"${source}/LICENSE\", to: share/doc/%s/LICENSE}\nestimate: {cpu: 60s, disk: 30MiB, memory: 300MiB}\nchecks:\n  - exists: lib/lib%s.a\n  - exists: include/%s.h\n", Name(i), Name(i), Name(i))
	return b.String()
}

const recipe = `schema: 1
name: make
summary: configure, build and install
params:
  subdir: {type: string, default: ".", doc: the folder with CMakeLists.txt}
  defines: {type: map, default: {}, doc: CMake cache entries}
  prefixes: {type: list, default: [], doc: folders that find_package searches}
  flags: {type: list, default: [], doc: added to the C and C++ flags}
  targets: {type: list, default: [], doc: what ninja builds}
  docs: {type: rules, default: [], doc: licences to copy}
steps:
  - name: configure
    uses: cmake
    with: {source: "${source}/${subdir}", defines: "${defines}", prefixes: "${prefixes}", flags: "${flags}"}
  - {name: build, uses: ninja, with: {targets: "${targets}"}}
  - {name: install, uses: install}
  - {name: docs, uses: copy, if: docs, with: {items: "${docs}"}}
  - {name: fixup, uses: fixup}
  - {name: slice, uses: slice}
  - {name: audit, uses: audit}
`
