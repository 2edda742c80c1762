// Package codeobj reads what HIP compilers make for AMD GPUs: code objects (ELF
// files for the AMDGPU HSA ABI), the offload bundles that hold several of them,
// plain or compressed, and the sections of host files that embed bundles.
//
// It is pure Go and needs neither LLVM nor a GPU. Nothing read is trusted:
// every count, size, offset and depth is bounded before it is used, and broken
// input gives one error and never a panic. What is returned shares memory with
// the input, which must not change meanwhile.
//
// Origins: LLVM 22's AMDGPUUsage ("ELF Code Object", "Code Object Metadata",
// "Kernel Descriptor"), llvm/BinaryFormat/ELF.h and
// llvm/Support/AMDHSAKernelDescriptor.h; for bundles ClangOffloadBundler.
//
// Code object versions and what the ELF header says (e_ident[EI_ABIVERSION],
// ELFABIVERSION_AMDGPU_HSA_V*):
//
//	version 4: 2    version 5: 3    version 6: 4
//
// Versions 2 and 3 (ABI versions 0 and 1) are refused: their e_flags and notes
// have other layouts, and no supported compiler writes them.
package codeobj
