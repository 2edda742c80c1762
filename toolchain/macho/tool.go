package macho

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// EditTool edits load commands with a program. It is only given files that
// nobody else knows of, and only edits that fit.
type EditTool interface {
	// Edit changes the file at path, which holds before, and may leave its
	// signature void.
	Edit(ctx context.Context, path string, before *File, e Edit) error
	// Sign makes an ad-hoc signature, and reports false to have ours made.
	Sign(ctx context.Context, path, identifier string) (bool, error)
}

// toolTimeout bounds one run of a tool; the largest library takes a second.
const toolTimeout = 2 * time.Minute

// InstallNameTool runs install_name_tool, Apple's or LLVM's, and codesign.
//
// LLVM's writes over code when the header has too little room, and says
// nothing (LLVM 22); what runs here has been found to fit.
type InstallNameTool struct {
	// Program is install_name_tool's path.
	Program string
	// Codesign is codesign's path, "" for our own signatures.
	Codesign string
}

// Edit implements EditTool.
func (t InstallNameTool) Edit(ctx context.Context, path string, before *File, e Edit) error {
	var args []string
	if e.ID != "" {
		args = append(args, "-id", e.ID)
	}
	for _, old := range sortedKeys(e.Change) {
		args = append(args, "-change", old, e.Change[old])
	}
	if len(args) > 0 {
		if err := runProgram(ctx, t.Program, append(args, path)...); err != nil {
			return err
		}
	}
	if !e.SetRpaths {
		return nil
	}
	// A path that is there twice goes one at a time with Apple's tool and all
	// at once with LLVM's, so that each round looks at what is left. Removing
	// and adding the same path in one run is refused by both.
	for round := 0; ; round++ {
		f, err := Open(path)
		if err != nil {
			return err
		}
		args = nil
		for _, p := range f.commonRpaths() {
			args = append(args, "-delete_rpath", p)
		}
		if len(args) == 0 {
			break
		}
		if round > 1<<10 {
			return fmt.Errorf("%s does not remove the run path %q", t.Program, args[1])
		}
		if err := runProgram(ctx, t.Program, append(args, path)...); err != nil {
			return err
		}
	}
	args = nil
	for _, p := range NormalizeRpaths(e.Rpaths) {
		args = append(args, "-add_rpath", p)
	}
	if len(args) == 0 {
		return nil
	}
	return runProgram(ctx, t.Program, append(args, path)...)
}

// commonRpaths are the run paths of the first slice that has any, each once.
// Slices with different ones cannot be told apart on a command line, and the
// tools refuse what is not in each.
func (f *File) commonRpaths() []string {
	for _, img := range f.Images {
		var out []string
		seen := map[string]bool{}
		for _, p := range img.Rpaths {
			if !seen[p] {
				seen[p] = true
				out = append(out, p)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// Sign implements EditTool.
func (t InstallNameTool) Sign(ctx context.Context, path, identifier string) (bool, error) {
	if t.Codesign == "" {
		return false, nil
	}
	return true, runProgram(ctx, t.Codesign, "--force", "--sign", "-", "--identifier", identifier,
		"--preserve-metadata=entitlements,requirements,flags,runtime", path)
}

func runProgram(ctx context.Context, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	// Apple's programs find the rest of themselves by DEVELOPER_DIR or by PATH.
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin:/usr/sbin:/sbin"}
	if dir, ok := os.LookupEnv("DEVELOPER_DIR"); ok {
		cmd.Env = append(cmd.Env, "DEVELOPER_DIR="+dir)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		said := strings.TrimSpace(string(out[:min(len(out), 400)]))
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args[:len(args)-1], " "), err, said)
	}
	return nil
}

// runTool has a tool edit a copy in a folder of its own beside the file, so
// that whatever it makes of the name stays there, and returns the result.
func (ed Editor) runTool(ctx context.Context, file string, plan *Plan) (b []byte, err error) {
	dir, err := os.MkdirTemp(filepath.Dir(file), ".edit-*")
	if err != nil {
		return nil, err
	}
	defer func() {
		if rerr := os.RemoveAll(dir); err == nil {
			err = rerr
		}
	}()
	old, err := plan.file.src.at(0, plan.file.Size)
	if err != nil {
		return nil, err
	}
	copied := filepath.Join(dir, filepath.Base(file))
	if err := os.WriteFile(copied, old, 0o700); err != nil {
		return nil, err
	}
	if err := ed.Tool.Edit(ctx, copied, plan.file, plan.edit); err != nil {
		return nil, err
	}
	return ed.signTool(ctx, copied, plan)
}

// signTool signs what a tool has edited as the plan says. Our own signature
// takes over what the one before the edit held, for the tools drop it.
func (ed Editor) signTool(ctx context.Context, copied string, plan *Plan) ([]byte, error) {
	edit := Edit{Sign: SignStrip}
	former := make([]*Signature, len(plan.Slices))
	var identifier string
	for k := range plan.Slices {
		s := &plan.Slices[k]
		if s.sign == nil {
			continue
		}
		var err error
		if former[k], err = s.image.Signature(); err != nil && !plan.edit.Resign {
			return nil, err
		}
		identifier = s.sign.identifier
		edit = Edit{Sign: SignAnew, Identifier: plan.edit.Identifier, Leaf: plan.edit.Leaf, Resign: plan.edit.Resign}
	}
	if edit.Sign == SignAnew {
		done, err := ed.Tool.Sign(ctx, copied, identifier)
		if err != nil {
			return nil, err
		}
		if done {
			return readWhole(copied)
		}
	}
	f, err := Open(copied)
	if err != nil {
		return nil, fmt.Errorf("what the tool made cannot be read: %w", err)
	}
	if len(f.Images) != len(plan.Slices) {
		return nil, errors.New("the tool made another number of slices")
	}
	signed, err := f.plan(edit, former)
	if err != nil {
		return nil, err
	}
	return signed.Bytes()
}
