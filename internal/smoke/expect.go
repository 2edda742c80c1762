// Package smoke proves that a toolchain bundle compiles HIP: it compiles every
// example for every GPU with nothing but the bundle, and reads the results with
// the project's own parser. It needs no GPU.
package smoke

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/stonemason-hip/stonemason/emulator/launchfile"
)

// Names of an example's files, and the bounds on reading them.
const (
	expectFile  = "smoke.yaml"
	sourceExt   = ".hip"
	maxExpect   = 1 << 20
	maxExamples = 1000
	schema      = 1
)

// Expectation is what an example's smoke.yaml says of its compiled kernels.
// docs/smoke.md explains the keys for people.
type Expectation struct {
	Schema  int              `yaml:"schema"`
	Kernels []ExpectedKernel `yaml:"kernels"` // all of them: another one is a finding
}

// ExpectedKernel is one kernel that must be there.
type ExpectedKernel struct {
	Name   string        `yaml:"name"`   // mangled
	Source string        `yaml:"source"` // as a person writes it; used in messages
	LDS    *uint64       `yaml:"lds"`    // static local memory in bytes; not compared when absent
	Args   []ExpectedArg `yaml:"args"`   // all explicit ones, in order
}

// ExpectedArg is one explicit argument. Offset and size are in bytes.
type ExpectedArg struct {
	Name   string `yaml:"name"` // used in messages; HIP records no names to compare
	Kind   string `yaml:"kind"` // .value_kind of the metadata: by_value, global_buffer, ...
	Offset uint64 `yaml:"offset"`
	Size   uint64 `yaml:"size"`
}

// label is what messages call the kernel.
func (k ExpectedKernel) label() string {
	if k.Source != "" {
		return k.Source
	}
	return k.Name
}

// Example is a HIP program with what is expected of it.
type Example struct {
	Name   string // of the folder
	Source string // path of NAME/NAME.hip
	Expect Expectation
	Launch *launchfile.File // how it runs; nil when nothing says so
}

// ParseExpectation reads a smoke.yaml strictly: unknown keys, a missing name
// and kernels listed twice are errors.
func ParseExpectation(data []byte) (Expectation, error) {
	var e Expectation
	if len(data) > maxExpect {
		return e, fmt.Errorf("%d bytes: at most %d are read", len(data), maxExpect)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&e); err != nil {
		return e, err
	}
	if err := dec.Decode(new(Expectation)); !errors.Is(err, io.EOF) {
		return e, errors.New("more than one document in the file")
	}
	if e.Schema != schema {
		return e, fmt.Errorf("schema %d is not %d", e.Schema, schema)
	}
	if len(e.Kernels) == 0 {
		return e, errors.New("kernels: at least one is needed")
	}
	seen := map[string]bool{}
	for i, k := range e.Kernels {
		if k.Name == "" {
			return e, fmt.Errorf("kernels[%d]: name is missing", i)
		}
		if seen[k.Name] {
			return e, fmt.Errorf("kernels[%d]: %s is there twice", i, k.Name)
		}
		seen[k.Name] = true
		for j, a := range k.Args {
			if a.Kind == "" || a.Size == 0 {
				return e, fmt.Errorf("kernels[%d].args[%d]: kind and size are needed", i, j)
			}
		}
	}
	return e, nil
}

// LoadExamples reads every example of a folder, in order of their names: each
// sub-folder NAME with NAME.hip and smoke.yaml. A folder that has only one of
// the two is an error, one that has neither is left alone.
func LoadExamples(dir string) ([]Example, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("examples: %w", err)
	}
	var list []Example
	for _, d := range entries {
		if !d.IsDir() {
			continue
		}
		ex, ok, err := loadExample(dir, d.Name())
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, ex)
		}
		if len(list) > maxExamples {
			return nil, fmt.Errorf("examples: more than %d in %s", maxExamples, dir)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("examples: none in %s: want folders NAME with NAME%s and %s", dir, sourceExt, expectFile)
	}
	return list, nil
}

func loadExample(dir, name string) (Example, bool, error) {
	source, expect := filepath.Join(dir, name, name+sourceExt), filepath.Join(dir, name, expectFile)
	_, sourceErr := os.Stat(source)
	data, expectErr := os.ReadFile(expect)
	if errors.Is(sourceErr, fs.ErrNotExist) && errors.Is(expectErr, fs.ErrNotExist) {
		return Example{}, false, nil
	}
	if err := errors.Join(sourceErr, expectErr); err != nil {
		return Example{}, false, fmt.Errorf("example %s: %w", name, err)
	}
	e, err := ParseExpectation(data)
	if err != nil {
		return Example{}, false, fmt.Errorf("example %s: %s: %w", name, expect, err)
	}
	abs, err := filepath.Abs(source)
	if err != nil {
		return Example{}, false, fmt.Errorf("example %s: %w", name, err)
	}
	launch, err := readLaunch(dir, name)
	if err != nil {
		return Example{}, false, fmt.Errorf("example %s: %w", name, err)
	}
	return Example{Name: name, Source: abs, Expect: e, Launch: launch}, true, nil
}
