package machine

import (
	"context"
	"os"

	"github.com/stonemason-hip/stonemason/toolchain/platform"
	"github.com/stonemason-hip/stonemason/toolchain/sdk"
)

// SDK is the macOS SDK that programs for a Mac are compiled with here: the one
// that the user names, or on a Mac the one of the selected developer tools. It
// is looked for when it is first asked for. The error is or wraps [sdk.ErrNone]
// where there is none; Linux then has a component that makes one.
func (m *Machine) SDK(ctx context.Context) (sdk.SDK, error) {
	m.sdk.once.Do(func() {
		target, err := sdk.ParseVersion(platform.MacOSFloor)
		if err != nil {
			m.sdk.err = err
			return
		}
		find := sdk.Finder{Folder: m.MacSDK}
		if m.Platform.OS == "darwin" {
			// xcrun keeps what it has found in a file of the user's.
			find.Xcrun, find.Env = "/usr/bin/xcrun", []string{"HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}
		}
		m.sdk.found, m.sdk.err = find.Find(ctx, target)
	})
	return m.sdk.found, m.sdk.err
}
