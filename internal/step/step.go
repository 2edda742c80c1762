// Package step holds the typed steps that recipes are made of.
//
// A step type is one file: a struct with yaml tags and the methods Validate,
// Key and Run. The values of a step may hold variables such as ${source} that
// are known only when it runs; they stay unexpanded in the key, so that a key
// does not depend on where a build happens.
package step

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/stonemason-hip/stonemason/internal/key"
)

// Step is one step with its values filled in.
type Step interface {
	// Validate says what is wrong with the values.
	Validate() error
	// Key adds every input that can change what the step makes.
	Key(b *key.Builder)
	// Run carries the step out. It writes below the folders that r names and
	// nowhere else, and leaves r.Log open for the reader of a failure.
	Run(ctx context.Context, r *Run) error
}

// Stages reports whether a step writes the stage. What comes before the first
// such step is kept when a build is interrupted; the stage is always made anew.
func Stages(s Step) bool {
	switch s := s.(type) {
	case *CMake, *Stub:
		return false
	case *Ninja:
		return s.Stage
	}
	return true
}

// Type describes a step type for recipes, the schema and documentation.
type Type struct {
	Name string
	Doc  string
	New  func() Step
}

// Types lists all step types by name.
func Types() []Type { return slices.Clone(types) }

// types is a table and never changes.
var types = []Type{
	{"adopt-llvm", "copy an LLVM, the machine's or one out of packages, into the stage and make it relocatable", func() Step { return new(AdoptLLVM) }},
	{"audit", "check the stage: links, leaked paths, modes", func() Step { return new(Audit) }},
	{"cmake", "configure a CMake project for Ninja", func() Step { return new(CMake) }},
	{"copy", "copy files and folders, headers for instance", func() Step { return new(Copy) }},
	{"fixup", "make the stage relocatable: run paths, modes, symbolic links", func() Step { return new(Fixup) }},
	{"generate", "write a file", func() Step { return new(Generate) }},
	{"install", "run the install rules of a CMake build into the stage", func() Step { return new(Install) }},
	{"link", "make symbolic links", func() Step { return new(Link) }},
	{"macos-sdk", "assemble an SDK for macOS from headers, text stubs and libc++", func() Step { return new(MacOSSDK) }},
	{"ninja", "build targets", func() Step { return new(Ninja) }},
	{"slice", "give every file of the stage to run, lib, dev, dbg or doc", func() Step { return new(Slice) }},
	{"stub", "write the sources of link stubs, from descriptions of libraries", func() Step { return new(Stub) }},
	{"symbols", "move debug information into files of its own, for the slice dbg", func() Step { return new(Symbols) }},
}

// New makes an empty step of a type.
func New(uses string) (Step, error) {
	for _, t := range types {
		if t.Name == uses {
			return t.New(), nil
		}
	}
	return nil, fmt.Errorf("there is no step type %q", uses)
}

// Names lists the names of all step types.
func Names() []string {
	var names []string
	for _, t := range Types() {
		names = append(names, t.Name)
	}
	return names
}

// Variables lists the names that values may use and that only a running step
// knows. Those ending in a point are families: dep.amd-llvm, for instance.
func Variables() []string {
	return []string{"source", "build", "stage", "jobs", "linkjobs", "llvm", "llvm.major", "dep."}
}

// IsVariable reports whether ${name} is left for the running step.
func IsVariable(name string) bool {
	return slices.ContainsFunc(Variables(), func(v string) bool {
		return v == name || strings.HasSuffix(v, ".") && strings.HasPrefix(name, v)
	})
}

// fields adds every exported field of a step struct to its key, by yaml name,
// so that a new field cannot be forgotten.
func fields(b *key.Builder, s Step) {
	v := reflect.ValueOf(s).Elem()
	addValue(b, "", v)
}

func addValue(b *key.Builder, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		t := v.Type()
		for i := range v.NumField() {
			f := t.Field(i)
			tag, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if !f.IsExported() || tag == "" || tag == "-" {
				continue
			}
			addValue(b, join(name, tag), v.Field(i))
		}
	case reflect.Slice:
		if v.Len() == 0 {
			b.Add(name, "[]")
		}
		for i := range v.Len() {
			addValue(b, name+"."+number(i), v.Index(i))
		}
	case reflect.Map:
		if v.Len() == 0 {
			b.Add(name, "{}")
		}
		for _, k := range v.MapKeys() {
			addValue(b, join(name, lineName(k.String())), v.MapIndex(k))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			addValue(b, name, v.Elem())
		}
	default:
		if v.Kind() == reflect.String && v.Type().NumMethod() == 0 {
			b.Add(name, v.String())
			return
		}
		b.Add(name, fmt.Sprint(v.Interface()))
	}
}

// number writes the place of an element with at least three digits.
func number(i int) string {
	digits := strconv.Itoa(i)
	return "000"[min(3, len(digits)):] + digits
}

// lineName makes a map's key fit to be a part of the name of a key's line: it
// holds no = and no line break, and no two keys give the same.
func lineName(s string) string {
	if !strings.ContainsAny(s, "=\"") && !strings.ContainsFunc(s, unicode.IsControl) {
		return s
	}
	return strings.ReplaceAll(strconv.Quote(s), "=", `\x3d`)
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}
