package sdk

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// siteSettings are libc++'s settings on macOS: what a build of libc++ would
// write into __config_site with LLVM's own defaults for Apple's platforms, and
// with availability annotations, which LLVM leaves off and Apple has on.
// Settings that are not listed and need no value stay undefined, as in CMake.
func siteSettings() map[string]string {
	return map[string]string{
		"_LIBCPP_ABI_VERSION":                         "1",
		"_LIBCPP_ABI_NAMESPACE":                       "__1",
		"_LIBCPP_ABI_FORCE_ITANIUM":                   "0",
		"_LIBCPP_ABI_FORCE_MICROSOFT":                 "0",
		"_LIBCPP_HAS_THREADS":                         "1",
		"_LIBCPP_HAS_MONOTONIC_CLOCK":                 "1",
		"_LIBCPP_HAS_TERMINAL":                        "1",
		"_LIBCPP_HAS_MUSL_LIBC":                       "0",
		"_LIBCPP_HAS_THREAD_API_PTHREAD":              "1",
		"_LIBCPP_HAS_THREAD_API_EXTERNAL":             "0",
		"_LIBCPP_HAS_THREAD_API_C11":                  "0",
		"_LIBCPP_HAS_THREAD_API_WIN32":                "0",
		"_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS": "1",
		"_LIBCPP_HAS_FILESYSTEM":                      "1",
		"_LIBCPP_HAS_RANDOM_DEVICE":                   "1",
		"_LIBCPP_HAS_LOCALIZATION":                    "1",
		"_LIBCPP_HAS_UNICODE":                         "1",
		"_LIBCPP_HAS_WIDE_CHARACTERS":                 "1",
		"_LIBCPP_HAS_TIME_ZONE_DATABASE":              "0",
		"_LIBCPP_INSTRUMENTED_WITH_ASAN":              "0",
		"_LIBCPP_PSTL_BACKEND_STD_THREAD":             "1",
		"_LIBCPP_HARDENING_MODE_DEFAULT":              "2", // none
		"_LIBCPP_ASSERTION_SEMANTIC_DEFAULT":          "2", // as the hardening mode says
		"_LIBCPP_LIBC_LLVM_LIBC":                      "0",
		"_LIBCPP_LIBC_NEWLIB":                         "0",
		"_LIBCPP_LIBC_PICOLIBC":                       "0",
		"_LIBCPP_ABI_DEFINES":                         "",
		"_LIBCPP_EXTRA_SITE_DEFINES":                  "",
		"_LIBCPP_TYPEINFO_COMPARISON_IMPLEMENTATION":  "",
	}
}

// configSite fills in a template of CMake's configure_file, of which libc++
// uses #cmakedefine, #cmakedefine01 and @NAME@. A setting that must have a
// value and is not known here is an error: a wrong one would change the
// library's binary interface.
func configSite(template string) (string, error) {
	values := siteSettings()
	define := regexp.MustCompile(`^#cmakedefine(01)? ([A-Za-z0-9_]+)(.*)$`)
	variable := regexp.MustCompile(`@([A-Za-z0-9_]+)@`)
	var out strings.Builder
	for n, line := range strings.SplitAfter(template, "\n") {
		line = strings.TrimSuffix(line, "\n")
		if m := define.FindStringSubmatch(line); m != nil {
			value, known := values[m[2]]
			switch {
			case m[1] == "01" && !known:
				return "", fmt.Errorf("line %d: the setting %s of libc++ is not known: which value it has on macOS must be added", n+1, m[2])
			case m[1] == "01":
				line = "#define " + m[2] + " " + value
			case value == "":
				line = "/* #undef " + m[2] + " */"
			default:
				line = strings.TrimRight("#define "+m[2]+m[3], " ")
			}
		}
		var err error
		line = variable.ReplaceAllStringFunc(line, func(s string) string {
			value, known := values[strings.Trim(s, "@")]
			if !known {
				err = fmt.Errorf("line %d: the setting %s of libc++ is not known", n+1, s)
			}
			return value
		})
		if err != nil {
			return "", err
		}
		out.WriteString(line + "\n")
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

// libcxxHeaders are the files of libc++'s headers that a build makes, by their
// place below include/c++/v1.
func libcxxHeaders(llvm fs.FS) (map[string][]byte, error) {
	template, err := readFile(llvm, "libcxx/include/__config_site.in")
	if err != nil {
		return nil, err
	}
	site, err := configSite(string(template))
	if err != nil {
		return nil, fmt.Errorf("libcxx/include/__config_site.in: %w", err)
	}
	handler, err := readFile(llvm, "libcxx/vendor/llvm/default_assertion_handler.in")
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{"__config_site": []byte(site), "__assertion_handler": handler}
	modules, err := readFile(llvm, "libcxx/include/module.modulemap.in")
	switch {
	case err == nil:
		made["module.modulemap"] = bytes.ReplaceAll(modules, []byte("@LIBCXX_CONFIG_SITE_MODULE_ENTRY@"), []byte(`textual header "__config_site"`))
	case !errors.Is(err, fs.ErrNotExist): // before LLVM 20 nothing is filled in
		return nil, err
	}
	return made, nil
}
