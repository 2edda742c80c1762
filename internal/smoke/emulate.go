package smoke

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/stonemason-hip/stonemason/emulator"
	"github.com/stonemason-hip/stonemason/emulator/launchfile"
	"github.com/stonemason-hip/stonemason/toolchain/gpu"
)

// launchExt is how the launch file of an example is called: NAME.launch.yaml.
const launchExt = ".launch.yaml"

// maxEmulated bounds the wave instructions of one launch: an example is small.
const maxEmulated = 200_000_000

// What became of an example on the emulator.
const (
	Ran        = "ran"     // as its launch file expects
	RanWrong   = "failed"  // a fault, or another result
	RanUnknown = "unknown" // the emulator does not know the GPU
)

// readLaunch reads the launch file of an example; nil when it has none.
func readLaunch(dir, name string) (*launchfile.File, error) {
	f, err := launchfile.Read(filepath.Join(dir, name, name+launchExt))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// emulate runs what an example was compiled to. The finding is what is wrong, in
// words.
func emulate(ctx context.Context, f *launchfile.File, target gpu.Target, object []byte) (state, finding string, err error) {
	name, ok := emulator.DeviceFor(target)
	if !ok {
		return RanUnknown, "", nil
	}
	dev, err := emulator.NewDevice(name)
	if err != nil {
		return "", "", err
	}
	mod, err := dev.Load(object)
	if err != nil {
		return RanWrong, err.Error(), nil
	}
	plan, err := f.Bind(mod.Object())
	if err != nil {
		return RanWrong, err.Error(), nil
	}
	report, err := plan.Run(ctx, dev, mod, emulator.Options{Budget: maxEmulated, Workers: 1})
	if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	if err != nil {
		return RanWrong, err.Error(), nil
	}
	for _, l := range report.Launches {
		if l.Error != "" {
			return RanWrong, "emulator: " + l.Error, nil
		}
		for _, b := range l.Buffers {
			if b.Wrong > 0 {
				return RanWrong, fmt.Sprintf("emulator: %s: %s: %d of %d elements are wrong: %s", l.Kernel, b.Name, b.Wrong, b.Count, b.Mismatch), nil
			}
		}
	}
	return Ran, "", nil
}
