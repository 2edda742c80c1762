package audit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func patternsOf(t testing.TB, paths ...string) []pattern {
	t.Helper()
	p, err := buildPatterns(paths)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestBuildPatterns(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range patternsOf(t, "/a/b/", "/a/b/c", "/a/bc", "/a/b", "/x", dir+"/link") {
		got = append(got, p.path)
	}
	want := fmt.Sprint([]string{"/a/b", "/a/bc", "/x", dir + "/link", dir + "/real"})
	if fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		data, path string
		text       bool
		want       int
	}{
		{"/tmp/build", "/tmp/build", true, 1},
		{"/tmp/build/x", "/tmp/build", true, 1},
		{"/tmp/builders", "/tmp/build", true, 0},
		{"/tmp/build-2", "/tmp/build", true, 0},
		{"/tmp/builders", "/tmp/build", false, 1},
		{"x/tmp/build", "/tmp/build", true, 1},
		{"and/work done", "/work", true, 0},
		{"and/work/x", "/work", true, 0},
		{"-I/work -L/work/lib '/work'", "/work", true, 3},
		{"/work", "/work", false, 1},
		{"/workers", "/work", false, 0},
		{"\x00/work\x00", "/work", false, 1},
	} {
		p := patternsOf(t, tt.path)
		hits, err := newBuffer(p, 64).scan(context.Background(), bytes.NewReader([]byte(tt.data)), tt.text, p)
		if err != nil {
			t.Fatal(err)
		}
		got := 0
		for _, h := range hits {
			got += h.count
		}
		if got != tt.want {
			t.Errorf("%q in %q: %d, want %d", tt.path, tt.data, got, tt.want)
		}
	}
}

// naive is scan over the whole data at once.
func naive(data []byte, p pattern, text bool) (count int, first int64) {
	for at := 0; at+len(p.b) <= len(data); {
		k := bytes.Index(data[at:], p.b)
		if k < 0 {
			break
		}
		at += k
		if counts(data, at, p, text) {
			if count++; count == 1 {
				first = int64(at)
			}
		}
		at += len(p.b)
	}
	return count, first
}

// FuzzScan compares the search in chunks with the search at once, with chunks
// so small that every match lies across a border sooner or later.
func FuzzScan(f *testing.F) {
	for pad := range 12 {
		text := append(bytes.Repeat([]byte("x"), pad), "/ab/cd/ab/cd -I/w /w/ /ab/c/ab/cdx /w"...)
		f.Add(text, uint8(pad%5), pad%2 == 0)
	}
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8, text bool) {
		p := patternsOf(t, "/ab/cd", "/w")
		hits, err := newBuffer(p, int(chunk%16)+1).scan(context.Background(), bytes.NewReader(data), text, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range p {
			want, first := naive(data, p, text)
			var got hit
			for _, h := range hits {
				if h.pattern.path == p.path {
					got = h
				}
			}
			if got.count != want || want > 0 && got.first != first {
				t.Errorf("%s in %q by %d: %d at %d, want %d at %d", p.path, data, chunk, got.count, got.first, want, first)
			}
		}
	})
}

// BenchmarkScan is the search alone, over data with many slashes.
func BenchmarkScan(b *testing.B) {
	data := bytes.Repeat([]byte("/usr/include/c++/12/bits/stl_vector.h:\x00\x01\x02operator new(unsigned long)"), 1<<19)
	p := patternsOf(b, "/tmp/some/build", "/store", "/home/someone")
	buf := newBuffer(p, chunkSize)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := buf.scan(context.Background(), bytes.NewReader(data), false, p); err != nil {
			b.Fatal(err)
		}
	}
}
