// Package bounded reads files that somebody else has made into memory: regular
// ones alone, and not more of them than the reader is ready for.
package bounded

import (
	"fmt"
	"io"
	"io/fs"
)

// ReadFile reads a regular file of at most limit bytes. The error of a file that
// is not there is the file system's; every other one names the file.
func ReadFile(fsys fs.FS, name string, limit int64) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes", name, limit)
	}
	return data, nil
}
