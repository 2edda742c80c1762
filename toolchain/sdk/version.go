package sdk

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of macOS or of an SDK for it: 14.0, 15.4, 26.0. The
// zero Version is none.
type Version struct{ Major, Minor int }

// ParseVersion reads "14", "14.5" or "14.5.1"; the third number changes no
// interface and is left out.
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 3 {
		return Version{}, fmt.Errorf("%q is no version of macOS (14.0)", s)
	}
	var n [3]int
	for i, p := range parts {
		v, err := strconv.Atoi(p)
		if err != nil || v < 0 || v > 999 || strings.ContainsAny(p, "+-") {
			return Version{}, fmt.Errorf("%q is no version of macOS (14.0)", s)
		}
		n[i] = v
	}
	if n[0] < 10 {
		return Version{}, fmt.Errorf("%q is no version of macOS (14.0)", s)
	}
	return Version{n[0], n[1]}, nil
}

// IsZero reports whether v is none.
func (v Version) IsZero() bool { return v == Version{} }

// Less reports whether v is older than w.
func (v Version) Less(w Version) bool {
	return v.Major < w.Major || v.Major == w.Major && v.Minor < w.Minor
}

// String is "14.0".
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
