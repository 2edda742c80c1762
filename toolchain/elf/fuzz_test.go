package elf

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// FuzzRead starts from real files small enough to mutate well, and from their
// headers pointing nowhere.
func FuzzRead(f *testing.F) {
	dir := f.TempDir()
	for name, args := range map[string][]string{
		"exe":    {"-Wl,-rpath,$ORIGIN/../lib"},
		"shared": {"-shared", "-fPIC", "-Wl,-soname,libx.so.1"},
		"object": {"-c"},
	} {
		path := compileSeed(f, filepath.Join(dir, name), args)
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		far := bytes.Clone(b)
		binary.LittleEndian.PutUint64(far[32:], 1<<62) // e_phoff
		f.Add(far)
		many := bytes.Clone(b)
		binary.LittleEndian.PutUint16(many[56:], 0xffff) // e_phnum
		f.Add(many)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		img, err := Read(bytes.NewReader(b), int64(len(b)))
		if (img == nil) == (err == nil) {
			t.Fatalf("image %v, error %v", img, err)
		}
		if img != nil {
			img.MaxVersions()
			img.MachineName()
			img.Program()
		}
		d, err := newReader(bytes.NewReader(b), int64(len(b)))
		if err == nil {
			_, _ = d.standsAlone(elf.DT_RUNPATH, 1, 4)
		}
	})
}

func compileSeed(f *testing.F, out string, args []string) string {
	f.Helper()
	src := out + ".c"
	if err := os.WriteFile(src, []byte("int main(void){return 0;}"), 0o644); err != nil {
		f.Fatal(err)
	}
	if said, err := exec.Command("gcc", append([]string{src, "-s", "-o", out}, args...)...).CombinedOutput(); err != nil {
		f.Fatalf("gcc: %v\n%s", err, said)
	}
	return out
}
