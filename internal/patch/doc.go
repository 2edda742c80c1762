// Package patch keeps, chooses, applies and makes the patches of a component.
//
// The patches of a component lie in one folder, patches/<component>/, as
// unified diffs in git's format beside a series.yaml that says of each what it
// is for, where upstream has it, and for which versions, hosts, channels and
// LLVMs it is meant. [Load] reads such a folder, [Series.Select] picks what a
// build needs and names a reason for each patch that it leaves out, [Apply]
// puts the chosen ones into a fresh copy of the source, and [New] makes a patch
// out of an edited copy.
//
// Applying is strict. A hunk must stand at the very line that the patch names
// and every line of it must match byte for byte: a patch that almost fits was
// made for another source, and guessing where it belongs is how a build comes
// to differ from what was tested. [Apply] works out all results in memory
// first, so that a conflict leaves the folder as it was.
package patch
