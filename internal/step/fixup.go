package step

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/stonemason-hip/stonemason/internal/glob"
	"github.com/stonemason-hip/stonemason/internal/key"
	"github.com/stonemason-hip/stonemason/toolchain/elf"
)

// Fixup makes the stage relocatable: run paths as told, absolute symbolic
// links that stay in the stage made relative, modes 0644 and 0755,
// interpreters that not every system has in the same place found through env,
// pkg-config files that find their prefix by their own place, and CMake packages
// that do not name the build folder.
type Fixup struct {
	Runpaths []Runpath `yaml:"runpaths,omitempty"`
}

// Runpath sets the run path of the files that match.
type Runpath struct {
	Globs []string `yaml:"globs"`
	// Paths begin with $ORIGIN; on Darwin that is written @loader_path.
	Paths []string `yaml:"paths"`
}

// Validate implements Step.
func (s *Fixup) Validate() error {
	for i, r := range s.Runpaths {
		for _, g := range r.Globs {
			if err := glob.Check(g); err != nil {
				return fmt.Errorf("runpaths[%d]: %w", i, err)
			}
		}
		for _, p := range r.Paths {
			if p != "$ORIGIN" && !strings.HasPrefix(p, "$ORIGIN/") {
				return fmt.Errorf("runpaths[%d]: %q does not begin with $ORIGIN: an absolute run path cannot move", i, p)
			}
		}
	}
	return nil
}

// Key implements Step.
func (s *Fixup) Key(b *key.Builder) { fields(b, s) }

// Run implements Step.
func (s *Fixup) Run(ctx context.Context, r *Run) error {
	var files []string
	err := filepath.WalkDir(r.Stage, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(r.Stage, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		switch {
		case d.IsDir():
			return os.Chmod(file, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			return s.link(r, file, rel)
		case !d.Type().IsRegular():
			return fmt.Errorf("fixup: %s is neither file, folder nor symbolic link", rel)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		if info.Mode() != mode {
			if err := os.Chmod(file, mode); err != nil {
				return err
			}
		}
		switch path.Ext(rel) {
		case ".pc":
			if err := pkgConfig(r, file, rel); err != nil {
				return err
			}
		case ".cmake":
			if err := cmakePackage(r, file, rel); err != nil {
				return err
			}
		}
		if mode == 0o755 {
			if err := shebang(r, file, rel); err != nil {
				return err
			}
		}
		if files = append(files, rel); r.Host.OS == "darwin" {
			return nil // all together: names are of several files
		}
		for _, rule := range s.matching(rel) {
			fmt.Fprintf(r.Output, "+ run path of %s: %s\n", rel, strings.Join(rule.Paths, ":"))
			if err := elf.SetRunpath(ctx, r.Tools["patchelf"], file, rule.Paths); err != nil {
				return fmt.Errorf("fixup: %w", err)
			}
		}
		return nil
	})
	if err != nil || r.Host.OS != "darwin" {
		return err
	}
	return s.images(ctx, r, files)
}

// matching are the rules for a file of the stage.
func (s *Fixup) matching(rel string) (rules []Runpath) {
	for _, rule := range s.Runpaths {
		if glob.Any(rule.Globs, rel) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// pkgConfig makes the stage's path in a pkg-config file relative to the file
// (pkg-config(1), the predefined variable pcfiledir).
func pkgConfig(r *Run, file, rel string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(data), r.Stage) {
		return nil
	}
	up, err := filepath.Rel(filepath.Dir(file), r.Stage)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Output, "+ %s: the prefix is relative to the file\n", rel)
	fresh := strings.ReplaceAll(string(data), r.Stage, "${pcfiledir}/"+filepath.ToSlash(up))
	return os.WriteFile(file, []byte(fresh), 0o644)
}

// cmakePackage takes out of a CMake package's file the variables that lead into
// the build folder, which is gone by the time that anybody reads them: LLVM's
// LLVM_DEFAULT_EXTERNAL_LIT, for instance. Other mentions of that folder are left
// to the audit to judge.
func cmakePackage(r *Run, file, rel string) error {
	data, err := os.ReadFile(file)
	if err != nil || r.BuildDir == "" || !strings.Contains(string(data), r.BuildDir+"/") {
		return err
	}
	var fresh strings.Builder
	for line := range strings.Lines(string(data)) {
		if m := setLine.FindStringSubmatch(line); m != nil && strings.HasPrefix(m[2], r.BuildDir+"/") {
			fmt.Fprintf(r.Output, "+ %s: without %s, which leads into the build folder\n", rel, m[1])
			continue
		}
		fresh.WriteString(line)
	}
	return os.WriteFile(file, []byte(fresh.String()), 0o644)
}

// setLine is a command of CMake's on one line that sets a variable to a path.
var setLine = regexp.MustCompile(`^\s*set\((\w+) "?([^"\s;()]*)"?\)\s*$`)

// shebang rewrites "#!/bin/bash" to "#!/usr/bin/env bash", and the like for
// python3. A line with arguments is left to the audit to judge.
func shebang(r *Run, file, rel string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	f.Close()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, ok := strings.Cut(string(head[:n]), "\n")
	program := strings.TrimSpace(strings.TrimPrefix(line, "#!"))
	if !ok || !strings.HasPrefix(line, "#!") || !slices.Contains([]string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/usr/bin/python3"}, program) {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fresh := "#!/usr/bin/env " + path.Base(program)
	fmt.Fprintf(r.Output, "+ %s: %s → %s\n", rel, line, fresh)
	return os.WriteFile(file, append([]byte(fresh), data[len(line):]...), 0o755)
}

// link turns an absolute link into the stage into a relative one.
func (s *Fixup) link(r *Run, file, rel string) error {
	target, err := os.Readlink(file)
	if err != nil || !filepath.IsAbs(target) {
		return err
	}
	inStage, err := filepath.Rel(r.Stage, target)
	if err != nil || !filepath.IsLocal(inStage) {
		return fmt.Errorf("fixup: symbolic link %s leads to %s, outside the stage", rel, target)
	}
	relative, err := filepath.Rel(filepath.Dir(file), target)
	if err != nil {
		return err
	}
	fmt.Fprintf(r.Output, "+ link %s → %s\n", rel, relative)
	if err := os.Remove(file); err != nil {
		return err
	}
	return os.Symlink(relative, file)
}
