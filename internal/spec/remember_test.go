package spec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stonemason-hip/stonemason/internal/yamlx"
)

const (
	rememberedPart = "schema: 1\nname: part\nsummary: a part\ngroup: G\nlicense: MIT\nhomepage: https://example.org\nproviders:\n  - {kind: source, recipe: make, with: {n: 1.10}}\n"
	rememberedNext = "schema: 1\nname: next\nsummary: the next\ngroup: G\nlicense: MIT\nhomepage: https://example.org\nplanned: some day\n"
)

// rememberable writes a project and returns its folder and its cache file,
// which does not exist yet.
func rememberable(t *testing.T) (root, cache string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range map[string]string{
		ConfigFile:             "schema: 1\nversion: \">=1\"\ngpus: [gfx942]\n",
		ReleasesFile:           "schema: 1\nrepositories: {}\nreleases:\n  - {version: 1.2.3, channel: debian, pins: {p: {url: [\"https://example.org/p\"], sha256: " + strings.Repeat("e", 64) + "}}}\n",
		"recipes/make.yaml":    "schema: 1\nname: make\nsummary: make\nsteps:\n  - {name: fixup, uses: fixup}\n",
		"components/part.yaml": rememberedPart,
		"components/next.yaml": rememberedNext,
	} {
		write(t, filepath.Join(root, filepath.FromSlash(name)), text)
	}
	return root, filepath.Join(root, ".stonemason", "project.cache")
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hasty loads with a cache file that trusts what was written just now, and
// returns how many files were read.
func hasty(root, cache string) (p *Project, read int, err error) {
	m := remember(cache, root)
	m.slack = -time.Hour
	p, files, err := loadAll(root, m)
	m.save(files)
	return p, len(m.learnt), err
}

// said is everything that a project's files say, with all positions.
func said(t *testing.T, p *Project, err error) string {
	t.Helper()
	if err != nil {
		return "error " + err.Error()
	}
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	sources := []*yamlx.Source{p.Config.src, p.Releases.src}
	for _, name := range sortedKeys(p.Recipes) {
		sources = append(sources, p.Recipes[name].src)
	}
	for _, name := range sortedKeys(p.Components) {
		sources = append(sources, p.Components[name].src)
	}
	for _, src := range sources {
		data = append(append(data, src.File()...), yamlx.Freeze(nil, src)...)
	}
	return string(data)
}

func TestARememberedProjectSaysTheSame(t *testing.T) {
	for _, root := range []string{filepath.Join("..", ".."), ""} {
		cache := filepath.Join(t.TempDir(), "cache")
		if root == "" {
			root, _ = rememberable(t)
		}
		p, err := Load(root)
		want := said(t, p, err)
		for _, again := range []bool{false, true} {
			p, read, err := hasty(root, cache)
			if got := said(t, p, err); got != want {
				t.Errorf("again %v:\n%s\nwant:\n%s", again, got, want)
			}
			if (read == 0) != again {
				t.Errorf("again %v: %d files were read", again, read)
			}
		}
	}
}

// Whatever becomes of the files, a project that was remembered is loaded as it
// is now, with the same mistakes at the same places.
func TestNothingStaleIsRemembered(t *testing.T) {
	later := strings.Replace(rememberedPart, "1.10", "1.20", 1)
	for name, change := range map[string]func(t *testing.T, root string, part string, dated time.Time){
		"another content of the same size and date": func(t *testing.T, _, part string, dated time.Time) {
			write(t, part, later)
			if err := os.Chtimes(part, dated, dated); err != nil {
				t.Fatal(err)
			}
		},
		"another file of the same size and date in its place": func(t *testing.T, root, part string, dated time.Time) {
			other := filepath.Join(root, "other")
			write(t, other, later)
			if err := os.Chtimes(other, dated, dated); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(other, part); err != nil {
				t.Fatal(err)
			}
		},
		"a removed file": func(t *testing.T, _, part string, _ time.Time) {
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
		},
		"a new file": func(t *testing.T, root, _ string, _ time.Time) {
			write(t, filepath.Join(root, "components", "third.yaml"), strings.Replace(rememberedNext, "name: next", "name: third", 1))
		},
		"two files that changed places": func(t *testing.T, root, part string, _ time.Time) {
			next, aside := filepath.Join(root, "components", "next.yaml"), filepath.Join(root, "aside")
			for _, move := range [][2]string{{part, aside}, {next, part}, {aside, next}} {
				if err := os.Rename(move[0], move[1]); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a symlink to what was there, and then to another": func(t *testing.T, root, part string, _ time.Time) {
			first, second := filepath.Join(root, "first"), filepath.Join(root, "second")
			if err := os.Rename(part, first); err != nil {
				t.Fatal(err)
			}
			write(t, second, later)
			if err := os.Symlink(first, part); err != nil {
				t.Fatal(err)
			}
			if _, _, err := hasty(root, filepath.Join(root, ".stonemason", "project.cache")); err != nil {
				t.Fatal(err)
			}
			if err := os.Remove(part); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(second, part); err != nil {
				t.Fatal(err)
			}
		},
		"a mistake": func(t *testing.T, _, part string, _ time.Time) {
			write(t, part, rememberedPart+"nonsense: 1\n")
		},
		"no YAML":     func(t *testing.T, _, part string, _ time.Time) { write(t, part, "a: b: c\n") },
		"a key twice": func(t *testing.T, _, part string, _ time.Time) { write(t, part, rememberedPart+"name: part\n") },
		"too large": func(t *testing.T, _, part string, _ time.Time) {
			write(t, part, rememberedPart+strings.Repeat("#", 1<<20))
		},
		"a folder": func(t *testing.T, _, part string, _ time.Time) { os.Remove(part); os.Mkdir(part, 0o755) },
		"a new lock": func(t *testing.T, root, _ string, _ time.Time) {
			write(t, filepath.Join(root, LockFile), "schema: 1\nversion: x\nchannels: {}\n")
		},
		"other recipes": func(t *testing.T, root, _ string, _ time.Time) { os.RemoveAll(filepath.Join(root, RecipesDir)) },
	} {
		t.Run(name, func(t *testing.T) {
			root, cache := rememberable(t)
			p, _, err := hasty(root, cache)
			before := said(t, p, err)
			part := filepath.Join(root, "components", "part.yaml")
			info, err := os.Stat(part)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // more than a tick of the clock for files
			change(t, root, part, info.ModTime())
			p, err = Load(root)
			want := said(t, p, err)
			if want == before {
				t.Fatal("the change changed nothing")
			}
			for i := range 2 {
				p, _, err := hasty(root, cache)
				if got := said(t, p, err); got != want {
					t.Errorf("load %d:\n%s\nwant:\n%s", i, got, want)
				}
			}
		})
	}
}

// A mistake that parsing does not find is found in a remembered file too, and
// at the same place.
func TestARememberedFileIsCheckedAgain(t *testing.T) {
	root, cache := rememberable(t)
	if _, _, err := hasty(root, cache); err != nil {
		t.Fatal(err)
	}
	plant(t, root, cache, "components/part.yaml", strings.Replace(rememberedPart, "group:", "groop:", 1))
	_, _, err := hasty(root, cache)
	if err == nil || !strings.Contains(err.Error(), `components/part.yaml:4:1: unknown key "groop": did you mean "group"?`) {
		t.Errorf("the error %v", err)
	}
}

// plant replaces what a cache file remembers of a file, as no honest program
// would.
func plant(t *testing.T, root, cache, file, text string) {
	t.Helper()
	m := remember(cache, root)
	var out any
	src, err := yamlx.DecodeSource(file, []byte(text), &out)
	if err != nil {
		t.Fatal(err)
	}
	m.learn(file, m.files[file].is, src)
	m.save(sortedKeys(m.files))
}

// Times of just now prove nothing: a second write within the same tick leaves
// them as they are.
func TestFilesWrittenJustNowAreNotRemembered(t *testing.T) {
	root, cache := rememberable(t)
	if _, err := LoadKnown(root, cache); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cache); !os.IsNotExist(err) {
		t.Errorf("a cache file of new files: %v", err)
	}
	// Nor are their dates believed, when only these are old.
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{ConfigFile, "components/part.yaml"} {
		if err := os.Chtimes(filepath.Join(root, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := LoadKnown(root, cache); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(cache); !os.IsNotExist(err) {
		t.Errorf("a cache file of new files with old dates: %v", err)
	}
}

// A cache file that is not as it was written, or not of this folder, parser or
// format, is no error, is not believed, and is replaced.
func TestADamagedCacheIsIgnored(t *testing.T) {
	root, cache := rememberable(t)
	if _, _, err := hasty(root, cache); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Load(root)
	want := said(t, p, err)
	files := len(remember(cache, root).files)
	// A wrong byte in what was planted would be believed without the checksum.
	plant(t, root, cache, "components/part.yaml", strings.Replace(rememberedPart, "a part", "no part", 1))
	planted, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	if p, read, err := hasty(root, cache); err != nil || read != 0 || p.Components["part"].Summary != "no part" {
		t.Fatalf("what is remembered is not taken: %v, %d files read", err, read)
	}
	damaged := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(cache, data, 0o644); err != nil {
			t.Fatal(err)
		}
		p, read, err := hasty(root, cache)
		if got := said(t, p, err); got != want || read != files {
			t.Fatalf("%d of %d files were read, and they say:\n%s\nwant:\n%s", read, files, got, want)
		}
		if now, err := os.ReadFile(cache); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("the cache file was not written anew: %v", err)
		}
	}
	resealed := func(body []byte) []byte {
		body = bytes.Clone(body)
		return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	}
	damaged(nil)
	for cut := 0; cut < len(planted); cut += 13 {
		damaged(planted[:cut])
		flipped := bytes.Clone(planted)
		flipped[cut] ^= 1 << (cut % 8)
		damaged(flipped)
	}
	body := planted[:len(planted)-4]
	damaged(append(bytes.Clone(planted), 0))
	damaged(resealed(append(bytes.Clone(body), 0)))
	damaged(resealed(body[:len(body)-1]))
	damaged(resealed(bytes.Replace(body, []byte("stonemason-project 1."), []byte("stonemason-project 2."), 1)))
	first, _, _ := bytes.Cut(body, []byte("\n"))
	damaged(resealed(bytes.Replace(body, first, append(bytes.Clone(first), ".1"...), 1)))
	damaged(resealed(bytes.Replace(body, []byte(root), []byte(root+"x"), 1)))
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
}

// The cache file of another checkout, copied along with its files, says nothing
// of the copies; and one in whose place there is something else, or that cannot
// be written, hinders nothing.
func TestACacheThatIsNoneHindersNothing(t *testing.T) {
	one, cache := rememberable(t)
	if _, _, err := hasty(one, cache); err != nil {
		t.Fatal(err)
	}
	plant(t, one, cache, "components/part.yaml", strings.Replace(rememberedPart, "a part", "no part", 1))
	other, itsCache := rememberable(t)
	data, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"another folder's":              data,
		"another folder's, in disguise": nil,
	} {
		if data == nil {
			m := remember(cache, one)
			m.file, m.heading, m.learnt = itsCache, heading(other), m.files
			m.save(sortedKeys(m.files))
		} else {
			write(t, itsCache, string(data))
		}
		if p, _, err := hasty(other, itsCache); err != nil || p.Components["part"].Summary != "a part" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, place := range []string{t.TempDir(), filepath.Join(other, ConfigFile, "below")} {
		if _, _, err := hasty(other, place); err != nil {
			t.Errorf("with a cache file %s: %v", place, err)
		}
	}
}
