// Package stub makes link stubs of libraries from their descriptions (package
// api): C source with every exported function, the linker's list of versions,
// a text stub for macOS, CMake package files and a CMake project that builds and
// installs them. Programs that are linked against a stub start; what they call
// answers as the library does where it has no device, and the first such call
// says so on standard error. With STONEMASON_STUB_TRACE=1 every call is printed.
//
// The source is C11 and includes nothing but headers that a compiler brings
// itself, so that it can be compiled for a system of which no header is at hand.
package stub
