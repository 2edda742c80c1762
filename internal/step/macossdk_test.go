package step

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
)

func TestMacOSSDKIsValidated(t *testing.T) {
	good := MacOSSDK{Darwin: "${source}/lib/libc", LLVM: "${source}/llvm", DeploymentTarget: "14.0"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*MacOSSDK){
		"darwin \"/usr/include\" does not lie below":  func(s *MacOSSDK) { s.Darwin = "/usr/include" },
		"llvm \"\" does not lie below":                func(s *MacOSSDK) { s.LLVM = "" },
		"llvm \"${source}/../x\" does not lie below":  func(s *MacOSSDK) { s.LLVM = "${source}/../x" },
		"deployment_target: \"\" is no version":       func(s *MacOSSDK) { s.DeploymentTarget = "" },
		"deployment_target: \"sonoma\" is no version": func(s *MacOSSDK) { s.DeploymentTarget = "sonoma" },
	} {
		s := good
		change(&s)
		if err := s.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Validate: %v, want %q", err, want)
		}
	}
}

// What the same sources give depends on this program too, and so does the key.
func TestMacOSSDKKeyHasTheRevision(t *testing.T) {
	b := new(key.Builder)
	(&MacOSSDK{Darwin: "${source}", LLVM: "${source}", DeploymentTarget: "14.0"}).Key(b)
	if text := fmt.Sprint(b.Key()); !strings.Contains(text, "assembly="+sdk.Revision) || !strings.Contains(text, "deployment_target=14.0") {
		t.Errorf("the key is\n%s", text)
	}
}

// A source that lacks something leaves an error that says what, and the folders
// that it names are those of the step.
func TestMacOSSDKNamesWhatIsMissing(t *testing.T) {
	r, _ := newRun(t)
	s := &MacOSSDK{Darwin: "${source}/lib/libc", LLVM: "${source}/llvm", DeploymentTarget: "14.0"}
	if err := s.Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), filepath.Join("lib", "libc")) {
		t.Errorf("without zig's folder: %v", err)
	}
	write(t, 0o644, "no stub", r.Source, "lib", "libc", "darwin", "libSystem.tbd")
	if err := os.MkdirAll(filepath.Join(r.Source, "llvm"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), r); err == nil || !strings.Contains(err.Error(), "read darwin/libSystem.tbd: not a text stub") {
		t.Errorf("with another file: %v", err)
	}
}
