package audit

import (
	"context"
	delf "debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/macho"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// Detect names the platform that most of the programs and libraries below root
// are for, and how many those are; no platform and 0 when there is none. Of a
// universal file each slice counts. What cannot be read does not count: that
// is for Run to tell.
func Detect(ctx context.Context, root string) (platform.Platform, int, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return platform.Platform{}, 0, fmt.Errorf("audit: %w", err)
	}
	defer dir.Close()
	t, err := walk(ctx, dir)
	if err != nil {
		return platform.Platform{}, 0, fmt.Errorf("audit of %s: %w", root, err)
	}
	votes := map[platform.Platform]int{}
	for name, e := range t.entries {
		if err := ctx.Err(); err != nil {
			return platform.Platform{}, 0, err
		}
		if !e.mode.IsRegular() || !e.first() {
			continue
		}
		f, err := dir.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
		if err != nil {
			continue
		}
		for _, p := range platformsOf(f, e.size) {
			votes[p]++
		}
		f.Close()
	}
	var most platform.Platform
	for _, p := range platform.All() {
		if votes[p] > votes[most] {
			most = p
		}
	}
	return most, votes[most], nil
}

// platformsOf are those that one file is for.
func platformsOf(r io.ReaderAt, size int64) []platform.Platform {
	head := make([]byte, min(size, headSize))
	if _, err := io.ReadFull(io.NewSectionReader(r, 0, size), head); err != nil {
		return nil
	}
	switch {
	case elf.IsELF(head):
		img, err := elf.Read(r, size)
		if err != nil || img.Type == delf.ET_REL {
			return nil
		}
		if p, ok := img.Platform(); ok {
			return []platform.Platform{p}
		}
	case macho.IsMachO(head):
		f, err := macho.Read(r, size)
		if err != nil {
			return nil
		}
		var out []platform.Platform
		for _, img := range f.Images {
			if img.Linked() && img.Arch() == "arm64" {
				out = append(out, platform.Platform{OS: "darwin", Arch: "arm64"})
			}
		}
		return out
	}
	return nil
}
