package launchfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stonemason-hip/stonemason/toolchain/codeobj"
	"github.com/stonemason-hip/stonemason/toolchain/codeobj/llvmtest"
)

// Any text is a launch file that a code object can be asked to carry out, or an error.
func FuzzFile(f *testing.F) {
	files, err := filepath.Glob("../../examples/*/*.launch.yaml")
	if err != nil || len(files) == 0 {
		f.Fatal("no launch files: ", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(text("kernel: plain\n    grid: 1\n    block: 64\n    args: [{i32: 1}]\n"))
	data, err := os.ReadFile(llvmtest.HIP(f, source, "gfx90a"))
	if err != nil {
		f.Fatal(err)
	}
	obj, err := codeobj.Parse(data)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("fuzz.launch.yaml", data)
		if err != nil {
			return
		}
		_, _ = file.Bind(obj) // only its panics count
	})
}
