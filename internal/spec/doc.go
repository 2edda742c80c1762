// Package spec is the data that a toolchain is described with: therock.yaml,
// therock.lock, releases.yaml, components/*.yaml and recipes/*.yaml. It
// decodes them strictly and checks each file for itself; what spans several
// files is checked in package plan.
package spec
