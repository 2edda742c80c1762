package elf

import (
	"slices"
	"strings"
)

// base are the libraries that every Linux machine with glibc has and keeps
// compatible, so that a bundle does not carry them: the C and C++ run times
// of PEP 600 (manylinux_x_y; its allow-list is the list of PEP 571 and 599),
// without that list's X11, GL and GLib, which a compiler has no use for, and
// with libmvec, which is a part of glibc like libm. zlib is not among them:
// minimal images lack it.
func base() []string {
	return []string{
		"ld-linux-aarch64.so.1", "ld-linux-x86-64.so.2",
		"libanl.so.1", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6", "libmvec.so.1",
		"libpthread.so.0", "libresolv.so.2", "librt.so.1", "libstdc++.so.6", "libutil.so.1",
	}
}

// IsBase reports whether a library of that name is taken from the system of
// the machine that the bundle runs on.
func IsBase(name string) bool { return slices.Contains(base(), name) }

// Base returns the names for which IsBase holds, sorted.
func Base() []string { return base() }

// ExpandOrigin replaces a leading $ORIGIN or ${ORIGIN} of a search path's entry
// by origin, the folder of the file that has it, and reports whether the entry
// starts with it and uses no other token ($LIB and $PLATFORM of ld.so(8) depend
// on the machine). The result is not cleaned: symlinks decide what .. means.
func ExpandOrigin(entry, origin string) (string, bool) {
	for _, token := range []string{"$ORIGIN", "${ORIGIN}"} {
		rest, ok := strings.CutPrefix(entry, token)
		if ok && (rest == "" || rest[0] == '/') && !strings.Contains(rest, "$") {
			return origin + rest, true
		}
	}
	return "", false
}
