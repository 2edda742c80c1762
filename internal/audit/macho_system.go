package audit

import (
	"path"
	"slices"
	"strings"
)

// isSystem reports whether an install name belongs to macOS by its place: what
// is below these folders is Apple's, and on every Mac or on none.
func isSystem(name string) bool {
	return path.Clean(name) == name && (strings.HasPrefix(name, "/usr/lib/") || strings.HasPrefix(name, "/System/Library/"))
}

// isPublic reports whether macOS is known to have a library: its frameworks,
// the runtime of Swift, and what its SDK has a text stub of in /usr/lib.
func isPublic(name string) bool {
	if strings.HasPrefix(name, "/System/Library/Frameworks/") || strings.HasPrefix(name, "/usr/lib/swift/") {
		return true
	}
	leaf, ok := strings.CutPrefix(name, "/usr/lib/")
	stem, dylib := strings.CutSuffix(leaf, ".dylib")
	return ok && dylib && slices.Contains(publicStems(), stem)
}

// publicStems are the libraries of /usr/lib by their install names in the SDK
// of macOS 14, without what only system daemons use.
func publicStems() []string {
	return []string{
		"libSystem", "libSystem.B", "libc", "libm", "libdl", "libpthread", "libutil", "libutil1.0", "libinfo", "libdbm", "libpoll", "librpcsvc",
		"libc++", "libc++.1", "libc++abi", "libstdc++.6", "libgcc_s.1", "libobjc", "libobjc.A",
		"libz", "libz.1", "libbz2.1.0", "liblzma.5", "libcompression", "libarchive.2",
		"libiconv.2", "libcharset.1", "libicucore.A", "libxml2.2", "libxslt.1", "libexslt.0", "libexpat.1", "libtidy.A",
		"libcurl.4", "libsqlite3", "libsqlite3.0", "libffi", "libedit.3", "libncurses.5.4", "libpanel.5.4", "libform.5.4", "libmenu.5.4", "libcurses.5.4",
		"libresolv.9", "libpam.2", "libbsm.0", "libcups.2", "libcupsimage.2", "libdtrace", "libpcap.A", "libproc", "libsandbox.1", "libsasl2.2",
		"libgssapi_krb5", "libkrb5", "libk5crypto", "libcom_err", "libldap", "liblber",
	}
}
