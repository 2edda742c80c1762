// Package macho reads, edits and signs Mach-O images without a Mac: programs,
// dylibs and bundles of macOS, thin or universal, and it fixes up whole trees
// of them so that they can be moved.
//
// Reading takes in the header and the load commands at once and everything
// else (symbols, exports, imports, signature) when it is asked for. What dyld
// would refuse because it lies outside the file is an error; what is merely
// wrong (segments that overlap, a run path that is there twice, a page whose
// hash differs) is read as it is and left to the caller to judge.
//
// Every count, size and offset of a file is bounded before it is used, so that
// a hostile file gives an error and costs no more than its own size. Only
// 64-bit little-endian images are read; others are refused by name.
//
// Layouts are those of Apple's public headers: mach-o/loader.h (header, load
// commands, dyld info opcodes), mach-o/fat.h, mach-o/nlist.h, mach-o/stab.h,
// mach-o/fixup-chains.h, and of XNU's osfmk/kern/cs_blobs.h for signatures.
package macho
