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
	ruleHardLink         = "hard-link-outside"
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
	ruleMachODamaged     = "macho-damaged"
	ruleMachODebugMap    = "macho-debug-map"
	ruleMachODylinker    = "macho-dylinker"
	ruleMachOEnvironment = "macho-environment"
	ruleMachOHeaderSpace = "macho-header-space"
	ruleMachOID          = "macho-id"
	ruleMachOIDMissing   = "macho-id-missing"
	ruleMachOLayout      = "macho-layout"
	ruleMachOMachine     = "macho-machine"
	ruleMachOMinOS       = "macho-minos"
	ruleMachOMinOSNeeded = "macho-minos-needed"
	ruleMachONeeded      = "macho-needed-outside"
	ruleMachORPathAbs    = "macho-rpath-absolute"
	ruleMachORPathTwice  = "macho-rpath-duplicate"
	ruleMachORPathOut    = "macho-rpath-escapes"
	ruleMachORPathLent   = "macho-rpath-inherited"
	ruleMachORPathUnused = "macho-rpath-unused"
	ruleMachOSDK         = "macho-sdk"
	ruleMachOSigAdHoc    = "macho-signature-adhoc"
	ruleMachOSigBad      = "macho-signature-damaged"
	ruleMachOSigExec     = "macho-signature-exec"
	ruleMachOSigExtent   = "macho-signature-extent"
	ruleMachOSigHash     = "macho-signature-hash"
	ruleMachOSigIdent    = "macho-signature-identifier"
	ruleMachOSigPages    = "macho-signature-pages"
	ruleMachOSigSpecial  = "macho-signature-special"
	ruleMachOSymbol      = "macho-symbol-missing"
	ruleMachOSystem      = "macho-system-unknown"
	ruleMachOUnsigned    = "macho-unsigned"
	ruleMachOVersion     = "macho-version"
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
		{ruleMachONeeded, Error, "every needed library is found in the bundle as dyld looks for it, or belongs to macOS"},
		{ruleMachOSystem, Warning, "libraries of macOS that are needed are public ones"},
		{ruleMachOSymbol, Error, "every imported symbol is exported by the library that it is bound to"},
		{ruleMachOVersion, Error, "libraries have the compatibility version that their dependents were linked with"},
		{ruleMachOID, Error, "a dylib's id is @rpath/ and a file name"},
		{ruleMachOIDMissing, Error, "the name in a dylib's id leads to it"},
		{ruleMachORPathAbs, Error, "run paths start with @loader_path or @executable_path"},
		{ruleMachORPathOut, Error, "run paths stay inside the bundle"},
		{ruleMachORPathTwice, Error, "no folder is among the run paths twice"},
		{ruleMachORPathUnused, Warning, "every run path finds a needed library"},
		{ruleMachORPathLent, Warning, "libraries find what they need without the run paths of what loads them"},
		{ruleMachOMachine, Error, "images are for the bundle's platform"},
		{ruleMachOMinOS, Error, "images need no newer macOS than the bundle"},
		{ruleMachOMinOSNeeded, Error, "libraries need no newer macOS than their dependents"},
		{ruleMachOSDK, Warning, "images are built with an SDK no older than the macOS that they need"},
		{ruleMachODamaged, Error, "Mach-O files can be read"},
		{ruleMachOLayout, Error, "load commands are aligned and before all data, segments are in order and apart"},
		{ruleMachOHeaderSpace, Warning, "there is room for 1 KiB more of load commands"},
		{ruleMachODylinker, Error, "programs start through /usr/lib/dyld"},
		{ruleMachOEnvironment, Warning, "programs set no variables of dyld"},
		{ruleMachODebugMap, Warning, "no debug map names files of the build machine"},
		{ruleMachOUnsigned, Error, "arm64 images are signed"},
		{ruleMachOSigBad, Error, "signatures can be read"},
		{ruleMachOSigPages, Error, "every page is what was signed"},
		{ruleMachOSigSpecial, Error, "requirements, entitlements and Info.plist are what was signed"},
		{ruleMachOSigExtent, Error, "the signature covers all that comes before it and ends the image"},
		{ruleMachOSigExec, Error, "the signature names the executable segment, and a main program as such"},
		{ruleMachOSigAdHoc, Error, "a signature is marked ad hoc just when it has no certificate"},
		{ruleMachOSigHash, Error, "signatures use SHA-256"},
		{ruleMachOSigIdent, Error, "signatures have an identifier that no build changes"},
		{ruleBuildPath, Error, "no file names a folder of the build"},
		{ruleSystemPath, Error, "CMake, pkg-config and libtool files name no folder of the build machine's system"},
		{ruleShebang, Error, "scripts start with /bin/sh, /usr/bin/env or /usr/bin/perl"},
		{ruleLinkAbsolute, Error, "symlinks are relative"},
		{ruleLinkEscapes, Error, "symlinks stay inside the bundle"},
		{ruleLinkDangling, Error, "symlinks lead to something"},
		{ruleLinkLoop, Error, "symlinks end, and none leads to a folder that holds it"},
		{ruleMode, Error, "all can read everything, nobody else can write, programs are executable"},
		{ruleHardLink, Warning, "all names of a hard-linked file are in the bundle"},
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
	// load reads one file. It is called from several goroutines.
	load(e *entry, r io.ReaderAt) loaded
	// finish checks what needs all files, after the last load, and adds its
	// numbers to the report.
	finish(*Report) []Finding
}

// loaded is what a format makes of one file.
type loaded struct {
	// program says that it is a program of the bundle's platform.
	program  bool
	findings []Finding
	// judge, when it is not nil, wants to see all bytes of the file.
	judge judge
}

// judge is given all bytes of a file, in order and while they are read for
// other reasons too, and then asked what it found.
type judge interface {
	io.Writer
	findings() []Finding
}

// formats are those that every bundle is checked for.
func formats(o Options, t *tree) []format {
	return []format{
		&elfFormat{platform: o.Platform, floor: o.Floor, tree: t, images: map[string]*elfImage{}},
		newMachO(o, t),
	}
}
