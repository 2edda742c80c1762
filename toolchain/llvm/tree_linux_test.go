package llvm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// other is a machine that this one is not, and its number in ELF headers.
func other() (platform.Platform, elf.Machine) {
	if platform.Native().Arch == "arm64" {
		return platform.Platform{OS: "linux", Arch: "amd64"}, elf.EM_X86_64
	}
	return platform.Platform{OS: "linux", Arch: "arm64"}, elf.EM_AARCH64
}

// gccFor makes a program of this machine and gives it another's number: none of
// the tools here looks at its code.
func gccFor(t *testing.T, machine elf.Machine, out, source string, args ...string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	gcc(t, out, source, args...)
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	binary.LittleEndian.PutUint16(data[18:], uint16(machine)) // e_machine, System V gABI 4.1
	if err := os.WriteFile(out, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// packages is a folder as four packages of Debian leave it, for a machine.
func packages(t *testing.T, machine elf.Machine) string {
	t.Helper()
	root := t.TempDir()
	usr := filepath.Join(root, "usr")
	bin := filepath.Join(usr, "lib/llvm-22/bin")
	// To link against they must be this machine's; what is kept is not.
	link := t.TempDir()
	for _, name := range []string{"libdeep.so.1", "libcore.so.22"} {
		gcc(t, filepath.Join(link, name), "int f(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,"+name)
	}
	needing := func(name string, more ...string) []string {
		return append([]string{"-Wl,--unresolved-symbols=ignore-all,--no-as-needed", filepath.Join(link, name)}, more...)
	}
	// libdeep lies where Debian 12 still has some: in /lib, not in /usr/lib.
	gccFor(t, machine, filepath.Join(root, "lib/libdeep.so.1.2"), "int deep(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,libdeep.so.1")
	symlink(t, "libdeep.so.1.2", filepath.Join(root, "lib/libdeep.so.1"))
	gccFor(t, machine, filepath.Join(usr, "lib/libcore.so.22"), "int deep(void); int core(void){return deep();}", needing("libdeep.so.1", "-shared", "-fPIC", "-Wl,-soname,libcore.so.22")...)
	gccFor(t, machine, filepath.Join(bin, "clang"), "int core(void); int main(void){return core();}", needing("libcore.so.22", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/../lib")...)
	symlink(t, "clang", filepath.Join(bin, "clang++"))
	put(t, filepath.Join(usr, "lib/llvm-22/lib/clang/22/include/stddef.h"), "x")
	symlink(t, "../../libcore.so.22", filepath.Join(usr, "lib/llvm-22/lib/libcore.so.22"))
	put(t, filepath.Join(usr, "lib/clang/22.1.8/README"), "x")
	for _, name := range []string{"clang-22", "libcore22", "libdeep1", "libclang-common-22-dev"} {
		put(t, filepath.Join(usr, "share/doc", name, "copyright"), "licence of "+name)
	}
	return root
}

func TestAdoptFromPackagesOfAnotherMachine(t *testing.T) {
	_, patchelf := system(t)
	host, machine := other()
	in, err := FromTree(packages(t, machine), host)
	if err != nil {
		t.Fatal(err)
	}
	if in.Version != "22.1.8" || in.Major != 22 || in.Triple != host.Triple() || in.Vendor != Debian {
		t.Errorf("%+v", in)
	}
	stages := [2]string{}
	for i := range stages {
		stages[i] = filepath.Join(t.TempDir(), "stage")
		r, err := Adopt(t.Context(), in, Spec{Tools: []string{"clang", "clang++"}, Links: map[string]string{"amdclang": "clang"}, Dest: stages[i], Patchelf: patchelf})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Unlicensed) > 0 || !slices.Equal(r.Base, []string{"libc.so.6"}) {
			t.Errorf("without a licence: %q; of the system: %q", r.Unlicensed, r.Base)
		}
	}
	// The layout is that of an adoption from a machine.
	want := []string{
		"lib/llvm/bin/amdclang -> clang",
		"lib/llvm/bin/clang -> clang-22",
		"lib/llvm/bin/clang++ -> clang",
		"lib/llvm/bin/clang-22 runpath $ORIGIN/../lib",
		"lib/llvm/lib/clang/22/include/stddef.h",
		"lib/llvm/lib/libcore.so.22 runpath $ORIGIN",
		"lib/llvm/lib/libdeep.so.1 -> libdeep.so.1.2",
		"lib/llvm/lib/libdeep.so.1.2 runpath ",
		"share/doc/amd-llvm/clang-22/copyright",
		"share/doc/amd-llvm/libclang-common-22-dev/copyright",
		"share/doc/amd-llvm/libcore22/copyright",
		"share/doc/amd-llvm/libdeep1/copyright",
	}
	if got := listing(t, stages[0]); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, name := range []string{"lib/llvm/bin/clang-22", "lib/llvm/lib/libcore.so.22"} {
		one, err := os.ReadFile(filepath.Join(stages[0], name))
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(stages[1], name))
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs between two adoptions (%v)", name, err)
		}
		f, err := elf.NewFile(bytes.NewReader(one))
		if err != nil || f.Machine != machine {
			t.Errorf("%s: %v, %v", name, f, err)
		}
	}
}

// What packages lack, or should not hold, is said in one line.
func TestPackagesThatCannotBeAdopted(t *testing.T) {
	_, patchelf := system(t)
	host, machine := other()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, root string)
		says  string
	}{
		"no clang": {func(t *testing.T, root string) { remove(t, root, "usr/lib/llvm-22/bin/clang") }, "name the package clang-<major>"},
		"two of them": {func(t *testing.T, root string) {
			put(t, filepath.Join(root, "usr/lib/llvm-21/bin/clang"), tool)
			if err := os.Chmod(filepath.Join(root, "usr/lib/llvm-21/bin/clang"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "more than one clang: llvm-21 and llvm-22"},
		"no headers": {func(t *testing.T, root string) { remove(t, root, "usr/lib/llvm-22/lib/clang/22/include/stddef.h") }, "no headers of clang in usr/lib/llvm-22/lib/clang/22"},
		"no version": {func(t *testing.T, root string) { remove(t, root, "usr/lib/clang/22.1.8") }, "no usr/lib/clang/22.<minor>.<patch>"},
		"another version": {func(t *testing.T, root string) {
			remove(t, root, "usr/lib/clang/22.1.8")
			put(t, filepath.Join(root, "usr/lib/clang/21.1.8/README"), "x")
		}, "no usr/lib/clang/22.<minor>.<patch>"},
		"no library": {func(t *testing.T, root string) { remove(t, root, "lib/libdeep.so.1.2") }, "library libdeep.so.1 (needed by "},
		"a library of another architecture": {func(t *testing.T, root string) {
			gcc(t, filepath.Join(root, "lib/libdeep.so.1.2"), "int deep(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,libdeep.so.1")
		}, "library libdeep.so.1 (needed by "},
		"a library that leads out": {func(t *testing.T, root string) {
			outside := filepath.Join(t.TempDir(), "libdeep.so.1.2")
			gccFor(t, machine, outside, "int deep(void){return 0;}", "-shared", "-fPIC", "-Wl,-soname,libdeep.so.1")
			remove(t, root, "lib/libdeep.so.1.2")
			symlink(t, outside, filepath.Join(root, "lib/libdeep.so.1.2"))
		}, "which no package holds"},
		"a header that leads out": {func(t *testing.T, root string) {
			symlink(t, "/etc/passwd", filepath.Join(root, "usr/lib/llvm-22/lib/clang/22/include/passwd.h"))
		}, "which no package holds"},
		"a licence that leads out": {func(t *testing.T, root string) {
			remove(t, root, "usr/share/doc/libdeep1/copyright")
			symlink(t, "/etc/passwd", filepath.Join(root, "usr/share/doc/libdeep1/copyright"))
		}, "leads out of the packages"},
		"clang lies elsewhere": {func(t *testing.T, root string) {
			real := filepath.Join(root, "usr/bin/clang-22")
			if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(root, "usr/lib/llvm-22/bin/clang"), real); err != nil {
				t.Fatal(err)
			}
			symlink(t, "../../../bin/clang-22", filepath.Join(root, "usr/lib/llvm-22/bin/clang"))
			symlink(t, "../lib/libcore.so.22", filepath.Join(root, "usr/bin/libcore.so.22"))
		}, "clang looks for its headers in lib/llvm/lib/clang/22, and they are in lib/llvm/"},
		"clang is a script": {func(t *testing.T, root string) { writeTool(t, filepath.Join(root, "usr/lib/llvm-22/bin/clang"), tool) }, "ELF"},
	} {
		t.Run(name, func(t *testing.T) {
			root := packages(t, machine)
			c.spoil(t, root)
			in, err := FromTree(root, host)
			if err == nil {
				_, err = Adopt(t.Context(), in, Spec{Tools: []string{"clang", "clang++"}, Dest: filepath.Join(t.TempDir(), "stage"), Patchelf: patchelf})
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want one line with %q", err, c.says)
			}
		})
	}
	_, native := other()
	if _, err := FromTree(packages(t, native), platform.Native()); err == nil || !strings.Contains(err.Error(), "its clang is a program for "+host.String()+": name packages of another architecture") {
		t.Errorf("packages of another architecture: %v", err)
	}
}

func remove(t *testing.T, root, name string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(root, name)); err != nil {
		t.Fatal(err)
	}
}
