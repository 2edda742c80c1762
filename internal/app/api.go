package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/stonemason-hip/stonemason/internal/exit"
	"github.com/stonemason-hip/stonemason/internal/spec"
	"github.com/stonemason-hip/stonemason/internal/yamlx"
	"github.com/stonemason-hip/stonemason/remote/api"
	"github.com/stonemason-hip/stonemason/remote/api/importer"
)

// descriptionsDir holds the API descriptions of a project.
const descriptionsDir = "remote/api"

// APIImportOptions are the options of api:import.
type APIImportOptions struct {
	Library string
	// Headers are the folders to search for the headers, Symbols the file that
	// lists what the real library exports; both comma-separated, the second
	// may be empty.
	Headers, Symbols string
	// Version is that of the API, Packages what headers and symbols come from,
	// name=version, comma-separated. Both stay as they are when empty.
	Version, Packages string
	// Check only says whether the description would change.
	Check bool
}

// APIImport makes or updates the description of a library from its headers.
func (a *App) APIImport(ctx context.Context, o APIImportOptions) error {
	p, err := a.project(Wishes{})
	if err != nil {
		return err
	}
	dir := filepath.Join(p.Root, filepath.FromSlash(descriptionsDir))
	notes, err := a.annotations(dir, o.Library)
	if err != nil {
		return err
	}
	if o.Headers == "" {
		return exit.Withf(exit.Usage, "api:import: -headers is missing: the include folder that holds %s", notes.Headers[0])
	}
	in := importer.Input{Annotations: notes, Version: o.Version}
	if err := fillFromOld(&in, dir, o); err != nil {
		return err
	}
	for _, name := range notes.Uses {
		used, err := api.Load(os.DirFS(dir), name)
		if err != nil {
			return exit.With(exit.Config, err)
		}
		in.Used = append(in.Used, used)
	}
	if in.Symbols, err = readSymbols(o.Symbols); err != nil {
		return exit.With(exit.Config, err)
	}
	m := a.machine(ctx, p)
	if m.LLVM == nil {
		return exit.Withf(exit.Preflight, "clang is needed to read headers: install LLVM 19 or newer (doctor -yes)")
	}
	clang := importer.Clang{Path: m.LLVM.Tools["clang"], Includes: fields(o.Headers)}
	if in.Tree, err = clang.Tree(ctx, notes, in.Symbols); err != nil {
		return exit.With(exit.Config, err)
	}
	res, err := importer.Import(in)
	if err != nil {
		return exit.With(exit.Config, err)
	}
	clang.Places = res.Places
	if err := clang.Verify(ctx, notes, res.Library); err != nil {
		return exit.With(exit.Config, err)
	}
	return a.writeDescription(dir, res, o.Check)
}

// annotations reads those of a library.
func (a *App) annotations(dir, library string) (*importer.Annotations, error) {
	if strings.ContainsAny(library, "/\\") {
		return nil, exit.Withf(exit.Usage, "api:import: %q is no name of a library", library)
	}
	folder := filepath.Join(dir, "annotations")
	file := filepath.Join(folder, library+".yaml")
	data, err := readFile(file, api.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) || library == "" {
		return nil, exit.With(exit.Usage, oneOf("api:import", "library", library, yamlNames(folder)))
	}
	if err != nil {
		return nil, exit.With(exit.Config, err)
	}
	notes, err := importer.ReadAnnotations(descriptionsDir+"/annotations/"+library+".yaml", data)
	if err != nil {
		return nil, exit.With(exit.Config, err)
	}
	if notes.Library != library {
		return nil, exit.Withf(exit.Config, "%s/annotations/%s.yaml is about %s", descriptionsDir, library, notes.Library)
	}
	return notes, nil
}

// fillFromOld takes version and origin from the flags, or from the description
// that is there.
func fillFromOld(in *importer.Input, dir string, o APIImportOptions) error {
	old, err := api.Load(os.DirFS(dir), o.Library)
	switch {
	case err == nil:
		in.Origin = old.Origin
		if in.Version == "" {
			in.Version = old.Version
		}
	case !errors.Is(err, fs.ErrNotExist) && (o.Version == "" || o.Packages == ""):
		return exit.With(exit.Config, fmt.Errorf("%w\nso nothing says what it was made from: say -version and -packages", err))
	}
	if o.Packages != "" {
		in.Origin = nil
		for i, pkg := range fields(o.Packages) {
			name, version, ok := strings.Cut(pkg, "=")
			if !ok || i > 1 {
				return exit.Withf(exit.Usage, "api:import: -packages is name=version of the headers, and of the symbols behind a comma, not %q", o.Packages)
			}
			in.Origin = append(in.Origin, api.Origin{Package: name, Version: version, For: []string{"headers", "symbols"}[i]})
		}
	}
	if in.Version == "" || len(in.Origin) == 0 {
		return exit.Withf(exit.Usage, "api:import: there is no description of %s yet: say -version and -packages", o.Library)
	}
	return nil
}

func readSymbols(file string) (importer.Symbols, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := importer.ReadSymbols(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return s, nil
}

// writeDescription checks what was made by reading it, and writes it.
func (a *App) writeDescription(dir string, res *importer.Result, check bool) error {
	l := res.Library
	text := l.Bytes()
	if len(text) > api.MaxBytes {
		return exit.Withf(exit.Config, "the description of %s would have %d functions in %d bytes, more than %d: let names in %s/annotations/%s.yaml match fewer",
			l.Name, len(l.Functions), len(text), api.MaxBytes, descriptionsDir, l.Name)
	}
	read, err := api.Read(os.DirFS(dir), l.Name, text)
	if err != nil {
		return exit.With(exit.Config, unsaid(l.Name, err))
	}
	name := descriptionsDir + "/" + l.Name + ".yaml"
	file := filepath.Join(dir, l.Name+".yaml")
	old, err := readFile(file, api.MaxBytes)
	same := err == nil && bytes.Equal(old, text)
	for _, list := range []struct {
		words string
		lines []string
	}{
		{"declared, and not exported", res.NotExported},
		{"left out", res.LeftOut},
		{"a comment that cannot be true", res.Contradictions},
		{"undecided", read.Undecided()},
	} {
		for _, line := range list.lines {
			fmt.Fprintf(a.Out, "%s: %s\n", list.words, line)
		}
	}
	counts := fmt.Sprintf("%d functions, %d types, %d undecided", len(l.Functions),
		len(l.Aliases)+len(l.Enums)+len(l.Handles)+len(l.Records)+len(l.Callbacks), len(read.Undecided()))
	switch {
	case same:
		fmt.Fprintf(a.Out, "%s is up to date: %s\n", name, counts)
		return nil
	case check:
		return exit.Withf(exit.Verify, "%s is not what the headers give: run api:import without -check", name)
	}
	if err := renameio.WriteFile(file, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "wrote %s: %s\n", name, counts)
	return nil
}

// unsaid says of what headers and annotations give together, and what is no
// description yet, which part of it is wrong: its text, with lines, is nowhere.
func unsaid(library string, err error) error {
	var list yamlx.Errors
	var one *yamlx.Error
	if !errors.As(err, &list) && errors.As(err, &one) {
		list = yamlx.Errors{one}
	}
	if len(list) == 0 {
		return err
	}
	file := descriptionsDir + "/annotations/" + library + ".yaml"
	said := make([]error, len(list))
	for i, e := range list {
		e := *e
		e.File, e.Line, e.Col = "", 0, 0
		if e.Msg != "" {
			e.Msg = e.Path + ": " + e.Msg
		}
		said[i] = fmt.Errorf("%s: with the headers it gives no description: %w", file, &e)
	}
	return errors.Join(said...)
}

// APIDiff compares two descriptions, files or names of libraries of the project,
// and says what an application would notice, and with protocol what a remote protocol would.
func (a *App) APIDiff(ctx context.Context, from, to string, protocol bool) error {
	var libs [2]*api.Library
	for i, file := range []string{from, to} {
		l, err := a.description(file)
		if err != nil {
			return err
		}
		libs[i] = l
	}
	changes := api.Compare(libs[0], libs[1])
	for _, c := range changes {
		fmt.Fprintln(a.Out, c)
	}
	if len(changes) > 0 {
		fmt.Fprintln(a.Out, summary(changes))
	}
	if protocol {
		for _, fact := range api.CompareFacts(libs[0], libs[1]) {
			fmt.Fprintln(a.Out, "protocol:", fact)
		}
	}
	if api.Breaks(changes) {
		return exit.Withf(exit.Verify, "lib%s %s does not take the place of %s for applications that are built already", libs[1].Name, libs[1].Version, libs[0].Version)
	}
	if len(changes) == 0 {
		fmt.Fprintf(a.Out, "applications notice no difference\n")
	}
	return nil
}

// summary counts changes.
func summary(changes []api.Change) string {
	breaks, source := 0, 0
	for _, c := range changes {
		switch {
		case c.Breaks:
			breaks++
		case c.Source:
			source++
		}
	}
	return fmt.Sprintf("%d differences: %d break programs that are built, %d sources alone, %d are new", len(changes), breaks, source, len(changes)-breaks-source)
}

// description reads the description of a library of the project, or any file. What
// a file uses is looked for beside it, then in the project.
func (a *App) description(name string) (*api.Library, error) {
	root, err := spec.FindRoot(a.Dir)
	dir := filepath.Join(root, filepath.FromSlash(descriptionsDir))
	if !strings.ContainsAny(name, "./\\") {
		if err != nil {
			return nil, exit.With(exit.Config, err)
		}
		data, err := readFile(filepath.Join(dir, name+".yaml"), api.MaxBytes)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, exit.With(exit.Usage, oneOf(descriptionsDir, "library", name, yamlNames(dir)))
		}
		if err != nil {
			return nil, exit.With(exit.Config, err)
		}
		l, err := api.Read(os.DirFS(dir), name, data)
		return l, exit.With(exit.Config, err)
	}
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.Dir, file)
	}
	folders := folders{os.DirFS(filepath.Dir(file))}
	if err == nil {
		folders = append(folders, os.DirFS(dir))
	}
	data, err := readFile(file, api.MaxBytes)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	l, err := api.ReadFile(folders, filepath.ToSlash(name), data)
	return l, exit.With(exit.Config, err)
}

// folders is a file system of several: a name means the first that has it.
type folders []fs.FS

// Open implements fs.FS.
func (f folders) Open(name string) (fs.File, error) {
	for _, folder := range f {
		file, err := folder.Open(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// yamlNames are the names of a folder's YAML files, without their ending.
func yamlNames(dir string) []string {
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".yaml"); ok && !e.IsDir() {
			names = append(names, name)
		}
	}
	return names
}

// readFile reads a regular file that is no larger than most bytes. A pipe would
// wait for its writer.
func readFile(name string, most int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return data, err
}
