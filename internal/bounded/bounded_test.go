package bounded

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
)

func TestReadFile(t *testing.T) {
	files := fstest.MapFS{
		"five": {Data: []byte("12345")}, "empty": {},
		"folder/file": {Data: []byte("x")}, "pipe": {Mode: fs.ModeNamedPipe, Data: []byte("x")},
	}
	for name, want := range map[string]string{"five": "12345", "empty": ""} {
		if got, err := ReadFile(files, name, 5); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := ReadFile(files, "five", 4); err == nil || err.Error() != "five is larger than 4 bytes" {
		t.Error(err)
	}
	for _, name := range []string{"folder", "pipe"} {
		if got, err := ReadFile(files, name, 5); err == nil || !strings.Contains(err.Error(), name+": not a regular file") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := ReadFile(files, "none", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
