package codeobj

import (
	"bytes"
	"compress/zlib"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

type item struct {
	id   string
	data string
}

// pack makes a plain bundle; data lies right behind the table.
func pack(items ...item) []byte {
	le := binary.LittleEndian
	size := len(bundleMagic) + 8
	for _, it := range items {
		size += 24 + len(it.id)
	}
	b := le.AppendUint64([]byte(bundleMagic), uint64(len(items)))
	off := size
	for _, it := range items {
		b = le.AppendUint64(b, uint64(off))
		b = le.AppendUint64(b, uint64(len(it.data)))
		b = le.AppendUint64(b, uint64(len(it.id)))
		b = append(b, it.id...)
		off += len(it.data)
	}
	for _, it := range items {
		b = append(b, it.data...)
	}
	return b
}

// squeeze compresses a plain bundle as the versions of the format have it.
func squeeze(t testing.TB, plain []byte, version int, method Method) []byte {
	t.Helper()
	var packed bytes.Buffer
	if method == MethodZlib {
		w := zlib.NewWriter(&packed)
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	} else {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		packed.Write(w.EncodeAll(plain, nil))
	}
	le := binary.LittleEndian
	b := le.AppendUint16([]byte(compressedMagic), uint16(version))
	b = le.AppendUint16(b, uint16(method))
	switch version {
	case 2:
		b = le.AppendUint32(b, uint32(24+packed.Len()))
	case 3:
		b = le.AppendUint64(b, uint64(32+packed.Len()))
	}
	if version == 3 {
		b = le.AppendUint64(b, uint64(len(plain)))
	} else {
		b = le.AppendUint32(b, uint32(len(plain)))
	}
	sum := md5.Sum(plain)
	return append(append(b, sum[:8]...), packed.Bytes()...)
}

var sample = []item{
	{"host-x86_64-unknown-linux-gnu-", ""},
	{"hipv4-amdgcn-amd-amdhsa--gfx942", "code for gfx942"},
	{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+", "code for gfx90a, xnack on"},
	{"hipv4-amdgcn-amd-amdhsa--gfx11-generic", strings.Repeat("generic ", 500)},
}

func checkSample(t *testing.T, b *Bundle, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
		return
	}
	var got []item
	for _, e := range b.Entries {
		got = append(got, item{e.ID, string(e.Data)})
	}
	if !slices.Equal(got, sample) {
		t.Errorf("entries %v", got)
	}
}

func TestParseBundleForms(t *testing.T) {
	plain := pack(sample...)
	b, err := ParseBundle(plain, Limits{})
	checkSample(t, b, err)
	for _, method := range []Method{MethodZlib, MethodZstd} {
		for version := 1; version <= 3; version++ {
			packed := squeeze(t, plain, version, method)
			b, err := ParseBundle(packed, Limits{})
			checkSample(t, b, err)
			if err == nil && (b.Compressed.Version != version || b.Compressed.Method != method || !bytes.Equal(b.Plain, plain) || b.Size != uint64(len(packed))) {
				t.Errorf("%s, version %d: %+v", method, version, b.Compressed)
			}
			// Padding behind a bundle, as a section has it, changes nothing.
			b, err = ParseBundle(append(packed, make([]byte, 100)...), Limits{})
			checkSample(t, b, err)
		}
	}
}

func TestParseBundles(t *testing.T) {
	one, two := pack(sample...), squeeze(t, pack(sample...), 3, MethodZstd)
	section := slices.Concat(make([]byte, 8), one, make([]byte, 4096), two, one, make([]byte, 7))
	list, err := ParseBundles(section, Limits{})
	if err != nil || len(list) != 3 {
		t.Fatalf("%d bundles, %v", len(list), err)
	}
	for _, b := range list {
		checkSample(t, b, nil)
	}
	if _, err := ParseBundles(append(section, "rubbish"...), Limits{}); err == nil || !strings.Contains(err.Error(), "not an offload bundle") {
		t.Errorf("rubbish at the end: %v", err)
	}
	if list, err := ParseBundles(make([]byte, 64), Limits{}); err != nil || len(list) != 0 {
		t.Errorf("an empty section: %d, %v", len(list), err)
	}
	if _, err := ParseBundles(slices.Concat(two, two), Limits{MaxUncompressed: uint64(len(one)) + 5}); err == nil {
		t.Error("two compressed bundles may together exceed the limit")
	}
}

func TestParseBundleRefuses(t *testing.T) {
	plain := pack(sample...)
	put := func(data []byte, off int, v uint64) []byte {
		data = slices.Clone(data)
		binary.LittleEndian.PutUint64(data[off:], v)
		return data
	}
	packed := squeeze(t, plain, 3, MethodZstd)
	flip := slices.Clone(packed)
	flip[24] ^= 1
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "not an offload bundle"},
		{"magic alone", []byte(bundleMagic), "number of entries"},
		{"many entries", put(plain, 24, 1<<40), "at most 4096"},
		{"entry outside", put(plain, 40, 1<<60), "do not lie in"},
		{"offset wraps", put(put(plain, 32, ^uint64(0)), 40, 2), "do not lie in"},
		{"long id", put(plain, 48, 1<<50), "at most 1024"},
		{"inside of the table", pack(item{"host-x86_64-unknown-linux-gnu-", "x"})[:0], "not an offload bundle"},
		{"overlaps the table", put(put(plain, 32, 8), 40, 8), "inside of the table"},
		{"twice", pack(sample[1], sample[1]), "twice"},
		{"kind", pack(item{"cuda-nvptx64-nvidia-cuda--sm_90", "x"}), "the kind is not"},
		{"target", pack(item{"hipv4-amdgcn-amd-amdhsa--gfx942:magic+", "x"}), "neither xnack nor sramecc"},
		{"no triple", pack(item{"host-", ""}), "no architecture"},
		{"control character", pack(item{"host-a-b\n-c", ""}), "printable"},
		{"header cut", packed[:20], "header"},
		{"packed cut", packed[:len(packed)-4], "its header says"},
		{"version", append([]byte("CCOB\x09\x00\x01\x00"), packed[8:]...), "version 9"},
		{"method", append([]byte("CCOB\x03\x00\x07\x00"), packed[8:]...), "method 7"},
		{"hash", flip, "it is damaged"},
		{"says more", put(packed, 16, uint64(len(plain))+1), "its header says"},
		{"says less", put(packed, 16, uint64(len(plain))-1), ""},
		{"bomb", put(packed, 16, 1<<40), "at most 1073741824"},
		{"file size", put(packed, 8, 1), "its header says 1 bytes"},
		{"rubbish inside", squeeze(t, []byte("rubbish"), 3, MethodZlib), "content is not an offload bundle"},
	} {
		if _, err := ParseBundle(c.data, Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one that says %q", c.name, err, c.want)
		}
	}
	for i := range plain[:len(plain)-1] {
		if _, err := ParseBundle(plain[:i], Limits{}); err == nil {
			t.Errorf("the first %d bytes are accepted", i)
		}
	}
}

func TestParseEntryID(t *testing.T) {
	for _, c := range []struct{ id, kind, triple, target string }{
		{"hipv4-amdgcn-amd-amdhsa--gfx942", "hipv4", "amdgcn-amd-amdhsa", "gfx942"},
		{"hip-amdgcn-amd-amdhsa-gfx90a:sramecc+:xnack-", "hip", "amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-"},
		{"hipv4-amdgcn-amd-amdhsa--gfx9-4-generic:xnack-", "hipv4", "amdgcn-amd-amdhsa", "gfx9-4-generic:xnack-"},
		{"hip-amdgcn-amd-amdhsa-gfx9-4-generic", "hip", "amdgcn-amd-amdhsa", "gfx9-4-generic"},
		{"host-x86_64-unknown-linux-gnu-", "host", "x86_64-unknown-linux-gnu", ""},
		{"host-x86_64-unknown-linux-gnu", "host", "x86_64-unknown-linux-gnu", ""},
		{"host-arm64-apple-macosx15.0.0--", "host", "arm64-apple-macosx15.0.0", ""},
		{"openmp-amdgcn-amd-amdhsa--gfx906", "openmp", "amdgcn-amd-amdhsa", "gfx906"},
		{"hip-spirv64-amd-amdhsa--amdgcnspirv", "hip", "spirv64-amd-amdhsa", ""},
	} {
		id, err := ParseEntryID(c.id)
		if err != nil || id.Kind != c.kind || id.Triple != c.triple || id.Target.String() != c.target || id.Device() != (c.target != "") {
			t.Errorf("%s: %+v, %v", c.id, id, err)
		}
	}
}

func TestSelect(t *testing.T) {
	table := gpuTable(t)
	b, err := ParseBundle(pack(
		item{"hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", "generic"},
		item{"hipv4-amdgcn-amd-amdhsa--gfx942", "exact"},
		item{"hip-amdgcn-amd-amdhsa--gfx90a:xnack+", "on"},
		item{"hip-amdgcn-amd-amdhsa--gfx90a:xnack-", "off"},
		item{"openmp-amdgcn-amd-amdhsa--gfx1100", "another runtime's"},
		item{"hip-spirv64-amd-amdhsa--amdgcnspirv", "to be translated"},
		item{"hip-amdgcn-amd-amdhsa--gfx908", "any"},
		item{"hip-amdgcn-amd-amdhsa--gfx908:xnack+", "one"},
		item{"hip-amdgcn-amd-amdhsa--gfx908:sramecc-:xnack+", "both"},
		item{"hip-amdgcn-amd-amdhsa--gfx9-generic", "generic"},
		item{"hip-amdgcn-amd-amdhsa--gfx9-generic:xnack-", "generic off"},
		item{"hip-amdgcn-amd-amdhsa--gfx906:sramecc+", "with ecc"},
		item{"host-x86_64-unknown-linux-gnu-", ""},
	), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ device, want string }{
		{"gfx942:sramecc+:xnack-", "exact"},
		{"gfx950:sramecc+:xnack-", "generic"},
		{"gfx90a:sramecc+:xnack-", "off"},
		{"gfx90a:sramecc+:xnack+", "on"},
		{"gfx1100", ""},
		{"gfx908", "any"}, // a device that leaves a feature open has it neither way
		{"gfx908:xnack-", "any"},
		{"gfx908:xnack+", "one"},
		{"gfx908:sramecc+:xnack+", "one"},
		{"gfx908:sramecc-:xnack+", "both"},
		{"gfx906:sramecc+:xnack-", "with ecc"},
		{"gfx906:sramecc-:xnack+", "generic"},
		{"gfx906:sramecc-:xnack-", "generic off"},
		{"gfx906", "generic"},
		{"gfx1030", ""},
	} {
		device, err := gpu.ParseTargetID(c.device)
		if err != nil {
			t.Fatal(err)
		}
		e, err := b.Select(table, device)
		if string(e.Data) != c.want || (c.want == "") != errors.Is(err, ErrNoMatch) {
			t.Errorf("%s: %q, %v; want %q", c.device, e.Data, err, c.want)
		}
	}
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// Oracle: clang writes the bundles, clang-offload-bundler lists and unpacks them.
func TestBundlesAgreeWithClang(t *testing.T) {
	t.Parallel()
	src := write(t, "in.hip", llvmtest.Prelude+"__global__ void k(int *p) { *p = 1; }\nvoid launch(int *p) { k<<<1, 1>>>(p); }\n")
	dir := t.TempDir()
	archs := []string{"--offload-arch=gfx90a:xnack+", "--offload-arch=gfx1100", "--offload-arch=gfx9-4-generic"}
	common := append([]string{"-x", "hip", "-nogpuinc", "-nogpulib", "-O2", "-fuse-cuid=none", src}, archs...)
	plainPath, packedPath := filepath.Join(dir, "plain"), filepath.Join(dir, "packed")
	llvmtest.Run(t, "clang++", append(common, "--offload-device-only", "-o", plainPath)...)
	llvmtest.Run(t, "clang++", append(common, "--offload-device-only", "--offload-compress", "-o", packedPath)...)

	for _, path := range []string{plainPath, packedPath} {
		b, err := ParseBundle(read(t, path), Limits{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, e := range b.Entries {
			ids = append(ids, e.ID)
		}
		listed := strings.Fields(llvmtest.Run(t, "clang-offload-bundler", "--list", "--type=o", "--input="+path))
		slices.Sort(ids)
		slices.Sort(listed)
		if !slices.Equal(ids, listed) {
			t.Errorf("entries %v, clang-offload-bundler lists %v", ids, listed)
		}
		if (path == packedPath) != (b.Compressed != nil) {
			t.Errorf("%s: compressed is %v", filepath.Base(path), b.Compressed)
		}
		for _, e := range b.Entries {
			if !e.Device() {
				continue
			}
			one := filepath.Join(dir, "one")
			llvmtest.Run(t, "clang-offload-bundler", "--unbundle", "--type=o", "--input="+path, "--targets="+e.ID, "--output="+one)
			if !bytes.Equal(read(t, one), e.Data) {
				t.Errorf("%s: clang-offload-bundler unpacks other bytes", e.ID)
			}
			o, err := Parse(e.Data)
			if err != nil {
				t.Errorf("%s: %v", e.ID, err)
				continue
			}
			if target, err := o.Target(gpuTable(t)); err != nil || target.ID != e.Target {
				t.Errorf("%s: holds code for %s, %v", e.ID, target, err)
			}
		}
	}

	for _, flags := range [][]string{nil, {"--offload-compress"}} {
		object := filepath.Join(dir, "host.o")
		llvmtest.Run(t, "clang++", append(append(common, flags...), "-c", "-o", object)...)
		section, err := FatBinary(read(t, object))
		if err != nil {
			t.Fatal(err)
		}
		list, err := ParseBundles(section, Limits{})
		if err != nil || len(list) != 1 || len(list[0].Entries) != 4 {
			t.Errorf("host object %v: %d bundles, %v", flags, len(list), err)
		}
	}
}

// Oracle: clang assembles Mach-O with the section that HIP for macOS has.
func TestFatBinaryOfMachO(t *testing.T) {
	t.Parallel()
	bundle := pack(sample...)
	blob := write(t, "bundle", string(bundle))
	asm := write(t, "in.s", ".section __TEXT,__text\nnop\n.section __HIP,__hip_fatbin\n.p2align 12\n.incbin \""+blob+"\"\n.data\n.quad 1\n")
	for _, triple := range []string{"arm64-apple-macos14", "x86_64-apple-macos14"} {
		object := filepath.Join(t.TempDir(), "host.o")
		llvmtest.Run(t, "clang", "-target", triple, "-c", asm, "-o", object)
		data := read(t, object)
		section, err := FatBinary(data)
		if err != nil || !bytes.Equal(section, bundle) {
			t.Errorf("%s: %d bytes of %d, %v", triple, len(section), len(bundle), err)
		}
		for i := range data {
			_, _ = FatBinary(data[:i]) // only its panics count
		}
	}
}

func TestFatBinaryRefuses(t *testing.T) {
	t.Parallel()
	src := write(t, "in.c", "int x;\n")
	for _, triple := range []string{"x86_64-linux-gnu", "arm64-apple-macos14"} {
		object := filepath.Join(t.TempDir(), "host.o")
		llvmtest.Run(t, "clang", "-target", triple, "-c", src, "-o", object)
		if _, err := FatBinary(read(t, object)); !errors.Is(err, ErrNoFatBinary) {
			t.Errorf("%s: %v", triple, err)
		}
	}
	if _, err := FatBinary([]byte("\xca\xfe\xba\xbe\x00\x00\x00\x02")); err == nil || !strings.Contains(err.Error(), "universal") {
		t.Errorf("universal: %v", err)
	}
	if _, err := FatBinary([]byte("MZ")); err == nil {
		t.Error("a PE file is accepted")
	}
}

func FuzzBundle(f *testing.F) {
	plain := pack(sample...)
	f.Add(plain)
	for version := 1; version <= 3; version++ {
		f.Add(squeeze(f, plain, version, MethodZlib))
		f.Add(squeeze(f, plain, version, MethodZstd))
	}
	f.Add(slices.Concat(plain, make([]byte, 9), plain))
	table := gpuTable(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		list, err := ParseBundles(data, Limits{MaxUncompressed: 1 << 20})
		if err != nil {
			return
		}
		for _, b := range list {
			_, _ = b.Select(table, gpu.TargetID{Processor: "gfx942"}) // only its panics count
			for _, e := range b.Entries {
				if uint64(len(e.Data)) > uint64(len(b.Plain)) || !bytes.Equal(e.Data, b.Plain[e.Offset:e.Offset+uint64(len(e.Data))]) {
					t.Errorf("entry %q is not a part of its bundle", e.ID)
				}
			}
		}
	})
}
