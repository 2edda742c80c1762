package macho

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
)

// megabyte is an image of one megabyte with a long string of code.
func megabyte(b *testing.B) []byte {
	source := librarySource + "\nconst char filler[1 << 20] = {1};\n"
	return contents(b, link(b, filepath.Join(b.TempDir(), "libbig.dylib"), "arm64", source, "-dylib",
		"-install_name", "/stage/lib/libbig.dylib", "-headerpad_max_install_names", "-rpath", "/stage/lib"))
}

func BenchmarkFixAndSign(b *testing.B) {
	image := megabyte(b)
	b.SetBytes(int64(len(image)))
	for n := 0; b.Loop(); n++ {
		f, err := Parse(image)
		if err != nil {
			b.Fatal(err)
		}
		plan, err := f.Plan(Edit{ID: fmt.Sprint("@rpath/lib", n, ".dylib"), SetRpaths: true, Rpaths: []string{"@loader_path"}})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := plan.Bytes(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadAndVerify(b *testing.B) {
	image := megabyte(b)
	b.SetBytes(int64(len(image)))
	for b.Loop() {
		f, err := Read(bytes.NewReader(image), int64(len(image)))
		if err != nil {
			b.Fatal(err)
		}
		if problems, err := f.Verify(); err != nil || len(problems) > 0 {
			b.Fatal(problems, err)
		}
	}
}
