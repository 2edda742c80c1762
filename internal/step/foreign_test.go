package step

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/cross"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// What find_library, find_path and find_package have put into the cache decides,
// not what CMake says of itself or what a component was told.
func TestConfiguredWithWhatIsOfThisMachine(t *testing.T) {
	for _, c := range []struct {
		name, line, want string
	}{
		{"library", "ZLIB_LIBRARY_RELEASE:FILEPATH=/usr/lib/x86_64-linux-gnu/libz.so", "ZLIB_LIBRARY_RELEASE=/usr/lib/x86_64-linux-gnu/libz.so"},
		{"headers", "ZLIB_INCLUDE_DIR:PATH=/usr/include", "ZLIB_INCLUDE_DIR=/usr/include"},
		{"package", "zstd_DIR:PATH=/usr/lib/cmake/zstd", "zstd_DIR=/usr/lib/cmake/zstd"},
		{"second of a list", "X_LIBRARIES:FILEPATH=/usr/local/work/build/x.a;/opt/homebrew/lib/libz.a", "X_LIBRARIES=/opt/homebrew/lib/libz.a"},
		{"own work folder", "X_LIBRARY:FILEPATH=/usr/local/work/build/libx.a", ""},
		{"a need", "zstd_DIR:PATH=/usr/local/store/zstd/lib/cmake/zstd", ""},
		{"the sysroot", "M_LIBRARY:FILEPATH=/usr/local/sdk/usr/lib/libm.tbd", ""},
		{"a program", "PERL_EXECUTABLE:FILEPATH=/usr/bin/perl", ""},
		{"what CMake was told", "CMAKE_LINKER_LIBRARY:FILEPATH=/usr/lib/llvm-22/bin/ld64.lld", ""},
		{"not found", "ZLIB_LIBRARY:FILEPATH=ZLIB_LIBRARY-NOTFOUND", ""},
		{"a folder that begins alike", "X_DIR:PATH=/optional/x", ""},
		{"an internal entry", "FIND_ZLIB_DIR:INTERNAL=/usr/lib", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			build := t.TempDir()
			text := "# This is the CMakeCache file.\n//Path to a file.\n" + c.line + "\n"
			if err := os.WriteFile(filepath.Join(build, "CMakeCache.txt"), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := &Run{
				Host: platform.Platform{OS: "darwin", Arch: "arm64"}, Work: "/usr/local/work", BuildDir: build,
				Deps: map[string]string{"zstd": "/usr/local/store/zstd"}, Cross: &cross.Toolchain{Sysroot: "/usr/local/sdk"},
			}
			err := r.foreign()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), ": "+c.want+":")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			// On the machine itself its libraries are what is wanted.
			r.Cross = nil
			if err := r.foreign(); err != nil {
				t.Errorf("a build for this machine: %v", err)
			}
		})
	}
}
