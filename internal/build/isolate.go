package build

import (
	"context"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/sandbox"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/step"
)

// isolate has the programs that a node's steps run see no network, write in
// the node's own folders only, and find nothing of the user's, of a ROCm that
// is installed, or of components that are not among the node's needs. writable
// are further folders of the node's that may be written. For a person the
// programs get a session of their own, apart from the terminal's.
//
// It changes no result: what a step needs is in its key, and the rest is what
// is kept from it here.
func (b *Builder) isolate(ctx context.Context, r *step.Run, person bool, writable ...string) error {
	if b.Machine.Isolation == spec.IsolationOff {
		return nil
	}
	status := b.Machine.Sandbox(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !status.OK() {
		if b.Machine.Isolation == spec.IsolationRequired {
			return exit.Withf(exit.Preflight, "therock.yaml requires isolation, and build steps are %s", status)
		}
		return nil
	}
	policy, err := sandbox.Resolve(b.access(r, writable))
	if err != nil {
		return err
	}
	policy.NewSession = person
	r.Wrap = func(argv []string) []string { return sandbox.Wrap(status.Program, policy, argv) }
	return nil
}

func (b *Builder) access(r *step.Run, writable []string) sandbox.Access {
	homes := homes()
	a := sandbox.Access{
		Hidden: slices.Concat(homes, []string{
			"/opt", "/usr/local", "/tmp", "/var/tmp", os.TempDir(), "/run", b.Store.Root(), b.Sources.Root,
		}),
		Readable: slices.Collect(maps.Values(r.Deps)),
	}
	// Its folders alone: the key and the progress beside them are ours, and a
	// source that a step changed would no longer be what the key names.
	a.Readable = append(a.Readable, r.Work)
	for _, dir := range []string{"build", "stage", "home", "tmp"} {
		a.Writable = append(a.Writable, filepath.Join(r.Work, dir))
	}
	a.Writable = append(a.Writable, writable...)
	if r.Launcher != "" {
		a.Writable = append(a.Writable, b.compilerCache())
	}
	programs := slices.Collect(maps.Values(r.Tools))
	if r.CC != nil && r.CXX != nil {
		programs = append(programs, r.CC.Path, r.CXX.Path)
	}
	for _, path := range programs {
		a.Readable = append(a.Readable, sandbox.Program(path, homes)...)
	}
	if r.Cross != nil {
		for _, path := range r.Cross.Files() {
			a.Readable = append(a.Readable, sandbox.Program(path, homes)...)
		}
		if r.Cross.Sysroot != "" {
			a.Readable = append(a.Readable, r.Cross.Sysroot)
		}
	}
	if r.LLVM != nil {
		a.Readable = append(a.Readable, r.LLVM.Prefix)
	}
	return a
}

// homes are the user's home folders: the one that programs are told and the
// one that the system knows, which need not be the same.
func homes() []string {
	var dirs []string
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && u.HomeDir != "" {
		dirs = append(dirs, u.HomeDir)
	}
	if dir := os.Getenv("HOME"); filepath.IsAbs(dir) && !slices.Contains(dirs, dir) {
		dirs = append(dirs, dir)
	}
	for i, dir := range dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dirs[i] = real
		}
	}
	return dirs
}
