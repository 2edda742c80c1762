package audit

import "io"

// Severity says what a finding means for the bundle.
type Severity string

// An Error fails the audit, a Warning is likely a mistake, and Info is a fact
// worth knowing.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
	Info    Severity = "info"
)

// Finding is one thing that is wrong, or worth knowing, about one file.
type Finding struct {
	// File is relative to the bundle, with slashes; "." is the bundle.
	File string `json:"file"`
	// Rule is the rule's stable name (see Rules and docs/verify.md).
	Rule string `json:"rule"`
	// What is wrong, and Fix is what to do about it.
	What     string   `json:"what"`
	Fix      string   `json:"fix,omitempty"`
	Severity Severity `json:"severity"`
}

// The names of the rules. They are part of the output's format: one that is
// gone is never used for something else.
const (
	ruleCase             = "case-collision"
	ruleMode             = "mode"
	ruleSpecial          = "special-file"
	ruleLinkAbsolute     = "symlink-absolute"
	ruleLinkDangling     = "symlink-dangling"
	ruleLinkEscapes      = "symlink-escapes"
	ruleLinkLoop         = "symlink-loop"
	ruleShebang          = "script-shebang"
	ruleBuildPath        = "build-path-leak"
	ruleSystemPath       = "system-path-leak"
	ruleELFDamaged       = "elf-damaged"
	ruleELFInterp        = "elf-interp"
	ruleELFMachine       = "elf-machine"
	ruleELFNeeded        = "elf-needed-outside"
	ruleELFRPathAbsolute = "elf-rpath-absolute"
	ruleELFRPathLegacy   = "elf-rpath-legacy"
	ruleELFDuplicate     = "elf-runpath-duplicate"
	ruleELFEscapes       = "elf-runpath-escapes"
	ruleELFUnused        = "elf-runpath-unused"
	ruleGlibc            = "glibc-floor"
	ruleMachOMachine     = "macho-machine"
	ruleMachOUnchecked   = "macho-unchecked"
	ruleExecFails        = "exec-fails"
	ruleExecSkipped      = "exec-skipped"
	ruleManifest         = "manifest"
)

// Rule describes one rule.
type Rule struct {
	ID       string
	Severity Severity
	Summary  string
}

// Rules lists every rule, in the order of the documentation.
func Rules() []Rule {
	return []Rule{
		{ruleELFNeeded, Error, "every needed library is found in the bundle by RUNPATH, or belongs to the base system"},
		{ruleELFRPathAbsolute, Error, "search paths start with $ORIGIN"},
		{ruleELFEscapes, Error, "search paths stay inside the bundle"},
		{ruleELFDuplicate, Warning, "no folder is searched twice"},
		{ruleELFUnused, Warning, "every search path finds a needed library"},
		{ruleELFRPathLegacy, Warning, "search paths are RUNPATH, not RPATH"},
		{ruleELFInterp, Error, "programs name the platform's standard loader"},
		{ruleELFMachine, Error, "images are for the bundle's platform or for an AMD GPU"},
		{ruleELFDamaged, Error, "ELF files can be read"},
		{ruleGlibc, Info, "symbol versions asked of the base system are no newer than allowed"},
		{ruleMachOMachine, Error, "no macOS image in a bundle for another system"},
		{ruleMachOUnchecked, Error, "macOS images are checked"},
		{ruleBuildPath, Error, "no file names a folder of the build"},
		{ruleSystemPath, Error, "CMake, pkg-config and libtool files name no folder of the build machine's system"},
		{ruleShebang, Error, "scripts start with /bin/sh, /usr/bin/env or /usr/bin/perl"},
		{ruleLinkAbsolute, Error, "symlinks are relative"},
		{ruleLinkEscapes, Error, "symlinks stay inside the bundle"},
		{ruleLinkDangling, Error, "symlinks lead to something"},
		{ruleLinkLoop, Error, "symlinks end, and none leads to a folder that holds it"},
		{ruleMode, Error, "all can read everything, nobody else can write, programs are executable"},
		{ruleCase, Error, "no two names differ in case alone"},
		{ruleSpecial, Error, "there are only files, folders and symlinks"},
		{ruleExecFails, Error, "every program starts in an empty environment"},
		{ruleExecSkipped, Info, "programs can be run on this machine"},
		{ruleManifest, Error, "files are those that the manifest lists"},
	}
}

// severity is a rule's usual severity.
func severity(rule string) Severity {
	for _, r := range Rules() {
		if r.ID == rule {
			return r.Severity
		}
	}
	return Error
}

func finding(file, rule, what, fix string) Finding {
	return Finding{File: file, Rule: rule, What: what, Fix: fix, Severity: severity(rule)}
}

// format checks one kind of object file. A new kind is one more in formats.
type format interface {
	// sniff reports whether a file that begins with head is of the format.
	sniff(head []byte) bool
	// load reads one file, and reports whether it is a program of the
	// bundle's platform. It is called from several goroutines.
	load(e *entry, r io.ReaderAt) (program bool, findings []Finding)
	// finish checks what needs all files, after the last load, and adds its
	// numbers to the report.
	finish(*Report) []Finding
}

// formats are those that every bundle is checked for.
func formats(o Options, t *tree) []format {
	return []format{
		&elfFormat{platform: o.Platform, floor: o.Floor, tree: t, images: map[string]*elfImage{}},
		&machOFormat{platform: o.Platform},
	}
}
