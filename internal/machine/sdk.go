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
	m.sdk.once.Do(func() { m.sdk.found, m.sdk.err = FindSDK(ctx, m.MacSDK, m.Platform) })
	return m.sdk.found, m.sdk.err
}

// FindSDK looks for the macOS SDK of a machine: the folder that the user names,
// "" for none, or on a Mac the one of the selected developer tools. The error
// is or wraps [sdk.ErrNone] where there is none.
func FindSDK(ctx context.Context, folder string, on platform.Platform) (sdk.SDK, error) {
	target, err := sdk.ParseVersion(platform.MacOSFloor)
	if err != nil {
		return sdk.SDK{}, err
	}
	find := sdk.Finder{Folder: folder}
	if on.OS == "darwin" {
		// xcrun keeps what it has found in a file of the user's.
		find.Xcrun, find.Env = "/usr/bin/xcrun", []string{"HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir()}
	}
	return find.Find(ctx, target)
}
