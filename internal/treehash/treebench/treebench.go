// Package treebench makes the trees on which the speed of content ids is
// measured, and measures it beside that of the tools that a person would use:
// git status on a workspace, sha256sum on a source tree.
package treebench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/stonemason-hip/stonemason/internal/statcache"
	"github.com/stonemason-hip/stonemason/internal/treehash"
)

// filesPerFolder is what LLVM has on the average.
const filesPerFolder = 25

// Workspace makes dir, which must not exist, a git repository with that many
// small files, all committed. Git and we both distrust what was written just
// before: it waits (statcache.Slack), and lets git refresh its index.
func Workspace(ctx context.Context, dir string, files int) error {
	for i := range files {
		folder := filepath.Join(dir, fmt.Sprintf("part%02d", i/filesPerFolder%40), fmt.Sprintf("unit%04d", i/filesPerFolder/40))
		if i%filesPerFolder == 0 {
			if err := errors.Join(ctx.Err(), os.MkdirAll(folder, 0o755)); err != nil {
				return err
			}
		}
		text := fmt.Appendf(nil, "int unit_%d(int n);\n", i)
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("file%02d.c", i%filesPerFolder)), bytes.Repeat(text, 1+i%20), 0o644); err != nil {
			return err
		}
	}
	for _, argv := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "gc.auto=0", "commit", "-qm", "bench"},
	} {
		if err := run(ctx, "git", append([]string{"-C", dir}, argv...)...); err != nil {
			return err
		}
	}
	if err := wait(ctx, statcache.Slack+time.Second); err != nil {
		return err
	}
	if err := GitStatus(ctx, dir); err != nil {
		return err
	}
	return wait(ctx, statcache.Slack+time.Second)
}

// Project makes dir a project with one component, tool, whose source is a
// workspace and whose recipe copies one file of it. Lock it, build it twice,
// and a further build has nothing to do but to look at the workspace.
func Project(dir, workspace string) error {
	for name, text := range map[string]string{
		"therock.yaml":            fmt.Sprintf("schema: 1\nversion: \"1.0.0\"\nchannel: debian\ngpus: [gfx942]\ncomponents:\n  tool: {workspace: %q}\n", workspace),
		"toolchain/releases.yaml": "schema: 1\nrepositories: {}\nreleases:\n  - {version: \"1.0.0\", channel: debian, pins: {}}\n",
		"recipes/copy.yaml": "schema: 1\nname: copy\nsummary: copy one file\nsteps:\n" +
			"  - {name: copy, uses: copy, with: {items: [{from: \"${source}/part00/unit0000/file00.c\", to: \"share/${name}.c\"}]}}\n",
		"components/tool.yaml": "schema: 1\nname: tool\nsummary: one file\ngroup: TOOLS\npresets: [compiler]\nproviders: [{kind: source, recipe: copy}]\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Tree makes dir, which must not exist, a folder of about that many bytes in
// files of 1 kB to 64 MB: half of the bytes in small ones, as in a source tree
// with a few archives in it. The bytes are the same each time.
func Tree(ctx context.Context, dir string, size int64) error {
	random := rand.NewChaCha8([32]byte{1})
	sizes := rand.New(rand.NewPCG(1, 2))
	for i, big := 0, false; size > 0; i, big = i+1, !big {
		folder := filepath.Join(dir, fmt.Sprintf("part%03d", i))
		if err := errors.Join(ctx.Err(), os.MkdirAll(folder, 0o755)); err != nil {
			return err
		}
		// 16 MB in one, or in a thousand.
		count, each := 1000, int64(16<<10)
		if big {
			count, each = 1, 16<<20
		}
		for j := 0; j < count && size > 0; j++ {
			n := min(size, each/4+sizes.Int64N(each*3/2))
			size -= n
			if err := fill(filepath.Join(folder, fmt.Sprintf("file%03d", j)), random, n); err != nil {
				return err
			}
		}
	}
	return wait(ctx, statcache.Slack+time.Second)
}

func fill(name string, random *rand.ChaCha8, n int64) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	var word [8]byte
	for ; n > 0; n -= 8 {
		binary.LittleEndian.PutUint64(word[:], random.Uint64())
		if _, err := w.Write(word[:min(n, 8)]); err != nil {
			return err
		}
	}
	return w.Flush()
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %.300s", name, err, stderr.String())
	}
	return nil
}

// Unchanged finds the id of a workspace whose snapshot lies in the folder
// cache. The first call makes the snapshot.
func Unchanged(ctx context.Context, dir, cache string) error {
	_, _, err := (&treehash.Workspace{Dir: dir, Cache: cache}).Hash(ctx)
	return err
}

// GitStatus is the alternative to Unchanged.
func GitStatus(ctx context.Context, dir string) error {
	return run(ctx, "git", "-C", dir, "status", "--porcelain")
}

// Cold finds the id of a tree by reading all of it.
func Cold(ctx context.Context, dir string) error {
	_, _, err := treehash.Hash(ctx, dir, treehash.Options{})
	return err
}

// SHA256Sum is the alternative to Cold: sha256sum on all cores.
func SHA256Sum(ctx context.Context, dir string) error {
	find := exec.CommandContext(ctx, "find", dir, "-type", "f", "-print0")
	names, err := find.Output()
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	sum := exec.CommandContext(ctx, "xargs", "-0", "-n", "64", "-P", fmt.Sprint(runtime.NumCPU()), "sha256sum")
	sum.Stdin, sum.Stdout = bytes.NewReader(names), io.Discard
	if err := sum.Run(); err != nil {
		return fmt.Errorf("sha256sum: %w", err)
	}
	return nil
}

// Size is how many bytes the files of a tree have.
func Size(ctx context.Context, dir string) (int64, error) {
	entries, err := treehash.List(ctx, dir, treehash.Options{})
	return treehash.StatsOf(entries).Bytes, err
}
