package llvm

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
)

// kernel is a device program without a header, for the adopted compiler.
const kernel = `__attribute__((amdgpu_kernel)) void scale(__attribute__((address_space(1))) float *x, float f) {
	x[__builtin_amdgcn_workitem_id_x()] *= f;
}`

func system(t *testing.T) (Install, string) {
	t.Helper()
	in, err := Best(detect(t, Options{MinMajor: 19, Required: []string{"clang", "lld", "ld.lld", "llvm-ar"}}), 19)
	if err != nil {
		t.Fatal(err)
	}
	patchelf, err := exec.LookPath("patchelf")
	if err != nil {
		t.Fatal(err)
	}
	return in, patchelf
}

// TestAdopt adopts this machine's LLVM, moves it, and compiles with it in an
// empty environment.
func TestAdopt(t *testing.T) {
	ctx := context.Background()
	in, patchelf := system(t)
	stage := filepath.Join(t.TempDir(), "stage")
	r, err := Adopt(ctx, in, Spec{
		Tools:    []string{"clang", "clang++", "clang-cpp", "lld", "ld.lld", "llvm-ar", "llvm-ranlib", "llvm-readelf", "llvm-readobj"},
		Optional: []string{"no-such-tool"},
		Links:    map[string]string{"amdclang": "clang", "amdclang++": "clang++"},
		Dest:     stage, Patchelf: patchelf,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(r.Absent, []string{"no-such-tool"}) || !slices.Contains(r.Base, "libc.so.6") || slices.Contains(r.Base, "libz.so.1") {
		t.Errorf("absent %q, base %q", r.Absent, r.Base)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(stage, moved); err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, e := range r.Files {
		info, err := os.Lstat(filepath.Join(moved, e.Path))
		if err != nil {
			t.Fatal(err)
		}
		if e.Link != "" {
			if got, _ := os.Readlink(filepath.Join(moved, e.Path)); got != e.Link || strings.Contains(got, "/") {
				t.Errorf("%s leads to %q, reported %q", e.Path, got, e.Link)
			}
			continue
		}
		size += info.Size()
		if info.Size() != e.Size || info.Mode().Perm()&0o022 != 0 {
			t.Errorf("%s: %d bytes, mode %v; reported %d", e.Path, info.Size(), info.Mode(), e.Size)
		}
		if !e.Edited && sumOf(t, e.Origin) != sumOf(t, filepath.Join(moved, e.Path)) {
			t.Errorf("%s is not the same as %s", e.Path, e.Origin)
		}
	}
	if licences, _ := filepath.Glob(moved + "/share/doc/amd-llvm/*/*"); len(licences) == 0 {
		t.Errorf("no licence text was copied; without one: %q", r.Unlicensed)
	}
	bin := filepath.Join(moved, "lib/llvm/bin")
	for _, name := range []string{"clang", "clang++", "ld.lld", "llvm-ranlib", "amdclang++", clangName(in.Major)} {
		// The loader itself lists what it takes, from where.
		cmd := exec.Command(filepath.Join(bin, name))
		cmd.Env = []string{"LD_TRACE_LOADED_OBJECTS=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, out)
		}
		for line := range strings.Lines(string(out)) {
			f := strings.Fields(line)
			if len(f) < 3 || f[1] != "=>" {
				continue
			}
			if !elf.IsBase(f[0]) && !strings.HasPrefix(f[2], moved+"/") {
				t.Errorf("%s loads %s", name, strings.TrimSpace(line))
			}
		}
	}
	src := filepath.Join(t.TempDir(), "scale.c")
	if err := os.WriteFile(src, []byte(kernel), 0o644); err != nil {
		t.Fatal(err)
	}
	obj := src + ".hsaco"
	run(t, filepath.Join(bin, "amdclang"), "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-nogpulib", "-O2", src, "-o", obj)
	img, err := elf.Open(obj)
	if err != nil || img.Machine != elf.MachineAMDGPU {
		t.Errorf("%+v, %v", img, err)
	}
	run(t, filepath.Join(bin, "clang"), "-fsyntax-only", "-include", "stddef.h", src, "--target=amdgcn-amd-amdhsa")
	if out := run(t, filepath.Join(bin, "llvm-readelf"), "--symbols", obj); !strings.Contains(out, "scale.kd") {
		t.Errorf("no kernel descriptor:\n%s", out)
	}
}

func run(t *testing.T, tool string, args ...string) string {
	t.Helper()
	cmd := exec.Command(tool, args...)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", tool, args, err, out)
	}
	return string(out)
}

func sumOf(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

// tiny is an installation of two programs and a library, made with gcc, on
// which every rule can be tried without copying libLLVM.
func tiny(t *testing.T) Install {
	t.Helper()
	prefix := t.TempDir()
	for _, dir := range []string{"bin", "lib", "lib/clang/22/include", "lib/clang/22/lib/linux"} {
		if err := os.MkdirAll(filepath.Join(prefix, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gcc(t, prefix+"/lib/libdeep.so.1.2", "int deep(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,libdeep.so.1")
	symlink(t, "libdeep.so.1.2", prefix+"/lib/libdeep.so.1")
	gcc(t, prefix+"/lib/libcore.so.22", "int deep(void); int core(void){return deep();}", "-shared", "-fPIC", "-Wl,-soname,libcore.so.22",
		prefix+"/lib/libdeep.so.1", "-Wl,--enable-new-dtags,-rpath,"+prefix+"/lib")
	// It stands for clang where that is asked for its resource folder.
	gcc(t, prefix+"/bin/clang", `#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		int core(void);
		int main(int c, char **v) {
			char self[4096]; ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
			if (n < 0 || c < 2) return core();
			self[n] = 0; *strrchr(self, '/') = 0;
			printf("%s/../lib/clang/22\n", self);
			return core();
		}`, prefix+"/lib/libcore.so.22", "-Wl,-rpath-link,"+prefix+"/lib", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib")
	symlink(t, "clang", prefix+"/bin/clang++")
	gcc(t, prefix+"/bin/plain", "int main(void){return 0;}")
	writeTool(t, prefix+"/bin/script", tool)
	touch(t, prefix+"/lib/clang/22/include/stddef.h")
	touch(t, prefix+"/lib/clang/22/lib/linux/libclang_rt.builtins-x86_64.a")
	touch(t, prefix+"/lib/clang/22/lib/linux/libclang_rt.asan-x86_64.a")
	touch(t, prefix+"/LICENSE.TXT")
	in := Install{Prefix: prefix, Version: "22.1.8", Major: 22, Vendor: Other, BinDir: prefix + "/bin", LibDir: prefix + "/lib",
		ResourceDir: prefix + "/lib/clang/22", Tools: map[string]string{}}
	for _, name := range []string{"clang", "clang++", "plain", "script"} {
		in.Tools[name] = filepath.Join(prefix, "bin", name)
	}
	return in
}

func gcc(t *testing.T, out, source string, args ...string) {
	t.Helper()
	cmd := exec.Command("gcc", append([]string{"-x", "c", "-", "-x", "none", "-o", out}, args...)...)
	cmd.Stdin = strings.NewReader(source)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, said)
	}
}

func symlink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestAdoptLayout(t *testing.T) {
	_, patchelf := system(t)
	in := tiny(t)
	stages := [2]string{}
	for i := range stages {
		stages[i] = filepath.Join(t.TempDir(), "stage")
		_, err := Adopt(context.Background(), in, Spec{Tools: []string{"clang", "clang++", "plain"}, Links: map[string]string{"amdclang": "clang"},
			Dest: stages[i], Patchelf: patchelf})
		if err != nil {
			t.Fatal(err)
		}
	}
	got := listing(t, stages[0])
	want := []string{
		"lib/llvm/bin/amdclang -> clang",
		"lib/llvm/bin/clang -> clang-22",
		"lib/llvm/bin/clang++ -> clang",
		"lib/llvm/bin/clang-22 runpath $ORIGIN/../lib",
		"lib/llvm/bin/plain runpath ",
		"lib/llvm/lib/clang/22/include/stddef.h",
		"lib/llvm/lib/clang/22/lib/linux/libclang_rt.builtins-x86_64.a",
		"lib/llvm/lib/libcore.so.22 runpath $ORIGIN",
		"lib/llvm/lib/libdeep.so.1 -> libdeep.so.1.2",
		"lib/llvm/lib/libdeep.so.1.2 runpath ",
		"share/doc/amd-llvm/llvm/LICENSE.TXT",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, line := range got {
		path, _, _ := strings.Cut(line, " ")
		if info, _ := os.Lstat(filepath.Join(stages[0], path)); info.Mode().IsRegular() &&
			sumOf(t, filepath.Join(stages[0], path)) != sumOf(t, filepath.Join(stages[1], path)) {
			t.Errorf("%s differs between two adoptions", path)
		}
	}
	if out, err := os.ReadFile(filepath.Join(stages[0], "lib/llvm/lib/libcore.so.22")); err != nil || strings.Contains(string(out), in.Prefix) {
		t.Errorf("the old path is left in the library: %v", err)
	}
}

func listing(t *testing.T, root string) []string {
	t.Helper()
	var lines []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		line, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if target, err := os.Readlink(path); err == nil {
			line += " -> " + target
		} else if img, err := elf.Open(path); err == nil {
			line += " runpath " + strings.Join(img.RunPath, ":")
		}
		lines = append(lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return lines
}

func TestAdoptRefusals(t *testing.T) {
	_, patchelf := system(t)
	for name, tt := range map[string]struct {
		spec  Spec
		spoil func(t *testing.T, in *Install)
		says  string
	}{
		"missing tool":     {Spec{Tools: []string{"clang", "opt", "llc"}}, nil, "no llc, opt"},
		"script":           {Spec{Tools: []string{"script"}}, nil, "only ELF programs are adopted"},
		"bad name":         {Spec{Tools: []string{"../clang"}}, nil, "is no name of a tool"},
		"link to nothing":  {Spec{Tools: []string{"clang"}, Links: map[string]string{"hipcc": "lld"}}, nil, "lld is not among"},
		"link over a tool": {Spec{Tools: []string{"clang", "plain"}, Links: map[string]string{"plain": "clang"}}, nil, "would come from both"},
		"link elsewhere":   {Spec{Tools: []string{"clang"}, Links: map[string]string{"x": "../clang"}}, nil, "names of tools"},
		"no patchelf":      {Spec{Tools: []string{"clang"}, Patchelf: "-"}, nil, "install the package patchelf"},
		"missing library": {Spec{Tools: []string{"clang"}}, func(t *testing.T, in *Install) {
			if err := os.Remove(in.Prefix + "/lib/libdeep.so.1"); err != nil {
				t.Fatal(err)
			}
		}, "library libdeep.so.1 (needed by "},
		"resources outside": {Spec{Tools: []string{"clang"}}, func(t *testing.T, in *Install) { in.ResourceDir = "/usr/include" }, "outside the bundle"},
		"used stage": {Spec{Tools: []string{"clang"}}, func(t *testing.T, in *Install) {
			touch(t, filepath.Join(in.Prefix, "stage/lib/llvm/bin/clang-22"))
		}, "file exists"},
	} {
		t.Run(name, func(t *testing.T) {
			in := tiny(t)
			if name == "no patchelf" {
				// Room for nothing: the library's own path is gone.
				gcc(t, in.Prefix+"/lib/libcore.so.22", "int deep(void); int core(void){return deep();}", "-shared", "-fPIC",
					"-Wl,-soname,libcore.so.22", in.Prefix+"/lib/libdeep.so.1")
				symlink(t, in.Prefix+"/lib", in.Prefix+"/bin/lib")
				in.Tools["clang"] = in.Prefix + "/bin/clang2"
				gcc(t, in.Tools["clang"], "int core(void); int main(void){return core();}", in.Prefix+"/lib/libcore.so.22",
					in.Prefix+"/lib/libdeep.so.1", "-Wl,--no-as-needed,--disable-new-dtags,-rpath,"+in.Prefix+"/lib")
			}
			if tt.spoil != nil {
				tt.spoil(t, &in)
			}
			tt.spec.Dest = filepath.Join(in.Prefix, "stage")
			if tt.spec.Patchelf == "" {
				tt.spec.Patchelf = patchelf
			} else {
				tt.spec.Patchelf = ""
			}
			_, err := Adopt(context.Background(), in, tt.spec)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want it to say %q", err, tt.says)
			}
		})
	}
	var missing *MissingError
	if _, err := Adopt(context.Background(), tiny(t), Spec{Tools: []string{"opt"}, Dest: t.TempDir()}); !errors.As(err, &missing) {
		t.Errorf("%T", err)
	}
}

// Digest without a memory: every content counts.
func TestDigest(t *testing.T) {
	ctx := context.Background()
	in := tiny(t)
	digest := func() string {
		t.Helper()
		d, err := Digest(ctx, in, nil)
		if err != nil || len(d) != 64 {
			t.Fatalf("%q, %v", d, err)
		}
		return d
	}
	first := digest()
	if digest() != first {
		t.Error("two digests differ")
	}
	touch(t, in.ResourceDir+"/include/stdint.h")
	changed := digest()
	if changed == first {
		t.Error("a new header changed nothing")
	}
	if err := os.WriteFile(in.ResourceDir+"/include/stdint.h", []byte("yy"), 0o644); err != nil {
		t.Fatal(err)
	}
	if digest() == changed {
		t.Error("another content changed nothing")
	}
	if err := os.Remove(in.ResourceDir + "/include/stdint.h"); err != nil {
		t.Fatal(err)
	}
	touch(t, in.LibDir+"/cmake/llvm/LLVMConfig.cmake")
	if digest() == first {
		t.Error("a CMake package changed nothing")
	}
	if err := os.RemoveAll(in.LibDir + "/cmake"); err != nil {
		t.Fatal(err)
	}
	if digest() != first {
		t.Error("the first state has another digest")
	}
}
