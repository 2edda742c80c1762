package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

const stub = `--- !tapi-tbd
tbd-version: 4
targets: [ arm64-macos, x86_64-macos, arm64-ios ]
install-name: 'NAME'
exports:
  - targets: [ arm64-macos, x86_64-macos, arm64-ios ]
    symbols: [ dyld_stub_binder, _puts, _extra ]
...
`

// The sources of the good bundle.
const (
	deepSource  = `int puts(const char *); int deep(void){return puts("deep");}`
	greetSource = "int deep(void); int greet(void){return deep();}"
	helloSource = "int greet(void); int main(void){return greet();}"
	plugSource  = "int deep(void); int plug(void){return deep();}"
	faceSource  = "int face(void){return 1;}"
	useSource   = "int face(void); int deep(void); int use(void){return face() + deep();}"
)

// goodMac builds, without a Mac, a bundle for one: a program that needs a
// library that needs another one, a plugin, a library that passes another one
// on, a universal one, and what is no image.
func goodMac(t *testing.T) bundle {
	t.Helper()
	b := bundle{t: t, dir: filepath.Join(t.TempDir(), "bundle"), spare: t.TempDir()}
	b.stub("/usr/lib/libSystem.B.dylib")
	b.deep()
	b.link("libdeep.1.2.3.dylib", "lib/libdeep.1.dylib")
	b.link("libdeep.1.dylib", "lib/libdeep.dylib")
	b.greet("-Wl,-rpath,@loader_path")
	b.hi("-Wl,-rpath,@loader_path/../lib")
	b.link("hello", "bin/hi")
	b.mac("lib/plug.so", plugSource, "-bundle", b.path("lib/libdeep.dylib"), "-Wl,-rpath,@loader_path")
	b.mac("lib/libface.1.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/libface.1.dylib",
		"-Wl,-reexport_library,"+b.path("lib/libdeep.dylib"), "-Wl,-rpath,@loader_path")
	// What it takes of libdeep it is bound to libface for.
	b.mac("lib/libuse.1.dylib", useSource, "-dynamiclib", "-install_name", "@rpath/libuse.1.dylib", b.path("lib/libface.1.dylib"), "-Wl,-rpath,@loader_path/.")
	b.fat()
	b.mac("lib/crt.o", "int x;", "-c")
	b.tool("llvm-ar", "rcs", b.path("lib/libcrt.a"), b.path("lib/crt.o"))
	b.write("share/readme", 0o644, "text\n")
	b.chmod("lib/libcrt.a", 0o644)
	b.chmod("lib/crt.o", 0o644)
	return b
}

func (b bundle) deep(args ...string) {
	b.mac("lib/libdeep.1.2.3.dylib", deepSource, append([]string{"-dynamiclib", "-install_name", "@rpath/libdeep.1.dylib",
		"-compatibility_version", "1.0", "-current_version", "1.2.3"}, args...)...)
}

func (b bundle) greet(args ...string) {
	b.mac("lib/libgreet.1.dylib", greetSource, append([]string{"-dynamiclib", "-install_name", "@rpath/libgreet.1.dylib", b.path("lib/libdeep.dylib")}, args...)...)
}

func (b bundle) hi(args ...string) {
	b.mac("bin/hello", helloSource, append([]string{b.path("lib/libgreet.1.dylib")}, args...)...)
}

func (b bundle) fat() {
	b.mac("lib/arm", faceSource, "-dynamiclib", "-install_name", "@rpath/libfat.dylib")
	b.mac("lib/intel", faceSource, "-dynamiclib", "-install_name", "@rpath/libfat.dylib", "--target=x86_64-apple-macos14.0")
	b.tool("llvm-lipo", "-create", b.path("lib/arm"), b.path("lib/intel"), "-output", b.path("lib/libfat.dylib"))
	b.chmod("lib/libfat.dylib", 0o755)
	b.remove("lib/arm")
	b.remove("lib/intel")
}

func (b bundle) stub(install string) string {
	b.t.Helper()
	file := filepath.Join(b.spare, filepath.Base(install)+".tbd")
	b.must(os.WriteFile(file, []byte(strings.Replace(stub, "NAME", install, 1)), 0o644))
	return file
}

func (b bundle) tool(name string, args ...string) {
	b.t.Helper()
	if said, err := exec.Command(llvmtest.Tool(b.t, name), args...).CombinedOutput(); err != nil {
		b.t.Fatalf("%s: %v\n%s", name, err, said)
	}
}

// mac compiles for macOS 14 from standard input; later arguments may name
// another system.
func (b bundle) mac(name, source string, args ...string) {
	b.t.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	if err := os.Remove(b.path(name)); err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	base := []string{"--target=arm64-apple-macos14.0", "-ffreestanding", "-nostdinc", "-x", "c", "-", "-x", "none", "-o", b.path(name)}
	if !slices.Contains(args, "-c") {
		base = append(base, "-nostdlib", "-fuse-ld=lld", "--ld-path="+llvmtest.Tool(b.t, "ld64.lld"), "-Wl,-headerpad,0x800", filepath.Join(b.spare, "libSystem.B.dylib.tbd"))
	}
	cmd := exec.Command(llvmtest.Tool(b.t, "clang"), append(base, args...)...)
	cmd.Stdin = strings.NewReader(source)
	if said, err := cmd.CombinedOutput(); err != nil {
		b.t.Fatalf("clang: %v\n%s", err, said)
	}
	b.must(os.Chmod(b.path(name), 0o755))
}

// edit changes bytes of an image and signs it again: what is wrong with it then
// is not its signature.
func (b bundle) edit(name string, change func(image []byte)) {
	b.t.Helper()
	image := []byte(b.read(name))
	change(image)
	b.rehash(image)
	b.write(name, 0o755, string(image))
}

// rehash writes the pages' hashes anew. The directories share the image's bytes.
func (b bundle) rehash(image []byte) {
	b.t.Helper()
	f, err := macho.Parse(image)
	b.must(err)
	for _, img := range f.Images {
		sig, err := img.Signature()
		b.must(err)
		if sig == nil {
			continue
		}
		d := sig.Directories[0]
		for at, k := int64(0), 0; at < d.CodeLimit; at, k = at+d.PageSize, k+1 {
			sum := sha256.Sum256(image[img.Offset+at : img.Offset+min(at+d.PageSize, d.CodeLimit)])
			copy(d.Pages[k*sha256.Size:], sum[:])
		}
	}
}

// raw changes bytes of an image and leaves its signature as it was.
func (b bundle) raw(name string, change func(image []byte, f *macho.File)) {
	b.t.Helper()
	image := []byte(b.read(name))
	f, err := macho.Parse(image)
	b.must(err)
	change(image, f)
	b.write(name, 0o755, string(image))
}

// directory changes the code directory of a thin image.
func (b bundle) directory(name string, change func(directory []byte)) {
	b.t.Helper()
	b.raw(name, func(_ []byte, f *macho.File) {
		sig, err := f.Images[0].Signature()
		b.must(err)
		change(sig.Blobs[0].Data)
	})
}

// command is the first load command of a kind, in the image's own bytes.
func command(t *testing.T, image []byte, cmd uint32) []byte {
	t.Helper()
	f, err := macho.Parse(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range f.Images[0].Commands {
		if c.Cmd == cmd {
			return image[c.Offset:][:len(c.Data)]
		}
	}
	t.Fatalf("no load command %#x", cmd)
	return nil
}

func (b bundle) replace(name, old, with string) {
	b.t.Helper()
	if len(old) != len(with) || !strings.Contains(b.read(name), old) {
		b.t.Fatalf("%s has no %q to become %q", name, old, with)
	}
	b.edit(name, func(image []byte) { copy(image[bytes.Index(image, []byte(old)):], with) })
}

func (b bundle) auditMac(change func(*Options)) *Report {
	b.t.Helper()
	return b.audit(func(o *Options) {
		o.Platform, o.Execute = platform.Platform{OS: "darwin", Arch: "arm64"}, false
		o.Floor = map[string]string{FamilyMacOS: "15.0"}
		if change != nil {
			change(o)
		}
	})
}

func TestGoodMacBundle(t *testing.T) {
	b := goodMac(t)
	r := b.auditMac(nil)
	if len(r.Findings) > 0 || r.Files != 10 || r.Images != 7 {
		t.Errorf("%+v", r)
	}
	if want := (Floor{FamilyMacOS, "14.0", "bin/hello"}); len(r.Floor) != 1 || r.Floor[0] != want {
		t.Errorf("floor %+v, want %+v", r.Floor, want)
	}
	if r := b.copied(t).auditMac(nil); len(r.Findings) > 0 {
		t.Errorf("moved: %+v", r.Findings)
	}
	for _, f := range b.audit(func(o *Options) { o.Execute = false }).Findings {
		if f.Rule != ruleMachOMachine {
			t.Errorf("in a bundle for this machine: %+v", f)
		}
	}
}

func word(b []byte, at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }

// macMutations break one thing each, as those of TestMutations do.
func macMutations() []mutation {
	lib := []string{"-dynamiclib", "-install_name", "@rpath/libnew.dylib"}
	newLib := func(b bundle, args ...string) { b.mac("lib/libnew.dylib", faceSource, slices.Concat(lib, args)...) }
	const deepFile, greetFile = "lib/libdeep.1.2.3.dylib", "lib/libgreet.1.dylib"
	return []mutation{
		{"library gone", ruleMachONeeded, "bin/hello", `needs "@rpath/libgreet.1.dylib", which no run path finds`, func(b bundle) { b.remove(greetFile) }, with(ruleMachORPathUnused)},
		{"no run path", ruleMachONeeded, "bin/hello", "add the run path @loader_path/../lib", func(b bundle) { b.hi() }, nil},
		{"foreign path", ruleMachONeeded, greetFile, `"/opt/homebrew/lib/libextra.dylib", which is neither`, func(b bundle) {
			b.mac(greetFile, "int extra(void); int greet(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libgreet.1.dylib", b.stub("/opt/homebrew/lib/libextra.dylib"))
		}, nil},
		{"bare name", ruleMachONeeded, greetFile, "working directory", func(b bundle) {
			b.mac(greetFile, "int extra(void); int greet(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libgreet.1.dylib", b.stub("libdeep.1.dylib"))
		}, nil},
		{"beside it and gone", ruleMachONeeded, greetFile, "which is not there", func(b bundle) {
			b.mac(greetFile, "int extra(void); int greet(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libgreet.1.dylib", b.stub("@loader_path/sub/libextra.dylib"))
		}, nil},
		{"beside it and outside", ruleMachONeeded, greetFile, "which is not there", func(b bundle) {
			b.mac(greetFile, "int extra(void); int greet(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libgreet.1.dylib", b.stub("@loader_path/../../lib/libextra.dylib"))
		}, nil},
		{"text for a library", ruleMachONeeded, greetFile, "lib/libdeep.1.2.3.dylib is there, and is no dylib for arm64", func(b bundle) {
			b.write(deepFile, 0o644, "INPUT(libother.so)\n")
		}, with(ruleMachORPathUnused)},
		{"plugin for a library", ruleMachONeeded, greetFile, "is no dylib for arm64", func(b bundle) {
			b.write(deepFile, 0o755, b.read("lib/plug.so"))
		}, with(ruleMachORPathUnused)},
		{"weak library gone", ruleMachONeeded, "bin/hello", "dyld goes on without it", func(b bundle) {
			newLib(b)
			b.mac("bin/hello", "int face(void); int main(void){return face();}", "-Wl,-weak_library,"+b.path("lib/libnew.dylib"), "-Wl,-rpath,@loader_path/../lib")
			b.remove("lib/libnew.dylib")
		}, with(ruleMachORPathUnused)},
		{"no such slice", ruleMachONeeded, "lib/libother.dylib", "lib/libdeep.1.2.3.dylib is there, and is no dylib for x86_64", func(b bundle) {
			b.mac("lib/arm", plugSource, "-dynamiclib", "-install_name", "@rpath/libother.dylib", b.path("lib/libdeep.dylib"), "-Wl,-rpath,@loader_path")
			b.mac("lib/intel", "int extra(void); int f(void){return extra();}", "-dynamiclib", "-install_name", "@rpath/libother.dylib",
				"--target=x86_64-apple-macos14.0", b.stub("@rpath/libdeep.1.dylib"), "-Wl,-rpath,@loader_path")
			b.tool("llvm-lipo", "-create", b.path("lib/arm"), b.path("lib/intel"), "-output", b.path("lib/libother.dylib"))
			b.chmod("lib/libother.dylib", 0o755)
			b.remove("lib/arm")
			b.remove("lib/intel")
		}, with(ruleMachORPathUnused)},
		{"lent run path", ruleMachORPathLent, greetFile, "bin/hello lends it", func(b bundle) { b.greet() }, nil},
		{"lent place", ruleMachORPathLent, greetFile, "the programs in bin", func(b bundle) {
			b.mac(deepFile, deepSource, "-dynamiclib", "-install_name", "@executable_path/../lib/libdeep.1.dylib")
			b.greet()
			b.deep()
		}, nil},
		{"run path of the program's place", ruleMachORPathLent, greetFile, "the programs in bin", func(b bundle) { b.greet("-Wl,-rpath,@executable_path/../lib") }, nil},
		{"private library of macOS", ruleMachOSystem, "lib/libnew.dylib", "/usr/lib/libextra.dylib", func(b bundle) {
			b.mac("lib/libnew.dylib", "int extra(void); int f(void){return extra();}", append(lib, b.stub("/usr/lib/libextra.dylib"))...)
		}, nil},
		{"symbol gone", ruleMachOSymbol, greetFile, "imports _deep from lib/libdeep.1.2.3.dylib", func(b bundle) {
			b.mac(deepFile, "int other(void){return 0;}", "-dynamiclib", "-install_name", "@rpath/libdeep.1.dylib", "-compatibility_version", "1.0")
		}, nil},
		{"symbol of a re-export gone", ruleMachOSymbol, "lib/libuse.1.dylib", "imports _deep from lib/libface.1.dylib", func(b bundle) {
			b.mac("lib/libface.1.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/libface.1.dylib")
		}, nil},
		{"compatibility", ruleMachOVersion, greetFile, "with compatibility version 2.0, and it has 1.0", func(b bundle) {
			b.mac(deepFile, deepSource, "-dynamiclib", "-install_name", "@rpath/libdeep.1.dylib", "-compatibility_version", "2.0")
			b.greet("-Wl,-rpath,@loader_path")
			b.deep()
		}, nil},
		{"absolute id", ruleMachOID, "lib/libnew.dylib", `"/opt/lib/libnew.dylib"`, func(b bundle) {
			b.mac("lib/libnew.dylib", faceSource, "-dynamiclib", "-install_name", "/opt/lib/libnew.dylib")
		}, nil},
		{"bare id", ruleMachOID, "lib/libnew.dylib", `"libnew.dylib"`, func(b bundle) {
			b.mac("lib/libnew.dylib", faceSource, "-dynamiclib", "-install_name", "libnew.dylib")
		}, nil},
		{"id with a folder", ruleMachOID, "lib/libnew.dylib", `"@rpath/lib/libnew.dylib"`, func(b bundle) {
			b.mac("lib/libnew.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/lib/libnew.dylib")
		}, nil},
		{"no id", ruleMachOID, "lib/libnew.dylib", "without an id", func(b bundle) {
			newLib(b)
			b.edit("lib/libnew.dylib", func(image []byte) { word(command(b.t, image, macho.LCIDDylib), 0, 0x7f) })
		}, nil},
		{"id of another", ruleMachOIDMissing, "lib/libnew.dylib", "no libdeep.1.dylib beside it leads to it", func(b bundle) {
			b.mac("lib/libnew.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/libdeep.1.dylib")
		}, nil},
		{"absolute run path", ruleMachORPathAbs, "bin/hello", `"/opt/lib"`, func(b bundle) { b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,/opt/lib") }, nil},
		{"relative run path", ruleMachORPathAbs, "bin/hello", `"../lib"`, func(b bundle) { b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,../lib") }, nil},
		{"word like a variable", ruleMachORPathAbs, "bin/hello", `"@loader_paths/lib"`, func(b bundle) {
			b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,@loader_paths/lib")
		}, nil},
		{"run path above", ruleMachORPathOut, "bin/hello", `"@loader_path/../../lib"`, func(b bundle) { b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,@loader_path/../../lib") }, nil},
		{"run path out by symlink", ruleMachORPathOut, "bin/hello", "outside the bundle", func(b bundle) {
			b.link("/usr/lib", "sys")
			b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,@executable_path/../sys")
		}, with(ruleLinkAbsolute)},
		{"run path twice", ruleMachORPathTwice, "bin/hello", "macOS 15.4", func(b bundle) {
			b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,@loader_path/../lix")
			b.replace("bin/hello", "/lix\x00", "/lib\x00")
		}, nil},
		{"run path twice by another name", ruleMachORPathTwice, "bin/hello", `the same folder as "@loader_path/../lib"`, func(b bundle) {
			b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,@executable_path/../bin/../lib/")
		}, nil},
		{"run path of no use", ruleMachORPathUnused, "bin/hello", `"@loader_path/../share"`, func(b bundle) { b.hi("-Wl,-rpath,@loader_path/../share", "-Wl,-rpath,@loader_path/../lib") }, nil},
		{"Intel", ruleMachOMachine, "lib/libnew.dylib", "is for x86_64, in a bundle for darwin-arm64", func(b bundle) { newLib(b, "--target=x86_64-apple-macos14.0") }, nil},
		{"iOS", ruleMachOMachine, "lib/libnew.dylib", "is for ios", func(b bundle) { newLib(b, "--target=arm64-apple-ios14.0") }, nil},
		{"32-bit", ruleMachOMachine, "lib/libnew.dylib", "it is 32-bit", func(b bundle) { b.write("lib/libnew.dylib", 0o755, "\xce\xfa\xed\xfe"+strings.Repeat("\x00", 60)) }, nil},
		{"no system", ruleMachOMachine, "lib/libnew.dylib", "no LC_BUILD_VERSION", func(b bundle) {
			newLib(b)
			b.edit("lib/libnew.dylib", func(image []byte) { word(command(b.t, image, macho.LCBuildVersion), 0, 0x7f) })
		}, nil},
		{"Linux", ruleELFMachine, "lib/libnew.so", "in a bundle for darwin-arm64", func(b bundle) {
			b.cc("lib/libnew.so", "int x;", "-shared", "-fPIC")
		}, nil},
		{"newer than the bundle", ruleMachOMinOS, "lib/libnew.dylib", "needs macOS 15.1, and the bundle may need 15.0 at most", func(b bundle) { newLib(b, "--target=arm64-apple-macos15.1") }, nil},
		{"newer than its dependent", ruleMachOMinOSNeeded, greetFile, "is for macOS 14.0, and needs lib/libdeep.1.2.3.dylib, which is for 15.0", func(b bundle) { b.deep("--target=arm64-apple-macos15.0") }, nil},
		{"old SDK", ruleMachOSDK, "lib/libnew.dylib", "needs macOS 14.0, and is built with the SDK of 13.1", func(b bundle) {
			newLib(b)
			b.edit("lib/libnew.dylib", func(image []byte) { word(command(b.t, image, macho.LCBuildVersion), 16, 13<<16|1<<8) })
		}, nil},
		{"cut off", ruleMachODamaged, "lib/libnew.dylib", "cannot be read", func(b bundle) {
			newLib(b)
			b.write("lib/libnew.dylib", 0o755, b.read("lib/libnew.dylib")[:16000])
		}, nil},
		{"library that there is not", ruleMachODamaged, "lib/plug.so", "from library 9 of 2", func(b bundle) {
			b.edit("lib/plug.so", func(image []byte) {
				f, err := macho.Parse(image)
				b.must(err)
				imports, err := f.Images[0].Imports()
				b.must(err)
				// The table of chained imports: 8 bits of ordinal, 1 weak, 23 of the name.
				table := image[binary.LittleEndian.Uint32(command(b.t, image, macho.LCDyldChainedFixups)[8:]):]
				at := binary.LittleEndian.Uint32(table[8:])
				if imports[0].Name != "_deep" {
					b.t.Fatalf("%+v", imports)
				}
				table[at] = 9
			})
		}, nil},
		{"data among load commands", ruleMachOLayout, "lib/libnew.dylib", "behind the beginning of what follows them", func(b bundle) {
			newLib(b)
			b.edit("lib/libnew.dylib", func(image []byte) { word(command(b.t, image, macho.LCSegment64), 72+48, 0x100) })
		}, nil},
		{"load command of 12 bytes", ruleMachOLayout, "lib/libnew.dylib", "no multiple of 8", func(b bundle) {
			b.mac("lib/libnew.dylib", plugSource, append(lib, b.path("lib/libdeep.dylib"), "-Wl,-rpath,@loader_path/././././")...)
			b.edit("lib/libnew.dylib", func(image []byte) {
				// The end of one command becomes an unknown one.
				rpath := command(b.t, image, macho.LCRpath)
				rpath[12+len("@loader_path")] = 0
				word(rpath, 4, 28)
				word(rpath, 28, 0x7f)
				word(rpath, 32, 12)
				word(image, 16, binary.LittleEndian.Uint32(image[16:])+1)
			})
		}, nil},
		{"segments overlap", ruleMachOLayout, "lib/libnew.dylib", "before the end of those before it", func(b bundle) {
			newLib(b)
			b.edit("lib/libnew.dylib", func(image []byte) {
				f, err := macho.Parse(image)
				b.must(err)
				for _, c := range f.Images[0].Commands {
					if c.Cmd == macho.LCSegment64 && bytes.HasPrefix(c.Data[8:], []byte("__LINKEDIT")) {
						word(image, int(c.Offset)+24, 0)
					}
				}
			})
		}, nil},
		{"section outside", ruleMachOLayout, "lib/libnew.dylib", "outside its segment", func(b bundle) {
			newLib(b)
			b.edit("lib/libnew.dylib", func(image []byte) { word(command(b.t, image, macho.LCSegment64), 72+32, 0x100000) })
		}, nil},
		{"no room", ruleMachOHeaderSpace, "lib/libnew.dylib", "of room for longer names", func(b bundle) { newLib(b, "-Wl,-headerpad,0x300") }, nil},
		{"another loader", ruleMachODylinker, "bin/hello", `"/usr/lib/dyle"`, func(b bundle) { b.replace("bin/hello", "/usr/lib/dyld\x00", "/usr/lib/dyle\x00") }, nil},
		{"variable for dyld", ruleMachOEnvironment, "bin/hello", "DYLD_LIBRARY_PATH=/opt", func(b bundle) {
			b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-dyld_env,DYLD_LIBRARY_PATH=/opt")
		}, nil},
		{"debug map", ruleMachODebugMap, "lib/libnew.dylib", "of the machine that it was built on for debuggers", func(b bundle) {
			object := filepath.Join(b.spare, "debug.o")
			b.tool("clang", "--target=arm64-apple-macos14.0", "-g", "-c", "-x", "c", "/dev/null", "-include", b.source("int debugged(void){return 0;}"), "-o", object)
			newLib(b, "-Wl,-force_load,"+object)
		}, nil},
		{"not signed", ruleMachOUnsigned, "lib/libnew.dylib", "not signed", func(b bundle) { newLib(b, "-Wl,-no_adhoc_codesign") }, nil},
		{"signature of something else", ruleMachOSigBad, deepFile, "magic", func(b bundle) {
			b.raw(deepFile, func(image []byte, f *macho.File) {
				sig, err := f.Images[0].Signature()
				b.must(err)
				image[sig.Offset]++
			})
		}, nil},
		{"flipped bit", ruleMachOSigPages, deepFile, "1 of 9 pages are not what was signed, the first at 0x0", func(b bundle) {
			b.raw(deepFile, func(image []byte, f *macho.File) {
				image[f.Images[0].Section("__TEXT", "__text").Offset] ^= 1
			})
		}, nil},
		{"flipped bit of a slice", ruleMachOSigPages, "lib/libfat.dylib", "slice arm64: 1 of", func(b bundle) {
			b.raw("lib/libfat.dylib", func(image []byte, f *macho.File) {
				for _, img := range f.Images {
					if img.CPU == macho.CPUARM64 {
						image[img.Offset+int64(img.Section("__TEXT", "__text").Offset)] ^= 1
					}
				}
			})
		}, nil},
		// The bytes before the pages' hashes are taken for those of slots 1 and 2.
		{"requirements gone", ruleMachOSigSpecial, "lib/libof.a.long.name.dylib", "slot 2 was signed, and is not there", func(b bundle) {
			b.mac("lib/libof.a.long.name.dylib", faceSource, "-dynamiclib", "-install_name", "@rpath/libof.a.long.name.dylib")
			b.directory("lib/libof.a.long.name.dylib", func(d []byte) { d[27] = 2 })
		}, nil},
		{"bytes behind the signature", ruleMachOSigExtent, deepFile, "the signature ends at", func(b bundle) { b.write(deepFile, 0o755, b.read(deepFile)+strings.Repeat("\x00", 16)) }, nil},
		{"library signed as a program", ruleMachOSigExec, deepFile, "a main program is true", func(b bundle) {
			b.directory(deepFile, func(d []byte) { d[87] |= macho.ExecMainBinary })
		}, nil},
		{"signed by nobody", ruleMachOSigAdHoc, deepFile, "ad-hoc flag false", func(b bundle) { b.directory(deepFile, func(d []byte) { d[15] &^= macho.CSAdHoc }) }, nil},
		{"unknown hash", ruleMachOSigHash, deepFile, "no code directory with SHA-256", func(b bundle) { b.directory(deepFile, func(d []byte) { d[37] = 9 }) }, nil},
		{"no identifier", ruleMachOSigIdent, deepFile, "no identifier", func(b bundle) {
			b.directory(deepFile, func(d []byte) { d[binary.BigEndian.Uint32(d[20:])] = 0 })
		}, nil},
		{"path for an identifier", ruleMachOSigIdent, deepFile, "which is a path", func(b bundle) {
			b.directory(deepFile, func(d []byte) { d[binary.BigEndian.Uint32(d[20:])] = '/' })
		}, nil},
		{"leak in a load command", ruleBuildPath, "bin/hello", "/tmp/some/build", func(b bundle) {
			b.hi("-Wl,-rpath,@loader_path/../lib", "-Wl,-rpath,/tmp/some/build")
		}, with(ruleMachORPathAbs)},
		{"not executable", ruleMode, "bin/hello", "not executable", func(b bundle) { b.chmod("bin/hello", 0o644) }, nil},
		{"hard-linked program elsewhere", ruleMachONeeded, "share/deeper/hello", "which no run path finds (one file with bin/hello)", func(b bundle) {
			b.must(os.MkdirAll(b.path("share/deeper"), 0o755))
			b.must(os.Link(b.path("bin/hello"), b.path("share/deeper/hello")))
		}, with(ruleMachORPathUnused)},
		{"hard-linked library spoiled", ruleMachOSigPages, "lib/libnew.dylib", "(one file with lib/libsame.dylib)", func(b bundle) {
			newLib(b)
			b.must(os.Link(b.path("lib/libnew.dylib"), b.path("lib/libsame.dylib")))
			file, err := os.OpenFile(b.path("lib/libnew.dylib"), os.O_WRONLY, 0)
			b.must(err)
			_, err = file.WriteAt([]byte{1}, 0x2000)
			b.must(errors.Join(err, file.Close()))
		}, nil},
	}
}

// source writes a file that lies outside the bundle.
func (b bundle) source(text string) string {
	b.t.Helper()
	file := filepath.Join(b.spare, "source.h")
	b.must(os.WriteFile(file, []byte(text), 0o644))
	return file
}

func TestMachOMutations(t *testing.T) {
	whole := goodMac(t)
	broken := map[string]bool{}
	for _, m := range macMutations() {
		t.Run(m.name, func(t *testing.T) {
			b := whole.copied(t)
			m.spoil(b)
			m.check(t, b.auditMac(nil))
			broken[m.rule] = true
		})
	}
	for _, rule := range Rules() {
		if strings.HasPrefix(rule.ID, "macho-") && !broken[rule.ID] {
			t.Errorf("no mutation breaks %s", rule.ID)
		}
	}
}
