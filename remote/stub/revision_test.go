package stub

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stonemason-hip/stonemason/remote/api"
)

// The key of a stub holds its description, the files in own and Revision, not the
// generator's code: who changes what the code writes has to raise Revision, or
// stores go on to give the libraries of before. What is in own is taken out of the
// sum, since the key has it anyway.
func TestRevisionIsRaised(t *testing.T) {
	text, err := os.ReadFile("testdata/shapes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l, err := api.Load(fstest.MapFS{"shapes.yaml": {Data: text}}, "shapes")
	if err != nil {
		t.Fatal(err)
	}
	list, err := Files([]*api.Library{l})
	if err != nil {
		t.Fatal(err)
	}
	common, err := own.ReadFile("own/common.h")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, f := range list {
		if strings.HasSuffix(f.Name, "-config.cmake") || strings.HasSuffix(f.Name, "-config-version.cmake") {
			continue // templates of own
		}
		fmt.Fprintf(sum, "%s\n%s\n", f.Name, strings.Replace(string(f.Data), string(common), "", 1))
	}
	want, err := os.ReadFile("testdata/revision.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %x\n", Revision, sum.Sum(nil)); got != string(want) {
		t.Errorf("the generator writes other files than at revision %sraise Revision, and put this into testdata/revision.txt:\n%s", want, got)
	}
}
