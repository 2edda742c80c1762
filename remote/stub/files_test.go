package stub

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/toolchain/tbd"
)

// files returns the CMake project of some libraries, by the names of its files.
func files(t *testing.T, names ...string) map[string]string {
	t.Helper()
	var libs []*api.Library
	for _, name := range names {
		libs = append(libs, load(t, name))
	}
	list, err := Files(libs)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range list {
		all[f.Name] = string(f.Data)
	}
	return all
}

// What programs and other projects know a library by, spelled out.
func TestNames(t *testing.T) {
	all := files(t, "amdhip64", "rocblas", "rocsolver", "MIOpen")
	text, err := tbd.Parse([]byte(all["amdhip64/libamdhip64.tbd"]))
	if err != nil {
		t.Fatal(err)
	}
	l, ok := text.Library("@rpath/libamdhip64.7.dylib")
	if !ok || l.CurrentVersion != "7.2" || l.CompatibilityVersion != "7" || !slices.Equal(l.Targets, []string{"arm64-macos"}) {
		t.Errorf("the text stub is of %+v", text.Libraries[0])
	}
	for file, lines := range map[string][]string{
		"amdhip64/amdhip64.c": {
			"STUB_EXPORT hipError_t hipMemcpy(void *a_dst, const void *a_src, size_t a_sizeBytes, hipMemcpyKind a_kind);\n",
			"STUB_EXPORT hipError_t hipGetDeviceCount(int *a_count);\n",
		},
		"amdhip64/CMakeLists.txt": {
			"  VERSION 7.2.53211\n", "  SOVERSION 7\n", "  MACHO_CURRENT_VERSION 7.2\n", "  MACHO_COMPATIBILITY_VERSION 7\n",
			"  INSTALL_NAME_DIR \"@rpath\"\n", "install(FILES libamdhip64.tbd DESTINATION lib)\n",
			"install(FILES hip-config.cmake hip-config-version.cmake DESTINATION lib/cmake/hip)\n",
			"install(FILES hip-lang-config.cmake DESTINATION lib/cmake/hip-lang)\n",
		},
		"amdhip64/hip-lang-config.cmake":       {"add_library(hip-lang::amdhip64 SHARED IMPORTED)\n", "/lib/libamdhip64.so.7.2.53211\"\n", "set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)\n"},
		"amdhip64/amdhip64.map":                {"hip_4.2 {\nglobal:\n", "local:\n    *;\n"},
		"amdhip64/amdhip64.def":                {"LIBRARY amdhip64\nEXPORTS\n", "\n    hipMemcpy\n"},
		"amdhip64/hip-config-version.cmake":    {"set(PACKAGE_VERSION 7.2.53211)\n"},
		"rocsolver/rocsolver-config.cmake":     {"find_dependency(rocblas)\n", "add_library(roc::rocsolver SHARED IMPORTED)\n", "/lib/librocsolver.so.0.7\"\n", "set(ROCSOLVER_LIBRARIES roc::rocsolver)\n"},
		"MIOpen/miopen-config.cmake":           {"find_dependency(hip)\n", "target_link_libraries(MIOpen INTERFACE hip::host)\n", "set(miopen_LIBRARIES MIOpen)\n", "set(MIOPEN_LIBRARIES MIOpen)\n", "set(MIOpen_LIBRARIES MIOpen)\n"},
		"rocblas/rocblas-config-version.cmake": {"set(PACKAGE_VERSION 5.2.0)\n"},
	} {
		for _, line := range lines {
			if !strings.Contains(all[file], line) {
				t.Errorf("%s has no %q", file, line)
			}
		}
	}
	if _, ok := all["rocblas/hip-lang-config.cmake"]; ok {
		t.Error("rocBLAS has HIP's package")
	}
	// A target that is no other's is not called twice.
	if n := strings.Count(all["rocblas/rocblas-config.cmake"], "set(rocblas_LIBRARIES "); n != 1 {
		t.Errorf("rocblas_LIBRARIES is set %d times", n)
	}
}

// The key of a component holds the digest: it differs with the description, with
// the library's own code and with what all have in common, and with nothing else.
func TestDigest(t *testing.T) {
	code := func(name, text string) fstest.MapFS {
		all := fstest.MapFS{}
		for _, file := range []string{"a.c", "a.cmake", "b.c", "b.cmake", "common.h", "config.cmake.tmpl"} {
			all["own/"+file] = &fstest.MapFile{Data: []byte(file)}
		}
		if name != "" {
			all["own/"+name] = &fstest.MapFile{Data: []byte(text)}
		}
		return all
	}
	of := func(described string, files fstest.MapFS) string {
		d, err := digest(described, files, "a")
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	before := of("one", code("", ""))
	for name, changes := range map[string]bool{"a.c": true, "a.cmake": true, "common.h": true, "config.cmake.tmpl": true, "new.h": true, "b.c": false, "b.cmake": false} {
		if got := of("one", code(name, "changed")) != before; got != changes {
			t.Errorf("the digest changes with %s: %v", name, got)
		}
	}
	if of("two", code("", "")) == before {
		t.Error("the digest does not change with the description")
	}
	if _, err := Digest("nothing"); err == nil {
		t.Error("a library that is not described has a digest")
	}
	solver, err := Digest("rocsolver")
	blas, err2 := Digest("rocblas")
	if err != nil || err2 != nil || solver == blas {
		t.Errorf("%s, %s, %v, %v", solver, blas, err, err2)
	}
}
