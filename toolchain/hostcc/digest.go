package hostcc

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/stonemason-hip/stonemason/toolchain/elf"
	"github.com/stonemason-hip/stonemason/toolchain/platform"
)

// digest identifies a compiler: its macros, the driver, the programs that the
// driver runs, and the private libraries of all of these (clang is a small
// program before a large library). Libraries count by their build id, which
// linkers derive from the content, and by a hash where there is none.
func (o Options) digest(ctx context.Context, c Compiler, macros string) (string, error) {
	programs := []string{c.Path}
	inner := "cc1"
	if c.Language == CXX {
		inner = "cc1plus"
	}
	for _, name := range []string{inner, "as", "ld"} {
		// An unknown program's name is printed as it stands.
		out, err := o.ask(ctx, c.Path, "-print-prog-name="+name)
		if err != nil {
			continue
		}
		if path, err := o.lookup(strings.TrimSpace(out)); err == nil {
			programs = append(programs, path)
			o.watchProgram(path)
		}
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s %s\n", c.Kind, c.Version, c.Triple)
	io.WriteString(h, macros)
	for _, path := range programs {
		sum, err := o.Cache.Digest(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "program %s %s\n", filepath.Base(path), sum)
		libraries, err := o.libraries(path)
		if err != nil {
			return "", err
		}
		for _, line := range libraries {
			fmt.Fprintf(h, "library %s\n", line)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// libraries lists the private libraries of an ELF program with an identity
// each; nothing for scripts and for other formats (macOS's compilers link
// theirs in, or take them from the sealed system).
func (o Options) libraries(path string) ([]string, error) {
	img, err := elf.Open(path)
	if errors.Is(err, elf.ErrNotELF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, ok := img.Platform()
	if !ok || p != platform.Native() {
		return nil, nil
	}
	linker, err := elf.NewLinker("/", p)
	if err != nil {
		return nil, err
	}
	closure, err := linker.Closure([]string{path})
	if err != nil {
		return nil, err
	}
	var lines []string
	o.watchLibraries(closure)
	for _, lib := range closure.Libraries {
		id := lib.Image.BuildID
		if id == "" {
			if id, err = o.Cache.Digest(lib.Real); err != nil {
				return nil, err
			}
		}
		lines = append(lines, lib.Name+" "+id)
	}
	return lines, nil
}
