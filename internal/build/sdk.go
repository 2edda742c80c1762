package build

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// maxSDKSettings bounds the description of an SDK that is read; Apple's have
// some 30 kB.
const maxSDKSettings = 4 << 20

// sdk names the macOS SDK that compilers take headers and libraries from: its
// canonical name (macosx14.5) and the hash of its description, which names its
// build and the deployment targets that it knows. The default deployment target
// itself is a macro of the compilers, and so in their digests.
//
// The folder is found as xcode-select(1) tells: what DEVELOPER_DIR names, what
// xcode-select --switch has linked to, or the command line tools. root is "/",
// and developerDir the variable's value.
func sdk(root, developerDir string) string {
	link, _ := os.Readlink(filepath.Join(root, "var/db/xcode_select_link"))
	for _, dir := range []string{developerDir, link, "/Applications/Xcode.app/Contents/Developer", "/Library/Developer/CommandLineTools"} {
		if dir == "" {
			continue
		}
		for _, below := range []string{"Platforms/MacOSX.platform/Developer/SDKs/MacOSX.sdk", "SDKs/MacOSX.sdk"} {
			if id := sdkAt(filepath.Join(root, dir, below)); id != "none" {
				return id
			}
		}
	}
	return "none"
}

// sdkAt names the SDK in a folder, "none" where there is none.
func sdkAt(dir string) string {
	f, err := os.Open(filepath.Join(dir, "SDKSettings.json"))
	if err != nil {
		return "none"
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSDKSettings))
	if err != nil {
		return "none"
	}
	var settings struct{ CanonicalName string }
	if json.Unmarshal(data, &settings) != nil || settings.CanonicalName == "" {
		settings.CanonicalName = "macosx"
	}
	sum := sha256.Sum256(data)
	return settings.CanonicalName + " " + hex.EncodeToString(sum[:])
}
