// Release builds the files of a version from a clean clone of HEAD: archives,
// packages, lists of components (SBOM), licenses and checksums. Two runs on one
// commit write the same bytes. `make release` runs it.
//
// It links nfpm for the packages. It is not goreleaser: goreleaser v2.15.1
// compiles 330 modules, which took 275 s of processor time here, and this
// program takes 20 s. For the list of components goreleaser runs syft, another
// program. The Go tool has recorded the same list in the binary.
package main
