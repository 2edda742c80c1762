// Package api reads, checks, writes and compares API descriptions: what a C
// library exports, in a form from which link stubs are generated and from which
// a remote protocol can be. One YAML file describes one library; the form is
// explained in docs/api-descriptions.md.
//
// A description stands by itself: it holds every type that its functions use,
// with sizes and offsets, or names the description that does. Layouts are those
// of 64-bit Linux and macOS, which agree (LP64, natural alignment).
package api
