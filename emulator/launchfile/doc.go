// Package launchfile reads launch files and performs them on the emulator: which
// kernels of a code object run, over what grid, with what arguments and buffers,
// and what the buffers must hold afterwards. docs/kernels.md explains the keys for
// people.
//
// A file goes three ways, each with its own mistakes:
//
//   - Parse decodes it strictly, without a code object: keys, numbers, the
//     expressions' syntax;
//   - File.Bind lays it beside a code object: the kernel, the arguments that it has,
//     their types. These come from the kernel's metadata and its mangled name;
//   - Plan.Run allocates, fills, launches and compares.
//
// Every mistake of the first two is an error with file, line and column.
package launchfile
