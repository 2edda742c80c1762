package macho

import (
	"fmt"
	"strconv"
	"strings"
)

// Magic numbers (mach-o/loader.h, mach-o/fat.h), as a big-endian reader sees
// the first four bytes.
const (
	magic64LE = 0xcffaedfe
	magic32LE = 0xcefaedfe
	magic64BE = 0xfeedfacf
	magic32BE = 0xfeedface
	magicFat  = 0xcafebabe
	magicFat6 = 0xcafebabf
)

// CPU is a cputype (mach/machine.h).
type CPU uint32

// The machines that macOS has run on since it is 64-bit.
const (
	CPUX86_64 CPU = 0x01000007
	CPUARM64  CPU = 0x0100000c
)

// subtypeMask leaves the subtype itself: the high byte of cpusubtype holds
// capability bits, such as the version of arm64e's pointer authentication.
const subtypeMask = 0x00ffffff

// FileType is the filetype of the header.
type FileType uint32

// File types (mach-o/loader.h).
const (
	TypeObject     FileType = 0x1
	TypeExecute    FileType = 0x2
	TypeCore       FileType = 0x4
	TypePreload    FileType = 0x5
	TypeDylib      FileType = 0x6
	TypeDylinker   FileType = 0x7
	TypeBundle     FileType = 0x8
	TypeDylibStub  FileType = 0x9
	TypeDSYM       FileType = 0xa
	TypeKextBundle FileType = 0xb
	TypeFileset    FileType = 0xc
)

// String is the type in a word; an unknown one is "file type" and its number in
// hexadecimal.
func (t FileType) String() string {
	names := map[FileType]string{TypeObject: "object", TypeExecute: "executable", TypeCore: "core",
		TypePreload: "preload", TypeDylib: "dylib", TypeDylinker: "dylinker", TypeBundle: "bundle",
		TypeDylibStub: "dylib stub", TypeDSYM: "dSYM", TypeKextBundle: "kext", TypeFileset: "fileset"}
	if s, ok := names[t]; ok {
		return s
	}
	return fmt.Sprintf("file type %#x", uint32(t))
}

// Header flags that callers ask about (mach-o/loader.h).
const (
	FlagNoUndefs     = 0x1
	FlagDyldLink     = 0x4
	FlagTwoLevel     = 0x80
	FlagForceFlat    = 0x100
	FlagWeakDefines  = 0x8000
	FlagBindsToWeak  = 0x10000
	FlagPIE          = 0x200000
	FlagNoReexported = 0x100000
	FlagDylibInCache = 0x80000000
)

// Load commands (mach-o/loader.h). Those that dyld must understand have
// reqDyld set.
const (
	reqDyld = 0x80000000

	LCSegment            = 0x1
	LCSymtab             = 0x2
	LCThread             = 0x4
	LCUnixThread         = 0x5
	LCDysymtab           = 0xb
	LCLoadDylib          = 0xc
	LCIDDylib            = 0xd
	LCLoadDylinker       = 0xe
	LCIDDylinker         = 0xf
	LCTwoLevelHints      = 0x16
	LCLoadWeakDylib      = 0x18 | reqDyld
	LCSegment64          = 0x19
	LCUUID               = 0x1b
	LCRpath              = 0x1c | reqDyld
	LCCodeSignature      = 0x1d
	LCSegmentSplitInfo   = 0x1e
	LCReexportDylib      = 0x1f | reqDyld
	LCLazyLoadDylib      = 0x20
	LCEncryptionInfo     = 0x21
	LCDyldInfo           = 0x22
	LCDyldInfoOnly       = 0x22 | reqDyld
	LCLoadUpwardDylib    = 0x23 | reqDyld
	LCVersionMinMacOSX   = 0x24
	LCVersionMinIPhoneOS = 0x25
	LCFunctionStarts     = 0x26
	LCDyldEnvironment    = 0x27
	LCMain               = 0x28 | reqDyld
	LCDataInCode         = 0x29
	LCSourceVersion      = 0x2a
	LCDylibCodeSignDRs   = 0x2b
	LCEncryptionInfo64   = 0x2c
	LCLinkerOption       = 0x2d
	LCLinkerOptimization = 0x2e
	LCVersionMinTVOS     = 0x2f
	LCVersionMinWatchOS  = 0x30
	LCNote               = 0x31
	LCBuildVersion       = 0x32
	LCDyldExportsTrie    = 0x33 | reqDyld
	LCDyldChainedFixups  = 0x34 | reqDyld
	LCAtomInfo           = 0x36
	LCFunctionVariants   = 0x37
	LCFunctionVariantFix = 0x38
)

// Platform is the platform of LC_BUILD_VERSION.
type Platform uint32

// Platforms (mach-o/loader.h).
const (
	PlatformMacOS       Platform = 1
	PlatformIOS         Platform = 2
	PlatformTVOS        Platform = 3
	PlatformWatchOS     Platform = 4
	PlatformMacCatalyst Platform = 6
)

// String is the platform in small letters (mach-o/loader.h, PLATFORM_*); an
// unknown one is "platform" and its number.
func (p Platform) String() string {
	names := []string{"unknown", "macos", "ios", "tvos", "watchos", "bridgeos", "maccatalyst", "iossimulator",
		"tvossimulator", "watchossimulator", "driverkit", "visionos", "visionossimulator"}
	if int(p) < len(names) {
		return names[p]
	}
	return "platform " + strconv.FormatUint(uint64(p), 10)
}

// Version is a version in sixteen, eight and eight bits: 14.2.1 is 0x000e0201.
// Versions compare as numbers.
type Version uint32

// String is the version with two numbers, or three if the last is not 0.
func (v Version) String() string {
	s := fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
	if v&0xff != 0 {
		s += fmt.Sprintf(".%d", v&0xff)
	}
	return s
}

// ParseVersion reads "14", "14.2" or "14.2.1".
func ParseVersion(s string) (Version, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 3 {
		return 0, fmt.Errorf("version %q has more than three parts", s)
	}
	var v uint64
	for k := range 3 {
		bits := 8
		if k == 0 {
			bits = 16
		}
		var n uint64
		if k < len(parts) {
			var err error
			if n, err = strconv.ParseUint(parts[k], 10, bits); err != nil {
				return 0, fmt.Errorf("version %q: part %q is no number that fits %d bits", s, parts[k], bits)
			}
		}
		v = v<<bits | n
	}
	return Version(v), nil
}

// Special library ordinals of imports (mach-o/loader.h, BIND_SPECIAL_DYLIB_*;
// mach-o/nlist.h has its own numbers for the first three, which are translated).
const (
	OrdinalSelf           = 0
	OrdinalMainExecutable = -1
	OrdinalFlatLookup     = -2
	OrdinalWeakLookup     = -3
)
