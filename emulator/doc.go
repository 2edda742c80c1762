// Package emulator runs kernels of AMDGPU code objects on the CPU.
//
// A Device has memory and a Module is a code object loaded into it; Launch runs
// a kernel of a module over a grid. Everything that a kernel does is checked:
// an access outside of what was allocated, an instruction that is not supported,
// or a budget that is used up ends the launch with a *Fault that names kernel,
// instruction, address, work-group, wave and lane.
//
// How the work is divided:
//
//   - package isa decodes; program.go resolves each instruction of a module once
//     into a function and its operands;
//   - a wave has its registers in flat arrays, 64 lanes beside each other, so
//     that an operation is one loop without branches; lanes that are switched
//     off are computed and not stored, and in waves of 32 lanes half of them are;
//   - what RDNA has beside GFX9 is put around that: rdna.go decides it once for
//     each instruction, so that no loop asks for the generation;
//   - a worker for each core runs work-groups, the waves of a group in turns.
//
// Semantics are those of AMD's documents "Vega" Instruction Set Architecture and
// "CDNA 3" Instruction Set Architecture, and those of "RDNA 2", "RDNA 3" and "RDNA 4"
// for what is new there, chapters "Scalar ALU Operations",
// "Vector ALU Operations", "Scalar Memory Operations", "Vector Memory
// Operations", "Flat Memory Instructions", "Data Share Operations" and
// "Instructions"; of LLVM's AMDGPUUsage, "Initial Kernel Execution State" and
// "Kernel Prolog", for what a kernel finds when it starts.
package emulator
